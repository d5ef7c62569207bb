//! Whole clusters against the one bucket that sees everything.

use super::*;

fn numbers(dice: &mut Dice) -> Numbers {
    Numbers {
        burst: 1 + dice.below(60),
        tokens: 1 + dice.below(3),
        per_ns: SECOND * (1 + dice.below(4)),
    }
}

/// A node for a request: any, one of two, always the same, or each in turn.
fn route(dice: &mut Dice, style: u64, step: u64, nodes: u64) -> u16 {
    let node = match style {
        0 => dice.below(nodes),
        1 => dice.below(nodes.min(2)),
        2 => 0,
        _ => step % nodes,
    };
    node as u16
}

#[test]
fn instant_news_and_whole_shares_decide_as_one_bucket_for_any_routing() {
    for seed in 0..120 {
        let mut dice = Dice::new(seed);
        let numbers = numbers(&mut dice);
        let nodes = 2 + dice.below(7);
        let mut cluster = Cluster::new(nodes as u16, numbers, strict(), Net::default());
        let mut central = Central::new(numbers);
        let style = dice.below(4);
        let gap_max = [SECOND / 20, SECOND, 4 * SECOND][dice.below(3) as usize];
        for step in 0..300 {
            let mut gap = dice.below(gap_max);
            if dice.below(60) == 0 {
                gap += numbers.burst * numbers.per_ns;
            }
            let next = cluster.now + gap;
            cluster.run_until(next);
            let key = Key(u128::from(dice.below(2)));
            let node = route(&mut dice, style, step, nodes);
            let has_room = central.has_room(key, 1, cluster.now);
            let is_admitted = cluster.request(node, key, 1);
            cluster.run_until(cluster.now);
            assert_eq!(
                is_admitted, has_room,
                "seed {seed}, step {step}, {numbers:?}"
            );
            if is_admitted {
                central.take(key, 1, cluster.now);
            }
        }
    }
}

#[test]
fn nothing_is_rejected_that_a_bucket_of_all_that_was_admitted_would_admit() {
    for seed in 0..120 {
        let mut dice = Dice::new(seed);
        let numbers = numbers(&mut dice);
        let network = Net {
            loss: [0, 10, 60][dice.below(3) as usize],
            copies: dice.below(40),
            delay_max: [0, SECOND / 10, 5 * SECOND][dice.below(3) as usize],
        };
        let nodes = 2 + dice.below(7);
        let mut cluster = Cluster::new(nodes as u16, numbers, Knobs::default(), network);
        cluster.dice = Dice::new(!seed);
        let mut admitted = Central::new(numbers);
        let gap_max = [SECOND / 20, SECOND, 6 * SECOND][dice.below(3) as usize];
        let mut rejected = 0;
        for step in 0..300 {
            let next = cluster.now + dice.below(gap_max);
            cluster.run_until(next);
            if dice.below(100) == 0 {
                let node = dice.below(nodes) as u16;
                cluster.restart(node);
            }
            let key = Key(u128::from(dice.below(2)));
            let cost = (1 + dice.below(3)).min(numbers.burst);
            let node = dice.below(nodes) as u16;
            if cluster.request(node, key, cost) {
                admitted.take(key, cost, cluster.now);
            } else {
                rejected += 1;
                let has_room = admitted.has_room(key, cost, cluster.now);
                assert!(
                    !has_room,
                    "seed {seed}, step {step}, {numbers:?}, {network:?}"
                );
            }
        }
        assert!(rejected < 300);
    }
}

#[test]
fn what_is_heard_again_after_it_was_forgotten_changes_no_decision() {
    for seed in 0..60 {
        let run = |replays: bool| {
            let mut dice = Dice::new(seed);
            let mut other = Dice::new(seed);
            let numbers = numbers(&mut dice);
            let mut cluster = Cluster::new(5, numbers, Knobs::default(), Net::default());
            let mut decisions = Vec::new();
            for _ in 0..300 {
                let mut gap = dice.below(SECOND);
                if dice.below(50) == 0 {
                    gap += numbers.burst * numbers.per_ns + 10 * SECOND;
                }
                let next = cluster.now + gap;
                cluster.run_until(next);
                if replays && !cluster.sent.is_empty() {
                    let old = other.below(cluster.sent.len() as u64) as usize;
                    let (from, _, frame) = cluster.sent[old].clone();
                    if frame[0] & 0x0f == 1 {
                        let to = other.below(5) as u16;
                        cluster.deliver(from, to, &frame);
                    }
                }
                decisions.push(cluster.request(dice.below(5) as u16, Key(0), 1));
            }
            decisions
        };
        assert_eq!(run(true), run(false), "seed {seed}");
    }
}

#[test]
fn a_published_key_is_gone_two_seconds_after_its_grace() {
    let numbers = Numbers {
        burst: 30,
        tokens: 1,
        per_ns: SECOND,
    };
    let mut cluster = Cluster::new(5, numbers, Knobs::default(), Net::default());
    let mut central = Central::new(numbers);
    for step in 0..200 {
        let next = cluster.now + SECOND / 50;
        cluster.run_until(next);
        if cluster.request(step % 5, Key(1), 1) {
            central.take(Key(1), 1, cluster.now);
        }
    }
    assert!(cluster.nodes.iter().all(|node| node.footprint().local > 0));
    let drained = cluster.now + central.level(Key(1), cluster.now) as u64;
    cluster.run_until(drained + 2 * SECOND);
    assert!(cluster.nodes.iter().all(|node| node.footprint().local > 0));
    cluster.run_until(drained + 5 * SECOND);
    let local = cluster.nodes.iter().map(|node| node.footprint().local);
    assert_eq!(local.sum::<u64>(), 0);
    cluster.run_until(drained + 200 * SECOND);
    assert!(cluster.nodes.iter().all(|node| node.footprint().extra == 0));
    assert!(
        cluster
            .nodes
            .iter()
            .all(|node| node.poll_timeout().is_none())
    );
}

#[test]
fn a_silent_key_is_gone_when_its_share_has_faded() {
    let numbers = Numbers {
        burst: 30,
        tokens: 1,
        per_ns: SECOND,
    };
    let mut cluster = Cluster::new(5, numbers, Knobs::default(), Net::default());
    for _ in 0..3 {
        assert!(cluster.request(2, Key(1), 1));
    }
    // Three tokens at a quarter of a fifth of one per second.
    let end = cluster.now + 60 * SECOND;
    cluster.run_until(end - SECOND);
    assert!(cluster.nodes[2].footprint().local > 0);
    assert!(cluster.nodes[3].footprint().extra > 0);
    cluster.run_until(end + 2 * SECOND);
    for node in &cluster.nodes {
        assert_eq!(node.footprint().local + node.footprint().extra, 0);
        assert!(node.is_quiet() && node.poll_timeout().is_none());
    }
    assert_eq!(cluster.sent.len(), 1, "one copy, and nothing else");
}

#[test]
fn a_slow_drip_over_all_nodes_is_noticed() {
    let numbers = Numbers {
        burst: 60,
        tokens: 3,
        per_ns: 10 * SECOND,
    };
    let mut cluster = Cluster::new(6, numbers, Knobs::default(), Net::default());
    let mut central = Central::new(numbers);
    let (mut rejected, mut expected) = (0, 0);
    for step in 0..2000 {
        let next = cluster.now + 2 * SECOND;
        cluster.run_until(next);
        if central.has_room(Key(1), 1, cluster.now) {
            central.take(Key(1), 1, cluster.now);
        } else {
            expected += 1;
        }
        rejected += u64::from(!cluster.request(step % 6, Key(1), 1));
    }
    assert!(expected > 500);
    assert!(rejected * 100 >= expected * 98, "{rejected} of {expected}");
}

#[test]
fn a_secret_does_not_fade_while_something_published_is_undrained() {
    let numbers = Numbers {
        burst: 60,
        tokens: 1,
        per_ns: SECOND,
    };
    let mut cluster = Cluster::new(4, numbers, Knobs::default(), Net::default());
    for _ in 0..40 {
        assert!(cluster.request(0, Key(1), 1));
    }
    cluster.run_until(SECOND);
    assert!(cluster.request(1, Key(1), 1));
    cluster.run_until(30 * SECOND);
    // Sixteen seconds would have faded all of it.
    let cell = cluster.nodes[1].cell(Key(1)).unwrap();
    assert_eq!(cell.secret, numbers.bucket().grains(1));
    assert_eq!(cell.own.len(), 1);
}
