//! Buckets that are cut: nodes that are asked for more than there is, die, are started again and stand still, and
//! together admit what one bucket would have.

use std::time::Duration;

use tollgate::cluster::asker::Asker;
use tollgate_fault::ProcessFault;
use tollgate_serve::modes::view::ModePolicyView;

use super::kit::{Divided, Files, GreedyClients, now};
use super::{THREE, wait_for_evidence};
use tollgate_parts::until;

/// Waits are short, so that a node that is started again has its part soon.
const CUT: Files<'static> = Files {
    limit: 1000,
    roster: THREE,
    how: "coordination: split, on_limit: delay, max_wait: 200ms",
};

fn seen(on: &Divided, node: u16) -> ModePolicyView {
    let view = on.fleet.split(node).unwrap();
    let divided = view.divided.as_ref().unwrap();
    assert!(divided.on, "{view:?}");
    assert_eq!((view.lends, view.adapts), (Some(true), Some(true)));
    assert_eq!(divided.roster.len(), 3);
    view.policies.into_iter().next().unwrap()
}

#[test]
fn not_one_over_whoever_dies_and_stands_still() {
    let mut cluster = Divided::start(3, CUT, |_, _| {});
    let begun = now();
    let crowd = GreedyClients::ask(&cluster);
    wait_for_evidence(&cluster, 1000);
    cluster.fleet.suffer(ProcessFault::Kill(2)).unwrap();
    wait_for_evidence(&cluster, 500);
    cluster.start_again(2);
    cluster.fleet.gather().unwrap();
    cluster.fleet.suffer(ProcessFault::Pause(1)).unwrap();
    wait_for_evidence(&cluster, 500);
    cluster.fleet.suffer(ProcessFault::Resume(1)).unwrap();
    wait_for_evidence(&cluster, 1000);
    crowd.stop();
    cluster.assert_within(1000, (begun, u64::MAX));
    for node in 0..3 {
        let policy = seen(&cluster, node);
        assert!(policy.count("counts.delayed") > 0, "{policy:?}");
        let right =
            policy.number("own_rate") - policy.number("hired_rate") + policy.number("let_rate");
        assert!((right - 333.3).abs() < 0.1, "{policy:?}");
    }
}

#[test]
fn whoever_is_asked_for_all_borrows_from_those_who_are_not() {
    let cluster = Divided::start(3, CUT, |_, _| {});
    until("all have their parts", || {
        (0..3).all(|node| {
            seen(&cluster, node).number("tokens") > 30.0 || seen(&cluster, node).count("keys") == 0
        })
    });
    let begun = now();
    let mut asker = Asker::connect(cluster.fleet.nodes()[0].resp, Duration::from_secs(5)).unwrap();
    // Its own part of the burst is a third of a hundred: the rest comes from the others, and is asked for as it goes.
    let mut passed = 0;
    until("others have lent", || {
        passed += asker.ask_many(&[("route", "/")], 1, 40).unwrap();
        seen(&cluster, 0).number("counts.borrowed") > 50.0
    });
    assert!(passed > 80, "{passed}");
    let given: f64 = (1..3)
        .map(|node| seen(&cluster, node).number("counts.given"))
        .sum();
    assert!(given > 40.0, "{given}");
    cluster.assert_within(1000, (begun, u64::MAX));
}

#[test]
fn whoever_is_asked_for_all_hires_the_parts_of_the_others() {
    let mut cluster = Divided::start(3, CUT, |_, _| {});
    let begun = now();
    let mut asker = Asker::connect(cluster.fleet.nodes()[0].resp, Duration::from_secs(5)).unwrap();
    let mut ask = |what: &str, enough: &dyn Fn() -> bool| {
        until(what, || {
            asker.ask_many(&[("route", "/")], 1, 40).unwrap();
            enough()
        });
    };
    ask("it has most of the rate, from the others", &|| {
        let lets = (1..3).map(|node| seen(&cluster, node).number("let_rate"));
        seen(&cluster, 0).number("own_rate") > 900.0 && lets.sum::<f64>() > 500.0
    });
    // One of those who let is killed and comes back: what it let is in use until the term ends, and not by it.
    cluster.fleet.suffer(ProcessFault::Kill(1)).unwrap();
    cluster.start_again(1);
    cluster.fleet.gather().unwrap();
    ask("it hires again", &|| {
        seen(&cluster, 0).number("own_rate") > 900.0
    });
    drop(asker);
    until("what was hired is over", || {
        let policy = seen(&cluster, 0);
        policy.number("hired_rate") < 0.1 && (policy.number("own_rate") - 333.3).abs() < 0.1
    });
    cluster.assert_within(1000, (begun, u64::MAX));
}
