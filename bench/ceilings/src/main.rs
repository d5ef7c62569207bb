//! Makes decisions on each path, to be counted by callgrind: `cargo xtask ceilings`.
//!
//! Without an argument the program prints the names of all paths; with a name it takes that path and prints how many
//! decisions it made. Only [`counted`] is collected, so that start-up, making keys and filling tables cost time and no
//! instructions. Not here: the ceilings (`ceilings.txt`), and peers (`tollgate-bench`).

mod library;
mod server;

use std::hint::black_box;

use anyhow::{Context, Result, ensure};

/// A path, and what makes so many decisions on it and says how many passed.
struct Path {
    name: &'static str,
    /// How many are to pass.
    passes: u64,
    ready: fn() -> Result<Work>,
}

/// Makes so many decisions; says how many passed.
type Work = Box<dyn FnMut(u64) -> u64>;

/// Decisions on each path: the way into the counted function and out of it is lost among them.
const DECISIONS: u64 = 9_600;

const PATHS: [Path; 11] = [
    Path::open("hot", library::hot),
    Path::shut("denied", library::denied),
    Path::open("whole-answer", library::whole_answer),
    Path::open("keys", library::keys),
    Path::open("strings", library::strings),
    Path::open("three", library::three),
    Path::open("batch", library::batch),
    Path::open("descriptor", library::descriptor),
    Path::open("resp", server::resp),
    Path::open("http", server::http),
    Path::open("rls", server::rls),
];

impl Path {
    const fn open(name: &'static str, ready: fn() -> Result<Work>) -> Self {
        Self {
            name,
            passes: DECISIONS,
            ready,
        }
    }

    const fn shut(name: &'static str, ready: fn() -> Result<Work>) -> Self {
        Self {
            name,
            passes: 0,
            ready,
        }
    }
}

fn main() -> Result<()> {
    let Some(name) = std::env::args().nth(1) else {
        for path in PATHS {
            println!("{}", path.name);
        }
        return Ok(());
    };
    let path = PATHS.into_iter().find(|path| path.name == name);
    let path = path.with_context(|| format!("no path {name}"))?;
    let mut work = (path.ready)()?;
    // The first decisions of a key and of a thread set things up.
    work(64);
    let passed = counted(&mut work);
    let expected = path.passes;
    ensure!(passed == expected, "{passed} passed, not {expected}");
    println!("{DECISIONS}");
    Ok(())
}

/// The only function whose instructions are collected, with all it calls.
#[inline(never)]
fn counted(work: &mut Work) -> u64 {
    black_box(work(black_box(DECISIONS)))
}
