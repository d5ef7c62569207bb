//! What carries messages between members, lets their time pass and counts what they say.
//!
//! Not here: what members are, how they come and go, and who asks them.

use std::collections::BTreeMap;

use tollgate_sim::{Conditions, Links, Sim, SimEvent};

use crate::dice::{LabDice, links};
use crate::world::hash::EventHash;

/// What a world drives: a whole node, or part of a design that exists in the lab alone. Times are what its own clock
/// shows, in the unit of its world.
pub trait Member {
    /// What members say to each other.
    type Message: Clone;

    /// Whether it runs; one that does not hears nothing.
    fn is_up(&self) -> bool {
        true
    }
    /// Takes a message.
    fn handle_message(&mut self, from: u16, message: &Self::Message, now: u64);
    /// Does what is due.
    fn handle_timeout(&mut self, now: u64);
    /// When it wants to be woken.
    fn poll_timeout(&self) -> Option<u64>;
    /// Stores what must not be forgotten, before anything that depends on it is said.
    fn store(&mut self, _now: u64) {}
    /// The next message to send, and to whom.
    fn poll_send(&mut self) -> Option<(u16, Self::Message)>;
    /// A message as it is on the wire, where it is bytes.
    fn bytes(_message: &Self::Message) -> &[u8] {
        &[]
    }
}

/// A member that is not there yet, or no more.
impl<M: Member> Member for Option<M> {
    type Message = M::Message;

    fn is_up(&self) -> bool {
        self.as_ref().is_some_and(M::is_up)
    }

    fn handle_message(&mut self, from: u16, message: &M::Message, now: u64) {
        if let Some(member) = self {
            member.handle_message(from, message, now);
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        if let Some(member) = self {
            member.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.as_ref()?.poll_timeout()
    }

    fn store(&mut self, now: u64) {
        if let Some(member) = self {
            member.store(now);
        }
    }

    fn poll_send(&mut self) -> Option<(u16, M::Message)> {
        self.as_mut()?.poll_send()
    }

    fn bytes(message: &M::Message) -> &[u8] {
        M::bytes(message)
    }
}

/// What one member put on the network for another, or all for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Messages, whether they arrive or not.
    pub messages: u64,
    /// Their bytes, 28 for IP and UDP added to each.
    pub bytes: u64,
    /// Messages of these that were lost.
    pub lost: u64,
    /// Copies that the network made.
    pub copies: u64,
    /// Bytes that arrive, copies included.
    pub bytes_arrived: u64,
}

/// Bytes of IP and UDP before each message.
const OVERHEAD_BYTES: u64 = 28;

/// Members and their surroundings.
#[derive(Debug)]
pub struct Net<M: Member> {
    /// The members; each one's address is its place.
    pub nodes: Vec<M>,
    /// Time, links, clocks and pauses. What is planned has a number.
    pub sim: Sim<M::Message, u64, LabDice>,
    /// A member that was woken is not woken again before that, however often it asks.
    pub wake_gap: u64,
    /// Members are woken up to so late, and how late by chance.
    pub(crate) late: Option<(u64, LabDice)>,
    /// What was sent, by who sent it and whom it was for; all of it; and when that was last.
    links: BTreeMap<(u16, u16), SentCounts>,
    total: SentCounts,
    /// Messages whose receiver did not run.
    missed: u64,
    last_sent: u64,
    /// When each member wanted to be woken as it was asked last, by its own clock.
    dues: Vec<Option<u64>>,
    hash: EventHash,
}

/// What happened to members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// A message came to one, whether it runs or not, or the time that it waited for.
    Member,
    /// Nothing that anybody could see.
    Nothing,
    /// Something planned, by its number.
    Plan(u64),
}

impl<M: Member> Net<M> {
    /// A world without members at a time.
    pub fn new(start: u64, weather: Conditions, seed: u64) -> Self {
        Self::on(start, links(weather, seed))
    }

    pub(crate) fn on(start: u64, links: Links<LabDice>) -> Self {
        Self {
            nodes: Vec::new(),
            sim: Sim::new(start, links),
            wake_gap: 1_000,
            late: None,
            links: BTreeMap::new(),
            total: SentCounts::default(),
            missed: 0,
            last_sent: start,
            dues: Vec::new(),
            hash: EventHash::new(),
        }
    }

    /// A fingerprint of everything that happened so far.
    pub fn hash(&self) -> u64 {
        self.hash.value()
    }

    /// Adds to the fingerprint what only the world saw.
    pub(crate) fn note(&mut self, word: u64) {
        self.hash.word(word);
    }

    /// What a member's clock shows.
    pub(crate) fn clock(&self, node: usize) -> u64 {
        self.sim.local(address(node))
    }

    /// What all members sent together.
    pub fn sent(&self) -> SentCounts {
        self.total
    }

    /// How many messages came to members that did not run.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// When a message was sent last.
    pub fn last_sent(&self) -> u64 {
        self.last_sent
    }

    /// What was sent, by who sent it and whom it was for.
    pub fn links(&self) -> &BTreeMap<(u16, u16), SentCounts> {
        &self.links
    }

    /// Counts what is sent anew.
    pub fn forget_sent(&mut self) {
        (self.links, self.total, self.missed) = (BTreeMap::new(), SentCounts::default(), 0);
    }

    /// Cuts a member off from all others, and heals every other such cut.
    pub fn cut_off(&mut self, node: usize) {
        let sides = (0..=node).map(|at| u8::from(at == node));
        self.sim.links.split(sides.collect());
    }

    /// Carries out what happens next at `until` or before; `None` where nothing does.
    pub(crate) fn step(&mut self, until: u64) -> Option<Happened> {
        let event = self.sim.next(until)?;
        let (to, now) = match &event {
            SimEvent::Message { to, .. } | SimEvent::Wake { node: to } => {
                (*to, self.sim.local(*to))
            }
            SimEvent::Plan(number) => return Some(Happened::Plan(*number)),
        };
        let due = self.dues.get(usize::from(to)).copied().flatten();
        let member = self.nodes.get_mut(usize::from(to));
        let Some(member) = member.filter(|member| member.is_up()) else {
            let is_message = matches!(event, SimEvent::Message { .. });
            self.missed += u64::from(is_message);
            return Some(if is_message {
                Happened::Member
            } else {
                Happened::Nothing
            });
        };
        let gap = match &event {
            SimEvent::Message { from, message, .. } => {
                self.hash.word(self.sim.now());
                self.hash.word(u64::from(*from) << 16 | u64::from(to));
                self.hash.bytes(M::bytes(message));
                member.handle_message(*from, message, now);
                0
            }
            _ if due.is_some_and(|due| due <= now) => {
                self.hash.word(self.sim.now());
                self.hash.word(1 << 32 | u64::from(to));
                member.handle_timeout(now);
                self.wake_gap
            }
            // It was woken for a time that it has changed since.
            _ => {
                self.wake(to, due, 0);
                return Some(Happened::Nothing);
            }
        };
        self.send_all(to);
        self.arm(to, gap);
        Some(Happened::Member)
    }

    /// Stores and sends what a member wants stored and sent, and wakes it when it wants to be: after every call to it.
    pub fn follow_up(&mut self, node: usize) {
        self.send_all(address(node));
        self.arm(address(node), 0);
    }

    fn send_all(&mut self, from: u16) {
        let (place, now) = (usize::from(from), self.sim.local(from));
        let Some(member) = self.nodes.get_mut(place) else {
            return;
        };
        member.store(now);
        while let Some((to, message)) = member.poll_send() {
            if member.is_up() {
                let bytes = OVERHEAD_BYTES + M::bytes(&message).len() as u64;
                let copies = self.sim.post(from, to, message);
                self.last_sent = self.sim.now();
                for sent in [self.links.entry((from, to)).or_default(), &mut self.total] {
                    sent.messages += 1;
                    sent.bytes += bytes;
                    sent.lost += u64::from(copies == 0);
                    sent.copies += copies.saturating_sub(1);
                    sent.bytes_arrived += copies * bytes;
                }
            }
        }
    }

    /// Sees to it that a member is woken when it wants to be, but not before `after` has passed.
    fn arm(&mut self, node: u16, after: u64) {
        let place = usize::from(node);
        let member = self.nodes.get(place).filter(|member| member.is_up());
        let due = member.and_then(Member::poll_timeout);
        if self.dues.len() <= place {
            self.dues.resize(place + 1, None);
        }
        if let Some(last) = self.dues.get_mut(place) {
            *last = due;
        }
        self.wake(node, due, after);
    }

    fn wake(&mut self, node: u16, due: Option<u64>, after: u64) {
        if let Some(due) = due {
            let at = self.sim.clock(node).world(due);
            let late = self.late.as_mut();
            let late = late.map_or(0, |(most, dice)| dice.below(*most + 1));
            let at = at.max(self.sim.now() + after);
            self.sim.wake_at(node, at + late);
        }
    }

    /// Carries out what is asked of all members, and what happens at once.
    pub fn pump(&mut self) {
        for node in 0..self.nodes.len() {
            self.follow_up(node);
        }
        self.settle();
    }

    /// Carries out what happens at once.
    pub fn settle(&mut self) {
        while self.step(self.sim.now()).is_some() {}
    }

    /// Lets time pass.
    pub fn run(&mut self, span: u64) {
        self.pump();
        let end = self.sim.now() + span;
        while self.step(end).is_some() {}
        self.sim.pass(end);
    }
}

/// A place among members as an address.
pub(crate) fn address(place: usize) -> u16 {
    u16::try_from(place).unwrap_or(u16::MAX)
}
