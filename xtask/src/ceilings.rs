//! `cargo xtask ceilings`: no path of a decision takes more instructions than its ceiling.
//!
//! `tollgate-ceilings` takes each path under callgrind. Instructions do not depend on how busy the machine is; what the
//! system clock and secret seeds make of them is less than the slack. Not here: what the paths are (`bench/ceilings`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tidy::Finding;

/// A path as it was measured.
struct Measured {
    name: String,
    instructions: u64,
    decisions: u64,
}

/// Builds, counts and compares.
pub(crate) fn run(root: &Path) -> Result<Vec<Finding>> {
    let measured = measure(root)?;
    let text = fs::read_to_string(root.join(FILE)).with_context(|| format!("reading {FILE}"))?;
    Ok(compare(&text, &measured))
}

fn measure(root: &Path) -> Result<Vec<Measured>> {
    let built = Command::new("cargo")
        .args(["build", "--locked", "--profile", "ceilings"])
        .args(["--package", "tollgate-ceilings"])
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    ensure!(built.success(), "tollgate-ceilings was not built");
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root.join("target"), PathBuf::from);
    let program = target.join("ceilings").join("tollgate-ceilings");
    let names = Command::new(&program)
        .output()
        .context("cannot run tollgate-ceilings")?;
    let names = String::from_utf8_lossy(&names.stdout);
    names.lines().map(|name| count(&program, name)).collect()
}

/// Takes one path under callgrind.
fn count(program: &Path, name: &str) -> Result<Measured> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*tollgate_ceilings::counted*")
        .arg(program)
        .arg(name)
        .output()
        .context("cannot run valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} under valgrind: {said}");
    let decisions = String::from_utf8_lossy(&output.stdout);
    Ok(Measured {
        name: name.to_owned(),
        instructions: collected(&said).with_context(|| format!("no count in: {said}"))?,
        decisions: decisions.trim().parse().context("how many decisions")?,
    })
}

/// The number of instructions that callgrind says it collected.
fn collected(said: &str) -> Option<u64> {
    let mut lines = said.lines();
    let (_, number) = lines.find_map(|line| line.split_once("Collected : "))?;
    number.trim().parse().ok()
}

/// Prints all figures; finds those above their ceilings, those without one, and ceilings of paths that are gone.
fn compare(text: &str, measured: &[Measured]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = text.lines().zip(1..);
    let named: Vec<(&str, &str, usize)> = lines
        .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
        .map(|(line, number)| {
            let (name, ceiling) = line.split_once(' ').unwrap_or((line, ""));
            (name, ceiling.trim(), number)
        })
        .collect();
    for path in measured {
        let Some((_, ceiling, line)) = named.iter().find(|(name, ..)| *name == path.name) else {
            let what = format!("{} has no ceiling; it takes {}", path.name, path.shown());
            findings.push(Finding::new(FILE, 1, what));
            continue;
        };
        println!("{:<14} {:>8} of {ceiling:>6}", path.name, path.shown());
        let Ok(ceiling) = ceiling.parse::<u64>() else {
            let what = format!("`{ceiling}` is no number of instructions");
            findings.push(Finding::new(FILE, *line, what));
            continue;
        };
        if path.instructions * 100 > ceiling * path.decisions * (100 + SLACK_PERCENT) {
            let what = format!(
                "{} takes {} instructions, more than {ceiling} and {SLACK_PERCENT} %: see CONTRIBUTING.md",
                path.name,
                path.shown()
            );
            findings.push(Finding::new(FILE, *line, what));
        }
    }
    let is_gone = |name: &str| !measured.iter().any(|path| path.name == name);
    for (name, _, line) in named.iter().filter(|(name, ..)| is_gone(name)) {
        findings.push(Finding::new(
            FILE,
            *line,
            format!("there is no path {name}"),
        ));
    }
    findings
}

impl Measured {
    /// Instructions per decision, to a tenth.
    fn shown(&self) -> String {
        let tenths = self.instructions * 10 / self.decisions.max(1);
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

const FILE: &str = "bench/ceilings/ceilings.txt";
/// What compilers, allocators and clocks may add.
const SLACK_PERCENT: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(name: &str, instructions: u64) -> Measured {
        Measured {
            name: name.to_owned(),
            instructions,
            decisions: 10,
        }
    }

    fn found(text: &str, measured: &[Measured]) -> Vec<String> {
        let each = compare(text, measured);
        each.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_a_path_above_its_ceiling_and_slack() {
        let text = "# path ceiling\nhot 100\nkeys 200\n";
        assert!(found(text, &[measured("hot", 1_030), measured("keys", 1_000)]).is_empty());
        let above = found(text, &[measured("hot", 1_031), measured("keys", 1_000)]);
        assert_eq!(
            above,
            [
                "bench/ceilings/ceilings.txt:2: hot takes 103.1 instructions, more than 100 and 3 %: see CONTRIBUTING.md"
            ]
        );
    }

    #[test]
    fn finds_paths_without_ceilings_and_ceilings_without_paths() {
        let findings = found(
            "hot 100\nold 9\nkeys x\n",
            &[measured("hot", 9), measured("new", 9), measured("keys", 9)],
        );
        assert_eq!(
            findings,
            [
                "bench/ceilings/ceilings.txt:1: new has no ceiling; it takes 0.9",
                "bench/ceilings/ceilings.txt:3: `x` is no number of instructions",
                "bench/ceilings/ceilings.txt:2: there is no path old",
            ]
        );
    }

    #[test]
    fn reads_what_callgrind_collected() {
        let said = "==7== Events    : Ir\n==7== Collected : 1234\n==7==\n";
        assert_eq!(collected(said), Some(1_234));
        assert_eq!(collected("==7== killed\n"), None);
    }
}
