//! `cargo xtask tidy`: the repository's own rules, each a function from files to findings.
//!
//! Formatting, lints and licences are left to rustfmt, clippy and cargo-deny.

mod arrows;
mod docs;
mod files;
mod links;
mod names;
mod scan;
mod shape;
mod text;
mod trust;
mod weight;

use std::fmt;
use std::path::Path;

use anyhow::Result;

/// One broken rule: where, what, and what to do.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    /// A finding at a line counted from one.
    pub(crate) fn new(path: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Runs every check on the repository at `root`; findings come sorted by place.
pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let files = files::list(root)?;
    let mut findings = arrows::check(root)?;
    findings.extend(docs::check(&files));
    findings.extend(names::check(&files));
    for file in &files {
        findings.extend(weight::check(file));
        findings.extend(text::check(file));
        findings.extend(trust::check(file));
        findings.extend(shape::check(file));
        findings.extend(links::check(root, file));
    }
    findings.sort();
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = run(&crate::root()).unwrap();
        let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(
            lines.is_empty(),
            "cargo xtask tidy found:\n{}",
            lines.join("\n")
        );
    }
}
