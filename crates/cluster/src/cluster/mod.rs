//! One node's part in the cluster.
//!
//! Not here: bytes of frames, the membership protocol itself, and the shell that seals, sends and waits.

mod inbound;
mod meet;
mod outbound;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use tollgate_gossip::{NodeId, Writer};
use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};

use self::meet::PeerSearch;
use self::outbound::SendQueue;
use crate::clock::ClusterClock;
use crate::config::ClusterConfig;
use crate::event::{Event, Refused, StreamFull, Transmit};
use crate::frame::FrameKind;
use crate::fresh::grade;
use crate::link::PeerLink;
use crate::member::{Member, MemberState};
use crate::peer::ClusterPeer;
use crate::replay::Replays;
use crate::roll::Roll;
use crate::status::{ClusterStatus, Freshness, LinkTraffic, PeerStatus, Refusals};
use crate::swim::Swim;

/// One node's part in the cluster.
///
/// Call any `handle_*` or `send_*`, then drain [`Self::poll_transmit`] and [`Self::poll_event`], then wait for input or
/// until [`Self::poll_timeout`]. Early, repeated or reordered calls are harmless. Time should come from a
/// monotonic clock; [`Self::set_day`] sets the time of day, at the latest after the start; a
/// node that starts uses one for the other.
pub struct Cluster {
    config: ClusterConfig,
    clock: ClusterClock,
    dice: Dice,
    swim: Swim,
    members: Vec<Member>,
    links: BTreeMap<u64, PeerLink>,
    roll: Roll,
    /// Boots of the visible members.
    by_node: BTreeMap<NodeId, u64>,
    replays: Replays,
    post: SendQueue,
    search: PeerSearch,
    events: VecDeque<Event>,
    tally: Tally,
    /// It has left, or another process owns its identity.
    is_silent: bool,
}

#[derive(Default)]
struct Tally {
    traffic: LinkTraffic,
    refusals: Refusals,
    unknown: u64,
    rejoins: u64,
    /// Boots whose clock was reported to be off, and when.
    clocks_off: BTreeMap<u64, u64>,
}

impl Tally {
    /// Limits how often the same boot's clock is reported.
    fn is_clock_told(&mut self, boot: u64, mono: u64) -> bool {
        self.clocks_off
            .retain(|_, told| mono.saturating_sub(*told) < CLOCK_TOLD_NS);
        if self.clocks_off.len() >= CLOCKS_TOLD_MAX || self.clocks_off.contains_key(&boot) {
            return false;
        }
        self.clocks_off.insert(boot, mono);
        true
    }
}

impl Cluster {
    /// Starts to search for its seeds.
    pub fn new(mut config: ClusterConfig, now: Instant) -> Self {
        config.mtu = config
            .mtu
            .clamp(ClusterConfig::MTU_MIN, ClusterConfig::MTU_MAX);
        config.seeds.truncate(SEEDS_MAX);
        let clock = ClusterClock::new(now);
        let mut dice = Dice::new(config.seed);
        let me = ClusterPeer::new(&config, clock.day_ms());
        let members = vec![me.member(MemberState::Alive)];
        let roll = Roll::new(&me, std::mem::take(&mut config.missing));
        let swim = Swim::new(me, config.pace, dice.roll());
        let search = PeerSearch::new(&config);
        let post = SendQueue::new(config.bytes_per_second_max);
        Self {
            config,
            clock,
            dice,
            swim,
            members,
            links: BTreeMap::new(),
            roll,
            by_node: BTreeMap::new(),
            replays: Replays::default(),
            post,
            search,
            events: VecDeque::new(),
            tally: Tally::default(),
            is_silent: false,
        }
    }

    /// Sets the time of day. Peers refuse datagrams whose time differs too much; nothing else uses it.
    pub const fn set_day(&mut self, day: Instant, now: Instant) {
        self.clock.set_day(day, now);
    }

    /// Changes the writer number: counts under the previous one belong to a time that did not happen.
    pub fn write_anew(&mut self, now: Instant) {
        self.clock.set(now);
        if !self.is_silent {
            self.take_numbers(false, true);
            self.settle();
        }
    }

    pub fn set_seeds(&mut self, mut seeds: Vec<SocketAddr>) {
        seeds.truncate(SEEDS_MAX);
        if seeds != self.config.seeds {
            self.config.seeds = seeds;
            self.search.hurry(self.clock.mono());
        }
    }

    /// Announces a new address to the other nodes.
    pub fn set_advertise(&mut self, advertise: SocketAddr, now: Instant) {
        self.clock.set(now);
        if advertise == self.config.advertise || self.is_silent {
            return;
        }
        self.config.advertise = advertise;
        let mut me = self.swim.me().bumped();
        me.address = advertise;
        self.swim.become_peer(me, self.clock.mono());
        self.settle();
    }

    pub fn me(&self) -> (NodeId, Writer) {
        let me = self.swim.me();
        (me.node, me.writer)
    }

    /// Includes this node; ordered by number.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Forgets the missing node of that name, here and at every member. Returns whether it was missing here.
    pub fn forget(&mut self, name: &str, now: Instant) -> bool {
        self.clock.set(now);
        if !self.strike(name) {
            return false;
        }
        let members: Vec<NodeId> = self.by_node.keys().copied().collect();
        for node in members {
            // If the queue is full, that member keeps naming the node, and the call can be repeated.
            let _ = self.queue_message(node, FrameKind::Forget, name.as_bytes());
        }
        true
    }

    /// Forgets the missing node of that name on this node only.
    fn strike(&mut self, name: &str) -> bool {
        let was_missing = self.roll.forget(name);
        if was_missing {
            self.tell(Event::Forgotten(name.to_owned()));
        }
        was_missing
    }

    pub fn handle_payload(
        &mut self,
        boot: u64,
        counter: u64,
        payload: &[u8],
        now: Instant,
    ) -> Result<(), Refused> {
        self.clock.set(now);
        let taken = self.take_payload(boot, counter, payload);
        self.settle();
        taken.inspect_err(|refused| self.refuse(*refused))
    }

    /// Counts a datagram that the shell refused before opening it.
    pub fn refuse(&mut self, refused: Refused) {
        self.tally.refusals.count(refused);
    }

    /// The node at the other end of a stream, by the id and boot that it claims: it must be a member, under the boot
    /// that the members know. Nothing is counted, as news of a member may be slower than its stream: call
    /// [`Self::refuse`] for that.
    pub fn greeted(&self, id: u128, boot: u64) -> Result<NodeId, Refused> {
        let known = self.swim.active_of(id).ok_or(Refused::Stranger)?;
        if known.boot != boot {
            return Err(Refused::Liar);
        }
        self.visible(boot)
    }

    pub fn handle_message(
        &mut self,
        from: NodeId,
        message: &[u8],
        now: Instant,
    ) -> Result<(), Refused> {
        self.clock.set(now);
        let taken = self.take_message(from, message);
        taken.inspect_err(|refused| self.refuse(*refused))
    }

    /// Sends a replica's frame: by datagram, or by stream if it is too long. Unknown peers are ignored.
    pub fn send_gossip(&mut self, to: NodeId, tag: u64, frame: &[u8], now: Instant) {
        self.clock.set(now);
        self.queue_gossip(to, tag, frame);
    }

    pub fn send_message(
        &mut self,
        to: NodeId,
        kind: FrameKind,
        body: &[u8],
        now: Instant,
    ) -> Result<(), StreamFull> {
        self.clock.set(now);
        self.queue_message(to, kind, body)
    }

    /// Bytes for which the stream of a peer has room; zero for unknown nodes.
    pub fn stream_room(&self, to: NodeId) -> usize {
        self.link_of(to).map_or(0, PeerLink::stream_room)
    }

    /// Pauses messages for a peer's stream while its connection accepts no more, or resumes them.
    pub fn hold_stream(&mut self, to: NodeId, is_held: bool) {
        if let Some(boot) = self.by_node.get(&to).copied()
            && let Some(link) = self.links.get_mut(&boot)
        {
            link.is_held = is_held;
            self.post.mark(boot);
        }
    }

    /// Early calls do nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.clock.set(now);
        if self.is_silent {
            return;
        }
        let mono = self.clock.mono();
        if self.swim.handle_timeout(mono) {
            self.settle();
        }
        self.seek(mono);
        self.settle();
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waits = self.post.opens();
        if self.is_silent {
            return waits.map(|mono| self.clock.at(mono));
        }
        let due = [
            self.swim.timeout(),
            self.search.timeout(!self.links.is_empty()),
            waits,
        ];
        let due = due.into_iter().flatten().min();
        due.map(|mono| self.clock.at(mono))
    }

    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.clock.set(now);
        self.next_transmit()
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Announces to every peer that this node leaves. Send what `poll_transmit` still returns; after that the node is
    /// silent.
    pub fn leave(&mut self, now: Instant) {
        self.clock.set(now);
        if self.is_silent {
            return;
        }
        self.say_bye();
        self.swim.leave(self.clock.mono());
        self.settle();
        self.is_silent = true;
    }

    pub fn status(&self, now: Instant) -> ClusterStatus {
        let me = self.swim.me();
        let peers = self.members.iter().filter(|member| member.boot != me.boot);
        ClusterStatus {
            node: me.node,
            writer: me.writer,
            generation: me.generation,
            advertise: me.address,
            is_silent: self.is_silent,
            peers: peers
                .filter_map(|member| self.peer_status(member, now))
                .collect(),
            missing: self.roll.missing().cloned().collect(),
            traffic: self.tally.traffic,
            refusals: self.tally.refusals.clone(),
            unknown_frames: self.tally.unknown,
            rejoins: self.tally.rejoins,
        }
    }

    fn peer_status(&self, member: &Member, now: Instant) -> Option<PeerStatus> {
        let link = self.links.get(&member.boot)?;
        let phi_milli = link.gaps.phi_milli(self.clock.mono_at(now));
        let heard = link.gaps.heard().map(|mono| self.clock.at(mono));
        let delay = link.delay.smoothed_ns();
        Some(PeerStatus {
            member: member.clone(),
            freshness: Freshness {
                heard,
                phi_milli,
                grade: grade(phi_milli),
            },
            delay: delay.map(|nanos| Span::from_nanos(u128::from(nanos))),
            traffic: link.traffic,
            queued_bytes: link.queued_bytes(),
        })
    }

    fn link_of(&self, node: NodeId) -> Option<&PeerLink> {
        self.by_node
            .get(&node)
            .and_then(|boot| self.links.get(boot))
    }

    /// If events are not polled, the oldest are dropped.
    fn tell(&mut self, event: Event) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
            self.tally.traffic.dropped += 1;
        }
        self.events.push_back(event);
    }
}

/// How often a boot's clock is reported to be off, and of how many boots.
const CLOCK_TOLD_NS: u64 = 60_000_000_000;
const CLOCKS_TOLD_MAX: usize = 16;
/// Seeds beyond this are ignored.
const SEEDS_MAX: usize = 64;
/// Events that wait to be polled.
const EVENTS_MAX: usize = 65_536;
