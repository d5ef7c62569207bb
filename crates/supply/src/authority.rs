//! Who may have which home when homes are leased: one place that knows, and reassigns the home of whoever is silent.
//!
//! It is a register that must be kept by somebody (one process, or several that agree); nothing a request waits for
//! goes through it. What it may have let a node believe is `granted`, and all of that together is never more than the
//! limit; what a node should have is `target`. Not here: how the register is kept.

use std::collections::{BTreeMap, VecDeque};

use tollgate_gossip::{Encoder, Malformed, NodeId, Send};
use tollgate_limit::{Instant, Span};

use crate::config::SupplyConfig;
use crate::limits::Limits;
use crate::loans::narrow;
use crate::machine::limits_number;
use crate::planted;
use crate::setup::Boot;
use crate::shares::Shares;
use crate::wire::{self, Message, Renew, Renewed, SupplyHead};

/// Frames to this node are for the authority, and frames from it are from there.
pub const AUTHORITY: NodeId = NodeId(u16::MAX);

/// Who has which home by lease. Drive it as a machine: frames and timeouts in, frames out.
#[derive(Debug)]
pub struct Authority {
    limits: Limits,
    config: SupplyConfig,
    /// How long after the end of its lease a node's loans and promises may last.
    after: Span,
    accounts: BTreeMap<NodeId, Account>,
    /// What nobody should have, until somebody asks.
    pool: u64,
    /// Whether some may stand on other limits.
    has_changed: bool,
    frames: VecDeque<Send>,
}

/// What is known of one node.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// The most that it may believe.
    granted: u64,
    /// What it should have.
    target: u64,
    boot: Boot,
    /// The last time on its clock.
    sent: Instant,
    /// When it was last answered, or might have been.
    heard: Instant,
    /// The last question of its boot.
    ticket: u64,
    /// Since this question all answers were at most so much.
    lowered: Option<(u64, u64)>,
    /// When it said goodbye.
    left: Option<Instant>,
    /// The limits it stands on.
    number: Option<u64>,
}

impl Authority {
    /// An authority that begins with a division. `wait_max` is the longest wait that a machine may promise.
    pub fn new(
        limits: Limits,
        shares: &Shares,
        config: SupplyConfig,
        wait_max: Span,
        start: Instant,
    ) -> Self {
        let homes = shares.homes(limits.rate());
        Self {
            has_changed: false,
            ..Self::resume(limits, &homes, config, wait_max, start)
        }
    }

    /// An authority that goes on with what [`Self::homes`] told last. It reassigns nothing before every lease of its
    /// past has ended, and gives nobody more before all have said where they stand. What nobody had goes to whoever
    /// asks first; where they had more than there is now, all are cut alike.
    pub fn resume(
        limits: Limits,
        homes: &[(NodeId, u64)],
        config: SupplyConfig,
        wait_max: Span,
        start: Instant,
    ) -> Self {
        let given: u128 = homes.iter().map(|(_, home)| u128::from(*home)).sum();
        let rate = u128::from(limits.rate());
        let account = |home: u64| Account {
            granted: home,
            target: narrow(u128::from(home) * rate / given.max(rate)),
            boot: Boot(0),
            sent: Instant::default(),
            heard: start,
            ticket: 0,
            lowered: None,
            left: None,
            number: None,
        };
        let accounts = homes.iter().map(|(node, home)| (*node, account(*home)));
        let accounts: BTreeMap<_, _> = accounts.collect();
        let targets = accounts.values().map(|account| account.target).sum();
        Self {
            limits,
            after: config.term.max(wait_max),
            config,
            pool: limits.rate().saturating_sub(targets),
            has_changed: true,
            accounts,
            frames: VecDeque::new(),
        }
    }

    /// What every node may have, in ascending order.
    pub fn homes(&self) -> Vec<(NodeId, u64)> {
        let each = self.accounts.iter();
        each.map(|(node, account)| (*node, account.granted))
            .collect()
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let (head, messages) = wire::decode(frame)?;
        self.handle_timeout(now);
        let Some(account) = self.account(from, now) else {
            return Ok(());
        };
        if head.boot < account.boot {
            let by = account.boot;
            self.send(from, Message::Superseded { by }, now);
            return Ok(());
        }
        if head.boot > account.boot {
            (account.boot, account.ticket) = (head.boot, 0);
            (account.lowered, account.left) = (None, None);
        }
        account.sent = account.sent.max(head.sent);
        for message in messages {
            match message {
                Message::Renew(renew) => self.renew(from, renew, now),
                Message::Goodbye => self.bid_farewell(from, now),
                Message::Look { .. }
                | Message::Offer(_)
                | Message::Ask(_)
                | Message::Grant(_)
                | Message::Recall(_)
                | Message::Where { .. }
                | Message::Here(_)
                | Message::Superseded { .. }
                | Message::Nudge
                | Message::Home(_) => {}
            }
        }
        Ok(())
    }

    /// The account of a node; one that comes new has nothing.
    fn account(&mut self, node: NodeId, now: Instant) -> Option<&mut Account> {
        if !self.accounts.contains_key(&node) && self.accounts.len() >= Shares::NODES_MAX {
            return None;
        }
        Some(self.accounts.entry(node).or_insert(Account {
            granted: 0,
            target: 0,
            boot: Boot(0),
            sent: Instant::default(),
            heard: now,
            ticket: 0,
            lowered: None,
            left: None,
            number: None,
        }))
    }

    fn bid_farewell(&mut self, from: NodeId, now: Instant) {
        if let Some(account) = self.accounts.get_mut(&from) {
            account.left = account.left.or(Some(now));
        }
    }

    /// A node wants to keep its home.
    fn renew(&mut self, from: NodeId, renew: Renew, now: Instant) {
        let Renew {
            ticket,
            number,
            seen,
            is_clear,
        } = renew;
        let (pool, had_changed) = (self.pool, self.has_changed);
        let Some(account) = self.accounts.get_mut(&from) else {
            return;
        };
        if account.left.is_some() || ticket <= account.ticket {
            return;
        }
        account.ticket = ticket;
        account.heard = now;
        account.number = Some(number);
        account.target += pool;
        let lowered = account.lowered;
        let lowered = lowered.filter(|(since, _)| seen >= *since && is_clear);
        if let Some((_, most)) = lowered {
            account.granted = account.granted.min(most);
            account.lowered = None;
        }
        self.pool = 0;
        self.raise(from);
        if lowered.is_some() || had_changed != self.has_changed {
            self.nudge(now);
        }
        let Some(account) = self.accounts.get_mut(&from) else {
            return;
        };
        let home = account.target.min(account.granted);
        if home < account.granted && account.lowered.is_none_or(|(_, most)| most != home) {
            account.lowered = Some((ticket, home));
        }
        let renewed = Renewed {
            ticket,
            number: limits_number(self.limits),
            home,
            is_settled: !self.has_changed,
        };
        self.send(from, Message::Home(renewed), now);
    }

    /// Lets a node have what it should, as far as nobody else may believe to have it.
    fn raise(&mut self, node: NodeId) {
        self.has_changed = self.has_changed && !self.all_agree();
        if self.has_changed {
            return;
        }
        let granted = self.accounts.values().map(|account| account.granted);
        let granted = granted.fold(0, u64::saturating_add);
        let free = self.limits.rate().saturating_sub(granted);
        if let Some(account) = self.accounts.get_mut(&node) {
            let more = account.target.saturating_sub(account.granted).min(free);
            account.granted += more;
        }
    }

    /// Tells those who should have more to ask for it; whoever does not hear that hears it with its next renewal.
    fn nudge(&mut self, now: Instant) {
        let waits = |account: &Account| {
            account.target > account.granted && account.left.is_none() && account.boot > Boot(0)
        };
        let accounts = self.accounts.iter();
        let waiting: Vec<_> = accounts
            .filter(|(_, account)| waits(account) && !self.has_changed)
            .map(|(node, _)| *node)
            .collect();
        for node in waiting {
            self.send(node, Message::Nudge, now);
        }
    }

    /// Whether everybody who has something stands on the limits.
    fn all_agree(&self) -> bool {
        let number = Some(limits_number(self.limits));
        let mut accounts = self.accounts.values();
        accounts.all(|account| account.granted == 0 || account.number == number)
    }

    /// Does what is due: what the silent had goes to their buddies.
    pub fn handle_timeout(&mut self, now: Instant) {
        let due: Vec<_> = self
            .accounts
            .iter()
            .filter(|(_, account)| {
                account.granted.max(account.target) > 0 && self.over_at(account) <= now
            })
            .map(|(node, _)| *node)
            .collect();
        if due.is_empty() {
            return;
        }
        for node in due {
            let buddy = self.buddy(node, now);
            let Some(account) = self.accounts.get_mut(&node) else {
                continue;
            };
            let left = std::mem::take(&mut account.target);
            (account.granted, account.lowered) = (0, None);
            match buddy.and_then(|buddy| self.accounts.get_mut(&buddy)) {
                Some(account) => account.target += left,
                None => self.pool += left,
            }
        }
        self.nudge(now);
    }

    /// When nothing of what a node had can be in use any more.
    fn over_at(&self, account: &Account) -> Instant {
        let lease = self.config.lease.unwrap_or(Span::ZERO);
        let lease = planted!("inherits-before-the-lease-ends", lease.as_nanos(), 0);
        let silence = Span::from_nanos(lease + self.after.as_nanos());
        let silent = account.heard.saturating_add(self.config.longer(silence, 4));
        let gone = account
            .left
            .map(|left| left.saturating_add(self.config.longer(self.after, 4)));
        gone.map_or(silent, |gone| gone.min(silent))
    }

    /// Who inherits: the next node in order that was heard lately.
    fn buddy(&self, node: NodeId, now: Instant) -> Option<NodeId> {
        let lease = self.config.lease.unwrap_or(Span::ZERO);
        let is_alive = |account: &Account| {
            account.left.is_none()
                && account.heard.saturating_add(lease) > now
                && account.boot > Boot(0)
        };
        let after = self.accounts.range(node..).skip(1);
        let mut order = after.chain(self.accounts.range(..node));
        order
            .find(|(_, account)| is_alive(account))
            .map(|(node, _)| *node)
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let held = self
            .accounts
            .values()
            .filter(|account| account.granted.max(account.target) > 0);
        held.map(|account| self.over_at(account)).min()
    }

    /// The next frame to send, oldest first.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.frames.pop_front()
    }

    /// Changes the limit: what is too much is taken back first, and what is more is given when all stand on it.
    pub fn set_limits(&mut self, limits: Limits, now: Instant) {
        self.handle_timeout(now);
        if limits == self.limits {
            return;
        }
        let old = u128::from(self.limits.rate());
        let scale = |part: u64| narrow(u128::from(part) * u128::from(limits.rate()) / old);
        let mut given = 0;
        for account in self.accounts.values_mut() {
            account.target = scale(account.target);
            account.lowered = None;
            given += account.target;
        }
        // What rounding leaves goes to whoever asks first.
        self.pool = limits.rate().saturating_sub(given);
        self.limits = limits;
        self.has_changed = true;
    }

    fn send(&mut self, to: NodeId, message: Message, now: Instant) {
        let account = self.accounts.get(&to);
        let head = SupplyHead {
            boot: Boot(1),
            yours: account.map_or(Boot(0), |account| account.boot),
            sent: now,
            echo: account.map_or(Instant::default(), |account| account.sent),
        };
        let mut encoder = Encoder::default();
        head.encode(&mut encoder);
        message.encode(&mut encoder);
        let frame = encoder.finish();
        self.frames.push_back(Send { to, frame });
        if self.frames.len() > FRAMES_MAX {
            self.frames.pop_front();
        }
    }
}

/// Frames that may wait.
const FRAMES_MAX: usize = 1 << 14;
