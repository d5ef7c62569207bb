//! A machine that several threads and successive nodes share, and what it said.
//!
//! Not here: which policy it counts for (`parts`), and what waits to be sent (`outbox`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};
use tollgate_gossip::{Key, Kind, Machine, Malformed, NodeId, Send, Sort};
use tollgate_limit::{Instant, Span};
use tollgate_table::WhenFull;

use super::mind::Mind;
use super::outbox::{Outgoing, Pace, nanos};
use super::saved::carry_over;
use super::status::Said;
use super::{Company, Membership};
use crate::dirty::Dirty;

/// A machine, under a lock.
#[derive(Debug)]
pub(crate) struct Seat {
    /// Machines are locked in this order.
    pub(crate) order: u64,
    pub(crate) tag: u64,
    /// How it gossips, where it does.
    pub(crate) kind: Option<Kind>,
    /// On which clock it counts; where that is the steady one, nodes have numbers of their own.
    pace: Pace,
    inner: Mutex<Inner>,
    /// When it wants to be woken, in nanoseconds; never is the greatest.
    next: AtomicU64,
    is_joining: AtomicBool,
    /// Keys of a durable policy that changed here.
    pub(crate) dirty: Dirty,
    /// Whether its keys are written: none is forgotten for another then, as nobody reads it again.
    pub(super) is_written: AtomicBool,
}

/// What happened to a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Talked {
    pub(crate) said: Said,
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
pub(crate) struct Inner {
    pub(crate) machine: Mind,
    pub(crate) talked: Talked,
    /// The latest time it heard of.
    latest: Instant,
    /// While it catches up: since when, and when something last came.
    joining: Option<(Instant, Instant)>,
    /// Bytes counted against the node's budget.
    bytes: u64,
}

/// A locked machine. Let it go with [`Self::release`].
pub(crate) struct Held<'a> {
    seat: &'a Seat,
    company: &'a Company,
    inner: MutexGuard<'a, Inner>,
    /// Whether what must be kept may be other than before.
    has_moved: bool,
}

impl Seat {
    pub(super) fn new(order: u64, (tag, kind): (u64, Option<Kind>), machine: Mind) -> Self {
        let next = AtomicU64::new(nanos(machine.poll_timeout()));
        let pace = machine.pace();
        let inner = Inner {
            machine,
            talked: Talked::default(),
            latest: Instant::default(),
            joining: None,
            bytes: 0,
        };
        Self {
            order,
            tag,
            kind,
            pace,
            inner: Mutex::new(inner),
            next,
            is_joining: AtomicBool::new(false),
            dirty: Dirty::new(),
            is_written: AtomicBool::new(false),
        }
    }

    /// Locks the machine.
    pub(crate) fn hold<'a>(&'a self, company: &'a Company) -> Held<'a> {
        Held {
            seat: self,
            company,
            inner: self.inner.lock(),
            has_moved: false,
        }
    }

    /// On which clock it counts.
    pub(super) const fn pace(&self) -> Pace {
        self.pace
    }

    /// Whether nodes have numbers of their own, by a roster.
    pub(super) fn is_divided(&self) -> bool {
        self.pace == Pace::Steady
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
        company.charge_bytes(inner.bytes, 0);
        inner.bytes = 0;
    }
}

impl Held<'_> {
    pub(crate) fn machine(&mut self) -> &mut Mind {
        &mut self.inner.machine
    }

    /// The machine, to change what its node has by right.
    pub(super) fn ground(&mut self) -> Option<&mut tollgate_supply::Machine> {
        self.has_moved = true;
        self.inner.machine.supply()
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
        match self.seat.pace() {
            Pace::Wall => now,
            Pace::Steady => {
                let steady = self.company.steady(now);
                let lender = self.inner.machine.lease();
                if let Some(lender) = lender.filter(|lender| lender.has_window()) {
                    // The time of day is read last: what is lent is then over a little too early, and never too late.
                    lender.tell_time(steady, self.company.day(now), now);
                }
                steady
            }
        }
    }

    pub(super) const fn tag(&self) -> u64 {
        self.seat.tag
    }

    /// Who writes down what is admitted, where the rate is divided.
    pub(super) fn journal(&self) -> Option<&super::Journal> {
        if !self.seat.is_divided() {
            return None;
        }
        let union = self.company.union.as_ref();
        let lend = self.company.lend.as_ref();
        let divided = union.and_then(|union| union.journal.as_ref());
        divided.or_else(|| lend.and_then(|lend| lend.journal.as_ref()))
    }

    /// Whether there is room for a key; others may have to make it.
    pub(crate) fn has_room(&mut self, key: Key, now: Instant) -> bool {
        if !self.company.is_over(self.inner.bytes) || self.inner.machine.knows(key) {
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
            if !done || !self.company.is_over(self.inner.bytes) {
                break;
            }
        }
        self.inner.talked.refused += u64::from(!made);
        made
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
            if !self.company.is_over(self.inner.bytes / shares) {
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

    /// Starts the machine anew under other numbers; what it knew it knows under the old ones.
    pub(super) fn restart(&mut self, mut machine: Machine, now: Instant) {
        if let Some(before) = self.inner.machine.gossip() {
            carry_over(before, &mut machine, now);
            self.inner.machine = Mind::Gossip(machine);
        }
    }

    /// Begins anew as a node that ran before.
    pub(super) fn begin_again(&mut self, machine: Mind) {
        self.has_moved = true;
        self.inner.machine = machine;
    }

    /// Goes to another time, as the clock was set: nothing is regained. `anew` takes the place of a machine whose counts are of a
    /// time to come.
    pub(super) fn move_time(&mut self, from: Instant, to: Instant, anew: Option<Machine>) {
        let Inner {
            machine,
            latest,
            joining,
            ..
        } = &mut *self.inner;
        (*latest, *joining) = (to, joining.map(|_| (to, to)));
        match machine {
            Mind::Gossip(machine) => machine.move_time(from, to, anew),
            Mind::Sync(syncing) => syncing.move_time(from, to),
            Mind::Lease(lender) => lender.move_time(from, to),
            // Steady time is never set.
            Mind::Supply(_) | Mind::Split(_) => {}
        }
    }

    /// Asks the others for what they know; where a rate is divided there is nothing to know.
    pub(super) fn join(&mut self, now: Instant) {
        let Some(machine) = self.inner.machine.gossip() else {
            return;
        };
        machine.handle_join(now);
        self.inner.joining = Some((now, now));
        self.seat.is_joining.store(true, Relaxed);
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
        if let Some((_, last)) = &mut self.inner.joining
            && let Some(kind) = self.seat.kind
            && Sort::of(kind, frame) == Sort::Memory
        {
            *last = now;
        }
        self.shrink(now);
        taken
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let now = self.at(Some(now));
        self.has_moved = true;
        self.inner.machine.handle_timeout(now);
        self.shrink(now);
        if let Some((began, last)) = self.inner.joining {
            let is_answered = !self.inner.machine.is_joining() && last.saturating_add(CALM) <= now;
            if is_answered || began.saturating_add(JOIN_MAX) <= now {
                self.inner.joining = None;
                self.seat.is_joining.store(false, Relaxed);
            }
        }
    }

    /// Lets the machine go: what it wants to say is put out. Says whether somebody must be woken for it.
    pub(crate) fn release(mut self) -> bool {
        self.keep();
        let outbox = self.company.outbox();
        let Inner {
            machine,
            talked,
            joining,
            ..
        } = &mut *self.inner;
        let mut wakes = false;
        if let Some(first) = machine.poll_send() {
            let rest = std::iter::from_fn(|| machine.poll_send());
            let others = self.seat.is_divided().then(|| self.company.places());
            let addressed = |send: Send| {
                let to = match &others {
                    None => send.to,
                    // Whoever is not there is told nothing.
                    Some(places) => places.as_ref()?.there(send.to)?,
                };
                talked.said.add(self.seat.kind, &send.frame);
                Some(Outgoing {
                    tag: self.seat.tag,
                    to,
                    frame: send.frame,
                })
            };
            wakes = outbox.push(std::iter::once(first).chain(rest).filter_map(addressed));
        }
        let is_asking = machine.is_joining();
        let settled = joining.map(|(began, last)| {
            let latest = began.saturating_add(JOIN_MAX);
            let calm = last.saturating_add(CALM);
            if is_asking { latest } else { calm.min(latest) }
        });
        let next = nanos(machine.poll_timeout().into_iter().chain(settled).min());
        self.weigh(STEP_BYTES);
        if self.seat.next.swap(next, Relaxed) != next {
            wakes |= outbox.is_late_for(self.seat.pace(), next);
        }
        wakes
    }

    /// Hands out what must be kept, where it may have changed.
    fn keep(&mut self) {
        let tag = self.seat.tag;
        if !std::mem::take(&mut self.has_moved) {
            return;
        }
        let kept = self.inner.machine.supply();
        if let Some(kept) = kept.and_then(tollgate_supply::Machine::poll_kept) {
            self.company.keep(tag, kept);
        }
    }

    /// Counts the machine's bytes against the budget, in steps.
    fn weigh(&mut self, step: u64) {
        let is = self.inner.machine.held();
        let was = self.inner.bytes;
        if is.abs_diff(was) >= step || (is == 0 && was > 0) {
            self.company.charge_bytes(was, is);
            self.inner.bytes = is;
        }
    }
}

impl Said {
    fn add(&mut self, kind: Option<Kind>, frame: &[u8]) {
        self.frames += 1;
        self.bytes += HEADER_BYTES + frame.len() as u64;
        match kind.map(|kind| Sort::of(kind, frame)) {
            Some(Sort::Publication) => self.publications += 1,
            Some(Sort::Pull) => self.pulls += 1,
            Some(Sort::Digest) => self.digests += 1,
            Some(Sort::Copy | Sort::Memory) | None => {}
        }
    }
}

/// The numbers under which a machine starts, given those before.
pub(super) fn restarted(
    membership: &Membership,
    was: Option<tollgate_gossip::Writer>,
) -> Membership {
    Membership {
        was,
        ..membership.clone()
    }
}

/// Callers may have read the time that long ago, and no longer.
const BEHIND_MAX: Span = Span::from_nanos(60_000_000_000);
/// Changes smaller than that are not counted.
const STEP_BYTES: u64 = 16 << 10;
/// What IP and UDP add to every frame, as the lab counts them.
const HEADER_BYTES: u64 = 28;
/// Copies and keys that make room for one key, so that what is over shrinks.
const EVICTED_FOR_ONE: usize = 2;
/// Copies and keys that make room for what one frame brought.
const EVICTED_AT_ONCE: usize = 1 << 10;
/// Nothing came for that long: all is there.
const CALM: Span = Span::from_nanos(200_000_000);
/// No longer is anything waited for.
const JOIN_MAX: Span = Span::from_nanos(4_000_000_000);
