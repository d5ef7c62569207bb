//! One node's part in one policy: decides by what it knows of a key, counts, and reports what is too much to be silent.
//!
//! Not here: what is known of a key (`law`), and how reports travel (`post`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::{
    Keyed, Malformed, ModeKey, ModeProbe, NodeId, Send, Standing, Writer, planted,
};

use tollgate_kit::Dice;

use super::join::Join;
use super::keep::{KEY_BYTES, NodeBoot, StandbyCopies};
use super::law::{Age, CellMarks, DUE, Law, LinkEntry, Seg, UNKEPT, What};
use super::log::Logged;
use super::post::LinkSet;
use super::wire::{Frame, LinkHello, LinkMessage, LinkReport, decode};

/// What a machine is made of.
#[derive(Clone, Debug)]
pub(super) struct MachinePlan {
    pub(super) me: NodeId,
    pub(super) writer: Writer,
    /// The writer of the boot before, where there was one.
    pub(super) was: Option<Writer>,
    pub(super) members: Vec<NodeId>,
    pub(super) seed: u64,
    pub(super) start: Instant,
    pub(super) delay: Span,
    /// Time between two deliveries of copies; `None` for no copies.
    pub(super) keep: Option<Span>,
    /// How long a report waits for others to share its frame.
    pub(super) linger: Span,
}

/// One node's part in one policy.
#[derive(Debug)]
pub(super) struct Machine<L: Law> {
    pub(super) law: L,
    pub(super) keys: Keyed<L::Cell>,
    /// Bytes of all cells, by the encoding in the documentation.
    pub(super) bytes: u64,
    /// The latest time it heard of.
    pub(super) now: Instant,
    pub(super) next: NextFrame,
    pub(super) post: LinkSet,
    pub(super) keep: StandbyCopies<L>,
    pub(super) join: Join,
    /// Whether it caught up once: then it knows what came from the others.
    pub(super) has_joined: bool,
    /// Keys that have yet to be looked at because their copies are with nobody.
    pub(super) uncopied: usize,
    pub(super) sweep_at: Option<Instant>,
    pub(super) dice: Dice,
    pub(super) hello: LinkHello,
    pub(super) nothing: L::Cell,
}

/// What goes out with the next frame.
#[derive(Debug, Default)]
pub(super) struct NextFrame {
    /// Keys of which silent tokens are reported, and what else is to be said.
    due: Vec<ModeKey>,
    changes: Vec<LinkEntry>,
    /// How long it waits for more, and until when.
    linger: Span,
    at: Option<Instant>,
}

/// Reports that are older than that when they arrive waited for a link.
const LATE: Span = Span::from_nanos(2_000_000_000);
/// Few keys are looked at once a second at most.
pub(super) const SWEEP_FEW: Span = Span::from_nanos(1_000_000_000);

impl<L: Law> Machine<L> {
    pub(super) fn new(law: L, plan: &MachinePlan) -> Self {
        let mut dice = Dice::new(plan.seed);
        let phase = plan.keep.map_or(0, |every| {
            dice.below(u64::try_from(every.as_nanos()).unwrap_or(u64::MAX))
        });
        let first = plan
            .start
            .saturating_add(Span::from_nanos(u128::from(phase)));
        let mut machine = Self {
            law,
            keys: Keyed::default(),
            bytes: 0,
            now: plan.start,
            next: NextFrame {
                linger: plan.linger,
                ..NextFrame::default()
            },
            post: LinkSet::new(plan.me, plan.writer, plan.delay),
            keep: StandbyCopies::new(plan.keep, first),
            join: Join::default(),
            has_joined: false,
            uncopied: 0,
            sweep_at: None,
            dice,
            hello: LinkHello {
                start: plan.start,
                was: plan.was,
            },
            nothing: L::Cell::default(),
        };
        machine.set_members(&plan.members, plan.start);
        // Whoever wants to be known is told to join.
        machine.join = Join::default();
        if plan.was.is_some() {
            machine.join(plan.start);
        }
        machine
    }

    /// Hears the time.
    pub(super) fn wind(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    pub(super) fn cell(&self, key: ModeKey) -> &L::Cell {
        self.keys.get(key).unwrap_or(&self.nothing)
    }

    /// Changes what is known of a key, and keeps count of its bytes.
    pub(super) fn change<T>(
        &mut self,
        key: ModeKey,
        change: impl FnOnce(&L, &mut L::Cell) -> T,
    ) -> T {
        let mut is_new = false;
        let cell = self.keys.get_or_insert_with(key, || {
            is_new = true;
            L::Cell::default()
        });
        let before = KEY_BYTES + self.law.bytes(cell);
        let result = change(&self.law, cell);
        self.bytes += KEY_BYTES + self.law.bytes(cell);
        if is_new {
            self.sweep_soon();
        } else {
            self.bytes -= before;
        }
        result
    }

    /// There is something to look at that there was not.
    fn sweep_soon(&mut self) {
        let soon = self.now.saturating_add(SWEEP_FEW);
        self.sweep_at = self.sweep_at.into_iter().chain([soon]).min();
    }

    pub(super) fn remove(&mut self, key: ModeKey) {
        if let Some(cell) = self.keys.remove(key) {
            self.bytes -= KEY_BYTES + self.law.bytes(&cell);
        }
    }

    pub(super) fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        let now = self.wind(now);
        self.law.probe(self.cell(key), cost, now)
    }

    pub(super) fn standing(&mut self, key: ModeKey, now: Instant) -> Standing {
        let now = self.wind(now);
        self.law.standing(self.cell(key), now)
    }

    /// Counts tokens that were admitted here.
    pub(super) fn take(&mut self, key: ModeKey, cost: u64, now: Instant) {
        if cost == 0 {
            return;
        }
        let now = self.wind(now);
        let keeps = self.keep.is_on();
        let (is_due, is_unkept) = self.change(key, |law, cell| {
            law.accept(cell, cost, now);
            if law.is_over_share(cell, now) {
                return (mark(law, cell, DUE), false);
            }
            (false, keeps && mark(law, cell, UNKEPT))
        });
        if is_due {
            self.report_soon(key);
        }
        if is_unkept {
            self.keep.note(key);
        }
    }

    pub(super) fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
        let now = self.wind(now);
        let most = debt_max.map_or(cost, |debt| self.law.chargeable(self.cell(key), debt, now));
        self.take(key, cost.min(most), now);
    }

    pub(super) fn refund(&mut self, key: ModeKey, cost: u64, now: Instant) {
        let now = self.wind(now);
        if cost == 0 || !self.keys.contains_key(key) {
            return;
        }
        let n = self.change(key, |law, cell| law.refund(cell, cost, now));
        if n > 0 {
            let what = What::Refund(Seg::new(now, n));
            self.say(LinkEntry { key, what });
        }
    }

    pub(super) fn reset(&mut self, key: ModeKey, now: Instant) {
        let now = self.wind(now);
        self.change(key, |law, cell| law.reset(cell, now, now));
        let what = What::Reset(now);
        self.say(LinkEntry { key, what });
    }

    pub(super) fn report_soon(&mut self, key: ModeKey) {
        self.next.due.push(key);
        self.seal_soon();
    }

    pub(super) fn say(&mut self, entry: LinkEntry) {
        self.next.changes.push(entry);
        self.seal_soon();
    }

    fn seal_soon(&mut self) {
        let at = self.now.saturating_add(self.next.linger);
        self.next.at = self.next.at.into_iter().chain([at]).min();
    }

    /// Puts what is due into frames.
    fn seal(&mut self) {
        let now = self.now;
        if self.next.at.take_if(|at| *at <= now).is_some() {
            let mut entries = Vec::with_capacity(self.next.due.len() + self.next.changes.len());
            for key in std::mem::take(&mut self.next.due) {
                if !self.keys.contains_key(key) {
                    continue;
                }
                let segs = self.change(key, |law, cell| {
                    unmark(law, cell, DUE);
                    law.report(cell, now)
                });
                if !segs.is_empty() {
                    let what = What::Report(segs);
                    entries.push(LinkEntry { key, what });
                }
            }
            entries.append(&mut self.next.changes);
            let law = &self.law;
            let merge = |waiting: &mut Vec<Seg>, more: &[Seg]| law.merge(waiting, more);
            self.post.report(&entries, &merge, now);
        }
        self.post.flush_acks(now);
    }

    pub(super) fn poll_send(&mut self) -> Option<Send> {
        if self.post.is_silent() {
            self.seal();
        }
        self.post.poll_send()
    }

    pub(super) fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let frame = decode(frame, now)?;
        let now = self.wind(now);
        if self.post.meet(from, &frame, now)?.is_none() {
            return Ok(());
        }
        let Frame {
            writer,
            ack,
            is_resent,
            message,
        } = frame;
        if ack.is_some_and(|ack| ack.writer == self.post.writer) {
            self.join.named(from);
        }
        let sender = NodeBoot { node: from, writer };
        match message {
            LinkMessage::Report(report) => self.take_report(sender, report, is_resent),
            LinkMessage::Ack => {}
            LinkMessage::Keep(copies) => {
                let is_whole = self.post.has_exactly(from, copies.number);
                if planted!("links-keep-stale", is_whole, true) {
                    let law = &self.law;
                    self.keep.store(law, sender, copies.entries, now);
                    self.sweep_soon();
                }
            }
            LinkMessage::Hello(_) => self.answer_hello(sender),
            LinkMessage::Return(part) => self.take_back(from, part),
            LinkMessage::Ask(place) => self.answer_ask(from, place),
            LinkMessage::Page(page) => self.take_page(from, &page),
        }
        Ok(())
    }

    fn take_report(&mut self, sender: NodeBoot, report: LinkReport, is_resent: bool) {
        let (from, now) = (sender.node, self.now);
        let is_range = report.lo.is_some();
        let is_lost = is_range && report.entries.is_empty();
        let is_late = is_range || report.time.saturating_add(LATE) < now;
        let age = if is_late { Age::Late } else { Age::Fresh };
        let arrived = self.post.arrive(from, report, is_resent, now);
        let Some(entries) = arrived else { return };
        if is_lost {
            self.join.ask(from, now);
        }
        self.keep.end_others(sender);
        for entry in entries {
            self.keep.erase(&self.law, sender, entry.key);
            self.learn(&entry, age);
        }
    }

    fn learn(&mut self, entry: &LinkEntry, age: Age) {
        let (key, now) = (entry.key, self.now);
        if matches!(entry.what, What::Refund(_)) && !self.keys.contains_key(key) {
            return;
        }
        let is_due = self.change(key, |law, cell| match &entry.what {
            What::Report(segs) => {
                let wakes = law.learn(cell, segs, age, now);
                (wakes || law.is_over_share(cell, now)) && mark(law, cell, DUE)
            }
            What::Refund(refund) => {
                law.give_back(cell, *refund, now);
                false
            }
            What::Reset(at) => {
                law.reset(cell, *at, now);
                false
            }
        });
        if is_due {
            self.report_soon(key);
        }
    }

    pub(super) fn set_members(&mut self, alive: &[NodeId], now: Instant) {
        let now = self.wind(now);
        let before = self.post.successor();
        let new = self.post.set_members(alive, now);
        self.join.set_members(alive, new, now);
        self.law.set_nodes(self.post.nodes());
        let after = self.post.successor();
        if after != before {
            self.keep.begin_again(after.is_some());
            self.uncopied = if self.keep.is_on() {
                self.keys.len()
            } else {
                0
            };
            self.sweep_at = self.sweep_at.map(|_| now);
        }
    }

    /// Reports everything.
    pub(super) fn leave(&mut self, now: Instant) {
        let now = self.wind(now);
        for key in self.keys.keys() {
            self.next.due.push(key);
        }
        self.next.at = Some(now);
        self.seal();
    }

    /// Goes on under other numbers; what it told under the old ones still counts.
    pub(super) fn renumber(
        &mut self,
        me: NodeId,
        writer: Writer,
        members: &[NodeId],
        now: Instant,
    ) {
        self.leave(now);
        self.hello = LinkHello {
            start: self.now,
            was: Some(self.post.writer),
        };
        self.post.renumber(me, writer);
        self.set_members(members, now);
        self.join(now);
        self.post.acknowledge_all(self.now);
    }

    /// The clock was set: what is used up at `from` is used up at `to`.
    pub(super) fn shift(&mut self, from: Instant, to: Instant) {
        let law = &self.law;
        self.keys.each_mut(|_, cell| law.shift(cell, from, to));
        self.bytes = self
            .keys
            .values()
            .map(|cell| KEY_BYTES + law.bytes(cell))
            .sum();
        self.keep.shift(law, from, to);
        self.post.shift(from, to);
        self.join.shift(to);
        self.now = to;
        self.next.at = self.next.at.map(|_| to);
        self.sweep_at = self.sweep_at.map(|_| to);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let now = self.wind(now);
        self.post.handle_timeout(now);
        if self.join.poll_timeout().is_some_and(|at| at <= now) {
            self.go_on_joining();
        }
        self.deliver_copies();
        if self.sweep_at.is_some_and(|at| at <= now) {
            self.sweep();
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let keep = self.keep.due().filter(|_| self.post.successor().is_some());
        let times = [
            self.post.poll_timeout(),
            self.join.poll_timeout(),
            keep,
            self.sweep_at,
            self.next.at.filter(|at| *at > self.now),
        ];
        times.into_iter().flatten().min()
    }

    pub(super) fn is_quiet(&self) -> bool {
        let is_sealed = self.next.due.is_empty() && self.next.changes.is_empty();
        let is_kept = self.keep.due().is_none() || self.post.successor().is_none();
        is_sealed && is_kept && self.join.is_quiet() && self.post.is_quiet()
    }

    pub(super) const fn keys(&self) -> &Keyed<L::Cell> {
        &self.keys
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

pub(super) fn numbered(number: u64, time: Instant, entries: std::sync::Arc<[u8]>) -> Logged {
    Logged {
        number,
        lo: None,
        time,
        entries,
    }
}

/// Puts a key on a list; whether it was not there.
pub(super) fn mark<L: Law>(law: &L, cell: &mut L::Cell, list: CellMarks) -> bool {
    let marks = law.marks(cell);
    marks.is_some_and(|marks| {
        let is_new = *marks & list == 0;
        *marks |= list;
        is_new
    })
}

/// Takes a key off a list; whether it was there.
pub(super) fn unmark<L: Law>(law: &L, cell: &mut L::Cell, list: CellMarks) -> bool {
    let marks = law.marks(cell);
    marks.is_some_and(|marks| {
        let was = *marks & list > 0;
        *marks &= !list;
        was
    })
}
