//! What a policy says of lending: out of which bucket or window, by which rules, and what clients are told of it.
//!
//! Not here: grantors and clients.

use tollgate_contract::{Contract, NamedPolicy, OnFailure as Wish, Recovery};
use tollgate_limit::{Policy, PolicyConfig, Span};
use tollgate_mode::wait_max;

use crate::amount::{BadLimits, Limits};
use crate::bundle::LeaseTerms;
use crate::lessee::OnFailure;
use crate::pool::Rules;
use crate::share::SharingRule;
use crate::window::LeaseWindow;

/// The bucket of a policy.
pub fn bucket_limits(config: &PolicyConfig) -> Result<Limits, BadLimits> {
    let burst = config.burst.unwrap_or(config.limit);
    Limits::new(config.limit, config.period.nanos(), burst)
}

/// The bucket that a policy lends out of, or the window and how much of it there is.
pub(crate) fn limits(policy: &Policy) -> Result<(Limits, Option<LeaseWindow>), BadLimits> {
    if let Some(window) = LeaseWindow::new(policy) {
        return Ok((window.limits(), Some(window)));
    }
    Ok((bucket_limits(policy.config())?, None))
}

/// How a policy lends.
pub fn rules(named: &NamedPolicy) -> Rules {
    let (get, usual) = (|name| named.fields.get(name), Rules::default());
    let part = |name| get(name).map(|percent| percent.min(100) * ONE / 100);
    Rules {
        term_ns: named.term_ns(),
        depth_min: get("min_depth").unwrap_or(usual.depth_min),
        uses_min: get("min_uses").unwrap_or(usual.uses_min),
        pool_rate: part("pool_rate").unwrap_or(usual.pool_rate),
        lent_depth: part("pool_depth").map_or(usual.lent_depth, |kept| ONE - kept),
        lessees_max: get("max_lessees")
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(usual.lessees_max),
        spill: get("spill").unwrap_or(usual.spill),
        share: [SharingRule::Request, SharingRule::Client][named.fields.choice("share")],
        begins_full: named.recovery() == Recovery::Fresh,
        max_wait_ns: nanos(wait_max(named.policy.config())),
        ..usual
    }
}

fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// What clients should know of a contract that is lent: the strictest of what its policies say.
pub fn terms(contract: &Contract) -> LeaseTerms {
    let mut terms = LeaseTerms {
        term_ns: u64::MAX,
        uses_min: 1,
        drift_ppm: 0,
        timeout_ns: u64::MAX,
        on_failure: OnFailure::Allow,
        max_wait_ns: 0,
    };
    for named in &contract.policies {
        let (get, rules) = (|name| named.fields.get(name), rules(named));
        let drift_ppm = get("drift_ppm").map(|ppm| u32::try_from(ppm).unwrap_or(u32::MAX));
        terms.term_ns = terms.term_ns.min(rules.term_ns);
        terms.uses_min = terms.uses_min.max(rules.uses_min);
        terms.drift_ppm = terms.drift_ppm.max(drift_ppm.unwrap_or(DRIFT_PPM));
        terms.timeout_ns = terms.timeout_ns.min(get("timeout").unwrap_or(TIMEOUT_NS));
        terms.on_failure = stricter(terms.on_failure, wish(named));
        // Of several policies none waits: contracts refuse to lend such.
        terms.max_wait_ns = rules.max_wait_ns;
    }
    terms
}

/// What a client does of a policy when no node answers.
fn wish(named: &NamedPolicy) -> OnFailure {
    match (named.fields.get("safe_capacity"), named.on_failure) {
        (Some(per_second), _) => OnFailure::Safe {
            per_second,
            burst: per_second,
        },
        (None, Wish::Allow) => OnFailure::Allow,
        // A client knows nothing that it could decide by.
        (None, Wish::Deny | Wish::Local) => OnFailure::Deny,
    }
}

fn stricter(one: OnFailure, other: OnFailure) -> OnFailure {
    use OnFailure::{Allow, Deny, Safe};
    match (one, other) {
        (Deny, _) | (_, Deny) => Deny,
        (
            Safe { per_second, burst },
            Safe {
                per_second: less, ..
            },
        ) if per_second <= less => Safe { per_second, burst },
        (_, safe @ Safe { .. }) | (safe @ Safe { .. }, Allow) => safe,
        (Allow, Allow) => Allow,
    }
}

/// One, in which shares are counted.
const ONE: u64 = 1 << 16;
const DRIFT_PPM: u32 = 500;
const TIMEOUT_NS: u64 = 200_000_000;
