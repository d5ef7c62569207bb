//! `cargo xtask header`: writes the header of `libtollgate` anew.
//!
//! Not here: the generator. It is a test of `crates/abi`, which also says when the header is out of date, so that
//! `tidy` need not wait until it is built.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tidy::Finding;

/// Runs the test that writes the header.
pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let status = Command::new("cargo")
        .args(["test", "--quiet", "--locked", "--package", "tollgate-abi"])
        .args([
            "--test",
            "abi",
            "--",
            "--ignored",
            "--exact",
            "header::write",
        ])
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the header was not written");
    Ok(Vec::new())
}
