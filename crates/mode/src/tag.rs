//! A policy's name between nodes: a hash that every node computes alike.
//!
//! Fixed for all time, as nodes of different builds must agree. It begins as `0xcbf2_9ce4_8422_2325`; each byte is
//! xored into it, and it is multiplied by `0x0000_0100_0000_01b3` (FNV-1a); at the end it is mixed once by the
//! finalizer of `SplitMix64`. A text is its length in bytes and its bytes, a number its eight bytes, the lowest first.
//! Every tag begins with
//!
//! ```text
//! contract id | number of key entries, and each | policy name | algorithm
//! ```
//!
//! and goes on with what the mode adds ([`ModeKind::tag`](crate::ModeKind::tag)). Not here: keys.

use tollgate_contract::{Contract, NamedPolicy};
use tollgate_kit::{FNV, fnv, mix};

/// A hash that is the same on every node.
#[derive(Debug)]
pub struct Tag(u64);

impl Tag {
    /// Of nothing yet.
    pub const fn new() -> Self {
        Self(FNV)
    }

    /// Of what every policy has.
    pub fn of(contract: &Contract, policy: &NamedPolicy) -> Self {
        let mut tag = Self::new();
        tag.text(&contract.id);
        tag.number(contract.key.len() as u64);
        contract.key.iter().for_each(|entry| tag.text(entry));
        tag.text(&policy.name);
        tag.text(policy.policy.config().algorithm.name());
        tag
    }

    /// Of a policy whose mode adds no more than its name.
    pub fn by_mode(contract: &Contract, policy: &NamedPolicy) -> Self {
        let mut tag = Self::of(contract, policy);
        tag.text(policy.coordination.name());
        tag
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// The hash.
    pub const fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0 = fnv(self.0, bytes);
    }
}

impl Default for Tag {
    fn default() -> Self {
        Self::new()
    }
}
