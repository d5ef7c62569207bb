//! Keys of which something must be learnt before they are decided about.
//!
//! Not here: who learns it (`learn`).

use tollgate_node::Stranger;

/// What is missed of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownPart {
    /// Its terms.
    Terms,
    /// What was counted for it, which is on disk or nowhere.
    Counts,
}

/// A key of which something is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What.
    pub what: UnknownPart,
    /// Where it is counted.
    pub stranger: Stranger,
    /// The id of the contract.
    pub contract: String,
    /// The values that identify it, in the order of the contract's key.
    pub values: Vec<String>,
}
