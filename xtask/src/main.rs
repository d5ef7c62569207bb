//! `cargo xtask COMMAND`: automation for this repository.
//!
//! Has only checks that no off-the-shelf tool has; `./test` calls everything in order.

mod advisories;
mod ceilings;
mod crates;
mod fuzz;
mod generate;
mod man;
mod metadata;
mod mutants;
mod pure;
mod release;
mod sbom;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask COMMAND

commands:
  tidy     sizes, crate arrows, module docs, stray text, links, unsafe code; prints `path:line: what to do`
           cargo xtask tidy
  pure     no pure crate reaches a clock, the system or an async runtime, however indirectly
           cargo xtask pure
  ceilings  instructions of every path of a decision, by callgrind, against bench/ceilings/ceilings.txt
           cargo xtask ceilings
  mutants  plants each known bug in turn and checks that some test notices; takes minutes
           cargo xtask mutants
  header   writes crates/abi/include/tollgate.h anew from the sources
           cargo xtask header
  proto    writes crates/wire/src/generated anew from crates/wire/proto
           cargo xtask proto
  man      writes the man pages of the binary to target/man
           cargo xtask man
  fuzz     feeds every decoder of what strangers send for so many minutes, or one again with what it failed with
           cargo xtask fuzz --minutes 1
           cargo xtask fuzz TARGET FILE
  advisories  what is known to be wrong with dependencies; fetches RustSec's database, or takes a folder
           cargo xtask advisories [--db FOLDER]
  release  target/dist: the binary, its SHA-256, and a bill of materials (CycloneDX)
           cargo xtask release
  help     this text
           cargo xtask help
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["ceilings"] => ceilings::run(&root()),
        ["mutants"] => mutants::run(&root()),
        ["man"] => man::run(&root()),
        ["header"] => generate::header(&root()),
        ["proto"] => generate::proto(&root()),
        ["pure"] => pure::run(&root()),
        ["release"] => release::run(&root()),
        ["fuzz", arguments @ ..] => fuzz::run(&root(), arguments),
        ["advisories", arguments @ ..] => advisories::run(&root(), arguments),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("unknown command: {}\n\n{HELP}", arguments.join(" "));
            return ExitCode::from(64);
        }
    };
    report(outcome)
}

/// Prints one line per finding; findings exit with 1, a check that could not run with 2.
fn report(outcome: anyhow::Result<Vec<tidy::Finding>>) -> ExitCode {
    match outcome {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                println!("{finding}");
            }
            eprintln!("{} findings", findings.len());
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The repository's root, which is the parent of this crate.
///
/// Cargo sets the crate's path at run time; the path at build time is another checkout's if
/// two of them share a target folder.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR");
    let here = here.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(PathBuf::from).unwrap_or(here)
}
