//! A rate that is divided.

use std::collections::BTreeMap;

use tollgate_limit::{Cost, Verdict};
use tollgate_node::Key;

use crate::world::{Divided, MS, NodeWorld, SECOND, ceiling, contracts, of};

#[test]
fn nodes_that_begin_together_share_the_rate_and_lend_it() {
    let mut world = of(4, &ceiling(1000));
    assert_eq!(world.usable(), 1000 * SECOND);
    let passed = world.load(4 * SECOND, &[2], 4);
    assert!(passed > 3_500, "{passed} of 4,000 passed");
    let lent: u64 = [0, 1, 3].map(|at| world.seen(at, "lent")).iter().sum();
    assert!(lent > 600 * SECOND, "{lent}");
    let passed = world.load(4 * SECOND, &[0, 1], 2);
    assert!(passed > 3_500, "{passed} of 4,000 passed");
    world.replay(1000, 50);
}

#[test]
fn nothing_is_used_before_everybody_is_there() {
    let mut world = of(3, &ceiling(1000));
    world.roster.push(("n9".to_owned(), 1));
    let mut other = of(0, &ceiling(1000));
    other.roster = world.roster.clone();
    for name in ["n0", "n1", "n2"] {
        other.add(name, BTreeMap::new());
    }
    other.tell();
    assert_eq!(other.load(3 * SECOND, &[0, 1, 2], 1), 0);
    other.add("n9", BTreeMap::new());
    other.tell();
    other.run(3 * SECOND);
    assert_eq!(other.usable(), 1000 * SECOND);
}

#[test]
fn a_node_that_is_cut_off_has_its_home_and_no_more() {
    let mut world = of(4, &ceiling(1000));
    world.load(2 * SECOND, &[3], 4);
    world.cut_off(3);
    world.tell();
    world.load(2 * SECOND, &[0, 3], 4);
    assert_eq!(world.seen(3, "usable"), 250 * SECOND);
    assert!(world.usable() <= 1000 * SECOND);
    world.sim.links.heal();
    world.tell();
    world.load(3 * SECOND, &[0, 3], 4);
    assert!(world.usable() <= 1000 * SECOND);
    world.replay(1000, 50);
}

#[test]
fn a_killed_node_has_its_home_back_by_what_it_kept() {
    let mut world = of(3, &ceiling(900));
    world.load(SECOND, &[0, 1, 2], 1);
    let disk = world.crash(1);
    // Whoever is gone stays gone, and another must not be asked to agree.
    let gone = world.crash(2);
    assert_eq!(gone.len(), 8, "one record for each shard");
    let back = world.add("n1", disk);
    world.tell();
    world.load(SECOND, &[0, back], 1);
    world.run(2 * SECOND);
    assert_eq!(world.seen(back, "home"), 300 * SECOND);
    world.load(3 * SECOND, &[0, back], 2);
    world.replay(900, 50);
}

#[test]
fn without_its_disk_it_waits_until_all_vouch_for_it() {
    let mut world = of(3, &ceiling(900));
    world.crash(2);
    world.crash(1);
    let back = world.add("n1", BTreeMap::new());
    world.tell();
    world.load(4 * SECOND, &[0, back], 1);
    assert_eq!(world.seen(back, "home"), 0);
    world.add("n2", BTreeMap::new());
    world.tell();
    world.load(4 * SECOND, &[0, back], 1);
    assert_eq!(world.usable(), 900 * SECOND);
    world.replay(900, 50);
}

#[test]
fn another_limit_is_the_same_machine_and_less_counts_at_once() {
    let mut world = of(3, &ceiling(900));
    world.load(SECOND, &[0], 2);
    world.reload(contracts(&ceiling(300)));
    assert!(world.usable() <= 900 * SECOND);
    world.run(3 * SECOND);
    assert_eq!(world.usable(), 300 * SECOND);
    world.log().clear();
    world.load(3 * SECOND, &[0, 2], 1);
    world.replay(300, 50);
    world.reload(contracts(&ceiling(1200)));
    world.run(3 * SECOND);
    assert_eq!(world.usable(), 1200 * SECOND);
}

#[test]
fn a_roster_grows_and_shrinks_while_it_runs() {
    let mut world = of(3, &ceiling(1200));
    let set = |world: &mut NodeWorld, names: &[(&str, u32)]| {
        world.set_roster(names.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect());
    };
    world.add("n3", BTreeMap::new());
    set(&mut world, &[("n0", 1), ("n1", 1), ("n2", 1), ("n3", 1)]);
    world.tell();
    world.load(3 * SECOND, &[0, 3], 2);
    assert!(world.usable() <= 1200 * SECOND);
    assert_eq!(world.seen(3, "home"), 300 * SECOND);
    set(&mut world, &[("n0", 2), ("n3", 1), ("n2", 1)]);
    world.load(4 * SECOND, &[0, 1, 3], 2);
    assert_eq!(world.seen(1, "home"), 0);
    assert_eq!(world.seen(0, "home"), 600 * SECOND);
    world.replay(1200, 50);
}

#[test]
fn the_younger_of_two_with_one_name_has_no_home() {
    let mut world = of(2, &ceiling(1000));
    let disk = world.nodes[1].disk.clone();
    let twin = world.add("n1", disk);
    let said = world.tell();
    assert!(said.iter().all(|names| names == &["n1"]), "{said:?}");
    world.load(4 * SECOND, &[1, twin], 2);
    assert_eq!(world.seen(1, "home"), 500 * SECOND);
    assert_eq!(world.seen(twin, "home"), 0);
    assert_eq!(world.nodes[twin].node.doubled_names().1, 1);
    world.crash(1);
    world.load(5 * SECOND, &[twin], 2);
    assert_eq!(world.seen(twin, "home"), 500 * SECOND);
    world.replay(1000, 50);
}

#[test]
fn who_leaves_gives_back_and_uses_nothing() {
    let mut world = of(3, &ceiling(900));
    world.load(2 * SECOND, &[1], 3);
    assert!(world.seen(1, "borrowed") > 0);
    world.nodes[1].node.handle_leave(world.now());
    world.pump();
    world.run(50 * MS);
    let (usable, borrowed) = (world.seen(1, "usable"), world.seen(1, "borrowed"));
    assert_eq!(usable, borrowed, "nothing of the home is used");
    let lent: u64 = [0, 2].map(|at| world.seen(at, "lent")).iter().sum();
    assert!(
        lent < 9 * SECOND,
        "{lent} is not back before its term is over"
    );
    world.replay(900, 50);
}

#[test]
fn delays_are_promised_within_the_rate() {
    let text = "contracts: [{ id: api, policies: [{ name: all, limit: 100, per: 1s, burst: 30, \
        on_limit: delay, max_wait: 500ms, coordination: supply }] }]";
    let mut world = of(3, text);
    let mut waits = 0;
    for _ in 0..2000 {
        let now = world.now();
        let one = Cost::new(1).unwrap();
        let answer = world.nodes[0].node.check(Key::Text(b"x"), one, now);
        if let Verdict::Delay { wait } = answer.verdict {
            assert!(wait.as_nanos() <= 500_000_000);
            waits += 1;
        }
        world.run(MS);
    }
    assert!(waits > 20, "{waits}");
    world.replay(100, 30);
}

#[test]
fn all_or_nothing_holds_with_policies_beside_it() {
    let text = "contracts: [{ id: api, key: [user], policies: [\
        { name: few, limit: 5, per: 1h, algorithm: fixed-window }, \
        { name: all, limit: 900, per: 1s, coordination: supply }] }]";
    let mut world = of(3, text);
    let user = [("user", "a")];
    let one = Cost::new(1).unwrap();
    let passed = (0..20)
        .filter(|_| {
            let answer = world.nodes[0]
                .node
                .check(Key::Entries(&user), one, world.now());
            answer.is_allowed()
        })
        .count();
    assert_eq!(passed, 5);
    assert_eq!(world.log().len(), 5);
    world.run(10 * MS);
}

#[test]
fn a_stranger_outside_the_roster_borrows() {
    let mut world = of(2, &ceiling(1000));
    let guest = world.add("guest", BTreeMap::new());
    world.tell();
    let passed = world.load(4 * SECOND, &[guest], 2);
    assert_eq!(world.seen(guest, "home"), 0);
    assert!(passed > 2_000, "{passed} of 4,000 passed");
    world.replay(1000, 50);
}
