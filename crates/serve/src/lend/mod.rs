//! Clients that hold leases of this server: how they are reached when they should speak, and what is shown of leases.
//!
//! Not here: lending (`tollgate-node`), and how what clients say gets here (`resp`).

mod hub;
mod show;

use std::sync::Arc;

use tollgate_node::{Journal, Lend};

use crate::supply::steady_now;

pub use hub::{Hub, Mailbox};
pub(crate) use show::asked;
pub use show::{LeaseCountsView, LeasePolicyView, LeaseView, view};

/// A server's part in lending: in a cluster others take over where it is silent.
pub(crate) fn lending(generation: u64, has_successors: bool, journal: Option<Journal>) -> Lend {
    Lend {
        generation,
        has_successors,
        steady: Some(Arc::new(steady_now)),
        journal,
        quota: None,
    }
}
