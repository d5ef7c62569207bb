//! A place where requests come: it decides as a whole node does, from leases of what nodes elsewhere lend, or by asking
//! them. Where it is a node, it lends and decides for other places, and is reached as the daemon reaches it.
//!
//! Not here: who asks what, where a key is lent, and frames between nodes.

mod held;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_lease::{
    BundleReply, DecidedBy, HeldKey, HeldLease, Holder, JoinAnswer, Joined, Lease, LeaseMessage,
    Pool, Rules, Setup, decode, decode_reply, encode_inquiry, encode_nudge,
};
use tollgate_limit::{Cost, Instant, Span, Verdict};
use tollgate_node::{
    Answer, HeldName, Key, Lend, Membership, Node, NodeConfig, Scope, Spot, Steady, shared_key,
};
use tollgate_table::Seed;

use self::held::{HeldHome, HeldWait};
use super::net::Member;

/// What places say to each other of a key.
#[derive(Clone, Debug)]
pub(crate) struct SiteParcel {
    key: u64,
    kind: Kind,
    bytes: Arc<[u8]>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// What is held, and what is wished.
    Inquiry,
    Reply,
    Nudge,
    /// A request to be decided.
    Check,
    Checked,
    /// From node to node, about the policy with that tag.
    Frame(u64),
}

/// What places tell the world.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SiteEvent {
    /// A request that waited is decided.
    Decided {
        site: u16,
        key: u64,
        ticket: u64,
        cost: u64,
        /// After which time it passes, where it does.
        passes: Option<Span>,
        by: DecidedBy,
    },
    /// A node admitted a request of another place.
    Served {
        cost: u64,
        /// After which time it passes.
        wait: Span,
    },
}

/// What places have told, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteLog(Arc<Mutex<Vec<SiteEvent>>>);

impl SiteLog {
    /// All that was told since it was asked last.
    pub(crate) fn take(&self) -> Vec<SiteEvent> {
        std::mem::take(&mut *self.open())
    }

    fn tell(&self, event: SiteEvent) {
        self.open().push(event);
    }

    fn open(&self) -> MutexGuard<'_, Vec<SiteEvent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of a key that may be lent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// What is counted.
    pub(crate) key: u64,
    pub(crate) cost: u64,
    /// Where the key is lent.
    pub(crate) lender: u16,
    /// How this place behaves as a client, before it is told terms.
    pub(crate) setup: Setup,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It passes, after that time.
    Passes(Span),
    /// It does not pass.
    Refused,
    /// Nobody answers; so it was configured.
    Failed(bool),
    /// It waits; the log has the answer under this number.
    Later(u64),
}

/// How a node that lends begins.
pub(crate) struct LenderBegin {
    /// Larger than that of any node that granted before.
    pub(crate) generation: u64,
    pub(crate) since: Instant,
    /// How it lends, where not as contracts say.
    pub(crate) rules: Option<Rules>,
    /// The time of day, by which windows are counted; the times of calls where there is none.
    pub(crate) day: Option<Steady>,
    /// Under which name it leases keys of other nodes, where it does.
    pub(crate) holder: Option<u64>,
}

/// A node that is alone, lends what contracts say, and tells what it admits.
pub(crate) fn lender(contracts: Contracts, begin: LenderBegin, log: &SiteLog) -> Arc<Node> {
    let log = log.clone();
    let mut membership = Membership::alone(NodeId(1), Writer(1), begin.since);
    if begin.rules.is_some() {
        membership.modes.push(Arc::new(Lease {
            generation: begin.generation,
            has_successors: false,
            quota: None,
            rules: begin.rules,
            is_first: Arc::default(),
        }));
    }
    membership.lend = Some(Lend {
        generation: begin.generation,
        has_successors: false,
        steady: None,
        day: begin.day,
        journal: Some(Arc::new(move |admitted| {
            log.tell(SiteEvent::Served {
                cost: admitted.cost,
                wait: admitted.wait,
            });
        })),
        quota: None,
        holder: begin.holder,
        is_first: Arc::default(),
    });
    let config = NodeConfig {
        bytes_max: BYTES_MAX,
        ..NodeConfig::default()
    };
    Arc::new(Node::with_company(
        contracts,
        config,
        Seed::new([7, 9]),
        membership,
    ))
}

/// A place.
#[derive(Debug, Default)]
pub(crate) struct Site {
    me: u16,
    /// The node that it is, where it is one.
    pub(crate) node: Option<Arc<Node>>,
    /// Whether it runs.
    pub(crate) is_up: bool,
    /// Until then it hears nothing.
    pub(crate) deaf_until: u64,
    /// What it holds where it is no node, each with where it is lent.
    holder: Holder<u16>,
    waits: BTreeMap<HeldName, HeldWait>,
    homes: BTreeMap<u64, HeldHome>,
    asked: u64,
    out: VecDeque<(u16, SiteParcel)>,
    log: SiteLog,
}

impl Site {
    /// A place that is no node and holds nothing.
    pub(crate) fn new(me: u16, log: &SiteLog) -> Self {
        Self {
            me,
            is_up: true,
            log: log.clone(),
            ..Self::default()
        }
    }

    /// It is gone, with all that it held; the books of a node stay for those who judge.
    pub(crate) fn crash(&mut self) {
        self.is_up = false;
        self.holder = Holder::default();
        self.waits.clear();
        self.homes.clear();
        self.out.clear();
    }

    /// Decides a request here, as a node.
    pub(crate) fn decide(&self, key: u64, cost: u64, now: Instant) -> Option<Answer> {
        let node = self.node.as_ref()?;
        let cost = Cost::new(cost).unwrap_or(Cost::MAX);
        Some(node.check(Key::Word(key), cost, now))
    }

    /// Decides a request from what it holds, or asks.
    pub(crate) fn check(&mut self, wish: &Wish, now: Instant) -> Fate {
        if self.is_holder() {
            return self.check_held(wish, now);
        }
        self.begin(wish, now);
        let said = self.holder.check(wish.key, wish.cost, now);
        let said = said.map_or(JoinAnswer::Ask, |(said, _)| said);
        let fate = match said {
            JoinAnswer::Allow(_) => Fate::Passes(Span::ZERO),
            JoinAnswer::Delay { wait, .. } => Fate::Passes(wait),
            JoinAnswer::Deny { .. } => Fate::Refused,
            JoinAnswer::Failed { is_allowed } => Fate::Failed(is_allowed),
            JoinAnswer::Wait(ticket) => Fate::Later(ticket),
            JoinAnswer::Ask => Fate::Later(self.ask(wish.key, wish.cost, wish.lender)),
        };
        self.follow(now);
        fate
    }

    /// Whether it is a node that leases keys of others.
    pub(crate) fn is_holder(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.is_holder())
    }

    /// Has a node elsewhere decide a request; its number.
    pub(crate) fn ask(&mut self, key: u64, cost: u64, of: u16) -> u64 {
        self.asked += 1;
        let ticket = ASKED | self.asked;
        self.say(of, Kind::Check, key, short(key, ticket, cost));
        ticket
    }

    /// Is told what a node says of a key of which nothing is held.
    pub(crate) fn learn(&mut self, wish: &Wish, reply: &[u8], now: Instant) {
        if let Ok(reply) = decode_reply(reply) {
            self.begin(wish, now);
            self.holder.handle_reply(wish.key, &reply, now);
            self.follow(now);
        }
    }

    /// What it holds of a key.
    pub(crate) fn held(&self, key: u64, now: Instant) -> HeldLease {
        let by_node = self.spot(key).filter(|(node, _)| node.is_holder());
        let mut held = if let Some((node, spot)) = by_node {
            node.held_leases(&spot, now)
        } else {
            let held = self.holder.get(key);
            held.map_or_else(Vec::new, |key| key.holding.held(now))
        };
        held.pop().map(|(_, held)| held).unwrap_or_default()
    }

    /// Looks at its clock, whatever it showed when it was to be woken.
    pub(crate) fn look(&mut self, now: Instant) {
        self.holder.each(|_, key| key.holding.handle_timeout(now));
        if let Some(node) = &self.node {
            node.handle_held_timeout(now);
        }
        self.follow(now);
    }

    pub(crate) fn keys(&self) -> usize {
        let held = self.node.as_ref().and_then(|node| node.held_figures());
        let held = held.map_or(0, |(keys, _)| usize::try_from(keys).unwrap_or(usize::MAX));
        self.holder.len() + held
    }

    /// What the node here says to a client of a key: `None` where it is none.
    pub(crate) fn terms(&self, key: u64, now: Instant) -> Option<Vec<u8>> {
        let (node, spot) = self.spot(key)?;
        let lent = node.lend(&spot, &encode_inquiry(&[]), now).ok()?;
        Some(lent.reply)
    }

    /// The books of a key as they are here; `None` where it is not lent by this place.
    pub(crate) fn pool(&self, key: u64, now: Instant) -> Option<Pool> {
        let (node, spot) = self.spot(key)?;
        let (of, mut pool) = (shared_key(spot.print), None);
        node.extensions(of, now, |lender: &tollgate_lease::Lender, now| {
            pool = Some(lender.shown(of, now));
        });
        pool
    }

    fn spot(&self, key: u64) -> Option<(&Node, Spot)> {
        let node = self.node.as_ref()?;
        let within = node.within(Scope::All).ok()?;
        let spot = within.spots(Key::Word(key)).first().copied()?;
        Some((node, spot))
    }

    fn begin(&mut self, wish: &Wish, now: Instant) {
        if !self.holder.knows(wish.key) {
            self.holder.insert(wish.key, wish.lender, wish.setup, now);
        }
    }

    /// Says what leases want said, and takes what they decided.
    fn follow(&mut self, now: Instant) {
        let mut said = Vec::new();
        self.holder.drain(now, |key, lender, inquiry| {
            said.push((*lender, key, encode_inquiry(&inquiry)));
        });
        for (lender, key, bytes) in said {
            self.say(lender, Kind::Inquiry, key, bytes);
        }
        while let Some((key, joined)) = self.holder.poll_joined() {
            let lender = self.holder.get(key).map_or(self.me, |key| key.of);
            self.joined(key, lender, &joined);
        }
        if let Some(node) = self.node.clone().filter(|node| node.is_holder()) {
            self.follow_node(&node, now);
        }
    }

    /// A request that waited is decided, or must be asked for.
    fn joined(&mut self, key: u64, lender: u16, one: &Joined) {
        match one.by {
            Some(by) => self.log.tell(SiteEvent::Decided {
                site: self.me,
                key,
                ticket: one.number,
                cost: one.cost,
                passes: one.is_allowed.then_some(one.wait),
                by,
            }),
            None => self.say(lender, Kind::Check, key, short(key, one.number, one.cost)),
        }
    }

    fn say(&mut self, to: u16, kind: Kind, key: u64, bytes: Arc<[u8]>) {
        self.out.push_back((to, SiteParcel { key, kind, bytes }));
    }

    /// Answers what a client says, as a node.
    fn lend(&mut self, from: u16, parcel: &SiteParcel, now: Instant) {
        let Some((node, spot)) = self.spot(parcel.key) else {
            return;
        };
        let Ok(lent) = node.lend(&spot, &parcel.bytes, now) else {
            return;
        };
        let frames: Vec<_> = std::iter::from_fn(|| node.poll_send()).collect();
        self.say(from, Kind::Reply, parcel.key, lent.reply.into());
        for nudge in lent.nudges {
            let to = u16::try_from(nudge.client).unwrap_or(u16::MAX);
            self.say(to, Kind::Nudge, parcel.key, encode_nudge(nudge));
        }
        for frame in frames {
            self.say(frame.to.0, Kind::Frame(frame.tag), parcel.key, frame.frame);
        }
    }

    /// Decides a request of another place, as a node.
    fn serve(&mut self, from: u16, parcel: &SiteParcel, now: Instant) {
        let (ticket, cost) = words(&parcel.bytes);
        let Some(answer) = self.decide(parcel.key, cost, now) else {
            return;
        };
        let refused = match answer.verdict {
            Verdict::Deny { retry_after } => retry_after.as_nanos().max(1),
            Verdict::Never => u128::from(u64::MAX),
            Verdict::Allow | Verdict::Delay { .. } => 0,
        };
        // What is lent is written down by the node.
        let is_told = self.node.as_ref().is_some_and(|node| node.is_lent(0));
        if refused == 0 && !is_told {
            let wait = answer.verdict.wait();
            self.log.tell(SiteEvent::Served { cost, wait });
        }
        let bytes = short(
            parcel.key,
            ticket,
            u64::try_from(refused).unwrap_or(u64::MAX),
        );
        self.say(from, Kind::Checked, parcel.key, bytes);
    }

    /// A request that was decided elsewhere.
    fn served(&mut self, parcel: &SiteParcel, now: Instant) {
        let (ticket, refused) = words(&parcel.bytes);
        if refused > 0 {
            let span = Span::from_nanos(u128::from(refused));
            let refuse = |key: &mut HeldKey<u16>| key.holding.handle_refusal(span, now);
            self.holder.act(parcel.key, now, refuse);
        }
        self.log.tell(SiteEvent::Decided {
            site: self.me,
            key: parcel.key,
            ticket,
            cost: 1,
            passes: (refused == 0).then_some(Span::ZERO),
            by: DecidedBy::Grantor,
        });
    }

    /// A lease of a key hears of its lender.
    fn hear(&mut self, parcel: &SiteParcel, now: Instant) {
        let reply: Option<BundleReply> = decode_reply(&parcel.bytes).ok();
        let held = self.homes.iter().find(|(_, home)| home.key == parcel.key);
        match (parcel.kind, &self.node, held, reply) {
            (Kind::Frame(tag), Some(node), ..) => {
                // A hint for what is no longer held is for no one.
                let _ = node.handle_gossip(tag, NodeId(self.me), &parcel.bytes, now);
            }
            (Kind::Reply, Some(node), Some((name, _)), _) => {
                node.handle_lent(*name, &parcel.bytes, now);
            }
            (Kind::Reply, None, _, Some(reply)) => {
                self.holder.handle_reply(parcel.key, &reply, now);
            }
            (Kind::Nudge, ..) if matches!(decode(&parcel.bytes), Ok(LeaseMessage::Nudge(_))) => {
                self.holder.handle_nudge(parcel.key, now);
            }
            _ => return,
        }
        self.follow(now);
    }
}

impl Member for Site {
    type Message = SiteParcel;

    fn is_up(&self) -> bool {
        self.is_up
    }

    fn handle_message(&mut self, from: u16, parcel: &SiteParcel, now: u64) {
        if now < self.deaf_until {
            return;
        }
        let now = Instant::from_nanos(now);
        match parcel.kind {
            Kind::Inquiry => self.lend(from, parcel, now),
            Kind::Check => self.serve(from, parcel, now),
            Kind::Checked => self.served(parcel, now),
            Kind::Reply | Kind::Nudge | Kind::Frame(_) => self.hear(parcel, now),
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        let at = Instant::from_nanos(now);
        if let Some(node) = &self.node {
            node.handle_timeout(at);
            node.handle_held_timeout(at);
        }
        self.holder.handle_timeout(at);
        self.follow(at);
    }

    fn poll_timeout(&self) -> Option<u64> {
        let node = self.node.as_ref();
        let due = node.and_then(|node| node.poll_timeout());
        let held = node.and_then(|node| node.poll_held_timeout());
        let all = due
            .into_iter()
            .chain(held)
            .chain(self.holder.poll_timeout());
        all.min().map(Instant::as_nanos)
    }

    fn poll_send(&mut self) -> Option<(u16, SiteParcel)> {
        self.out.pop_front()
    }

    fn bytes(parcel: &SiteParcel) -> &[u8] {
        &parcel.bytes
    }
}

/// A message that only asks or answers: of a key, by the number of a request, an amount.
fn short(key: u64, ticket: u64, amount: u64) -> Arc<[u8]> {
    let words = [0, key, ticket, amount].map(u64::to_le_bytes);
    words.concat().into()
}

/// The number and the amount in such a message.
fn words(bytes: &[u8]) -> (u64, u64) {
    let (words, _) = bytes.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
    (word(2), word(3))
}

/// Requests that are asked for have numbers from here on, those that wait for a lease lower ones.
const ASKED: u64 = 1 << 63;
/// Memory of a node.
const BYTES_MAX: u64 = 1 << 26;
