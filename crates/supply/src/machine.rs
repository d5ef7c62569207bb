//! One node's part in one policy: decides, lends and borrows.
//!
//! Not here: membership, transport, clocks.

use tollgate_gossip::{Footprint, Key, Malformed, NodeId, Probe, Send, Standing, Verdict};
use tollgate_limit::{Instant, Span};

use crate::config::BadConfig;
use crate::figures::{Figures, Inspection};
use crate::limits::Limits;
use crate::setup::{Boot, Kept, Setup};
use crate::shares::Shares;

/// One node's part in one policy, for many keys.
///
/// After every call drain [`Self::poll_send`] (and [`Self::poll_kept`], where it is kept). Timeouts may come early or twice;
/// frames may be lost, doubled, late, out of order or malformed. The clock must not jump, and must not run wrong by more than
/// [`SupplyConfig::drift_ppm`](crate::SupplyConfig::drift_ppm); it need not agree with any other. A time before the last is the last.
#[derive(Debug)]
pub struct Machine {
    setup: Setup,
}

impl Machine {
    /// A machine that has just started.
    pub fn new(setup: Setup) -> Result<Self, BadConfig> {
        setup.config.check()?;
        Ok(Self { setup })
    }

    /// This node.
    pub fn me(&self) -> NodeId {
        self.setup.me
    }

    /// This boot.
    pub fn boot(&self) -> Boot {
        self.setup.boot
    }

    /// The limits it stands on.
    pub fn limits(&self) -> Limits {
        self.setup.limits
    }

    /// Sets how long a request may be made to wait for its tokens.
    pub fn set_wait_max(&mut self, wait_max: Span) {
        self.setup.wait_max = wait_max;
    }

    /// Decides one request and counts it if it passes. A cost of zero is a peek: as cost one, and nothing is counted.
    /// A refused request may make this node ask others.
    pub fn handle_request(&mut self, key: Key, cost: u64, now: Instant) -> Verdict {
        let Probe { verdict, .. } = self.probe(key, cost, now);
        verdict
    }

    /// What [`Self::handle_request`] would answer; nothing is counted and nobody is asked.
    pub fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
        let _ = (key, cost, now);
        Probe {
            verdict: Verdict::Never,
            remaining: 0,
            over: 0,
        }
    }

    /// Like [`Self::probe`], without a trace: a key that is not known stays so.
    pub fn peek(&self, key: Key, cost: u64, now: Instant) -> Probe {
        let _ = (key, cost, now);
        Probe {
            verdict: Verdict::Never,
            remaining: 0,
            over: 0,
        }
    }

    /// Counts what a probe at the same time admitted.
    pub fn take(&mut self, key: Key, cost: u64, now: Instant) {
        let _ = (key, cost, now);
    }

    /// Counts that a request was offered and refused, here or by another policy; others are asked if that may help.
    pub fn miss(&mut self, key: Key, cost: u64, now: Instant) {
        let _ = (key, cost, now);
    }

    /// Counts `cost` without asking, as debt if need be, but no more than takes the key `debt_max` tokens below zero.
    pub fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        let _ = (key, cost, debt_max, now);
    }

    /// Gives `cost` back, as far as the bucket holds it. Other nodes do not see it.
    pub fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        let _ = (key, cost, now);
    }

    /// Fills this node's bucket.
    pub fn reset(&mut self, key: Key, now: Instant) {
        let _ = (key, now);
    }

    /// How a key stands.
    pub fn standing(&mut self, key: Key, now: Instant) -> Standing {
        let _ = (key, now);
        Standing {
            remaining: 0,
            reset_after: Span::ZERO,
        }
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let _ = (from, frame, now);
        Ok(())
    }

    /// Hears who is believed alive and may be asked, this node included or not, in ascending order.
    pub fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        let _ = (alive, now);
    }

    /// Hears how the rate is to be divided. Less counts at once, more when every node stands there.
    pub fn handle_shares(&mut self, shares: Shares, now: Instant) {
        let _ = (shares, now);
    }

    /// Hears another limit. Less counts at once, more when every node stands there.
    pub fn set_limits(&mut self, limits: Limits, now: Instant) {
        let _ = (limits, now);
    }

    /// Hears that a node certainly does not run, by somebody who knows: it need not agree to a change. Being wrong
    /// about it can let more pass than the limit.
    pub fn handle_gone(&mut self, node: NodeId, now: Instant) {
        let _ = (node, now);
    }

    /// What is to be stored before this node says where it stands, if that has changed.
    pub fn poll_kept(&mut self) -> Option<Kept> {
        None
    }

    /// Hears what is stored now.
    pub fn handle_kept(&mut self, kept: Kept, now: Instant) {
        let _ = (kept, now);
    }

    /// Gives back what is borrowed, stops using its home, and tells the others, as it is about to go. Send what there is afterwards.
    pub fn goodbye(&mut self, now: Instant) {
        let _ = now;
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The next frame to send, oldest first. Drain it after every other call.
    pub fn poll_send(&mut self) -> Option<Send> {
        None
    }

    /// Whether nothing is asked, lent or borrowed.
    pub fn is_quiet(&self) -> bool {
        true
    }

    /// How a key stands, in full.
    pub fn inspect(&self, key: Key, now: Instant) -> Inspection {
        let _ = (key, now);
        Inspection::default()
    }

    /// What was counted since the start.
    pub fn figures(&self) -> Figures {
        Figures::default()
    }

    /// Bytes of state held now.
    pub fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    /// Every key that is known, in ascending order.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        std::iter::empty()
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        0
    }

    /// Whether something is known of a key.
    pub fn knows(&self, key: Key) -> bool {
        let _ = key;
        false
    }

    /// Forgets one key to make room, one that is as if never seen; says whether there was one.
    pub fn evict(&mut self, now: Instant) -> bool {
        let _ = now;
        false
    }
}
