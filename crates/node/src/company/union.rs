//! What all divided rates of a node have in common: who has homes, which live nodes those are, and what must be kept.
//!
//! Until it is told who lives, and while an older node bears its name, this node has no home; each time that changes
//! its machines begin anew, as after a restart. Not here: one machine (`seat`), and files.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_limit::{Instant, Span};
use tollgate_mode::{ModeKey, NodeId, RosterPart};
use tollgate_split::Split;
use tollgate_supply::SupplyConfig;

use super::roster::{NodePlaces, Roster, RosterPeer};

/// What a start after this one must know of a policy, as its mode wrote it.
pub type ModeRecord = Arc<[u8]>;
/// A clock that never jumps, on which terms are counted.
pub type Steady = Arc<dyn Fn() -> Instant + Send + Sync>;
/// Is told of every request that a divided rate admits, under its lock.
pub type DivisionJournal = Arc<dyn Fn(&DividedAdmission) + Send + Sync>;

/// A request that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DividedAdmission {
    /// The policy, as nodes name it.
    pub tag: u64,
    /// The key.
    pub key: ModeKey,
    /// Tokens it took.
    pub cost: u64,
    /// When, on the steady clock.
    pub at: Instant,
    /// How long it was told to wait.
    pub wait: Span,
}

/// A node's part in dividing rates.
#[derive(Clone)]
pub struct RateDivision {
    /// Who has homes.
    pub roster: Roster,
    /// Grows with every start of this node.
    pub boot: u64,
    /// What former starts kept, by the tags of policies.
    pub kept: BTreeMap<u64, ModeRecord>,
    /// What may be tuned.
    pub config: SupplyConfig,
    /// On what terms are counted; the times of calls where there is none.
    pub steady: Option<Steady>,
    /// Is told of everything that is admitted, where anybody is.
    pub journal: Option<DivisionJournal>,
    /// How buckets are cut.
    pub split: Split,
}

impl RateDivision {
    /// A part by this roster, of a node that keeps nothing.
    pub fn new(roster: Roster, boot: u64) -> Self {
        Self {
            roster,
            boot,
            kept: BTreeMap::new(),
            config: SupplyConfig::default(),
            steady: None,
            journal: None,
            split: Split::default(),
        }
    }
}

impl fmt::Debug for RateDivision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateDivision")
            .field("roster", &self.roster)
            .field("boot", &self.boot)
            .finish_non_exhaustive()
    }
}

/// What all divided rates of a node have in common.
pub(super) struct Union {
    steady: Option<Steady>,
    pub(super) journal: Option<DivisionJournal>,
    state: Mutex<State>,
    /// How often an older node bore this node's name.
    pub(super) yielded: AtomicU64,
}

struct State {
    roster: Arc<Roster>,
    /// This node in the cluster, and everybody who lives, once that is known.
    peers: Option<(NodeId, Vec<RosterPeer>)>,
    places: Arc<NodePlaces>,
    boot: u64,
    /// What a start after this one should know, and what of it is to be stored.
    kept: BTreeMap<u64, ModeRecord>,
    unstored: BTreeMap<u64, ModeRecord>,
}

/// What came of hearing who lives.
pub(super) struct RosterUpdate {
    pub(super) places: Arc<NodePlaces>,
    /// Whether this node has another number, so that its machines begin anew.
    pub(super) is_moved: bool,
    /// Whether it bears its name and nobody else does.
    pub(super) is_alone: bool,
}

impl Union {
    pub(super) fn new(share: RateDivision) -> Self {
        Self {
            steady: share.steady,
            journal: share.journal,
            state: Mutex::new(State {
                roster: Arc::new(share.roster),
                peers: None,
                places: Arc::default(),
                boot: share.boot,
                kept: share.kept,
                unstored: BTreeMap::new(),
            }),
            yielded: AtomicU64::new(0),
        }
    }

    /// The time on which terms are counted.
    pub(super) fn steady(&self, now: Instant) -> Instant {
        self.steady.as_ref().map_or(now, |steady| steady())
    }

    /// Whether that is another clock than callers have.
    pub(super) const fn has_clock(&self) -> bool {
        self.steady.is_some()
    }

    pub(super) fn places(&self) -> Arc<NodePlaces> {
        Arc::clone(&self.state.lock().places)
    }

    pub(super) fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.state.lock().roster)
    }

    /// Hears who lives.
    pub(super) fn hear_peers(&self, me: NodeId, peers: Vec<RosterPeer>) -> RosterUpdate {
        let mut state = self.state.lock();
        state.peers = Some((me, peers));
        let heard = state.place();
        if heard.is_moved && heard.places.me.is_some_and(|(_, is_itself)| !is_itself) {
            let was = u64::from(!heard.places.doubled.is_empty());
            self.yielded.fetch_add(was, Relaxed);
        }
        heard
    }

    /// Hears who has homes.
    pub(super) fn hear_roster(&self, roster: Roster) -> RosterUpdate {
        let mut state = self.state.lock();
        state.roster = Arc::new(roster);
        state.place()
    }

    /// What a machine says must be kept.
    pub(super) fn keep(&self, tag: u64, kept: ModeRecord) {
        let mut state = self.state.lock();
        // Under a borrowed number there is nothing that a start after this one should know, and what is kept stays
        // true.
        if state.places.me.is_some_and(|(_, is_itself)| is_itself) {
            state.kept.insert(tag, kept.clone());
            state.unstored.insert(tag, kept);
        }
    }

    /// What is to be stored.
    pub(super) fn take_unstored(&self) -> BTreeMap<u64, ModeRecord> {
        std::mem::take(&mut self.state.lock().unstored)
    }

    /// This node's part in the roster, which is the one in force where no other is given, for a policy that begins now:
    /// every beginning is another boot to the others, later than that of a node that bore this name meanwhile.
    pub(super) fn part(&self, tag: u64, roster: Option<&Roster>, now: Instant) -> RosterPart {
        let mut state = self.state.lock();
        state.boot = state.boot.saturating_add(1).max(now.as_nanos());
        let roster = roster.unwrap_or(&state.roster);
        RosterPart {
            division: roster.shares().tag(),
            parts: roster.parts().collect(),
            me: state.places.me,
            members: state.places.all(),
            boot: state.boot,
            kept: state.kept.get(&tag).cloned(),
        }
    }
}

impl State {
    fn place(&mut self) -> RosterUpdate {
        let Some((me, peers)) = &self.peers else {
            return RosterUpdate {
                places: Arc::clone(&self.places),
                is_moved: false,
                is_alone: false,
            };
        };
        let places = Arc::new(NodePlaces::of(&self.roster, *me, peers));
        let is_moved = places.me != self.places.me;
        self.places = Arc::clone(&places);
        let own = peers.iter().find(|peer| peer.node == *me);
        let is_doubled = own.is_none_or(|own| places.doubled.contains(&own.name));
        RosterUpdate {
            is_alone: !is_doubled && places.me.is_some_and(|(_, is_itself)| is_itself),
            places,
            is_moved,
        }
    }
}

impl fmt::Debug for Union {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Union").finish_non_exhaustive()
    }
}
