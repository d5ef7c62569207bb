//! The protocol that the server runs, in the world: machines, and the authority where homes are leased.
//!
//! Driven through their public methods alone, as the server does. Not here: the protocol.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tollgate_gossip::{Key, NodeId};
use tollgate_limit::{Instant, Span};
use tollgate_sim::Clock;
use tollgate_supply::{
    AUTHORITY, Authority, Begin, Boot, Kept, Limits, Machine, Setup, Shares, SupplyConfig, Witness,
    audit,
};

use super::world::{Body, Fleet, Member, REQUEST, Seat, Setting};

/// The key that everything is about.
const KEY: Key = Key(7);
/// Rates of the protocol are finer by that.
const FINE: u64 = 1_000;

/// The design.
#[derive(Debug)]
pub(crate) struct Loans {
    setting: Setting,
    config: SupplyConfig,
    limits: Limits,
    /// A restarted node uses its home at once, which is a bug.
    is_hasty: bool,
    /// What each node must not forget.
    disks: Disks,
}

type Disks = Rc<RefCell<BTreeMap<u16, Kept>>>;

impl Loans {
    /// `None` for a setting or a configuration that the protocol refuses.
    pub(crate) fn new(setting: &Setting, tuned: &Tuning) -> Option<Self> {
        let config = tuned.config(setting);
        config.check().ok()?;
        let burst = u128::from(setting.rate) * u128::from(setting.depth_us) / u128::from(REQUEST);
        Some(Self {
            limits: Limits::new(setting.rate * FINE, u64::try_from(burst).ok()?).ok()?,
            setting: setting.clone(),
            config,
            is_hasty: tuned.is_hasty,
            disks: Disks::default(),
        })
    }

    fn founders(&self) -> Vec<u16> {
        (0..self.setting.founders).collect()
    }
}

/// Everybody the same; all who know the same members give the division the same name.
fn shares(members: &[u16]) -> Option<Shares> {
    let tag = members
        .iter()
        .fold(1, |tag, node| crate::dice::scramble(tag ^ u64::from(*node)));
    Shares::equal(tag, members.iter().copied().map(NodeId)).ok()
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

    fn boot(&self, seat: &Seat) -> LoansMember {
        let start = instant(seat.now);
        let leased = self.config.lease.is_some();
        let members = if leased {
            self.founders()
        } else {
            seat.members.clone()
        };
        let Some(shares) = shares(&members) else {
            return LoansMember::None;
        };
        if seat.node == self.setting.nodes {
            let config = self.config.clone();
            let authority = Authority::new(self.limits, &shares, config, Span::ZERO, start);
            return LoansMember::Authority(Box::new(authority));
        }
        let kept = self.disks.borrow().get(&seat.node).cloned();
        let is_first = seat.boot == 0 && seat.node < self.setting.founders;
        let machine = Machine::new(Setup {
            limits: self.limits,
            shares,
            me: NodeId(seat.node),
            boot: Boot(u64::from(seat.boot) + 1),
            begin: if is_first || self.is_hasty {
                Begin::Fresh
            } else {
                Begin::Restart(kept)
            },
            members: seat.members.iter().copied().map(NodeId).collect(),
            seed: seat.seed,
            start,
            wait_max: Span::ZERO,
            leaks: false,
            config: self.config.clone(),
        });
        match machine {
            Ok(machine) => {
                let mut node = LoansNode {
                    machine: Box::new(machine),
                    me: seat.node,
                    service: self.setting.nodes,
                    members: seat.members.clone(),
                    is_leased: leased,
                    disks: Rc::clone(&self.disks),
                };
                node.keep(start);
                LoansMember::Node(node)
            }
            Err(_) => LoansMember::None,
        }
    }

    /// What the machines' own books say, loan by loan.
    fn wrong(&self, members: &[Body<LoansMember>], now: u64) -> u64 {
        let truths: Vec<_> = members.iter().map(|body| truth(body.clock)).collect();
        let mut witnesses = Vec::with_capacity(members.len());
        for (body, truth) in members.iter().zip(&truths) {
            if let Some(LoansMember::Node(node)) = &body.member {
                witnesses.push(Witness {
                    machine: &node.machine,
                    now: instant(body.clock.at(now)),
                    truth,
                });
            }
        }
        let limits = self.limits;
        u64::from(audit(KEY, &witnesses, limits.rate(), limits.burst()).is_err())
    }
}

fn truth(clock: Clock) -> impl Fn(Instant) -> i128 {
    move |at| i128::from(clock.world(at.as_nanos() / FINE)) * i128::from(FINE)
}

/// A machine, the authority, or nothing where the protocol refused.
#[derive(Debug)]
pub(crate) enum LoansMember {
    Node(LoansNode),
    Authority(Box<Authority>),
    None,
}

/// A machine and its disk.
#[derive(Debug)]
pub(crate) struct LoansNode {
    machine: Box<Machine>,
    me: u16,
    /// The address of the authority.
    service: u16,
    members: Vec<u16>,
    /// Without a lease, homes follow membership.
    is_leased: bool,
    disks: Disks,
}

impl LoansNode {
    /// Stores what must not be forgotten, at once.
    fn keep(&mut self, now: Instant) {
        while let Some(kept) = self.machine.poll_kept() {
            self.machine.handle_kept(&kept, now);
            self.disks.borrow_mut().insert(self.me, kept);
        }
    }

    fn meet(&mut self, members: &[u16], now: Instant) {
        let alive: Vec<NodeId> = members.iter().copied().map(NodeId).collect();
        self.machine.handle_members(&alive, now);
        let before = std::mem::replace(&mut self.members, members.to_vec());
        if !self.is_leased {
            if let Some(shares) = shares(members) {
                self.machine.handle_shares(shares, now);
            }
            for gone in before.iter().filter(|node| !members.contains(node)) {
                self.machine.handle_gone(NodeId(*gone), now);
            }
        }
    }
}

impl Member for LoansMember {
    type Message = Arc<[u8]>;

    fn handle_request(&mut self, now: u64) -> bool {
        match self {
            Self::Node(node) => {
                let verdict = node.machine.handle_request(KEY, 1, instant(now));
                node.keep(instant(now));
                verdict.is_allowed()
            }
            Self::Authority(_) | Self::None => false,
        }
    }

    fn handle_message(&mut self, from: u16, message: &Arc<[u8]>, now: u64) {
        // What is malformed is counted there and changes nothing.
        match self {
            Self::Node(node) => {
                let from = if from == node.service {
                    AUTHORITY
                } else {
                    NodeId(from)
                };
                let _ = node.machine.handle_frame(from, message, instant(now));
                node.keep(instant(now));
            }
            Self::Authority(authority) => {
                let _ = authority.handle_frame(NodeId(from), message, instant(now));
            }
            Self::None => {}
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        match self {
            Self::Node(node) => {
                node.machine.handle_timeout(instant(now));
                node.keep(instant(now));
            }
            Self::Authority(authority) => authority.handle_timeout(instant(now)),
            Self::None => {}
        }
    }

    fn handle_members(&mut self, members: &[u16], now: u64) {
        if let Self::Node(node) = self {
            node.meet(members, instant(now));
            node.keep(instant(now));
        }
    }

    fn handle_goodbye(&mut self, now: u64) {
        if let Self::Node(node) = self {
            node.machine.goodbye(instant(now));
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let due = match self {
            Self::Node(node) => node.machine.poll_timeout(),
            Self::Authority(authority) => authority.poll_timeout(),
            Self::None => None,
        };
        due.map(|due| due.as_nanos().div_ceil(FINE))
    }

    fn poll_send(&mut self) -> Option<(u16, Arc<[u8]>)> {
        let (send, service) = match self {
            Self::Node(node) => (node.machine.poll_send()?, node.service),
            Self::Authority(authority) => (authority.poll_send()?, u16::MAX),
            Self::None => return None,
        };
        let to = if send.to == AUTHORITY {
            service
        } else {
            send.to.0
        };
        Some((to, send.frame))
    }

    fn usable(&self, now: u64) -> i128 {
        match self {
            Self::Node(node) => i128::from(node.machine.inspect(KEY, instant(now)).usable),
            Self::Authority(_) | Self::None => 0,
        }
    }
}

fn instant(micros: u64) -> Instant {
    Instant::from_nanos(micros * FINE)
}

fn span(micros: u64) -> Span {
    Span::from_nanos(u128::from(micros) * u128::from(FINE))
}
