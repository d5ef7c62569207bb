//! Keys that are lent, of nodes that never lent before.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use tollgate_client::{Client, ClientConfig, NodeAsk};
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::settings::Settings;

use super::lease::{eventually, node, settings_of};

#[test]
fn keys_of_a_new_cluster_pass_at_once() {
    let folder = tempfile::tempdir().unwrap();
    KeyRing::fresh()
        .unwrap()
        .create(&folder.path().join("key"))
        .unwrap();
    // The test does not wait for so long.
    let contracts = "contracts:
  - { id: api, key: [user], coordination: lease, policies: [{ name: rate, limit: 10, per: 1s, term: 60s }] }
";
    let of = |name: &str| Settings {
        data_dir: Some(folder.path().join(name)),
        ..settings_of(contracts)
    };
    let first = node(of("a"), folder.path(), "a", None);
    let second = node(of("b"), folder.path(), "b", first.cluster());
    let at = [first.resp().unwrap(), second.resp().unwrap()];
    let clients = at.map(|at| Client::connect(ClientConfig::new([at.to_string()])).unwrap());
    for number in 0..20 {
        let key = format!("user-{number}");
        eventually("a key passes at both nodes", || {
            clients.iter().all(|client| {
                let ask = NodeAsk {
                    key: key.as_str().into(),
                    cost: 1,
                    contract: None,
                };
                client.check_at_node(&ask).is_allowed
            })
        });
    }
    drop((first, second));
    // It ran before: what it lent may be out.
    let again = node(of("a"), folder.path(), "a", None);
    let client = Client::connect(ClientConfig::new([again.resp().unwrap().to_string()]));
    let ask = NodeAsk {
        key: "user-1".into(),
        cost: 1,
        contract: None,
    };
    assert!(!client.unwrap().check_at_node(&ask).is_allowed);
}
