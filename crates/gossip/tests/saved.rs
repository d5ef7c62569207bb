//! What nodes save of a key brings every count back after a restart of one of them and of all, and nothing counts
//! twice.

#![allow(clippy::unwrap_used, reason = "a test says what it expects")]

use tollgate_gossip::{
    Bucket, Key, Kind, Knobs, Machine, NodeId, Replica, Saved, Setup, Shape, Window, WindowReplica,
    Writer,
};
use tollgate_limit::{Instant, Span};

const KEYS: [Key; 3] = [Key(1), Key(1 << 70), Key(99)];
const LIMIT: u64 = 100;
const MILLI: u64 = 1_000_000;

/// What is counted: a bucket in a design, or a window.
#[derive(Clone, Copy, Debug)]
enum What {
    Bucket(Kind),
    Window,
}

/// Nodes with instant messages; `None` is down.
struct World {
    what: What,
    nodes: Vec<Option<Box<dyn Machine>>>,
    now: Instant,
    boots: u16,
}

impl World {
    fn new(what: What, count: u16) -> Self {
        let mut world = Self {
            what,
            nodes: Vec::new(),
            now: Instant::from_nanos(1_800_000_000_000_000_000),
            boots: 0,
        };
        let members: Vec<_> = (0..count).map(NodeId).collect();
        for node in 0..count {
            let machine = world.machine(node, None, members.clone());
            world.nodes.push(Some(machine));
        }
        world
    }

    fn machine(
        &mut self,
        node: u16,
        was: Option<Writer>,
        members: Vec<NodeId>,
    ) -> Box<dyn Machine> {
        self.boots += 1;
        let setup = Setup {
            bucket: Bucket::new(LIMIT, LIMIT, 360_000_000_000_000).unwrap(),
            me: NodeId(node),
            writer: Writer(100 * self.boots + node),
            was,
            members,
            seed: u64::from(self.boots),
            start: self.now,
            wait_max: Span::ZERO,
            knobs: Knobs::default(),
        };
        match self.what {
            What::Bucket(kind) => Box::new(Replica::new(kind, &setup)),
            What::Window => {
                let shape = Shape::Fixed {
                    period: Span::from_nanos(86_400_000_000_000),
                    offset: Span::ZERO,
                };
                Box::new(WindowReplica::new(
                    Window::new(LIMIT, shape).unwrap(),
                    &setup,
                ))
            }
        }
    }

    fn run(&mut self, millis: u64) {
        for _ in 0..millis / 10 {
            self.now = Instant::from_nanos(self.now.as_nanos() + 10 * MILLI);
            for node in self.nodes.iter_mut().flatten() {
                if node.poll_timeout().is_some_and(|due| due <= self.now) {
                    node.handle_timeout(self.now);
                }
            }
            self.carry();
        }
    }

    /// Brings frames to and fro until there are none.
    fn carry(&mut self) {
        loop {
            let mut frames = Vec::new();
            for (from, node) in self.nodes.iter_mut().enumerate() {
                let from = NodeId(u16::try_from(from).unwrap());
                while let Some(send) = node.as_mut().and_then(|node| node.poll_send()) {
                    frames.push((from, send));
                }
            }
            if frames.is_empty() {
                return;
            }
            for (from, send) in frames {
                if let Some(node) = &mut self.nodes[usize::from(send.to.0)] {
                    // Who is not known yet is not listened to, as on a network.
                    let _ = node.handle_frame(from, &send.frame, self.now);
                }
            }
        }
    }

    fn spend(&mut self, node: usize, key: Key, cost: u64) {
        for _ in 0..cost {
            let machine = self.nodes[node].as_mut().unwrap();
            assert!(machine.handle_request(key, 1, self.now).is_allowed());
            self.carry();
        }
    }

    fn saved(&mut self, node: usize) -> Vec<(Key, Saved)> {
        let now = self.now;
        let machine = self.nodes[node].as_mut().unwrap();
        let keys = machine.keys();
        let saved = keys.into_iter();
        saved
            .filter_map(|key| Some((key, machine.save(key, now)?)))
            .collect()
    }

    /// Starts a node that knows of nobody, with what it saved.
    fn start(&mut self, node: u16, was: Writer, saved: &[(Key, Saved)]) {
        let mut machine = self.machine(node, Some(was), vec![NodeId(node)]);
        for (key, saved) in saved {
            assert!(saved.fresh_at > self.now, "{:?} {key:?}", self.what);
            machine.restore(*key, &saved.bytes, self.now).unwrap();
        }
        self.nodes[usize::from(node)] = Some(machine);
    }

    fn meet(&mut self) {
        let alive = self.nodes.iter().enumerate();
        let alive = alive.filter(|(_, node)| node.is_some());
        let alive: Vec<_> = alive
            .map(|(at, _)| NodeId(u16::try_from(at).unwrap()))
            .collect();
        for node in self.nodes.iter_mut().flatten() {
            node.handle_members(&alive, self.now);
        }
        self.carry();
    }

    /// A node that has just come asks the others.
    fn join(&mut self, node: usize) {
        self.nodes[node]
            .as_mut()
            .unwrap()
            .exchange_mut()
            .handle_join(self.now);
        self.carry();
    }

    fn left(&mut self, key: Key) -> Vec<u64> {
        let now = self.now;
        let nodes = self.nodes.iter_mut().flatten();
        nodes
            .map(|node| node.standing(key, now).remaining)
            .collect()
    }
}

fn all() -> Vec<What> {
    let designs = Kind::ALL.into_iter().map(What::Bucket);
    designs.chain([What::Window]).collect()
}

/// Twelve tokens of the first key, three of the second, one of the third; told and untold.
fn spend(world: &mut World) -> Vec<u64> {
    for node in 0..3 {
        world.spend(node, KEYS[0], 4);
    }
    world.spend(1, KEYS[1], 3);
    world.spend(2, KEYS[2], 1);
    vec![12, 3, 1]
}

#[track_caller]
fn assert_left(world: &mut World, spent: &[u64], case: &str) {
    for (key, spent) in KEYS.into_iter().zip(spent) {
        let left = world.left(key);
        // A minute at one an hour refills less than one token.
        let right = |left: &u64| *left == LIMIT - spent;
        assert!(
            left.iter().all(right),
            "{:?}, {case}: {spent} spent, {left:?} left of {key:?}",
            world.what
        );
    }
}

#[test]
fn a_cluster_that_was_killed_whole_gets_every_count_back() {
    for what in all() {
        let mut world = World::new(what, 3);
        let spent = spend(&mut world);
        let saved: Vec<_> = (0..3).map(|node| world.saved(node)).collect();
        for (node, saved) in (0..).zip(&saved) {
            world.start(node, Writer(100 * (node + 1) + node), saved);
        }
        world.run(500);
        world.meet();
        world.run(300);
        (0..3).for_each(|node| world.join(node));
        world.run(20_000);
        tell_silent(&mut world);
        assert_left(&mut world, &spent, "first restart");
        // And once more, from what this boot saves.
        let saved: Vec<_> = (0..3).map(|node| world.saved(node)).collect();
        for (node, saved) in (0..).zip(&saved) {
            world.start(node, Writer(100 * (node + 4) + node), saved);
            world.meet();
            world.run(300);
            world.join(usize::from(node));
            world.run(3_000);
        }
        tell_silent(&mut world);
        assert_left(&mut world, &spent, "second restart");
    }
}

/// Shares that are rightly kept silent are told, so that all nodes can be compared.
fn tell_silent(world: &mut World) {
    let now = world.now;
    for node in world.nodes.iter_mut().flatten() {
        node.exchange_mut().handle_leave(now);
    }
    world.carry();
    world.run(12_000);
}

#[test]
fn a_restarted_node_counts_nothing_twice_that_its_peers_hold() {
    for what in all() {
        let mut world = World::new(what, 3);
        let spent = spend(&mut world);
        world.run(2_000);
        let saved = world.saved(1);
        world.nodes[1] = None;
        world.meet();
        world.run(1_000);
        world.start(1, Writer(201), &saved);
        world.meet();
        world.run(300);
        world.join(1);
        world.run(3_000);
        tell_silent(&mut world);
        assert_left(&mut world, &spent, "one restart");
    }
}

#[test]
fn what_was_given_back_stays_given_back() {
    for what in all() {
        let mut world = World::new(what, 1);
        world.spend(0, KEYS[0], 10);
        let now = world.now;
        world.nodes[0].as_mut().unwrap().refund(KEYS[0], 4, now);
        let saved = world.saved(0);
        world.start(0, Writer(100), &saved);
        assert_eq!(world.left(KEYS[0]), [LIMIT - 6], "{what:?}");
    }
}

#[test]
fn a_newcomer_knows_what_the_others_know() {
    for what in all() {
        let mut world = World::new(what, 3);
        for node in 0..3 {
            world.spend(node, KEYS[0], if node == 0 { LIMIT - 20 } else { 10 });
            world.run(2_000);
        }
        tell_silent(&mut world);
        let newcomer = world.machine(3, None, vec![NodeId(3)]);
        world.nodes.push(Some(newcomer));
        world.meet();
        world.join(3);
        world.run(100);
        let newcomer = world.nodes[3].as_ref().unwrap();
        let waits = matches!(what, What::Bucket(Kind::Home));
        assert!(waits || !newcomer.exchange().is_joining(), "{what:?}");
        assert_eq!(world.left(KEYS[0]), [0; 4], "{what:?}");
    }
}

#[test]
fn bytes_that_make_no_sense_change_nothing() {
    for what in all() {
        let mut world = World::new(what, 1);
        world.spend(0, KEYS[0], 10);
        let saved = world.saved(0);
        let bytes = &saved[0].1.bytes;
        world.start(0, Writer(100), &[]);
        let now = world.now;
        for length in 0..bytes.len() {
            let machine = world.nodes[0].as_mut().unwrap();
            let cut = &bytes[..length];
            assert!(machine.restore(KEYS[0], cut, now).is_err(), "{what:?}");
        }
        assert_eq!(world.left(KEYS[0]), [LIMIT]);
    }
}
