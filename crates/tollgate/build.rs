//! Records the commit and the target of this build, which `tollgate --version` prints.
//!
//! Without git, or outside a checkout, the commit is `unknown`.

use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    let commit = commit.as_deref().unwrap_or("unknown");
    let target = std::env::var("TARGET").unwrap_or_default();
    // Cargo sets it for programs it runs too, where a name of ours would be taken for a setting.
    println!("cargo:rustc-env=BUILT_FROM={commit}, {target}");
    println!("cargo:rerun-if-changed=build.rs");
    // Every commit, checkout and reset appends to this log.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
