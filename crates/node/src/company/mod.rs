//! Policies that are counted together with other nodes: one machine for each shard of keys, and what they want to say.
//!
//! A node made by [`Node::with_company`] keeps a machine for every policy under `coordination: gossip` and `sync`, and
//! for those under `supply` and `split` where it is told its share; a node made otherwise counts them alone. Whoever
//! has sockets and a clock calls [`Node::handle_gossip`], [`Node::handle_timeout`] and [`Node::handle_members`], then
//! sends what [`Node::poll_send`] hands out and comes back at [`Node::poll_timeout`], or when the waker says so. All of
//! them reach the newest of the nodes that follow on each other. Decisions take no longer for any of it. Not here:
//! membership, transport, and the designs themselves.

mod build;
mod divide;
mod hold;
mod ledger;
mod lend;
mod membership;
mod modes;
mod outbox;
mod parts;
mod quota;
mod refused;
mod room;
mod roster;
mod saved;
mod seat;
mod set_clock;
mod status;
mod tag;
mod uncounted;
mod union;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tollgate_contract::{Contract, NamedPolicy};
use tollgate_limit::{Instant, Span};
use tollgate_mode::{ClockKind, ModeEvent, ModeKind, NodeId, NodeNumbers};
use tollgate_table::{Budget, WhenFull};

use self::build::ToBuild;
use self::hold::Hold;
use self::outbox::{Outbox, nanos};
use self::roster::NodePlaces;
use self::union::Union;
use crate::node::{Node, NodeConfig};

pub use self::hold::{HeldAnswer, HeldDecision, HeldInquiry, HeldName};
pub use self::ledger::{Closed, KeyLedger};
pub use self::lend::{Lend, LendAnswer};
pub use self::membership::Membership;
pub use self::outbox::{Outgoing, Waker};
pub(crate) use self::parts::{Charged, CoordinatedPolicies, Foreseen, enter_company};
pub use self::refused::GossipRefused;
pub use self::roster::{BadRoster, Roster, RosterPeer};
pub(crate) use self::seat::LockedMachine;
pub use self::status::{CompanyGossip, FrameCounts, PolicyGossip, PolicyStatus};
pub use self::tag::key as shared_key;
pub use self::uncounted::{Uncountable, countable};
pub use self::union::{DividedAdmission, DivisionJournal, ModeRecord, RateDivision, Steady};

/// How far a node has come in learning what a newcomer should know.
#[derive(Debug)]
struct Joining {
    /// When all others are asked; never is the greatest.
    at: AtomicU64,
    /// Whether that has happened, or there was no other yet.
    has_met: AtomicBool,
    /// Whether the others were caught up with once: contracts that come later are no reason to wait again.
    has_caught_up: AtomicBool,
}

/// What all machines of a node and of those that follow on it share.
#[derive(Debug)]
pub(crate) struct Company {
    /// The modes that this node takes part in.
    kinds: Vec<Arc<dyn ModeKind>>,
    membership: Mutex<Membership>,
    outbox: Outbox,
    /// How far it has come in learning what a newcomer should know.
    joining: Joining,
    /// Frames for policies that are not here.
    unknown: AtomicU64,
    /// Bytes of all machines, and how many they may have.
    bytes: AtomicU64,
    bytes_max: u64,
    /// How many machines were made so far.
    made: AtomicU64,
    /// How many policies there are: each has a share of the bytes that others cannot take.
    policies: AtomicU64,
    budget: Arc<Budget>,
    when_full: WhenFull,
    /// What divided rates have in common, where any are.
    union: Option<Union>,
    /// How it lends, where it does.
    lend: Option<Lend>,
    /// What it leases of other nodes, where it does.
    hold: Option<Hold>,
}

/// Machines by tag: those of a policy's shards one by one.
pub(crate) type Seats = BTreeMap<u64, Arc<LockedMachine>>;

impl Company {
    pub(crate) fn new(
        mut membership: Membership,
        config: &NodeConfig,
        budget: Arc<Budget>,
    ) -> Self {
        let kinds = modes::of(&mut membership);
        let union = membership.share.take().map(Union::new);
        let lend = membership.lend.take();
        let (bytes_max, waiting_max) = room::parts(config.bytes_max);
        let hold = lend.as_ref().and_then(|lend| Hold::of(lend, bytes_max));
        let company = Self {
            kinds,
            joining: Joining {
                at: AtomicU64::new(u64::MAX),
                has_met: AtomicBool::new(membership.members.len() > 1),
                has_caught_up: AtomicBool::new(false),
            },
            membership: Mutex::new(membership),
            outbox: Outbox::new(waiting_max),
            unknown: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bytes_max,
            made: AtomicU64::new(0),
            policies: AtomicU64::new(1),
            budget,
            when_full: config.when_full,
            union,
            lend,
            hold,
        };
        company.outbox.arm(ClockKind::Wall, None);
        company.outbox.arm(ClockKind::Steady, None);
        company
    }

    const fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Where live nodes are that divide rates.
    fn places(&self) -> Option<Arc<NodePlaces>> {
        self.union.as_ref().map(Union::places)
    }

    /// The time on which terms are counted.
    fn steady(&self, now: Instant) -> Instant {
        let union = self.union.as_ref().filter(|union| union.has_clock());
        let lend = self.lend.as_ref().and_then(|lend| lend.steady.as_ref());
        match (union, lend) {
            (Some(union), _) => union.steady(now),
            (None, Some(steady)) => steady(),
            (None, None) => now,
        }
    }

    /// Whether that is another clock than callers have.
    fn has_steady(&self) -> bool {
        let lends = |lend: &Lend| lend.steady.is_some();
        self.union.as_ref().is_some_and(Union::has_clock) || self.lend.as_ref().is_some_and(lends)
    }

    /// The mode that counts a policy together with other nodes, where one does.
    fn kind(&self, contract: &Contract, named: &NamedPolicy) -> Option<&dyn ModeKind> {
        let mut kinds = self.kinds.iter();
        kinds
            .find(|kind| kind.counts(contract, named))
            .map(|kind| &**kind)
    }

    /// Who this node is now. Never held together with a machine.
    fn numbers(&self) -> NodeNumbers {
        let membership = self.membership.lock();
        NodeNumbers {
            me: membership.me,
            writer: membership.writer,
            was: membership.was,
            members: membership.members.clone(),
            seed: membership.seed,
            delay: membership.knobs.delay,
        }
    }

    /// Machines that no policy has any more.
    pub(crate) fn close(&self, before: &Seats, after: &Seats) {
        for (tag, seat) in before {
            if !after.contains_key(tag) {
                seat.close(self);
            }
        }
    }
}

impl Node {
    /// Hears who is believed alive, this node included, in ascending order.
    pub fn handle_members(&self, alive: &[NodeId], now: Instant) {
        let Some(company) = self.company() else {
            return;
        };
        let before = {
            let mut membership = company.membership.lock();
            std::mem::replace(&mut membership.members, alive.to_vec())
        };
        self.each_seat(|seat, held| {
            if !seat.is_by_roster {
                held.handle_event(&ModeEvent::Members(alive), now);
            }
        });
        let grew = alive.iter().any(|node| before.binary_search(node).is_err());
        if alive.len() > 1 && grew && !company.joining.has_met.load(Relaxed) {
            // Others are heard of one by one; whom to ask is clear once all are.
            let at = now.saturating_add(SETTLE);
            company.joining.at.store(at.as_nanos(), Relaxed);
            company.outbox.wake();
        }
    }

    /// Starts all machines anew under other numbers, as these turned out to be taken.
    pub fn renumber(&self, membership: Membership, now: Instant) {
        let Some(company) = self.company() else {
            return;
        };
        {
            let mut current = company.membership.lock();
            let was = current.writer;
            *current = membership;
            current.was = Some(was);
        }
        company.joining.has_caught_up.store(false, Relaxed);
        self.tell_modes(&ModeEvent::Renumber(&company.numbers()), now);
    }

    /// Hears how long messages take, as measured: what timers that wait for answers go by. Nodes may measure
    /// differently, for nothing that is counted depends on it.
    pub fn set_delay(&self, delay: Span) {
        if let Some(company) = self.company() {
            company.membership.lock().knobs.delay = delay;
            self.each_seat(|_, held| {
                held.machine()
                    .handle_event(&ModeEvent::Delay(delay), Instant::default());
            });
        }
    }

    /// Takes a frame that `from` sent about the policy with that tag.
    pub fn handle_gossip(
        &self,
        tag: u64,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), GossipRefused> {
        let node = self.newest();
        let (Some(company), Some(seat)) = (node.company(), node.seats().get(&tag)) else {
            if let Some(company) = node.company() {
                company.unknown.fetch_add(1, Relaxed);
            }
            return Err(GossipRefused::UnknownTag);
        };
        let from = if seat.is_by_roster {
            company.places().and_then(|places| places.here(from))
        } else {
            Some(from)
        };
        let Some(from) = from else {
            company.unknown.fetch_add(1, Relaxed);
            return Ok(());
        };
        if seat.is_lent && company.hear_hint(tag, frame, now) {
            return Ok(());
        }
        let mut held = seat.hold(company);
        let taken = held.handle_frame(from, frame, now);
        if held.release() {
            company.outbox.wake();
        }
        taken.map_err(GossipRefused::Malformed)
    }

    /// Does what is due.
    pub fn handle_timeout(&self, now: Instant) {
        let node = self.newest();
        let Some(company) = node.company() else {
            return;
        };
        let joins = company.joining.at.load(Relaxed) <= now.as_nanos();
        if joins {
            company.joining.at.store(u64::MAX, Relaxed);
            company.joining.has_met.store(true, Relaxed);
        }
        let (steady, is_full) = (company.steady(now), company.is_full());
        let due = |seat: &&Arc<LockedMachine>| {
            let now = match seat.clock {
                ClockKind::Wall => now,
                ClockKind::Steady => steady,
            };
            // For want of room everybody gives up what is over its share.
            joins || is_full || seat.next() <= now.as_nanos()
        };
        for seat in node.seats().values().filter(due) {
            let mut held = seat.hold(company);
            if joins {
                held.handle_event(&ModeEvent::Join, now);
            }
            held.handle_timeout(now);
            held.release();
        }
    }

    /// When to call [`Self::handle_timeout`] next, unless the waker says so before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let node = self.newest();
        let company = node.company()?;
        // Told before it is looked at, so that whatever comes earlier meanwhile wakes.
        company.outbox.arm(ClockKind::Wall, None);
        let has_clock = company.has_steady();
        let seats = node.seats().values();
        let seats = seats.filter(|seat| seat.clock == ClockKind::Wall || !has_clock);
        let seats = seats.map(|seat| seat.next());
        let next = seats.chain([company.joining.at.load(Relaxed)]).min();
        let next = next
            .filter(|next| *next < u64::MAX)
            .map(Instant::from_nanos);
        company.outbox.arm_by(ClockKind::Wall, nanos(next));
        next
    }

    /// The next frame to send, oldest first.
    pub fn poll_send(&self) -> Option<Outgoing> {
        self.company()?.outbox.pop()
    }

    /// Sets who is woken when there is something to send, or a timeout is earlier than told. Once; it must not wait.
    pub fn set_waker(&self, waker: Waker) {
        if let Some(company) = self.company() {
            company.outbox.set_waker(waker);
        }
    }

    /// Whether this node knows what its peers know, as far as they were asked. True for a node without any; once it
    /// has caught up it stays so, unless it is renumbered.
    pub fn caught_up(&self) -> bool {
        let node = self.newest();
        let Some(company) = node.company() else {
            return true;
        };
        if company.joining.has_caught_up.load(Relaxed) {
            return true;
        }
        let is_waiting = company.joining.at.load(Relaxed) < u64::MAX;
        let is_there = !is_waiting && !node.seats().values().any(|seat| seat.is_joining());
        if is_there && company.joining.has_met.load(Relaxed) {
            company.joining.has_caught_up.store(true, Relaxed);
        }
        is_there
    }

    /// Tells the others what only this node knows, as it is about to go. Send what there is afterwards.
    pub fn handle_leave(&self, now: Instant) {
        self.tell_modes(&ModeEvent::Leave, now);
        if let Some(company) = self.company() {
            company.release_held(now);
        }
        self.newest().mark_all();
    }

    /// Tells every machine of the newest node of an event.
    fn tell_modes(&self, event: &ModeEvent<'_>, now: Instant) {
        self.each_seat(|_, held| held.handle_event(event, now));
    }

    /// Does something to every machine of the newest node.
    fn each_seat(&self, act: impl Fn(&LockedMachine, &mut seat::MachineGuard<'_>)) {
        let node = self.newest();
        let Some(company) = node.company() else {
            return;
        };
        for seat in node.seats().values() {
            let mut held = seat.hold(company);
            act(seat, &mut held);
            held.release();
        }
        company.outbox.wake();
    }
}

/// How long nobody must have come before everybody is asked.
const SETTLE: Span = Span::from_nanos(250_000_000);
