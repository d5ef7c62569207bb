//! `cargo xtask header` and `cargo xtask proto`: regenerate committed files from their sources.
//!
//! Not here: the generators. Each is a test of its crate, which also fails if a file is out of
//! date, so that `tidy` need not build them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tidy::Finding;

pub(crate) fn header(root: &Path) -> Result<Vec<Finding>> {
    run(
        root,
        &["--package", "tollgate-abi", "--test", "abi"],
        "header::write",
    )
}

/// Protobuf messages and descriptors, from the files in `crates/wire/proto`.
pub(crate) fn proto(root: &Path) -> Result<Vec<Finding>> {
    run(
        root,
        &["--package", "tollgate-wire", "--test", "generated"],
        "write",
    )
}

/// Runs the test that writes, which is `#[ignore]` otherwise.
fn run(root: &Path, tests: &[&str], name: &str) -> Result<Vec<Finding>> {
    let status = Command::new("cargo")
        .args(["test", "--quiet", "--locked"])
        .args(tests)
        .args(["--", "--ignored", "--exact", name])
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "{name} has not written its files");
    Ok(Vec::new())
}
