//! `cargo xtask mutants`: plants each known bug in turn and asks whether the lab's checkers notice.
//!
//! Bugs sit in the sources as `planted!("name", right, wrong)` and are compiled in only here. Not here: the checkers, which
//! are the test `checkers` of the lab; it plants what `TOLLGATE_PLANTED` names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::tidy::Finding;

/// Where bugs are planted, from the root.
const SOURCES: &str = "crates/gossip/src";

/// Every bug that no checker noticed, or a checker that fails without one.
pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let bugs = bugs(root)?;
    let checkers = build(root)?;
    let mut findings = Vec::new();
    if let Some(failed) = failed_with(root, &checkers, "")? {
        let what = format!("fails with no bug planted: {failed}");
        findings.push(Finding::new("crates/lab/tests/checkers.rs", 1, what));
        return Ok(findings);
    }
    println!("{} bugs, each planted alone", bugs.len());
    for (name, (path, line)) in &bugs {
        let begin = Instant::now();
        let failed = failed_with(root, &checkers, name)?;
        let seconds = begin.elapsed().as_secs_f32();
        if let Some(by) = failed {
            println!("  caught    {name:<28} {seconds:>5.1} s  by {by}");
        } else {
            println!("  SURVIVED  {name:<28} {seconds:>5.1} s");
            let what = format!("no checker notices `{name}`; add one that does");
            findings.push(Finding::new(path, *line, what));
        }
    }
    let caught = bugs.len() - findings.len();
    println!("{caught} of {} caught", bugs.len());
    Ok(findings)
}

/// The names of all bugs, with the place of each.
fn bugs(root: &Path) -> Result<BTreeMap<String, (String, usize)>> {
    let mut bugs = BTreeMap::new();
    for path in sources(&root.join(SOURCES))? {
        let text = fs::read_to_string(&path)?;
        let shown = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .display()
            .to_string();
        for (name, line) in names(&text) {
            if bugs.insert(name.clone(), (shown.clone(), line)).is_some() {
                bail!("two bugs are called {name}; the second is at {shown}:{line}");
            }
        }
    }
    ensure!(!bugs.is_empty(), "no bug is planted in {SOURCES}");
    Ok(bugs)
}

/// What `planted!("…"` names, each with its line; rustfmt may put the name on the line after.
fn names(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("planted!(") {
        let rest = text[at + "planted!(".len()..].trim_start();
        let name = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        if let Some((name, _)) = name {
            found.push((name.to_owned(), text[..at].lines().count().max(1)));
        }
    }
    found
}

/// Every Rust file below `folder`, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Builds the checkers with bugs in them; the path of the program.
fn build(root: &Path) -> Result<PathBuf> {
    let output = Command::new("cargo")
        .args(["test", "--locked", "--package", "tollgate-lab"])
        .args(["--features", "planted", "--test", "checkers", "--no-run"])
        .args(["--message-format", "json"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("running cargo test")?;
    ensure!(output.status.success(), "the checkers do not compile");
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "checkers")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    program.context("cargo test names no program for the checkers")
}

/// Runs the checkers with the bug of that name; the tests that failed, or `None` if all passed.
fn failed_with(root: &Path, checkers: &Path, name: &str) -> Result<Option<String>> {
    let output = Command::new(checkers)
        .env("TOLLGATE_PLANTED", name)
        .current_dir(root.join("crates/lab"))
        .output()
        .context("running the checkers")?;
    if output.status.success() {
        return Ok(None);
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<_> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .collect();
    Ok(Some(failed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_across_lines() {
        let text =
            "let a = planted!(\"one-off\", 1, 2);\nlet b = planted!(\n    \"two-off\",\n    1, 2);";
        let found = names(text);
        assert_eq!(found[0], ("one-off".to_owned(), 1));
        assert_eq!(found[1].0, "two-off");
    }
}
