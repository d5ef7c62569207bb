//! Named scenes: what one node, two or three do in cases that were thought of.

use tollgate_gossip::{Key, NodeId, Verdict};
use tollgate_limit::{Instant, Span};
use tollgate_supply::{Begin, Boot, Inspection, Limits, Machine, Setup, Shares, SupplyConfig};

use crate::world::{KEY, MS, Plan, SECOND, World, local};

pub(crate) fn span(nanos: u64) -> Span {
    Span::from_nanos(u128::from(nanos))
}

pub(crate) fn plan(nodes: u16, rate: u64, burst: u64) -> Plan {
    Plan {
        seed: 3,
        nodes,
        limits: Limits::new(rate * Limits::PER_SECOND, burst).unwrap(),
        config: SupplyConfig::default(),
        wait_max: Span::ZERO,
        costs_max: 1,
        drift_ppm: 0,
    }
}

pub(crate) fn seen(world: &World, node: u16) -> Inspection {
    let node = &world.nodes[usize::from(node)];
    let now = local(node.clock, world.now());
    node.machine.as_ref().unwrap().inspect(KEY, now)
}

pub(crate) fn passes(world: &mut World, node: u16, cost: u64) -> bool {
    world.request(node, cost).is_some_and(Verdict::is_allowed)
}

/// Asks again and again for a while; says whether it passed.
fn insists(world: &mut World, node: u16, cost: u64, seconds: u64) -> bool {
    let end = world.now() + seconds * SECOND;
    while world.now() < end {
        if passes(world, node, cost) {
            return true;
        }
        world.run_until(world.now() + 20 * MS);
    }
    false
}

pub(crate) fn sound(world: &World) {
    let limits = world.plan.limits;
    assert_eq!(world.seen.broken, None);
    assert_eq!(world.over(limits.rate(), limits.burst()), (0, 0));
}

#[test]
fn one_node_that_holds_everything_has_the_whole_burst() {
    let mut world = World::new(plan(1, 7, 20));
    assert!((0..20).all(|_| passes(&mut world, 0, 1)));
    assert!(!passes(&mut world, 0, 1));
    world.run_until(10 * SECOND);
    assert!(passes(&mut world, 0, 20));
    assert_eq!(world.request(0, 21), Some(Verdict::Never));
    sound(&world);
}

#[test]
fn a_cost_above_the_share_collects_what_it_needs() {
    let mut world = World::new(plan(3, 30, 30));
    assert!(!passes(&mut world, 0, 25));
    assert!(insists(&mut world, 0, 25, 3));
    assert!(
        insists(&mut world, 0, 30, 10),
        "all of it, when the others are idle"
    );
    sound(&world);
}

#[test]
fn a_hot_node_borrows_from_idle_ones_and_gives_back_when_it_is_idle() {
    let mut world = World::new(plan(3, 300, 30));
    world.set_demands(&[300, 0, 0]);
    world.run_until(3 * SECOND);
    let hot = seen(&world, 0);
    assert!(hot.borrowed > 180 * Limits::PER_SECOND, "{hot:?}");
    assert_eq!(seen(&world, 1).lent + seen(&world, 2).lent, hot.borrowed);
    world.set_demands(&[0, 0, 0]);
    world.run_until(9 * SECOND);
    for node in 0..3 {
        let machine = world.nodes[usize::from(node)].machine.as_ref().unwrap();
        assert_eq!(
            machine.keys_count(),
            0,
            "nothing is kept of a key that is as if never seen"
        );
        assert_eq!(seen(&world, node).usable, 100 * Limits::PER_SECOND);
        assert!(machine.is_quiet());
        assert_eq!(
            machine.poll_timeout(),
            None,
            "and nobody has anything to do"
        );
    }
    sound(&world);
}

#[test]
fn a_restarted_lender_uses_nothing_until_its_loans_have_ended() {
    let mut world = World::new(plan(2, 100, 10));
    world.set_demands(&[100, 0]);
    world.run_until(SECOND);
    let lent = seen(&world, 1).lent;
    assert!(lent > 0);
    world.crash(1);
    world.restart(1, true);
    assert_eq!(seen(&world, 1).usable, 0);
    assert!(seen(&world, 1).quarantine_until.is_some());
    assert!(!passes(&mut world, 1, 1));
    world.run_until(world.now() + 1_100 * MS);
    assert!(seen(&world, 1).usable > 0);
    sound(&world);
}

#[test]
fn a_node_that_says_goodbye_leaves_its_home_to_its_buddy() {
    let config = SupplyConfig {
        lease: Some(span(4 * SECOND)),
        ..SupplyConfig::default()
    };
    let mut world = World::new(Plan {
        config,
        ..plan(3, 300, 30)
    });
    world.set_demands(&[100, 100, 100]);
    world.run_until(SECOND);
    world.with(1, Machine::goodbye);
    assert_eq!(seen(&world, 1).usable, 0);
    world.run_until(6 * SECOND);
    assert_eq!(seen(&world, 2).home, 200 * Limits::PER_SECOND);
    assert_eq!(seen(&world, 1).usable, 0, "and asks for nothing");
    sound(&world);
}

#[test]
fn a_clock_that_runs_wrong_is_not_lent_to() {
    let mut world = World::new(plan(2, 100, 10));
    world.nodes[0].clock.drift = -50_000;
    world.set_demands(&[100, 10]);
    world.run_until(5 * SECOND);
    let figures = world.nodes[1].machine.as_ref().unwrap().figures();
    assert!(figures.ignored.drift > 0, "{figures:?}");
    assert_eq!(seen(&world, 0).borrowed, 0);
    assert_eq!(seen(&world, 1).lent, 0);
}

#[test]
fn clocks_that_run_as_fast_as_they_may_earn_no_more() {
    let mut world = World::new(plan(3, 100, 10));
    for node in &mut world.nodes {
        node.clock.drift = 1_000;
    }
    world.set_demands(&[100, 100, 100]);
    world.run_until(40 * SECOND);
    let limits = world.limits;
    assert_eq!(world.over(limits.rate(), limits.burst()), (0, 0));
}

#[test]
fn promised_waits_hold_when_the_lender_is_gone() {
    let mut world = World::new(Plan {
        wait_max: span(3 * SECOND),
        ..plan(2, 100, 2)
    });
    world.set_demands(&[95, 0]);
    world.run_until(SECOND);
    assert!(seen(&world, 0).borrowed > 0);
    world.sim.links.split(vec![0, 1]);
    world.set_demands(&[300, 0]);
    world.run_until(2 * SECOND);
    assert!(seen(&world, 0).tokens < 0, "some wait");
    world.run_until(8 * SECOND);
    assert_eq!(seen(&world, 0).borrowed, 0);
    // The lender has its home again, and uses it.
    world.set_demands(&[300, 300]);
    world.run_until(12 * SECOND);
    sound(&world);
}

#[test]
fn a_restart_brings_no_tokens_along() {
    let mut world = World::new(plan(2, 10, 100));
    for node in 0..2 {
        assert!((0..50).all(|_| passes(&mut world, node, 1)));
    }
    world.crash(1);
    world.restart(1, true);
    world.run_until(1_200 * MS);
    assert!(seen(&world, 1).usable > 0);
    while passes(&mut world, 1, 1) {}
    while passes(&mut world, 0, 1) {}
    sound(&world);
}

#[test]
fn what_is_promised_is_not_given_back_but_not_renewed_for_ever() {
    let mut world = World::new(Plan {
        wait_max: span(SECOND),
        ..plan(2, 100, 20)
    });
    world.set_demands(&[95, 0]);
    world.run_until(SECOND);
    world.set_demands(&[300, 0]);
    world.run_until(2 * SECOND);
    assert!(seen(&world, 0).tokens < 0, "some wait");
    assert!(seen(&world, 0).borrowed > 30 * Limits::PER_SECOND);
    // The lender wants it back.
    world.set_demands(&[300, 300]);
    world.run_until(6 * SECOND);
    assert!(seen(&world, 1).usable > 40 * Limits::PER_SECOND);
    sound(&world);
}

pub(crate) fn setup(me: u16, boot: u64) -> Setup {
    Setup {
        limits: Limits::new(100 * Limits::PER_SECOND, 20).unwrap(),
        shares: Shares::equal(1, [NodeId(0), NodeId(1), NodeId(2)]).unwrap(),
        me: NodeId(me),
        boot: Boot(boot),
        begin: Begin::Fresh,
        members: vec![NodeId(0), NodeId(1), NodeId(2)],
        seed: 1,
        start: at(0),
        wait_max: Span::ZERO,
        leaks: false,
        config: SupplyConfig {
            probes_min: 1,
            ..SupplyConfig::default()
        },
    }
}

pub(crate) fn at(millis: u64) -> Instant {
    Instant::from_nanos(1_000 * SECOND + millis * MS)
}

pub(crate) fn machine(me: u16, boot: u64) -> Machine {
    Machine::new(setup(me, boot)).unwrap()
}

/// All frames that wait for a node.
pub(crate) fn frames(machine: &mut Machine, to: u16) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(send) = machine.poll_send() {
        if send.to == NodeId(to) {
            frames.push(send.frame.to_vec());
        }
    }
    frames
}

pub(crate) fn hand(machine: &mut Machine, from: u16, frames: &[Vec<u8>], millis: u64) {
    for frame in frames {
        machine
            .handle_frame(NodeId(from), frame, at(millis))
            .unwrap();
    }
}

/// Makes a node ask one lender: what its look and its ask are. Only peers that answer are asked.
pub(crate) fn until_it_asks(
    asker: &mut Machine,
    lender: &mut Machine,
    millis: u64,
) -> Vec<Vec<u8>> {
    let lender_id = lender.me().0;
    for _ in 0..30 {
        let _ = asker.handle_request(Key(1), 1, at(millis));
    }
    hand(lender, 0, &frames(asker, lender_id), millis);
    hand(asker, lender_id, &frames(lender, 0), millis);
    asker.handle_timeout(at(millis + 60));
    frames(asker, lender_id)
}

#[test]
fn a_doubled_ask_lends_once_and_a_doubled_grant_counts_once() {
    let (mut asker, mut lender) = (machine(0, 1), machine(1, 1));
    let asks = (0..5).find_map(|step| {
        let asks = until_it_asks(&mut asker, &mut lender, step * 100);
        (!asks.is_empty()).then_some((asks, step * 100 + 60))
    });
    let (asks, now) = asks.unwrap();
    hand(&mut lender, 0, &asks, now);
    let lent = lender.inspect(Key(1), at(now)).lent;
    assert!(lent > 0);
    let grants = frames(&mut lender, 0);
    hand(&mut lender, 0, &asks, now);
    assert_eq!(lender.inspect(Key(1), at(now)).lent, lent);
    let again = frames(&mut lender, 0);
    for grants in [&grants, &again, &grants] {
        hand(&mut asker, 1, grants, now);
        assert_eq!(asker.inspect(Key(1), at(now)).borrowed, lent);
    }
    assert!(asker.figures().ignored.duplicates > 0);
}

#[test]
fn a_grant_to_the_boot_before_does_not_count() {
    let asks = |boot: u64, lender: &mut Machine| {
        let mut asker = machine(0, boot);
        (0..5)
            .find_map(|step| {
                let asks = until_it_asks(&mut asker, lender, step * 100);
                let now = step * 100 + 60;
                (!asks.is_empty()).then_some(()).map(|()| (asks, now))
            })
            .map(|(asks, now)| (asker, asks, now))
    };
    let mut lender = machine(1, 1);
    let (_, old, now) = asks(1, &mut lender).unwrap();
    hand(&mut lender, 0, &old, now);
    let grants = frames(&mut lender, 0);
    let mut other = machine(1, 1);
    let (mut asker, _, now) = asks(2, &mut other).unwrap();
    hand(&mut asker, 1, &grants, now);
    assert_eq!(asker.inspect(Key(1), at(now)).borrowed, 0);
    assert!(asker.figures().ignored.old_boots > 0);
}

#[test]
fn of_two_nodes_with_one_name_the_older_stops() {
    let (mut old, mut new, mut peer) = (machine(0, 1), machine(0, 2), machine(1, 1));
    let talk = |speaker: &mut Machine, peer: &mut Machine, millis: u64| {
        for _ in 0..30 {
            let _ = speaker.handle_request(Key(1), 1, at(millis));
        }
        let frames = frames(speaker, 1);
        hand(peer, 0, &frames, millis);
    };
    talk(&mut new, &mut peer, 0);
    let _ = frames(&mut peer, 0);
    for step in 1..10 {
        talk(&mut old, &mut peer, step * 400);
    }
    hand(&mut old, 1, &frames(&mut peer, 0), 4_000);
    let seen = old.inspect(Key(1), at(4_000));
    assert_eq!(seen.usable, 0);
    assert!(old.figures().ignored.duplicate_identities > 0);
}

#[test]
fn keys_beyond_the_most_that_may_be_known_are_refused_and_counted() {
    let mut machine = Machine::new(Setup {
        config: SupplyConfig {
            keys_max: 3,
            ..SupplyConfig::default()
        },
        ..setup(0, 1)
    })
    .unwrap();
    for key in 0..4 {
        let _ = machine.handle_request(Key(key), 1, at(0));
    }
    assert_eq!(machine.keys_count(), 3);
    assert_eq!(machine.figures().ignored.full, 1);
    // Once a key is as if never seen there is room.
    let _ = machine.handle_request(Key(9), 1, at(60_000));
    assert!(machine.knows(Key(9)));
}

#[test]
fn a_key_that_is_as_if_never_seen_is_found_behind_many_that_are_not() {
    let mut machine = Machine::new(setup(0, 1)).unwrap();
    machine.take(Key(900), 1, at(0));
    for key in 0..600 {
        machine.take(Key(key), 1, at(60_000));
    }
    let found = (0..4).filter(|_| machine.evict(at(60_000))).count();
    assert_eq!((found, machine.knows(Key(900))), (1, false));
}
