//! How nodes meet: seeds get a hello until they answer, and two processes with one identity detect each other.
//!
//! The membership protocol knows nodes, and seeds are only addresses. So each gets a hello, and a node that answers is
//! asked to admit this one. Without peers all seeds and every lost peer get repeated hellos; with peers, one seed
//! at a time that is not a member, which heals a split cluster. Not here: the membership protocol.

use std::net::SocketAddr;

use tollgate_kit::Reader;

use super::Cluster;
use crate::config::ClusterConfig;
use crate::event::{Event, Refused};
use crate::frame::{FrameKind, fold, frame};
use crate::peer::ClusterPeer;

/// When to search; times are nanoseconds since the start.
#[derive(Debug)]
pub(super) struct PeerSearch {
    seek_at: u64,
    backoff_ns: u64,
    /// When to report that no peer was found.
    alone_at: Option<u64>,
    /// After the first peer is found, members are asked a few times for more members.
    feed_at: Option<u64>,
    feeds_left: u32,
    ping_at: u64,
    /// Limits the rate of answers to rivals.
    rival_at: u64,
}

impl PeerSearch {
    pub(super) fn new(config: &ClusterConfig) -> Self {
        let has_seeds = config.seeds.iter().any(|seed| *seed != config.advertise);
        let alone = u64::try_from(config.pace.alone.as_nanos()).unwrap_or(u64::MAX);
        Self {
            seek_at: 0,
            backoff_ns: BACKOFF_NS_MIN,
            alone_at: Some(if has_seeds { alone } else { 0 }),
            feed_at: None,
            feeds_left: 0,
            ping_at: 0,
            rival_at: 0,
        }
    }

    /// Makes every search due now.
    pub(super) const fn hurry(&mut self, mono: u64) {
        self.seek_at = mono;
        self.backoff_ns = BACKOFF_NS_MIN;
    }

    pub(super) const fn join(&mut self, mono: u64) {
        self.alone_at = None;
        self.feed_at = Some(mono.saturating_add(FEED_NS));
        self.feeds_left = FEEDS;
        self.seek_at = mono.saturating_add(SEEK_NS);
    }

    pub(super) fn timeout(&self, has_links: bool) -> Option<u64> {
        let ping = has_links.then_some(self.ping_at);
        let times = [Some(self.seek_at), self.alone_at, self.feed_at, ping];
        times.into_iter().flatten().min()
    }
}

impl Cluster {
    /// Sends every hello, question and ping that is due.
    pub(super) fn seek(&mut self, mono: u64) {
        if self.search.alone_at.is_some_and(|at| at <= mono) {
            self.search.alone_at = None;
            self.tell(Event::Alone);
        }
        if self.search.seek_at <= mono {
            if self.links.is_empty() {
                self.greet_everybody(mono);
            } else {
                self.greet_somebody(mono);
            }
        }
        if self.search.feed_at.is_some_and(|at| at <= mono) {
            self.ask_who_else(mono);
        }
        if self.search.ping_at <= mono && !self.links.is_empty() {
            self.ping_some(mono);
        }
    }

    fn greet_everybody(&mut self, mono: u64) {
        let lost = self.swim.remembered().map(|peer| peer.address);
        let lost = lost.take(LOST_MAX);
        let mut addresses: Vec<SocketAddr> =
            self.config.seeds.iter().copied().chain(lost).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses.retain(|address| *address != self.config.advertise);
        for address in addresses {
            self.send_loose(address, 0, self.introduction(FrameKind::Hello));
        }
        // Jitter, so that nodes that start together do not stay in step.
        let backoff = self.search.backoff_ns;
        let wait = backoff - backoff / 8 + self.dice.below(backoff / 4);
        self.search.seek_at = mono.saturating_add(wait);
        self.search.backoff_ns = (backoff * 2).min(BACKOFF_NS_MAX);
    }

    fn greet_somebody(&mut self, mono: u64) {
        self.search.seek_at = mono.saturating_add(SEEK_NS);
        let is_member = |address: &SocketAddr| {
            *address == self.config.advertise
                || self.links.values().any(|link| link.address == *address)
        };
        let seeds = self.config.seeds.iter().copied();
        let mut seeds: Vec<SocketAddr> = seeds.filter(|seed| !is_member(seed)).collect();
        let chosen = self.dice.below(seeds.len() as u64);
        if let Some(seed) = usize::try_from(chosen).ok().filter(|at| *at < seeds.len()) {
            let seed = seeds.swap_remove(seed);
            self.send_loose(seed, 0, self.introduction(FrameKind::Hello));
        }
    }

    /// One answer holds only a dozen members.
    fn ask_who_else(&mut self, mono: u64) {
        self.search.feeds_left = self.search.feeds_left.saturating_sub(1);
        let is_over = self.search.feeds_left == 0;
        self.search.feed_at = (!is_over).then(|| mono.saturating_add(FEED_NS));
        let count = self.links.len() as u64;
        let chosen = usize::try_from(self.dice.below(count)).unwrap_or(0);
        let peer = self.swim.active().nth(chosen).map(|(peer, _)| peer.clone());
        if let Some(peer) = peer {
            self.swim.announce(peer, mono);
        }
    }

    /// Pings the peers whose last ping is oldest.
    fn ping_some(&mut self, mono: u64) {
        self.search.ping_at = mono.saturating_add(PING_NS);
        let count = self.links.len().div_ceil(PEERS_PER_PING);
        let mut boots: Vec<(u64, u64)> = self
            .links
            .iter()
            .map(|(boot, link)| (link.pinged, *boot))
            .collect();
        boots.sort_unstable();
        for (_, boot) in boots.into_iter().take(count) {
            let token = self.dice.roll();
            if let Some(link) = self.links.get_mut(&boot) {
                link.pinged = mono.max(1);
                link.delay.ask(token, mono);
                link.push_control(frame(FrameKind::Ping, &[&token.to_le_bytes()]));
                self.post.mark(boot);
            }
        }
    }

    /// Answers a hello with this node, and reports a rival that uses the sender's identity.
    pub(super) fn take_hello(&mut self, boot: u64, body: &[u8]) -> Result<(), Refused> {
        let peer = introduced(boot, body)?;
        if peer.id == self.swim.me().id {
            self.note_rival(&peer);
            return Ok(());
        }
        self.send_loose(
            peer.address,
            fold(peer.boot),
            self.introduction(FrameKind::Welcome),
        );
        let known = self.swim.remembered_of(peer.id);
        let known = known.filter(|known| {
            known.boot != peer.boot && foca::Identity::win_addr_conflict(*known, &peer)
        });
        if let Some(known) = known.cloned() {
            self.tell_rival(&peer, &known);
        }
        Ok(())
    }

    /// A node answered a hello: asks it to admit this one.
    pub(super) fn take_welcome(&mut self, boot: u64, body: &[u8]) -> Result<(), Refused> {
        let peer = introduced(boot, body)?;
        if peer.id == self.swim.me().id {
            self.note_rival(&peer);
        } else if self.swim.active_of(peer.id) != Some(&peer) {
            self.swim.announce(peer, self.clock.mono());
        }
        Ok(())
    }

    /// A third node reports another process with our identity.
    pub(super) fn take_rival(&mut self, body: &[u8]) -> Result<(), Refused> {
        let rival = ClusterPeer::read(&mut Reader(body)).ok_or(Refused::Malformed)?;
        if rival.id == self.swim.me().id {
            self.note_rival(&rival);
        }
        Ok(())
    }

    /// Another process claims our identity.
    pub(super) fn take_taken(&mut self, boot: u64, body: &[u8]) -> Result<(), Refused> {
        let peer = introduced(boot, body)?;
        let me = self.swim.me();
        if peer.id != me.id {
            return Err(Refused::Liar);
        }
        if peer.is_older_than(me) {
            self.is_silent = true;
            self.links.clear();
            self.by_node.clear();
            self.post.clear();
            self.tell(Event::IdentityTaken { at: peer.address });
        } else {
            self.note_rival(&peer);
        }
        Ok(())
    }

    /// Another process has our identity, or had it: an earlier boot of ours, or a copy of our data.
    ///
    /// The older process keeps it and notifies the younger. Both raise their generation above the other's, or their
    /// messages
    /// would count as those of a replaced boot.
    pub(super) fn note_rival(&mut self, rival: &ClusterPeer) {
        let mono = self.clock.mono();
        let me = self.swim.me().clone();
        if rival.boot == me.boot || mono < self.search.rival_at {
            return;
        }
        self.search.rival_at = mono.saturating_add(RIVAL_NS);
        let kind = if me.is_older_than(rival) {
            FrameKind::Taken
        } else {
            FrameKind::Hello
        };
        if rival.address != me.address {
            self.send_loose(rival.address, fold(rival.boot), self.introduction(kind));
        }
        if rival.generation >= me.generation && rival.generation < u64::MAX {
            let mut next = me;
            next.generation = rival.generation + 1;
            next.bump = 0;
            let generation = next.generation;
            self.swim.become_peer(next, mono);
            self.tell(Event::Generation(generation));
        }
    }

    /// Reports to a node another one with its identity.
    pub(super) fn tell_rival(&mut self, to: &ClusterPeer, rival: &ClusterPeer) {
        let mut body = Vec::new();
        rival.put(&mut body);
        self.send_loose(to.address, fold(to.boot), frame(FrameKind::Rival, &[&body]));
    }

    /// A frame that describes this node.
    pub(super) fn introduction(&self, kind: FrameKind) -> Vec<u8> {
        let mut body = Vec::new();
        self.swim.me().put(&mut body);
        frame(kind, &[&body])
    }

    /// Announces to every peer that this node leaves.
    pub(super) fn say_bye(&mut self) {
        let mut body = Vec::new();
        self.swim.me().put_short(&mut body);
        let bye = frame(FrameKind::Bye, &[&body]);
        for (boot, link) in &mut self.links {
            link.push_control(bye.clone());
            self.post.mark(*boot);
        }
    }
}

/// The peer that a hello describes; it must be the sender.
fn introduced(boot: u64, body: &[u8]) -> Result<ClusterPeer, Refused> {
    let peer = ClusterPeer::read(&mut Reader(body)).ok_or(Refused::Malformed)?;
    if peer.boot == boot {
        Ok(peer)
    } else {
        Err(Refused::Liar)
    }
}

const BACKOFF_NS_MIN: u64 = 200_000_000;
const BACKOFF_NS_MAX: u64 = 5_000_000_000;
/// The wait between hellos to seeds that are not members.
const SEEK_NS: u64 = 10_000_000_000;
/// Lost peers that get hellos like seeds.
const LOST_MAX: usize = 64;
/// How often, and how many times, members are asked for more members.
const FEED_NS: u64 = 500_000_000;
const FEEDS: u32 = 6;
const PING_NS: u64 = 1_000_000_000;
/// One ping per second for this many peers.
const PEERS_PER_PING: usize = 20;
/// The wait between two answers to rivals.
const RIVAL_NS: u64 = 300_000_000;
