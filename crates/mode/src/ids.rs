//! Names on the wire: nodes, their boots, and keys.
//!
//! Not here: how a key becomes its fingerprint, and how a boot gets a number nobody had before.

use std::fmt;

/// A node's place in the cluster; it keeps it across restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// One boot of one node: whatever is written under it has a single author. A restarted node gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer(pub u16);

/// Who is counted: the 16-byte fingerprint of a key.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModeKey(pub u128);

impl fmt::Debug for ModeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModeKey({:032x})", self.0)
    }
}
