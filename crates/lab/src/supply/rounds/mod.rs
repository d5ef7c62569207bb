//! How many rounds each rule takes until all fill ratios are within 5 % of equal, in a world without delay or faults.
//!
//! Models of rules, for the table of convergence. Not here: the protocol, which is run in the world.

#![allow(
    clippy::cast_precision_loss,
    reason = "models in floating point, of at most some hundred nodes"
)]

mod flow;
mod graph;
mod group;
mod pair;
mod state;
mod view;

use crate::dice::{LabDice, Purpose};
use graph::Graph;
use pair::Choice;
pub(crate) use state::DemandSpread;
use state::RoundState;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeRule {
    Ring,
    TwoEach,
    Four,
    Log,
    RingMomentum,
    FourMomentum,
    PairRing,
    PairAny,
    BestOf2,
    BestOf4,
    RichestOf4,
    Group,
    PushSum,
    FullView,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundsCost {
    /// `None`: not within the rounds given.
    pub(crate) rounds: Option<u64>,
    /// Messages per node.
    pub(crate) messages: f64,
}

impl RoundsCost {
    fn after(rounds: u64, messages: f64) -> Self {
        Self {
            rounds: Some(rounds),
            messages,
        }
    }

    fn never() -> Self {
        Self {
            rounds: None,
            messages: f64::NAN,
        }
    }
}

/// Rounds after which a rule is given up.
const ROUNDS_MAX: u64 = 200_000;
const MOMENTUM_ROUNDS_MAX: u64 = 5_000;

impl ExchangeRule {
    /// In the order of the table.
    pub(crate) const ALL: [Self; 14] = [
        Self::Ring,
        Self::TwoEach,
        Self::Four,
        Self::Log,
        Self::RingMomentum,
        Self::FourMomentum,
        Self::PairRing,
        Self::PairAny,
        Self::BestOf2,
        Self::BestOf4,
        Self::RichestOf4,
        Self::Group,
        Self::PushSum,
        Self::FullView,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ring => "document, sound units, ring",
            Self::TwoEach => "diffusion, pick two random",
            Self::Four => "diffusion, random d=4",
            Self::Log => "diffusion, random d≈log₂N",
            Self::RingMomentum => "second order, ring",
            Self::FourMomentum => "second order, random d=4",
            Self::PairRing => "pairwise, ring",
            Self::PairAny => "pairwise, any peer",
            Self::BestOf2 => "best of 2 peers",
            Self::BestOf4 => "best of 4 peers",
            Self::RichestOf4 => "poor takes from richest of 4",
            Self::Group => "group ask, 2…64",
            Self::PushSum => "push-sum estimate + ask 3",
            Self::FullView => "full-view gossip + matching",
        }
    }

    pub(crate) fn run(self, nodes: u16, load: DemandSpread, seed: u64) -> RoundsCost {
        let mut dice = LabDice::new(seed, Purpose::Worlds);
        let nodes = usize::from(nodes);
        let state = RoundState::new(nodes, load, &mut dice);
        let dice = &mut dice;
        let pairs = |choice, dice| pair::exchange(state.clone(), choice, ROUNDS_MAX, dice);
        match self {
            Self::Ring => flow::diffuse(state, &Graph::ring(nodes), ROUNDS_MAX),
            Self::TwoEach => flow::diffuse(state, &Graph::two_each(nodes, dice), ROUNDS_MAX),
            Self::Four => flow::diffuse(state, &Graph::random(nodes, 4, dice), ROUNDS_MAX),
            Self::Log => {
                let degree = nodes.next_power_of_two().ilog2() as usize;
                flow::diffuse(state, &Graph::random(nodes, degree, dice), ROUNDS_MAX)
            }
            Self::RingMomentum => {
                flow::with_momentum(&state, &Graph::ring(nodes), MOMENTUM_ROUNDS_MAX)
            }
            Self::FourMomentum => {
                flow::with_momentum(&state, &Graph::random(nodes, 4, dice), MOMENTUM_ROUNDS_MAX)
            }
            Self::PairRing => pairs(Choice::Beside, dice),
            Self::PairAny => pairs(Choice::Best(1), dice),
            Self::BestOf2 => pairs(Choice::Best(2), dice),
            Self::BestOf4 => pairs(Choice::Best(4), dice),
            Self::RichestOf4 => pairs(Choice::Richest(4), dice),
            Self::Group => group::ask(state, ROUNDS_MAX, dice),
            Self::PushSum => view::push_sum(state, ROUNDS_MAX, dice),
            Self::FullView => view::full_view(&state, ROUNDS_MAX, dice),
        }
    }
}
