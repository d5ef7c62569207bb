//! `cargo xtask header` and `cargo xtask proto`: write the files anew that are made from sources and committed.
//!
//! Not here: the generators. Each is a test of the crate that it writes for, which also says when a file is out of
//! date, so that `tidy` need not wait until they are built.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tidy::Finding;

/// The header of `libtollgate`.
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

/// Runs the test that writes, which is ignored otherwise.
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
