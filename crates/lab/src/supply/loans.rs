//! The protocol that the server runs, in the nodes that the server runs, and the authority where homes are leased.
//!
//! Not here: the protocol.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tollgate_contract::Contracts;
use tollgate_gossip::{Key as Fingerprint, NodeId, Writer};
use tollgate_limit::{Cost, Instant, Span};
use tollgate_node::{Kept, Key, Membership, Node, NodeConfig, Peer, Roster, Share};
use tollgate_sim::Clock;
use tollgate_supply::{
    AUTHORITY, Authority, Limits, Machine, Supply, SupplyConfig, Witness, audit,
};
use tollgate_table::Seed;

use super::stage::{Fleet, PER_SECOND, Passed, REQUEST, SECOND, Seat, Setting, Sharer};
use crate::nodes::{Frame, Member, Whole, address, contracts};

/// The key that everything is about.
const KEY: Key<'_> = Key::Text(b"all");
/// Nodes count time finer by that.
const FINE: u64 = 1_000;
/// A node that is asked to go lets the others know for so long.
const GOES_AFTER: u64 = SECOND;

/// The design.
#[derive(Debug)]
pub(crate) struct Loans {
    setting: Setting,
    config: SupplyConfig,
    limits: Limits,
    contracts: Contracts,
    /// A restarted node uses its home at once, which is a bug.
    is_hasty: bool,
    /// What each node is called where rates are divided, by address.
    numbers: Vec<NodeId>,
    disks: Disks,
    key: Rc<Cell<Option<Fingerprint>>>,
}

/// What each node must not forget, by address.
type Disks = Rc<RefCell<BTreeMap<u16, BTreeMap<u64, Kept>>>>;

impl Loans {
    /// `None` for a setting or a configuration that the protocol refuses.
    pub(crate) fn new(setting: &Setting, tuned: &Tuning) -> Option<Self> {
        let config = tuned.config(setting);
        config.check().ok()?;
        let rate = setting.rate / PER_SECOND;
        let burst = u128::from(setting.rate) * u128::from(setting.depth_us) / u128::from(REQUEST);
        let burst = u64::try_from(burst).ok()?;
        let contracts = contracts(&format!(
            "contracts: [{{ id: all, policies: [{{ name: all, limit: {rate}, per: 1s, burst: {burst}, coordination: supply }}] }}]"
        ));
        let number = |node| roster(&[node])?.shares().nodes().next();
        Some(Self {
            limits: Limits::per(rate, Span::from_nanos(1_000_000_000), burst).ok()?,
            contracts,
            config,
            is_hasty: tuned.is_hasty,
            numbers: (0..setting.nodes).map(number).collect::<Option<_>>()?,
            setting: setting.clone(),
            disks: Disks::default(),
            key: Rc::default(),
        })
    }

    /// Who has homes, where these are members: under a lease the founders for good, else all members.
    fn roster(&self, members: &[u16]) -> Option<Roster> {
        if self.config.lease.is_some() {
            let founders: Vec<u16> = (0..self.setting.founders).collect();
            return roster(&founders);
        }
        roster(members)
    }

    fn node(&self, seat: &Seat, roster: Roster) -> LoansNode {
        let disk = self.disks.borrow().get(&seat.node).cloned();
        let id = (Whole::number(usize::from(seat.node)), Writer(seat.node));
        let is_first = seat.boot == 0 && seat.node < self.setting.founders;
        let supply = Supply {
            config: self.config.clone(),
            is_first: is_first || self.is_hasty,
        };
        let membership = Membership {
            share: Some(Share {
                kept: disk.unwrap_or_default(),
                ..Share::new(roster, u64::from(seat.boot))
            }),
            modes: vec![Arc::new(supply)],
            ..Membership::alone(id.0, id.1, instant(seat.now))
        };
        let config = NodeConfig {
            bytes_max: 1 << 26,
            ..NodeConfig::default()
        };
        let node = Node::with_company(
            self.contracts.clone(),
            config,
            // The same everywhere, as fingerprints of keys come from it.
            Seed::new([7, 9]),
            membership,
        );
        LoansNode {
            whole: Whole {
                node: Arc::new(node),
                id,
                name: name(seat.node),
                began: seat.now,
                disk: BTreeMap::new(),
                is_up: true,
            },
            service: self.setting.nodes,
            is_leased: self.config.lease.is_some(),
            disks: Rc::clone(&self.disks),
            key: Rc::clone(&self.key),
        }
    }
}

/// Everybody the same.
fn roster(members: &[u16]) -> Option<Roster> {
    Roster::new(members.iter().map(|node| (name(*node), 1))).ok()
}

fn name(node: u16) -> String {
    format!("n{node}")
}

/// What is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    pub(crate) term_us: u64,
    pub(crate) lease_us: Option<u64>,
    /// Nobody is asked but in rounds.
    pub(crate) rounds_only: bool,
    pub(crate) probes_min: u32,
    pub(crate) gap_us: u64,
    /// A restarted node uses its home at once, which is a bug.
    pub(crate) is_hasty: bool,
}

impl Tuning {
    /// As the documentation has it, without a lease.
    pub(crate) const USUAL: Self = Self {
        term_us: 1_000_000,
        lease_us: None,
        rounds_only: false,
        probes_min: 3,
        gap_us: 10_000,
        is_hasty: false,
    };

    fn config(&self, setting: &Setting) -> SupplyConfig {
        let usual = SupplyConfig::default();
        let (gap_min, gap_max) = if self.rounds_only {
            (DAY_US, DAY_US)
        } else {
            (self.gap_us, 32 * self.gap_us)
        };
        SupplyConfig {
            round: span(setting.round_us),
            term: span(self.term_us),
            probes_min: self.probes_min,
            probes_max: if self.rounds_only {
                self.probes_min
            } else {
                usual.probes_max
            },
            ask_gap_min: span(gap_min),
            ask_gap_max: span(gap_max),
            lease: self.lease_us.map(span),
            keeps: true,
            ..usual
        }
    }
}

const DAY_US: u64 = 86_400_000_000;

impl Fleet for Loans {
    type Member = LoansMember;

    fn services(&self) -> u16 {
        u16::from(self.config.lease.is_some())
    }

    fn goes_after(&self) -> u64 {
        if self.config.lease.is_some() {
            0
        } else {
            GOES_AFTER
        }
    }

    fn boot(&self, seat: &Seat) -> LoansMember {
        let Some(roster) = self.roster(&seat.members) else {
            return LoansMember::None;
        };
        if seat.node < self.setting.nodes {
            let node = self.node(seat, roster);
            node.meet(&seat.members, instant(seat.now));
            return LoansMember::Node(Box::new(node));
        }
        let (config, start) = (self.config.clone(), instant(seat.now));
        let authority = Authority::new(self.limits, roster.shares(), config, Span::ZERO, start);
        LoansMember::Authority(Box::new(Register {
            authority,
            numbers: self.numbers.clone(),
            tag: 0,
        }))
    }

    /// What the machines' own books say, loan by loan.
    fn wrong(&self, net: &Passed<Self>) -> u64 {
        let clocks = (0..self.setting.nodes).map(|node| net.sim.clock(node));
        let truths: Vec<_> = clocks.map(truth).collect();
        let mut witnesses = Vec::with_capacity(truths.len());
        for ((place, member), truth) in net.nodes.iter().enumerate().zip(&truths) {
            let Some(LoansMember::Node(node)) = member else {
                continue;
            };
            let now = instant(net.sim.local(address(place)));
            node.whole.extensions(now, |machine: &Machine, now| {
                witnesses.push(Witness::of(machine, node.key(machine), now, truth));
            });
        }
        let limits = self.limits;
        u64::from(audit(&witnesses, limits.rate(), limits.burst()).is_err())
    }
}

fn truth(clock: Clock) -> impl Fn(Instant) -> i128 {
    move |at| i128::from(clock.world(at.as_nanos() / FINE)) * i128::from(FINE)
}

/// A node, the authority, or nothing where the protocol refused.
#[derive(Debug)]
pub(crate) enum LoansMember {
    Node(Box<LoansNode>),
    Authority(Box<Register>),
    None,
}

/// A node and its disk.
#[derive(Debug)]
pub(crate) struct LoansNode {
    whole: Whole,
    /// The address of the authority.
    service: u16,
    /// Without a lease, homes follow membership.
    is_leased: bool,
    disks: Disks,
    /// The only key that there is, once a machine has seen it.
    key: Rc<Cell<Option<Fingerprint>>>,
}

/// The authority, and what is known of those that it speaks to.
#[derive(Debug)]
pub(crate) struct Register {
    authority: Authority,
    numbers: Vec<NodeId>,
    /// What the policy is called on the wire.
    tag: u64,
}

impl LoansNode {
    /// The only key that there is; where no machine has seen it, one that nobody knows stands as it would.
    fn key(&self, machine: &Machine) -> Fingerprint {
        if self.key.get().is_none() {
            self.key.set(machine.keys().first().copied());
        }
        self.key.get().unwrap_or_default()
    }

    /// Hears who is in the cluster, as it begins or later.
    fn meet(&self, members: &[u16], now: Instant) {
        let peer = |node: &u16| Peer {
            node: Whole::number(usize::from(*node)),
            name: name(*node),
            age: (0, 0),
        };
        let peers: Vec<Peer> = members.iter().map(peer).collect();
        self.whole.handle_peers(self.whole.id.0, peers, now);
    }
}

impl Member for LoansMember {
    type Message = Frame;

    fn handle_message(&mut self, from: u16, frame: &Frame, now: u64) {
        match self {
            Self::Node(node) => node.whole.handle_message(from, frame, now * FINE),
            Self::Authority(register) => {
                register.tag = frame.tag;
                if let Some(from) = register.numbers.get(usize::from(from)) {
                    // What is malformed is counted there and changes nothing.
                    let _ = register
                        .authority
                        .handle_frame(*from, &frame.bytes, instant(now));
                }
            }
            Self::None => {}
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        match self {
            Self::Node(node) => node.whole.node.handle_timeout(instant(now)),
            Self::Authority(register) => register.authority.handle_timeout(instant(now)),
            Self::None => {}
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let due = match self {
            Self::Node(node) => node.whole.node.poll_timeout(),
            Self::Authority(register) => register.authority.poll_timeout(),
            Self::None => None,
        };
        due.map(|due| due.as_nanos().div_ceil(FINE))
    }

    fn store(&mut self, now: u64) {
        if let Self::Node(node) = self {
            for (tag, kept) in node.whole.take_kept() {
                node.whole.handle_kept(tag, &kept, instant(now));
                let mut disks = node.disks.borrow_mut();
                let disk = disks.entry(Whole::address(node.whole.id.0)).or_default();
                disk.insert(tag, kept);
            }
        }
    }

    fn poll_send(&mut self) -> Option<(u16, Frame)> {
        match self {
            Self::Node(node) => {
                let (to, frame) = node.whole.poll_send()?;
                let is_ours = frame.to == AUTHORITY;
                Some((if is_ours { node.service } else { to }, frame))
            }
            Self::Authority(register) => {
                let send = register.authority.poll_send()?;
                let mut numbers = register.numbers.iter();
                let place = numbers.position(|number| *number == send.to)?;
                let frame = Frame {
                    from: AUTHORITY,
                    to: Whole::number(place),
                    tag: register.tag,
                    bytes: send.frame,
                };
                Some((address(place), frame))
            }
            Self::None => None,
        }
    }

    fn bytes(frame: &Frame) -> &[u8] {
        &frame.bytes
    }
}

impl Sharer for LoansMember {
    fn handle_request(&mut self, now: u64) -> bool {
        let Self::Node(node) = self else {
            return false;
        };
        node.whole.check(KEY, Cost::ONE, instant(now)).is_allowed()
    }

    fn handle_members(&mut self, members: &[u16], now: u64) {
        if let Self::Node(node) = self {
            if let Some(roster) = roster(members).filter(|_| !node.is_leased) {
                node.whole.set_roster(roster, instant(now));
            }
            node.meet(members, instant(now));
        }
    }

    fn handle_goodbye(&mut self, now: u64) {
        if let Self::Node(node) = self {
            node.whole.handle_leave(instant(now));
        }
    }

    fn usable(&self, now: u64) -> i128 {
        let mut usable = 0;
        if let Self::Node(node) = self {
            node.whole
                .extensions(instant(now), |machine: &Machine, now| {
                    usable = i128::from(machine.inspect(node.key(machine), now).usable);
                });
        }
        usable
    }
}

fn instant(micros: u64) -> Instant {
    Instant::from_nanos(micros * FINE)
}

fn span(micros: u64) -> Span {
    Span::from_nanos(u128::from(micros) * u128::from(FINE))
}
