//! `cargo xtask pure`: walks the whole dependency tree below each pure crate.
//!
//! Procedural macros and build scripts run on the builder's machine only, so they are left out.

use std::path::Path;

use anyhow::Result;

use crate::crates::{IMPURE, ROOMS};
use crate::metadata;
use crate::tidy::Finding;

/// Names every impure crate that a pure crate reaches with all its features on.
pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let pure = |name: &str| ROOMS.iter().any(|room| room.pure && room.package == name);
    for package in metadata::packages(root)?
        .iter()
        .filter(|package| pure(&package.name))
    {
        let (package, manifest) = (&package.name, &package.manifest);
        let tree = tree(root, package)?;
        for reached in impure_in(&tree) {
            let what = format!(
                "{package} reaches {reached}; see `cargo tree -p {package} -e normal -i {reached}`"
            );
            findings.push(Finding::new(manifest, 1, what));
        }
    }
    Ok(findings)
}

fn tree(root: &Path, package: &str) -> Result<String> {
    let arguments = [
        "--quiet",
        "--locked",
        "--all-features",
        "--prefix",
        "none",
        "--edges",
        "normal,no-proc-macro",
        "--package",
        package,
    ];
    let tree = metadata::run_cargo(root, "tree", &arguments)?;
    Ok(String::from_utf8_lossy(&tree).into_owned())
}

/// The impure crates among lines of the form `name v1.2.3 (…)`, each once.
fn impure_in(tree: &str) -> Vec<&'static str> {
    let listed = |name: &str| {
        tree.lines()
            .any(|line| line.split(' ').next() == Some(name))
    };
    IMPURE.iter().copied().filter(|name| listed(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_each_impure_crate_once() {
        let tree = "tollgate-node v0.1.0 (path)\ntokio v1.53.3\nmio v1.0.0\ntokio v1.53.3 (*)\n";
        assert_eq!(impure_in(tree), ["mio", "tokio"]);
    }

    #[test]
    fn a_longer_name_is_another_crate() {
        assert!(impure_in("tokio-util v0.7.0\ntimer v1.0.0\n").is_empty());
    }
}
