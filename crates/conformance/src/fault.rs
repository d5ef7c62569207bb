//! Failures of an engine, with the seed to reproduce them.

use core::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFault {
    pub part: &'static str,
    /// The seed that reproduces the case; zero without randomness.
    pub seed: u64,
    /// The step of the case, counted from zero.
    pub step: usize,
    /// Expected and actual.
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
