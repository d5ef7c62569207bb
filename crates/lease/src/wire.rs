//! Messages as bytes, and back.
//!
//! Whatever a stranger sends, reading it ends in a message whose figures are in range, or in [`Malformed`]. Not here:
//! seals, datagrams, what messages cause.

use std::sync::Arc;

use tollgate_gossip::{Decoder, Encoder, Malformed};

use crate::amount::{AMOUNT_MAX, WANT_MAX};
use crate::message::{Grant, LeaseMessage, Need, Nudge, Question, Stamp, Waits};

/// The first byte: the version of this encoding.
const VERSION: u8 = 0x20;
/// No message is longer.
const BYTES_MAX: usize = 256;
pub(crate) const QUESTION: u8 = 0;
const GRANT: u8 = 1;
const NUDGE: u8 = 2;
/// A grant to requests of which some wait.
const GRANT_WAITING: u8 = 3;

/// The bytes of a message.
pub fn encode(message: &LeaseMessage) -> Arc<[u8]> {
    let mut out = Encoder::default();
    out.u8(VERSION);
    match message {
        LeaseMessage::Question(question) => put_question(&mut out, question),
        LeaseMessage::Grant(grant) => put_grant(&mut out, grant),
        LeaseMessage::Nudge(nudge) => {
            out.u8(NUDGE);
            out.count(nudge.client);
            out.key(nudge.key);
        }
    }
    out.finish()
}

/// The message of these bytes.
pub fn decode(bytes: &[u8]) -> Result<LeaseMessage, Malformed> {
    if bytes.len() > BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut from = Decoder::from_first(bytes);
    match from.u8()? {
        VERSION => {}
        other => return Err(Malformed::Version(other)),
    }
    let message = match from.u8()? {
        QUESTION => LeaseMessage::Question(question(&mut from)?),
        kind @ (GRANT | GRANT_WAITING) => LeaseMessage::Grant(grant_of(kind, &mut from)?),
        NUDGE => LeaseMessage::Nudge(Nudge {
            client: from.count()?,
            key: from.key()?,
        }),
        other => return Err(Malformed::Kind(other)),
    };
    if from.is_empty() {
        Ok(message)
    } else {
        Err(Malformed::Trailing)
    }
}

pub(crate) fn put_question(out: &mut Encoder, question: &Question) {
    out.u8(QUESTION);
    out.count(question.client);
    out.count(question.boot);
    out.key(question.key);
    out.count(question.seq);
    put_stamp(out, question.got);
    put_stamp(out, question.session);
    for amount in [question.rate, question.cap, question.have, question.give] {
        put_amount(out, amount);
    }
    out.count(question.want);
    out.count(question.need.cost);
    out.count(question.need.count);
    out.count(question.seen);
    out.count(question.charge);
    out.u8(u8::from(question.is_ask));
}

pub(crate) fn question(from: &mut Decoder<'_>) -> Result<Question, Malformed> {
    Ok(Question {
        client: from.count()?,
        boot: from.count()?,
        key: from.key()?,
        seq: numbered(from)?,
        got: stamp(from)?,
        session: stamp(from)?,
        rate: amount(from)?,
        cap: amount(from)?,
        have: amount(from)?,
        give: amount(from)?,
        want: within(from.count()?, WANT_MAX)?,
        need: need(from)?,
        seen: from.count()?,
        charge: from.count()?,
        is_ask: match from.u8()? {
            0 => false,
            1 => true,
            _ => return Err(Malformed::Value),
        },
    })
}

pub(crate) fn put_grant(out: &mut Encoder, grant: &Grant) {
    let waits = grant.waits;
    out.u8(if waits.count > 0 {
        GRANT_WAITING
    } else {
        GRANT
    });
    out.count(grant.client);
    out.count(grant.boot);
    out.key(grant.key);
    put_stamp(out, grant.stamp);
    put_stamp(out, grant.session);
    out.count(grant.served);
    for amount in [grant.tokens, grant.rate, grant.depth] {
        put_amount(out, amount);
    }
    out.count(grant.term_ns);
    out.count(grant.deny_ns);
    if waits.count > 0 {
        out.count(waits.count);
        out.count(waits.first_ns);
        out.count(waits.gap_ns);
    }
}

/// A grant, by the byte that says so.
pub(crate) fn grant(from: &mut Decoder<'_>) -> Result<Grant, Malformed> {
    match from.u8()? {
        kind @ (GRANT | GRANT_WAITING) => grant_of(kind, from),
        other => Err(Malformed::Kind(other)),
    }
}

fn grant_of(kind: u8, from: &mut Decoder<'_>) -> Result<Grant, Malformed> {
    let mut grant = Grant {
        client: from.count()?,
        boot: from.count()?,
        key: from.key()?,
        stamp: stamp(from)?,
        session: stamp(from)?,
        served: from.count()?,
        tokens: amount(from)?,
        rate: amount(from)?,
        depth: amount(from)?,
        term_ns: from.count()?,
        deny_ns: from.count()?,
        waits: Waits::default(),
    };
    if kind == GRANT_WAITING {
        grant.waits = Waits {
            count: numbered(from)?,
            first_ns: from.count()?,
            gap_ns: from.count()?,
        };
    }
    if grant.stamp.seq == 0 {
        return Err(Malformed::Value);
    }
    Ok(grant)
}

/// Takes the byte that says which message follows.
pub(crate) fn kind(from: &mut Decoder<'_>, kind: u8) -> Result<(), Malformed> {
    match from.u8()? {
        found if found == kind => Ok(()),
        other => Err(Malformed::Kind(other)),
    }
}

pub(crate) fn put_stamp(out: &mut Encoder, stamp: Stamp) {
    out.count(stamp.generation);
    out.count(stamp.seq);
}

pub(crate) fn stamp(from: &mut Decoder<'_>) -> Result<Stamp, Malformed> {
    Ok(Stamp {
        generation: from.count()?,
        seq: from.count()?,
    })
}

/// Requests that wait and cost something, or none.
fn need(from: &mut Decoder<'_>) -> Result<Need, Malformed> {
    let need = Need {
        cost: from.count()?,
        count: from.count()?,
    };
    if (need.cost == 0) != (need.count == 0) {
        return Err(Malformed::Value);
    }
    Ok(need)
}

/// A debt is nothing to others.
fn put_amount(out: &mut Encoder, amount: i128) {
    out.varint(u128::try_from(amount).unwrap_or(0));
}

pub(crate) fn amount(from: &mut Decoder<'_>) -> Result<i128, Malformed> {
    let amount = i128::try_from(from.varint()?).map_err(|_| Malformed::Value)?;
    if amount > AMOUNT_MAX {
        return Err(Malformed::Value);
    }
    Ok(amount)
}

fn numbered(from: &mut Decoder<'_>) -> Result<u64, Malformed> {
    match from.count()? {
        0 => Err(Malformed::Value),
        number => Ok(number),
    }
}

pub(crate) fn within(value: u64, most: u64) -> Result<u64, Malformed> {
    if value > most {
        return Err(Malformed::Value);
    }
    Ok(value)
}
