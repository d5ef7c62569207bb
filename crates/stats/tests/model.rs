//! Sheets and a ledger compared with a simple model: sums are exact for any operations in any order, and
//! rows are exact within the bounds.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use tollgate_stats::{Counts, Ledger, LedgerLimits, Line, Sheet, Step, Who};

type Key = (Step, u64, String, String);

#[derive(Clone, Debug)]
enum Act {
    /// A thread counts for a key of a contract.
    Count {
        thread: usize,
        who: (u64, u64),
        cost: u64,
    },
    /// A thread settles for a key whose name it may not know.
    Settle {
        thread: usize,
        who: (u64, u64),
        cost: u64,
    },
    /// A thread moves to the next minute.
    Minute { thread: usize },
    /// Folds all sheets.
    Fold,
    /// Takes lines.
    Take,
}

fn act() -> impl Strategy<Value = Act> {
    let who = || (0..3_u64, 0..12_u64);
    prop_oneof![
        12 => (0..3_usize, who(), 0..9_u64).prop_map(|(thread, who, cost)| Act::Count { thread, who, cost }),
        2 => (0..3_usize, who(), 0..9_u64).prop_map(|(thread, who, cost)| Act::Settle { thread, who, cost }),
        1 => (0..3_usize).prop_map(|thread| Act::Minute { thread }),
        2 => Just(Act::Fold),
        1 => Just(Act::Take),
    ]
}

fn name(who: (u64, u64)) -> (String, String) {
    // One contract counts all keys together.
    let identity = if who.0 == 0 {
        String::new()
    } else {
        format!("user={}", who.1)
    };
    (format!("c{}", who.0), identity)
}

fn one(cost: u64) -> Counts {
    let denied = u64::from(cost == 0);
    Counts {
        allowed: 1 - denied,
        denied,
        cost,
        ..Counts::ZERO
    }
}

#[derive(Default)]
struct Model {
    kept: BTreeMap<Key, Counts>,
    sums: BTreeMap<(u64, String), Counts>,
    rows: BTreeMap<(u64, String, String), Counts>,
}

impl Model {
    fn keep(&mut self, lines: Vec<Line>) {
        for line in lines {
            assert!(!line.counts.is_zero());
            let key = (
                line.step,
                line.at,
                line.contract.to_string(),
                line.identity.to_string(),
            );
            self.kept.entry(key).or_default().add(&line.counts);
        }
    }
}

fn run(acts: &[Act], limits: LedgerLimits) -> Model {
    let mut ledger = Ledger::new(limits);
    let mut model = Model::default();
    let start = 29_000_058_u64;
    let mut sheets: Vec<Vec<Sheet>> = (0..3)
        .map(|_| vec![Sheet::new(start, limits.identities)])
        .collect();
    for act in acts.iter().chain(&[Act::Fold, Act::Take]) {
        match *act {
            Act::Count { thread, who, cost } => {
                let sheet = sheets[thread].last_mut().unwrap();
                let (contract, identity) = name(who);
                let at = Who {
                    cells: who.0,
                    print: who.1 << 7,
                };
                sheet.count(
                    at,
                    || &contract,
                    |out| out.push_str(&identity),
                    |counts| counts.add(&one(cost)),
                );
                model
                    .sums
                    .entry((sheet.minute(), contract.clone()))
                    .or_default()
                    .add(&one(cost));
                model
                    .rows
                    .entry((sheet.minute(), contract, identity))
                    .or_default()
                    .add(&one(cost));
            }
            Act::Settle { thread, who, cost } => {
                let sheet = sheets[thread].last_mut().unwrap();
                let (contract, _) = name(who);
                let more = Counts {
                    cost,
                    ..Counts::ZERO
                };
                sheet.count_nameless(
                    Who {
                        cells: who.0,
                        print: who.1 << 7,
                    },
                    &contract,
                    |counts| counts.add(&more),
                );
                model
                    .sums
                    .entry((sheet.minute(), contract))
                    .or_default()
                    .add(&more);
            }
            Act::Minute { thread } => {
                let minute = sheets[thread].last().unwrap().minute() + 1;
                sheets[thread].push(Sheet::new(minute, limits.identities));
            }
            Act::Fold => {
                sheets
                    .iter_mut()
                    .flatten()
                    .for_each(|sheet| ledger.fold(sheet));
                ledger.beat(0);
            }
            Act::Take => model.keep(ledger.take(start, usize::MAX)),
        }
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_are_exact_and_rows_never_say_more(acts in proptest::collection::vec(act(), 0..300), room in 0..50_usize) {
        let model = run(&acts, LedgerLimits::of(room));
        let mut hours: BTreeMap<(u64, String), Counts> = BTreeMap::new();
        for ((minute, contract), counts) in &model.sums {
            hours.entry((minute / 60, contract.clone())).or_default().add(counts);
            let kept = model.kept.get(&(Step::Minute, *minute, contract.clone(), String::new()));
            prop_assert_eq!(kept.copied().unwrap_or_default(), *counts);
        }
        for ((hour, contract), counts) in &hours {
            let kept = model.kept.get(&(Step::Hour, *hour, contract.clone(), String::new()));
            prop_assert_eq!(kept.copied().unwrap_or_default(), *counts);
        }
        // Keys counted together have rows on sheets, too.
        let has_room = room >= 36;
        for ((step, at, contract, identity), counts) in &model.kept {
            if *step == Step::Minute && !identity.is_empty() {
                let row = model.rows.get(&(*at, contract.clone(), identity.clone())).copied().unwrap_or_default();
                prop_assert!(counts.asked() <= row.asked());
                if has_room {
                    prop_assert_eq!((counts.allowed, counts.denied), (row.allowed, row.denied));
                    prop_assert!(counts.cost >= row.cost);
                }
            }
        }
        let rows = |of: Step, at: u64| model.kept.keys().filter(|(step, is, _, identity)| *step == of && *is == at && !identity.is_empty()).count();
        for (step, at, ..) in model.kept.keys() {
            prop_assert!(rows(*step, *at) <= room);
        }
    }
}

#[test]
fn a_million_identities_in_a_minute_stay_within_bounds_and_add_up() {
    let limits = LedgerLimits::of(10_000);
    let mut ledger = Ledger::new(limits);
    let mut sheet = Sheet::new(7, limits.identities);
    for each in 0..1_000_000_u64 {
        let who = Who {
            cells: 1,
            print: each.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        };
        let name = |out: &mut String| *out = format!("user={each}");
        sheet.count(who, || "c", name, |counts| counts.allowed += 1);
        if each % 100_000 == 0 {
            ledger.fold(&mut sheet);
        }
    }
    ledger.fold(&mut sheet);
    assert!(sheet.bytes() < 4 << 20, "{}", sheet.bytes());
    assert_eq!(ledger.waiting(), 2 * 10_002);
    let lines = ledger.take(7, usize::MAX);
    let minutes = || lines.iter().filter(|line| line.step == Step::Minute);
    let sum = minutes()
        .find(|line| &*line.contract == "c" && line.identity.is_empty())
        .unwrap();
    assert_eq!(sum.counts.allowed, 1_000_000);
    assert_eq!(minutes().count(), 10_002);
    assert_eq!(ledger.losses().unnamed, 990_000);
}

#[test]
fn what_waits_for_too_long_loses_names_first_and_sums_last() {
    let limits = LedgerLimits {
        identities: 10,
        waiting: 50,
        minutes: 20,
    };
    let mut ledger = Ledger::new(limits);
    for minute in 0..40 {
        let mut sheet = Sheet::new(minute, 10);
        for user in 0..10_u64 {
            let name = |out: &mut String| *out = format!("user={user}");
            sheet.count(
                Who {
                    cells: 1,
                    print: user,
                },
                || "c",
                name,
                |counts| counts.denied += 1,
            );
        }
        ledger.fold(&mut sheet);
        ledger.beat(minute * 60_000);
    }
    assert_eq!(ledger.losses().lost, 200);
    let lines = ledger.take(40, usize::MAX);
    let sums = lines.iter().filter(|line| line.contract.is_empty());
    let hours: u64 = sums
        .filter(|line| line.step == Step::Hour)
        .map(|line| line.counts.denied)
        .sum();
    assert_eq!(hours, 400, "hours have what minutes have lost");
    let rows = lines
        .iter()
        .filter(|line| !line.identity.is_empty() && line.step == Step::Minute);
    assert_eq!(rows.count(), 50);
    assert_eq!(ledger.waiting(), 0);
}

#[test]
fn a_receipt_is_settled_under_the_name_it_was_charged_to() {
    let mut ledger = Ledger::new(LedgerLimits::of(10));
    let who = Who { cells: 1, print: 5 };
    let mut sheet = Sheet::new(10, 10);
    sheet.count(
        who,
        || "c",
        |out| out.push_str("user=5"),
        |counts| counts.cost += 9,
    );
    let mut early = Sheet::new(10, 10);
    early.count_nameless(who, "c", |counts| counts.cost += 2);
    ledger.fold(&mut early);
    ledger.fold(&mut sheet);
    ledger.beat(0);
    // Minutes later, on another thread.
    let mut sheet = Sheet::new(13, 10);
    sheet.count_nameless(who, "c", |counts| counts.returned += 4);
    sheet.count_nameless(Who { cells: 1, print: 6 }, "c", |counts| {
        counts.returned += 1;
    });
    ledger.fold(&mut sheet);
    ledger.beat(0);
    let lines = ledger.take(13, usize::MAX);
    let of = |identity: &str| {
        let of = lines.iter().filter(|line| {
            line.step == Step::Hour && &*line.contract == "c" && &*line.identity == identity
        });
        of.fold(0, |sum, line| sum + line.counts.net_cost())
    };
    assert_eq!((of("user=5"), of("")), (7, 6));
}

#[test]
fn pace_is_of_the_last_seconds() {
    let mut ledger = Ledger::new(LedgerLimits::of(10));
    ledger.beat(1_000);
    for second in 2..30 {
        let mut sheet = Sheet::new(0, 10);
        sheet.count_all(1, "c", |counts| counts.allowed += second);
        ledger.fold(&mut sheet);
        ledger.beat(second * 1_000);
    }
    let pace = ledger.pace(10_000);
    assert_eq!((&*pace[0].0, pace[0].1.over_ms), ("c", 10_000));
    assert_eq!(pace[0].1.counts.allowed, (20..30).sum::<u64>());
}
