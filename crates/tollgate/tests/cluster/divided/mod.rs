//! Divided rates while files change, disks fail, names are doubled and clocks run wrong: what is refused, told, and
//! never admitted.
//!
//! Not here: processes that die and networks that are cut (`supply`).

mod clocks;
mod cut;
mod kit;
mod refusals;
#[path = "../../../../../bench/src/bin/admissions/judge.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own elsewhere")]
mod replay;

use std::collections::BTreeSet;
use std::fs;

use tollgate_fault::ProcessFault;
use tollgate_parts::until;

use kit::{Divided, Files, GreedyClients, is_near, now};

const THREE: &str = "[n0, n1, n2]";
const SUPPLY: &str = "coordination: supply";

const fn files(limit: u64) -> Files<'static> {
    Files {
        limit,
        roster: THREE,
        how: SUPPLY,
    }
}

fn is_settled(on: &Divided) -> bool {
    (0..3).all(|node| on.policy(node).is_some_and(|policy| policy.is("settled")))
}

fn home(on: &Divided, node: u16) -> f64 {
    on.policy(node).map_or(0.0, |policy| policy.number("home"))
}

/// Waits until so many more were admitted that too many would have been noticed.
#[track_caller]
fn wait_for_evidence(on: &Divided, limit: u64) {
    let begun = now();
    until("twice the limit of a second was admitted", || {
        on.judge(limit, begun, u64::MAX).admissions > 2 * limit
    });
}

#[test]
fn a_limit_that_falls_counts_at_once_and_one_that_rises_when_all_have_it() {
    let mut cluster = Divided::start(3, files(1000), |_, _| {});
    cluster.wait_for_usable(1000);
    let begun = now();
    let crowd = GreedyClients::ask(&cluster);
    for node in 0..3 {
        cluster.tell(node, files(400));
    }
    until("all agree", || is_settled(&cluster));
    let fallen = now();
    cluster.wait_for_usable(400);
    // What cannot be divided is not taken, and what is in force stays.
    cluster.write(0, files(20_000_000_000));
    cluster.fleet.reload(0).unwrap();
    until("it is refused", || {
        cluster.log(0).contains("at most 9,223,372,036")
    });
    assert!(is_near(cluster.policy(0).unwrap().number("rate"), 400));
    for node in 0..2 {
        cluster.tell(node, files(2000));
    }
    wait_for_evidence(&cluster, 400);
    let rises = now();
    cluster.tell(2, files(2000));
    cluster.wait_for_usable(2000);
    crowd.stop();
    cluster.assert_within(1000, (begun, rises));
    cluster.assert_within(400, (fallen, rises));
    cluster.assert_within(2000, (begun, u64::MAX));
}

#[test]
fn a_roster_changes_on_one_node_after_the_other() {
    let roster = |roster| Files {
        limit: 1000,
        roster,
        how: SUPPLY,
    };
    let mut cluster = Divided::start(3, roster("[n0, n1]"), |_, _| {});
    cluster.wait_for_usable(1000);
    let begun = now();
    let crowd = GreedyClients::ask(&cluster);
    for (names, homes) in [
        (THREE, [333, 333, 333]),
        ("{ n0: 0, n1: 1, n2: 3 }", [0, 250, 750]),
        ("[n1]", [0, 1000, 0]),
    ] {
        for node in 0..3 {
            cluster.tell(node, roster(names));
        }
        let stands = |(node, expected): (u16, u64)| match expected {
            0 => home(&cluster, node) < 1.0,
            expected => is_near(home(&cluster, node), expected),
        };
        until(names, || (0..).zip(homes).all(stands));
        cluster.wait_for_usable(1000);
    }
    crowd.stop();
    cluster.assert_within(1000, (begun, u64::MAX));
}

#[test]
fn what_a_node_with_a_full_disk_gave_up_nobody_takes() {
    let mut cluster = Divided::start(3, files(1000), |_, _| {});
    cluster.wait_for_usable(1000);
    let begun = now();
    let crowd = GreedyClients::ask(&cluster);
    // Whatever is written there finds no room.
    let beside = cluster.fleet.data_dir(2).join("supply.json.new");
    std::os::unix::fs::symlink("/dev/full", &beside).unwrap();
    let without = Files {
        limit: 1000,
        roster: "{ n0: 1, n1: 1, n2: 0 }",
        how: SUPPLY,
    };
    for node in 0..3 {
        cluster.tell(node, without);
    }
    until("it is told", || cluster.troubles(2).contains("make room"));
    wait_for_evidence(&cluster, 1000);
    assert!(home(&cluster, 2) < 1.0);
    for node in 0..2 {
        assert!(is_near(home(&cluster, node), 333), "n{node}");
    }
    // As it was never written, a restart may still find what it had.
    cluster.fleet.suffer(ProcessFault::Kill(2)).unwrap();
    fs::remove_file(&beside).unwrap();
    cluster.start_again(2);
    cluster.fleet.gather().unwrap();
    until("the others have it", || {
        (0..2).all(|node| is_near(home(&cluster, node), 500))
    });
    cluster.wait_for_usable(1000);
    assert!(!cluster.troubles(2).contains("make room"));
    crowd.stop();
    cluster.assert_within(1000, (begun, u64::MAX));
}

#[test]
fn of_two_with_one_name_one_has_the_home_until_it_is_gone() {
    let mut cluster = Divided::start(4, files(1000), |node, spot| {
        spot.name = (node == 3).then(|| "n0".to_owned());
    });
    let begun = now();
    let crowd = GreedyClients::ask(&cluster);
    cluster.wait_for_usable(1000);
    for node in 0..4 {
        let said = cluster.troubles(node);
        assert!(
            said.contains("more than one live node is called `n0`"),
            "{said}"
        );
    }
    let homes = [home(&cluster, 0), home(&cluster, 3)];
    let (has, other) = if homes[0] > homes[1] { (0, 3) } else { (3, 0) };
    assert!(is_near(home(&cluster, has), 333), "{homes:?}");
    assert!(home(&cluster, other) < 1.0, "{homes:?}");
    cluster.fleet.suffer(ProcessFault::Kill(has)).unwrap();
    until("the other has it", || is_near(home(&cluster, other), 333));
    cluster.wait_for_usable(1000);
    crowd.stop();
    cluster.assert_within(1000, (begun, u64::MAX));
}

#[test]
fn a_data_directory_that_was_copied_makes_no_home() {
    let two = Files {
        limit: 1000,
        roster: "[n0, n1]",
        how: SUPPLY,
    };
    let mut cluster = Divided::start(3, two, |_, _| {});
    cluster.wait_for_usable(1000);
    let begun = now();
    let crowd = GreedyClients::ask(&cluster);
    cluster.fleet.suffer(ProcessFault::Stop(2)).unwrap();
    let file = |node| cluster.fleet.data_dir(node).join("supply.json");
    fs::copy(file(1), file(2)).unwrap();
    cluster.write(2, files(1000));
    cluster.start_again(2);
    cluster.fleet.gather().unwrap();
    wait_for_evidence(&cluster, 1000);
    for node in 0..2 {
        cluster.tell(node, files(1000));
    }
    until("all have homes", || {
        (0..3).all(|node| is_near(home(&cluster, node), 333))
    });
    cluster.wait_for_usable(1000);
    crowd.stop();
    cluster.assert_within(1000, (begun, u64::MAX));
}

#[test]
fn an_old_disk_is_not_believed() {
    for limit_on_it in [400, 1000] {
        let mut cluster = Divided::start(3, files(1000), |_, _| {});
        cluster.wait_for_usable(1000);
        let file = cluster.fleet.data_dir(2).join("supply.json");
        let old = fs::read(&file).unwrap();
        for node in 0..3 {
            cluster.tell(node, files(400));
        }
        cluster.wait_for_usable(400);
        until("all agree", || is_settled(&cluster));
        let begun = now();
        let crowd = GreedyClients::ask(&cluster);
        cluster.fleet.suffer(ProcessFault::Stop(2)).unwrap();
        fs::write(&file, old).unwrap();
        cluster.write(2, files(limit_on_it));
        cluster.start_again(2);
        cluster.fleet.gather().unwrap();
        wait_for_evidence(&cluster, 400);
        if limit_on_it == 1000 {
            cluster.tell(2, files(400));
        }
        cluster.wait_for_usable(400);
        crowd.stop();
        cluster.assert_within(400, (begun, u64::MAX));
    }
}

/// Words of a text that are names of metrics of divided rates.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("tollgate_supply_") && !word.ends_with('_'));
    names.collect()
}

#[test]
fn every_metric_is_there_and_documented() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let read = |path: &str| fs::read_to_string(format!("{root}{path}")).unwrap();
    let cluster = Divided::start(
        1,
        Files {
            limit: 10,
            roster: "[n0]",
            how: SUPPLY,
        },
        |_, _| {},
    );
    let there = cluster.fleet.metrics(0).unwrap();
    let there = metrics(&there);
    assert_eq!(metrics(&read("docs/supply.md")), there);
}
