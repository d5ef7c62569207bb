//! Which gateways to try next, given the measurements: by the model first, or by halving.
//!
//! A search says what to run and gets the percentile of every gateway; the caller decides how long a round takes. Not
//! here: the model (`tollgate-split`), and measuring (`live`).

use tollgate_split::plan::fit::{FitStep, ModelFirst, Task, Topic, predict};
use tollgate_split::plan::place::{BrokerShare, NoRoom, distribute};

/// A way to run the topic: each gateway's share; zero for those left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) parts: Vec<u64>,
    /// The percentile of the slowest gateway by the model in nanoseconds, if there is a model.
    pub(super) predicted_ns: Option<u64>,
}

impl Trial {
    pub(super) fn count(&self) -> usize {
        self.parts.iter().filter(|part| **part > 0).count()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SearchStep {
    /// Run this, and report the percentile of every gateway that takes part.
    Measure(Trial),
    /// This keeps the objective.
    Kept(Trial),
    /// No trial kept the objective.
    NotKept,
}

pub(super) enum TrialSearch {
    Model(Box<ModelSearch>),
    Binary(Binary),
}

impl TrialSearch {
    /// The model says where to begin, and is corrected by what it got wrong.
    pub(super) fn model(task: Task, topic: Topic) -> Result<(Self, SearchStep), NoRoom> {
        let (model, next) = ModelSearch::new(task, topic)?;
        Ok((Self::Model(Box::new(model)), next))
    }

    /// Halves how many of `count` take part; assumes that more are never slower.
    pub(super) fn binary(count: usize, bound_ns: u64) -> (Self, SearchStep) {
        let mut binary = Binary {
            low: 1,
            high: count,
            tried: 0,
            count,
            bound_ns,
            kept: None,
        };
        let next = binary.next();
        (Self::Binary(binary), next)
    }

    /// Takes the percentiles of gateways in nanoseconds; one that takes part and is not listed did not keep the
    /// objective.
    pub(super) fn handle_measured(&mut self, measured: &[(usize, u64)]) -> SearchStep {
        match self {
            Self::Model(model) => model.handle_measured(measured),
            Self::Binary(binary) => binary.handle_measured(measured),
        }
    }
}

pub(super) struct ModelSearch {
    task: Task,
    topic: Topic,
    fitting: ModelFirst,
    trial: Trial,
    kept: Option<Trial>,
    /// This many did not keep the objective.
    too_few: usize,
}

impl ModelSearch {
    fn new(task: Task, topic: Topic) -> Result<(Self, SearchStep), NoRoom> {
        let (fitting, _) = ModelFirst::new(task.clone(), topic)?;
        let plan = fitting.plan();
        let trial = trial(&task, &plan.places, plan.worst());
        let next = SearchStep::Measure(trial.clone());
        let model = Self {
            task,
            topic,
            fitting,
            trial,
            kept: None,
            too_few: 0,
        };
        Ok((model, next))
    }

    fn handle_measured(&mut self, measured: &[(usize, u64)]) -> SearchStep {
        let worst = worst(&self.trial, measured);
        if let Some(kept) = &self.kept {
            if worst > self.task.bound_ns {
                return SearchStep::Kept(kept.clone());
            }
            return self.keep(worst);
        }
        match self.fitting.handle_measured(measured) {
            FitStep::Done(_) => self.keep(worst),
            FitStep::OutOfBrokers(_) => SearchStep::NotKept,
            FitStep::Measure(places) => {
                self.too_few = self.trial.count();
                self.trial = trial(&self.task, &places, self.fitting.plan().worst());
                SearchStep::Measure(self.trial.clone())
            }
        }
    }

    /// This one keeps the objective; fewer are tried only if the model was more than a fifth too slow.
    fn keep(&mut self, worst: u64) -> SearchStep {
        let kept = self.trial.clone();
        let fewer = kept.count().saturating_sub(1);
        let predicted = kept.predicted_ns.unwrap_or(0);
        let is_pessimistic = worst < predicted - predicted / MODEL_PART;
        self.kept = Some(kept.clone());
        if fewer <= self.too_few || !is_pessimistic {
            return SearchStep::Kept(kept);
        }
        let task = &self.task;
        let places = distribute(
            &task.publishers,
            &task.brokers,
            task.principles,
            fewer,
            task.seed,
        );
        match places {
            Ok(places) if places.len() == fewer => {
                let totals = places
                    .iter()
                    .map(|place| predict(task, &self.topic, place).total);
                let slowest = totals.fold(0.0, f64::max);
                self.trial = trial(task, &places, slowest);
                SearchStep::Measure(self.trial.clone())
            }
            // Fewer cannot carry it.
            Ok(_) | Err(_) => SearchStep::Kept(kept),
        }
    }
}

pub(super) struct Binary {
    /// Fewer do not keep the objective.
    low: usize,
    /// More need not be tried.
    high: usize,
    tried: usize,
    count: usize,
    bound_ns: u64,
    kept: Option<Trial>,
}

impl Binary {
    fn trial(&self) -> Trial {
        let part = |place: usize| u64::from(place < self.tried);
        Trial {
            parts: (0..self.count).map(part).collect(),
            predicted_ns: None,
        }
    }

    fn next(&mut self) -> SearchStep {
        if self.low > self.high {
            return self
                .kept
                .clone()
                .map_or(SearchStep::NotKept, SearchStep::Kept);
        }
        self.tried = self.low.midpoint(self.high);
        SearchStep::Measure(self.trial())
    }

    fn handle_measured(&mut self, measured: &[(usize, u64)]) -> SearchStep {
        let trial = self.trial();
        if worst(&trial, measured) <= self.bound_ns {
            self.kept = Some(trial);
            self.high = self.tried - 1;
        } else {
            self.low = self.tried + 1;
        }
        self.next()
    }
}

fn trial(task: &Task, places: &[BrokerShare], worst_s: f64) -> Trial {
    let mut parts = vec![0; task.brokers.len()];
    for place in places {
        if let Some(part) = parts.get_mut(place.broker) {
            *part = place.quota;
        }
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates.
    let predicted_ns = Some((worst_s * 1e9) as u64);
    Trial {
        parts,
        predicted_ns,
    }
}

pub(super) fn worst(trial: &Trial, measured: &[(usize, u64)]) -> u64 {
    let part = (0..).zip(&trial.parts).filter(|(_, part)| **part > 0);
    let found = part.map(|(place, _)| {
        let found = measured.iter().find(|(at, _)| *at == place);
        found.map_or(u64::MAX, |(_, nanos)| *nanos)
    });
    found.max().unwrap_or(u64::MAX)
}

/// A model that is right within one part in this many is trusted.
const MODEL_PART: u64 = 5;

#[cfg(test)]
mod tests;
