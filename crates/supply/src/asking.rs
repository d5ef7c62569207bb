//! What one key is asking of others: the look that runs, asks without an answer, and how often to try.
//!
//! Not here: what is asked for.

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};

use crate::config::SupplyConfig;
use crate::fill::Offer;

/// A key's questions.
#[derive(Clone, Debug)]
pub(crate) struct KeyQuestions {
    /// The look that runs.
    pub(crate) look: Option<PeerQuery>,
    /// Asks without an answer.
    pub(crate) asks: Vec<LenderRequest>,
    /// Peers that the next look asks.
    pub(crate) probes: u32,
    /// When the next refusal may cause a look,
    pub(crate) again_at: Instant,
    /// and how long after that the next.
    pub(crate) gap: Span,
    /// Whether a request was refused in this round.
    pub(crate) has_refused: bool,
    /// Whether the last look found somebody richer.
    pub(crate) has_rich: bool,
    /// The rate whose depth a refused request needs, and until when that counts.
    pub(crate) need: Option<(u64, Instant)>,
}

/// Peers were asked how they stand.
#[derive(Clone, Debug)]
pub(crate) struct PeerQuery {
    pub(crate) ticket: u64,
    pub(crate) asked: usize,
    pub(crate) offers: Vec<Offer<NodeId>>,
    pub(crate) begin: Instant,
    /// When it goes on without those who have not answered.
    pub(crate) deadline: Instant,
}

/// A lender was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LenderRequest {
    pub(crate) ticket: u64,
    pub(crate) to: NodeId,
    /// When: whatever is granted counts from here.
    pub(crate) at: Instant,
    pub(crate) want: u64,
}

impl KeyQuestions {
    /// Nothing was asked.
    pub(crate) const NONE: Self = Self {
        look: None,
        asks: Vec::new(),
        probes: 0,
        again_at: Instant::from_nanos(0),
        gap: Span::ZERO,
        has_refused: false,
        has_rich: false,
        need: None,
    };

    /// Whether nothing is asked.
    pub(crate) fn is_quiet(&self) -> bool {
        self.look.is_none() && self.asks.is_empty()
    }

    /// Asks fewer peers where no request was refused since the last time.
    pub(crate) fn adapt(&mut self, config: &SupplyConfig) {
        if !self.has_refused {
            self.probes /= 2;
        }
        self.probes = self.probes.clamp(config.probes_min, config.probes_max);
        self.has_refused = false;
    }

    /// Asks again soon where that helped, and later where it did not.
    pub(crate) fn pace(&mut self, has_helped: bool, config: &SupplyConfig) {
        let doubled = Span::from_nanos(self.gap.as_nanos().saturating_mul(2));
        self.gap = if has_helped {
            config.ask_gap_min
        } else {
            doubled.clamp(config.ask_gap_min, config.ask_gap_max)
        };
    }

    /// Forgets asks whose answer could not count any more.
    pub(crate) fn forget(&mut self, term: Span, now: Instant) {
        self.asks.retain(|ask| ask.at.saturating_add(term) > now);
        self.need = self.need.filter(|(_, until)| *until > now);
    }

    /// Whether a lender was asked and may still answer soon.
    pub(crate) fn awaits(&self, lender: NodeId, patience: Span, now: Instant) -> bool {
        let is_fresh = |ask: &LenderRequest| ask.at.saturating_add(patience) > now;
        self.asks
            .iter()
            .any(|ask| ask.to == lender && is_fresh(ask))
    }

    /// What is asked for and not answered.
    pub(crate) fn wanted(&self) -> u64 {
        self.asks
            .iter()
            .fold(0, |sum, ask| sum.saturating_add(ask.want))
    }
}
