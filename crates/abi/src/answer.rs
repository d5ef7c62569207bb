//! Answers as C reads them: plain values, nothing to free.
//!
//! Not here: receipts (`limiter`).

use std::ffi::c_char;

use tollgate_client::{Outcome, Span};

/// Bytes of a name in an answer, its NUL among them. Longer names are cut at a character.
pub const TOLLGATE_NAME_BYTES: usize = 64;

/// May a request pass?
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At once; the cost was taken.
    Allow = 0,
    /// After `wait_ns`; the cost was taken.
    Delay = 1,
    /// No; nothing was taken. The same request would pass after `retry_after_ns` if nothing else came.
    Deny = 2,
    /// Never: the cost is more than a policy can ever hold.
    Never = 3,
}

/// How an answer was found.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// In this process, by its own contract.
    Here = 0,
    /// In this process, by a lease of a node.
    Lease = 1,
    /// By a lease that the call waited for.
    Waited = 2,
    /// In this process, as a node said to refuse for a while, or as no lease is at hand and the call was not to wait.
    Denied = 3,
    /// By a node, as the key is not lent.
    Asked = 4,
    /// By nobody: no node answered, so it is as the options or the contract say.
    Failed = 5,
}

/// The answer to one request. Spans that do not fit are `UINT64_MAX`. A limiter by leases does not know contracts: it
/// says whether the request passes, how that was found, when it could pass, and as `remaining` what it holds of the key
/// itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// May it pass?
    pub verdict: Verdict,
    /// How that was found.
    pub path: Path,
    /// Whether it passes, at once or after a wait.
    pub allowed: bool,
    /// Whether a contract binds it; where none does it passes, and the rest is zero. A limiter by leases takes it that
    /// one does.
    pub bound: bool,
    /// Whether a policy that is not enforced would have refused.
    pub shadowed: bool,
    /// Limit of the policy that refused longest, or that has the least left. A bucket may hold more.
    pub limit: u64,
    /// Whole tokens left in that policy.
    pub remaining: u64,
    /// How long to hold the request back; zero unless the verdict is to delay.
    pub wait_ns: u64,
    /// When a denied request could pass; zero unless the verdict is to deny.
    pub retry_after_ns: u64,
    /// Until that policy is as if the key had never been seen.
    pub reset_after_ns: u64,
    /// The contract of that policy, in UTF-8 with a NUL; empty where there is none.
    pub contract: [c_char; TOLLGATE_NAME_BYTES],
    /// The policy that refused longest, or else the one with the least left.
    pub policy: [c_char; TOLLGATE_NAME_BYTES],
}

impl Answer {
    /// The answer that a limiter gave.
    pub(crate) fn of(limiter: &tollgate_client::Limiter, answer: &tollgate_client::Answer) -> Self {
        let (contract, policy) = names(limiter, answer).unwrap_or_default();
        Self {
            verdict: Verdict::of(answer.verdict),
            path: Path::Here,
            allowed: answer.is_allowed(),
            bound: answer.contract.is_some(),
            shadowed: answer.shadowed,
            limit: answer.limit,
            remaining: answer.remaining,
            wait_ns: nanos(answer.verdict.wait()),
            retry_after_ns: answer.verdict.retry_after().map_or(0, nanos),
            reset_after_ns: nanos(answer.reset_after),
            contract: name(contract),
            policy: name(policy),
        }
    }

    /// What a limiter by leases says, of a key of which it holds so many tokens.
    pub(crate) fn lent(outcome: &Outcome, tokens: u64) -> Self {
        let wait_ns = nanos(outcome.wait);
        let verdict = match outcome.is_allowed {
            true if wait_ns > 0 => Verdict::Delay,
            true => Verdict::Allow,
            false => Verdict::Deny,
        };
        Self {
            verdict,
            path: Path::of(outcome.path),
            allowed: outcome.is_allowed,
            bound: true,
            shadowed: false,
            limit: 0,
            remaining: tokens,
            wait_ns,
            retry_after_ns: outcome.retry_after.map_or(0, nanos),
            reset_after_ns: 0,
            contract: name(""),
            policy: name(""),
        }
    }
}

impl Path {
    const fn of(path: tollgate_client::DecisionPath) -> Self {
        match path {
            tollgate_client::DecisionPath::Lease => Self::Lease,
            tollgate_client::DecisionPath::Waited => Self::Waited,
            tollgate_client::DecisionPath::Denied => Self::Denied,
            tollgate_client::DecisionPath::Asked => Self::Asked,
            tollgate_client::DecisionPath::Failed => Self::Failed,
        }
    }
}

impl Verdict {
    const fn of(verdict: tollgate_client::Verdict) -> Self {
        match verdict {
            tollgate_client::Verdict::Allow => Self::Allow,
            tollgate_client::Verdict::Delay { .. } => Self::Delay,
            tollgate_client::Verdict::Deny { .. } => Self::Deny,
            tollgate_client::Verdict::Never => Self::Never,
        }
    }
}

/// The policy that refused longest, or that has the least left, and its contract.
fn names<'l>(
    limiter: &'l tollgate_client::Limiter,
    answer: &tollgate_client::Answer,
) -> Option<(&'l str, &'l str)> {
    // Nothing gives a key of an embedded limiter terms of its own, so the contract's policies are the answer's.
    let contract = limiter.node().contracts().get(answer.contract?)?;
    let policy = contract.policies.get(answer.policy)?;
    Some((&contract.id, &policy.name))
}

fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A name with a NUL, cut at a character where it is too long.
fn name(text: &str) -> [c_char; TOLLGATE_NAME_BYTES] {
    let end = text.floor_char_boundary(TOLLGATE_NAME_BYTES - 1);
    let mut name = [0; TOLLGATE_NAME_BYTES];
    // A NUL within would end it, as in any text of C.
    for (place, byte) in name.iter_mut().zip(&text.as_bytes()[..end]) {
        *place = c_char::from_ne_bytes([*byte]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &[c_char]) -> String {
        let bytes = name
            .iter()
            .take_while(|byte| **byte != 0)
            .map(|byte| byte.to_ne_bytes()[0]);
        String::from_utf8(bytes.collect()).unwrap()
    }

    #[test]
    fn a_long_name_is_cut_at_a_character() {
        assert_eq!(read(&name("burst")), "burst");
        assert_eq!(read(&name("")), "");
        assert_eq!(read(&name(&"a".repeat(64))), "a".repeat(63));
        assert_eq!(read(&name(&"ž".repeat(40))), "ž".repeat(31));
    }
}
