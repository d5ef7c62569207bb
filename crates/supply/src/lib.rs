//! A rate divided among nodes: every node has a home share, lends what it does not need for a short term, and no token
//! is ever there twice.
//!
//! A [`Machine`] is one node's part in one policy. Requests, frames, timeouts and changes go in; verdicts and frames to
//! send come out. Whatever is lost, doubled, late or out of order, and whoever crashes or is cut off, what all nodes
//! together may use is at most the limit; `docs/supply.md` has the protocol and the proof.
//!
//! Deliberately not here: who is alive (membership is told), clocks, sockets, and the names of keys, which arrive as
//! fingerprints.

mod asking;
mod audit;
mod authority;
mod bucket;
mod cell;
mod clock;
mod config;
mod demand;
mod figures;
mod fill;
mod ground;
mod home;
mod limits;
mod loans;
mod machine;
mod part;
mod peers;
mod post;
mod promises;
mod setup;
mod shares;
mod status;
mod wire;

pub use audit::{Audit, BrokenInvariant, Witness, audit};
pub use authority::{AUTHORITY, Authority};
pub use config::{BadConfig, PROBES_MAX, SupplyConfig};
pub use figures::{IgnoredFigures, Inspection, LoanFigures, RequestFigures, SupplyFigures};
pub use fill::{Offer, Party, Pour, equalise, water_fill};
pub use limits::{BadLimits, Limits};
pub use machine::Machine;
pub use part::{Supply, limits};
pub use setup::{Begin, Boot, SupplyRecord, SupplySetup};
pub use shares::{BadShares, Shares};

use tollgate_gossip::planted;
