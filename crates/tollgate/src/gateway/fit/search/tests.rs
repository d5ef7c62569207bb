//! Searches against worlds that match the model, or not.

use tollgate_split::plan::place::{Broker, Principles, Publisher};
use tollgate_split::plan::predict::{ArrivalStream, Costs, PartRate, burst_for};

use super::*;

const BOUND_NS: u64 = 1_000_000;

/// 1,000 publishers in groups of twenty, batches of ten: three brokers are needed.
fn model(wrong: f64) -> (Task, Topic, Topic) {
    let publishers = (0..1_000).map(|id| Publisher {
        id,
        rate: 10_000,
        batch: 10,
        group: Some(id / 20),
    });
    let broker = Broker {
        capacity: 60_000_000,
        load: 0,
    };
    let task = Task {
        publishers: publishers.collect(),
        brokers: vec![broker; 8],
        principles: Principles::ALL,
        seed: 1,
        bound_ns: BOUND_NS,
    };
    let all = ArrivalStream {
        rate: 10_000.0,
        batch: 10.0,
        group: 20.0,
    };
    let truth = Topic {
        bucket: PartRate {
            rate: 11_000.0,
            depth: 1.5 * burst_for(&all, 11_000.0, 0.01).unwrap(),
        },
        costs: Costs::default(),
        beside_batch: 1.0,
        late: 0.01,
    };
    let mut told = truth;
    told.costs.wake *= wrong;
    told.costs.message *= wrong;
    (task, truth, told)
}

/// Simulates a measurement for the number of gateways that take part.
fn run(
    begun: (TrialSearch, SearchStep),
    world: impl Fn(usize) -> u64,
) -> (Option<usize>, Vec<usize>) {
    let (mut search, mut next) = begun;
    let mut tried = Vec::new();
    loop {
        match next {
            SearchStep::Kept(trial) => return (Some(trial.count()), tried),
            SearchStep::NotKept => return (None, tried),
            SearchStep::Measure(trial) => {
                tried.push(trial.count());
                assert!(tried.len() < 20, "{tried:?}");
                let found = world(trial.count());
                let part = (0..).zip(&trial.parts).filter(|(_, part)| **part > 0);
                let measured: Vec<(usize, u64)> = part.map(|(place, _)| (place, found)).collect();
                next = search.handle_measured(&measured);
            }
        }
    }
}

#[test]
fn a_model_that_is_a_fifth_wrong_needs_two_rounds_at_most() {
    for wrong in [0.8, 0.9, 1.0, 1.1, 1.2] {
        let (task, truth, told) = model(wrong);
        let at = |count: usize| {
            let places =
                distribute(&task.publishers, &task.brokers, task.principles, count, 1).unwrap();
            let totals = places
                .iter()
                .map(|place| predict(&task, &truth, place).total);
            trial(&task, &[], totals.fold(0.0, f64::max))
                .predicted_ns
                .unwrap()
        };
        let (found, tried) = run(TrialSearch::model(task.clone(), told).unwrap(), at);
        assert!(tried.len() <= 2, "{wrong}: {tried:?}");
        assert!(found.is_some_and(|found| at(found) <= BOUND_NS), "{wrong}");
    }
}

#[test]
fn a_model_that_is_far_too_slow_is_stepped_down_from() {
    let (task, _, told) = model(1.0);
    let steps =
        |fewest: usize| move |count: usize| if count >= fewest { 10_000 } else { 9_000_000 };
    let (found, tried) = run(TrialSearch::model(task.clone(), told).unwrap(), steps(1));
    assert_eq!((found, tried), (Some(1), vec![3, 2, 1]));
    let (found, tried) = run(TrialSearch::model(task.clone(), told).unwrap(), steps(2));
    assert_eq!((found, tried), (Some(2), vec![3, 2, 1]));
    let (found, tried) = run(TrialSearch::model(task, told).unwrap(), steps(4));
    assert_eq!((found, tried.first()), (Some(4), Some(&3)));
}

#[test]
fn halving_finds_the_fewest_where_more_are_never_slower() {
    for count in 1..=9 {
        for fewest in 1..=count + 1 {
            let world = |tried: usize| {
                if tried >= fewest {
                    BOUND_NS
                } else {
                    BOUND_NS + 1
                }
            };
            let (found, tried) = run(TrialSearch::binary(count, BOUND_NS), world);
            assert_eq!(found, (fewest <= count).then_some(fewest));
            assert!(tried.len() <= 4, "{tried:?}");
        }
    }
}

#[test]
fn who_is_not_named_did_not_keep_the_objective() {
    let (mut search, _) = TrialSearch::binary(1, BOUND_NS);
    assert_eq!(search.handle_measured(&[]), SearchStep::NotKept);
    let (task, _, told) = model(1.0);
    let (found, tried) = run(TrialSearch::model(task, told).unwrap(), |_| u64::MAX);
    assert_eq!((found, tried.last()), (None, Some(&8)));
}
