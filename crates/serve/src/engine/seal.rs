//! Receipts as callers keep them: sealed, since a receipt says where a key lies in the table.

use std::fmt;

use tollgate_node::Receipt;

/// Seals receipts and opens them again.
pub struct Seal {
    _key: [u8; 32],
}

/// Why a receipt cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// It is none of ours, or it was changed.
    Broken,
    /// Its contract is no more.
    Gone,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "the receipt is none of this node's, or it was changed",
            Self::Gone => "the contract of the receipt is no more",
        })
    }
}

impl Seal {
    /// Seals with this key.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { _key: *key }
    }

    /// The receipt as text; `None` where nothing was charged.
    pub fn seal(&self, _receipt: &Receipt) -> Option<String> {
        None
    }

    /// The receipt that a text stands for.
    pub fn open(&self, _text: &str) -> Result<Receipt, SealError> {
        Err(SealError::Broken)
    }
}
