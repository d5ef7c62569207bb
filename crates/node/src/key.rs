//! Keys as callers bring them.
//!
//! Not here: their text form, nor how a contract picks the entries it counts by (`contract`).

use tollgate_limit::Cost;

/// Who or what a request is counted for.
///
/// A bare key (`Word`, `Text`) stands for the one entry a contract counts by, whatever its name: it binds the
/// contracts that ask for no `match` and for at most one `key` entry. Entries are matched by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// A bare number.
    Word(u64),
    /// A bare string of bytes.
    Text(&'a [u8]),
    /// Descriptor entries in order.
    Entries(&'a [(&'a str, &'a str)]),
}

/// What a key is charged or given back.
#[derive(Clone, Copy, Debug)]
pub struct Debit<'a> {
    /// Who or what is counted.
    pub key: Key<'a>,
    /// Tokens.
    pub cost: Cost,
}

impl From<u64> for Key<'_> {
    fn from(word: u64) -> Self {
        Self::Word(word)
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.as_bytes())
    }
}

impl<'a> From<&'a String> for Key<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.as_bytes())
    }
}

impl<'a> From<&'a [u8]> for Key<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [(&'a str, &'a str)]> for Key<'a> {
    fn from(entries: &'a [(&'a str, &'a str)]) -> Self {
        Self::Entries(entries)
    }
}

impl<'a, const N: usize> From<&'a [(&'a str, &'a str); N]> for Key<'a> {
    fn from(entries: &'a [(&'a str, &'a str); N]) -> Self {
        Self::Entries(entries)
    }
}
