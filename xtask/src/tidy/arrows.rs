//! Dependency arrows: which crate may name which in `Cargo.toml`, as `crate::crates` allows.
//!
//! Only production dependencies count; tests may use any. What a crate reaches
//! indirectly is checked by `cargo xtask pure`.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Finding;
use crate::crates::{CrateRules, IMPURE, PURE_DEPENDENCIES_MAX, RAND_IMPURE_FEATURES, ROOMS};
use crate::metadata::{self, Dependency, Package};

pub(crate) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in metadata::packages(root)? {
        let manifest = fs::read_to_string(root.join(&package.manifest)).unwrap_or_default();
        for (dependency, what) in judge(&package) {
            let line = manifest.lines().position(|line| names(line, &dependency));
            findings.push(Finding::new(
                &package.manifest,
                line.map_or(1, |at| at + 1),
                what,
            ));
        }
    }
    Ok(findings)
}

/// Every broken rule, with the dependency to point at.
fn judge(package: &Package) -> Vec<(String, String)> {
    let name = &package.name;
    let Some(room) = ROOMS.iter().find(|room| room.package == name) else {
        let what = format!("{name} has no row in xtask/src/crates.rs; add one and record why");
        return vec![("name".to_owned(), what)];
    };
    let mut broken = Vec::new();
    for dependency in &package.dependencies {
        if let Some(what) = judge_one(room, dependency) {
            broken.push((dependency.name.clone(), what));
        }
    }
    let outside = package
        .dependencies
        .iter()
        .filter(|dependency| !dependency.ours)
        .count();
    if room.pure && outside > PURE_DEPENDENCIES_MAX {
        let limit = PURE_DEPENDENCIES_MAX;
        let what =
            format!("pure crate with {outside} outside dependencies, limit {limit}; drop one");
        broken.push(("[dependencies]".to_owned(), what));
    }
    broken
}

fn judge_one(room: &CrateRules, dependency: &Dependency) -> Option<String> {
    let Dependency {
        name,
        ours,
        features,
    } = dependency;
    let impure_rand = || {
        features
            .iter()
            .any(|one| RAND_IMPURE_FEATURES.contains(&one.as_str()))
    };
    if *ours && !room.uses.contains(&name.as_str()) {
        let package = room.package;
        return Some(format!(
            "arrow {package} -> {name} is not allowed; move the code, or record why"
        ));
    }
    if room.pure && IMPURE.contains(&name.as_str()) {
        return Some(format!(
            "pure crate names {name}; take its effect as a value"
        ));
    }
    if room.pure && name == "rand" && impure_rand() {
        return Some("pure crate uses rand with system randomness; turn those features off".into());
    }
    None
}

/// Whether a line of a manifest is the entry of `key`.
fn names(line: &str, key: &str) -> bool {
    let entry = line.trim().trim_start_matches("[dependencies.");
    let rest = entry.strip_prefix(key);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '.', '=', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn complaints(package: &str, dependencies: &[&str]) -> Vec<String> {
        let dependencies = dependencies.iter().map(|name| Dependency {
            name: (*name).to_owned(),
            ours: name.starts_with("tollgate"),
            features: vec!["default".to_owned()],
        });
        let manifest = String::new();
        let package = Package {
            name: package.into(),
            manifest,
            dependencies: dependencies.collect(),
        };
        judge(&package).into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn arrows_point_one_way() {
        assert!(complaints("tollgate-table", &["tollgate-limit"]).is_empty());
        assert_eq!(complaints("tollgate-limit", &["tollgate-table"]).len(), 1);
        assert_eq!(complaints("tollgate-oracle", &["tollgate-limit"]).len(), 1);
    }

    #[test]
    fn pure_crates_name_few_and_pure_dependencies() {
        assert!(complaints("tollgate-limit", &["a", "b", "c"]).is_empty());
        assert_eq!(complaints("tollgate-limit", &["a", "b", "c", "d"]).len(), 1);
        assert_eq!(complaints("tollgate-node", &["tokio"]).len(), 1);
        assert_eq!(complaints("tollgate-node", &["rand"]).len(), 1);
        assert!(complaints("tollgate", &["a", "b", "c", "d", "tokio", "rand"]).is_empty());
    }

    #[test]
    fn an_unknown_crate_needs_a_row() {
        assert_eq!(complaints("tollgate-attic", &[]).len(), 1);
    }

    #[test]
    fn finds_the_line_of_an_entry() {
        for line in [
            "rand = \"1\"",
            "rand.workspace = true",
            "[dependencies.rand]",
            "rand={}",
        ] {
            assert!(names(line, "rand"), "{line}");
        }
        assert!(!names("rand_core = \"1\"", "rand"));
        assert!(names("[dependencies]", "[dependencies]"));
    }
}
