//! Nodes that lie about what they want, give or gave back: whoever is lied to keeps within its own bounds.
//!
//! Frames are taken apart and put together here by hand, with the plain numbers of gossip. Not here: noise, which
//! `laws` has.

use proptest::prelude::*;
use tollgate_gossip::{Decoder, Encoder, ModeKey, NodeId};
use tollgate_supply::{Limits, Machine, Party};

use crate::{at, frames, hand, machine, until_it_asks};

/// What all of these are about.
const ASKED: ModeKey = ModeKey(1);
const ASK: u8 = 2;
const GRANT: u8 = 3;
const RECALL: u8 = 4;
const HOME: u8 = 9;
const NUDGE: u8 = 11;

/// An ask for a loan as it travels; with a loan it also reports.
#[derive(Clone, Copy, Debug)]
struct Ask {
    ticket: u64,
    supply: u64,
    weight: u64,
    want: u64,
    number: u64,
    loan: Option<(u64, u64, u128, u128)>,
}

/// What frames begin with, from a first boot to a first boot.
fn head(kind: u8) -> Encoder {
    let mut to = Encoder::default();
    to.u8(0x10);
    for count in [1, 1, 0, 0] {
        to.count(count);
    }
    to.u8(kind);
    to
}

fn tail(to: Encoder) -> Vec<Vec<u8>> {
    vec![to.finish().to_vec()]
}

impl Ask {
    /// The first ask of a frame.
    fn read(frame: &[u8]) -> Option<Self> {
        let mut from = Decoder::from_first(frame);
        from.u8().ok()?;
        for _ in 0..4 {
            from.count().ok()?;
        }
        if from.u8().ok()? != ASK {
            return None;
        }
        from.key().ok()?;
        let has_loan = from.u8().ok()? & 1 != 0;
        let [ticket, supply, weight, want, number] = [(); 5].map(|()| from.count().ok());
        let loan = has_loan.then(|| {
            let (boot, seq) = (from.count().ok()?, from.count().ok()?);
            Some((boot, seq, from.varint().ok()?, from.varint().ok()?))
        });
        Some(Self {
            ticket: ticket?,
            supply: supply?,
            weight: weight?,
            want: want?,
            number: number?,
            loan: loan.flatten(),
        })
    }

    fn write(&self) -> Vec<Vec<u8>> {
        let mut to = head(ASK);
        to.key(ASKED);
        to.u8(u8::from(self.loan.is_some()));
        for count in [
            self.ticket,
            self.supply,
            self.weight,
            self.want,
            self.number,
        ] {
            to.count(count);
        }
        if let Some((boot, seq, returned, tokens)) = self.loan {
            to.count(boot);
            to.count(seq);
            to.varint(returned);
            to.varint(tokens);
        }
        tail(to)
    }
}

/// The first grant of an ask, in full and for long.
fn grant(ticket: u64, total: u128, tokens: u128, allow: u64) -> Vec<Vec<u8>> {
    let mut to = head(GRANT);
    to.key(ASKED);
    to.u8(0b111);
    to.count(ticket);
    to.count(1);
    to.varint(total);
    to.varint(tokens);
    to.count(allow);
    tail(to)
}

/// A node that asks another, the other, the ask, and when that is.
fn asking() -> (Machine, Machine, Ask, u64) {
    let (mut asker, mut lender) = (machine(0, 1), machine(1, 1));
    let found = (0..5).find_map(|step| {
        let asks = until_it_asks(&mut asker, &mut lender, step * 100);
        let ask = asks.iter().find_map(|frame| Ask::read(frame))?;
        Some((ask, step * 100 + 60))
    });
    let (ask, now) = found.unwrap();
    (asker, lender, ask, now)
}

#[track_caller]
fn within_its_bounds(machine: &Machine, millis: u64) {
    let seen = machine.inspect(ASKED, at(millis));
    let rate = machine.limits().rate();
    assert!(seen.lent <= seen.home, "{seen:?}");
    assert!(seen.usable <= rate, "{seen:?}");
    assert!(seen.tokens <= seen.depth.cast_signed(), "{seen:?}");
    assert!(seen.depth <= Limits::tokens(machine.limits().burst()));
}

#[test]
fn whoever_wants_everything_gets_what_is_free_and_no_more() {
    let (_, mut lender, ask, now) = asking();
    let greedy = Ask {
        supply: 0,
        weight: Party::WEIGHT_MAX,
        want: Limits::RATE_MAX,
        ..ask
    };
    hand(&mut lender, 0, &greedy.write(), now);
    within_its_bounds(&lender, now);
    let seen = lender.inspect(ASKED, at(now));
    assert!(seen.lent > 0 && seen.usable + seen.lent == seen.home);
}

#[test]
fn nobody_gives_back_more_than_was_lent() {
    let (_, mut lender, ask, now) = asking();
    hand(&mut lender, 0, &ask.write(), now);
    let lent = lender.inspect(ASKED, at(now)).lent;
    assert!(lent > 0);
    let lie = Ask {
        ticket: ask.ticket + 1,
        want: 0,
        loan: Some((1, 1, u128::from(lent) * 2, 1 << 100)),
        ..ask
    };
    hand(&mut lender, 0, &lie.write(), now);
    assert_eq!(lender.inspect(ASKED, at(now)).lent, lent);
    assert_eq!(lender.figures().ignored.lies, 1);
    within_its_bounds(&lender, now);
}

#[test]
fn a_grant_above_what_was_asked_for_is_not_believed() {
    let (mut asker, _, ask, now) = asking();
    let usable = asker.inspect(ASKED, at(now)).usable;
    let lie = grant(ask.ticket, u128::from(ask.want) + 1, 0, ask.want);
    hand(&mut asker, 1, &lie, now);
    assert_eq!(asker.inspect(ASKED, at(now)).usable, usable);
    assert_eq!(asker.figures().ignored.lies, 1);
}

#[test]
fn offers_of_more_than_there_is_never_take_a_node_above_the_limit() {
    let (mut asker, _, _, _) = asking();
    let mut total = 0;
    for step in 6..40 {
        let now = step * 100;
        for _ in 0..50 {
            let _ = asker.handle_request(ASKED, 1, at(now));
        }
        asker.handle_timeout(at(now));
        for frame in frames(&mut asker, 1) {
            answer_with_lies(&mut asker, &frame, &mut total, now);
        }
        within_its_bounds(&asker, now);
    }
    assert!(asker.inspect(ASKED, at(3_900)).borrowed > 0);
}

/// Offers everything to who looks, and grants whatever is asked.
fn answer_with_lies(asker: &mut Machine, frame: &[u8], total: &mut u128, now: u64) {
    if let Some(ask) = Ask::read(frame) {
        *total += u128::from(ask.want);
        let grant = grant(ask.ticket, *total, 1 << 100, Limits::RATE_MAX);
        hand(asker, 1, &grant, now);
        return;
    }
    let mut from = Decoder::from_first(frame);
    from.u8().unwrap();
    for _ in 0..4 {
        from.count().unwrap();
    }
    if from.u8() == Ok(0) {
        from.key().unwrap();
        let mut to = head(1);
        to.key(ASKED);
        for count in [from.count().unwrap(), Limits::RATE_MAX, 1, Limits::RATE_MAX] {
            to.count(count);
        }
        hand(asker, 1, &tail(to), now);
    }
}

#[test]
fn a_recall_gets_back_what_was_lent_and_no_more() {
    let (mut asker, _, ask, now) = asking();
    let lent = grant(ask.ticket, u128::from(ask.want), 0, ask.want);
    hand(&mut asker, 1, &lent, now);
    let home = asker.inspect(ASKED, at(now)).home;
    assert!(asker.inspect(ASKED, at(now)).borrowed > 0);
    let mut to = head(RECALL);
    to.key(ASKED);
    for count in [1, 0, Party::WEIGHT_MAX] {
        to.count(count);
    }
    hand(&mut asker, 1, &tail(to), now);
    let seen = asker.inspect(ASKED, at(now));
    assert_eq!((seen.borrowed, seen.usable), (0, home));
}

#[test]
fn a_grant_that_comes_after_a_goodbye_is_let_go() {
    let (mut asker, _, ask, now) = asking();
    asker.goodbye(at(now));
    let _ = frames(&mut asker, 1);
    let lent = grant(ask.ticket, u128::from(ask.want), 0, ask.want);
    hand(&mut asker, 1, &lent, now);
    assert_eq!(asker.inspect(ASKED, at(now)).usable, 0);
    let answers = frames(&mut asker, 1);
    let answer = answers.iter().find_map(|frame| Ask::read(frame));
    let returned = answer.and_then(|ask| ask.loan).map(|loan| loan.2);
    assert_eq!(
        returned,
        Some(u128::from(ask.want)),
        "and its lender is told"
    );
}

#[test]
fn only_the_authority_says_what_a_home_is() {
    let mut node = machine(0, 1);
    let home = node.inspect(ASKED, at(0)).home;
    let mut to = head(HOME);
    for count in [1, 1, Limits::RATE_MAX] {
        to.count(count);
    }
    to.u8(1);
    hand(&mut node, 1, &tail(to), 1);
    hand(&mut node, 1, &tail(head(NUDGE)), 1);
    assert_eq!(node.inspect(ASKED, at(1)).home, home);
    assert_eq!(node.figures().ignored.strangers, 2);
    assert!(node.handle_frame(NodeId(1), &[0x10, 1], at(1)).is_err());
}

proptest! {
    #[test]
    fn whatever_a_borrower_says_its_lender_keeps_its_home(
        lies in prop::collection::vec((any::<[u64; 3]>(), any::<u64>(), any::<bool>()), 1..30),
    ) {
        let (_, mut lender, ask, now) = asking();
        for (step, ([supply, weight, want], returned, renews)) in (1..).zip(lies) {
            let lie = Ask {
                ticket: ask.ticket + step,
                supply: supply % Limits::RATE_MAX,
                weight: weight % Party::WEIGHT_MAX + 1,
                want: want % Limits::RATE_MAX,
                loan: renews.then_some((1, 1, u128::from(returned), u128::from(returned) << 30)),
                ..ask
            };
            let now = now + step * 40;
            hand(&mut lender, 0, &lie.write(), now);
            lender.handle_timeout(at(now));
            within_its_bounds(&lender, now);
        }
    }

    #[test]
    fn whatever_a_lender_says_its_borrower_stays_below_the_limit(
        lies in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..30),
    ) {
        let (mut asker, _, ask, now) = asking();
        for (step, (total, tokens, allow)) in (1..).zip(lies) {
            let now = now + step * 20;
            let _ = asker.handle_request(ASKED, 1, at(now));
            asker.handle_timeout(at(now));
            let asked = frames(&mut asker, 1).iter().find_map(|frame| Ask::read(frame));
            let asked = asked.unwrap_or(ask);
            let total = u128::from(total) % (2 * u128::from(asked.want) + 2);
            let lie = grant(asked.ticket, total, u128::from(tokens) << 40, allow % Limits::RATE_MAX);
            hand(&mut asker, 1, &lie, now);
            within_its_bounds(&asker, now);
        }
    }
}
