//! Policies that no machine can count: an error when contracts are loaded, never a count per node that was not
//! configured.

use tollgate_node::Roster;
use tollgate_serve::run::start;
use tollgate_serve::settings::{ContractSource, Settings};

use crate::cluster::kit::{ClusterFolder, NodeServer};

/// A contract file takes it, and it divides among few nodes, but no part of it can be counted in whole numbers.
const DEEP: &str = "contracts: [{ id: users, key: [user], policies: [{ name: all, limit: 11, burst: 9007199254740992, \
     per: 36500d, coordination: split }] }]";

/// Settings of a node that divides limits with no other node.
fn settings(ground: &ClusterFolder, contracts: ContractSource) -> Settings {
    let mut settings = ground.settings("a", &[]);
    let cluster = settings.cluster.as_mut().unwrap();
    cluster.roster = Some(Roster::new([("a".to_owned(), 1)]).unwrap());
    settings.contracts = contracts;
    settings
}

#[test]
fn a_start_with_a_policy_that_no_machine_can_count_is_refused() {
    let ground = ClusterFolder::new();
    let settings = settings(&ground, ContractSource::Text(DEEP.to_owned()));
    let error = start(settings).err().unwrap().to_string();
    for word in [
        "contract `users`, policy `all`",
        "`coordination: split`",
        "too deep for so long a period",
    ] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn a_reload_of_a_policy_that_no_machine_can_count_keeps_the_old_contracts_and_says_so() {
    let ground = ClusterFolder::new();
    let file = ground.folder.path().join("contracts.yaml");
    std::fs::write(&file, &ground.contracts).unwrap();
    let mut node = NodeServer::start(settings(&ground, ContractSource::File(file.clone())));
    assert!(node.passes("ada"));
    std::fs::write(&file, DEEP).unwrap();
    let error = node.running.reload().unwrap_err();
    assert!(error.contains("contract `users`, policy `all`"), "{error}");
    let troubles = node.running.shared().state.troubles();
    assert!(troubles.iter().any(|told| told.contains("policy `all`")));
    let passed = (0..60).filter(|_| node.passes("ada")).count();
    assert_eq!(passed, 49, "the old limit is in force");
}
