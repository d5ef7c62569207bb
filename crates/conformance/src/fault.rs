//! What an engine did wrong, and how to see it again.

use core::fmt;

/// What an engine did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFault {
    /// The part of the suite.
    pub part: &'static str,
    /// The seed that gives the same case again; zero where nothing is random.
    pub seed: u64,
    /// The step of the case, from zero.
    pub step: usize,
    /// What was expected, and what came.
    pub what: String,
}

impl fmt::Display for EngineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            part,
            seed,
            step,
            what,
        } = self;
        write!(f, "{part}, seed {seed:#x}, step {step}: {what}")
    }
}

impl core::error::Error for EngineFault {}
