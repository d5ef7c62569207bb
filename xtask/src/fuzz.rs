//! `cargo xtask fuzz`: the decoders of untrusted input, under libFuzzer, all in parallel.
//!
//! `fuzz/` is a workspace of its own. libFuzzer comes with the crate `libfuzzer-sys`, and its instrumentation of the
//! code comes from flags that the pinned stable compiler has, so that no nightly is needed; no sanitizer either, as
//! there is no unsafe code to check. Found inputs are below `target/fuzz`. Not here: the checks
//! (`fuzz/targets`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, Result, bail, ensure};

use crate::tidy::Finding;

/// Coverage of edges and comparisons: the flags of `cargo fuzz`, without a sanitizer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
/// A longer run counts as a hang, even on a busy machine.
const INPUT_SECONDS_MAX: u32 = 30;
const MEMORY_MIB_MAX: u32 = 1024;

struct Run {
    name: String,
    child: Child,
    log: PathBuf,
}

/// Runs all targets for a number of minutes, or one with the input of a file.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<Vec<Finding>> {
    match arguments {
        ["--minutes", minutes] => {
            let minutes: u32 = minutes.parse().context("--minutes takes a whole number")?;
            all(root, minutes.saturating_mul(60))
        }
        [target, file] => replay(root, target, file),
        _ => bail!("usage: cargo xtask fuzz --minutes N | cargo xtask fuzz TARGET FILE"),
    }
}

fn all(root: &Path, seconds: u32) -> Result<Vec<Finding>> {
    let programs = build(root)?;
    let mut runs = Vec::new();
    for name in targets(root)? {
        runs.push(start(root, &programs, name, seconds)?);
    }
    let mut findings = Vec::new();
    for mut run in runs {
        let status = run.child.wait()?;
        let log = fs::read(&run.log)?;
        let log = String::from_utf8_lossy(&log);
        println!("{:<10} {}", run.name, last_state(&log));
        if !status.success() {
            println!("{}", tail(&log));
            findings.push(finding(&run.name, &log));
        }
    }
    Ok(findings)
}

fn replay(root: &Path, target: &str, file: &str) -> Result<Vec<Finding>> {
    let known = targets(root)?;
    ensure!(
        known.iter().any(|name| name == target),
        "no target {target}; there are {}",
        known.join(", ")
    );
    let status = Command::new(build(root)?.join(target))
        .arg(file)
        .current_dir(root)
        .status()?;
    let what = format!("fails with {file}");
    let finding = Finding::new(format!("fuzz/targets/{target}.rs"), 1, what);
    Ok(if status.success() {
        Vec::new()
    } else {
        vec![finding]
    })
}

/// The names of all targets, in order.
fn targets(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("fuzz/targets"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the folder of the built targets.
fn build(root: &Path) -> Result<PathBuf> {
    let host = host()?;
    let folder = root.join("target/fuzz");
    // Build scripts and macros run without libFuzzer: flags apply only to the target if one is named.
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--locked", "--target", &host])
        .args(["--manifest-path", "fuzz/Cargo.toml"])
        .env("CARGO_TARGET_DIR", &folder)
        .env("RUSTFLAGS", FLAGS)
        .current_dir(root)
        .status()
        .context("running cargo build")?;
    ensure!(
        status.success(),
        "the targets do not build; libFuzzer needs a compiler for C++ (`apt install g++`)"
    );
    Ok(folder.join(host).join("debug"))
}

/// The compiler's target triple of this machine.
pub(crate) fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc says no host")
}

fn start(root: &Path, programs: &Path, name: String, seconds: u32) -> Result<Run> {
    let work = root.join("target/fuzz");
    let (found, crashes) = (work.join("corpus").join(&name), work.join("crashes"));
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&crashes)?;
    let log = work.join(format!("{name}.log"));
    let out = File::create(&log)?;
    let child = Command::new(programs.join(&name))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
        .arg(format!("-artifact_prefix=target/fuzz/crashes/{name}-"))
        .args([&found, &root.join("fuzz/corpus").join(&name)])
        .current_dir(root)
        .stdout(out.try_clone()?)
        .stderr(out)
        .spawn()
        .with_context(|| format!("starting {name}"))?;
    Ok(Run { name, child, log })
}

/// The last status line.
fn last_state(log: &str) -> &str {
    let mut lines = log.lines().rev();
    lines.find(|line| line.contains(" cov: ")).unwrap_or("")
}

/// The end of the log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines
        .get(lines.len().saturating_sub(TAIL_LINES)..)
        .unwrap_or_default()
        .join("\n")
}

fn finding(name: &str, log: &str) -> Finding {
    let written = log.split("Test unit written to ").nth(1);
    let file = written.and_then(|rest| rest.lines().next()).map(str::trim);
    let what = match file {
        Some(file) => {
            format!("fails with {file}; again with `cargo xtask fuzz {name} {file}`")
        }
        None => format!("ended by itself; see target/fuzz/{name}.log"),
    };
    Finding::new(format!("fuzz/targets/{name}.rs"), 1, what)
}

const TAIL_LINES: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_names_its_file_and_how_to_run_it_again() {
        let log = "#3 NEW cov: 5 ft: 6\npanicked\nartifact_prefix='x'; Test unit written to target/fuzz/crashes/resp-crash-1\nBase64: Gg==\n";
        let said = finding("resp", log).to_string();
        assert!(
            said.ends_with("again with `cargo xtask fuzz resp target/fuzz/crashes/resp-crash-1`")
        );
        assert_eq!(last_state(log), "#3 NEW cov: 5 ft: 6");
    }
}
