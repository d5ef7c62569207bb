//! Streams of one thread that serves, for the questions that its requests wait for.
//!
//! A question and its answer then stay on the thread of their connection: over the streams of the cluster's thread each
//! batch would wake two threads more. Not here: what waits to be written (`outlet`), and frames (`wire`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use tollgate_gossip::NodeId;

use super::handle::Hub;
use super::outlet::Outlet;
use super::stream::{Ends, PeerStream};

thread_local! {
    static SERVES: Cell<bool> = const { Cell::new(false) };
    /// By the address of the hub, as a process may have several in tests: a line keeps its hub.
    static LINES: RefCell<BTreeMap<(usize, NodeId), PeerStream>> = const { RefCell::new(BTreeMap::new()) };
}

/// This thread has a runtime that waits for sockets, and serves requests from here on.
pub(crate) fn serve_here() {
    SERVES.set(true);
}

/// What this thread writes to a member; `None` where it has no streams of its own.
pub(super) fn outlet(hub: &Hub, ends: &Weak<Ends>, to: NodeId) -> Option<Arc<Outlet>> {
    if !SERVES.get() {
        return None;
    }
    let ends = ends.upgrade().filter(|ends| !ends.arrived.is_closed())?;
    let company = hub.company();
    let member = company.members.iter().find(|member| member.node == to)?;
    let beside = company.outlets.get(&to)?;
    LINES.with_borrow_mut(|lines| {
        let place = (std::ptr::from_ref(hub).addr(), member.node);
        let known = lines.get(&place);
        let known = known.filter(|line| line.to == member.address && line.id == member.id);
        if let Some(line) = known.filter(|line| !line.is_over()) {
            // Until it is open, questions go by the stream that is.
            return (!line.outlet.is_down()).then(|| Arc::clone(&line.outlet));
        }
        lines.retain(|_, line| !line.is_over());
        let line = PeerStream::of_thread(ends, member, beside);
        lines.insert(place, line);
        None
    })
}
