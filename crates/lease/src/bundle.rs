//! What a client and a node say of all policies of one key at a time, as bytes.
//!
//! A client that has heard nothing yet sends no question and is told the terms: which policies the key is lent by, or
//! that it must ask each time. From then on it states what it holds of each of them. Not here: which key it is, which
//! the carrier of the bytes says.

use std::sync::Arc;

use tollgate_gossip::{Decoder, Encoder, Malformed};

use crate::lessee::OnFailure;
use crate::message::{Grant, LeaseMessage, Question};
use crate::wire;

/// What a client says of a key: each policy by its tag, and a question.
pub type Inquiry = Vec<(u64, Question)>;

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleReply {
    /// The key is not lent: ask for every decision.
    Ask,
    /// The policies that it is lent by, each with the answer to the question about it, where there was one that asked.
    Lent {
        /// What clients should know.
        terms: LeaseTerms,
        /// Policies by their tags.
        each: Vec<(u64, Option<Grant>)>,
    },
}

impl BundleReply {
    /// How many questions it answers.
    pub fn grants(&self) -> u64 {
        match self {
            Self::Ask => 0,
            Self::Lent { each, .. } => {
                each.iter().filter(|(_, grant)| grant.is_some()).count() as u64
            }
        }
    }
}

/// What clients should know of a key that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms {
    /// For how long leases are given.
    pub term_ns: u64,
    /// Uses in a term below which no lease is wished.
    pub uses_min: u64,
    /// By how much a clock may run wrong, in millionths.
    pub drift_ppm: u32,
    /// After which time without an answer nobody is there.
    pub timeout_ns: u64,
    /// What a client does then.
    pub on_failure: OnFailure,
    /// How long a client may let a request wait for what comes back to its lease; zero where it may not.
    pub max_wait_ns: u64,
}

/// The bytes of an inquiry.
pub fn encode_inquiry(inquiry: &[(u64, Question)]) -> Arc<[u8]> {
    let mut out = Encoder::default();
    out.u8(VERSION);
    out.count(inquiry.len() as u64);
    for (tag, question) in inquiry {
        out.count(*tag);
        wire::put_question(&mut out, question);
    }
    out.finish()
}

/// The inquiry of these bytes.
pub fn decode_inquiry(bytes: &[u8]) -> Result<Inquiry, Malformed> {
    let mut from = begin(bytes)?;
    let count = counted(&mut from)?;
    let mut inquiry = Vec::with_capacity(count);
    for _ in 0..count {
        let tag = from.count()?;
        wire::kind(&mut from, wire::QUESTION)?;
        inquiry.push((tag, wire::question(&mut from)?));
    }
    end(&from)?;
    Ok(inquiry)
}

/// Who says these bytes, where they say anything of a lease.
pub fn client_of(bytes: &[u8]) -> Option<u64> {
    let mut from = begin(bytes).ok()?;
    counted(&mut from).ok().filter(|count| *count > 0)?;
    from.count().ok()?;
    wire::kind(&mut from, wire::QUESTION).ok()?;
    from.count().ok()
}

/// The bytes of an answer.
pub fn encode_reply(reply: &BundleReply) -> Arc<[u8]> {
    let mut out = Encoder::default();
    out.u8(VERSION);
    match reply {
        BundleReply::Ask => out.u8(ASK),
        BundleReply::Lent { terms, each } => {
            let waits = terms.max_wait_ns > 0;
            out.u8(if waits { LENT_WAITING } else { LENT });
            put_terms(&mut out, terms);
            if waits {
                out.count(terms.max_wait_ns);
            }
            out.count(each.len() as u64);
            for (tag, grant) in each {
                out.count(*tag);
                out.u8(u8::from(grant.is_some()));
                if let Some(grant) = grant {
                    wire::put_grant(&mut out, grant);
                }
            }
        }
    }
    out.finish()
}

/// The answer of these bytes.
pub fn decode_reply(bytes: &[u8]) -> Result<BundleReply, Malformed> {
    let mut from = begin(bytes)?;
    let reply = match from.u8()? {
        ASK => BundleReply::Ask,
        kind @ (LENT | LENT_WAITING) => {
            let mut terms = terms(&mut from)?;
            if kind == LENT_WAITING {
                terms.max_wait_ns = from.count()?;
            }
            let count = counted(&mut from)?;
            let mut each = Vec::with_capacity(count);
            for _ in 0..count {
                let tag = from.count()?;
                let grant = match from.u8()? {
                    0 => None,
                    1 => Some(wire::grant(&mut from)?),
                    _ => return Err(Malformed::Value),
                };
                each.push((tag, grant));
            }
            BundleReply::Lent { terms, each }
        }
        other => return Err(Malformed::Kind(other)),
    };
    end(&from)?;
    Ok(reply)
}

/// The bytes of hints.
pub fn encode_nudge(nudge: crate::Nudge) -> Arc<[u8]> {
    wire::encode(&LeaseMessage::Nudge(nudge))
}

fn put_terms(out: &mut Encoder, terms: &LeaseTerms) {
    out.count(terms.term_ns);
    out.count(terms.uses_min);
    out.count(u64::from(terms.drift_ppm));
    out.count(terms.timeout_ns);
    let (kind, per_second, burst) = match terms.on_failure {
        OnFailure::Deny => (0, 0, 0),
        OnFailure::Allow => (1, 0, 0),
        OnFailure::Safe { per_second, burst } => (2, per_second, burst),
    };
    out.u8(kind);
    out.count(per_second);
    out.count(burst);
}

fn terms(from: &mut Decoder<'_>) -> Result<LeaseTerms, Malformed> {
    let (term_ns, uses_min) = (from.count()?, from.count()?);
    let drift_ppm = u32::try_from(from.count()?).map_err(|_| Malformed::Value)?;
    let timeout_ns = from.count()?;
    let (kind, per_second, burst) = (from.u8()?, from.count()?, from.count()?);
    let on_failure = match kind {
        0 => OnFailure::Deny,
        1 => OnFailure::Allow,
        2 => OnFailure::Safe { per_second, burst },
        _ => return Err(Malformed::Value),
    };
    if drift_ppm > DRIFT_PPM_MAX || term_ns == 0 || timeout_ns == 0 {
        return Err(Malformed::Value);
    }
    Ok(LeaseTerms {
        term_ns,
        uses_min,
        drift_ppm,
        timeout_ns,
        on_failure,
        max_wait_ns: 0,
    })
}

fn begin(bytes: &[u8]) -> Result<Decoder<'_>, Malformed> {
    if bytes.len() > BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut from = Decoder::from_first(bytes);
    match from.u8()? {
        VERSION => Ok(from),
        other => Err(Malformed::Version(other)),
    }
}

fn counted(from: &mut Decoder<'_>) -> Result<usize, Malformed> {
    let count = usize::try_from(from.count()?).map_err(|_| Malformed::Value)?;
    if count > POLICIES_MAX {
        return Err(Malformed::TooLong);
    }
    Ok(count)
}

const fn end(from: &Decoder<'_>) -> Result<(), Malformed> {
    if from.is_empty() {
        Ok(())
    } else {
        Err(Malformed::Trailing)
    }
}

/// The first byte: the version of this encoding.
const VERSION: u8 = 0x21;
const ASK: u8 = 0;
const LENT: u8 = 1;
/// The longest wait comes after the terms; who knows of no waits refuses it.
const LENT_WAITING: u8 = 2;
/// Policies of one key.
const POLICIES_MAX: usize = 64;
/// No bundle is longer.
const BYTES_MAX: usize = 16 << 10;
/// No clock is worse.
const DRIFT_PPM_MAX: u32 = 500_000;
