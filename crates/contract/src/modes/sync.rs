//! The row of `sync`: how often nodes synchronise, and what becomes of debts.

use tollgate_limit::Algorithm;

use super::{Coordination, Decider, Feature, ModeRow};
use crate::contract::NamedPolicy;
use crate::fields::{FieldShape, PolicyField};

pub(super) const ROW: ModeRow = ModeRow {
    algorithms: &[Algorithm::TokenBucket],
    instead: (
        &[Coordination::Gossip, Coordination::Lease],
        Algorithm::TokenBucket,
    ),
    lacks: &[(
        Feature::Durable,
        "under sync counts are in memory alone, and forgotten when all nodes start anew; leave `durable` out, or use \
         `coordination: gossip`, `owner` or `store`",
    )],
    how: "nodes synchronise",
    fields: &[
        PolicyField {
            usual: Some(INTERVAL_NS),
            ..PolicyField::new(
                "interval",
                FieldShape::Within(50_000_000, 60_000_000_000),
                "How often nodes tell what they spent, 50 ms to 1 min.",
                "Interval",
            )
            .absent("100 ms")
        },
        PolicyField::new(
            "debts",
            FieldShape::Choice(&["keep", "forget"]),
            "What becomes of spending that there were no tokens for: `keep` it as owed, so that the limit holds in the \
             long run; or `forget` it, so that every node may admit the limit for ever.",
            "Debts",
        )
        .words(&["paid back", "forgotten"]),
    ],
    ..ModeRow::new("synchronised now and then", Decider::Each)
};

impl NamedPolicy {
    /// How often nodes that synchronise tell what they spent, in nanoseconds.
    pub fn interval_ns(&self) -> u64 {
        self.fields.get("interval").unwrap_or(INTERVAL_NS)
    }

    /// Whether nodes that synchronise forget spending that there were no tokens for.
    pub fn forgets_debts(&self) -> bool {
        self.fields.choice("debts") == 1
    }

    /// Whether nodes synchronise it so seldom that its limit is not reached: more comes back in an interval than the
    /// bucket holds.
    pub fn is_shallow(&self) -> bool {
        let config = self.policy.config();
        let burst = u128::from(config.burst.unwrap_or(config.limit));
        let refill = u128::from(config.limit) * u128::from(self.interval_ns());
        self.coordination == Coordination::Sync
            && burst * u128::from(config.period.nanos()) < refill
    }
}

const INTERVAL_NS: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use crate::Contracts;

    #[test]
    fn a_burst_below_what_comes_back_in_an_interval_is_shallow() {
        for (burst, interval_ms, is) in [(100, 100, false), (99, 100, true), (999, 1_000, true)] {
            let text = format!(
                "contracts: [{{ id: a, policies: [{{ name: p, limit: 1000, per: 1s, burst: {burst}, coordination: sync, \
                 interval: {interval_ms}ms }}] }}]"
            );
            let contracts = Contracts::parse(&text).unwrap();
            let policy = &contracts.as_slice()[0].policies[0];
            assert_eq!(policy.is_shallow(), is, "{burst} {interval_ms}");
        }
    }
}
