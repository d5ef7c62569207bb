//! Windows and contracts: examples small enough to work out on paper or to look up in a calendar.

mod by_hand;

use by_hand::{assert_allowed, assert_never, assert_refused};
use tollgate_oracle::{Model, ModelAlgorithm, Period, Policy};

#[test]
fn fixed_window_starts_anew_at_each_multiple_of_its_period() {
    let mut model = counting(ModelAlgorithm::FixedWindow, 3, 10);
    assert_allowed(&mut model, 7, 2, 1);
    assert_refused(&mut model, 7, 2, 3);
    assert_allowed(&mut model, 9, 1, 0);
    assert_allowed(&mut model, 10, 3, 0);
    assert_never(&mut model, 10, 4);
    assert_eq!(model.reset_after("k", 12), [8]);
}

#[test]
fn fixed_window_offset_moves_the_edges() {
    let moved = Policy {
        offset_ns: 3,
        ..policy(ModelAlgorithm::FixedWindow, 1, 10)
    };
    let mut model = Model::new(vec![moved]);
    // The edges are 3, 13, 23; before the first one lies a window that began at -7.
    assert_allowed(&mut model, 0, 1, 0);
    assert_refused(&mut model, 1, 1, 2);
    assert_allowed(&mut model, 3, 1, 0);
    assert_refused(&mut model, 12, 1, 1);
    assert_allowed(&mut model, 13, 1, 0);
}

#[test]
fn sliding_log_forgets_an_entry_after_exactly_one_period() {
    let mut model = counting(ModelAlgorithm::SlidingLog, 3, 10);
    assert_allowed(&mut model, 1, 1, 2);
    assert_allowed(&mut model, 4, 2, 0);
    assert_refused(&mut model, 10, 1, 1);
    assert_refused(&mut model, 10, 2, 4);
    assert_allowed(&mut model, 11, 1, 0);
    assert_refused(&mut model, 13, 1, 1);
    assert_eq!(model.reset_after("k", 13), [8]);
}

#[test]
fn sliding_counters_forget_a_slice_at_a_time() {
    // Slices of 5: a charge at 3 counts until 19 and is gone at 20, as four slices reach back to 5.
    let mut model = counting(ModelAlgorithm::SlidingCounters { slices: 4 }, 3, 20);
    assert_allowed(&mut model, 3, 2, 1);
    assert_allowed(&mut model, 5, 1, 0);
    assert_refused(&mut model, 12, 2, 8);
    assert_refused(&mut model, 12, 3, 13);
    assert_refused(&mut model, 19, 1, 1);
    assert_allowed(&mut model, 20, 2, 0);
}

#[test]
fn one_slice_is_the_fixed_window() {
    let mut model = counting(ModelAlgorithm::SlidingCounters { slices: 1 }, 3, 10);
    assert_allowed(&mut model, 9, 3, 0);
    assert_refused(&mut model, 9, 1, 1);
    assert_allowed(&mut model, 10, 3, 0);
}

#[test]
fn sliding_weighted_lets_the_previous_window_fade() {
    let mut model = counting(ModelAlgorithm::SlidingWeighted, 4, 10);
    assert_allowed(&mut model, 5, 4, 0);
    // In the next window the four weigh 4 * (10 - e) / 10: one fits from e = 2.5, so from 13.
    assert_refused(&mut model, 5, 1, 8);
    assert_refused(&mut model, 12, 1, 1);
    assert_allowed(&mut model, 13, 1, 0);
    // At e = 3 they weigh 2.8 and the new one 1; one more fits from e = 5.
    assert_refused(&mut model, 13, 1, 2);
    assert_eq!(model.check("k", 0, 15).remaining, 1);
    assert_eq!(model.reset_after("k", 15), [15]);
}

#[test]
fn sliding_weighted_retry_may_lie_in_the_next_window() {
    let mut model = counting(ModelAlgorithm::SlidingWeighted, 3, 9);
    assert_allowed(&mut model, 0, 3, 0);
    // 3 * (9 - e) + 2 * 9 <= 27 from e = 6 of the window that begins at 9.
    assert_refused(&mut model, 4, 2, 11);
    assert_refused(&mut model, 4, 3, 14);
}

#[test]
fn calendar_day_follows_the_clocks_of_its_zone() {
    // On 2024-03-31 the day of Ljubljana has 23 hours, from 23:00 UTC the day before to 22:00 UTC; on
    // 2024-10-27 it has 25, from 22:00 UTC the day before to 23:00 UTC.
    assert_window(
        Period::Day,
        "Europe/Ljubljana",
        1_711_839_600,
        1_711_922_400,
    );
    assert_window(
        Period::Day,
        "Europe/Ljubljana",
        1_729_980_000,
        1_730_070_000,
    );
}

#[test]
fn calendar_week_begins_on_monday() {
    // From Monday 2024-10-21 00:00 to Monday 2024-10-28 00:00 UTC.
    assert_window(Period::Week, "UTC", 1_729_468_800, 1_730_073_600);
}

#[test]
fn calendar_month_and_year_have_their_own_lengths() {
    // February and the whole of 2024, UTC; March 2024 in Ljubljana is an hour short.
    assert_window(Period::Month, "UTC", 1_706_745_600, 1_709_251_200);
    assert_window(Period::Year, "UTC", 1_704_067_200, 1_735_689_600);
    assert_window(
        Period::Month,
        "Europe/Ljubljana",
        1_709_247_600,
        1_711_922_400,
    );
}

#[test]
fn a_day_without_midnight_begins_when_the_clock_jumps_over_it() {
    // Sao Paulo went from 2018-11-03 23:59:59 to 2018-11-04 01:00:00 at 03:00 UTC.
    assert_window(
        Period::Day,
        "America/Sao_Paulo",
        1_541_300_400,
        1_541_383_200,
    );
}

#[test]
fn a_day_that_begins_twice_begins_the_first_time() {
    // St. Johns reached 2002-10-27 00:00 at 02:30 UTC, stepped back to 23:01 a minute later, and reached
    // 2002-10-28 00:00 at 03:30 UTC.
    assert_window(
        Period::Day,
        "America/St_Johns",
        1_035_685_800,
        1_035_775_800,
    );
}

#[test]
fn a_day_that_never_was_has_no_window() {
    // Samoa went from 2011-12-29 24:00 to 2011-12-31 00:00 at 10:00 UTC on the 30th.
    assert_window(Period::Day, "Pacific/Apia", 1_325_152_800, 1_325_239_200);
    assert_window(Period::Day, "Pacific/Apia", 1_325_239_200, 1_325_325_600);
}

#[test]
fn a_contract_charges_all_or_none_and_names_the_one_that_refuses_longest() {
    let bucket = policy(ModelAlgorithm::TokenBucket, 5, 10);
    let window = policy(ModelAlgorithm::FixedWindow, 3, 100);
    let mut model = Model::new(vec![bucket, window]);
    assert_allowed(&mut model, 0, 2, 1);
    let answer = model.check("k", 2, 0);
    assert_eq!(
        (answer.allowed, answer.policy, answer.retry_after),
        (false, Some(1), Some(100))
    );
    assert_eq!((answer.remaining, answer.per_policy[0].remaining), (1, 3));
    let answer = model.check("k", 4, 0);
    assert_eq!(
        (answer.policy, answer.never, answer.retry_after),
        (Some(1), true, None)
    );
    assert_eq!(answer.per_policy[0].retry_after, Some(2));
}

#[test]
fn the_longest_wait_counts() {
    let quick = Policy {
        burst: Some(10),
        ..policy(ModelAlgorithm::LeakyBucket, 2, 10)
    };
    let slow = Policy {
        burst: Some(10),
        ..policy(ModelAlgorithm::LeakyBucket, 1, 10)
    };
    let mut model = Model::new(vec![quick, slow]);
    assert_eq!(model.check("k", 1, 0).wait, 0);
    let answer = model.check("k", 1, 0);
    assert_eq!((answer.wait, answer.per_policy[0].wait), (10, 5));
}

#[test]
fn penalties_reach_the_policies_that_count_refusals_only() {
    let penal = Policy {
        count_refused: true,
        ..policy(ModelAlgorithm::FixedWindow, 9, 100)
    };
    let strict = policy(ModelAlgorithm::SlidingLog, 1, 10);
    let mut model = Model::new(vec![penal, strict]);
    assert_allowed(&mut model, 0, 1, 0);
    let answer = model.check("k", 1, 5);
    assert_eq!((answer.policy, answer.retry_after), (Some(1), Some(5)));
    assert_eq!(
        (
            answer.per_policy[0].remaining,
            answer.per_policy[1].remaining
        ),
        (7, 0)
    );
    // The penalty moved the newest time to 5.
    assert_eq!(model.check("k", 1, 2).retry_after, Some(5));
}

#[test]
fn settling_a_fixed_window_refunds_only_while_it_lasts() {
    let mut model = counting(ModelAlgorithm::FixedWindow, 5, 10);
    let receipt = model.check("k", 3, 1).receipt.unwrap();
    model.settle(&receipt, 1, 9);
    assert_eq!(model.check("k", 0, 9).remaining, 4);
    let receipt = model.check("k", 1, 9).receipt.unwrap();
    model.settle(&receipt, 3, 10);
    assert_eq!(model.check("k", 0, 10).remaining, 3);
    model.settle(&receipt, 0, 10);
    assert_eq!(model.check("k", 0, 10).remaining, 3);
}

#[test]
fn settling_weighted_windows_reaches_the_previous_one() {
    let mut model = counting(ModelAlgorithm::SlidingWeighted, 4, 10);
    let receipt = model.check("k", 4, 5).receipt.unwrap();
    // At 15 the four weigh two; taking two of them back leaves one.
    assert_eq!(model.check("k", 0, 15).remaining, 2);
    model.settle(&receipt, 2, 15);
    assert_eq!(model.check("k", 0, 15).remaining, 3);
    model.settle(&receipt, 5, 15);
    assert_eq!(model.check("k", 0, 15).remaining, 2);
    // Two windows on, it does not count: the one charged at 15 weighs a half.
    model.settle(&receipt, 0, 25);
    assert_eq!(model.check("k", 0, 25).remaining, 3);
}

#[test]
fn settling_a_log_adjusts_the_entry_of_the_receipt() {
    let mut model = counting(ModelAlgorithm::SlidingLog, 5, 10);
    let receipt = model.check("k", 1, 0).receipt.unwrap();
    model.settle(&receipt, 3, 9);
    // The surcharge leaves with its entry.
    assert_eq!(model.check("k", 0, 9).remaining, 2);
    assert_eq!(model.check("k", 0, 10).remaining, 5);
    // Too late for the entry: a refund does nothing and a surcharge lands at 12.
    model.settle(&receipt, 0, 12);
    model.settle(&receipt, 3, 12);
    assert_eq!(model.check("k", 0, 21).remaining, 3);
    assert_eq!(model.check("k", 0, 22).remaining, 5);
}

#[test]
fn a_refund_without_receipt_takes_the_newest_first() {
    let mut model = counting(ModelAlgorithm::SlidingCounters { slices: 2 }, 5, 10);
    model.charge("k", 2, 0);
    model.charge("k", 2, 5);
    model.refund("k", 3, 5);
    // One unit of the older slice is left, and gone at 10.
    assert_eq!(model.check("k", 0, 9).remaining, 4);
    assert_eq!(model.check("k", 0, 10).remaining, 5);
    model.refund("k", 100, 10);
    assert_eq!(model.check("k", 0, 10).remaining, 5);
}

#[test]
fn window_debt_is_bounded_and_a_reset_forgets_it() {
    let bounded = Policy {
        max_debt: Some(2),
        ..policy(ModelAlgorithm::SlidingLog, 3, 10)
    };
    let mut model = Model::new(vec![bounded]);
    model.charge("k", 4, 0);
    model.charge("k", 4, 1);
    // Four at 0, one more at 1, three forgiven.
    assert_refused(&mut model, 1, 3, 10);
    assert_refused(&mut model, 1, 2, 9);
    model.reset("k");
    assert_allowed(&mut model, 0, 3, 0);
}

#[test]
fn a_receipt_that_outlives_a_reset_still_proves_its_time() {
    let mut model = counting(ModelAlgorithm::SlidingLog, 5, 10);
    let receipt = model.check("k", 1, 20).receipt.unwrap();
    model.reset("k");
    model.settle(&receipt, 3, 2);
    assert_eq!(model.keys["k"].newest_ns, Some(20));
    assert_eq!(model.check("k", 0, 29).remaining, 3);
    assert_eq!(model.check("k", 0, 30).remaining, 5);
}

#[test]
fn keys_do_not_share_anything() {
    let mut model = counting(ModelAlgorithm::FixedWindow, 1, 10);
    assert!(model.check("a", 1, 9).allowed);
    assert!(model.check("b", 1, 0).allowed);
    assert!(!model.check("a", 1, 9).allowed);
}

fn policy(algorithm: ModelAlgorithm, limit: u64, period_ns: u64) -> Policy {
    Policy::new(algorithm, limit, Period::Nanos(period_ns))
}

fn counting(algorithm: ModelAlgorithm, limit: u64, period_ns: u64) -> Model {
    Model::new(vec![policy(algorithm, limit, period_ns)])
}

/// Checks that a window of one unit opens at the first second, stays closed, and ends at the second one.
#[track_caller]
fn assert_window(period: Period, zone: &str, start: u64, end: u64) {
    let (start, end) = (start * 1_000_000_000, end * 1_000_000_000);
    let calendar = Policy {
        time_zone: Some(zone.to_owned()),
        ..Policy::new(ModelAlgorithm::FixedWindow, 1, period)
    };
    let mut model = Model::new(vec![calendar]);
    assert_allowed(&mut model, start - 1, 1, 0);
    assert_refused(&mut model, start - 1, 1, 1);
    assert_allowed(&mut model, start, 1, 0);
    // Forgetting the window before shows whether any later moment is taken for a part of it.
    model.reset("k");
    assert_allowed(&mut model, start, 1, 0);
    for now_ns in (start..end).step_by(1_800_000_000_000) {
        assert_refused(&mut model, now_ns, 1, u128::from(end - now_ns));
    }
    assert_refused(&mut model, end - 1, 1, 1);
    assert_allowed(&mut model, end, 1, 0);
}
