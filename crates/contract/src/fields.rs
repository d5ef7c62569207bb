//! The fields of a policy: one table that the reader, the checker and the JSON schema share.

use tollgate_limit::{LIMIT_MAX, SLICES_MAX};

use crate::coordination;

/// A field of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Name,
    Limit,
    Per,
    Algorithm,
    Burst,
    Slices,
    Offset,
    TimeZone,
    OnLimit,
    MaxWait,
    Mode,
    EnforcePercent,
    MaxDebt,
    CountRefused,
    Inherit,
    OnFailure,
    Durable,
    Coordination,
    Design,
    Term,
    MinDepth,
    MinUses,
    PoolRate,
    PoolDepth,
    MaxLessees,
    Spill,
    Share,
    DriftPpm,
    Timeout,
    SafeCapacity,
    Recovery,
    Interval,
    Debts,
}

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Name,
    Zone,
    /// A whole number between the bounds.
    Whole(u64, u64),
    Duration,
    /// One of the names; the first is the default.
    Choice(&'static [&'static str]),
    Switch,
}

/// A field's row in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) field: Field,
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) about: &'static str,
}

impl Field {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        ROWS.iter()
            .find(|row| row.name == name)
            .map(|row| row.field)
    }

    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Every name, for suggestions.
    pub(crate) fn names() -> Vec<&'static str> {
        ROWS.iter().map(|row| row.name).collect()
    }
}

/// The names of [`tollgate_limit::Algorithm::ALL`] in their order, then the aliases.
pub(crate) const ALGORITHMS: [&str; 7] = [
    "token-bucket",
    "leaky-bucket",
    "fixed-window",
    "sliding-log",
    "sliding-counters",
    "sliding-weighted",
    "gcra",
];
pub(crate) const ON_LIMIT: [&str; 2] = ["deny", "delay"];
pub(crate) const RECOVERY: [&str; 3] = ["restate", "fresh", "ledger"];
pub(crate) const SHARE: [&str; 2] = ["request", "client"];
pub(crate) const DEBTS: [&str; 2] = ["keep", "forget"];
pub(crate) const MODES: [&str; 2] = ["enforce", "shadow"];
pub(crate) const INHERIT: [&str; 3] = ["as-is", "proportional", "reset"];

const SLICES: u64 = SLICES_MAX as u64;

/// Every field, in the order of [`Field`].
pub(crate) const ROWS: [Row; 33] = [
    row(
        Field::Name,
        "name",
        Shape::Name,
        "Names the policy in answers, metrics and plans.",
    ),
    row(
        Field::Limit,
        "limit",
        Shape::Whole(1, LIMIT_MAX),
        "How many tokens in each period.",
    ),
    row(
        Field::Per,
        "per",
        Shape::Duration,
        "The period. The words day, week, month and year follow the calendar for fixed-window; elsewhere they are 1, \
         7, 30 and 365 days.",
    ),
    row(
        Field::Algorithm,
        "algorithm",
        Shape::Choice(&ALGORITHMS),
        "How requests are counted. gcra is another name of token-bucket.",
    ),
    row(
        Field::Burst,
        "burst",
        Shape::Whole(1, LIMIT_MAX),
        "The most tokens a bucket holds; the limit where absent. Only token-bucket and leaky-bucket.",
    ),
    row(
        Field::Slices,
        "slices",
        Shape::Whole(1, SLICES),
        "Counters a period is cut into; 60 where absent. Only sliding-counters.",
    ),
    row(
        Field::Offset,
        "offset",
        Shape::Duration,
        "Shift of the windows against the UNIX epoch. Only fixed-window with a fixed period.",
    ),
    row(
        Field::TimeZone,
        "time_zone",
        Shape::Zone,
        "IANA name of the zone whose calendar is followed; UTC where absent. Only fixed-window per day, week, month \
         or year.",
    ),
    row(
        Field::OnLimit,
        "on_limit",
        Shape::Choice(&ON_LIMIT),
        "Whether a request that finds too little is refused, or admitted and told to wait. Only token-bucket delays.",
    ),
    row(
        Field::MaxWait,
        "max_wait",
        Shape::Duration,
        "The longest wait before a request is refused after all; without bound where absent. Only with on_limit: delay.",
    ),
    row(
        Field::Mode,
        "mode",
        Shape::Choice(&MODES),
        "shadow counts and reports what it would refuse, but refuses nothing.",
    ),
    row(
        Field::EnforcePercent,
        "enforce_percent",
        Shape::Whole(0, 100),
        "The share of keys for which the policy is enforced; the others are in shadow mode. 100 where absent.",
    ),
    row(
        Field::MaxDebt,
        "max_debt",
        Shape::Whole(0, LIMIT_MAX),
        "The most tokens a charge after the fact may take a key below zero; without bound where absent.",
    ),
    row(
        Field::CountRefused,
        "count_refused",
        Shape::Switch,
        "Whether refused requests are charged too.",
    ),
    row(
        Field::Inherit,
        "inherit",
        Shape::Choice(&INHERIT),
        "What becomes of spent tokens when the policy changes: the same number, the same share, or nothing.",
    ),
    row(
        Field::OnFailure,
        "on_failure",
        Shape::Choice(&["local", "allow", "deny"]),
        "The answer when whoever must be asked does not answer: what this node knows, yes, or no.",
    ),
    row(
        Field::Durable,
        "durable",
        Shape::Switch,
        "Whether counts survive a restart.",
    ),
    row(
        Field::Coordination,
        "coordination",
        Shape::Choice(&coordination::NAMES),
        "How nodes agree about the policy; the contract's where absent.",
    ),
    row(
        Field::Design,
        "design",
        Shape::Choice(&coordination::DESIGNS),
        "What nodes that gossip keep, and when they speak; the contract's where absent. Only with coordination: gossip.",
    ),
    row(
        Field::Term,
        "term",
        Shape::Duration,
        "For how long leases are given; twice the period where absent, between 1 s and 10 s. Only with coordination: lease.",
    ),
    row(
        Field::MinDepth,
        "min_depth",
        Shape::Whole(1, 1 << 20),
        "Tokens of burst below which a client gets no lease; 2 where absent. Only with coordination: lease.",
    ),
    row(
        Field::MinUses,
        "min_uses",
        Shape::Whole(1, 1 << 20),
        "Requests in a term below which a client gets no lease; 8 where absent. Only with coordination: lease.",
    ),
    row(
        Field::PoolRate,
        "pool_rate",
        Shape::Whole(0, 100),
        "Percent of the rate that are never lent; 6.25 where absent. Only with coordination: lease.",
    ),
    row(
        Field::PoolDepth,
        "pool_depth",
        Shape::Whole(1, 100),
        "Percent of the burst that are never lent; 50 where absent. Only with coordination: lease.",
    ),
    row(
        Field::MaxLessees,
        "max_lessees",
        Shape::Whole(1, 65_536),
        "The most clients that have a lease of a key at a time; 1024 where absent. Only with coordination: lease.",
    ),
    row(
        Field::Spill,
        "spill",
        Shape::Whole(2, 10_000),
        "A client is lent so much of the rate that its bucket is full, and its refill lost, one time in that; 100 where absent. Only with \
         coordination: lease.",
    ),
    row(
        Field::Share,
        "share",
        Shape::Choice(&SHARE),
        "Who gets how much where there is not enough: by request in proportion to what is asked for, or by client alike, so that one \
         who asks for much takes nothing from who asks for little. Only with coordination: lease.",
    ),
    row(
        Field::DriftPpm,
        "drift_ppm",
        Shape::Whole(0, 100_000),
        "By how much clocks of clients may run wrong, in millionths; 500 where absent. Only with coordination: lease.",
    ),
    row(
        Field::Timeout,
        "timeout",
        Shape::Duration,
        "How long clients wait for an answer before on_failure; 200 ms where absent. Only with coordination: lease.",
    ),
    row(
        Field::SafeCapacity,
        "safe_capacity",
        Shape::Whole(1, LIMIT_MAX),
        "Tokens per second that each client admits by itself when nobody answers, instead of on_failure. Only with \
         coordination: lease.",
    ),
    row(
        Field::Recovery,
        "recovery",
        Shape::Choice(&RECOVERY),
        "How keys begin when a node grants in the place of another, or anew: restate with nothing but what clients say they hold, so that \
         nothing is admitted twice; fresh with a full burst once all old leases are over; ledger with the books, which all servers keep in \
         their store, so that nothing is lost or admitted twice. Only with coordination: lease.",
    ),
    row(
        Field::Interval,
        "interval",
        Shape::Duration,
        "How often nodes tell what they spent, between 50 ms and 1 min; 100 ms where absent. Only with coordination: sync.",
    ),
    row(
        Field::Debts,
        "debts",
        Shape::Choice(&DEBTS),
        "What becomes of spending that there were no tokens for: keep it as owed, so that the limit holds in the long run, or forget \
         it, so that every node may admit the limit for ever. Only with coordination: sync.",
    ),
];

const fn row(field: Field, name: &'static str, shape: Shape, about: &'static str) -> Row {
    Row {
        field,
        name,
        shape,
        about,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_limit::Algorithm;

    #[test]
    fn rows_stand_in_the_order_of_the_fields() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.field as usize, index, "{}", row.name);
            assert_eq!(Field::from_name(row.name), Some(row.field));
        }
    }

    #[test]
    fn algorithms_have_the_names_of_the_limit_crate() {
        assert_eq!(Algorithm::ALL.map(Algorithm::name), ALGORITHMS[..6]);
    }
}
