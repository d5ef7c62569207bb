//! Taking part in a cluster: one thread with a runtime of its own that brings datagrams, streams and time to the
//! machines of `tollgate-cluster` and of the node, and carries out what they want.
//!
//! Serving threads never wait for it: they leave what is to be sent in a bounded outbox and wake it. Not here: who is a
//! member and what frames mean (`tollgate-cluster`), how counts agree (`tollgate-gossip`), and deciding.

mod absent;
mod clocks;
mod daemon;
mod drive;
mod error;
mod handle;
mod identity;
mod join;
pub mod keys;
mod learn;
mod outlet;
mod place;
mod rates;
mod replicas;
mod roll;
pub mod seal;
mod seeds;
mod show;
mod stream;
#[cfg(test)]
mod tests;
mod thread_lines;
pub mod tls;
pub mod view;
mod wire;

pub use absent::{MissingView, RollView};
pub(crate) use absent::{Unforgettable, forget, trouble};
pub(crate) use daemon::{Daemon, Prepared, read_keys};
pub use error::{ClusterError, Fatal};
pub use handle::{Company, Handle, NodeQuestion, RequestError, Respond};
pub use identity::NodeIdentity;
pub use show::view;
pub(crate) use thread_lines::serve_here;
