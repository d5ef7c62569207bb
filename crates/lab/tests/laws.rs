//! What must hold in any world, and the answers at its edges.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails that way, and rounds what it shows"
)]

use tollgate_gossip::{Bucket, Knobs, ModeKey};
use tollgate_lab::{
    BadWorld, Cluster, Contender, RecordingOptions, Request, RunOutcome, WorldFault, central, set,
    sets, simulate,
};
use tollgate_limit::{Instant, Span};

fn seconds(count: u64) -> Span {
    Span::from_nanos(u128::from(count) * 1_000_000_000)
}

/// A set under a design, with the cluster changed to taste.
fn run(name: &str, kind: Contender, change: impl Fn(&mut Cluster)) -> RunOutcome {
    let set = set(name).unwrap();
    let mut cluster = Cluster::new(set.bucket());
    change(&mut cluster);
    let trace = set.trace(cluster.bucket, cluster.nodes, 1);
    simulate(&cluster, kind, &trace, 1).unwrap()
}

#[test]
fn one_node_is_the_central_bucket() {
    for name in ["b-extreme", "b-substantial", "b-barely", "b-calm", "d"] {
        for kind in Contender::DESIGNS {
            let judged = run(name, kind, |cluster| cluster.nodes = 1).judged;
            assert_eq!((judged.over, judged.under), (0, 0), "{kind} on {name}");
        }
    }
}

#[test]
fn the_central_contender_is_exact_on_every_set() {
    for set in sets() {
        let cluster = Cluster::new(set.bucket());
        let trace = set.trace(cluster.bucket, cluster.nodes, 3);
        let outcome = simulate(&cluster, Contender::Central, &trace, 3).unwrap();
        let judged = outcome.judged;
        assert_eq!((judged.over, judged.under), (0, 0), "{}", set.name);
        assert_eq!(outcome.traffic.messages, 0);
    }
}

#[test]
fn nodes_that_hear_nothing_count_alone() {
    let alone = run("b-substantial", Contender::Local, |_| {}).judged;
    for kind in Contender::DESIGNS {
        let deaf = run("b-substantial", kind, |cluster| {
            cluster.faults.push(WorldFault::Loss(1_000_000));
        });
        assert_eq!(deaf.traffic.received, 0, "{kind}");
        assert_eq!(deaf.traffic.lost, deaf.traffic.messages, "{kind}");
        assert_eq!(deaf.judged.rejected, alone.rejected, "{kind}");
    }
}

#[test]
fn an_interval_longer_than_the_run_means_no_rounds() {
    for kind in [
        Contender::Counter,
        Contender::CounterFixed,
        Contender::Queue,
    ] {
        let judged = run("b-substantial", kind, |cluster| {
            cluster.knobs.interval = seconds(1_000_000);
        });
        let alone = run("b-substantial", Contender::Local, |_| {}).judged;
        assert_eq!(judged.judged.rejected, alone.rejected, "{kind}");
    }
}

#[test]
fn fewer_tokens_than_nodes_are_shared_all_the_same() {
    let judged = run("b-substantial", Contender::Links, |cluster| {
        cluster.bucket = Bucket::new(7, 1, 1_000_000_000).unwrap();
    });
    assert_eq!((judged.judged.over, judged.judged.under), (0, 0));
}

#[test]
fn no_request_is_no_answer() {
    for kind in Contender::DESIGNS {
        let cluster = Cluster::new(Bucket::new(5, 1, 1_000_000_000).unwrap());
        let outcome = simulate(&cluster, kind, &[], 1).unwrap();
        assert_eq!(outcome.judged.rejected, 0);
        assert_eq!(outcome.judged.total, None);
        assert_eq!(outcome.quiet_s, Some(0.0));
    }
}

#[test]
fn one_request_passes() {
    let request = Request {
        at: Instant::from_nanos(0),
        key: ModeKey(1),
        cost: 1,
        node: None,
    };
    for kind in Contender::DESIGNS {
        let cluster = Cluster::new(Bucket::new(1, 1, 1).unwrap());
        let outcome = simulate(&cluster, kind, &[request], 1).unwrap();
        assert_eq!(
            (outcome.requests, outcome.judged.rejected),
            (1, 0),
            "{kind}"
        );
    }
}

#[test]
fn bad_worlds_are_refused() {
    let request = |at_ms, node| Request {
        at: Instant::from_millis(at_ms).unwrap(),
        key: ModeKey(1),
        cost: 1,
        node,
    };
    let refuse = |nodes, faults: Vec<WorldFault>, trace: &[Request]| {
        let cluster = Cluster {
            nodes,
            faults,
            ..Cluster::new(Bucket::new(5, 1, 1_000_000_000).unwrap())
        };
        let contender = Contender::Local;
        simulate(&cluster, contender, trace, 1).unwrap_err()
    };
    assert_eq!(refuse(0, vec![], &[]), BadWorld::Nodes(0));
    assert_eq!(refuse(60_000, vec![], &[]), BadWorld::Nodes(60_000));
    let unknown = BadWorld::NoSuchNode { node: 3, nodes: 3 };
    assert_eq!(refuse(3, vec![], &[request(1, Some(3))]), unknown);
    let leaves = WorldFault::Leave {
        node: 3,
        at: Span::ZERO,
    };
    assert_eq!(refuse(3, vec![leaves], &[]), unknown);
    let trace = [request(5, None), request(6, None), request(4, None)];
    let late = BadWorld::OutOfOrder { index: 2 };
    assert_eq!(refuse(3, vec![], &trace), late);
    assert!(late.to_string().contains("request 3"));
}

#[test]
fn a_trace_says_which_node_gets_a_request() {
    let request = |node| Request {
        at: Instant::from_nanos(7),
        key: ModeKey(1),
        cost: 1,
        node: Some(node),
    };
    let cluster = Cluster {
        nodes: 3,
        ..Cluster::new(Bucket::new(1, 1, 1_000_000_000).unwrap())
    };
    let rejected = |trace: &[Request]| {
        let contender = Contender::Local;
        simulate(&cluster, contender, trace, 1)
            .unwrap()
            .judged
            .rejected
    };
    assert_eq!(rejected(&[request(0), request(1), request(2)]), 0);
    assert_eq!(rejected(&[request(1), request(1), request(2)]), 1);
}

#[test]
fn requests_of_a_node_that_is_down_go_to_the_next() {
    let request = |at_s: u64| Request {
        at: Instant::from_nanos(at_s * 1_000_000_000),
        key: ModeKey(1),
        cost: 1,
        node: Some(2),
    };
    let trace: Vec<Request> = (0..30).map(request).collect();
    let crash = |keeps_state| {
        let cluster = Cluster {
            nodes: 3,
            faults: vec![WorldFault::Crash {
                node: 2,
                at: seconds(10),
                outage: seconds(10),
                keeps_state,
            }],
            ..Cluster::new(Bucket::new(10, 1, 1_000_000_000_000).unwrap())
        };
        let contender = Contender::Local;
        simulate(&cluster, contender, &trace, 1)
            .unwrap()
            .judged
            .rejected
    };
    // Ten each from the node, from its neighbour, and again from the node if it forgot.
    assert_eq!(crash(false), 0);
    assert_eq!(crash(true), 10);
}

#[test]
fn nobody_answers_while_all_are_down() {
    let outcome = run("b-calm", Contender::Local, |cluster| {
        cluster.nodes = 1;
        cluster.faults.push(WorldFault::Leave {
            node: 0,
            at: Span::ZERO,
        });
    });
    assert_eq!(outcome.judged.rejected, 0);
    assert_eq!(outcome.judged.false_rejections, 0);
}

#[test]
fn a_cut_works_one_way_and_ends() {
    let cut = |lasting| {
        run("b-substantial", Contender::Links, |cluster| {
            cluster.nodes = 2;
            cluster.faults.push(WorldFault::Cut {
                from: vec![0],
                to: vec![1],
                at: Span::ZERO,
                lasting,
            });
        })
    };
    let whole = cut(seconds(1_000));
    let half = cut(seconds(30));
    assert!(whole.traffic.received > 0, "the other way is open");
    assert!(half.traffic.lost < whole.traffic.lost);
    assert_eq!(cut(Span::ZERO).traffic.lost, 0);
}

#[test]
fn the_network_copies_and_delays() {
    let outcome = run("b-substantial", Contender::Counter, |cluster| {
        cluster.faults = vec![
            WorldFault::Duplication(1_000_000),
            WorldFault::Delay {
                base: seconds(1),
                jitter: seconds(1),
            },
        ];
    });
    assert_eq!(outcome.traffic.copies, outcome.traffic.messages);
    assert_eq!(outcome.traffic.received, 2 * outcome.traffic.messages);
    let swift = run("b-substantial", Contender::Counter, |_| {});
    assert!(outcome.judged.over > swift.judged.over);
}

#[test]
fn loss_changes_no_arrival() {
    let rejected = |odds| {
        let outcome = run("a", Contender::Links, |cluster| {
            cluster.faults.push(WorldFault::Loss(odds));
        });
        outcome.judged.central_rejected
    };
    assert_eq!(rejected(0), rejected(200_000));
}

#[test]
fn skewed_and_jumping_clocks_break_nothing() {
    for kind in Contender::DESIGNS {
        let outcome = run("b-barely", kind, |cluster| {
            cluster.nodes = 5;
            cluster.faults = vec![
                WorldFault::Skew(Span::from_nanos(50_000_000)),
                WorldFault::Jump {
                    node: 1,
                    at: seconds(10),
                    nanos: i64::MAX,
                },
                WorldFault::Jump {
                    node: 2,
                    at: seconds(20),
                    nanos: i64::MIN,
                },
            ];
        });
        assert_eq!(outcome.requests, 330, "{kind}");
    }
}

#[test]
fn absurd_knobs_end_in_an_answer() {
    let absurd = Knobs {
        interval: Span::ZERO,
        grace: Span::from_nanos(u128::MAX),
        ..Knobs::default()
    };
    for kind in Contender::DESIGNS {
        let outcome = run("d", kind, |cluster| {
            cluster.nodes = 3;
            cluster.knobs = absurd.clone();
        });
        assert_eq!(outcome.requests, 112, "{kind}");
    }
}

#[test]
fn curves_end_where_the_figures_do() {
    let outcome = run("b-extreme", Contender::Links, |cluster| {
        cluster.watch = RecordingOptions {
            curves: true,
            ..RecordingOptions::default()
        };
    });
    let curves = outcome.curves;
    assert_eq!(curves.requests.last(), Some(&outcome.requests));
    assert_eq!(curves.rejected.last(), Some(&outcome.judged.rejected));
    assert_eq!(
        curves.central_rejected.last(),
        Some(&outcome.judged.central_rejected)
    );
    assert_eq!(curves.sent_bytes.iter().sum::<u64>(), outcome.traffic.bytes);
    let lengths = [
        curves.state_bytes.len(),
        curves.keys.len(),
        curves.requests.len(),
    ];
    assert_eq!(lengths, [curves.rejected.len(); 3]);
}

#[test]
fn sets_are_what_they_are_said_to_be() {
    let facts = |name: &str| {
        let set = set(name).unwrap();
        let trace = set.trace(set.bucket(), 30, 5);
        let rejected = central(set.bucket(), &trace)
            .iter()
            .filter(|did| !**did)
            .count();
        let mut users: Vec<ModeKey> = trace.iter().map(|request| request.key).collect();
        users.sort_unstable();
        users.dedup();
        (trace.len(), users.len(), rejected)
    };
    assert_eq!(facts("b-extreme"), (6_450, 1, 6_133));
    assert_eq!(facts("b-substantial"), (960, 1, 643));
    assert_eq!(facts("b-barely"), (330, 1, 13));
    assert_eq!(facts("b-calm"), (35, 1, 0));
    assert_eq!(facts("a").0, 20_490);
    assert_eq!(facts("a").1, 10);
    assert_eq!(facts("d"), (112, 1, 8));
    let (requests, users, _) = facts("c");
    assert!((90_000..110_000).contains(&requests));
    assert_eq!(users, 5_000);
}
