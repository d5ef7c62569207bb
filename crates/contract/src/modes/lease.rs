//! The row of `lease`: how a policy lends, and whether it can.

use tollgate_limit::{Algorithm, LIMIT_MAX, OnLimit, Period, PolicyConfig};

use super::{Decider, ModeFields, ModeRow};
use crate::contract::NamedPolicy;
use crate::fields::{FieldShape, PolicyField};

pub(super) const ROW: ModeRow = ModeRow {
    how: "leases are given",
    fields: &[
        PolicyField::new(
            "term",
            LENGTH,
            "For how long leases are given. A client that dies costs its burst and so much of its rate.",
            "Term",
        )
        .absent("twice the period, 1 s to 10 s"),
        PolicyField::new(
            "min_depth",
            FieldShape::Whole(1, 1 << 20),
            "Tokens of burst below which a client gets no lease.",
            "Least burst of a lease",
        )
        .absent("2"),
        PolicyField::new(
            "min_uses",
            FieldShape::Whole(1, 1 << 20),
            "Requests in a term below which a client gets no lease.",
            "Least uses in a term",
        )
        .absent("8"),
        PolicyField::new(
            "pool_rate",
            FieldShape::Whole(0, 100),
            "Percent of the rate that are never lent.",
            "Never lent, % of the rate",
        )
        .absent("6.25"),
        PolicyField::new(
            "pool_depth",
            FieldShape::Whole(1, 100),
            "Percent of the burst that are never lent.",
            "Never lent, % of the burst",
        )
        .absent("50"),
        PolicyField::new(
            "max_lessees",
            FieldShape::Whole(1, 65_536),
            "The most clients that have a lease of a key at a time.",
            "Most clients with a lease",
        )
        .absent("1024"),
        PolicyField::new(
            "spill",
            FieldShape::Whole(2, 10_000),
            "A client is lent so much of the rate that its bucket is full, and its refill lost, one time in that. Less \
             lends more, and wastes more.",
            "A client's bucket is full one time in",
        )
        .absent("100"),
        PolicyField::new(
            "share",
            FieldShape::Choice(&["request", "client"]),
            "Who gets how much where there is not enough: by `request` in proportion to what is asked for, as one bucket \
             would; by `client` alike, so that one who asks for much takes nothing from who asks for little.",
            "Where there is not enough",
        )
        .words(&["by what is asked for", "every client alike"]),
        PolicyField::new(
            "drift_ppm",
            FieldShape::Whole(0, 100_000),
            "By how much clocks of clients may run wrong, in millionths.",
            "Clocks may be off, ppm",
        )
        .absent("500"),
        PolicyField::new(
            "timeout",
            LENGTH,
            "How long clients wait for an answer before `on_failure`.",
            "Timeout",
        )
        .absent("200 ms"),
        PolicyField::new(
            "safe_capacity",
            FieldShape::Whole(1, LIMIT_MAX),
            "Tokens per second that each client admits by itself when nobody answers, instead of `on_failure`.",
            "Each client alone, per second",
        )
        .absent("none"),
        PolicyField::new(
            "recovery",
            FieldShape::Choice(&["restate", "fresh", "ledger"]),
            "How keys begin when a node begins to grant them: `restate` with nothing but what clients say they hold, so \
             that nothing is admitted twice; `fresh` with a full burst or an empty window, once all old leases are over; \
             `ledger` with the books, which servers keep in their store: nothing is lost or admitted \
             twice. It needs a `store:` and token buckets, and holds for all policies of the contract where one says it.",
            "When a node begins to lend",
        )
        .words(&[
            "by what clients hold",
            "with a full burst",
            "by what a store keeps",
        ]),
    ],
    check,
    ..ModeRow::new("leases", Decider::Client)
};

const LENGTH: FieldShape = FieldShape::Within(1_000_000, 3_600_000_000_000);

/// What a grantor that succeeds another goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// What clients say they hold.
    #[default]
    Restate,
    /// Nothing: it begins full, and may admit a burst again.
    Fresh,
    /// The books, which are in a store.
    Ledger,
}

impl Recovery {
    fn of(fields: &ModeFields) -> Self {
        [Self::Restate, Self::Fresh, Self::Ledger][fields.choice("recovery")]
    }
}

impl NamedPolicy {
    /// What a grantor that succeeds another goes by.
    pub fn recovery(&self) -> Recovery {
        Recovery::of(&self.fields)
    }

    /// For how long leases of it are given, in nanoseconds: twice its period, or as long as requests may wait; at least
    /// 1 s and at most 10 s.
    pub fn term_ns(&self) -> u64 {
        term(self.policy.config(), &self.fields)
    }
}

fn term(config: &PolicyConfig, fields: &ModeFields) -> u64 {
    let twice = config.period.nanos().saturating_mul(2);
    let long = match config.on_limit {
        OnLimit::Delay { max_wait_ns } => max_wait_ns.map_or(twice, |most| most.max(twice)),
        OnLimit::Deny => twice,
    };
    fields
        .get("term")
        .unwrap_or(long.clamp(SECOND, 10 * SECOND))
}

/// Refuses a ledger for what it cannot keep.
fn check(config: &PolicyConfig, fields: &ModeFields) -> Vec<(&'static str, String)> {
    if Recovery::of(fields) != Recovery::Ledger || can_be_kept(config, fields) {
        return Vec::new();
    }
    let what = "a ledger keeps token buckets with a burst of 4 or more that are enforced for everybody and let nobody wait longer \
                than a term; choose another `recovery`";
    vec![("recovery", what.into())]
}

/// Whether a policy can be lent at all; otherwise it is asked for every decision, as under `owner`.
pub(crate) fn can_be_lent(named: &NamedPolicy) -> bool {
    let config = named.policy.config();
    match config.algorithm {
        Algorithm::TokenBucket => {
            // Pools are in memory, or in a ledger.
            let is_in_memory = named.recovery() != Recovery::Ledger;
            can_be_kept(config, &named.fields) && !(named.durable && is_in_memory)
        }
        Algorithm::LeakyBucket => false,
        Algorithm::FixedWindow
        | Algorithm::SlidingLog
        | Algorithm::SlidingCounters
        | Algorithm::SlidingWeighted => {
            let denies = config.on_limit == OnLimit::Deny;
            let is_lendable = config.limit >= BURST_MIN && !named.durable && is_soon_known(named);
            is_plain(config) && denies && is_lendable
        }
    }
}

/// Whether a ledger can keep what is lent of a policy.
pub(crate) fn can_be_kept(config: &PolicyConfig, fields: &ModeFields) -> bool {
    config.algorithm == Algorithm::TokenBucket
        && matches!(config.period, Period::Fixed(_))
        && config.burst.unwrap_or(config.limit) >= BURST_MIN
        && is_plain(config)
        && is_soon_let_through(config, fields)
}

/// Whether a client can decide by what it holds alone.
const fn is_plain(config: &PolicyConfig) -> bool {
    !config.count_refused && config.enforce_percent == 100
}

/// Whether nobody waits longer than whoever begins to grant is silent, for it knows nothing of what was promised.
fn is_soon_let_through(config: &PolicyConfig, fields: &ModeFields) -> bool {
    match config.on_limit {
        OnLimit::Deny => true,
        OnLimit::Delay { max_wait_ns } => {
            max_wait_ns.is_some_and(|most| most <= term(config, fields))
        }
    }
}

/// Whether a node that begins to grant a window admits something soon: all of it may have been spent before.
fn is_soon_known(named: &NamedPolicy) -> bool {
    let is_fresh = named.recovery() == Recovery::Fresh;
    named.policy.config().period.nanos() <= WINDOW_MAX || is_fresh
}

const SECOND: u64 = 1_000_000_000;
/// The longest window that is lent by a node that knows nothing of what was spent.
const WINDOW_MAX: u64 = 60 * SECOND;
/// Below that nobody could hold two tokens beside a pool of half the burst.
const BURST_MIN: u64 = 4;

#[cfg(test)]
mod tests {
    use crate::Contracts;

    #[test]
    fn buckets_and_short_windows_are_lent() {
        let is_lent = |policy: &str| {
            let text = format!(
                "contracts: [{{ id: a, key: [user], coordination: lease, policies: [{{ name: p, {policy} }}] }}]"
            );
            Contracts::parse(&text).unwrap().as_slice()[0].is_lent()
        };
        for lent in [
            "limit: 4, per: 1s",
            "limit: 4, per: 1s, on_limit: delay, max_wait: 10s",
            "limit: 4, per: 1s, on_limit: delay, max_wait: 3s, term: 3s",
            "limit: 9, per: 1m, algorithm: fixed-window",
            "limit: 9, per: 1s, algorithm: sliding-log",
            "limit: 9, per: 1s, algorithm: sliding-counters, slices: 4",
            "limit: 9, per: 1m, algorithm: sliding-weighted",
            "limit: 9, per: day, algorithm: fixed-window, recovery: fresh",
            "limit: 4, per: 1s, durable: true, recovery: ledger",
        ] {
            assert!(is_lent(lent), "{lent}");
        }
        for asked in [
            "limit: 3, per: 1s",
            "limit: 4, per: 1s, durable: true",
            "limit: 4, per: 1s, on_limit: delay",
            "limit: 4, per: 1s, on_limit: delay, max_wait: 11s",
            "limit: 4, per: 1s, on_limit: delay, max_wait: 3s, term: 2s",
            "limit: 3, per: 1m, algorithm: fixed-window",
            "limit: 9, per: 61s, algorithm: sliding-log",
            "limit: 9, per: 1s, algorithm: fixed-window, durable: true",
            "limit: 9, per: 1s, algorithm: fixed-window, count_refused: true",
            "limit: 9, per: 1s, algorithm: fixed-window, mode: shadow",
            "limit: 9, per: 1s, algorithm: leaky-bucket",
        ] {
            assert!(!is_lent(asked), "{asked}");
        }
    }

    #[test]
    fn of_several_policies_none_may_delay() {
        let is_lent = |other: &str| {
            let text = format!(
                "contracts: [{{ id: a, key: [user], coordination: lease, policies: [{{ name: p, limit: 4, per: 1s }}, {{ name: q, \
                 limit: 4, per: 1m, {other} }}] }}]"
            );
            Contracts::parse(&text).unwrap().as_slice()[0].is_lent()
        };
        assert!(is_lent("on_limit: deny"));
        assert!(!is_lent("on_limit: delay, max_wait: 1s"));
        assert!(!is_lent("mode: shadow"));
    }
}
