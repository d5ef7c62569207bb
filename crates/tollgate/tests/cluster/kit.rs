//! The command as a process, and clusters of such processes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use tollgate::cluster::fleet::ClusterPlan;

/// The command with these words.
pub(crate) fn tollgate(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(words);
    command
}

/// So many nodes on loopback, each with one thread, by these contracts.
pub(crate) fn plan(nodes: u16, contracts: PathBuf) -> ClusterPlan {
    ClusterPlan {
        binary: env!("CARGO_BIN_EXE_tollgate").into(),
        nodes,
        contracts,
        flags: vec!["--threads".to_owned(), "1".to_owned()],
        faults: None,
        spots: BTreeMap::new(),
    }
}
