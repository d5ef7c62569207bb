//! Owners that a thread has looked up lately: whoever is asked about is asked about again soon, at the latest when the
//! question is sent.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tollgate_gossip::NodeId;

#[derive(Clone, Copy)]
struct Entry {
    era: u64,
    tag: u64,
    print: u64,
    owner: Option<NodeId>,
}

thread_local! {
    static RECENT: RefCell<Box<[Entry]>> = RefCell::new(vec![NOBODY; ENTRIES].into());
}

/// A number that no other owner of this process has had: what was looked up before counts no more.
pub(crate) fn next_era() -> u64 {
    static ERAS: AtomicU64 = AtomicU64::new(1);
    ERAS.fetch_add(1, Relaxed)
}

/// The owner of a key, from memory or as `find` says.
pub(crate) fn owner(
    era: u64,
    tag: u64,
    print: u64,
    find: impl FnOnce() -> Option<NodeId>,
) -> Option<NodeId> {
    let place = usize::try_from((print ^ tag) % ENTRIES as u64).unwrap_or(0);
    RECENT.with_borrow_mut(|recent| {
        let Some(entry) = recent.get_mut(place) else {
            return find();
        };
        if (entry.era, entry.tag, entry.print) != (era, tag, print) {
            let owner = find();
            *entry = Entry {
                era,
                tag,
                print,
                owner,
            };
        }
        entry.owner
    })
}

const NOBODY: Entry = Entry {
    era: 0,
    tag: 0,
    print: 0,
    owner: None,
};
/// Keys that a thread has in mind.
const ENTRIES: usize = 1 << 10;
