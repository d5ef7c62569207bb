//! Clusters of windows against one counter that sees everything.

#![allow(
    clippy::cast_possible_truncation,
    reason = "small numbers, and tests may choose what they draw"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Key, NodeId, Verdict, Writer};

use super::*;
use crate::bucket::Bucket;
use crate::machine::Machine;
use crate::setup::{Knobs, Ratio, Setup};
use tollgate_kit::Dice;

const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(u128::from(nanos))
}

/// Days that are longer and longer.
#[derive(Debug)]
struct Growing;

impl Growing {
    fn begins(day: u64) -> u64 {
        SECOND * day * (day + 1)
    }
}

impl Calendar for Growing {
    fn window(&self, now: Instant) -> Bounds {
        let mut day = 0;
        while Self::begins(day + 1) <= now.as_nanos() {
            day += 1;
        }
        Bounds {
            start: at(Self::begins(day)),
            end: at(Self::begins(day + 1)),
        }
    }
}

/// Everything that was admitted, one by one.
#[derive(Debug, Default)]
struct Central {
    admitted: Vec<(Key, u64, u64)>,
}

impl Central {
    fn sum(&self, key: Key, within: impl Fn(u64) -> bool) -> u128 {
        let those = self
            .admitted
            .iter()
            .filter(|(other, at, _)| *other == key && within(*at));
        those.map(|(_, _, cost)| u128::from(*cost)).sum()
    }

    /// Decides by the definition of each algorithm.
    fn has_room(&self, window: &Window, key: Key, cost: u64, now: u64) -> bool {
        let (limit, cost) = (u128::from(window.limit), u128::from(cost));
        match &window.shape {
            Shape::Fixed { period, offset } => {
                // One period up, so that nothing is before the first window.
                let (period, offset) = (period.as_nanos(), offset.as_nanos());
                let index = |at: u64| (u128::from(at) + period - offset) / period;
                self.sum(key, |at| index(at) == index(now)) + cost <= limit
            }
            Shape::Calendar(_) => {
                let day = |at: u64| (0..1000).position(|day| Growing::begins(day + 1) > at);
                self.sum(key, |at| day(at) == day(now)) + cost <= limit
            }
            Shape::Counters { period, slices } => {
                let width = period.as_nanos() as u64 / u64::from(*slices);
                let oldest = (now / width + 1).saturating_sub(u64::from(*slices));
                let counts = |at: u64| at / width >= oldest && at / width <= now / width;
                self.sum(key, counts) + cost <= limit
            }
            Shape::Weighted { period } => {
                let period = period.as_nanos() as u64;
                let current = self.sum(key, |at| at / period == now / period);
                let previous = self.sum(key, |at| at / period + 1 == now / period);
                let left = u128::from(period - now % period);
                let period = u128::from(period);
                previous * left + (current + cost) * period <= limit * period
            }
        }
    }
}

/// From, to, and what.
type Letter = (u16, u16, Arc<[u8]>);

struct Cluster {
    window: Window,
    knobs: Knobs,
    nodes: Vec<WindowReplica>,
    boots: u16,
    dice: Dice,
    /// Percent of the frames.
    loss: u64,
    delay_max: u64,
    flight: BTreeMap<(u64, u64), Letter>,
    sent: Vec<Letter>,
    now: u64,
}

impl Cluster {
    fn new(count: u16, window: &Window, knobs: Knobs) -> Self {
        let mut cluster = Self {
            window: window.clone(),
            knobs,
            nodes: Vec::new(),
            boots: 0,
            dice: Dice::new(window.limit),
            loss: 0,
            delay_max: 0,
            flight: BTreeMap::new(),
            sent: Vec::new(),
            now: 0,
        };
        for node in 0..count {
            let fresh = cluster.boot(node, count, None);
            cluster.nodes.push(fresh);
        }
        cluster
    }

    fn boot(&mut self, node: u16, count: u16, was: Option<Writer>) -> WindowReplica {
        self.boots += 1;
        let setup = Setup {
            bucket: Bucket::new(1, 1, 1).unwrap(),
            me: NodeId(node),
            writer: Writer(500 + self.boots),
            was,
            members: (0..count).map(NodeId).collect(),
            seed: self.dice.roll(),
            start: at(self.now),
            wait_max: Span::ZERO,
            knobs: self.knobs.clone(),
        };
        WindowReplica::new(self.window.clone(), &setup)
    }

    fn restart(&mut self, node: u16) {
        let count = self.nodes.len() as u16;
        self.nodes[usize::from(node)] = self.boot(node, count, Some(Writer(1)));
        self.drain(node);
    }

    fn request(&mut self, node: u16, key: Key, cost: u64) -> Verdict {
        let verdict = self.nodes[usize::from(node)].handle_request(key, cost, at(self.now));
        self.drain(node);
        verdict
    }

    fn drain(&mut self, node: u16) {
        while let Some(send) = self.nodes[usize::from(node)].poll_send() {
            self.sent.push((node, send.to.0, Arc::clone(&send.frame)));
            if self.dice.below(100) >= self.loss {
                let due = self.now + self.dice.below(self.delay_max + 1);
                let order = self.sent.len() as u64;
                self.flight
                    .insert((due, order), (node, send.to.0, send.frame));
            }
        }
    }

    fn run_until(&mut self, until: u64) {
        loop {
            let frame = self.flight.first_key_value().map(|(&(due, _), _)| due);
            let dues = self.nodes.iter().map(Machine::poll_timeout);
            let timers = (0_u16..)
                .zip(dues)
                .filter_map(|(node, due)| Some((due?, node)));
            let timer = timers.min().map(|(due, node)| (due.as_nanos(), node));
            match (frame, timer) {
                (Some(due), timer) if due <= until && timer.is_none_or(|(at, _)| due <= at) => {
                    self.now = self.now.max(due);
                    if let Some((_, (from, to, frame))) = self.flight.pop_first() {
                        let node = &mut self.nodes[usize::from(to)];
                        node.handle_frame(NodeId(from), &frame, at(self.now))
                            .unwrap();
                        self.drain(to);
                    }
                }
                (_, Some((due, node))) if due <= until => {
                    self.now = self.now.max(due);
                    self.nodes[usize::from(node)].handle_timeout(at(self.now));
                    self.drain(node);
                }
                _ => break,
            }
        }
        self.now = self.now.max(until);
    }
}

fn window(dice: &mut Dice) -> Window {
    let period = span(SECOND * 12 * (1 + dice.below(3)));
    let shape = match dice.below(4) {
        0 => Shape::Fixed {
            period,
            offset: span(dice.below(SECOND)),
        },
        1 => Shape::Calendar(Arc::new(Growing)),
        2 => Shape::Counters {
            period,
            slices: [1, 2, 3, 12][dice.below(4) as usize],
        },
        _ => Shape::Weighted { period },
    };
    Window::new(1 + dice.below(60), shape).unwrap()
}

fn whole_shares() -> Knobs {
    Knobs {
        beta: Some(Ratio::new(1, 1)),
        ..Knobs::default()
    }
}

#[test]
fn instant_news_and_whole_shares_decide_as_one_counter_for_any_routing() {
    for seed in 0..160 {
        let mut dice = Dice::new(seed);
        let window = window(&mut dice);
        let nodes = 1 + dice.below(7);
        let mut cluster = Cluster::new(nodes as u16, &window, whole_shares());
        let mut central = Central::default();
        let gap_max = [SECOND / 20, SECOND / 2, 4 * SECOND][dice.below(3) as usize];
        let style = dice.below(3);
        for step in 0..300 {
            let next = cluster.now + dice.below(gap_max);
            cluster.run_until(next);
            let key = Key(u128::from(dice.below(2)));
            let node = [dice.below(nodes), step % nodes, 0][style as usize];
            let has_room = central.has_room(&window, key, 1, cluster.now);
            let verdict = cluster.request(node as u16, key, 1);
            cluster.run_until(cluster.now);
            assert_eq!(
                verdict.is_allowed(),
                has_room,
                "seed {seed}, step {step}, {window:?}"
            );
            if has_room {
                central.admitted.push((key, cluster.now, 1));
            }
        }
    }
}

#[test]
fn a_denied_request_passes_after_its_wait_and_not_before() {
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let window = window(&mut dice);
        let mut cluster = Cluster::new(1, &window, whole_shares());
        let mut central = Central::default();
        let mut denied = 0;
        for _ in 0..200 {
            cluster.now += dice.below(SECOND);
            let cost = (1 + dice.below(4)).min(window.limit());
            match cluster.request(0, Key(1), cost) {
                Verdict::Allow { .. } => central.admitted.push((Key(1), cluster.now, cost)),
                Verdict::Deny { retry_after } => {
                    denied += 1;
                    let then = cluster.now + retry_after.as_nanos() as u64;
                    assert!(central.has_room(&window, Key(1), cost, then));
                    assert!(
                        !central.has_room(&window, Key(1), cost, then - 1),
                        "{window:?}"
                    );
                }
                Verdict::Never => panic!("no cost is above the limit"),
            }
        }
        assert!(denied > 0 || window.limit() > 10);
    }
}

#[test]
fn nothing_is_rejected_that_a_counter_of_all_that_was_admitted_would_admit() {
    for seed in 0..120 {
        let mut dice = Dice::new(seed);
        let window = window(&mut dice);
        let nodes = 2 + dice.below(6);
        let mut cluster = Cluster::new(nodes as u16, &window, Knobs::default());
        cluster.dice = Dice::new(!seed);
        cluster.loss = [0, 20, 60][dice.below(3) as usize];
        cluster.delay_max = [0, SECOND / 10, 5 * SECOND][dice.below(3) as usize];
        let mut admitted = Central::default();
        for step in 0..300 {
            let next = cluster.now + dice.below(SECOND / 2);
            cluster.run_until(next);
            if dice.below(100) == 0 {
                cluster.restart(dice.below(nodes) as u16);
            }
            let key = Key(u128::from(dice.below(2)));
            let cost = (1 + dice.below(3)).min(window.limit());
            if cluster
                .request(dice.below(nodes) as u16, key, cost)
                .is_allowed()
            {
                admitted.admitted.push((key, cluster.now, cost));
            } else {
                let has_room = admitted.has_room(&window, key, cost, cluster.now);
                assert!(!has_room, "seed {seed}, step {step}, {window:?}");
            }
        }
    }
}

#[test]
fn nothing_is_left_when_all_slices_are_over() {
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let window = window(&mut dice);
        let mut cluster = Cluster::new(4, &window, Knobs::default());
        for step in 0..100 {
            let next = cluster.now + dice.below(SECOND / 10);
            cluster.run_until(next);
            let _ = cluster.request(step % 4, Key(u128::from(dice.below(3))), 1);
        }
        let end = window.slice(at(cluster.now)).end.as_nanos();
        cluster.run_until(end + window.reach().as_nanos() as u64 + 2 * SECOND);
        for node in &cluster.nodes {
            assert_eq!(
                node.footprint().local + node.footprint().extra,
                0,
                "{window:?}"
            );
        }
        let later = cluster.now + 60 * SECOND;
        cluster.run_until(later);
        let idle = cluster
            .nodes
            .iter()
            .all(|node| node.poll_timeout().is_none());
        assert!(idle);
    }
}

#[test]
fn a_restarted_node_counts_what_it_had_not_published() {
    let shape = Shape::Counters {
        period: span(60 * SECOND),
        slices: 6,
    };
    let window = Window::new(60, shape).unwrap();
    let mut cluster = Cluster::new(4, &window, Knobs::default());
    for _ in 0..5 {
        assert!(cluster.request(1, Key(1), 1).is_allowed());
    }
    cluster.run_until(SECOND);
    cluster.restart(1);
    cluster.run_until(SECOND);
    let peek = cluster.request(1, Key(1), 0);
    let wait = Span::ZERO;
    let remaining = 55;
    assert_eq!(peek, Verdict::Allow { remaining, wait });
    // It goes with its slices, though nobody else ever hears of it.
    cluster.run_until(75 * SECOND);
    let held = cluster.nodes.iter().map(Machine::footprint);
    assert_eq!(held.map(|held| held.local + held.extra).sum::<u64>(), 0);
}

#[test]
fn strange_bytes_do_no_harm() {
    let mut dice = Dice::new(7);
    let window = window(&mut dice);
    let mut cluster = Cluster::new(4, &window, Knobs::default());
    cluster.loss = 20;
    for step in 0..200 {
        let next = cluster.now + dice.below(SECOND / 4);
        cluster.run_until(next);
        let _ = cluster.request(step % 4, Key(u128::from(dice.below(3))), 1);
    }
    let now = at(cluster.now);
    let sent = cluster.sent.clone();
    let node = &mut cluster.nodes[0];
    for _ in 0..2000 {
        let mut frame = sent[dice.below(sent.len() as u64) as usize].2.to_vec();
        let place = dice.below(frame.len() as u64) as usize;
        frame[place] = dice.below(256) as u8;
        let before = format!("{node:?}");
        if node.handle_frame(NodeId(1), &frame, now).is_err() {
            assert_eq!(before, format!("{node:?}"));
        }
        let _ = node.handle_request(Key(1), 0, now);
        while node.poll_send().is_some() {}
    }
}

#[test]
fn absurd_windows_are_refused() {
    let fixed = |nanos| Shape::Fixed {
        period: span(nanos),
        offset: Span::ZERO,
    };
    assert_eq!(Window::new(0, fixed(1)).err(), Some(BadWindow::Limit(0)));
    assert_eq!(
        Window::new(1, fixed(0)).err(),
        Some(BadWindow::Period(Span::ZERO))
    );
    for slices in [0, 7, 5000] {
        let period = span(10_000);
        let shape = Shape::Counters { period, slices };
        assert_eq!(Window::new(1, shape).err(), Some(BadWindow::Slices(slices)));
    }
}

#[test]
fn a_refund_may_be_taken_again_here_until_its_slice_is_over() {
    let shape = Shape::Fixed {
        period: span(SECOND),
        offset: Span::ZERO,
    };
    let setup = Setup {
        bucket: Bucket::new(1, 1, 1).unwrap(),
        me: NodeId(0),
        writer: Writer(1),
        was: None,
        members: vec![NodeId(0)],
        seed: 1,
        start: at(0),
        wait_max: Span::ZERO,
        knobs: Knobs::default(),
    };
    let mut node = WindowReplica::new(Window::new(3, shape).unwrap(), &setup);
    let key = Key(1);
    let ask = |node: &mut WindowReplica, nanos| {
        let verdict = node.handle_request(key, 1, at(nanos));
        while node.poll_send().is_some() {}
        verdict.is_allowed()
    };
    assert_eq!(
        [1, 2, 3, 4].map(|nanos| ask(&mut node, nanos)),
        [true, true, true, false]
    );
    // No more comes back than was admitted here.
    node.refund(key, 10, at(5));
    assert_eq!(
        [6, 7, 8, 9].map(|nanos| ask(&mut node, nanos)),
        [true, true, true, false]
    );
    node.refund(key, 2, at(10));
    node.handle_timeout(at(SECOND));
    let next = [1, 2, 3, 4].map(|nanos| ask(&mut node, SECOND + nanos));
    assert_eq!(
        next,
        [true, true, true, false],
        "the credit went with its slice"
    );
}
