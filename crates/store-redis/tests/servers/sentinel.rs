//! A primary behind Sentinels: the common suite, and a failover.

use tollgate_conformance::{SuitePlan, all};
use tollgate_parts::{RedisSetup, Sentinels};
use tollgate_store_redis::Servers;

use crate::failover::survives;
use crate::kit::{lingering, open};

pub(crate) fn servers(of: &Sentinels) -> Servers {
    Servers::Sentinel {
        sentinels: of.addresses(),
        primary: Sentinels::NAME.into(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_behind_sentinels_passes_and_is_replaced_when_killed() {
    let mut of = Sentinels::start(&RedisSetup::default(), &RedisSetup::default());
    let engine = open(&lingering(servers(&of))).await;
    let result = all(&engine, &SuitePlan::of(1, 4)).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(engine.figures().disagreements(), 0);
    let (primary, replica) = (&mut of.primary, &of.replica);
    survives(&engine, 7, || primary.kill(), || replica.is_primary()).await;
}
