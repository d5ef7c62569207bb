//! One node's part in the cluster.
//!
//! Not here: the bytes ([`crate::frame`]), the shell that seals and sends.

use std::net::SocketAddr;
use std::sync::Arc;

use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Instant;

use crate::config::ClusterConfig;
use crate::event::{Event, Refused, StreamFull, Transmit};
use crate::frame::{Kind, VERSION};
use crate::member::{About, Member, MemberState};
use crate::sip::siphash24;
use crate::status::{Refusals, Status, Traffic};

/// One node's part in the cluster: call a `handle_*`, then drain `poll_transmit` and `poll_event`, then wait until `poll_timeout`.
pub struct Cluster {
    config: ClusterConfig,
    members: Vec<Member>,
    refusals: Refusals,
}

impl Cluster {
    /// A node that starts and looks for its seeds.
    pub fn new(config: ClusterConfig, _now: Instant) -> Self {
        let number = siphash24(&[0; 16], &config.id.to_le_bytes()).to_le_bytes();
        let me = Member {
            id: config.id,
            boot: config.boot,
            node: NodeId(u16::from_le_bytes([number[0], number[1]])),
            writer: Writer(u16::from_le_bytes([number[2], number[3]])),
            address: config.advertise,
            about: Arc::new(About {
                name: config.name.clone(),
                zone: config.zone.clone(),
                capacity: config.capacity,
                version: config.version.clone(),
                speaks: VERSION,
            }),
            state: MemberState::Alive,
        };
        Self {
            config,
            members: vec![me],
            refusals: Refusals::default(),
        }
    }

    /// Looks there from here on.
    pub fn set_seeds(&mut self, seeds: Vec<SocketAddr>) {
        self.config.seeds = seeds;
    }

    /// Tells the others that this node is reached elsewhere from here on.
    pub fn set_advertise(&mut self, advertise: SocketAddr, _now: Instant) {
        self.config.advertise = advertise;
    }

    /// This node and this boot, as replicas know them.
    pub fn me(&self) -> (NodeId, Writer) {
        self.members
            .first()
            .map_or((NodeId(0), Writer(0)), |me| (me.node, me.writer))
    }

    /// Every live member, this node included, by number.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Takes an opened datagram.
    pub fn handle_payload(
        &mut self,
        _boot: u64,
        _counter: u64,
        _payload: &[u8],
        _now: Instant,
    ) -> Result<(), Refused> {
        self.refuse(Refused::Stranger);
        Err(Refused::Stranger)
    }

    /// Counts what the shell refused before it could be opened.
    pub fn refuse(&mut self, refused: Refused) {
        self.refusals.count(refused);
    }

    /// What to say first on a stream to a peer.
    pub fn stream_hello(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Who opened a stream, by what it said first.
    pub fn handle_stream_hello(
        &mut self,
        _message: &[u8],
        _now: Instant,
    ) -> Result<NodeId, Refused> {
        self.refuse(Refused::Stranger);
        Err(Refused::Stranger)
    }

    /// Takes a message from the stream of a peer.
    pub fn handle_message(
        &mut self,
        _from: NodeId,
        _message: &[u8],
        _now: Instant,
    ) -> Result<(), Refused> {
        self.refuse(Refused::Stranger);
        Err(Refused::Stranger)
    }

    /// Sends a replica's frame: by datagram, or by stream where it is too long. Unknown peers are ignored.
    pub fn send_gossip(&mut self, _to: NodeId, _tag: u64, _frame: &[u8], _now: Instant) {}

    /// Sends something by stream.
    pub fn send_message(
        &mut self,
        _to: NodeId,
        _kind: Kind,
        _body: &[u8],
        _now: Instant,
    ) -> Result<(), StreamFull> {
        Err(StreamFull)
    }

    /// How many bytes the stream of a peer has room for; zero for strangers.
    pub fn stream_room(&self, _to: NodeId) -> usize {
        0
    }

    /// Runs what is due. Early calls do nothing.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The next thing to send.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Transmit> {
        None
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        None
    }

    /// Tells everybody that this node goes. What is left to send is in `poll_transmit`; from then on it is silent.
    pub fn leave(&mut self, _now: Instant) {}

    /// How the cluster is doing.
    pub fn status(&self, _now: Instant) -> Status {
        let (node, writer) = self.me();
        Status {
            node,
            writer,
            generation: self.config.generation,
            advertise: self.config.advertise,
            is_silent: false,
            peers: Vec::new(),
            traffic: Traffic::default(),
            refusals: self.refusals.clone(),
            unknown_frames: 0,
            rejoins: 0,
        }
    }
}
