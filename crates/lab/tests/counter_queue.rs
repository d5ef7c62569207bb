//! Counters and queues from outside: one node against the plain arrival-time rule, small clusters with instant
//! messages, and frames that a stranger sends.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a broken set-up must stop the test, and its numbers are small"
)]

use proptest::prelude::*;
use tollgate_gossip::{Bucket, Malformed, ModeKey, ModeVerdict, NodeId, Writer};
use tollgate_lab::{Contender, Frequency, PaperPart, PaperSetup};
use tollgate_limit::{Instant, Span};
use tollgate_mode::Mode;

const SECOND: u64 = 1_000_000_000;
const KEY: ModeKey = ModeKey(7);
const KINDS: [&str; 6] = [
    "counter",
    "counter+fixed",
    "queue",
    "queue+linf",
    "queue+freq",
    "queue+freq+linf",
];

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(1_000 * SECOND + nanos)
}

fn begin(name: &str, setup: &PaperSetup) -> PaperPart {
    let contender = Contender::named(name).unwrap();
    PaperPart::new(contender, Frequency::default(), setup)
}

fn replica(name: &str, bucket: Bucket, me: u16, nodes: u16) -> PaperPart {
    let setup = PaperSetup {
        bucket,
        me: NodeId(me),
        writer: Writer(100 + me),
        members: (0..nodes).map(NodeId).collect(),
        seed: u64::from(me),
        start: at(0),
        interval: Span::from_nanos(300_000_000),
    };
    begin(name, &setup)
}

/// Nodes whose messages arrive at once.
struct Cluster {
    nodes: Vec<PaperPart>,
    frames: Vec<Vec<u8>>,
}

impl Cluster {
    fn new(name: &str, bucket: Bucket, nodes: u16) -> Self {
        Self {
            nodes: (0..nodes)
                .map(|me| replica(name, bucket, me, nodes))
                .collect(),
            frames: Vec::new(),
        }
    }

    fn deliver(&mut self, now: Instant) {
        let mut again = true;
        while again {
            again = false;
            for from in 0..self.nodes.len() {
                while let Some(send) = self.nodes[from].poll_send() {
                    again = true;
                    self.frames.push(send.frame.to_vec());
                    let to = usize::from(send.to.0);
                    self.nodes[to]
                        .handle_frame(NodeId(from as u16), &send.frame, now)
                        .unwrap();
                }
            }
        }
    }

    fn request(&mut self, node: usize, cost: u64, now: Instant) -> ModeVerdict {
        let verdict = self.nodes[node].handle_request(KEY, cost, now);
        self.deliver(now);
        verdict
    }

    /// Lets rounds pass until `end`, or until nobody has anything to say.
    fn run(&mut self, end: Instant) {
        while let Some(next) = self.nodes.iter().filter_map(Mode::poll_timeout).min()
            && next <= end
            && !self.nodes.iter().all(Mode::is_quiet)
        {
            for node in &mut self.nodes {
                node.handle_timeout(next);
            }
            self.deliver(next);
        }
    }
}

fn allowed(verdict: ModeVerdict) -> bool {
    verdict.is_allowed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Arrival-time rule in its plainest form, scaled so that a token takes 10 s / 3 exactly.
    #[test]
    fn one_node_decides_as_the_arrival_time_rule(
        burst in 1_u64..6,
        requests in prop::collection::vec((0_u64..40, 1_u64..4), 1..120),
    ) {
        let bucket = Bucket::new(burst, 3, 10 * SECOND).unwrap();
        let mut designs: Vec<_> = KINDS[1..].iter().map(|name| replica(name, bucket, 0, 1)).collect();
        let (mut now, mut end) = (0_u128, 0_u128);
        for (gap, cost) in requests {
            now += u128::from(gap) * 100_000_000;
            let start = end.max(now * 3);
            let wanted = start + u128::from(cost) * 10_000_000_000;
            let fits = wanted <= now * 3 + u128::from(burst) * 10_000_000_000;
            if fits {
                end = wanted;
            }
            for design in &mut designs {
                let verdict = design.handle_request(KEY, cost, at(now as u64));
                prop_assert_eq!(allowed(verdict), fits, "{:?}", design);
                if let (ModeVerdict::Deny { retry_after }, true) = (verdict, cost <= burst) {
                    let short = wanted - now * 3 - u128::from(burst) * 10_000_000_000;
                    prop_assert_eq!(retry_after.as_nanos(), short.div_ceil(3));
                }
                while design.poll_timeout().is_some_and(|next| next <= at(now as u64)) {
                    design.handle_timeout(at(now as u64));
                }
            }
        }
    }

    #[test]
    fn nodes_that_exchanged_everything_answer_alike(
        requests in prop::collection::vec((0_u64..20, 0_usize..4, 1_u64..3), 1..60),
    ) {
        let bucket = Bucket::new(40, 3, 10 * SECOND).unwrap();
        for name in &KINDS[2..] {
            let mut cluster = Cluster::new(name, bucket, 4);
            let mut now = 0;
            for &(gap, node, cost) in &requests {
                now += gap * 50_000_000;
                cluster.run(at(now));
                let _ = cluster.request(node, cost, at(now));
            }
            let later = at(now + 60 * SECOND);
            cluster.run(later);
            prop_assert!(cluster.nodes.iter().all(Mode::is_quiet), "{name}");
            prop_assert!(cluster.nodes.iter().all(|node| node.footprint().extra == 0));
            let mut peeks = cluster.nodes.iter_mut().map(|node| node.handle_request(KEY, 0, later));
            let first = peeks.next();
            prop_assert!(peeks.all(|peek| Some(peek) == first), "{name}");
        }
    }

    #[test]
    fn any_bytes_are_refused_or_taken_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        first in 0x10_u8..0x14,
    ) {
        let bucket = Bucket::new(5, 1, SECOND).unwrap();
        let mut framed = bytes.clone();
        if let Some(byte) = framed.first_mut() {
            *byte = first;
        }
        for name in KINDS {
            let mut node = replica(name, bucket, 0, 3);
            let _ = node.handle_request(KEY, 2, at(0));
            for frame in [&bytes, &framed] {
                check_frame(&mut node, frame)?;
            }
        }
    }

    #[test]
    fn a_changed_frame_is_refused_whole_or_taken(
        changes in prop::collection::vec((0_usize..400, any::<u8>()), 1..4),
        cut in 0_usize..400,
    ) {
        let bucket = Bucket::new(50, 1, SECOND).unwrap();
        for name in KINDS {
            let mut cluster = Cluster::new(name, bucket, 3);
            for step in 0..6 {
                let _ = cluster.request(step % 3, 3, at(step as u64 * SECOND / 5));
                cluster.run(at(step as u64 * SECOND / 5));
            }
            cluster.run(at(2 * SECOND));
            let mut node = replica(name, bucket, 0, 3);
            let _ = node.handle_request(KEY, 2, at(0));
            for frame in &cluster.frames {
                let mut changed = frame.clone();
                for &(at, value) in &changes {
                    if let Some(byte) = changed.get_mut(at) {
                        *byte = value;
                    }
                }
                check_frame(&mut node, &changed)?;
                check_frame(&mut node, frame.get(..cut).unwrap_or(frame))?;
            }
        }
    }
}

/// A refused frame leaves no trace; any other leaves a node that still decides.
fn check_frame(node: &mut PaperPart, frame: &[u8]) -> Result<(), TestCaseError> {
    let before = format!("{node:?}");
    if node.handle_frame(NodeId(1), frame, at(3 * SECOND)).is_err() {
        prop_assert_eq!(format!("{node:?}"), before);
    }
    let _ = node.handle_request(KEY, 1, at(3 * SECOND));
    Ok(())
}

#[test]
fn frames_of_strangers_and_of_itself_are_refused() {
    let bucket = Bucket::new(50, 1, SECOND).unwrap();
    for name in KINDS {
        let mut cluster = Cluster::new(name, bucket, 3);
        let _ = cluster.request(2, 1, at(0));
        cluster.run(at(SECOND));
        let frame = cluster.frames.first().unwrap().clone();
        let mut node = replica(name, bucket, 0, 3);
        for from in [0, 3, u16::MAX] {
            assert!(node.handle_frame(NodeId(from), &frame, at(0)).is_err());
        }
        assert!(node.handle_frame(NodeId(1), &frame, at(0)).is_ok());
    }
}

#[test]
fn what_a_node_nobody_mentioned_admitted_counts_too() {
    let bucket = Bucket::new(50, 1, SECOND).unwrap();
    for name in KINDS {
        let mut cluster = Cluster::new(name, bucket, 3);
        let _ = cluster.request(2, 20, at(0));
        cluster.run(at(SECOND));
        let frame = cluster.frames.first().unwrap();
        // A neighbour may know of a newcomer first.
        let mut node = replica(name, bucket, 0, 2);
        assert_eq!(node.handle_frame(NodeId(1), frame, at(0)), Ok(()), "{name}");
        let wanted = ModeVerdict::Allow {
            remaining: 30,
            wait: Span::ZERO,
        };
        assert_eq!(node.handle_request(KEY, 0, at(0)), wanted, "{name}");
    }
}

#[test]
fn nodes_agree_after_a_few_rounds() {
    let bucket = Bucket::new(30, 30, 3_600 * SECOND).unwrap();
    for name in KINDS {
        let mut cluster = Cluster::new(name, bucket, 3);
        for _ in 0..30 {
            let _ = cluster.request(0, 1, at(0));
        }
        cluster.run(at(10 * SECOND));
        assert!(!allowed(cluster.request(2, 1, at(10 * SECOND))), "{name}");
    }
}

#[test]
fn elements_born_at_once_are_all_counted() {
    let bucket = Bucket::new(100, 1, SECOND).unwrap();
    let mut cluster = Cluster::new("queue", bucket, 3);
    for node in 0..3 {
        assert!(allowed(cluster.request(node, 10, at(0))));
    }
    cluster.run(at(SECOND - 1));
    for node in &mut cluster.nodes {
        let ModeVerdict::Allow { remaining, .. } = node.handle_request(KEY, 0, at(0)) else {
            panic!("a peek at a bucket with room passes");
        };
        assert!(remaining <= 90);
    }
    cluster.run(at(20 * SECOND));
    let peeks: Vec<_> = (0..3)
        .map(|node| cluster.nodes[node].handle_request(KEY, 0, at(20 * SECOND)))
        .collect();
    let wanted = ModeVerdict::Allow {
        remaining: 90,
        wait: Span::ZERO,
    };
    assert_eq!(peeks, [wanted; 3]);
}

#[test]
fn a_queue_forgets_the_dead() {
    let bucket = Bucket::new(10, 1, SECOND).unwrap();
    for name in &KINDS[2..] {
        let mut cluster = Cluster::new(name, bucket, 3);
        let _ = cluster.request(0, 10, at(0));
        cluster.run(at(5 * SECOND));
        assert!(cluster.nodes.iter().all(|node| node.footprint().local > 0));
        for node in &mut cluster.nodes {
            node.handle_timeout(at(12 * SECOND));
            assert_eq!(
                node.footprint(),
                tollgate_gossip::Footprint::default(),
                "{name}"
            );
        }
    }
}

#[test]
fn a_restarted_node_hides_as_much_as_it_had_unless_boots_are_told_apart() {
    let bucket = Bucket::new(10, 1, 1_000_000 * SECOND).unwrap();
    for (name, room) in [("counter", 4), ("counter+fixed", 2)] {
        let mut cluster = Cluster::new(name, bucket, 2);
        assert!(allowed(cluster.request(0, 6, at(0))));
        cluster.run(at(SECOND));
        cluster.nodes[0] = begin(
            name,
            &PaperSetup {
                bucket,
                me: NodeId(0),
                writer: Writer(200),
                members: vec![NodeId(0), NodeId(1)],
                seed: 5,
                start: at(2 * SECOND),
                interval: Span::from_nanos(300_000_000),
            },
        );
        assert!(allowed(cluster.request(0, 2, at(2 * SECOND))));
        cluster.run(at(9 * SECOND));
        let ModeVerdict::Allow { remaining, .. } = cluster.request(1, 0, at(9 * SECOND)) else {
            panic!("there is room");
        };
        assert_eq!(remaining, room, "{name}");
    }
}

#[test]
fn with_a_window_of_one_everybody_hears_at_once() {
    let bucket = Bucket::new(5, 1, SECOND).unwrap();
    let mut cluster = Cluster::new("queue+freq", bucket, 30);
    for node in 0..5 {
        assert!(allowed(cluster.request(node, 1, at(node as u64))));
    }
    for node in 5..30 {
        assert!(!allowed(cluster.request(node, 1, at(10))));
    }
}

#[test]
fn the_largest_bucket_keeps_few_elements() {
    let burst = Bucket::TOKENS_MAX;
    let bucket = Bucket::new(burst, 1, SECOND).unwrap();
    for name in &KINDS[2..] {
        let mut node = replica(name, bucket, 0, 2);
        let unit = burst >> 16;
        // A whole element is paid for once, and used up before another is.
        for _ in 0..unit.min(1000) {
            assert!(allowed(node.handle_request(KEY, 1, at(0))));
        }
        assert_eq!(node.footprint().local, 24 + 16);
        assert!(allowed(node.handle_request(KEY, burst - unit, at(0))));
        assert!(!allowed(node.handle_request(KEY, burst, at(0))));
        node.charge(KEY, u64::MAX, None, at(0));
        assert!(node.footprint().local <= 24 + 16 * (1 << 17));
    }
}

/// A peer whose clock runs ahead: an hour is borne, days are refused, lest a key stay blocked for so long.
#[test]
fn clocks_that_are_ahead_by_days_are_refused() {
    const DAY: u64 = 86_400 * SECOND;
    let bucket = Bucket::new(20, 1, 10 * DAY).unwrap();
    for name in KINDS {
        let frame = |ahead: u64| {
            let mut node = replica(name, bucket, 1, 2);
            let _ = node.handle_request(KEY, 20, at(ahead));
            node.handle_timeout(at(ahead + SECOND));
            node.poll_send().unwrap().frame
        };
        let mut node = replica(name, bucket, 0, 2);
        for ahead in [DAY + DAY / 24, 400 * DAY] {
            let told = node.handle_frame(NodeId(1), &frame(ahead), at(0));
            assert_eq!(told, Err(Malformed::Value), "{name}");
            let full = ModeVerdict::Allow {
                remaining: 20,
                wait: Span::ZERO,
            };
            assert_eq!(node.handle_request(KEY, 0, at(0)), full, "{name}");
        }
        let told = node.handle_frame(NodeId(1), &frame(DAY / 24), at(0));
        assert_eq!(told, Ok(()));
        let verdict = node.handle_request(KEY, 1, at(DAY / 24));
        assert!(!allowed(verdict), "{name}");
    }
}
