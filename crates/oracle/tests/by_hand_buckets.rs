//! Buckets: examples small enough to work out on paper. Times and periods are plain nanoseconds.

mod by_hand;

use by_hand::{assert_allowed, assert_never, assert_refused};
use tollgate_oracle::{Model, ModelAlgorithm, Period, Policy};

#[test]
fn token_bucket_refills_a_token_every_half_period() {
    let mut model = token(2, 10);
    assert_allowed(&mut model, 0, 1, 1);
    assert_allowed(&mut model, 0, 1, 0);
    assert_refused(&mut model, 0, 1, 5);
    assert_refused(&mut model, 4, 1, 1);
    assert_allowed(&mut model, 5, 1, 0);
}

#[test]
fn token_bucket_rounds_the_retry_up_to_a_whole_nanosecond() {
    // A token takes 10/7 ns: one of them 2 ns, two of them 20/7 = 2.86 ns, hence 3.
    let mut model = token(7, 10);
    assert_allowed(&mut model, 0, 7, 0);
    assert_refused(&mut model, 0, 1, 2);
    assert_refused(&mut model, 0, 2, 3);
    // At 1 there are 0.7 tokens, at 2 there are 1.4; one is taken and 0.4 stay.
    assert_refused(&mut model, 1, 1, 1);
    assert_allowed(&mut model, 2, 1, 0);
    // 0.6 tokens take 0.857 ns.
    assert_refused(&mut model, 2, 1, 1);
    assert_allowed(&mut model, 3, 1, 0);
}

#[test]
fn token_bucket_keeps_fractions_over_a_whole_period() {
    // Three per 10 ns: asking every nanosecond from empty gets tokens at 4, 7 and 10 only.
    let mut model = token(3, 10);
    assert_allowed(&mut model, 0, 3, 0);
    let times: Vec<u64> = (1..=10)
        .filter(|now| model.check("k", 1, *now).allowed)
        .collect();
    assert_eq!(times, [4, 7, 10]);
}

#[test]
fn token_bucket_never_holds_more_than_its_burst() {
    let mut model = Model::new(vec![Policy {
        burst: Some(5),
        ..policy(ModelAlgorithm::TokenBucket, 2, 10)
    }]);
    assert_never(&mut model, 0, 6);
    assert_allowed(&mut model, 1_000_000, 5, 0);
    // Five tokens at two per 10 ns take 25 ns.
    assert_refused(&mut model, 1_000_000, 5, 25);
    assert_eq!(model.reset_after("k", 1_000_000), [25]);
}

#[test]
fn a_clock_that_steps_back_never_refills_twice() {
    let mut model = token(1, 10);
    assert_allowed(&mut model, 100, 1, 0);
    assert_refused(&mut model, 50, 1, 10);
    assert_refused(&mut model, 105, 1, 5);
    // The refusal at 105 left no time behind, so 103 is 103.
    assert_refused(&mut model, 103, 1, 7);
    assert_allowed(&mut model, 110, 1, 0);
}

#[test]
fn a_peek_answers_for_one_unit_and_takes_none() {
    let mut model = token(2, 10);
    let peek = model.check("k", 0, 0);
    assert!(peek.allowed && peek.remaining == 2 && peek.receipt.is_none());
    assert!(model.keys.is_empty());
    assert_allowed(&mut model, 0, 2, 0);
    assert_refused(&mut model, 0, 0, 5);
}

#[test]
fn shaper_queues_reservations_first_come_first_served() {
    let shaper = Policy {
        delay: Some(None),
        ..policy(ModelAlgorithm::TokenBucket, 2, 10)
    };
    let mut model = Model::new(vec![shaper]);
    assert_eq!(waits(&mut model, 0, &[2, 1, 1, 2]), [0, 5, 10, 20]);
    // The level is -4; at 10 it is -2, and one more is there three tokens later.
    assert_eq!(waits(&mut model, 10, &[1]), [15]);
    assert_never(&mut model, 10, 3);
}

#[test]
fn shaper_refuses_what_would_wait_too_long() {
    let shaper = Policy {
        delay: Some(Some(10)),
        ..policy(ModelAlgorithm::TokenBucket, 2, 10)
    };
    let mut model = Model::new(vec![shaper]);
    assert_eq!(waits(&mut model, 0, &[2, 1, 1]), [0, 5, 10]);
    // One more waits 15, so in 5 it waits 10; two more wait 20, so in 10.
    assert_refused(&mut model, 0, 1, 5);
    assert_refused(&mut model, 0, 2, 10);
    assert_refused(&mut model, 4, 1, 1);
    assert_eq!(waits(&mut model, 5, &[1]), [10]);
}

#[test]
fn shaper_rounds_waits_up() {
    let shaper = Policy {
        delay: Some(None),
        ..policy(ModelAlgorithm::TokenBucket, 3, 10)
    };
    let mut model = Model::new(vec![shaper]);
    // 10/3, 20/3 and 30/3.
    assert_eq!(waits(&mut model, 0, &[3, 1, 1, 1]), [0, 4, 7, 10]);
}

#[test]
fn leaky_bucket_waits_for_the_work_in_front() {
    let mut model = Model::new(vec![policy(ModelAlgorithm::LeakyBucket, 3, 10)]);
    // Nothing in front, then one unit (3.33 ns), then two (6.67 ns).
    assert_eq!(waits(&mut model, 0, &[1, 1, 1]), [0, 4, 7]);
    assert_refused(&mut model, 0, 1, 4);
    assert_refused(&mut model, 3, 1, 1);
    // At 4 there are 3 - 1.2 = 1.8 units in front: 6 ns.
    assert_eq!(waits(&mut model, 4, &[1]), [6]);
    assert_never(&mut model, 4, 4);
}

#[test]
fn leaky_bucket_remaining_is_the_room_left_rounded_down() {
    let room = Policy {
        burst: Some(5),
        ..policy(ModelAlgorithm::LeakyBucket, 1, 10)
    };
    let mut model = Model::new(vec![room]);
    assert_allowed(&mut model, 0, 4, 1);
    // At 5 the occupancy is 3.5 and the room 1.5.
    assert_eq!(model.check("k", 0, 5).remaining, 1);
    assert_refused(&mut model, 5, 2, 5);
    assert_eq!(model.reset_after("k", 5), [35]);
}

#[test]
fn a_charge_makes_debt_that_refill_pays_back() {
    let mut model = token(2, 10);
    model.charge("k", 5, 0);
    // From -3 to 1 it is four tokens.
    assert_refused(&mut model, 0, 1, 20);
    assert_allowed(&mut model, 20, 1, 0);
}

#[test]
fn debt_is_forgiven_beyond_its_bound() {
    let bounded = Policy {
        max_debt: Some(1),
        ..policy(ModelAlgorithm::TokenBucket, 2, 10)
    };
    let mut model = Model::new(vec![bounded]);
    model.charge("k", 1_000, 0);
    assert_refused(&mut model, 0, 1, 10);
    let bounded = Policy {
        max_debt: Some(1),
        ..policy(ModelAlgorithm::LeakyBucket, 2, 10)
    };
    let mut model = Model::new(vec![bounded]);
    model.charge("k", 1_000, 0);
    // Three in a room of two: two must drain before one fits.
    assert_refused(&mut model, 0, 1, 10);
}

#[test]
fn the_bound_on_debt_leaves_reservations_alone() {
    let shaper = Policy {
        delay: Some(None),
        max_debt: Some(0),
        ..policy(ModelAlgorithm::TokenBucket, 2, 10)
    };
    let mut model = Model::new(vec![shaper]);
    assert_eq!(waits(&mut model, 0, &[2, 2, 2]), [0, 10, 20]);
    model.charge("k", 100, 0);
    assert_eq!(waits(&mut model, 0, &[1]), [25]);
}

#[test]
fn settling_a_bucket_moves_the_level_by_the_difference() {
    let mut model = token(4, 8);
    let receipt = model.check("k", 3, 0).receipt.unwrap();
    model.settle(&receipt, 1, 0);
    assert_eq!(model.check("k", 0, 0).remaining, 3);
    let receipt = model.check("k", 1, 0).receipt.unwrap();
    model.settle(&receipt, 4, 0);
    // 2 - 3 = -1, two tokens of 2 ns each to go.
    assert_refused(&mut model, 0, 1, 4);
    model.settle(&receipt, 0, 8);
    assert_eq!(model.check("k", 0, 8).remaining, 4);
}

#[test]
fn penalised_refusals_dig_deeper() {
    let penal = Policy {
        count_refused: true,
        ..policy(ModelAlgorithm::TokenBucket, 2, 10)
    };
    let mut model = Model::new(vec![penal]);
    assert_allowed(&mut model, 0, 2, 0);
    // Charged although refused: the level is -1, and 1 is two tokens away.
    assert_refused(&mut model, 0, 1, 10);
    assert_refused(&mut model, 5, 1, 10);
    // A peek is not a request.
    assert_refused(&mut model, 5, 0, 10);
    assert_allowed(&mut model, 15, 1, 0);
}

#[test]
fn extremes_neither_overflow_nor_drift() {
    let decade = 3_650 * 86_400 * 1_000_000_000;
    let mut model = Model::new(vec![policy(ModelAlgorithm::TokenBucket, 1 << 40, decade)]);
    assert_allowed(&mut model, 0, 1 << 40, 0);
    // 315360000000000000 / 2^40 = 286818.249...
    assert_refused(&mut model, 0, 1, 286_819);
    assert_refused(&mut model, 0, 1 << 40, u128::from(decade));
    assert_never(&mut model, 0, u64::MAX);
    assert_allowed(&mut model, decade, 1 << 40, 0);
}

fn policy(algorithm: ModelAlgorithm, limit: u64, period_ns: u64) -> Policy {
    Policy::new(algorithm, limit, Period::Nanos(period_ns))
}

fn token(limit: u64, period_ns: u64) -> Model {
    Model::new(vec![policy(ModelAlgorithm::TokenBucket, limit, period_ns)])
}

fn waits(model: &mut Model, now_ns: u64, costs: &[u64]) -> Vec<u128> {
    let mut wait = |cost: &u64| {
        let answer = model.check("k", *cost, now_ns);
        assert!(answer.allowed);
        answer.wait
    };
    costs.iter().map(&mut wait).collect()
}
