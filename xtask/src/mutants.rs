//! `cargo xtask mutants`: plants each known bug in turn and checks that a test notices.
//!
//! Bugs are in the sources as `planted!("name", right, wrong)` and are compiled in only here. Every test program runs
//! with `TOLLGATE_PLANTED` naming the bug, until one fails: for gossip and the modes of the lab first the checkers of
//! the lab, which see what users see, then their own tests; for supply and lease their own, then the campaigns of
//! the lab. Not here: the tests.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::tidy::Finding;

/// A crate with bugs in it.
struct Bed {
    /// Where they are planted, from the root.
    sources: &'static str,
    /// What is built and run, in this order: arguments of `cargo test`, and after `--` the tests to run.
    builds: &'static [&'static [&'static str]],
}

const BEDS: [Bed; 5] = [
    Bed {
        sources: "crates/control/src",
        builds: &[
            &["--package", "tollgate-control", "--lib", "--tests"],
            &["--package", "tollgate-lab", "--test", "control"],
        ],
    },
    Bed {
        sources: "crates/gossip/src",
        builds: &[
            &["--package", "tollgate-lab", "--test", "checkers"],
            &["--package", "tollgate-gossip", "--lib", "--tests"],
        ],
    },
    Bed {
        sources: "crates/lab/src/modes",
        builds: &[
            &["--package", "tollgate-lab", "--test", "checkers"],
            &["--package", "tollgate-lab", "--lib"],
            &["--package", "tollgate-lab", "--test", "counter_queue"],
        ],
    },
    Bed {
        sources: "crates/lease/src",
        builds: &[
            &["--package", "tollgate-lease", "--lib"],
            &["--package", "tollgate-lab", "--test", "lease_trials"],
        ],
    },
    Bed {
        sources: "crates/supply/src",
        builds: &[
            &["--package", "tollgate-supply", "--lib", "--tests"],
            &[
                "--package",
                "tollgate-lab",
                "--lib",
                "--",
                "supply::campaign",
            ],
        ],
    },
];
/// The same random cases every time, no shrinking, and no persistence of expected failures.
const PROPTEST: [(&str, &str); 3] = [
    ("PROPTEST_RNG_SEED", "1"),
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1"),
];
/// A longer run counts as a hang, which is a failure too.
const RUN_MAX: Duration = Duration::from_mins(3);

struct Program {
    name: String,
    path: PathBuf,
    folder: PathBuf,
    /// Filter of its tests; empty for all.
    tests: Vec<String>,
}

/// Reports every bug that no test noticed, or a test that fails without one.
pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for bed in &BEDS {
        findings.extend(run_bed(root, bed)?);
    }
    Ok(findings)
}

fn run_bed(root: &Path, bed: &Bed) -> Result<Vec<Finding>> {
    let bugs = bugs(root, bed.sources)?;
    let mut programs = Vec::new();
    for arguments in bed.builds {
        programs.extend(build(root, arguments)?);
    }
    if let Some(failed) = first_failure(&programs, "")? {
        let what = format!("fails with no bug planted: {failed}");
        return Ok(vec![Finding::new(bed.sources, 1, what)]);
    }
    println!("{}: {} bugs, each planted alone", bed.sources, bugs.len());
    let mut findings = Vec::new();
    for (name, (path, line)) in &bugs {
        let begin = Instant::now();
        let failed = first_failure(&programs, name)?;
        let seconds = begin.elapsed().as_secs_f32();
        if let Some(by) = failed {
            println!("  caught    {name:<28} {seconds:>5.1} s  by {by}");
        } else {
            println!("  SURVIVED  {name:<28} {seconds:>5.1} s");
            let what = format!("no test notices `{name}`; add one that does");
            findings.push(Finding::new(path, *line, what));
        }
    }
    let caught = bugs.len() - findings.len();
    println!("{caught} of {} caught", bugs.len());
    Ok(findings)
}

/// The names of all bugs, with the location of each.
fn bugs(root: &Path, folder: &str) -> Result<BTreeMap<String, (String, usize)>> {
    let mut bugs = BTreeMap::new();
    for path in sources(&root.join(folder))? {
        let text = fs::read_to_string(&path)?;
        let shown = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .display()
            .to_string();
        for (name, line) in names(&text) {
            // A bug may have several locations in a file.
            let before = bugs.insert(name.clone(), (shown.clone(), line));
            if before.is_some_and(|(path, _)| path != shown) {
                bail!("two bugs are called {name}; the second is at {shown}:{line}");
            }
        }
    }
    ensure!(!bugs.is_empty(), "no bug is planted in {folder}");
    Ok(bugs)
}

/// What `planted!("…"` names outside of comments, each with its line; rustfmt may put the name on the line after.
fn names(text: &str) -> Vec<(String, usize)> {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let code = text
        .lines()
        .map(|line| if is_comment(line) { "" } else { line });
    let text = code.collect::<Vec<_>>().join("\n");
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

/// Builds test programs with bugs in them.
fn build(root: &Path, arguments: &[&str]) -> Result<Vec<Program>> {
    let mut halves = arguments.split(|argument| *argument == "--");
    let (arguments, tests) = (halves.next().unwrap_or(&[]), halves.next().unwrap_or(&[]));
    let output = Command::new("cargo")
        .args(["test", "--locked", "--features", "planted", "--no-run"])
        .args(["--message-format", "json"])
        .args(arguments)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("running cargo test")?;
    let shown = arguments.join(" ");
    ensure!(output.status.success(), "{shown}: does not compile");
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let programs: Vec<_> = messages
        .filter_map(|message| program(&message, tests))
        .collect();
    ensure!(!programs.is_empty(), "{shown}: cargo names no program");
    Ok(programs)
}

/// `None` for other messages of cargo.
fn program(message: &Value, tests: &[&str]) -> Option<Program> {
    let path = PathBuf::from(message["executable"].as_str()?);
    let target = message["target"]["name"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let room = folder.file_name()?.to_str()?;
    Some(Program {
        name: format!("{room}/{target}"),
        path,
        folder: folder.to_owned(),
        tests: tests.iter().map(|test| (*test).to_owned()).collect(),
    })
}

/// Runs the programs in order until one fails with the bug of that name. Returns the program and the test.
fn first_failure(programs: &[Program], bug: &str) -> Result<Option<String>> {
    for program in programs {
        if let Some(test) = failure(program, bug)? {
            return Ok(Some(format!("{}: {test}", program.name)));
        }
    }
    Ok(None)
}

/// Runs a program with the bug of that name up to the first test that fails.
fn failure(program: &Program, bug: &str) -> Result<Option<String>> {
    let mut child = Command::new(&program.path)
        .args(&program.tests)
        .env("TOLLGATE_PLANTED", bug)
        .envs(PROPTEST)
        .current_dir(&program.folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| program.path.display().to_string())?;
    let stdout = child.stdout.take().context("a program without output")?;
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(first_failed(stdout)));
    let failed = match told.recv_timeout(RUN_MAX) {
        Ok(failed) => failed,
        Err(_) => Some("does not end".to_owned()),
    };
    if failed.is_some() {
        child.kill().context("stopping a program")?;
    }
    let status = child.wait().context("waiting for a program")?;
    Ok(failed.or_else(|| (!status.success()).then(|| status.to_string())))
}

/// The first test that failed in a program's output.
fn first_failed(stdout: impl Read) -> Option<String> {
    let lines = BufReader::new(stdout).lines();
    lines.map_while(Result::ok).find_map(|line| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_across_lines_and_not_in_comments() {
        let text = "// planted!(\"none\", 1, 2)\nlet a = planted!(\"one-off\", 1, 2);\nlet b = planted!(\n    \"two-off\",\n    1, 2);";
        let found = names(text);
        assert_eq!(found[0], ("one-off".to_owned(), 2));
        assert_eq!(found[1], ("two-off".to_owned(), 3));
    }

    #[test]
    fn the_first_failed_test_is_named() {
        let output = "running 3 tests\ntest a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n";
        assert_eq!(first_failed(output.as_bytes()).as_deref(), Some("b::c"));
        assert_eq!(first_failed(&b"test a ... ok\n"[..]), None);
    }
}
