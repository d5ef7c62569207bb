//! `cargo xtask advisories`: known vulnerabilities of dependencies, by the `RustSec` database.
//!
//! The database is a git repository outside package registries. It is fetched, or cloned from a folder; if it
//! is unavailable that is an error (exit code 2) and never a pass. Not here: licences, bans and sources, which need no
//! database (`./test`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::tidy::Finding;

const ORIGIN: &str = "https://github.com/RustSec/advisory-db";

/// Checks with the database at its origin, or in a folder.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<Vec<Finding>> {
    let folder = match arguments {
        [] => None,
        ["--db", folder] => {
            Some(fs::canonicalize(folder).with_context(|| format!("--db {folder}"))?)
        }
        _ => bail!("usage: cargo xtask advisories [--db FOLDER]"),
    };
    let work = root.join("target/advisories");
    fs::create_dir_all(&work)?;
    // Next to the database, so that downloads stay out of the home folder.
    let config = work.join("deny.toml");
    let told = fs::read_to_string(root.join("deny.toml"))?;
    let database = work.join("db");
    let place = format!("[advisories]\ndb-path = \"{}\"\n", database.display());
    ensure!(
        told.contains("[advisories]\n"),
        "deny.toml has no [advisories]"
    );
    fs::write(&config, told.replacen("[advisories]\n", &place, 1))?;
    // An old copy would hide a failed download.
    if database.exists() {
        fs::remove_dir_all(&database)?;
    }
    let mut deny = Command::new("cargo");
    deny.args(["deny", "--locked", "--config"]).arg(&config);
    deny.args(["check", "--hide-inclusion-graph", "advisories"]);
    if let Some(folder) = &folder {
        let instead = format!("url.file://{}.insteadOf", folder.display());
        deny.envs([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_VALUE_0", ORIGIN)]);
        deny.env("GIT_CONFIG_KEY_0", instead);
    }
    let status = deny.current_dir(root).status();
    let status = status.context("running cargo deny")?;
    let mut had = fs::read_dir(&database).into_iter().flatten().flatten();
    let is_had = had.any(|one| one.path().join("crates").exists());
    ensure!(
        is_had,
        "nothing was checked: {ORIGIN} could not be had; clone it where it can be, and name the folder with --db"
    );
    let what = "an advisory is about a dependency, see above: take a version without it, or say in deny.toml why it does no harm";
    Ok(if status.success() {
        Vec::new()
    } else {
        vec![Finding::new("deny.toml", 1, what)]
    })
}
