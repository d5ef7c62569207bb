//! Nodes whose clocks are too far off to be heard: told in the log once a minute, and shown.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_gossip::NodeId;
use tollgate_limit::Span;

/// Nodes whose clocks are too far off.
#[derive(Default)]
pub(super) struct Clocks(Mutex<BTreeMap<u64, Off>>);

struct Off {
    node: Option<NodeId>,
    by: Duration,
    is_ahead: bool,
    told: Instant,
    seen: Instant,
}

impl Clocks {
    /// A boot's clock is off by so much.
    pub(super) fn tell(&self, boot: u64, node: Option<NodeId>, by: Span, is_ahead: bool) {
        let by = Duration::from_nanos(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX));
        let now = Instant::now();
        let mut all = self.0.lock();
        all.retain(|_, off| now.duration_since(off.seen) < FORGET_AFTER);
        if all.len() >= CLOCKS_MAX && !all.contains_key(&boot) {
            return;
        }
        let before = all.get(&boot).map(|off| off.told);
        let is_news = before.is_none_or(|told| now.duration_since(told) >= TELL_EVERY);
        let off = Off {
            node,
            by,
            is_ahead,
            told: if is_news { now } else { before.unwrap_or(now) },
            seen: now,
        };
        if is_news {
            tracing::warn!("{}", off.sentence());
        }
        all.insert(boot, off);
    }

    /// One sentence for each clock that is off now.
    pub(super) fn troubles(&self) -> Vec<String> {
        let now = Instant::now();
        let all = self.0.lock();
        let recent = all
            .values()
            .filter(|off| now.duration_since(off.seen) < FORGET_AFTER);
        recent.map(Off::sentence).collect()
    }
}

impl Off {
    fn sentence(&self) -> String {
        let who = self
            .node
            .map_or_else(|| "a node".into(), |node| format!("node {}", node.0));
        let way = if self.is_ahead { "ahead of" } else { "behind" };
        let by = self.by.as_secs();
        format!(
            "the clock of {who} is {by} s {way} ours, so that nothing it says is taken; set both by NTP"
        )
    }
}

/// Boots that are remembered at once.
const CLOCKS_MAX: usize = 64;
const TELL_EVERY: Duration = Duration::from_mins(1);
const FORGET_AFTER: Duration = Duration::from_mins(2);
