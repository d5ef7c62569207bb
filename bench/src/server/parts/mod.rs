//! The parts of a run: participants, requests and tools.

mod own;
mod stock;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::options::ServerOptions;
use super::peers::ToolPaths;
use super::rounds::{Contender, take_turns};
use super::{FigureTable, ServerFigure};

pub(crate) use own::{BATCHED, UNARY, batch, memory, open, runtimes};
pub(crate) use stock::{http, resp, rls};

/// What every part needs.
pub(crate) struct Context {
    pub(crate) peers: ToolPaths,
    pub(crate) rounds: usize,
    pub(crate) slice: Duration,
    pub(crate) keys_in_memory: u64,
}

impl Context {
    pub(crate) fn new(options: &ServerOptions) -> Result<Self> {
        Ok(Self {
            peers: ToolPaths::ready(options)?,
            rounds: options.rounds(),
            slice: options.slice(),
            keys_in_memory: options.keys_in_memory(),
        })
    }

    /// A table of contenders that take turns.
    fn table(&self, about: About<'_>, contenders: &[Contender<'_>]) -> Result<FigureTable> {
        let About { name, title, unit } = about;
        eprintln!(" {name}");
        let lines = take_turns(contenders, self.rounds)?;
        Ok(figures(About { name, title, unit }, lines))
    }

    fn file(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        self.peers.file(name, content)
    }
}

/// What a table is about.
#[derive(Clone, Copy)]
struct About<'a> {
    name: &'a str,
    title: &'a str,
    unit: &'static str,
}

fn figures(about: About<'_>, lines: Vec<ServerFigure>) -> FigureTable {
    FigureTable {
        name: about.name.to_owned(),
        title: about.title.to_owned(),
        unit: about.unit,
        lines,
    }
}

const PER_SECOND: &str = "per second";
