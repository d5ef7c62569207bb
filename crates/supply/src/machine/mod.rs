//! One node's part in one policy: what goes in and comes out, and what is kept in between.
//!
//! The rest of the machine is beside this: `decide` (requests), `lend`, `borrow`, `round` (what is due) and `stand`
//! (changes, leases, restarts). Not here: membership, transport, clocks.

mod borrow;
mod decide;
mod lend;
mod look;
mod round;
mod see;
mod stand;

use std::collections::BTreeSet;

use tollgate_gossip::{Malformed, ModeKey, NodeId, Send};
use tollgate_limit::{Instant, Span};
use tollgate_mode::Keyed;

use crate::authority::AUTHORITY;
use crate::bucket::{SupplyBucket, signed};
use crate::cell::{EndedLoans, SupplyCell};
use crate::config::{BadConfig, SupplyConfig};
use crate::figures::SupplyFigures;
use crate::fill::Party;
use crate::ground::BaseShare;
use crate::home::{Home, quarantine};
use crate::limits::Limits;
use crate::peers::{FrameSender, SupplyPeers};
use crate::planted;
use crate::post::SupplyOutbox;
use crate::setup::{Begin, Boot, SupplySetup};
use crate::wire::{self, Message, SupplyHead};
use stand::Tenure;
pub(crate) use stand::limits_number;

/// One node's part in one policy, for many keys.
///
/// After every call drain [`Self::poll_send`] (and [`Self::poll_kept`], where it is kept). Timeouts may come early or
/// twice; frames may be lost, doubled, late, out of order or malformed. The clock must not jump, and must not run wrong
/// by more than [`SupplyConfig::drift_ppm`]; it need not agree with any other. A time before the last is the last.
#[derive(Debug)]
pub struct Machine {
    own: Own,
    home: Home,
    tenure: Tenure,
    cells: Keyed<SupplyCell>,
    /// What the bucket of a key holds that was never heard of.
    blank: SupplyBucket,
    /// Keys whose turn comes every round; the others wait for it where there are many.
    busy: BTreeSet<ModeKey>,
    /// When looks go on without those who have not answered.
    agenda: BTreeSet<(Instant, ModeKey)>,
    round_at: Option<Instant>,
    peers: SupplyPeers,
    post: SupplyOutbox,
    /// Asks and looks so far.
    tickets: u64,
    /// Loans given so far.
    seqs: u64,
    figures: SupplyFigures,
    now: Instant,
}

/// What does not change, or only from outside.
#[derive(Debug)]
struct Own {
    me: NodeId,
    boot: Boot,
    config: SupplyConfig,
    wait_max: Span,
    /// The longest that was.
    waited: Span,
    leaks: bool,
}

/// Whoever sent a message.
#[derive(Clone, Copy, Debug)]
struct Sender {
    node: NodeId,
    boot: Boot,
    /// Whether the frame is for this boot, so that answers in it are answers to this boot.
    is_for_me: bool,
    /// When this node sent the last frame that the sender had heard.
    echo: Instant,
}

impl Machine {
    /// A machine that has just started.
    pub fn new(setup: SupplySetup) -> Result<Self, BadConfig> {
        setup.config.check()?;
        let SupplySetup { config, start, .. } = setup;
        let is_fresh = setup.begin == Begin::Fresh;
        let waited = match &setup.begin {
            Begin::Restart(Some(kept)) => setup.wait_max.max(kept.waited),
            Begin::Fresh | Begin::Restart(None) => setup.wait_max,
        };
        let wait = planted!("no-quarantine", quarantine(&config, waited), Span::ZERO);
        let from = if is_fresh {
            start
        } else {
            start.saturating_add(wait)
        };
        let ground = BaseShare::new(setup.limits, from, config.drift_ppm);
        let mut home = Home::new(setup.me, setup.shares, &setup.begin, ground);
        let tenure = Tenure::new(&config, start);
        let mut blank = SupplyBucket::empty(start);
        // Under a lease nothing is there before the authority says so.
        if planted!("restart-begins-full", is_fresh, true) && config.lease.is_none() {
            blank.tokens = signed(home.ground.depth(home.ground.home));
        }
        if config.lease.is_some() {
            home.lease(home.ground.home, start, start);
        }
        Ok(Self {
            home,
            tenure,
            cells: Keyed::default(),
            blank,
            busy: BTreeSet::new(),
            agenda: BTreeSet::new(),
            round_at: None,
            peers: SupplyPeers::new(setup.me, &setup.members, setup.seed),
            post: SupplyOutbox::new(setup.boot),
            tickets: 0,
            seqs: 0,
            figures: SupplyFigures::default(),
            now: start,
            own: Own {
                me: setup.me,
                boot: setup.boot,
                wait_max: setup.wait_max,
                waited,
                leaks: setup.leaks,
                config,
            },
        })
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let now = self.at(now);
        let (head, messages) = wire::decode(frame).inspect_err(|_| {
            self.figures.ignored.malformed += 1;
        })?;
        if from == self.own.me || !self.knows_node(from) {
            self.figures.ignored.strangers += 1;
            return Ok(());
        }
        match self.peers.hear(from, &head, self.own.config.drift_ppm, now) {
            FrameSender::Old(by) => {
                self.figures.ignored.old_boots += 1;
                self.post.push(from, Message::Superseded { by });
            }
            FrameSender::Current => self.hear_all(from, &head, messages, now),
        }
        self.post.flush(&self.peers, now);
        Ok(())
    }

    fn hear_all(&mut self, from: NodeId, head: &SupplyHead, messages: Vec<Message>, now: Instant) {
        let sender = Sender {
            node: from,
            boot: head.boot,
            is_for_me: head.yours == self.own.boot,
            echo: head.echo,
        };
        for message in messages {
            self.hear(sender, message, now);
        }
    }

    /// Takes one message.
    fn hear(&mut self, from: Sender, message: Message, now: Instant) {
        let is_answer = match message {
            Message::Offer(_)
            | Message::Grant(_)
            | Message::Recall(_)
            | Message::Here(_)
            | Message::Nudge
            | Message::Home(_) => true,
            Message::Look { .. }
            | Message::Ask(_)
            | Message::Where { .. }
            | Message::Superseded { .. }
            | Message::Renew(_)
            | Message::Goodbye => false,
        };
        if is_answer && !planted!("answers-to-an-old-boot", from.is_for_me, true) {
            self.figures.ignored.old_boots += 1;
            return;
        }
        match message {
            Message::Look { key, ticket } => self.hear_look(from, key, ticket, now),
            Message::Offer(offered) => self.hear_offer(from, offered, now),
            Message::Ask(ask) => self.hear_ask(from, &ask, now),
            Message::Grant(grant) => self.hear_grant(from, &grant, now),
            Message::Recall(recall) => self.hear_recall(from, recall, now),
            Message::Where { change, .. } => self.hear_where(from, change, now),
            Message::Here(here) => self.hear_here(from, here, now),
            Message::Superseded { by } => self.hear_superseded(by, now),
            Message::Home(renewed) if from.node == AUTHORITY => self.hear_home(renewed, now),
            Message::Nudge if from.node == AUTHORITY => self.hear_nudge(now),
            Message::Goodbye => self.peers.leave(from.node),
            // Only an authority is asked that, and nobody else answers.
            Message::Renew(_) | Message::Home(_) | Message::Nudge => {
                self.figures.ignored.strangers += 1;
            }
        }
    }

    /// The next frame to send, oldest first. Drain it after every other call.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.post.pop()
    }

    /// Whether messages of a node are read.
    fn knows_node(&self, node: NodeId) -> bool {
        self.peers.is_member(node)
            || self.home.party().any(|other| other == node)
            || (node == AUTHORITY && self.own.config.lease.is_some())
    }

    /// The time of a call: never before the last.
    fn at(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    /// The cell of a key, brought to `now`; one is made if there is room. `None`: there is none.
    fn enter(&mut self, key: ModeKey, now: Instant) -> Option<&mut SupplyCell> {
        if !self.cells.contains_key(key) {
            if self.cells.len() >= self.own.config.keys_max && !self.evict(now) {
                self.figures.ignored.full += 1;
                return None;
            }
            let blank = self.blank_at(now);
            self.cells.insert(key, SupplyCell::new(blank, now));
        }
        self.settled(key, now)
    }

    /// The cell of a key that is known, brought to `now`.
    fn settled(&mut self, key: ModeKey, now: Instant) -> Option<&mut SupplyCell> {
        let cell = self.cells.get_mut(key)?;
        let ended = cell.settle(&self.home.ground, now);
        note_ended(&mut self.figures, ended);
        Some(cell)
    }

    /// The bucket of a key that was never heard of.
    fn blank_at(&self, now: Instant) -> SupplyBucket {
        let mut cell = SupplyCell::new(self.blank, now);
        cell.settle(&self.home.ground, now);
        cell.bucket
    }

    /// How a key stands, as others are told.
    fn party(&self, cell: &SupplyCell, now: Instant) -> Party {
        Party {
            supply: cell.usable(&self.home.ground),
            weight: self.weight(cell, now),
        }
    }

    /// What a key wants, and a little.
    fn weight(&self, cell: &SupplyCell, now: Instant) -> u64 {
        let rate = self.home.ground.limits.rate();
        let demand = cell.demand.rate(self.own.config.round, now);
        let need = cell.asking.need.map_or(0, |(need, _)| need);
        // Beyond that a demand counts no more, so that a lie has its bounds.
        let most = rate.saturating_mul(DEMAND_TIMES_MAX);
        let least = self.least_weight();
        demand
            .max(need)
            .min(most)
            .saturating_add(least)
            .min(Party::WEIGHT_MAX)
    }

    /// What a key without demand weighs.
    fn least_weight(&self) -> u64 {
        let nodes = (self.peers.count() as u64 + 1).max(1);
        let rate = u128::from(self.home.ground.limits.rate());
        let milli = u128::from(self.own.config.epsilon_milli);
        let least = rate * milli / 1000 / u128::from(nodes);
        u64::try_from(least)
            .unwrap_or(u64::MAX)
            .clamp(1, Party::WEIGHT_MAX / 2)
    }

    /// Whether an amount is too small to move between two who have so much.
    fn is_trifle(&self, amount: u64, left: Party, right: Party) -> bool {
        let smaller = u128::from(left.supply.min(right.supply));
        let least = smaller * u128::from(self.own.config.hysteresis_milli) / 1000;
        amount == 0 || u128::from(amount) < least
    }

    /// Another number for a question.
    fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Lets rounds go on, and gives a key a turn in each of them unless it has no need of others.
    fn activate(&mut self, key: ModeKey, now: Instant) {
        let cell = self.cells.get(key);
        if cell.is_some_and(|cell| !cell.is_calm(&self.home.ground)) {
            self.busy.insert(key);
        }
        if self.round_at.is_none() {
            self.round_at = Some(now.saturating_add(self.own.config.round));
        }
    }

    /// The limits it stands on.
    pub fn limits(&self) -> Limits {
        self.home.ground.limits
    }
}

/// Counts loans that came to their end.
fn note_ended(figures: &mut SupplyFigures, ended: EndedLoans) {
    let loans = &mut figures.loans;
    loans.expired += ended.expired;
    loans.ended += ended.expired;
    loans.lapsed += ended.lapsed;
    loans.ended_age = Span::from_nanos(loans.ended_age.as_nanos().saturating_add(ended.age));
}

/// A demand counts up to that many times the limit.
const DEMAND_TIMES_MAX: u64 = 4;
