//! What the owner of keys answers, as bytes.
//!
//! The answer to a batch is `version 1 | answers`, one for each parcel behind its length; within it one for each
//! question in order. Contracts are named by the number of their spot in the question. Not here: questions (`ask`).

use smallvec::SmallVec;
use tollgate_gossip::ModeKey;
use tollgate_kit::{Reader, put_varint};
use tollgate_limit::{Charge, Cost, Forecast, Instant, KeyStatus, Refusing, Span, Verdict};
use tollgate_node::{
    Answer, Due, KeyTerms, LendAnswer, Node, Nudge, Receipt, RefusedBy, Spot, Violation,
};

use crate::ask::VERSION;
use crate::question::{Question, RemoteAnswer, Verb};
use crate::quota;

/// Begins the answer to a batch.
pub(crate) fn batch() -> Vec<u8> {
    vec![VERSION]
}

/// Adds the answers to one parcel.
pub(crate) fn put_parcel(out: &mut Vec<u8>, answers: &[u8]) {
    put_varint(out, answers.len() as u64);
    out.extend_from_slice(answers);
}

/// Adds the answer to one question.
pub(crate) fn put_said(out: &mut Vec<u8>, spots: &[Spot], said: &RemoteAnswer) {
    match said {
        RemoteAnswer::Answer(answer) => put_answer(out, spots, answer),
        RemoteAnswer::Done(done) => out.push(u8::from(*done)),
        RemoteAnswer::Statuses(each) => {
            for statuses in each {
                put_varint(out, statuses.len() as u64);
                for status in statuses {
                    put_status(out, status);
                }
            }
        }
        RemoteAnswer::Lent(lent) => put_lent(out, lent),
        RemoteAnswer::Quota(told) => quota::put_told(out, told.as_ref()),
        RemoteAnswer::Forecasts(each) => {
            for forecasts in each {
                put_varint(out, forecasts.len() as u64);
                for forecast in forecasts {
                    put_forecast(out, forecast);
                }
            }
        }
    }
}

/// `1 | length | reply | count of hints | client and key of each`.
fn put_lent(out: &mut Vec<u8>, lent: &LendAnswer) {
    out.push(1);
    put_varint(out, lent.reply.len() as u64);
    out.extend_from_slice(&lent.reply);
    put_varint(out, lent.nudges.len() as u64);
    for nudge in &lent.nudges {
        out.extend(nudge.client.to_le_bytes());
        out.extend(nudge.key.0.to_le_bytes());
    }
}

fn lent(reader: &mut Reader<'_>) -> Option<LendAnswer> {
    reader.u8().filter(|first| *first == 1)?;
    let reply = reader.block()?.to_vec();
    let count = reader.count()?;
    let nudge = |_| {
        let client = reader.u64()?;
        let (low, high) = (reader.u64()?, reader.u64()?);
        let key = ModeKey(u128::from(high) << 64 | u128::from(low));
        Some(Nudge { client, key })
    };
    let nudges = (0..count).map(nudge).collect::<Option<_>>()?;
    Some(LendAnswer { reply, nudges })
}

/// Adds that nothing was done, as the terms of a key are not known.
pub(crate) fn put_stranger(out: &mut Vec<u8>) {
    out.push(STRANGER);
}

/// Adds that a question is of a contract that is not known.
pub(crate) fn put_unknown(out: &mut Vec<u8>) {
    out.push(UNKNOWN);
}

/// Adds that nothing was done, as others may have counts of a key, which has come to this node just now.
pub(crate) fn put_elsewhere(out: &mut Vec<u8>) {
    out.push(ELSEWHERE);
}

fn put_answer(out: &mut Vec<u8>, spots: &[Spot], answer: &Answer) {
    let place = |contract: usize| spots.iter().position(|spot| spot.contract == contract);
    let (verdict, span) = split(answer.verdict);
    let refused = match answer.refused_by {
        // Bans and keys that no contract binds are refused before an owner is asked.
        None | Some(RefusedBy::Ban { .. } | RefusedBy::Unmatched) => None,
        Some(RefusedBy::FullTable) => Some((FULL, None)),
        Some(RefusedBy::Unread) => Some((UNREAD, None)),
        Some(RefusedBy::Policy { contract, policy }) => {
            Some((POLICY, place(contract).map(|spot| (spot, policy))))
        }
    };
    let least = answer.contract.and_then(place);
    let mut head = verdict;
    head |= refused.map_or(0, |(refused, _)| refused);
    head |= if answer.shadowed { SHADOWED } else { 0 };
    head |= if least.is_some() { LEAST } else { 0 };
    let mut bookings = answer.receipt.bookings().iter();
    let has_terms = bookings.any(|booking| booking.terms != 0);
    head |= if has_terms { TERMS } else { 0 };
    let has_more = answer.debt > 0 || answer.violated.is_some();
    head |= if has_more { MORE } else { 0 };
    out.push(head);
    if let Some(span) = span {
        put_span(out, span);
    }
    if let Some((POLICY, refuser)) = refused {
        let (spot, policy) = refuser.unwrap_or_default();
        put_varint(out, spot as u64);
        put_varint(out, policy as u64);
    }
    if let Some(least) = least {
        put_varint(out, least as u64);
        put_varint(out, answer.policy as u64);
    }
    put_varint(out, answer.limit);
    put_varint(out, answer.remaining);
    put_span(out, answer.reset_after);
    if has_more {
        put_varint(out, answer.debt);
        put_violations(out, spots, answer.violated.as_deref().unwrap_or_default());
    }
    for spot in spots {
        let mut bookings = answer.receipt.bookings().iter();
        let booking = bookings
            .find(|booking| (booking.contract, booking.print) == (spot.contract, spot.print));
        put_charge(out, booking.map(|booking| booking.receipt));
        if has_terms {
            let terms = booking.map_or(0, |booking| booking.terms);
            out.extend(terms.to_le_bytes());
        }
    }
}

/// `count | spot, policy, left, debt and 1 with the wait or 0 for never, of each`.
fn put_violations(out: &mut Vec<u8>, spots: &[Spot], violated: &[Violation]) {
    put_varint(out, violated.len() as u64);
    for Violation { contract, said } in violated {
        let mut places = spots.iter();
        let spot = places.position(|spot| spot.contract == *contract);
        put_varint(out, spot.unwrap_or_default() as u64);
        put_varint(out, said.policy as u64);
        put_varint(out, said.remaining);
        put_varint(out, said.debt);
        out.push(u8::from(said.retry_after.is_some()));
        if let Some(retry_after) = said.retry_after {
            put_span(out, retry_after);
        }
    }
}

fn violation(reader: &mut Reader<'_>, spots: &[Spot]) -> Option<Violation> {
    let contract = spots.get(reader.index()?)?.contract;
    let said = Refusing {
        policy: reader.index()?,
        remaining: reader.number()?,
        debt: reader.number()?,
        retry_after: match reader.u8()? {
            0 => None,
            _ => Some(span(reader)?),
        },
    };
    Some(Violation { contract, said })
}

fn put_charge(out: &mut Vec<u8>, charge: Option<Charge>) {
    let Some(charge) = charge else {
        return out.push(0);
    };
    put_varint(out, charge.charged);
    if charge.charged != 0 {
        put_varint(out, charge.cost);
        out.extend(charge.at.as_nanos().to_le_bytes());
    }
}

fn put_status(out: &mut Vec<u8>, status: &KeyStatus) {
    put_varint(out, status.limit);
    put_varint(out, status.remaining);
    put_varint(out, status.debt);
    put_span(out, status.reset_after);
    put_span(out, status.next_token_after);
}

fn put_forecast(out: &mut Vec<u8>, forecast: &Forecast) {
    let (verdict, span) = split(forecast.verdict);
    let enforced = if forecast.is_enforced { ENFORCED } else { 0 };
    let owes = if forecast.debt > 0 { OWES } else { 0 };
    out.push(verdict | enforced | owes);
    if let Some(span) = span {
        put_span(out, span);
    }
    put_varint(out, forecast.limit);
    put_varint(out, forecast.capacity);
    put_varint(out, forecast.remaining);
    put_span(out, forecast.reset_after);
    if forecast.debt > 0 {
        put_varint(out, forecast.debt);
    }
}

/// The answers to each parcel of a batch; `None` where that is not understood.
pub fn parcels(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    crate::ask::parcels(bytes)
}

/// Answers to the questions of one parcel, to be read in order.
pub(crate) struct Answers<'a>(Reader<'a>);

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly all hold an answer")]
pub(crate) enum OwnerReply {
    Said(RemoteAnswer),
    /// The owner does not know a contract.
    Unknown,
    /// The owner has to be told who a key is, and did nothing.
    Stranger,
    /// The owner has come just now, and did nothing: others may have counts of a key.
    Elsewhere,
}

impl<'a> Answers<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(Reader(bytes))
    }

    /// The answer to the next question; `None` where there is none that makes sense.
    pub(crate) fn next(&mut self, question: &Question, at: (&Node, Instant)) -> Option<OwnerReply> {
        let Self(reader) = self;
        let instead = match reader.0.first() {
            Some(&UNKNOWN) => Some(OwnerReply::Unknown),
            Some(&STRANGER) => Some(OwnerReply::Stranger),
            Some(&ELSEWHERE) => Some(OwnerReply::Elsewhere),
            _ => None,
        };
        if instead.is_some() {
            reader.u8()?;
            return instead;
        }
        let spots = &*question.spots;
        let said = match &question.verb {
            Verb::Check => RemoteAnswer::Answer(answer(reader, spots, question.cost, at.0, at.1)?),
            Verb::Charge | Verb::Refund | Verb::Reset | Verb::Settle(_) => {
                RemoteAnswer::Done(reader.u8()? == 1)
            }
            Verb::Status => RemoteAnswer::Statuses(lists(reader, spots, status)?),
            Verb::Foresee => RemoteAnswer::Forecasts(lists(reader, spots, forecast)?),
            Verb::Lend(_) => RemoteAnswer::Lent(lent(reader)?),
            Verb::Quota(..) => quota::told(reader)?,
        };
        Some(OwnerReply::Said(said))
    }
}

fn lists<T>(
    reader: &mut Reader<'_>,
    spots: &[Spot],
    read: impl Fn(&mut Reader<'_>) -> Option<T>,
) -> Option<Vec<Vec<T>>> {
    let list = |_: &Spot| {
        let count = reader.count()?;
        (0..count).map(|_| read(reader)).collect()
    };
    spots.iter().map(list).collect()
}

fn answer(
    reader: &mut Reader<'_>,
    spots: &[Spot],
    asked: Cost,
    node: &Node,
    now: Instant,
) -> Option<Answer> {
    let head = reader.u8()?;
    let verdict = verdict(reader, head)?;
    let place = |reader: &mut Reader<'_>| {
        let spot = spots.get(reader.index()?)?;
        Some((spot.contract, reader.index()?))
    };
    let refused_by = match head & (FULL | POLICY) {
        0 => None,
        FULL => Some(RefusedBy::FullTable),
        UNREAD => Some(RefusedBy::Unread),
        POLICY => {
            let (contract, policy) = place(reader)?;
            Some(RefusedBy::Policy { contract, policy })
        }
        _ => return None,
    };
    let least = match head & LEAST {
        0 => None,
        _ => Some(place(reader)?),
    };
    let (limit, remaining, reset_after) = (reader.number()?, reader.number()?, span(reader)?);
    let (mut debt, mut violated) = (0, None);
    if head & MORE != 0 {
        debt = reader.number()?;
        let count = reader.count()?;
        let each: Option<Vec<_>> = (0..count).map(|_| violation(reader, spots)).collect();
        violated = Violation::several(each?);
    }
    let mut bookings: SmallVec<[_; 1]> = SmallVec::new();
    for spot in spots {
        let charge = charge(reader, asked)?;
        let terms = if head & TERMS == 0 { 0 } else { reader.u64()? };
        bookings.push(node.booking_elsewhere(spot, Due { charge, terms }));
    }
    // Nodes learn of a change one after the other: names may be those of the terms that this one knows.
    let own = spots.iter().zip(&bookings);
    let own = own.filter(|(_, booking)| booking.terms != 0);
    let own = own.filter_map(|(spot, _)| Some((spot.contract, node.terms_at(spot, now)?)));
    let own: SmallVec<[_; 1]> = own.collect();
    let receipt = match &*bookings {
        [booking] => Receipt::One(*booking),
        _ => Receipt::Several(bookings.into_vec().into()),
    };
    let answer = Answer {
        verdict,
        refused_by,
        violated,
        contract: least.map(|(contract, _)| contract),
        policy: least.map_or(0, |(_, policy)| policy),
        limit,
        remaining,
        debt,
        reset_after,
        shadowed: head & SHADOWED != 0,
        is_part: false,
        terms: KeyTerms::None,
        receipt,
        version: node.version(),
    };
    Some(answer.under_all(own))
}

fn charge(reader: &mut Reader<'_>, asked: Cost) -> Option<Charge> {
    let charged = reader.number()?;
    if charged == 0 {
        return Some(Charge {
            at: Instant::default(),
            cost: asked.tokens(),
            charged,
        });
    }
    Some(Charge {
        charged,
        cost: reader.number()?,
        at: Instant::from_nanos(reader.u64()?),
    })
}

fn status(reader: &mut Reader<'_>) -> Option<KeyStatus> {
    Some(KeyStatus {
        limit: reader.number()?,
        remaining: reader.number()?,
        debt: reader.number()?,
        reset_after: span(reader)?,
        next_token_after: span(reader)?,
    })
}

fn forecast(reader: &mut Reader<'_>) -> Option<Forecast> {
    let head = reader.u8()?;
    Some(Forecast {
        is_enforced: head & ENFORCED != 0,
        verdict: verdict(reader, head)?,
        limit: reader.number()?,
        capacity: reader.number()?,
        remaining: reader.number()?,
        reset_after: span(reader)?,
        debt: match head & OWES {
            0 => 0,
            _ => reader.number()?,
        },
    })
}

const fn split(verdict: Verdict) -> (u8, Option<Span>) {
    match verdict {
        Verdict::Allow => (0, None),
        Verdict::Delay { wait } => (1, Some(wait)),
        Verdict::Deny { retry_after } => (2, Some(retry_after)),
        Verdict::Never => (3, None),
    }
}

fn verdict(reader: &mut Reader<'_>, head: u8) -> Option<Verdict> {
    Some(match head & 3 {
        0 => Verdict::Allow,
        1 => Verdict::Delay {
            wait: span(reader)?,
        },
        2 => Verdict::Deny {
            retry_after: span(reader)?,
        },
        _ => Verdict::Never,
    })
}

/// Bits of the first byte of an answer to a check, above those of the verdict.
const SHADOWED: u8 = 1 << 2;
const LEAST: u8 = 1 << 3;
const POLICY: u8 = 1 << 4;
const FULL: u8 = 1 << 5;
/// Both: the owner could not read what it counted.
const UNREAD: u8 = FULL | POLICY;
/// Each charge says by which terms it was made.
const TERMS: u8 = 1 << 6;
/// Debt and violations follow the reset.
const MORE: u8 = 1 << 7;
/// The bits of a forecast; debt follows where there is some.
const ENFORCED: u8 = 1 << 2;
const OWES: u8 = 1 << 3;
/// Instead of an answer.
const UNKNOWN: u8 = 0xFF;
const STRANGER: u8 = 0xFE;
const ELSEWHERE: u8 = 0xFD;

/// A span in nanoseconds; the longest there is room for where it is longer.
fn put_span(out: &mut Vec<u8>, span: Span) {
    put_varint(out, u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
}

/// What [`put_span`] wrote.
fn span(reader: &mut Reader<'_>) -> Option<Span> {
    Some(Span::from_nanos(reader.number()?.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tollgate_contract::Contracts;
    use tollgate_limit::Lot;
    use tollgate_node::NodeConfig;
    use tollgate_table::{Print, Seed};

    use super::*;

    fn node() -> Node {
        let text = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 5, per: 1s}]}
  - {id: b, key: [user], coordination: owner, policies: [{name: x, limit: 7, per: 1s}, {name: y, limit: 50, per: 1m}]}
";
        let contracts = Contracts::parse(text).expect("contracts");
        Node::new(contracts, NodeConfig::default(), Seed::new([1, 2]))
    }

    fn question(verb: Verb, cost: u64) -> Question {
        let spot = |contract| Spot {
            contract,
            print: Print(9),
            lot: Lot::ALWAYS,
        };
        Question {
            verb,
            spots: [spot(0), spot(1)].into_iter().collect(),
            cost: Cost::new(cost).expect("small"),
            names: Vec::new(),
        }
    }

    #[test]
    fn an_answer_is_read_as_it_was_given_but_for_the_cells() {
        let node = node();
        let now = Instant::from_nanos(1 << 60);
        for cost in [1, 3, 3, 9, 0] {
            let question = question(Verb::Check, cost);
            let given = node.check_spots(&question.spots, question.cost, now);
            let mut bytes = Vec::new();
            put_said(
                &mut bytes,
                &question.spots,
                &RemoteAnswer::Answer(given.clone()),
            );
            let reply = Answers::new(&bytes).next(&question, (&node, now));
            let Some(OwnerReply::Said(RemoteAnswer::Answer(mut read))) = reply else {
                panic!("{reply:?}");
            };
            let both = read.receipt.bookings_mut().iter_mut();
            for (read, given) in both.zip(given.receipt.bookings()) {
                let (spot, due) = node.spot_of(read).expect("still there");
                assert_eq!((spot.contract, spot.print), (given.contract, given.print));
                assert_eq!(due.charge.charged, given.receipt.charged);
                *read = *given;
            }
            assert_eq!(read, given);
        }
    }

    #[test]
    fn what_policies_say_is_read_as_it_was_said() {
        let node = node();
        let now = Instant::from_nanos(1 << 60);
        let question = question(Verb::Status, 4);
        let _ = node.check_spots(&question.spots, question.cost, now);
        let spots = question.spots.iter();
        let statuses = spots.clone().map(|spot| node.status_at(spot, now));
        let forecasts = spots.map(|spot| node.foresee_at(spot, question.cost, now));
        for (verb, said) in [
            (Verb::Status, RemoteAnswer::Statuses(statuses.collect())),
            (Verb::Foresee, RemoteAnswer::Forecasts(forecasts.collect())),
            (Verb::Reset, RemoteAnswer::Done(true)),
            (Verb::Charge, RemoteAnswer::Done(false)),
        ] {
            let question = Question {
                verb,
                ..question.clone()
            };
            let mut bytes = Vec::new();
            put_said(&mut bytes, &question.spots, &said);
            let reply = Answers::new(&bytes).next(&question, (&node, now));
            assert_eq!(reply, Some(OwnerReply::Said(said)));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_or_read_and_nothing_else(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let node = node();
            for verb in [Verb::Check, Verb::Status, Verb::Foresee, Verb::Reset] {
                let mut answers = Answers::new(&bytes);
                while answers.next(&question(verb.clone(), 1), (&node, Instant::default())).is_some() {}
            }
            let _ = parcels(&bytes);
        }
    }
}
