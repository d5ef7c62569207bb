//! One link: what another node has of this node's frames, and what is sent to it again.
//!
//! A link on which nothing gets through is *suspended*: what it has not acknowledged is repeated, and what is reported
//! from then on waits, merged by key, until it answers. Not here: what frames say, and what came from it (`stream`).

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Writer, planted};

use super::boots::{Boots, Met};
use super::law::LinkEntry;
use super::log::{Backlog, LOGGED_BYTES, Log, Logged};
use super::ours::{Fate, LinkTiming, Made, Ours};
use super::stream::Stream;
use super::wire::{Ack, LinkHello, bodies};

/// A link is suspended after so long without an answer.
const SUSPECT: Span = Span::from_nanos(1_000_000_000);
/// On a suspended link the oldest frame is repeated so often.
const REPEAT: Span = Span::from_nanos(500_000_000);
/// A node that starts must say what it has within that time.
const AWAIT: Span = Span::from_nanos(4_000_000_000);
/// A link is suspended, too, with so many frames outstanding.
const OUTSTANDING_MAX: u64 = 1 << 9;
/// What waits for a node that is gone is given up after that.
const GONE: Span = Span::from_nanos(60_000_000_000);
/// Frames that are sent again at once.
const RESENT_MAX: usize = 64;

/// A link to one node.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub(super) is_alive: bool,
    pub(super) boots: Boots,
    /// Since when it has yet to say what it has of this node's frames.
    awaits: Option<Instant>,
    /// What it has, and up to which number frames were sent to it.
    cum: u64,
    window: u64,
    sent: u64,
    /// Frames that are for it alone, by their numbers.
    special: BTreeMap<u64, Logged>,
    /// When it last got further, when to send again, and how often that was in vain.
    progress: Instant,
    again: Instant,
    tries: u32,
    repair: Repair,
    /// What waits while the link is suspended.
    backlog: Option<Backlog>,
    /// What came of its stream, and what it is to be told of that.
    pub(super) stream: Option<Stream>,
    pub(super) acks: Acks,
    /// How often it was suspended.
    pub(super) suspensions: u64,
}

/// What is sent to a node again at once.
#[derive(Debug, Default)]
struct Repair {
    /// When gaps were last filled, and up to which number.
    filled: Instant,
    filled_to: u64,
    /// What it lacked when it was heard of again: sent again up to the first number, of all up to the second.
    replayed: u64,
    replay_to: u64,
}

/// What a node is to be told of its frames.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// New frames since the last time.
    pub(super) count: u32,
    /// When to acknowledge at the latest, and when that was last done.
    pub(super) at: Option<Instant>,
    pub(super) last: Instant,
}

impl Link {
    /// A link to a node that was heard of after `number` frames were sent.
    pub(super) fn new(number: u64, now: Instant) -> Self {
        let mut link = Self::default();
        if number > 0 {
            link.skip(0, number, now);
            (link.progress, link.again) = (now, now);
        }
        link
    }

    pub(super) const fn is_suspended(&self) -> bool {
        self.backlog.is_some()
    }

    /// Whether something that was sent may not have arrived.
    pub(super) const fn is_outstanding(&self) -> bool {
        self.cum < self.sent
    }

    /// Up to which number frames need not be remembered for it.
    pub(super) const fn settled(&self) -> u64 {
        match (self.is_alive, self.awaits, &self.backlog) {
            (true, Some(_), _) => 0,
            (true, None, None) => self.cum,
            (false, ..) | (_, _, Some(_)) => u64::MAX,
        }
    }

    /// Whether nothing waits to be sent or acknowledged.
    pub(super) fn is_quiet(&self) -> bool {
        let waits = self.awaits.is_some() || self.is_outstanding() || self.is_suspended();
        self.acks.at.is_none() && !(self.is_alive && waits)
    }

    /// Hears from a boot: whether it is one that was not known, or `None` where it is not the one that is there.
    pub(super) fn meet(
        &mut self,
        writer: Writer,
        hello: Option<LinkHello>,
        number: u64,
        now: Instant,
    ) -> Option<bool> {
        let met = self.boots.meet(writer, hello)?;
        if met == Met::Successor {
            self.stream = None;
            self.begin_again(number, now);
        }
        Some(met != Met::Known)
    }

    /// Nothing is known of what it has; it says so by its first acknowledgement.
    pub(super) fn begin_again(&mut self, number: u64, now: Instant) {
        self.special.clear();
        self.backlog = None;
        (self.cum, self.window, self.sent) = (0, 0, number);
        self.awaits = Some(now);
        (self.tries, self.repair.filled_to) = (0, 0);
    }

    /// This node goes on under another writer: nobody has anything of that.
    pub(super) fn restart(&mut self) {
        self.special.clear();
        self.backlog = None;
        self.awaits = None;
        (self.cum, self.window, self.sent) = (0, 0, 0);
        (self.tries, self.repair.filled_to) = (0, 0);
    }

    /// The stream of the boot that is there.
    pub(super) fn stream(&mut self) -> Option<&mut Stream> {
        let writer = self.boots.now?;
        Some(self.stream.get_or_insert_with(|| Stream::new(writer)))
    }

    /// What it is to be told of what came from it.
    pub(super) fn receipt(&self) -> Option<Ack> {
        let stream = self.stream.as_ref().map(Stream::ack);
        let nothing = |writer| Stream::new(writer).ack();
        stream.or_else(|| self.boots.now.map(nothing))
    }

    /// What becomes of the frame of that number, which was just made.
    pub(super) fn offer(&mut self, made: &Made<'_>, now: Instant) -> Fate {
        let Made {
            number,
            entries,
            merge,
            log,
            pace,
        } = *made;
        if self.awaits.is_none() && self.sent - self.cum >= OUTSTANDING_MAX {
            self.suspend(log, now);
        }
        if let Some(backlog) = &mut self.backlog {
            backlog.merge(entries, merge);
            return Fate::Wait;
        }
        if !self.is_outstanding() {
            self.progress = now;
            self.again = now.saturating_add(pace.first_wait());
        }
        self.sent = number;
        if self.awaits.is_some() {
            Fate::Wait
        } else {
            Fate::Send
        }
    }

    /// Hears what it has. `None` where it cannot have that; else what to send at once.
    pub(super) fn take_ack(
        &mut self,
        ack: Ack,
        log: &Log,
        ours: Ours,
        now: Instant,
    ) -> Option<Vec<Logged>> {
        let highest = ack.cum + u64::from(u64::BITS - ack.window.leading_zeros());
        if planted!("links-any-ack", highest > ours.number, false) {
            return None;
        }
        let was_awaited = self.awaits.take().is_some();
        let is_further = ack.cum > self.cum;
        if is_further {
            let by = u32::try_from(ack.cum - self.cum).unwrap_or(u32::MAX);
            self.window = self.window.checked_shr(by).unwrap_or(0);
            self.cum = ack.cum;
        }
        let is_more = ack.cum == self.cum && ack.window & !self.window > 0;
        if ack.cum == self.cum {
            self.window |= ack.window;
        }
        let (cum, window) = (self.cum, self.window);
        self.special
            .retain(|number, _| *number > cum && !has(cum, window, *number));
        self.overtake();
        if is_further || is_more || was_awaited {
            self.progress = now;
            self.tries = 0;
        }
        if is_further || was_awaited {
            self.again = now.saturating_add(ours.pace.first_wait());
        }
        if self.is_suspended() {
            return Some(self.recover(is_further || is_more, log, ours, now));
        }
        if was_awaited {
            (self.repair.replayed, self.repair.replay_to) = (self.cum, self.sent);
        }
        if (is_further || was_awaited) && self.cum < self.repair.replay_to {
            return Some(self.replay(log, now));
        }
        Some(self.fill_gaps(log, ours.pace, now))
    }

    /// It has frames that it got from elsewhere, so what waits may be among them.
    fn overtake(&mut self) {
        if self.cum > self.sent {
            self.sent = self.cum;
            if let Some(backlog) = &mut self.backlog {
                backlog.drop_all();
            }
        }
        // Some of a range came from elsewhere: the rest of it cannot be told from that.
        for frame in self.special.values_mut() {
            if frame.lo.is_some_and(|lo| lo < self.cum) {
                frame.entries = Arc::from([]);
            }
        }
    }

    /// Something gets through again.
    fn recover(&mut self, is_progress: bool, log: &Log, ours: Ours, now: Instant) -> Vec<Logged> {
        if !self.is_outstanding() {
            return self.heal(ours, now);
        }
        if is_progress {
            return self.missing(log, self.cum + 1, now);
        }
        Vec::new()
    }

    /// Goes on with what it lacks, as far as it can take that in.
    fn replay(&mut self, log: &Log, now: Instant) -> Vec<Logged> {
        let missing = self.missing(log, self.repair.replayed.max(self.cum) + 1, now);
        self.repair.replayed = missing
            .last()
            .map_or(self.repair.replayed, |frame| frame.number);
        missing
    }

    /// What waited goes out, in frames that stand for all that were not sent.
    pub(super) fn heal(&mut self, ours: Ours, now: Instant) -> Vec<Logged> {
        let Some(backlog) = self.backlog.take() else {
            return Vec::new();
        };
        let (lo, number) = (self.sent, ours.number);
        if lo == number {
            return Vec::new();
        }
        if backlog.is_lost {
            self.skip(lo, number, now);
        } else {
            self.catch_up(&backlog.entries(), number, now);
        }
        self.progress = now;
        self.again = now.saturating_add(ours.pace.first_wait());
        self.special.values().cloned().collect()
    }

    /// Everything that waited goes out in one frame: what other nodes hear of this one's numbers is then true of it,
    /// too.
    fn catch_up(&mut self, entries: &[LinkEntry], number: u64, now: Instant) {
        let lo = self.sent;
        let Some(entries) = bodies(entries, now, usize::MAX).pop() else {
            return self.skip(lo, number, now);
        };
        let frame = Logged {
            number,
            lo: Some(lo),
            time: now,
            entries,
        };
        self.special.insert(number, frame);
        self.sent = number;
    }

    /// Numbers that will never come; it should ask what they said.
    fn skip(&mut self, lo: u64, number: u64, now: Instant) {
        let frame = Logged {
            number,
            lo: Some(lo),
            time: now,
            entries: Arc::from([]),
        };
        self.special.insert(number, frame);
        self.sent = self.sent.max(number);
    }

    /// Frames from a number on that it lacks and can take in, the oldest first.
    fn missing(&mut self, log: &Log, from: u64, now: Instant) -> Vec<Logged> {
        let mut missing = Vec::new();
        let mut number = from;
        let last = self.sent.min(self.cum + u64::from(u64::BITS));
        while number <= last && missing.len() < RESENT_MAX {
            if has(self.cum, self.window, number) {
                number += 1;
                continue;
            }
            let special = self.special.range(number..).next();
            let special = special.map(|(_, frame)| frame);
            let special = special.filter(|it| it.lo.unwrap_or(it.number - 1) < number);
            let Some(frame) = special.or_else(|| log.get(number)) else {
                // It is not remembered any more.
                let known = self.special.range(number..).next().map(|(_, it)| it);
                let known = known.map(|it| it.lo.map_or(it.number, |lo| lo + 1));
                let logged = log.first().filter(|first| *first > number);
                let next = known.into_iter().chain(logged).min();
                let end = next.map_or(self.sent, |next| next - 1);
                self.skip(number - 1, end, now);
                continue;
            };
            number = frame.number + 1;
            missing.push(frame.clone());
        }
        missing
    }

    /// It has later frames and lacks earlier ones: those are sent again, but not more often than they can arrive.
    fn fill_gaps(&mut self, log: &Log, pace: LinkTiming, now: Instant) -> Vec<Logged> {
        if self.window == 0 {
            return Vec::new();
        }
        let highest = self.cum + u64::from(u64::BITS - self.window.leading_zeros());
        let is_again = self.repair.filled.saturating_add(pace.trip) <= now;
        let from = if is_again { 0 } else { self.repair.filled_to };
        let mut missing = self.missing(log, from.max(self.cum) + 1, now);
        missing.retain(|frame| frame.number < highest);
        if !missing.is_empty() {
            self.repair.filled = now;
            self.repair.filled_to = highest;
        }
        missing
    }

    /// When something is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let sends = self.is_alive && (self.is_outstanding() || self.awaits.is_some());
        let suspect = self.progress.saturating_add(SUSPECT);
        let sends = sends.then(|| match self.awaits {
            Some(since) => since.saturating_add(AWAIT),
            None if self.is_suspended() => self.again,
            None => self.again.min(suspect),
        });
        let waits = !self.is_alive && self.waiting() + self.special.len() > 0;
        let gone = waits.then(|| self.progress.saturating_add(GONE));
        self.acks.at.into_iter().chain(sends).chain(gone).min()
    }

    /// Does what is due but acknowledging; what to send.
    pub(super) fn handle_timeout(&mut self, log: &Log, ours: Ours, now: Instant) -> Vec<Logged> {
        if !self.is_alive {
            if self.progress.saturating_add(GONE) <= now {
                self.drop_backlog();
                self.special.clear();
            }
            return Vec::new();
        }
        if self
            .awaits
            .is_some_and(|since| since.saturating_add(AWAIT) <= now)
        {
            // It never said what it has: it is taken for one that has nothing.
            self.awaits = None;
            self.sent = ours.number;
            (self.progress, self.again) = (now, now);
        }
        if self.awaits.is_some() || !self.is_outstanding() {
            return Vec::new();
        }
        if !self.is_suspended() && self.progress.saturating_add(SUSPECT) <= now {
            self.suspend(log, now);
        }
        if self.again > now {
            return Vec::new();
        }
        if self.is_suspended() {
            self.again = now.saturating_add(REPEAT);
            let oldest = self.missing(log, self.cum + 1, now).into_iter();
            return oldest.take(1).collect();
        }
        let wait = ours.pace.trip.as_nanos() << self.tries.min(2);
        self.again = now.saturating_add(Span::from_nanos(wait));
        self.tries += 1;
        let mut missing = self.missing(log, self.cum + 1, now);
        missing.retain(|frame| frame.time.saturating_add(ours.pace.trip) <= now);
        missing
    }

    /// Nothing gets through: what is outstanding is set aside, and what comes waits.
    pub(super) fn suspend(&mut self, log: &Log, now: Instant) {
        if self.is_suspended() {
            return;
        }
        let first = log.first().unwrap_or(u64::MAX);
        let mut number = first.max(self.cum + 1);
        while self.awaits.is_none() && number <= self.sent {
            if let Some(frame) = log
                .get(number)
                .filter(|_| !has(self.cum, self.window, number))
            {
                let covers = self.special.range(number..).next().map(|(_, it)| it);
                if covers.is_none_or(|it| it.lo.unwrap_or(it.number - 1) >= number) {
                    self.special.insert(number, frame.clone());
                }
            }
            number += 1;
        }
        self.awaits = None;
        self.suspensions += 1;
        self.backlog = Some(Backlog::default());
        self.again = now;
    }

    /// Gives up what waits, to make room.
    pub(super) fn drop_backlog(&mut self) -> bool {
        let backlog = self.backlog.as_mut().filter(|it| it.len() > 0);
        backlog.map(Backlog::drop_all).is_some()
    }

    /// Keys that wait.
    pub(super) fn waiting(&self) -> usize {
        self.backlog.as_ref().map_or(0, Backlog::len)
    }

    /// Bytes of memory that are for it alone.
    pub(super) fn held(&self) -> u64 {
        let backlog = self.backlog.as_ref().map_or(0, Backlog::held);
        let special = self.special.len() as u64 * LOGGED_BYTES;
        backlog + special + size_of::<Self>() as u64
    }

    /// The clock was set.
    pub(super) fn shift(&mut self, from: Instant, to: Instant) {
        self.acks.at = self.acks.at.map(|_| to);
        self.awaits = self.awaits.map(|_| to);
        for at in [
            &mut self.progress,
            &mut self.again,
            &mut self.repair.filled,
            &mut self.acks.last,
        ] {
            *at = at.shifted(from, to).min(to);
        }
    }
}

/// Whether a number is among those received.
const fn has(cum: u64, window: u64, number: u64) -> bool {
    match number.checked_sub(cum + 1) {
        None => true,
        Some(ahead) => ahead < 64 && window & (1 << ahead) > 0,
    }
}
