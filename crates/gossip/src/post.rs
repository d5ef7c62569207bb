//! All links of a node: who it is, whom it reports to, the frames that it has yet to hand out, and their timers.
//!
//! A report goes to every other node, so its frame has one number and one body on all links. Not here: what a single
//! link does (`link`), and what is reported.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Malformed, NodeId, Send, Writer};

use super::law::LinkEntry;
use super::link::Link;
use super::log::{Log, Logged, Merge};
use super::ours::{Fate, LinkTiming, Made, Ours};
use super::stream::StreamArrival;
use super::wire::{Ack, BODY_BYTES, Frame, FrameHead, LinkMessage, LinkReport, bodies};

/// What happened on all links.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkCounts {
    pub(super) reported: u64,
    pub(super) resent: u64,
    pub(super) repeats: u64,
    pub(super) acks: u64,
    pub(super) skipped: u64,
    /// Frames that waited to be drained for too long.
    pub(super) dropped: u64,
}

/// A node among others.
#[derive(Debug)]
pub(super) struct LinkSet {
    pub(super) me: NodeId,
    pub(super) writer: Writer,
    number: u64,
    log: Log,
    links: BTreeMap<NodeId, Link>,
    out: VecDeque<Send>,
    /// Nobody is told what came, as long as that may come from elsewhere.
    pub(super) is_mute: bool,
    /// Who is to be acknowledged to now.
    acks: Vec<NodeId>,
    pace: LinkTiming,
    /// No link has anything to do before then.
    next: Option<Instant>,
    /// Bytes of memory that links took when the time last came.
    held: u64,
    pub(super) tally: LinkCounts,
}

/// An acknowledgement may wait that long for another frame.
const ACK: Span = Span::from_nanos(200_000_000);
/// Acknowledgements that may not wait are no closer than that.
const ACK_APART: Span = Span::from_nanos(10_000_000);
/// So many frames are acknowledged together at most.
const UNACKED_MAX: u32 = 32;
/// What an answer may take beside the way there and back.
const SLACK_NS: u128 = 100_000_000;
/// Frames that may wait to be drained; beyond that the oldest is lost, as on any network.
const OUT_MAX: usize = 1 << 16;
/// Nodes that are listened to at most.
const LINKS_MAX: usize = 1 << 12;

impl LinkSet {
    pub(super) fn new(me: NodeId, writer: Writer, delay: Span) -> Self {
        let mut post = Self {
            me,
            writer,
            number: 0,
            log: Log::default(),
            links: BTreeMap::new(),
            out: VecDeque::new(),
            is_mute: false,
            acks: Vec::new(),
            pace: LinkTiming {
                ack: ACK,
                trip: Span::ZERO,
            },
            next: None,
            held: 0,
            tally: LinkCounts::default(),
        };
        post.set_delay(delay);
        post
    }

    pub(super) fn set_delay(&mut self, delay: Span) {
        self.pace.trip = Span::from_nanos(2 * delay.as_nanos() + SLACK_NS);
    }

    /// The number of the last frame.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    const fn ours(&self) -> Ours {
        Ours {
            number: self.number,
            pace: self.pace,
        }
    }

    /// Hears who is alive; says who was not before.
    pub(super) fn set_members(&mut self, alive: &[NodeId], now: Instant) -> Vec<NodeId> {
        let (number, ours, mut new) = (self.number, self.ours(), Vec::new());
        for (node, link) in &mut self.links {
            if link.is_alive && alive.binary_search(node).is_err() {
                link.is_alive = false;
                link.suspend(&self.log, now);
            }
        }
        let me = self.me;
        for &node in alive.iter().filter(|&&node| node != me) {
            let link = self.links.entry(node);
            let link = link.or_insert_with(|| Link::new(number, now));
            if link.is_alive {
                continue;
            }
            link.is_alive = true;
            new.push(node);
            let is_settled = link.is_suspended() && !link.is_outstanding();
            let frames = if is_settled {
                link.heal(ours, now)
            } else {
                Vec::new()
            };
            self.send_again(node, &frames, now);
        }
        self.next = Some(now);
        new
    }

    /// Everybody alive but this node.
    pub(super) fn others(&self) -> impl Iterator<Item = NodeId> + '_ {
        let alive = self.links.iter().filter(|(_, link)| link.is_alive);
        alive.map(|(node, _)| *node)
    }

    /// Nodes that share a key, this one included.
    pub(super) fn nodes(&self) -> u64 {
        1 + self.others().count() as u64
    }

    /// The node after this one in a circle of all alive.
    pub(super) fn successor(&self) -> Option<NodeId> {
        let after = self.others().find(|node| *node > self.me);
        after.or_else(|| self.others().next())
    }

    /// Reports to everybody.
    pub(super) fn report(&mut self, entries: &[LinkEntry], merge: Merge<'_>, now: Instant) {
        if self.links.is_empty() {
            return;
        }
        let bodies = bodies(entries, now, BODY_BYTES);
        let mut count = bodies.len();
        for body in bodies {
            self.number += 1;
            let frame = Logged {
                number: self.number,
                lo: None,
                time: now,
                entries: body,
            };
            // What waits is merged once, whatever number of frames it would have been.
            count -= 1;
            self.spread(&frame, if count == 0 { entries } else { &[] }, merge, now);
            self.log.push(frame, now);
            self.tally.reported += 1;
        }
    }

    fn spread(&mut self, frame: &Logged, entries: &[LinkEntry], merge: Merge<'_>, now: Instant) {
        let (pace, writer) = (self.pace, self.writer);
        let mut plain: Option<Arc<[u8]>> = None;
        let mut next = self.next;
        for (&to, link) in &mut self.links {
            let made = Made {
                number: frame.number,
                entries,
                merge,
                log: &self.log,
                pace,
            };
            let fate = link.offer(&made, now);
            if fate == Fate::Wait {
                continue;
            }
            let ack = take_ack(link, now).filter(|_| !self.is_mute);
            next = next.into_iter().chain(link.due()).min();
            let head = FrameHead {
                writer,
                ack,
                is_resent: false,
            };
            let bytes = match (&plain, ack) {
                (Some(plain), None) => Arc::clone(plain),
                _ => head.report(frame),
            };
            if ack.is_none() && plain.is_none() {
                plain = Some(Arc::clone(&bytes));
            }
            self.out.push_back(Send { to, frame: bytes });
        }
        self.next = next;
        self.bound();
    }

    /// Sends something that has no number.
    pub(super) fn send(
        &mut self,
        to: NodeId,
        make: impl FnOnce(FrameHead) -> Arc<[u8]>,
        now: Instant,
    ) {
        let Some(link) = self.links.get_mut(&to) else {
            return;
        };
        let _ = take_ack(link, now);
        let head = FrameHead {
            writer: self.writer,
            ack: link.receipt().filter(|_| !self.is_mute),
            is_resent: false,
        };
        self.out.push_back(Send {
            to,
            frame: make(head),
        });
        self.bound();
    }

    fn send_again(&mut self, to: NodeId, frames: &[Logged], now: Instant) {
        self.tally.resent += frames.len() as u64;
        for frame in frames {
            let is_empty = frame.lo.is_some() && frame.entries.is_empty();
            self.tally.skipped += u64::from(is_empty);
            self.send(
                to,
                |head| {
                    let is_resent = true;
                    FrameHead { is_resent, ..head }.report(frame)
                },
                now,
            );
        }
    }

    /// Hears from a boot of a node: whether it is a new one. `None` if nobody listens to it.
    pub(super) fn meet(
        &mut self,
        from: NodeId,
        frame: &Frame,
        now: Instant,
    ) -> Result<Option<bool>, Malformed> {
        let ours = self.ours();
        let mine = frame.ack.filter(|ack| ack.writer == self.writer);
        if mine.is_some_and(|ack| ack.cum > ours.number) || from == self.me {
            return Err(Malformed::Value);
        }
        if !self.links.contains_key(&from) && self.links.len() >= LINKS_MAX {
            return Ok(None);
        }
        let link = self.links.entry(from);
        let link = link.or_insert_with(|| {
            let mut link = Link::new(ours.number, now);
            link.suspend(&Log::default(), now);
            link
        });
        let hello = match frame.message {
            LinkMessage::Hello(hello) => Some(hello),
            _ => None,
        };
        let Some(is_new) = link.meet(frame.writer, hello, ours.number, now) else {
            return Ok(None);
        };
        let mut frames = Vec::new();
        if let Some(ack) = mine {
            let again = link.take_ack(ack, &self.log, ours, now);
            frames = again.ok_or(Malformed::Value)?;
        } else if link.is_alive && link.is_suspended() && !link.is_outstanding() {
            frames = link.heal(ours, now);
        }
        self.wake(from);
        self.send_again(from, &frames, now);
        Ok(Some(is_new))
    }

    /// Takes a numbered frame; what of it is to be applied now, if anything.
    pub(super) fn arrive(
        &mut self,
        from: NodeId,
        report: LinkReport,
        is_resent: bool,
        now: Instant,
    ) -> Option<Vec<LinkEntry>> {
        let link = self.links.get_mut(&from)?;
        let stream = link.stream()?;
        let (arrival, entries) = stream.take(report);
        let is_gap = arrival != StreamArrival::New || is_resent || stream.has_gap();
        self.tally.repeats += u64::from(arrival == StreamArrival::Repeat);
        if self.is_mute {
            return (arrival == StreamArrival::New).then_some(entries);
        }
        link.acks.count += 1;
        let at = if is_gap || link.acks.count >= UNACKED_MAX {
            link.acks.last.saturating_add(ACK_APART).max(now)
        } else {
            now.saturating_add(self.pace.ack)
        };
        link.acks.at = link.acks.at.into_iter().chain([at]).min();
        if at <= now {
            self.acks.push(from);
        }
        self.wake(from);
        (arrival == StreamArrival::New).then_some(entries)
    }

    /// Whether everything that a boot had sent by a number has come, and nothing after.
    pub(super) fn has_exactly(&mut self, from: NodeId, number: u64) -> bool {
        let link = self.links.get_mut(&from);
        let stream = link.and_then(Link::stream);
        stream.is_some_and(|stream| stream.ack().cum == number && !stream.has_gap())
    }

    /// What is known here of everybody's frames.
    pub(super) fn vector(&self) -> Vec<(NodeId, Ack)> {
        let mine = Ack {
            writer: self.writer,
            cum: self.number,
            window: 0,
        };
        let streams = self.links.iter().filter_map(|(node, link)| {
            let stream = link.stream.as_ref()?;
            Some((*node, stream.ack()))
        });
        std::iter::once((self.me, mine)).chain(streams).collect()
    }

    /// Takes what another node has of everybody's frames as received here.
    pub(super) fn adopt(&mut self, vector: &[(NodeId, Ack)], now: Instant) {
        for (node, ack) in vector {
            if *node == self.me {
                continue;
            }
            let Some(link) = self.links.get_mut(node) else {
                continue;
            };
            let is_there = link.meet(ack.writer, None, self.number, now).is_some();
            if let Some(stream) = link.stream().filter(|_| is_there) {
                stream.join(*ack);
            }
        }
    }

    /// Says to everybody at once what came from them.
    pub(super) fn acknowledge_all(&mut self, now: Instant) {
        for (node, link) in &mut self.links {
            if link.is_alive && link.boots.now.is_some() {
                link.acks.at = Some(now);
                self.acks.push(*node);
            }
        }
    }

    /// Sends the acknowledgements that do not wait.
    pub(super) fn flush_acks(&mut self, now: Instant) {
        for node in std::mem::take(&mut self.acks) {
            let link = self.links.get(&node);
            if link
                .and_then(|link| link.acks.at)
                .is_some_and(|at| at <= now)
            {
                self.tally.acks += 1;
                self.send(node, FrameHead::ack, now);
            }
        }
    }

    /// Goes on under other numbers, with what was received so far.
    pub(super) fn renumber(&mut self, me: NodeId, writer: Writer) {
        (self.me, self.writer, self.number) = (me, writer, 0);
        self.log = Log::default();
        self.links.remove(&me);
        self.links.values_mut().for_each(Link::restart);
    }

    pub(super) fn shift(&mut self, from: Instant, to: Instant) {
        for link in self.links.values_mut() {
            link.shift(from, to);
        }
        self.next = Some(to);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        let (ours, mut again) = (self.ours(), Vec::new());
        for (node, link) in &mut self.links {
            let frames = link.handle_timeout(&self.log, ours, now);
            if !frames.is_empty() {
                again.push((*node, frames));
            }
            if link.acks.at.is_some_and(|at| at <= now) {
                self.acks.push(*node);
            }
        }
        for (node, frames) in again {
            self.send_again(node, &frames, now);
        }
        self.flush_acks(now);
        if let Some(number) = self.links.values().map(Link::settled).min() {
            self.log.trim(number);
        }
        self.next = self.links.values().filter_map(Link::due).min();
        self.held = self.links.values().map(Link::held).sum();
    }

    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn poll_send(&mut self) -> Option<Send> {
        self.out.pop_front()
    }

    pub(super) fn is_silent(&self) -> bool {
        self.out.is_empty()
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.is_silent() && self.links.values().all(Link::is_quiet)
    }

    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.values()
    }

    /// Gives up some of what may have to be sent again, or what waits for one link; `false` where there is nothing.
    pub(super) fn make_room(&mut self) -> bool {
        self.log.halve() || self.links.values_mut().any(Link::drop_backlog)
    }

    /// Bytes of memory of all links.
    pub(super) const fn held(&self) -> u64 {
        self.log.bytes() + self.held
    }

    fn wake(&mut self, node: NodeId) {
        let due = self.links.get(&node).and_then(Link::due);
        self.next = self.next.into_iter().chain(due).min();
    }

    fn bound(&mut self) {
        while self.out.len() > OUT_MAX {
            self.out.pop_front();
            self.tally.dropped += 1;
        }
    }
}

/// What a link is to acknowledge, where that is due sooner or later; it is not due any more.
fn take_ack(link: &mut Link, now: Instant) -> Option<Ack> {
    link.acks.at.take()?;
    (link.acks.last, link.acks.count) = (now, 0);
    link.receipt()
}
