//! `cargo xtask release`: the binary as released, its SHA-256, and a bill of materials, in `target/dist`.
//!
//! The same sources, compiler and folder give the same three files. Not here: what is in the bill (`sbom`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::fuzz::host;
use crate::metadata::run_cargo;
use crate::sbom::{self, Subject};
use crate::tidy::Finding;

const BINARY: &str = "tollgate";

pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let status = Command::new("cargo")
        .args(["build", "--release", "--locked", "--package", BINARY])
        .current_dir(root)
        .status()
        .context("running cargo build")?;
    ensure!(status.success(), "the release does not build");
    let dist = root.join("target/dist");
    fs::create_dir_all(&dist)?;
    let binary = dist.join(BINARY);
    fs::copy(root.join("target/release").join(BINARY), &binary)?;
    let digest = sha256(&binary)?;
    fs::write(
        dist.join(format!("{BINARY}.sha256")),
        format!("{digest}  {BINARY}\n"),
    )?;
    let host = host()?;
    let arguments = ["--format-version", "1", "--locked", "--filter-platform"];
    let metadata = run_cargo(root, "metadata", &[&arguments[..], &[&host]].concat())?;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata")?;
    let subject = Subject {
        package: BINARY,
        sha256: &digest,
        target: &host,
        lock: &fs::read_to_string(root.join("Cargo.lock"))?,
    };
    let bill = sbom::bill(&metadata, &subject)?;
    let path = dist.join(format!("{BINARY}.cdx.json"));
    fs::write(&path, format!("{bill:#}\n"))?;
    println!("{}: {digest}", binary.display());
    let parts = bill["components"].as_array().map_or(0, Vec::len);
    println!("{}: {parts} components", path.display());
    Ok(Vec::new())
}

/// By the tool that users verify with.
fn sha256(file: &Path) -> Result<String> {
    let output = Command::new("sha256sum").arg("--binary").arg(file).output();
    let output = output.context("running sha256sum")?;
    ensure!(output.status.success(), "sha256sum {}", file.display());
    let text = String::from_utf8(output.stdout)?;
    let digest = text.split(' ').next().unwrap_or_default();
    ensure!(digest.len() == 64, "sha256sum said {text}");
    Ok(digest.to_owned())
}
