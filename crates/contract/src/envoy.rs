//! The descriptor file of envoyproxy/ratelimit, read as that service reads it.
//!
//! One document is one domain. A request walks the tree of descriptors entry by entry; at each level the descriptor
//! with its key and value counts first, then wildcards in file order, then the one with the key alone. A rule counts
//! only at the depth of the last entry.
//!
//! Windows are what they are there: aligned to the UNIX epoch, with days of 86,400 s, weeks of 7, months of 30 and
//! years of 365 of them, and refused requests count. Deliberately absent: `metadata`, and how metrics are named
//! (`detailed_metric`, `value_to_metric`), which are read and left out; merging domains across files.

mod check;
mod raw;
mod tree;
mod wildcard;

pub use tree::{EnvoyDomain, EnvoyDomains, EnvoyRule};

use crate::error::ContractErrors;
use crate::yaml;

/// Reads a descriptor file: one document for each domain.
pub fn parse(text: &str) -> Result<EnvoyDomains, ContractErrors> {
    let raw = yaml::read_all(text)?;
    check::check(&raw, text)
}
