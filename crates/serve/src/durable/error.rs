//! Why counts cannot be kept.

use std::fmt;

/// Why counts cannot be kept.
#[derive(Debug)]
pub enum StoreError {
    /// No randomness for secrets.
    Random(getrandom::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(error) => write!(f, "the system gives no randomness: {error}"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<getrandom::Error> for StoreError {
    fn from(error: getrandom::Error) -> Self {
        Self::Random(error)
    }
}
