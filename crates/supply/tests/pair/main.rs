//! One machine or a few that are handed frames: what is counted once, who is told to stop, and how many keys there may
//! be.
//!
//! Not here: whole nodes, time and faults, which the campaigns of the lab have.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what is built here is valid"
)]

mod laws;
mod lies;

use tollgate_gossip::{ModeKey, NodeId};
use tollgate_limit::{Instant, Span};
use tollgate_supply::{
    Begin, Boot, Limits, Machine, Shares, SupplyConfig, SupplySetup, Witness, audit,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn setup(me: u16, boot: u64) -> SupplySetup {
    SupplySetup {
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

fn at(millis: u64) -> Instant {
    Instant::from_nanos(1_000 * SECOND + millis * MS)
}

fn machine(me: u16, boot: u64) -> Machine {
    Machine::new(setup(me, boot)).unwrap()
}

/// All frames that wait for a node.
fn frames(machine: &mut Machine, to: u16) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(send) = machine.poll_send() {
        if send.to == NodeId(to) {
            frames.push(send.frame.to_vec());
        }
    }
    frames
}

fn hand(machine: &mut Machine, from: u16, frames: &[Vec<u8>], millis: u64) {
    for frame in frames {
        machine
            .handle_frame(NodeId(from), frame, at(millis))
            .unwrap();
    }
}

/// Makes a node ask one lender: what its look and its ask are. Only peers that answer are asked.
fn until_it_asks(asker: &mut Machine, lender: &mut Machine, millis: u64) -> Vec<Vec<u8>> {
    let lender_id = lender.me().0;
    for _ in 0..30 {
        let _ = asker.handle_request(ModeKey(1), 1, at(millis));
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
    let lent = lender.inspect(ModeKey(1), at(now)).lent;
    assert!(lent > 0);
    let grants = frames(&mut lender, 0);
    hand(&mut lender, 0, &asks, now);
    assert_eq!(lender.inspect(ModeKey(1), at(now)).lent, lent);
    let again = frames(&mut lender, 0);
    for grants in [&grants, &again, &grants] {
        hand(&mut asker, 1, grants, now);
        assert_eq!(asker.inspect(ModeKey(1), at(now)).borrowed, lent);
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
    assert_eq!(asker.inspect(ModeKey(1), at(now)).borrowed, 0);
    assert!(asker.figures().ignored.old_boots > 0);
}

#[test]
fn of_two_nodes_with_one_name_the_older_stops() {
    let (mut old, mut new, mut peer) = (machine(0, 1), machine(0, 2), machine(1, 1));
    let talk = |speaker: &mut Machine, peer: &mut Machine, millis: u64| {
        for _ in 0..30 {
            let _ = speaker.handle_request(ModeKey(1), 1, at(millis));
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
    let seen = old.inspect(ModeKey(1), at(4_000));
    assert_eq!(seen.usable, 0);
    assert!(old.figures().ignored.duplicate_identities > 0);
}

#[test]
fn keys_beyond_the_most_that_may_be_known_are_refused_and_counted() {
    let mut machine = Machine::new(SupplySetup {
        config: SupplyConfig {
            keys_max: 3,
            ..SupplyConfig::default()
        },
        ..setup(0, 1)
    })
    .unwrap();
    for key in 0..4 {
        let _ = machine.handle_request(ModeKey(key), 1, at(0));
    }
    assert_eq!(machine.keys_count(), 3);
    assert_eq!(machine.figures().ignored.full, 1);
    // Once a key is as if never seen there is room.
    let _ = machine.handle_request(ModeKey(9), 1, at(60_000));
    assert!(machine.knows(ModeKey(9)));
}

#[test]
fn a_key_that_is_as_if_never_seen_is_found_behind_many_that_are_not() {
    let mut machine = Machine::new(setup(0, 1)).unwrap();
    machine.take(ModeKey(900), 1, at(0));
    for key in 0..600 {
        machine.take(ModeKey(key), 1, at(60_000));
    }
    let found = (0..4).filter(|_| machine.evict(at(60_000))).count();
    assert_eq!((found, machine.knows(ModeKey(900))), (1, false));
}

/// Lets time pass among machines that are all asked for so much in every step of 10 ms.
fn run(machines: &mut [Machine], cost: u64, millis: std::ops::Range<u64>) {
    for millis in millis.step_by(10) {
        for machine in &mut *machines {
            if cost > 0 {
                let _ = machine.handle_request(ModeKey(1), cost, at(millis));
            }
            machine.handle_timeout(at(millis));
        }
        for from in 0..machines.len() {
            let mut sends = Vec::new();
            sends.extend(std::iter::from_fn(|| machines[from].poll_send()));
            for send in sends {
                let name = machines[from].me();
                let to = machines.iter_mut().find(|to| to.me() == send.to);
                if let Some(to) = to {
                    to.handle_frame(name, &send.frame, at(millis)).unwrap();
                }
            }
        }
    }
}

#[test]
fn the_home_of_a_node_that_is_gone_is_used_by_none_that_it_has_not_agreed_with() {
    let limits = Limits::new(300 * Limits::PER_SECOND, 30).unwrap();
    let start = |me| {
        Machine::new(SupplySetup {
            limits,
            ..setup(me, 1)
        })
        .unwrap()
    };
    let mut machines = vec![start(0), start(1), start(2)];
    let homes = |machines: &[Machine], millis| -> u64 {
        let each = machines
            .iter()
            .map(|machine| machine.inspect(ModeKey(1), at(millis)).home);
        each.sum::<u64>() / Limits::PER_SECOND
    };
    run(&mut machines, 2, 0..1_000);
    machines.pop();
    let shares = Shares::new(2, (0..).map(NodeId).zip([1, 1, 0])).unwrap();
    for machine in &mut machines {
        machine.handle_shares(shares.clone(), at(1_000));
    }
    run(&mut machines, 2, 1_000..5_000);
    assert_eq!(
        homes(&machines, 5_000),
        200,
        "it may come back and not know"
    );
}

#[test]
fn the_largest_limit_is_kept_to_the_last_token() {
    let limits = Limits::new(Limits::RATE_MAX, Limits::BURST_MAX).unwrap();
    let start = |me| {
        Machine::new(SupplySetup {
            limits,
            ..setup(me, 1)
        })
        .unwrap()
    };
    let mut machines = vec![start(0), start(1), start(2)];
    let burst = limits.burst();
    let (mut left, full) = (Limits::tokens(burst), Limits::tokens(burst));
    for millis in (0..2_000).step_by(50) {
        for cost in [burst / 3, 1, burst] {
            if machines[0]
                .handle_request(ModeKey(1), cost, at(millis))
                .is_allowed()
            {
                left = left
                    .checked_sub(Limits::tokens(cost))
                    .expect("one bucket has it");
            }
        }
        run(&mut machines, 0, millis..millis + 50);
        left = full.min(left + u128::from(limits.rate()) * u128::from(50 * MS));
        let truth = |at: Instant| i128::from(at.as_nanos()) * 1_000;
        let witnesses = machines.iter();
        let witnesses: Vec<_> = witnesses
            .map(|machine| Witness::of(machine, ModeKey(1), at(millis), &truth))
            .collect();
        assert!(audit(&witnesses, limits.rate(), burst).is_ok());
    }
    assert!(machines[0].inspect(ModeKey(1), at(2_000)).borrowed > 0);
}
