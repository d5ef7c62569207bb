//! Loss, restarts and newcomers.

use super::*;

const NUMBERS: Numbers = Numbers {
    burst: 60,
    tokens: 1,
    per_ns: 10 * SECOND,
};

/// A quarter more than a share is kept silent: 18 of 60 tokens among four nodes.
fn knobs() -> Knobs {
    Knobs {
        beta: Some(Ratio::new(5, 4)),
        ..Knobs::default()
    }
}

fn level(cluster: &mut Cluster, node: usize) -> u64 {
    let now = at(cluster.now);
    let bucket = cluster.numbers.bucket();
    bucket.tokens(cluster.nodes[node].level(Key(1), now) + bucket.grains(1) - 1)
}

#[test]
fn a_restarted_node_gets_back_what_it_had_not_published() {
    let mut cluster = Cluster::new(4, NUMBERS, knobs(), Net::default());
    for _ in 0..5 {
        assert!(cluster.request(1, Key(1), 1));
    }
    cluster.run_until(2 * SECOND);
    cluster.restart(1);
    assert_eq!(level(&mut cluster, 1), 0);
    cluster.run_until(2 * SECOND);
    assert_eq!(level(&mut cluster, 1), 5);
    assert_eq!(level(&mut cluster, 2), 0, "nobody else counts it");

    // The next news of the key makes it speak, for its former boot as well.
    for _ in 0..19 {
        assert!(cluster.request(3, Key(1), 1));
    }
    cluster.run_until(2 * SECOND);
    // Fifteen are one more than a share of what they leave; the other four are kept silent.
    for node in 0..3 {
        assert_eq!(level(&mut cluster, node), 20);
    }
}

#[test]
fn what_was_published_before_the_crash_is_counted_once() {
    let mut cluster = Cluster::new(4, NUMBERS, knobs(), Net::default());
    for _ in 0..5 {
        assert!(cluster.request(1, Key(1), 1));
    }
    cluster.run_until(2 * SECOND);
    // The buddy loses the publication, so that its copy is outdated.
    for _ in 0..20 {
        assert!(cluster.request(1, Key(1), 1));
    }
    cluster.flight.retain(|_, (_, to, _)| *to != 2);
    cluster.run_until(2 * SECOND);
    cluster.restart(1);
    cluster.run_until(3 * SECOND);
    assert_eq!(
        level(&mut cluster, 1),
        15,
        "the ten after it were not copied yet"
    );
    cluster.run_until(30 * SECOND);
    assert!(level(&mut cluster, 1) <= 15);
}

#[test]
fn a_newcomer_is_told_what_is_published() {
    let mut cluster = Cluster::new(4, NUMBERS, Knobs::default(), Net::default());
    let three: Vec<_> = (0..3).map(NodeId).collect();
    let four: Vec<_> = (0..4).map(NodeId).collect();
    for node in 0..3 {
        cluster.nodes[node].handle_members(&three, at(SECOND));
    }
    for _ in 0..40 {
        assert!(cluster.request(1, Key(1), 1));
    }
    cluster.run_until(SECOND);
    assert_eq!(level(&mut cluster, 3), 0);
    for node in 0..4 {
        cluster.nodes[node].handle_members(&four, at(SECOND));
        cluster.drain(node as u16);
    }
    cluster.run_until(SECOND);
    assert!(level(&mut cluster, 3) > 20);
}

/// Members learn of each other at different times: what the first says, the second does not take yet.
#[test]
fn sides_of_a_partition_agree_soon_although_their_welcome_is_lost() {
    for draw in 1..12 {
        let numbers = Numbers {
            burst: 60 + draw,
            ..NUMBERS
        };
        let mut cluster = Cluster::new(5, numbers, Knobs::default(), Net::default());
        let sides = [0, 0, 1, 1, 1].map(|side| if side == 0 { 0..2 } else { 2..5 });
        for (node, side) in sides.into_iter().enumerate() {
            let side: Vec<_> = side.map(NodeId).collect();
            cluster.nodes[node].handle_members(&side, at(SECOND));
        }
        for _ in 0..40 {
            assert!(cluster.request(1, Key(1), 1));
            assert!(cluster.request(3, Key(1), 1));
        }
        cluster.run_until(2 * SECOND);
        let all: Vec<_> = (0..5).map(NodeId).collect();
        for node in 0..5 {
            cluster.nodes[usize::from(node)].handle_members(&all, at(2 * SECOND));
            cluster.drain(node);
        }
        cluster.flight.clear();
        cluster.run_until(2 * SECOND + SECOND * 6 / 5);
        for node in 0..5 {
            assert!(level(&mut cluster, node) > 55, "node {node}, draw {draw}");
        }
    }
}

#[test]
fn a_lost_publication_is_pulled_after_the_next_one() {
    let mut cluster = Cluster::new(4, NUMBERS, Knobs::default(), Net::default());
    for _ in 0..15 {
        assert!(cluster.request(1, Key(1), 1));
    }
    cluster.flight.retain(|_, (_, to, _)| *to != 0);
    cluster.run_until(SECOND);
    assert_eq!(level(&mut cluster, 0), 0);
    // Another writer's publication carries the end of the backlog.
    for _ in 0..20 {
        cluster.request(2, Key(1), 1);
    }
    cluster.run_until(SECOND);
    assert!(level(&mut cluster, 0) < level(&mut cluster, 3));
    cluster.run_until(2 * SECOND);
    assert_eq!(level(&mut cluster, 0), level(&mut cluster, 3));
}

#[test]
fn a_lost_last_publication_is_found_by_digests() {
    let mut cluster = Cluster::new(4, NUMBERS, Knobs::default(), Net::default());
    for _ in 0..40 {
        assert!(cluster.request(1, Key(1), 1));
    }
    cluster.flight.retain(|_, (_, to, _)| *to != 0);
    cluster.run_until(60 * SECOND);
    assert!(level(&mut cluster, 0) > 20);
}

#[test]
fn without_repair_and_buddy_nothing_but_publications_is_sent() {
    let knobs = Knobs {
        digest: Span::ZERO,
        buddy: false,
        ..Knobs::default()
    };
    let network = Net {
        loss: 30,
        ..Net::default()
    };
    let mut cluster = Cluster::new(4, NUMBERS, knobs, network);
    for step in 0..200 {
        cluster.request(step % 4, Key(1), 1);
        let next = cluster.now + SECOND / 5;
        cluster.run_until(next);
    }
    assert!(cluster.sent.len() > 20);
    assert!(
        cluster
            .sent
            .iter()
            .all(|(_, _, frame)| frame[0] & 0x0f == 1)
    );
}

#[test]
fn a_lone_node_that_was_restarted_falls_quiet() {
    let mut cluster = Cluster::new(1, NUMBERS, Knobs::default(), Net::default());
    assert!(cluster.request(0, Key(1), 1));
    cluster.restart(0);
    cluster.run_until(10 * SECOND);
    assert!(cluster.nodes[0].is_quiet());
    assert!(cluster.sent.is_empty());
}
