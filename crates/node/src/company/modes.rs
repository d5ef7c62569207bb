//! The registry: every way to agree that this build has. A mode is added by one line here, or by the caller
//! ([`Membership::modes`]).
//!
//! Not here: modes, and which of them a node takes part in, which its membership says.

use std::sync::Arc;

use tollgate_gossip::Gossip;
use tollgate_lease::{Lease, Sync};
use tollgate_mode::ModeKind;
use tollgate_split::Split;
use tollgate_supply::Supply;

use super::Membership;

/// The modes that a node takes part in; the first that counts a policy is the one that does.
pub(super) fn of(membership: &mut Membership) -> Vec<Arc<dyn ModeKind>> {
    let mut kinds = std::mem::take(&mut membership.modes);
    let lend = membership.lend.as_ref();
    // A node that only lends is alone.
    if lend.is_none_or(|lend| lend.has_successors) {
        let knobs = membership.knobs.clone();
        kinds.push(Arc::new(Gossip { knobs }));
        kinds.push(Arc::new(Sync));
    }
    if let Some(share) = &membership.share {
        let config = share.config.clone();
        kinds.push(Arc::new(Supply {
            config,
            is_first: false,
        }));
        kinds.push(Arc::new(share.split));
    }
    if let Some(lend) = lend {
        kinds.push(Arc::new(Lease {
            generation: lend.generation,
            has_successors: lend.has_successors,
            quota: lend.quota,
            rules: None,
            is_first: Arc::clone(&lend.is_first),
        }));
    }
    kinds
}

/// Every mode as it is usual, to ask which policies it can count; a node that is alone can only lend.
pub(super) fn usual(is_alone: bool) -> Vec<Box<dyn ModeKind>> {
    let lease = Box::new(Lease {
        generation: 0,
        has_successors: false,
        quota: None,
        rules: None,
        is_first: Arc::default(),
    });
    if is_alone {
        return vec![lease];
    }
    vec![
        Box::new(Gossip::default()),
        Box::new(Supply::default()),
        Box::new(Split::default()),
        lease,
        Box::new(Sync),
    ]
}
