//! Nodes in network namespaces of their own, whose links are taken down: the kernel's own faults, without a proxy.
//!
//! Needs root, `unshare` and `ip`; where one is missing the test says so and ends. It runs itself again inside a
//! network that is its own, so that nothing of the machine is touched and nothing is left behind.

use std::time::{Duration, Instant};

use tollgate::cluster::fleet::{ClusterPlan, Fleet};
use tollgate::cluster::nets::{self, Nets};

use crate::foretell::{Diary, foretell};
use crate::judge::judge;
use crate::kit::plan;
use crate::load::ClusterLoad;
use crate::phases::{BUCKET, NODES, RATE, contracts};

const LANES: &[&str] = &["gossip"];

#[test]
fn a_link_that_goes_down_costs_what_a_cut_does() {
    if let Some(why) = nets::obstacle() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let mut inside = nets::enter(std::env::current_exe().unwrap());
    inside.args(["--exact", "namespaces::inside", "--ignored", "--nocapture"]);
    let output = inside.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "runs in a network of its own; a_link_that_goes_down_costs_what_a_cut_does starts it"]
fn inside() {
    if !nets::is_inside() {
        println!("skipped: this network is everybody's");
        return;
    }
    let nets = Nets::build(NODES).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    std::fs::write(&path, contracts(LANES)).unwrap();
    let fleet = Fleet::start(ClusterPlan {
        spots: nets.spots(),
        ..plan(NODES, path)
    })
    .unwrap();
    let load = ClusterLoad::start(&fleet, LANES, RATE);
    let mut diary = Diary::default();
    let mut begins = vec![Instant::now()];
    std::thread::sleep(Duration::from_secs(3));
    begins.push(Instant::now());
    diary.cut(&[0], &[1, 2, 3, 4]);
    nets.set_link(0, false).unwrap();
    std::thread::sleep(Duration::from_secs(4));
    begins.push(Instant::now());
    nets.set_link(0, true).unwrap();
    diary.mending();
    fleet.gather().unwrap();
    diary.mend();
    std::thread::sleep(Duration::from_secs(3));
    let answers = load.stop();
    let mut beyond = Vec::new();
    for (lane, name) in LANES.iter().enumerate() {
        let own = answers.iter().filter(|answer| answer.lane == lane);
        let own: Vec<_> = own.copied().collect();
        let found = judge(BUCKET, &own, &begins, |_| false);
        let bounds = foretell(&own, &begins, &diary);
        for ((phase, found), bound) in ["calm", "link down", "healed"]
            .iter()
            .zip(&found)
            .zip(bounds)
        {
            let bound = bound.later_by(found.slowest);
            let line = format!(
                "{name:<12} {phase:<10} over {:>3.0} / {:>3.0}, under {} / {:.0}, slowest {:?}, unanswered {}",
                found.over.max(0.0),
                bound.over,
                found.under,
                bound.under,
                found.slowest,
                found.unanswered
            );
            println!("{line}");
            let under = f64::from(u32::try_from(found.under).unwrap());
            if found.over > bound.over || under > bound.under {
                beyond.push(line);
            }
        }
        assert!(
            own.iter().any(|answer| answer.node == 0),
            "clients reach it"
        );
    }
    println!("found each other again after {:.1} s", diary.healing());
    assert!(beyond.is_empty(), "{beyond:#?}");
}
