//! The experiments by name.

use crate::report::Report;

/// Something to find out.
pub struct Experiment {
    /// The name it is run by.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Runs it: first seed, number of seeds, threads, and a callback that hears (done, of).
    pub run: fn(&Ask<'_>) -> Report,
}

/// How an experiment is run.
pub struct Ask<'a> {
    /// The first seed.
    pub first: u64,
    /// How many seeds; `None` for the experiment's own choice.
    pub seeds: Option<u64>,
    /// Threads to run on.
    pub threads: usize,
    /// Hears how many runs are done, of how many.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// Every experiment, in the order to list.
pub fn experiments() -> &'static [Experiment] {
    &[]
}
