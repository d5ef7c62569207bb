//! Why a limiter could not be made.
//!
//! Not here: refusals, which are answers, and waits that were not worth it (`wait`).

use std::fmt;

use tollgate_limit::PolicyError;

/// Why a limiter could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimiterError {
    /// A policy that cannot be.
    Policy(PolicyError),
    /// A contract file that is wrong; the text shows where.
    Contract(String),
    /// A contract file that could not be read.
    File(String),
    /// A policy that other nodes or a disk must help with.
    NeedsCompany {
        /// The contract.
        contract: String,
        /// The policy.
        policy: String,
        /// What it asks for.
        wish: &'static str,
    },
    /// The machine gave no randomness for the key hash.
    NoRandomness(String),
}

impl fmt::Display for LimiterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(error) => write!(f, "bad policy: {error}"),
            Self::Contract(text) => f.write_str(text),
            Self::File(error) => write!(f, "cannot read the contract file: {error}"),
            Self::NeedsCompany {
                contract,
                policy,
                wish,
            } => write!(
                f,
                "policy `{policy}` of contract `{contract}` asks for {wish}, which an embedded limiter does not \
                 have: ask a node instead, or set `LimiterConfig::alone` to count in this process only"
            ),
            Self::NoRandomness(error) => write!(f, "no randomness to seed the key hash: {error}"),
        }
    }
}

impl std::error::Error for LimiterError {}

impl From<PolicyError> for LimiterError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}
