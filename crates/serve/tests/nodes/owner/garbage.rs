//! A server answers or refuses any input of another node.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::owner::kit::OwnerCluster;

const ONE: &str = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 10, per: 1d}]}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_is_refused_and_counted_and_changes_nothing() {
    let cluster = OwnerCluster::of(ONE).await;
    let server = &cluster.servers[0];
    let bytes = prop::collection::vec(any::<u8>(), 0..400);
    let kinds = prop_oneof![Just(16_u8), Just(19_u8), any::<u8>()];
    let first = prop_oneof![Just(1_u8), any::<u8>()];
    let mut runner = TestRunner::default();
    let ran = runner.run(&(kinds, first, bytes), |(kind, first, mut bytes)| {
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        let _ = server.responder.answer(kind, &bytes);
        Ok(())
    });
    ran.unwrap();
    assert!(server.counts().malformed.get() > 0);
    let (_, other) = cluster.sides("anna");
    assert!(other.check("anna").await);
}
