//! Restarts, copies, newcomers and links that lose too much.

use super::*;

const NUMBERS: JudgedLimit = JudgedLimit {
    burst: 90,
    tokens: 1,
    per_ns: 3_600 * SECOND,
};
const KEY: ModeKey = ModeKey(9);

fn world(nodes: u16, keeps: bool) -> LinkWorld<Buckets> {
    let make = Make {
        keeps,
        ..Make::calm(nodes)
    };
    LinkWorld::new(NUMBERS.law(), make)
}

fn spend(world: &mut LinkWorld<Buckets>, node: u16, cost: u64) {
    for _ in 0..cost {
        assert!(world.request(node, KEY, 1));
        world.run(world.now());
    }
}

#[test]
fn a_restarted_node_gets_its_silent_tokens_back_and_what_the_others_know() {
    let mut world = world(3, true);
    spend(&mut world, 0, 35);
    spend(&mut world, 1, 4);
    world.run_for(1_000);
    let told = world.left(KEY);
    let now = world.now();
    world.sim.plan(now + 1, PlannedStep::Crash(1));
    world.sim.plan(now + 2_000 * MS, PlannedStep::Restart(1));
    world.run_for(4_000);
    assert_eq!(world.left(KEY), told);
    world.tell_all();
    assert_eq!(world.left(KEY), [90 - 39; 3]);
}

#[test]
fn without_copies_a_crash_forgets_a_share_and_no_more() {
    let mut world = world(3, false);
    spend(&mut world, 0, 35);
    spend(&mut world, 1, 4);
    let now = world.now();
    world.sim.plan(now + 1, PlannedStep::Crash(1));
    world.sim.plan(now + 2_000 * MS, PlannedStep::Restart(1));
    world.run_for(4_000);
    world.tell_all();
    assert_eq!(world.left(KEY), [90 - 35; 3]);
}

#[test]
fn copies_of_another_time_are_not_kept() {
    let mut world = world(3, true);
    spend(&mut world, 1, 4);
    // What is told while the copy is under way is not kept beside it.
    world.sim.links.weather = Conditions::between(400 * MS, 400 * MS);
    world.run_for(500);
    spend(&mut world, 1, 40);
    world.run_for(3_000);
    world.sim.links.weather = Conditions::default();
    let now = world.now();
    world.sim.plan(now + 1, PlannedStep::Crash(1));
    world.sim.plan(now + 100 * MS, PlannedStep::Restart(1));
    world.run_for(3_000);
    world.tell_all();
    let left = world.left(KEY);
    assert!(left.iter().all(|left| *left >= 90 - 44), "{left:?}");
}

#[test]
fn a_newcomer_learns_what_was_said_before_it_came() {
    let mut world = world(3, false);
    let before: Vec<_> = [0, 1].map(NodeId).to_vec();
    world.nodes[2] = None;
    for node in 0..2 {
        let now = world.instant();
        world.node(node).set_members(&before, now);
    }
    spend(&mut world, 0, 50);
    world.run_for(30_000);
    let newcomer = world.boot(2, false);
    world.nodes[2] = Some(newcomer);
    for node in 0..3 {
        let (now, all) = (world.instant(), [0, 1, 2].map(NodeId));
        world.node(node).set_members(&all, now);
    }
    world.run_for(3_000);
    world.tell_all();
    assert_eq!(world.left(KEY), [40; 3]);
    spend(&mut world, 2, 40);
    world.run_for(1_000);
    assert_eq!(world.left(KEY), [0; 3]);
}

#[test]
fn a_backlog_beyond_its_bound_is_made_up_for_by_what_the_other_side_knows() {
    let numbers = JudgedLimit {
        burst: 4,
        ..NUMBERS
    };
    let mut world = LinkWorld::new(numbers.law(), Make::calm(2));
    let cut = START..START + 40 * SECOND;
    world.sim.links.cut(&[0], &[1], cut.clone());
    world.sim.links.cut(&[1], &[0], cut);
    world.run_for(10);
    for number in 0..70_000 {
        for _ in 0..3 {
            assert!(world.request(0, ModeKey(number), 1));
        }
        if number % 2_000 == 0 {
            world.run_for(500);
        }
    }
    world.run(START + 60 * SECOND);
    world.tell_all();
    for number in (0..70_000).step_by(997) {
        assert_eq!(world.left(ModeKey(number)), [1; 2], "{number}");
    }
    assert!(world.node(0).post.tally.skipped > 0);
    assert!(world.node(0).post.links().all(|link| link.suspensions == 1));
}

#[test]
fn what_waited_for_a_link_arrives_merged_and_once() {
    let mut world = world(2, false);
    let cut = START..START + 20 * SECOND;
    world.sim.links.cut(&[0], &[1], cut.clone());
    world.sim.links.cut(&[1], &[0], cut);
    for number in 0..200 {
        for _ in 0..60 {
            assert!(world.request(0, ModeKey(number), 1));
        }
        for _ in 0..10 {
            assert!(world.request(1, ModeKey(number), 1));
        }
        world.run_for(50);
    }
    let before = world.bytes;
    world.run(START + 40 * SECOND);
    let caught_up = world.bytes - before;
    world.tell_all();
    for number in 0..200 {
        assert_eq!(world.left(ModeKey(number)), [20; 2], "{number}");
    }
    assert!(caught_up < 200 * 2 * 100, "{caught_up} bytes");
    assert_eq!(world.node(0).post.tally.skipped, 0);
}

#[test]
fn a_node_goes_on_under_another_number_and_nothing_counts_twice() {
    let mut world = world(3, false);
    spend(&mut world, 1, 40);
    let now = world.instant();
    let all = [0, 1, 2].map(NodeId);
    world.node(1).renumber(NodeId(1), Writer(5_000), &all, now);
    world.run_for(3_000);
    assert_eq!(world.left(KEY), [50; 3]);
    spend(&mut world, 1, 20);
    spend(&mut world, 0, 20);
    world.run_for(1_000);
    world.tell_all();
    assert_eq!(world.left(KEY), [10; 3]);
}

#[test]
fn a_whole_cluster_that_starts_at_once_waits_for_nobody_long() {
    let mut world = world(5, true);
    for node in 0..5 {
        let now = world.instant();
        world.node(node).join(now);
    }
    world.run_for(100);
    for node in 0..5 {
        assert!(!world.node(node).join.is_joining());
    }
    spend(&mut world, 3, 90);
    world.run_for(100);
    assert_eq!(world.left(KEY), [0; 5]);
}
