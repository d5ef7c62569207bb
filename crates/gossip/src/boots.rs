//! Which boot of a node is there.
//!
//! Not here: what it is sent and what came from it (`link`).

use std::collections::VecDeque;

use tollgate_limit::Instant;
use tollgate_mode::Writer;

use super::wire::LinkHello;

/// Former boots of a node that are remembered.
const FORMER_MAX: usize = 8;

/// The boots of a node.
#[derive(Debug, Default)]
pub(super) struct Boots {
    /// The one that is there, and when it began.
    pub(super) now: Option<Writer>,
    start: Instant,
    /// Those that were before.
    former: VecDeque<Writer>,
}

/// Which boot was heard from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// The first of the node.
    First,
    /// The one that is there.
    Known,
    /// One that has taken its place.
    Successor,
}

impl Boots {
    /// Hears from a boot; `None` where it is not the one that is there. A boot takes the place of another by a
    /// greeting: other frames of unknown boots are late.
    pub(super) fn meet(&mut self, writer: Writer, hello: Option<LinkHello>) -> Option<Met> {
        let Some(before) = self.now else {
            self.now = Some(writer);
            self.start = hello.map_or(self.start, |hello| hello.start);
            return Some(Met::First);
        };
        if before == writer {
            return Some(Met::Known);
        }
        let hello = hello.filter(|_| !self.former.contains(&writer))?;
        if hello.was != Some(before) && hello.start <= self.start {
            return None;
        }
        self.former.push_front(before);
        self.former.truncate(FORMER_MAX);
        self.now = Some(writer);
        self.start = hello.start;
        Some(Met::Successor)
    }
}
