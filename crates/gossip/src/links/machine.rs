//! One node's part in one policy: decides by what it knows of a key, counts, and reports what is too much to be silent.
//!
//! Not here: what is known of a key (`law`), and how reports travel (`post`).

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, Keyed, Malformed, NodeId, Probe, Send, Standing, Writer, planted};

use tollgate_kit::Dice;

use super::join::{Call, Join};
use super::keep::{KEY_BYTES, Keep};
use super::law::{Age, DUE, Entry, Law, Marks, Seg, UNKEPT, What};
use super::link::Logged;
use super::post::Post;
use super::wire::{
    BODY_BYTES, Frame, Head, Hello, Message, PAGE_BYTES, Page, Report, bodies, decode,
};

/// What a machine is made of.
#[derive(Clone, Debug)]
pub(super) struct Plan {
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
    keys: Keyed<L::Cell>,
    /// Bytes of all cells, by the encoding in the documentation.
    bytes: u64,
    /// The latest time it heard of.
    pub(super) now: Instant,
    /// Keys whose silent tokens go out with the next frame, and what else does.
    due: Vec<Key>,
    changes: Vec<Entry>,
    linger: Span,
    seal_at: Option<Instant>,
    pub(super) post: Post,
    pub(super) keep: Keep<L>,
    pub(super) join: Join,
    /// Keys that have yet to be looked at because their copies are with nobody.
    uncopied: usize,
    sweep_at: Option<Instant>,
    dice: Dice,
    hello: Hello,
    nothing: L::Cell,
}

/// Reports that are older than that when they arrive waited for a link.
const LATE: Span = Span::from_nanos(2_000_000_000);
/// Keys are looked at so often,
const SWEEP_EVERY: Span = Span::from_nanos(100_000_000);
/// so many at once; few keys are looked at once a second at most.
const SWEPT: usize = 512;
const SWEEP_FEW: Span = Span::from_nanos(1_000_000_000);
/// Keys on a page.
const PAGE_KEYS: usize = 1 << 11;
/// Keys that are looked at for one to forget,
const LOOKED: usize = 16;
/// and at most where all of those have nothing left.
const LOOKED_MAX: usize = 512;

impl<L: Law> Machine<L> {
    pub(super) fn new(law: L, plan: &Plan) -> Self {
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
            due: Vec::new(),
            changes: Vec::new(),
            linger: plan.linger,
            seal_at: None,
            post: Post::new(plan.me, plan.writer, plan.delay),
            keep: Keep::new(plan.keep, first),
            join: Join::default(),
            uncopied: 0,
            sweep_at: None,
            dice,
            hello: Hello {
                start: plan.start,
                was: plan.was,
            },
            nothing: L::Cell::default(),
        };
        machine.set_members(&plan.members, plan.start);
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

    fn cell(&self, key: Key) -> &L::Cell {
        self.keys.get(key).unwrap_or(&self.nothing)
    }

    /// Changes what is known of a key, and keeps count of its bytes.
    fn change<T>(&mut self, key: Key, change: impl FnOnce(&L, &mut L::Cell) -> T) -> T {
        let mut is_new = false;
        let cell = self.keys.get_or_insert_with(key, || {
            is_new = true;
            L::Cell::default()
        });
        let before = KEY_BYTES + self.law.bytes(cell);
        let result = change(&self.law, cell);
        self.bytes += KEY_BYTES + self.law.bytes(cell);
        if is_new {
            let soon = self.now.saturating_add(SWEEP_FEW);
            self.sweep_at = self.sweep_at.into_iter().chain([soon]).min();
        } else {
            self.bytes -= before;
        }
        result
    }

    fn remove(&mut self, key: Key) {
        if let Some(cell) = self.keys.remove(key) {
            self.bytes -= KEY_BYTES + self.law.bytes(&cell);
        }
    }

    pub(super) fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
        let now = self.wind(now);
        self.law.probe(self.cell(key), cost, now)
    }

    pub(super) fn standing(&mut self, key: Key, now: Instant) -> Standing {
        let now = self.wind(now);
        self.law.standing(self.cell(key), now)
    }

    /// Counts tokens that were admitted here.
    pub(super) fn take(&mut self, key: Key, cost: u64, now: Instant) {
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

    pub(super) fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        let now = self.wind(now);
        let most = debt_max.map_or(cost, |debt| self.law.chargeable(self.cell(key), debt, now));
        self.take(key, cost.min(most), now);
    }

    pub(super) fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        let now = self.wind(now);
        if cost == 0 || !self.keys.contains_key(key) {
            return;
        }
        let n = self.change(key, |law, cell| law.refund(cell, cost, now));
        if n > 0 {
            let what = What::Refund(Seg::new(now, n));
            self.say(Entry { key, what });
        }
    }

    pub(super) fn reset(&mut self, key: Key, now: Instant) {
        let now = self.wind(now);
        self.change(key, |law, cell| law.reset(cell, now, now));
        let what = What::Reset(now);
        self.say(Entry { key, what });
    }

    fn report_soon(&mut self, key: Key) {
        self.due.push(key);
        self.seal_soon();
    }

    fn say(&mut self, entry: Entry) {
        self.changes.push(entry);
        self.seal_soon();
    }

    fn seal_soon(&mut self) {
        let at = self.now.saturating_add(self.linger);
        self.seal_at = self.seal_at.into_iter().chain([at]).min();
    }

    /// Puts what is due into frames.
    fn seal(&mut self) {
        let now = self.now;
        if self.seal_at.take_if(|at| *at <= now).is_some() {
            let mut entries = Vec::with_capacity(self.due.len() + self.changes.len());
            for key in std::mem::take(&mut self.due) {
                let segs = self.change(key, |law, cell| {
                    unmark(law, cell, DUE);
                    law.report(cell, now)
                });
                if !segs.is_empty() {
                    let what = What::Report(segs);
                    entries.push(Entry { key, what });
                }
            }
            entries.append(&mut self.changes);
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
        match message {
            Message::Report(report) => self.take_report(from, writer, report, is_resent),
            Message::Ack => {}
            Message::Keep(copies) => {
                let is_whole = self.post.has_exactly(from, copies.number);
                if planted!("links-keep-stale", is_whole, true) {
                    let law = &self.law;
                    self.keep.store(law, from, writer, copies.entries, now);
                }
            }
            Message::Hello(_) => self.answer_hello(from, writer),
            Message::Return(part) => self.take_back(from, part),
            Message::Ask(place) => self.answer_ask(from, place),
            Message::Page(page) => self.take_page(from, &page),
        }
        Ok(())
    }

    fn take_report(&mut self, from: NodeId, writer: Writer, report: Report, is_resent: bool) {
        let now = self.now;
        let is_range = report.lo.is_some();
        let is_lost = is_range && report.entries.is_empty();
        let is_late = is_range || report.time.saturating_add(LATE) < now;
        let age = if is_late { Age::Late } else { Age::Fresh };
        let arrived = self.post.arrive(from, report, is_resent, now);
        let Some(entries) = arrived else { return };
        if is_lost {
            self.join.ask(from, now);
        }
        self.keep.end_others(from, writer);
        for entry in entries {
            self.keep.erase(&self.law, from, writer, entry.key);
            self.learn(&entry, age);
        }
    }

    fn learn(&mut self, entry: &Entry, age: Age) {
        let (key, now) = (entry.key, self.now);
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

    /// A node that starts is told that it is known, and gets what was kept for it.
    fn answer_hello(&mut self, from: NodeId, writer: Writer) {
        let now = self.now;
        let entries = self.keep.of(&self.law, from, writer, now);
        for (body, number) in bodies(&entries, now, BODY_BYTES).into_iter().zip(0..) {
            let part = numbered(number, now, body);
            self.post.send(from, |head| head.give_back(&part), now);
        }
        if entries.is_empty() {
            self.post.send(from, Head::ack, now);
        }
    }

    /// Takes back what was silent before this node started.
    fn take_back(&mut self, from: NodeId, part: Report) {
        if self.join.has_restored || !self.join.is_first(from, part.number) {
            return;
        }
        let now = self.now;
        for Entry { key, what } in part.entries {
            let What::Report(segs) = what else { continue };
            let is_due = self.change(key, |law, cell| {
                law.recall(cell, &segs, now);
                law.is_over_share(cell, now) && mark(law, cell, DUE)
            });
            if is_due {
                self.report_soon(key);
            }
        }
    }

    fn answer_ask(&mut self, from: NodeId, place: u32) {
        let now = self.now;
        let (mut keys, mut next, mut bytes) = (Vec::new(), None, 0);
        for (count, (after, key, cell)) in self.keys.from_slot(place).enumerate() {
            let told = self.law.told(cell, now);
            bytes += 24 * told.len() + usize::from(!told.is_empty()) * 17;
            if !told.is_empty() {
                keys.push((key, told));
            }
            if bytes >= PAGE_BYTES || count >= PAGE_KEYS {
                next = Some(after);
                break;
            }
        }
        let page = Page {
            time: now,
            next,
            vector: self.post.vector(),
            keys,
        };
        self.post.send(from, |head| head.page(&page), now);
    }

    fn take_page(&mut self, from: NodeId, page: &Page) {
        let now = self.now;
        let is_new = self.join.is_joining();
        let age = if is_new { Age::Fresh } else { Age::Late };
        self.post.adopt(&page.vector, now);
        for (key, told) in &page.keys {
            self.change(*key, |law, cell| law.raise(cell, told, age, now));
        }
        self.join.turn(from, page.next, now);
        self.go_on_joining();
    }

    /// Catches up with the others.
    pub(super) fn join(&mut self, now: Instant) {
        let now = self.wind(now);
        let others: Vec<_> = self.post.others().collect();
        let first = self.dice.place(others.len());
        self.join.begin(&others, first, now);
        self.go_on_joining();
    }

    fn go_on_joining(&mut self) {
        let now = self.now;
        let (calls, is_done) = self.join.handle_timeout(now);
        self.post.is_mute = self.join.is_joining();
        let hello = self.hello;
        for call in calls {
            match call {
                Call::Hello(node) => self.post.send(node, |head| head.hello(hello), now),
                Call::Ask(node, place) => self.post.send(node, |head| head.ask(place), now),
            }
        }
        if is_done {
            self.post.acknowledge_all(now);
        }
    }

    pub(super) fn set_members(&mut self, alive: &[NodeId], now: Instant) {
        let now = self.wind(now);
        let before = self.post.successor();
        self.post.set_members(alive, now);
        self.law.set_nodes(self.post.nodes());
        if self.post.successor() != before && self.keep.is_on() {
            self.uncopied = self.keys.len();
            self.sweep_at = self.sweep_at.map(|_| now);
        }
    }

    /// Reports everything.
    pub(super) fn leave(&mut self, now: Instant) {
        let now = self.wind(now);
        for key in self.keys.keys() {
            self.due.push(key);
        }
        self.seal_at = Some(now);
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
        self.hello = Hello {
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
        self.seal_at = self.seal_at.map(|_| to);
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

    /// Sends copies of what is silent to the successor.
    fn deliver_copies(&mut self) {
        let now = self.now;
        let Some(to) = self.post.successor() else {
            return;
        };
        let mut entries = Vec::new();
        for key in self.keep.take_due(now) {
            if !self.keys.contains_key(key) {
                continue;
            }
            let segs = self.change(key, |law, cell| {
                let is_marked = unmark(law, cell, UNKEPT);
                if is_marked {
                    law.silent(cell, now)
                } else {
                    Vec::new()
                }
            });
            if !segs.is_empty() {
                let what = What::Report(segs);
                entries.push(Entry { key, what });
            }
        }
        let number = self.post.number();
        for body in bodies(&entries, now, BODY_BYTES) {
            let copies = numbered(number, now, body);
            self.post.send(to, |head| head.keep(&copies), now);
        }
    }

    /// Forgets some of what counts no more.
    fn sweep(&mut self) {
        let (now, all) = (self.now, self.keys.len());
        let (mut seen, mut next) = (0, Instant::LAST);
        while seen < all.min(SWEPT) && !self.keys.is_empty() {
            let Some(key) = self.keys.sweep() else {
                continue;
            };
            seen += 1;
            let is_uncopied = self.uncopied > 0;
            self.uncopied = self.uncopied.saturating_sub(1);
            let (look, is_unkept) = self.change(key, |law, cell| {
                let is_silent = is_uncopied && !law.silent(cell, now).is_empty();
                (law.settle(cell, now), is_silent && mark(law, cell, UNKEPT))
            });
            if is_unkept {
                self.keep.note(key);
            }
            match look {
                Some(look) => next = next.min(look),
                None => self.remove(key),
            }
        }
        self.keep.sweep(&self.law, now);
        let is_few = all <= SWEPT && self.keep.len() <= SWEPT;
        let wait = if is_few { SWEEP_FEW } else { SWEEP_EVERY };
        let soon = now.saturating_add(wait);
        let is_empty = self.keys.is_empty() && self.keep.len() == 0;
        let at = if is_few && self.keep.len() == 0 {
            next.max(soon)
        } else {
            soon
        };
        self.sweep_at = (!is_empty).then_some(at);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let keep = self.keep.due().filter(|_| self.post.successor().is_some());
        let times = [
            self.post.poll_timeout(),
            self.join.poll_timeout(),
            keep,
            self.sweep_at,
            self.seal_at.filter(|at| *at > self.now),
        ];
        times.into_iter().flatten().min()
    }

    pub(super) fn is_quiet(&self) -> bool {
        let is_sealed = self.due.is_empty() && self.changes.is_empty();
        let is_kept = self.keep.due().is_none() || self.post.successor().is_none();
        is_sealed && is_kept && self.join.is_quiet() && self.post.is_quiet()
    }

    /// Forgets of a few keys the one that has most left, once the others are told what only this node knew of it.
    pub(super) fn evict(&mut self, now: Instant) -> bool {
        let now = self.wind(now);
        let mut best: Option<(u128, Key)> = None;
        let mut looked = 0;
        while looked < LOOKED_MAX.min(self.keys.len()) {
            let Some(key) = self.keys.sweep() else {
                continue;
            };
            looked += 1;
            let left = self.law.left(self.cell(key), now);
            if best.is_none_or(|(most, _)| left > most) {
                best = Some((left, key));
            }
            if looked >= LOOKED && best.is_some_and(|(most, _)| most > 0) {
                break;
            }
        }
        let Some((_, key)) = best else { return false };
        let segs = self.change(key, |law, cell| law.report(cell, now));
        if !segs.is_empty() {
            let what = What::Report(segs);
            self.say(Entry { key, what });
        }
        self.remove(key);
        true
    }

    /// Gives up a copy that is kept for another node, or what waits for a link.
    pub(super) fn drop_copy(&mut self) -> bool {
        self.keep.drop_one(&self.law) || self.post.drop_backlog()
    }

    pub(super) const fn keys(&self) -> &Keyed<L::Cell> {
        &self.keys
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes what a former start saved of a key.
    pub(super) fn restore(&mut self, key: Key, saved: &super::saved::Saved, now: Instant) {
        let now = self.wind(now);
        self.join.has_restored = true;
        let is_due = self.change(key, |law, cell| {
            law.raise(cell, &saved.told, Age::Fresh, now);
            law.recall(cell, &saved.silent, now);
            law.is_over_share(cell, now) && mark(law, cell, DUE)
        });
        if is_due {
            self.report_soon(key);
        }
    }

    /// What a start after this one must know of a key.
    pub(super) fn saved(&mut self, key: Key, now: Instant) -> Option<super::saved::Saved> {
        let now = self.wind(now);
        if !self.keys.contains_key(key) {
            return None;
        }
        Some(self.change(key, |law, cell| super::saved::Saved {
            silent: law.silent(cell, now),
            told: law.told(cell, now),
        }))
    }
}

fn numbered(number: u64, time: Instant, entries: std::sync::Arc<[u8]>) -> Logged {
    Logged {
        number,
        lo: None,
        time,
        entries,
    }
}

/// Puts a key on a list; whether it was not there.
fn mark<L: Law>(law: &L, cell: &mut L::Cell, list: Marks) -> bool {
    let marks = law.marks(cell);
    marks.is_some_and(|marks| {
        let is_new = *marks & list == 0;
        *marks |= list;
        is_new
    })
}

/// Takes a key off a list; whether it was there.
fn unmark<L: Law>(law: &L, cell: &mut L::Cell, list: Marks) -> bool {
    let marks = law.marks(cell);
    marks.is_some_and(|marks| {
        let was = *marks & list > 0;
        *marks &= !list;
        was
    })
}
