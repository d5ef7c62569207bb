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
/// until [`Self::poll_timeout`]. Calls that come early, twice or out of order do no harm. Time should be that of a
/// clock which nobody sets, beside which the time of day is told by [`Self::set_day`], at the latest after the start; a
/// node that starts takes one for the other.
pub struct Cluster {
    config: ClusterConfig,
    clock: ClusterClock,
    dice: Dice,
    swim: Swim,
    /// Every live member that others see, by number.
    members: Vec<Member>,
    /// Every live peer, by its boot.
    links: BTreeMap<u64, PeerLink>,
    roll: Roll,
    /// The boots of those that others see.
    by_node: BTreeMap<NodeId, u64>,
    replays: Replays,
    post: SendQueue,
    search: PeerSearch,
    events: VecDeque<Event>,
    tally: Tally,
    /// It has left, or its identity is another's.
    is_silent: bool,
}

/// Sums of the whole node.
#[derive(Default)]
struct Tally {
    traffic: LinkTraffic,
    refusals: Refusals,
    unknown: u64,
    rejoins: u64,
    /// Boots whose clock was told to be off, and when.
    clocks_off: BTreeMap<u64, u64>,
}

impl Tally {
    /// Whether it is time to tell that the clock of a boot is off.
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
    /// A node that starts and looks for its seeds.
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

    /// Hears what the time of day is by now: others refuse what was sent by another, and nothing else goes by it.
    pub const fn set_day(&mut self, day: Instant, now: Instant) {
        self.clock.set_day(day, now);
    }

    /// Writes under another number from here on: what replicas counted under the one before is of a time that was not.
    pub fn write_anew(&mut self, now: Instant) {
        self.clock.set(now);
        if !self.is_silent {
            self.take_numbers(false, true);
            self.settle();
        }
    }

    /// Looks there from here on.
    pub fn set_seeds(&mut self, mut seeds: Vec<SocketAddr>) {
        seeds.truncate(SEEDS_MAX);
        if seeds != self.config.seeds {
            self.config.seeds = seeds;
            self.search.hurry(self.clock.mono());
        }
    }

    /// Tells the others that this node is reached elsewhere from here on.
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

    /// This node and this boot, as replicas know them.
    pub fn me(&self) -> (NodeId, Writer) {
        let me = self.swim.me();
        (me.node, me.writer)
    }

    /// Every live member, this node included, by number.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Forgets whoever of that name is missing here, and tells every member to. Says whether somebody was missing here.
    pub fn forget(&mut self, name: &str, now: Instant) -> bool {
        self.clock.set(now);
        if !self.strike(name) {
            return false;
        }
        let members: Vec<NodeId> = self.by_node.keys().copied().collect();
        for node in members {
            // Without room for it that member goes on naming the node, and can be told again.
            let _ = self.queue_message(node, FrameKind::Forget, name.as_bytes());
        }
        true
    }

    /// Forgets here whoever of that name is missing.
    fn strike(&mut self, name: &str) -> bool {
        let was_missing = self.roll.forget(name);
        if was_missing {
            self.tell(Event::Forgotten(name.to_owned()));
        }
        was_missing
    }

    /// Takes an opened datagram.
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

    /// Counts what the shell refused before it could be opened.
    pub fn refuse(&mut self, refused: Refused) {
        self.tally.refusals.count(refused);
    }

    /// Who is at the other end of a stream, by the id and the boot it says it has: only a member may, under the boot
    /// that everybody knows. Nothing is counted, as news of a member may be slower than its stream: [`Self::refuse`]
    /// says so.
    pub fn greeted(&self, id: u128, boot: u64) -> Result<NodeId, Refused> {
        let known = self.swim.active_of(id).ok_or(Refused::Stranger)?;
        if known.boot != boot {
            return Err(Refused::Liar);
        }
        self.visible(boot)
    }

    /// Takes a message from the stream of a peer.
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

    /// Sends a replica's frame: by datagram, or by stream where it is too long. Unknown peers are ignored.
    pub fn send_gossip(&mut self, to: NodeId, tag: u64, frame: &[u8], now: Instant) {
        self.clock.set(now);
        self.queue_gossip(to, tag, frame);
    }

    /// Sends something by stream.
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

    /// How many bytes the stream of a peer has room for; zero for strangers.
    pub fn stream_room(&self, to: NodeId) -> usize {
        self.link_of(to).map_or(0, PeerLink::stream_room)
    }

    /// Stops handing out messages for a peer's stream while its connection takes no more, or goes on with it.
    pub fn hold_stream(&mut self, to: NodeId, is_held: bool) {
        if let Some(boot) = self.by_node.get(&to).copied()
            && let Some(link) = self.links.get_mut(&boot)
        {
            link.is_held = is_held;
            self.post.mark(boot);
        }
    }

    /// Runs what is due. Early calls do nothing.
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

    /// The next thing to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.clock.set(now);
        self.next_transmit()
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Tells everybody that this node goes. What is left to send is in `poll_transmit`; from then on it is silent.
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

    /// How the cluster is doing.
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

    /// Queues an event; whoever never asks for them loses the oldest.
    fn tell(&mut self, event: Event) {
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
            self.tally.traffic.dropped += 1;
        }
        self.events.push_back(event);
    }
}

/// How often it is told that a boot's clock is off, and of how many.
const CLOCK_TOLD_NS: u64 = 60_000_000_000;
const CLOCKS_TOLD_MAX: usize = 16;
/// Seeds that are looked at.
const SEEDS_MAX: usize = 64;
/// Events that wait to be asked for.
const EVENTS_MAX: usize = 65_536;
