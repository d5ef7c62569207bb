//! `cargo xtask man`: writes the man pages of the binary to `target/man`.
//!
//! Not here: the generator, which is the binary itself.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tidy::Finding;

/// Builds the binary and has it write its pages.
pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--locked", "--bin", "tollgate"])
        .args(["--", "man", "target/man"])
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the man pages were not written");
    println!("wrote target/man; read one with: man -l target/man/tollgate.1");
    Ok(Vec::new())
}
