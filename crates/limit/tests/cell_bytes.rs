//! Cells survive being bytes or plain numbers, and bytes that are no cell are refused.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

use std::fmt::Write as _;

use proptest::prelude::*;
use tollgate_limit::{
    Algorithm, Calendar, Cell, CellError, Cost, Instant, Lot, Period, Policy, PolicyConfig,
    PolicySet,
};

/// One step of a key's life.
#[derive(Clone, Debug)]
enum Step {
    Check(u64, u32),
    Charge(u64, u32),
    Refund(u64, u32),
}

fn policy() -> impl Strategy<Value = PolicyConfig> {
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    let period = prop_oneof![
        Just(Period::from_nanos(1_000)),
        Just(Period::from_nanos(60_000_000_000)),
        Just(Period::Calendar(Calendar::DAY)),
    ];
    let slices = prop::sample::select(vec![1_u32, 4, 10, 1_000]);
    (algorithm, period, 1_u64..500, slices, any::<bool>()).prop_map(
        |(algorithm, period, limit, slices, huge)| {
            let limit = if huge { limit << 44 } else { limit };
            let mut config = PolicyConfig::new(algorithm, limit, period);
            config.slices = slices;
            config
        },
    )
}

fn set() -> impl Strategy<Value = PolicySet> {
    prop::collection::vec(policy(), 1..5).prop_map(|configs| {
        let policies = configs
            .into_iter()
            .map(|config| Policy::new(config).expect("a valid policy"));
        PolicySet::new(policies.collect()).expect("a valid set")
    })
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![0_u64..3, 0_u64..300, 0_u64..10_000_000_000];
    let cost = prop_oneof![4 => 1_u32..4, 1 => any::<u32>()];
    let step = (0..8_u8, gap, cost).prop_map(|(kind, gap, cost)| match kind {
        0 => Step::Charge(gap, cost),
        1 => Step::Refund(gap, cost),
        _ => Step::Check(gap, cost),
    });
    prop::collection::vec(step, 0..most)
}

/// Runs the steps and says what was answered.
fn run<const N: usize>(
    set: &PolicySet,
    cell: &mut Cell<N>,
    now: &mut u64,
    steps: &[Step],
) -> String {
    let mut answers = String::new();
    for step in steps {
        let (Step::Check(gap, cost) | Step::Charge(gap, cost) | Step::Refund(gap, cost)) = step;
        *now += gap;
        let at = Instant::from_nanos(*now);
        let cost = Cost::new(u64::from(*cost)).expect("a small cost");
        match step {
            Step::Check(..) => {
                let outcome = set.check(cell, cost, at, Lot::ALWAYS);
                write!(answers, "{outcome:?}").expect("memory");
            }
            Step::Charge(..) => set.charge(cell, cost, at),
            Step::Refund(..) => set.refund(cell, cost, at),
        }
        let (status, fresh_at) = (set.status(cell, at), set.fresh_at(cell));
        write!(answers, "{status:?}{fresh_at:?}").expect("memory");
    }
    answers
}

const START: u64 = 1_790_000_000_000_000_000;
const ALL: u64 = u64::MAX;

proptest! {
    #[test]
    fn a_restored_cell_answers_like_the_one_that_was_stored(
        set in set(), before in steps(60), after in steps(20),
    ) {
        let mut now = START;
        let mut cell = Cell::<2>::fresh(&set);
        run(&set, &mut cell, &mut now, &before);
        let stored = set.store(&cell, ALL);
        let mut back: Cell<2> = set.restore(&stored.bytes).expect("our own bytes");
        prop_assert_eq!(set.store(&back, ALL), stored);
        let mut again = now;
        let expected = run(&set, &mut cell, &mut now, &after);
        prop_assert_eq!(run(&set, &mut back, &mut again, &after), expected);
    }

    #[test]
    fn a_recalled_cell_answers_like_the_one_that_was_kept(
        set in set(), before in steps(60), after in steps(20),
    ) {
        let mut now = START;
        let mut cell = Cell::<2>::fresh(&set);
        run(&set, &mut cell, &mut now, &before);
        let (at, kept) = set.keep(&cell);
        let mut back: Cell<2> = set.recall(at, &kept).expect("our own numbers");
        prop_assert_eq!(set.keep(&back), (at, kept));
        let mut again = now;
        let expected = run(&set, &mut cell, &mut now, &after);
        prop_assert_eq!(run(&set, &mut back, &mut again, &after), expected);
    }

    #[test]
    fn the_time_that_comes_with_the_bytes_is_that_of_the_kept_policies(
        set in set(), before in steps(30), keep in any::<u64>(),
    ) {
        let mut now = START;
        let mut cell = Cell::<1>::fresh(&set);
        run(&set, &mut cell, &mut now, &before);
        let stored = set.store(&cell, keep);
        let back: Cell<1> = set.restore(&stored.bytes).expect("our own bytes");
        for at in [now, stored.fresh_at.as_nanos().max(now)].map(Instant::from_nanos) {
            let (was, is) = (set.status(&cell, at), set.status(&back, at));
            let fresh = set.status(&Cell::<1>::fresh(&set), at);
            for place in 0..set.policies().len() {
                let kept = keep >> place & 1 == 1;
                prop_assert_eq!(is[place], if kept { was[place] } else { fresh[place] });
            }
            if at >= stored.fresh_at && at < Instant::LAST {
                let left = |statuses: &[tollgate_limit::KeyStatus]| -> Vec<u64> {
                    statuses.iter().map(|status| status.remaining).collect()
                };
                prop_assert_eq!(left(&is), left(&fresh));
            }
        }
    }

    #[test]
    fn changed_bytes_are_refused_or_make_a_sound_cell(
        set in set(), before in steps(60), after in steps(20),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in any::<prop::sample::Index>(),
    ) {
        let mut now = START;
        let mut cell = Cell::<3>::fresh(&set);
        run(&set, &mut cell, &mut now, &before);
        let mut bytes = set.store(&cell, ALL).bytes;
        bytes.truncate(length.index(bytes.len() * 3).max(1));
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(mut cell) = set.restore::<3>(&bytes) {
            run(&set, &mut cell, &mut now, &after);
            prop_assert!(set.restore::<3>(&set.store(&cell, ALL).bytes).is_ok());
        }
    }

    #[test]
    fn any_bytes_are_refused_or_make_a_sound_cell(
        set in set(), bytes in prop::collection::vec(any::<u8>(), 0..80), after in steps(10),
    ) {
        let with_version = [&[1], bytes.as_slice()].concat();
        for bytes in [bytes, with_version] {
            if let Ok(mut cell) = set.restore::<1>(&bytes) {
                run(&set, &mut cell, &mut START.clone(), &after);
            }
        }
    }
}

#[test]
fn a_bucket_of_one_policy_takes_few_bytes() {
    let config = PolicyConfig::token_bucket(100, Period::MINUTE);
    let set = PolicySet::new(vec![Policy::new(config).unwrap()]).unwrap();
    let mut cell = Cell::<1>::fresh(&set);
    let now = Instant::from_nanos(START);
    let _ = set.check(&mut cell, Cost::ONE, now, Lot::ALWAYS);
    assert!(set.store(&cell, ALL).bytes.len() <= 20);
}

#[test]
fn refusals_say_what_is_wrong() {
    let config = PolicyConfig::token_bucket(100, Period::MINUTE);
    let set = PolicySet::new(vec![Policy::new(config).unwrap()]).unwrap();
    let restore = |bytes: &[u8]| set.restore::<1>(bytes).err();
    assert_eq!(restore(&[]), Some(CellError::Cut));
    assert_eq!(restore(&[2, 0, 0]), Some(CellError::Version(2)));
    assert_eq!(restore(&[1, 0, 1, 0, 0]), Some(CellError::Cut));
    assert_eq!(restore(&[1, 0, 0, 0]), Some(CellError::Long));
    assert_eq!(restore(&[1, 0, 1, 1, 0, 0]), Some(CellError::Policy));
    assert_eq!(restore(&[1, 0, 1, 0, 1, 0]), Some(CellError::Algorithm));
    assert_eq!(restore(&[1, 0, 1, 0, 0, 0]), None);
}
