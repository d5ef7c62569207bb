//! Small versions of every experiment, and what must be seen to fail seen to fail.

use super::design::{Design, LENDERS};
use super::scenario::Scenario;
use super::schedule::{ScheduleKind, fast, plot};
use super::world::{LeaseChange, LeaseSetting, MILLI, Plot, Recovery, SECOND};

fn short(per_second: u64, burst_ms: u64) -> LeaseSetting {
    LeaseSetting {
        until: 6 * SECOND,
        ..LeaseSetting::usual(per_second, burst_ms)
    }
}

#[test]
fn nothing_passes_too_much_and_most_of_what_may() {
    for design in LENDERS {
        let run = design.run(&Plot::steady(short(300, 1_000), 200, 3));
        let name = design.name();
        assert_eq!((run.excess.over, run.broken.sum()), (0, 0), "{name}");
        assert!(run.checks > 500, "{name}: {}", run.checks);
        assert!(
            run.share() > 0.9 && run.share() <= 1.0,
            "{name}: {}",
            run.share()
        );
    }
    let lease = Design::Lease.run(&Plot::steady(short(300, 1_000), 200, 3));
    let ask = Design::Ask.run(&Plot::steady(short(300, 1_000), 200, 3));
    assert!(lease.tally.messages * 5 < ask.tally.messages);
    assert!(lease.tally.waited * 5 < ask.tally.waited);
    assert!(lease.tally.wait_ns > 0 && lease.idle > 0.0 && lease.records.0 > 2);
}

#[test]
fn one_seed_has_one_history() {
    let hash = |seed| Design::Lease.run(&plot(ScheduleKind::ANY, seed)).hash;
    assert_eq!(hash(5), hash(5));
    assert_ne!(hash(5), hash(6));
}

#[test]
fn demand_that_moves_is_followed() {
    for scenario in Scenario::ALL {
        let setting = LeaseSetting {
            until: 15 * SECOND,
            ..LeaseSetting::usual(300, 1_000)
        };
        let run = Design::Lease.run(&scenario.plot(setting, 1));
        assert_eq!((run.excess.over, run.broken.sum()), (0, 0), "{scenario:?}");
        assert!(run.share() > 0.93, "{scenario:?}: {}", run.share());
    }
}

#[test]
fn a_client_that_dies_costs_its_lease_and_one_that_comes_back_next_to_nothing() {
    let setting = LeaseSetting {
        until: 12 * SECOND,
        ..LeaseSetting::usual(300, 1_000)
    };
    let lost = |changes: Vec<(u64, LeaseChange)>| {
        let run = |changes| {
            let plot = Plot {
                changes,
                ..Plot::steady(setting.clone(), 150, 2)
            };
            let run = Design::Lease.run(&plot);
            assert_eq!((run.excess.over, run.broken.sum()), (0, 0));
            run.lost()
        };
        (run(changes) - run(Vec::new())) / 300.0
    };
    let at = 6 * SECOND;
    let dead = lost(vec![(at, LeaseChange::Crash(0))]);
    let back = lost(vec![
        (at, LeaseChange::Crash(0)),
        (at + 3 * MILLI, LeaseChange::Restart(0)),
    ]);
    let books = lost(vec![
        (at, LeaseChange::Fall),
        (at + 300 * MILLI, LeaseChange::Rise(Recovery::Ledger)),
    ]);
    assert!(dead > 0.2 && dead < 1.0, "{dead}");
    assert!(back < 0.2, "{back}");
    assert!(books < 0.2, "{books}");
}

#[test]
fn a_careless_successor_and_clocks_beyond_the_bound_are_seen() {
    let broken = |plots: &dyn Fn(u64) -> Plot| {
        let runs = (1..8).map(|seed| Design::Lease.run(&plots(seed)));
        runs.map(|run| run.broken.sum()).sum::<u64>()
    };
    let careless = ScheduleKind {
        recovery: Some(Recovery::Careless),
        ..ScheduleKind::ANY
    };
    assert_eq!(broken(&|seed| plot(ScheduleKind::ANY, seed)), 0);
    assert!(broken(&|seed| plot(careless, seed)) > 0);
    assert_eq!(broken(&|seed| fast(0, seed)), 0);
    assert!(broken(&|seed| fast(30_000, seed)) > 0);
}

#[test]
fn what_synchronises_now_and_then_admits_too_much() {
    let sync = |keeps| Design::Sync {
        interval_ns: 100 * MILLI,
        keeps,
    };
    let plot = Plot::steady(short(300, 100), 300, 1);
    let (kept, forgets) = (sync(true).run(&plot), sync(false).run(&plot));
    assert!(kept.excess.worst > 10);
    assert!(forgets.excess.over > kept.excess.over && forgets.share() > 1.5);
}

#[test]
fn every_way_to_agree_sees_the_same_arrivals_and_none_that_promises_is_over() {
    let plot = Plot::steady(short(300, 1_000), 200, 4);
    let arrived = Design::Lease.run(&plot).tally.arrived;
    for design in [
        Design::Owner,
        Design::Store,
        Design::Supply,
        Design::Cut,
        Design::Split,
        Design::Local,
        Design::Gossip,
    ] {
        let run = design.run(&plot);
        let name = design.name();
        assert_eq!(run.tally.arrived, arrived, "{name}");
        if !design.may_break() {
            assert_eq!((run.excess.over, run.broken.sum()), (0, 0), "{name}");
        }
        let waits = run.tally.wait_ns > 0;
        assert_eq!(waits, design.is_asked(), "{name}");
    }
    let (owner, store) = (Design::Owner.run(&plot), Design::Store.run(&plot));
    assert!(owner.tally.messages < store.tally.messages);
    assert!(Design::Local.run(&plot).excess.over > 0);
}
