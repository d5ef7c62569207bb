//! A machine that several threads and successive nodes share, with the keys of one shard of a policy, and what it said.
//!
//! Not here: which policy it counts for (`parts`), and what waits to be sent (`outbox`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};
use tollgate_contract::{Coordination, NamedPolicy};
use tollgate_limit::{Instant, Span};
use tollgate_mode::{
    ClockKind, Malformed, Mode, ModeEvent, ModeKey, ModeKind, NodeId, NodeNumbers, Send,
};
use tollgate_table::WhenFull;

use super::Company;
use super::outbox::{Outgoing, nanos};
use super::status::FrameCounts;
use crate::dirty::Dirty;

/// A machine, under a lock.
#[derive(Debug)]
pub(crate) struct LockedMachine {
    /// Machines are locked in this order.
    pub(crate) order: u64,
    /// What it is called between nodes.
    pub(crate) tag: u64,
    /// What all shards of the policy have in common.
    pub(super) policy: Arc<PolicyShards>,
    /// On which clock it counts.
    pub(super) clock: ClockKind,
    /// Whether nodes have numbers of their own, by a roster.
    pub(super) is_by_roster: bool,
    /// Whether nodes and clients hold leases of its keys.
    pub(crate) is_lent: bool,
    /// Whether its keys can be written one by one.
    pub(super) saves_keys: bool,
    inner: Mutex<MachineState>,
    /// When it wants to be woken, in nanoseconds; never is the greatest.
    next: AtomicU64,
    is_joining: AtomicBool,
    /// Keys of a durable policy that changed here.
    pub(crate) dirty: Dirty,
    /// Whether its keys are written: none is forgotten for another then, as nobody reads it again.
    pub(super) is_written: AtomicBool,
}

/// What all shards of a policy have in common.
#[derive(Debug)]
pub(crate) struct PolicyShards {
    /// How many there are.
    pub(super) count: usize,
    /// Their bytes.
    pub(super) bytes: AtomicU64,
}

/// What happened to a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Talked {
    pub(crate) said: FrameCounts,
    pub(crate) heard: u64,
    pub(crate) malformed: u64,
    pub(crate) evicted: u64,
    pub(crate) refused: u64,
    /// Copies for other nodes that were dropped for want of room.
    pub(crate) copies_dropped: u64,
    /// The most tokens that a key was seen above its limit.
    pub(crate) over_max: u64,
}

/// A machine and what is known of it.
#[derive(Debug)]
pub(crate) struct MachineState {
    pub(crate) machine: Box<dyn Mode>,
    pub(crate) talked: Talked,
    /// The latest time it heard of.
    latest: Instant,
    /// Bytes counted against the node's budget.
    bytes: u64,
}

/// A locked machine. Let it go with [`Self::release`].
pub(crate) struct MachineGuard<'a> {
    seat: &'a LockedMachine,
    company: &'a Company,
    inner: MutexGuard<'a, MachineState>,
    /// Whether what must be kept may be other than before.
    has_moved: bool,
}

impl PolicyShards {
    pub(super) const fn new(count: usize) -> Self {
        Self {
            count,
            bytes: AtomicU64::new(0),
        }
    }
}

impl LockedMachine {
    pub(super) fn new(
        order: u64,
        tag: u64,
        policy: Arc<PolicyShards>,
        kind: &dyn ModeKind,
        machine: Box<dyn Mode>,
    ) -> Self {
        let next = AtomicU64::new(nanos(machine.poll_timeout()));
        let is_joining = AtomicBool::new(machine.is_joining());
        let inner = MachineState {
            machine,
            talked: Talked::default(),
            latest: Instant::default(),
            bytes: 0,
        };
        Self {
            order,
            tag,
            policy,
            clock: kind.clock(),
            is_by_roster: kind.is_by_roster(),
            is_lent: kind.coordination() == Coordination::Lease,
            saves_keys: kind.saves_keys(),
            inner: Mutex::new(inner),
            next,
            is_joining,
            dirty: Dirty::new(),
            is_written: AtomicBool::new(false),
        }
    }

    /// Locks the machine.
    pub(crate) fn hold<'a>(&'a self, company: &'a Company) -> MachineGuard<'a> {
        MachineGuard {
            seat: self,
            company,
            inner: self.inner.lock(),
            has_moved: false,
        }
    }

    /// When it wants to be woken; never is the greatest.
    pub(super) fn next(&self) -> u64 {
        self.next.load(Relaxed)
    }

    pub(super) fn is_joining(&self) -> bool {
        self.is_joining.load(Relaxed)
    }

    /// What it counts against the budget no more, as it goes.
    pub(super) fn close(&self, company: &Company) {
        let mut inner = self.inner.lock();
        company.charge_bytes(&self.policy, inner.bytes, 0);
        inner.bytes = 0;
    }
}

impl MachineGuard<'_> {
    pub(crate) fn machine(&mut self) -> &mut dyn Mode {
        &mut *self.inner.machine
    }

    /// Tells the machine of an event.
    pub(super) fn handle_event(&mut self, event: &ModeEvent<'_>, now: Instant) {
        let now = self.at(Some(now));
        self.has_moved = true;
        self.inner.machine.handle_event(event, now);
    }

    /// Has the machine count by the policy as it is written now.
    pub(super) fn change(&mut self, policy: &NamedPolicy, now: Instant) {
        let now = self.at(Some(now));
        self.has_moved = true;
        self.inner.machine.change(policy, now);
    }

    pub(crate) fn talked(&mut self) -> &mut Talked {
        &mut self.inner.talked
    }

    /// Hears the time, and says what it is for the machine; for a caller that does not know it, the latest there was.
    pub(crate) fn at(&mut self, now: Option<Instant>) -> Instant {
        self.inner.latest = self.inner.latest.max(now.unwrap_or_default());
        let latest = self.inner.latest;
        // A clock that was set back is told with it (`move_time`), perhaps a little later.
        let now = now.filter(|now| latest <= now.saturating_add(BEHIND_MAX));
        let now = now.unwrap_or(latest);
        if self.seat.clock == ClockKind::Wall {
            return now;
        }
        let mut steady = self.company.steady(now);
        if self.inner.machine.wants_day() {
            // The time of day is read last: what is lent is then over a little too early, and never too late. Read far
            // apart, as where this thread lost the processor in between, they would count a request later than it is
            // written down.
            let mut day = self.company.day(now);
            for _ in 0..READ_AGAIN_MAX {
                let after = self.company.steady(now);
                if after.nanos_since(steady) < APART_MAX_NS {
                    break;
                }
                (steady, day) = (after, self.company.day(now));
            }
            let event = ModeEvent::Day { day, asked: now };
            self.inner.machine.handle_event(&event, steady);
        }
        steady
    }

    pub(super) const fn tag(&self) -> u64 {
        self.seat.tag
    }

    /// Who writes down what is admitted, where that is wished.
    pub(super) fn journal(&self) -> Option<&super::DivisionJournal> {
        if self.seat.clock == ClockKind::Wall {
            return None;
        }
        let union = self.company.union.as_ref();
        let lend = self.company.lend.as_ref();
        let divided = union.and_then(|union| union.journal.as_ref());
        divided.or_else(|| lend.and_then(|lend| lend.journal.as_ref()))
    }

    /// Whether there is room for a key; others may have to make it.
    pub(crate) fn has_room(&mut self, key: ModeKey, now: Instant) -> bool {
        if !self.is_over(1) || self.inner.machine.knows(key) {
            return true;
        }
        // Copies for others make room whatever becomes of keys.
        let may_evict = self.company.when_full() == WhenFull::Evict;
        let may_evict = may_evict && !self.seat.is_written.load(Relaxed);
        let mut made = false;
        for _ in 0..EVICTED_FOR_ONE {
            let done = self.inner.machine.drop_copy();
            self.inner.talked.copies_dropped += u64::from(done);
            let done = done || may_evict && self.evict(now);
            made |= done;
            if !done || !self.is_over(1) {
                break;
            }
        }
        self.inner.talked.refused += u64::from(!made);
        made
    }

    /// Whether it must make room: its policy has more than so many shares of the bytes, and it its part of those.
    fn is_over(&self, shares: u64) -> bool {
        let policy = &self.seat.policy;
        self.company.is_over(policy, self.inner.bytes, shares)
    }

    /// Forgets one key for want of room; `false` where there is none.
    fn evict(&mut self, now: Instant) -> bool {
        let done = self.inner.machine.evict(now);
        self.inner.talked.evicted += u64::from(done);
        done
    }

    /// Gives up what is too much: what was heard, or what there was before others needed some of it.
    fn shrink(&mut self, now: Instant) {
        if !self.company.is_full() {
            return;
        }
        self.weigh(0);
        // What is written is forgotten only where keys that other nodes counted have taken as much again.
        let shares = 1 + u64::from(self.seat.is_written.load(Relaxed));
        for _ in 0..EVICTED_AT_ONCE {
            if !self.is_over(shares) {
                break;
            }
            let done = self.inner.machine.drop_copy();
            self.inner.talked.copies_dropped += u64::from(done);
            if !done && !self.evict(now) {
                break;
            }
            self.weigh(0);
        }
    }

    /// Begins anew as a node that ran before.
    pub(super) fn begin_again(&mut self, machine: Box<dyn Mode>) {
        self.has_moved = true;
        self.inner.machine = machine;
    }

    /// Goes to another time, as the clock was set: nothing is regained.
    pub(super) fn move_time(&mut self, from: Instant, to: Instant, numbers: &NodeNumbers) {
        self.inner.latest = to;
        let event = ModeEvent::ClockSet { from, to, numbers };
        let now = self.at(Some(to));
        self.inner.machine.handle_event(&event, now);
    }

    pub(super) fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let now = self.at(Some(now));
        self.has_moved = true;
        let taken = self.inner.machine.handle_frame(from, frame, now);
        match taken {
            Ok(()) => self.inner.talked.heard += 1,
            Err(_) => self.inner.talked.malformed += 1,
        }
        self.shrink(now);
        taken
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let now = self.at(Some(now));
        self.has_moved = true;
        self.inner.machine.handle_timeout(now);
        self.shrink(now);
    }

    /// Lets the machine go: what it wants to say is put out. Says whether somebody must be woken for it.
    pub(crate) fn release(mut self) -> bool {
        self.keep();
        let outbox = self.company.outbox();
        let MachineState {
            machine, talked, ..
        } = &mut *self.inner;
        let mut wakes = false;
        if let Some(first) = machine.poll_send() {
            let mut frames = vec![first];
            frames.extend(std::iter::from_fn(|| machine.poll_send()));
            let others = self.seat.is_by_roster.then(|| self.company.places());
            let addressed = |send: Send| {
                let to = match &others {
                    None => send.to,
                    // Whoever is not there is told nothing.
                    Some(places) => places.as_ref()?.there(send.to)?,
                };
                talked
                    .said
                    .add(machine.is_publication(&send.frame), &send.frame);
                Some(Outgoing {
                    tag: self.seat.tag,
                    to,
                    frame: send.frame,
                })
            };
            wakes = outbox.push(frames.into_iter().filter_map(addressed));
        }
        let next = nanos(machine.poll_timeout());
        self.seat.is_joining.store(machine.is_joining(), Relaxed);
        self.weigh(STEP_BYTES / self.seat.policy.count as u64);
        if self.seat.next.swap(next, Relaxed) != next {
            wakes |= outbox.is_late_for(self.seat.clock, next);
        }
        wakes
    }

    /// Hands out what must be kept, where it may have changed.
    fn keep(&mut self) {
        let tag = self.seat.tag;
        if !std::mem::take(&mut self.has_moved) {
            return;
        }
        if let Some(kept) = self.inner.machine.poll_kept() {
            self.company.keep(tag, kept);
        }
    }

    /// Counts the machine's bytes against the budget, in steps.
    fn weigh(&mut self, step: u64) {
        let is = self.inner.machine.held();
        let was = self.inner.bytes;
        if is.abs_diff(was) >= step || (is == 0 && was > 0) {
            self.company.charge_bytes(&self.seat.policy, was, is);
            self.inner.bytes = is;
        }
    }
}

impl FrameCounts {
    fn add(&mut self, is_publication: bool, frame: &[u8]) {
        self.frames += 1;
        self.bytes += HEADER_BYTES + frame.len() as u64;
        self.publications += u64::from(is_publication);
    }
}

/// Callers may have read the time that long ago, and no longer.
const BEHIND_MAX: Span = Span::from_nanos(60_000_000_000);
/// Two clocks are read together if that is all that passes meanwhile.
const APART_MAX_NS: u64 = 500_000;
/// So often they are read again.
const READ_AGAIN_MAX: usize = 4;
/// Changes of a policy smaller than that are not counted.
const STEP_BYTES: u64 = 16 << 10;
/// What IP and UDP add to every frame, as the lab counts them.
const HEADER_BYTES: u64 = 28;
/// Copies and keys that make room for one key, so that what is over shrinks.
const EVICTED_FOR_ONE: usize = 2;
/// Copies and keys that make room for what one frame brought.
const EVICTED_AT_ONCE: usize = 1 << 10;
