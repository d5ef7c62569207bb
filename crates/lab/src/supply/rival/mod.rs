//! Designs that exist in the lab alone, to be compared with: static shares, the document's algorithm, the ledger.
//!
//! Not here: the protocol that the server runs.

mod document;
mod fixed;
mod ledger;
mod purse;
mod tide;

pub(crate) use document::DocumentDesign;
pub(crate) use fixed::Static;
pub(crate) use ledger::{LedgerDesign, Plant};
