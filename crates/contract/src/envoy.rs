//! The descriptor file of envoyproxy/ratelimit, read as that service reads it.
//!
//! One document is one domain, or a part of one: documents that name the same are one. A request walks the tree of
//! descriptors entry by entry; at each level the descriptor with its key and value counts first, then wildcards in file
//! order, then the one with the key alone. A rule counts only at the depth of the last entry.
//!
//! Windows are what they are there: aligned to the UNIX epoch, with days of 86,400 s, weeks of 7, months of 30 and
//! years of 365 of them, and refused requests count. Deliberately absent: how metrics are named
//! (`detailed_metric`, `value_to_metric`), which is read and left out.

mod check;
mod parts;
mod raw;
mod tree;
mod wildcard;

pub use raw::{Data, Datum};
pub use tree::{EnvoyDomain, EnvoyDomains, EnvoyRule};

use crate::error::ContractErrors;
use crate::yaml;
use parts::DescriptorTexts;

/// Reads a descriptor file: one document for each domain.
pub fn parse(text: &str) -> Result<EnvoyDomains, ContractErrors> {
    parse_parts(&DescriptorTexts::one(text))
}

/// Reads descriptor files together, as if they were one: each is a name and a text.
pub fn parse_files(files: &[(String, String)]) -> Result<EnvoyDomains, ContractErrors> {
    parse_parts(&DescriptorTexts::of(files))
}

fn parse_parts(parts: &DescriptorTexts<'_>) -> Result<EnvoyDomains, ContractErrors> {
    let raw = yaml::read_all(&parts.text);
    let checked = raw.and_then(|raw| check::check(&merged(raw), parts));
    checked.map_err(|errors| parts.located(errors))
}

/// Documents of one domain together, in the place of the first.
fn merged(documents: Vec<raw::RawDomain>) -> Vec<raw::RawDomain> {
    let mut domains: Vec<raw::RawDomain> = Vec::new();
    for document in documents {
        let name = &document.domain.value;
        let known = domains.iter_mut().find(|one| one.domain.value == *name);
        match known {
            Some(domain) => domain.descriptors.0.extend(document.descriptors.0),
            None => domains.push(document),
        }
    }
    domains
}
