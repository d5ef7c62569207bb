//! Placements measured round by round in simulated brokers, until they keep their bound.
//!
//! Three ways: more and more brokers, the printed search, and the model that is verified. The last two are those of
//! `tollgate-split`; here is what they ask to be measured. Not here: which topics.

use tollgate_split::plan::fit::{FitStep, ModelFirst, PrintedFitting, Task, Topic};
use tollgate_split::plan::place::{Broker, BrokerShare, Principles, Publisher, distribute};
use tollgate_split::plan::predict::{Costs, PartRate};

use super::measure::{Figures, Placed};
use super::topic::TopicBucket;
use super::traffic::{Burst, MILLI, PublisherTraffic};

/// A topic to be fitted: one trace, and the bucket it has.
pub(super) struct Fitted {
    pub(super) publishers: Vec<Publisher>,
    pub(super) bursts: Vec<Burst>,
    pub(super) bucket: TopicBucket,
    pub(super) seed: u64,
}

#[derive(Clone, Debug)]
pub(super) struct FittingResult {
    /// Brokers that take part; those that there are where none of them is enough.
    pub(super) k: u32,
    pub(super) rounds: u32,
    pub(super) is_kept: bool,
    pub(super) figures: Figures,
}

/// Every broker keeps a millisecond at the 99th percentile.
pub(super) const BOUND_NS: u64 = MILLI;
pub(super) const BROKERS_MAX: usize = 8;
/// Rounds of a search; it does not end where fewer publishers are slower.
const ROUNDS_MAX: u32 = 200;
/// What a broker carries of single messages.
const CAPACITY: u64 = 60_000_000;

impl Fitted {
    /// The trace of a seed, and the bucket that another trace asked for.
    pub(super) fn new(
        traffic: &PublisherTraffic,
        bursts: Vec<Burst>,
        bucket: TopicBucket,
        seed: u64,
    ) -> Self {
        Self {
            publishers: traffic.publishers(),
            bursts,
            bucket,
            seed,
        }
    }

    fn brokers() -> Vec<Broker> {
        let idle = Broker {
            capacity: CAPACITY,
            load: 0,
        };
        vec![idle; BROKERS_MAX]
    }

    fn task(&self, principles: Principles) -> Task {
        Task {
            publishers: self.publishers.clone(),
            brokers: Self::brokers(),
            principles,
            seed: self.seed,
            bound_ns: BOUND_NS,
        }
    }

    pub(super) fn measure(&self, places: &[BrokerShare]) -> Figures {
        Placed::new(self.bucket, &self.publishers, places).measure(&self.bursts, self.seed)
    }

    /// On that many brokers.
    pub(super) fn at(&self, principles: Principles, count: usize) -> Figures {
        let places = distribute(
            &self.publishers,
            &Self::brokers(),
            principles,
            count,
            self.seed,
        );
        self.measure(&places.unwrap_or_default())
    }

    /// As few brokers as keep the bound when measured, one more in each round; where none does, those that come
    /// closest.
    pub(super) fn fewest(&self, principles: Principles) -> FittingResult {
        let mut best: Option<FittingResult> = None;
        for (rounds, count) in (1..).zip(1..=BROKERS_MAX) {
            let figures = self.at(principles, count);
            let ended = FittingResult {
                k: rounds,
                rounds,
                is_kept: is_kept(&figures),
                figures,
            };
            if ended.is_kept {
                return ended;
            }
            if best
                .as_ref()
                .is_none_or(|best| ended.figures.worst < best.figures.worst)
            {
                best = Some(ended);
            }
        }
        best.unwrap_or_else(|| self.none())
    }

    pub(super) fn search(&self, principles: Principles) -> FittingResult {
        let Ok((mut search, mut next)) = PrintedFitting::new(self.task(principles)) else {
            return self.none();
        };
        while let FitStep::Measure(places) = &next {
            if search.rounds() >= ROUNDS_MAX {
                break;
            }
            next = search.handle_measured(&self.measure(places).brokers);
        }
        self.ended(&next, search.rounds())
    }

    /// By the model first, which is told costs that are wrong by a factor.
    pub(super) fn model_first(&self, principles: Principles, wrong: f64) -> FittingResult {
        let costs = Costs::default();
        let topic = Topic {
            bucket: PartRate {
                rate: tokens(self.bucket.rate_milli) / 1e3,
                depth: tokens(self.bucket.burst),
            },
            costs: Costs {
                wake: costs.wake * wrong,
                message: costs.message * wrong,
                ..costs
            },
            beside_batch: 1.0,
            late: 0.01,
        };
        let Ok((mut fitting, mut next)) = ModelFirst::new(self.task(principles), topic) else {
            return self.none();
        };
        while let FitStep::Measure(places) = &next {
            next = fitting.handle_measured(&self.measure(places).brokers);
        }
        self.ended(&next, fitting.rounds())
    }

    fn ended(&self, next: &FitStep, rounds: u32) -> FittingResult {
        let (FitStep::Measure(places) | FitStep::Done(places) | FitStep::OutOfBrokers(places)) =
            next;
        FittingResult {
            k: u32::try_from(places.len()).unwrap_or(u32::MAX),
            rounds,
            is_kept: matches!(next, FitStep::Done(_)),
            figures: self.measure(places),
        }
    }

    fn none(&self) -> FittingResult {
        FittingResult {
            k: 0,
            rounds: 0,
            is_kept: false,
            figures: self.measure(&[]),
        }
    }
}

pub(super) fn is_kept(figures: &Figures) -> bool {
    figures.brokers.iter().all(|(_, nanos)| *nanos <= BOUND_NS)
}

#[allow(clippy::cast_precision_loss, reason = "planning")]
fn tokens(count: u64) -> f64 {
    count as f64
}
