//! How a policy under `coordination: lease` lends.
//!
//! Not here: lending (`tollgate-lease`), and who does it.

use tollgate_limit::{Algorithm, OnLimit, Period, PolicyConfig};

use crate::contract::NamedPolicy;

/// How a policy lends; what is not given is chosen by its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lending {
    /// For how long leases are given, in nanoseconds.
    pub term_ns: Option<u64>,
    /// Tokens of depth below which no lease is worth it.
    pub min_depth: Option<u64>,
    /// Uses in a term below which no lease is worth it.
    pub min_uses: Option<u64>,
    /// Percent of the rate that stay with the grantor at least.
    pub pool_rate: Option<u64>,
    /// Percent of the burst that stay with the grantor.
    pub pool_depth: Option<u64>,
    /// The most clients that have a lease of a key at a time.
    pub max_lessees: Option<u64>,
    /// One time in that the bucket of a client is full, and its refill lost.
    pub spill: Option<u64>,
    /// Whether clients share alike, whatever they ask for.
    pub shares_by_client: bool,
    /// By how much clocks of clients may run wrong, in millionths.
    pub drift_ppm: Option<u64>,
    /// After which time without an answer nobody is there, in nanoseconds.
    pub timeout_ns: Option<u64>,
    /// Tokens per second that a client admits by itself when nobody is there.
    pub safe_capacity: Option<u64>,
    /// What a grantor that succeeds another goes by.
    pub recovery: Recovery,
}

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
    /// All of them, in the order of their names in a contract file.
    pub(crate) const ALL: [Self; 3] = [Self::Restate, Self::Fresh, Self::Ledger];
}

impl Lending {
    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// For how long leases of such a policy are given, in nanoseconds: twice its period, or as long as requests may
    /// wait; at least 1 s and at most 10 s.
    pub fn term(&self, config: &PolicyConfig) -> u64 {
        let twice = config.period.nanos().saturating_mul(2);
        let long = match config.on_limit {
            OnLimit::Delay { max_wait_ns } => max_wait_ns.map_or(twice, |most| most.max(twice)),
            OnLimit::Deny => twice,
        };
        self.term_ns.unwrap_or(long.clamp(SECOND, 10 * SECOND))
    }
}

/// Whether a policy can be lent at all; otherwise it is asked for every decision, as under `owner`.
pub(crate) fn can_be_lent(named: &NamedPolicy) -> bool {
    let config = named.policy.config();
    match config.algorithm {
        Algorithm::TokenBucket => can_be_kept(config, &named.lending()),
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
pub(crate) fn can_be_kept(config: &PolicyConfig, lending: &Lending) -> bool {
    config.algorithm == Algorithm::TokenBucket
        && matches!(config.period, Period::Fixed(_))
        && config.burst.unwrap_or(config.limit) >= BURST_MIN
        && is_plain(config)
        && is_soon_let_through(config, lending)
}

/// Whether a client can decide by what it holds alone.
const fn is_plain(config: &PolicyConfig) -> bool {
    !config.count_refused && config.enforce_percent == 100
}

/// Whether nobody waits longer than whoever begins to grant is silent, for it knows nothing of what was promised.
fn is_soon_let_through(config: &PolicyConfig, lending: &Lending) -> bool {
    match config.on_limit {
        OnLimit::Deny => true,
        OnLimit::Delay { max_wait_ns } => {
            max_wait_ns.is_some_and(|most| most <= lending.term(config))
        }
    }
}

/// Whether a node that begins to grant a window admits something soon: all of it may have been spent before.
fn is_soon_known(named: &NamedPolicy) -> bool {
    let is_fresh = named.lending().recovery == Recovery::Fresh;
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
        ] {
            assert!(is_lent(lent), "{lent}");
        }
        for asked in [
            "limit: 3, per: 1s",
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
