//! The protocol that the server runs, in the nodes that the server runs, and the authority where homes are leased.
//!
//! Not here: the protocol.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tollgate_contract::Contracts;
use tollgate_gossip::{ModeKey, NodeId, Writer};
use tollgate_limit::{Cost, Instant, Span};
use tollgate_node::{
    Answer, Key, Membership, ModeRecord, Node, NodeConfig, RateDivision, Roster, RosterPeer,
};
use tollgate_sim::SimClock;
use tollgate_supply::{
    AUTHORITY, Authority, Limits, Machine, Supply, SupplyConfig, Witness, audit,
};
use tollgate_table::Seed;

use super::stage::{
    Audited, Fleet, MemberStart, PER_SECOND, Passed, REQUEST, SECOND, Sharer, SupplySetting,
};
use crate::nodes::{Member, NodeFrame, Whole, address, contracts};

const KEY: Key<'_> = Key::Text(b"all");
/// Nodes count time in nanoseconds, experiments in microseconds.
const MICRO: u64 = 1_000;
/// A node that is asked to go lets the others know for so long.
const GOES_AFTER: u64 = SECOND;

#[derive(Debug)]
pub(crate) struct Loans {
    nodes: u16,
    founders: u16,
    config: SupplyConfig,
    limits: Limits,
    pub(super) contracts: Contracts,
    /// A restarted node uses its home at once, which is a bug.
    is_hasty: bool,
    /// What each node is called where rates are divided, by address.
    pub(super) numbers: Vec<NodeId>,
    pub(super) disks: Disks,
    key: Rc<Cell<Option<ModeKey>>>,
}

/// What each node must not forget, by address.
type Disks = Rc<RefCell<BTreeMap<u16, Disk>>>;
/// What one node must not forget, by policy.
pub(super) type Disk = BTreeMap<u64, ModeRecord>;

impl Loans {
    /// `None` for a setting or a configuration that the protocol refuses.
    pub(crate) fn new(setting: &SupplySetting, tuned: &Tuning) -> Option<Self> {
        let config = tuned.config(setting);
        let burst = u128::from(setting.rate) * u128::from(setting.depth_us) / u128::from(REQUEST);
        let rate = setting.rate / PER_SECOND * Limits::PER_SECOND;
        let limits = Limits::new(rate, u64::try_from(burst).ok()?).ok()?;
        Some(Self {
            founders: setting.founders,
            is_hasty: tuned.is_hasty,
            ..Self::of(setting.nodes, limits, config)?
        })
    }

    /// So many nodes that share limits from the beginning.
    pub(super) fn of(nodes: u16, limits: Limits, config: SupplyConfig) -> Option<Self> {
        config.check().ok()?;
        let number = |node| roster(&[(node, 1)])?.shares().nodes().next();
        Some(Self {
            limits,
            contracts: divided(limits, Span::ZERO),
            config,
            is_hasty: false,
            numbers: (0..nodes).map(number).collect::<Option<_>>()?,
            nodes,
            founders: nodes,
            disks: Disks::default(),
            key: Rc::default(),
        })
    }

    /// Who has homes, where these are members: under a lease the founders for good, else all members.
    fn roster(&self, members: &[u16]) -> Option<Roster> {
        if self.config.lease.is_some() {
            let founders: Vec<u16> = (0..self.founders).collect();
            return even(&founders);
        }
        even(members)
    }

    /// Starts a node, which hears of all members; boots grow with every start.
    pub(super) fn node<const FINE: u64>(
        &self,
        seat: &MemberStart,
        boot: u64,
        roster: Roster,
    ) -> Part<FINE> {
        let (place, now) = (seat.node, instant::<FINE>(seat.now));
        let is_first = seat.boot == 0 && place < self.founders;
        let disk = self.disks.borrow().get(&place).cloned();
        let id = (Whole::number(usize::from(place)), Writer(place));
        let supply = Supply {
            config: self.config.clone(),
            is_first: is_first || self.is_hasty,
        };
        let membership = Membership {
            share: Some(RateDivision {
                kept: disk.unwrap_or_default(),
                ..RateDivision::new(roster, boot)
            }),
            modes: vec![Arc::new(supply)],
            ..Membership::alone(id.0, id.1, now)
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
        let node = LoansNode {
            whole: Whole {
                node: Arc::new(node),
                id,
                name: name(place),
                began: now.as_nanos(),
                disk: BTreeMap::new(),
                is_up: true,
            },
            service: self.nodes,
            is_leased: self.config.lease.is_some(),
            disks: Rc::clone(&self.disks),
            key: Rc::clone(&self.key),
        };
        node.meet(&seat.members, now);
        Part::Node(Box::new(node))
    }

    /// The authority that is behind the nodes; it knows what the policy is called if the one before did.
    pub(super) fn register<const FINE: u64>(
        &self,
        authority: Authority,
        before: Option<&Part<FINE>>,
    ) -> Part<FINE> {
        let tag = match before {
            Some(Part::Authority(before)) => before.tag,
            _ => 0,
        };
        Part::Authority(Box::new(Register {
            authority,
            numbers: self.numbers.clone(),
            tag,
        }))
    }
}

/// The only contract: a limit that nodes share, under which requests may be told to wait so long.
pub(super) fn divided(limits: Limits, wait_max: Span) -> Contracts {
    let is_whole = limits.rate().is_multiple_of(Limits::PER_SECOND);
    let (limit, per) = if is_whole {
        (limits.rate() / Limits::PER_SECOND, "1s")
    } else {
        (limits.rate(), "1000000000s")
    };
    let burst = limits.burst();
    let waits = match wait_max.as_nanos() / 1_000_000 {
        0 => String::new(),
        millis => format!("on_limit: delay, max_wait: {millis}ms, "),
    };
    contracts(&format!(
        "contracts: [{{ id: all, policies: [{{ name: all, limit: {limit}, per: {per}, burst: {burst}, {waits}\
         coordination: supply }}] }}]"
    ))
}

fn even(members: &[u16]) -> Option<Roster> {
    let weights: Vec<_> = members.iter().map(|node| (*node, 1)).collect();
    roster(&weights)
}

pub(super) fn roster(weights: &[(u16, u32)]) -> Option<Roster> {
    let named = weights.iter().map(|(node, weight)| (name(*node), *weight));
    Roster::new(named).ok()
}

fn name(node: u16) -> String {
    format!("n{node}")
}

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

    fn config(&self, setting: &SupplySetting) -> SupplyConfig {
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
    type Member = Part<MICRO>;

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

    fn boot(&self, seat: &MemberStart) -> Part<MICRO> {
        let now = instant::<MICRO>(seat.now);
        let Some(roster) = self.roster(&seat.members) else {
            return Part::None;
        };
        if seat.node < self.nodes {
            self.node(seat, u64::from(seat.boot), roster)
        } else {
            let (config, shares) = (self.config.clone(), roster.shares());
            let authority = Authority::new(self.limits, shares, config, Span::ZERO, now);
            self.register(authority, None)
        }
    }

    /// What the machines' own books say, loan by loan.
    fn audit(&self, net: &Passed<Self>) -> Audited {
        let clocks = (0..self.nodes).map(|node| net.sim.clock(node));
        let truths: Vec<_> = clocks.map(truth).collect();
        let mut witnesses = Vec::with_capacity(truths.len());
        for ((place, member), truth) in net.nodes.iter().enumerate().zip(&truths) {
            if let Some(Part::Node(node)) = member {
                let now = instant::<MICRO>(net.sim.local(address(place)));
                node.see(now, |machine, key, now| {
                    witnesses.push(Witness::of(machine, key, now, truth));
                });
            }
        }
        let limits = self.limits;
        let usable = witnesses.iter().map(|witness| witness.usable().into());
        Audited {
            wrong: u64::from(audit(&witnesses, limits.rate(), limits.burst()).is_err()),
            usable: Some(usable.collect()),
        }
    }
}

fn truth(clock: SimClock) -> impl Fn(Instant) -> i128 {
    move |at| i128::from(clock.world(at.as_nanos() / MICRO)) * i128::from(MICRO)
}

/// A node, the authority, or nothing where the protocol refused, in a world of that many nanoseconds.
#[derive(Debug)]
pub(crate) enum Part<const FINE: u64> {
    Node(Box<LoansNode>),
    Authority(Box<Register>),
    None,
}

#[derive(Debug)]
pub(crate) struct LoansNode {
    pub(super) whole: Whole,
    /// The address of the authority.
    service: u16,
    /// Without a lease, homes follow membership.
    is_leased: bool,
    disks: Disks,
    /// The only key that there is, once a machine has seen it.
    key: Rc<Cell<Option<ModeKey>>>,
}

/// The authority, and what is known of those that it speaks to.
#[derive(Debug)]
pub(crate) struct Register {
    pub(super) authority: Authority,
    numbers: Vec<NodeId>,
    /// What the policy is called on the wire.
    tag: u64,
}

impl LoansNode {
    /// Shows its machine, the only key that there is, and what its clock shows. Where no machine has seen the key, one
    /// that nobody knows stands as it would.
    pub(super) fn see(&self, now: Instant, mut see: impl FnMut(&Machine, ModeKey, Instant)) {
        self.whole.extensions(now, |machine: &Machine, now| {
            if self.key.get().is_none() {
                self.key.set(machine.keys().first().copied());
            }
            see(machine, self.key.get().unwrap_or_default(), now);
        });
    }

    pub(super) fn check(&self, cost: Cost, now: Instant) -> Answer {
        self.whole.newest().check(KEY, cost, now)
    }

    /// Hears who is in the cluster, as it begins or later.
    fn meet(&self, members: &[u16], now: Instant) {
        let peer = |node: &u16| RosterPeer {
            node: Whole::number(usize::from(*node)),
            name: name(*node),
            age: (0, 0),
        };
        let peers: Vec<RosterPeer> = members.iter().map(peer).collect();
        self.whole.handle_peers(self.whole.id.0, peers, now);
    }
}

impl<const FINE: u64> Member for Part<FINE> {
    type Message = NodeFrame;

    fn handle_message(&mut self, from: u16, frame: &NodeFrame, now: u64) {
        match self {
            Self::Node(node) => node.whole.handle_message(from, frame, now * FINE),
            Self::Authority(register) => {
                register.tag = frame.tag;
                if let Some(from) = register.numbers.get(usize::from(from)) {
                    let (authority, now) = (&mut register.authority, instant::<FINE>(now));
                    // What is malformed is counted there and changes nothing.
                    let _ = authority.handle_frame(*from, &frame.bytes, now);
                }
            }
            Self::None => {}
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        let now = instant::<FINE>(now);
        match self {
            Self::Node(node) => node.whole.node.handle_timeout(now),
            Self::Authority(register) => register.authority.handle_timeout(now),
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
                let now = instant::<FINE>(now);
                node.whole.handle_kept(tag, &kept, now);
                let mut disks = node.disks.borrow_mut();
                let disk = disks.entry(Whole::address(node.whole.id.0)).or_default();
                disk.insert(tag, kept);
            }
        }
    }

    fn poll_send(&mut self) -> Option<(u16, NodeFrame)> {
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
                let frame = NodeFrame {
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

    fn bytes(frame: &NodeFrame) -> &[u8] {
        &frame.bytes
    }
}

impl Sharer for Part<MICRO> {
    fn handle_request(&mut self, now: u64) -> bool {
        let Self::Node(node) = self else {
            return false;
        };
        node.check(Cost::ONE, instant::<MICRO>(now)).is_allowed()
    }

    fn handle_members(&mut self, members: &[u16], now: u64) {
        if let Self::Node(node) = self {
            if let Some(roster) = even(members).filter(|_| !node.is_leased) {
                node.whole.set_roster(roster, instant::<MICRO>(now));
            }
            node.meet(members, instant::<MICRO>(now));
        }
    }

    fn handle_goodbye(&mut self, now: u64) {
        if let Self::Node(node) = self {
            node.whole.handle_leave(instant::<MICRO>(now));
        }
    }

    fn usable(&self, now: u64) -> i128 {
        let mut usable = 0;
        if let Self::Node(node) = self {
            node.see(instant::<MICRO>(now), |machine, key, now| {
                usable = i128::from(machine.inspect(key, now).usable);
            });
        }
        usable
    }
}

fn instant<const FINE: u64>(time: u64) -> Instant {
    Instant::from_nanos(time * FINE)
}

fn span(micros: u64) -> Span {
    Span::from_nanos(u128::from(micros) * u128::from(MICRO))
}
