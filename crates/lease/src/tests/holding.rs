//! All leases of one key at a client: together or not at all.

use proptest::prelude::*;
use tollgate_gossip::ModeKey;
use tollgate_limit::{Instant, Span};

use crate::{
    BundleReply, DecidedBy, Holding, Inquiry, JoinAnswer, LeaseTerms, Lender, LenderSetup, Limits,
    OnFailure, Rules, Setup,
};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;
const TAGS: [u64; 2] = [11, 22];

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn terms() -> LeaseTerms {
    LeaseTerms {
        term_ns: 2 * SECOND,
        uses_min: 8,
        drift_ppm: 500,
        timeout_ns: 200 * MILLI,
        on_failure: OnFailure::Deny,
        max_wait_ns: 0,
    }
}

/// A node with a policy for each tag: 100 a second in bursts of 50, and 300 an hour.
struct Node(Vec<(u64, Lender)>);

impl Node {
    fn new(policies: usize) -> Self {
        let limits = [
            Limits::new(100, SECOND, 50).unwrap(),
            Limits::new(300, 3_600 * SECOND, 300).unwrap(),
        ];
        let rules = Rules {
            begins_full: true,
            ..Rules::default()
        };
        let each = TAGS.into_iter().zip(limits).take(policies);
        let lender = |(tag, limits)| {
            let setup = LenderSetup {
                limits,
                window: None,
                rules,
                generation: 1,
                since: at(0),
                has_successors: false,
                quota: None,
            };
            (tag, Lender::new(setup))
        };
        Self(each.map(lender).collect())
    }

    fn hear(&mut self, inquiry: &Inquiry, now: Instant) -> BundleReply {
        let of = |tag: u64| inquiry.iter().find(|(of, _)| *of == tag).map(|(_, q)| *q);
        let mut served_max = u64::MAX;
        for (tag, lender) in &mut self.0 {
            if let Some(question) = of(*tag) {
                served_max = served_max.min(lender.servable(ModeKey(1), &question, now));
            }
        }
        let each = self.0.iter_mut().map(|(tag, lender)| {
            let question = of(*tag);
            let answer = |q| lender.handle_question(ModeKey(1), &q, served_max, now);
            (*tag, question.and_then(answer))
        });
        BundleReply::Lent {
            terms: terms(),
            each: each.collect(),
        }
    }
}

fn holding() -> Holding {
    Holding::new(Setup::new(5, 1, ModeKey(9)), at(0))
}

/// Says everything there is to say, and hears the answers.
fn talk(holding: &mut Holding, node: &mut Node, now: Instant) {
    while let Some(inquiry) = holding.poll_inquiry(now) {
        let reply = node.hear(&inquiry, now);
        holding.handle_reply(&reply, now);
    }
}

/// Asks once, waiting if need be; whether the request passes.
fn ask(holding: &mut Holding, node: &mut Node, cost: u64, now: Instant) -> bool {
    match holding.check(cost, now) {
        JoinAnswer::Allow(_) => true,
        JoinAnswer::Deny { .. } | JoinAnswer::Ask | JoinAnswer::Delay { .. } => false,
        JoinAnswer::Failed { is_allowed } => is_allowed,
        JoinAnswer::Wait(number) => {
            talk(holding, node, now);
            let joined = holding.poll_joined().unwrap();
            assert_eq!(joined.number, number);
            joined.is_allowed
        }
    }
}

#[test]
fn a_key_is_asked_for_until_somebody_says_how_it_is_lent() {
    let (mut holding, mut node) = (holding(), Node::new(1));
    assert_eq!(holding.check(1, at(4 * SECOND)), JoinAnswer::Wait(1));
    let first = holding.poll_inquiry(at(4 * SECOND)).unwrap();
    assert!(first.is_empty(), "nothing is held yet");
    let reply = node.hear(&first, at(4 * SECOND));
    holding.handle_reply(&reply, at(4 * SECOND));
    talk(&mut holding, &mut node, at(4 * SECOND));
    let joined = holding.poll_joined().unwrap();
    assert!(
        joined.is_allowed && joined.by == Some(DecidedBy::Grantor),
        "{joined:?}"
    );
}

#[test]
fn what_is_not_lent_is_left_to_others_and_refusals_are_kept() {
    let mut holding = holding();
    assert_eq!(holding.check(1, at(0)), JoinAnswer::Wait(1));
    let _ = holding.poll_inquiry(at(0));
    holding.handle_reply(&BundleReply::Ask, at(MILLI));
    assert_eq!(holding.poll_joined().unwrap().by, None);
    assert_eq!(holding.check(1, at(2 * MILLI)), JoinAnswer::Ask);
    assert_eq!(holding.check_at_once(1, at(2 * MILLI)), None);
    holding.handle_refusal(Span::from_nanos(5_000_000), at(2 * MILLI));
    assert!(matches!(
        holding.check(1, at(3 * MILLI)),
        JoinAnswer::Deny { .. }
    ));
    assert_eq!(holding.check(1, at(7 * MILLI)), JoinAnswer::Ask);
    holding.handle_timeout(at(10_001 * MILLI));
    assert!(holding.has_something_to_say(), "it may be lent by now");
}

#[test]
fn nobody_answers_in_time() {
    let mut holding = holding();
    assert_eq!(holding.check(1, at(0)), JoinAnswer::Wait(1));
    let mut said = 0;
    for now in (0..=200).map(|n| at(n * MILLI)) {
        holding.handle_timeout(now);
        while holding.poll_inquiry(now).is_some() {
            said += 1;
        }
    }
    let joined = holding.poll_joined().unwrap();
    assert_eq!(
        (joined.by, joined.is_allowed),
        (Some(DecidedBy::Nobody), false)
    );
    assert!(
        (2..=5).contains(&said),
        "it was asked again now and then: {said}"
    );
    assert!(!holding.is_busy(at(SECOND)));
}

#[test]
fn answers_for_others_change_nothing() {
    let (mut mine, mut node) = (holding(), Node::new(1));
    assert!(ask(&mut mine, &mut node, 1, at(4 * SECOND)));
    let mut other = Holding::new(Setup::new(6, 1, ModeKey(9)), at(0));
    let _ = other.check(1, at(4 * SECOND));
    let mut replies = Vec::new();
    for _ in 0..2 {
        if let Some(inquiry) = other.poll_inquiry(at(4 * SECOND)) {
            let reply = node.hear(&inquiry, at(4 * SECOND));
            other.handle_reply(&reply, at(4 * SECOND));
            replies.push(reply);
        }
    }
    let before = mine.held(at(4 * SECOND));
    for reply in &replies {
        mine.handle_reply(reply, at(4 * SECOND));
        mine.handle_reply(reply, at(4 * SECOND));
    }
    assert_eq!(mine.held(at(4 * SECOND)), before);
    assert!(mine.figures().stale > 0);
}

#[test]
fn policies_that_come_and_go_keep_what_is_held_of_the_others() {
    let (mut holding, mut one, mut both) = (holding(), Node::new(1), Node::new(2));
    let mut now = 4 * SECOND;
    for _ in 0..200 {
        now += 10 * MILLI;
        let _ = ask(&mut holding, &mut one, 1, at(now));
        talk(&mut holding, &mut one, at(now));
    }
    assert!(holding.peek(at(now)).is_some_and(|tokens| tokens > 1));
    assert_eq!(holding.held(at(now)).len(), 1);
    let reply = both.hear(&Inquiry::new(), at(now));
    holding.handle_reply(&reply, at(now));
    let held = holding.held(at(now));
    assert_eq!(held.len(), 2);
    assert!(held[0].1.depth > 0 && held[1].1.depth == 0);
    assert_eq!(
        holding.peek(at(now)),
        Some(0),
        "the new one has nothing yet"
    );
    let _ = ask(&mut holding, &mut both, 1, at(now));
    holding.handle_reply(&BundleReply::Ask, at(now));
    assert_eq!(holding.peek(at(now)), None);
    assert!(
        holding.figures().local > 0,
        "what was counted stays counted"
    );
}

proptest! {
    /// Two policies, whatever is lost: no policy admits more than its bucket, and every request is decided once.
    #[test]
    fn all_policies_pass_a_request_or_none(
        steps in prop::collection::vec((1..40_u64, 1..4_u64, 0..10_u8, 1..6_usize), 20..300),
    ) {
        let (mut holding, mut node) = (holding(), Node::new(2));
        let (mut now, mut admitted, mut asked, mut decided) = (4 * SECOND, 0, 0, 0);
        for (millis, cost, luck, burst) in steps {
            now += millis * MILLI;
            for _ in 0..burst {
                asked += 1;
                match holding.check(cost, at(now)) {
                    JoinAnswer::Allow(_) | JoinAnswer::Delay { .. } => (admitted, decided) = (admitted + cost, decided + 1),
                    JoinAnswer::Wait(_) => {}
                    JoinAnswer::Deny { .. } | JoinAnswer::Ask | JoinAnswer::Failed { .. } => decided += 1,
                }
            }
            holding.handle_timeout(at(now));
            while let Some(inquiry) = holding.poll_inquiry(at(now)) {
                if luck < 2 {
                    continue;
                }
                let reply = node.hear(&inquiry, at(now));
                if luck > 3 {
                    holding.handle_reply(&reply, at(now));
                }
            }
            while let Some(joined) = holding.poll_joined() {
                decided += 1;
                admitted += if joined.is_allowed { joined.cost } else { 0 };
            }
            let elapsed = now - 4 * SECOND;
            prop_assert!(admitted <= 50 + 100 * elapsed / SECOND + 1, "{admitted} in {elapsed}");
            prop_assert!(admitted <= 300 + elapsed / (12 * SECOND) + 1, "{admitted} in {elapsed}");
        }
        for _ in 0..40 {
            now += 10 * MILLI;
            holding.handle_timeout(at(now));
            talk(&mut holding, &mut node, at(now));
        }
        while holding.poll_joined().is_some() {
            decided += 1;
        }
        prop_assert_eq!(asked, decided);
    }
}

/// A client with leases at 7 s, which is told other terms then.
fn told(policies: usize, terms: LeaseTerms) -> (Holding, u64) {
    let (mut node, mut holding) = (Node::new(policies), holding());
    let mut now = 3 * SECOND;
    for _ in 0..200 {
        now += 20 * MILLI;
        let _ = ask(&mut holding, &mut node, 1, at(now));
        talk(&mut holding, &mut node, at(now));
    }
    let tags = TAGS.into_iter().take(policies);
    let each = tags.map(|tag| (tag, None)).collect();
    holding.handle_reply(&BundleReply::Lent { terms, each }, at(now));
    assert!(holding.held(at(now))[0].1.level > 0);
    (holding, now)
}

/// Whether any of many requests waits for what comes back to leases.
fn waits(policies: usize, max_wait_ns: u64) -> bool {
    let terms = LeaseTerms {
        max_wait_ns,
        ..terms()
    };
    let (mut holding, now) = told(policies, terms);
    (0..100).any(|_| matches!(holding.check(1, at(now)), JoinAnswer::Delay { .. }))
}

#[test]
fn other_terms_hold_for_leases_at_hand() {
    for (on_failure, passes) in [(OnFailure::Deny, false), (OnFailure::Allow, true)] {
        let terms = LeaseTerms {
            on_failure,
            ..terms()
        };
        let (mut holding, now) = told(1, terms);
        let mut last = JoinAnswer::Ask;
        for later in 0..300 {
            let now = at(now + later * 10 * MILLI);
            holding.handle_timeout(now);
            last = holding.check(1, now);
        }
        // Nobody answered since, and the lease is over.
        let is_allowed = passes;
        assert_eq!(last, JoinAnswer::Failed { is_allowed });
    }
}

#[test]
fn requests_wait_by_the_terms_of_one_policy_alone() {
    assert!(waits(1, SECOND));
    assert!(!waits(1, 0));
    assert!(!waits(2, SECOND));
}
