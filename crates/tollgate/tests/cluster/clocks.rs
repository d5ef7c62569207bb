//! Nodes whose clocks are wrong, or jump while they run: by libfaketime (Debian's package `faketime`).
//!
//! Where that is missing the test says so and ends. Only the wall clock is wrong: what measures time runs on, as it
//! does on a machine whose clock is set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tollgate::cluster::asker::Asker;
use tollgate::cluster::fleet::{ClusterPlan, Fleet, Spot};
use tollgate_fault::ProcessFault;
use tollgate_parts::{PATIENCE, until, until_within};

use crate::faked::{library, set, under};
use crate::judge::judge;
use crate::kit::plan;
use crate::load::ClusterLoad;
use crate::phases::{BUCKET, RATE, contracts};

/// A step must stand for a minute before it is followed.
const FOLLOWED: Duration = Duration::from_secs(90);
/// A contract whose tokens do not come back during the test, and one for each of these.
const SLOW: &str = "  - { id: slow, match: { lane: slow }, key: [user], coordination: gossip, policies: [{ name: p, \
     limit: 50, per: 1000d }] }\n";
const LANES: &[&str] = &["gossip"];
/// The same tokens, counted in other ways.
const WAYS: [(&str, &str); 4] = [
    (
        "local",
        "policies: [{ name: p, limit: 50, per: day, algorithm: fixed-window }]",
    ),
    (
        "owner",
        "coordination: owner, policies: [{ name: p, limit: 50, per: 1000d }]",
    ),
    (
        "sync",
        "coordination: sync, policies: [{ name: p, limit: 50, per: 1000d }]",
    ),
    (
        "lease",
        "coordination: lease, policies: [{ name: p, limit: 50, per: day, algorithm: fixed-window, recovery: fresh }]",
    ),
];

/// A cluster, each node with a file that says how far its clock is off.
struct Clocks {
    fleet: Fleet,
    folder: tempfile::TempDir,
}

impl Clocks {
    /// As many nodes as there are offsets, each with its clock off by so many seconds from the start.
    fn start(library: &str, offsets: &[i64]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contracts.yaml");
        let way = |(lane, rest): &(&str, &str)| {
            format!("  - {{ id: {lane}, match: {{ lane: {lane} }}, key: [user], {rest} }}\n")
        };
        let ways: String = WAYS.iter().map(way).collect();
        std::fs::write(&path, contracts(LANES) + SLOW + &ways).unwrap();
        let spot = |node: u16| {
            let file = clock(folder.path(), node);
            let words = ["env".to_owned()].into_iter().chain(under(library, &file));
            Spot {
                under: words.collect(),
                ..Spot::default()
            }
        };
        let nodes = u16::try_from(offsets.len()).unwrap();
        let spots: BTreeMap<u16, Spot> = (0..nodes).map(|node| (node, spot(node))).collect();
        for (node, offset) in (0..nodes).zip(offsets) {
            set(&clock(folder.path(), node), *offset);
        }
        let fleet = Fleet::start(ClusterPlan {
            spots,
            ..plan(nodes, path)
        });
        Self {
            fleet: fleet.unwrap(),
            folder,
        }
    }

    /// Sets a node's clock while it runs, or before it starts again.
    fn set(&self, node: u16, offset: i64) {
        set(&clock(self.folder.path(), node), offset);
    }

    /// Starts a node again by the clock that it has now.
    fn restart(&mut self, node: u16) {
        self.fleet.suffer(ProcessFault::Stop(node)).unwrap();
        let is_empty = false;
        let process = ProcessFault::Start { node, is_empty };
        self.fleet.suffer(process).unwrap();
    }

    /// How far a node's clock is ahead, in milliseconds.
    fn offset(&self, node: u16) -> i64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = i64::try_from(now.unwrap().as_millis()).unwrap();
        i64::try_from(self.fleet.status(node).unwrap().at_ms).unwrap() - now
    }

    fn asker(&self, node: usize) -> Asker {
        Asker::connect(self.fleet.nodes()[node].resp, PATIENCE).unwrap()
    }

    /// How many requests of a user pass at a node, of sixty.
    fn spend(&self, node: usize, user: &str) -> usize {
        self.spend_in("slow", node, user)
    }

    fn spend_in(&self, lane: &str, node: usize, user: &str) -> usize {
        let mut asker = self.asker(node);
        let key = [("lane", lane), ("user", user)];
        (0..60).filter(|_| asker.ask(&key, 1).unwrap()).count()
    }
}

fn clock(folder: &Path, node: u16) -> PathBuf {
    folder.join(format!("clock{node}"))
}

#[test]
fn a_clock_that_is_far_off_is_told_of_and_leaves_the_others_exact() {
    let library = match library() {
        Ok(library) => library,
        Err(why) => return println!("skipped: {why}"),
    };
    let mut clocks = Clocks::start(&library, &[0, 0, 0]);
    // A step of a running node's clock would be held back for a minute; one that starts has no other.
    clocks.set(2, 120);
    clocks.restart(2);
    let troubles = |node: u16| clocks.fleet.status(node).unwrap().troubles.join("; ");
    let refused = |node: u16| clocks.fleet.status(node).unwrap().refused["clock"];
    for node in [0, 1] {
        until("it is told", || troubles(node).contains("s ahead of ours"));
        assert!(refused(node) > 0);
        until("it is missed", || clocks.fleet.sees(node) == 2);
    }
    until("it is told there too", || {
        troubles(2).contains("s behind ours")
    });
    until("it is alone", || clocks.fleet.sees(2) == 1);
    println!("told: {}; {}", troubles(0), troubles(2));
    // The others count as one, and exactly; the one that nobody hears admits what it would alone.
    assert_eq!(clocks.spend(0, "a"), 50);
    let mut other = clocks.asker(1);
    until("the other knows", || {
        !other.ask(&[("lane", "slow"), ("user", "a")], 1).unwrap()
    });
    assert_eq!(clocks.spend(1, "a"), 0);
    assert_eq!(clocks.spend(2, "a"), 50);
    // Set back, it says so, and is heard again once it was restarted.
    clocks.set(2, 0);
    until("it says so", || {
        let troubles = clocks.fleet.status(2).unwrap().troubles.join("; ");
        troubles.contains("set back by 2 min 0 s")
            && troubles.contains("followed when it has stood")
    });
    clocks.restart(2);
    clocks.fleet.gather().unwrap();
    assert_eq!(
        clocks.spend(2, "a"),
        0,
        "it has learnt what the others counted"
    );
}

#[test]
#[ignore = "takes five minutes: cargo test -p tollgate --test cluster clocks -- --ignored"]
fn a_clock_that_stays_where_it_was_set_is_followed_by_a_node_which_gives_nothing_twice() {
    let library = match library() {
        Ok(library) => library,
        Err(why) => return println!("skipped: {why}"),
    };
    let clocks = Clocks::start(&library, &[0, 0, 0]);
    clocks.fleet.gather().unwrap();
    let off = |node: u16| clocks.offset(node) / 1_000;
    let known = |user: &str| {
        for node in 0..3 {
            let mut asker = clocks.asker(node);
            // A peek, which takes nothing.
            until("it is known", || {
                !asker.ask(&[("lane", "slow"), ("user", user)], 0).unwrap()
            });
        }
    };
    // One node's clock goes wrong, and comes right: it is followed within a minute both times, and then all count as
    // one again.
    assert_eq!(clocks.spend(0, "ann"), 50);
    known("ann");
    for (offset, seen) in [(3_456_000, 1), (0, 3)] {
        clocks.set(2, offset);
        until_within(FOLLOWED, "it is followed", || off(2).abs_diff(offset) < 3);
        until("others see it or not", || clocks.fleet.sees(2) == seen);
        assert_eq!(clocks.spend(2, "ann"), 0, "{offset}");
        assert!(clocks.spend(2, &format!("new {offset} {seen}")) <= 50);
    }
    assert_eq!(clocks.spend(1, "bob"), 50);
    known("bob");
    // All clocks are set at once, as on one machine.
    for (lane, _) in WAYS {
        let mut spent = 0;
        until("its limit is used up", || {
            spent += clocks.spend_in(lane, 0, "dan");
            spent >= 50
        });
    }
    for offset in [3_456_000, 0] {
        let all = || (0..3).all(|node| clocks.fleet.sees(node) == 3);
        (0..3).for_each(|node| clocks.set(node, offset));
        until_within(FOLLOWED, "it is followed", || {
            (0..3).all(|node| off(node).abs_diff(offset) < 3)
        });
        until("all see all", all);
        for (node, user) in [(0, "ann"), (1, "bob"), (2, "ann")] {
            assert_eq!(clocks.spend(node, user), 0, "{offset}: {user} at {node}");
        }
        for (lane, _) in WAYS {
            assert_eq!(clocks.spend_in(lane, 0, "dan"), 0, "{offset}: {lane}");
        }
        let user = format!("cy {offset}");
        assert_eq!(clocks.spend(0, &user), 50);
        known(&user);
    }
}

#[test]
fn clocks_that_are_a_little_off_and_jump_cost_no_more_than_twice_their_refill() {
    let library = match library() {
        Ok(library) => library,
        Err(why) => return println!("skipped: {why}"),
    };
    let clocks = Clocks::start(&library, &[0, 0, 3]);
    let load = ClusterLoad::start(&clocks.fleet, LANES, RATE);
    let mut begins = Vec::new();
    // A node that is ahead from the start, and what its clock is set to: it goes on as it did.
    let phases = [
        ("3 s ahead", 3),
        ("set to 40 d", 3_456_000),
        ("set back", 0),
    ];
    for (phase, offset) in phases {
        begins.push(Instant::now());
        clocks.set(2, offset);
        std::thread::sleep(Duration::from_secs(3));
        let off = clocks.offset(2);
        assert!((2_000..4_000).contains(&off), "{phase}: {off} ms");
    }
    let answers = load.stop();
    for (lane, name) in LANES.iter().enumerate() {
        let own: Vec<_> = answers
            .iter()
            .filter(|answer| answer.lane == lane)
            .copied()
            .collect();
        let found = judge(BUCKET, &own, &begins, |_| false);
        for ((phase, _), found) in phases.iter().zip(found) {
            let late = found.slowest.as_secs_f64();
            // docs/gossip.md: wrong by at most twice the offset's refill; besides that what is late, as always.
            let bound = 2.0 * 3.0 * BUCKET.per_second + 2.0 + f64::from(RATE) * late;
            println!(
                "{name:<9} {phase:<13} over {:>3.0} / {bound:>3.0}, under {} of {}, admitted {}, slowest {:?}",
                found.over.max(0.0),
                found.under,
                found.asked,
                found.admitted,
                found.slowest
            );
            assert!(found.over <= bound, "{name}, {phase}: {found:?}");
            assert_eq!(found.unanswered, 0, "{name}, {phase}: {found:?}");
        }
    }
    for node in 0..3 {
        let status = clocks.fleet.status(node).unwrap();
        assert_eq!(status.refused["clock"], 0, "n{node}");
        assert_eq!(status.peers.len(), 2, "n{node}");
    }
}
