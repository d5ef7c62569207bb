//! Nodes that divide a rate, in one process: frames take a millisecond, time passes when told, and everything that is admitted
//! is replayed through one bucket by arithmetic of its own.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use tollgate_contract::Contracts;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Cost, Instant, Verdict};
use tollgate_node::{
    Admitted, Key, Membership, Node, NodeConfig, Outgoing, Peer, PolicySupply, Roster, Share,
};
use tollgate_supply::{Kept, SupplyConfig};
use tollgate_table::Seed;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const START: u64 = 50 * SECOND;

/// A node, who it is, what its disk holds, and what it was told.
struct One {
    node: Arc<Node>,
    cluster: NodeId,
    name: String,
    began: u64,
    disk: BTreeMap<u64, Kept>,
    is_up: bool,
}

struct World {
    nodes: Vec<One>,
    clock: u64,
    flying: VecDeque<(u64, usize, usize, Outgoing)>,
    log: Arc<Mutex<Vec<Admitted>>>,
    /// Nodes that hear nobody, and whom nobody hears.
    cut: Vec<usize>,
    roster: Vec<(String, u32)>,
}

fn roster(names: &[(String, u32)]) -> Roster {
    Roster::new(names.iter().cloned()).unwrap()
}

fn contracts(text: &str) -> Contracts {
    Contracts::parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn ceiling(limit: u64) -> String {
    format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: {limit}, per: 1s, burst: 50, coordination: supply }}] }}]"
    )
}

impl World {
    fn new(count: usize, text: &str) -> Self {
        let roster = (0..count).map(|number| (format!("n{number}"), 1));
        let mut world = Self {
            nodes: Vec::new(),
            clock: START,
            flying: VecDeque::new(),
            log: Arc::default(),
            cut: Vec::new(),
            roster: roster.collect(),
        };
        for number in 0..count {
            world.add(&format!("n{number}"), text, BTreeMap::new());
        }
        world.tell();
        world.run(3 * SECOND);
        world
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.clock)
    }

    /// Starts a node, which nobody is told of yet.
    fn add(&mut self, name: &str, text: &str, disk: BTreeMap<u64, Kept>) -> usize {
        let number = self.nodes.len();
        let cluster = NodeId(10 * (1 + u16::try_from(number).unwrap()));
        let log = Arc::clone(&self.log);
        let share = Share {
            kept: disk.clone(),
            config: SupplyConfig {
                keeps: true,
                ..SupplyConfig::default()
            },
            journal: Some(Arc::new(move |admitted| {
                log.lock().unwrap().push(*admitted);
            })),
            ..Share::new(roster(&self.roster), self.clock)
        };
        let membership = Membership {
            share: Some(share),
            ..Membership::alone(cluster, Writer(cluster.0), self.now())
        };
        let config = NodeConfig {
            bytes_max: 1 << 26,
            ..NodeConfig::default()
        };
        let node = Node::with_company(contracts(text), config, Seed::new([7, 9]), membership);
        self.nodes.push(One {
            node: Arc::new(node),
            cluster,
            name: name.to_owned(),
            began: self.clock,
            disk,
            is_up: true,
        });
        number
    }

    /// Tells every node who lives and is not cut off from it.
    fn tell(&self) -> Vec<Vec<String>> {
        let sees = |from: usize, to: usize| {
            from == to || self.cut.contains(&from) == self.cut.contains(&to)
        };
        let each = self.nodes.iter().enumerate().map(|(at, one)| {
            let others = self.nodes.iter().enumerate();
            let others = others.filter(|(to, other)| other.is_up && sees(at, *to));
            let peers = others.map(|(_, other)| Peer {
                node: other.cluster,
                name: other.name.clone(),
                age: (other.began, 0),
            });
            if one.is_up {
                one.node
                    .handle_peers(one.cluster, peers.collect(), self.now())
            } else {
                Vec::new()
            }
        });
        each.collect()
    }

    fn post(&mut self) {
        for from in 0..self.nodes.len() {
            let one = &mut self.nodes[from];
            if !one.is_up {
                continue;
            }
            for (tag, kept) in one.node.take_kept() {
                one.node
                    .handle_kept(tag, &kept, Instant::from_nanos(self.clock));
                one.disk.insert(tag, kept);
            }
            while let Some(out) = self.nodes[from].node.poll_send() {
                let to = self.nodes.iter().position(|one| one.cluster == out.to);
                if let Some(to) = to {
                    self.flying.push_back((self.clock + MS, from, to, out));
                }
            }
        }
    }

    /// One millisecond passes.
    fn step(&mut self) {
        self.clock += MS;
        let now = self.now();
        while let Some((_, from, to, out)) = self.flying.pop_front_if(|first| first.0 <= self.clock)
        {
            let is_cut = self.cut.contains(&from) != self.cut.contains(&to);
            if self.nodes[to].is_up && !is_cut {
                let from = self.nodes[from].cluster;
                let node = &self.nodes[to].node;
                let _ = node.handle_gossip(out.tag, from, &out.frame, now);
            }
        }
        for one in self.nodes.iter().filter(|one| one.is_up) {
            if one.node.poll_timeout().is_some_and(|due| due <= now) {
                one.node.handle_timeout(now);
            }
        }
        self.post();
    }

    fn run(&mut self, nanos: u64) {
        for _ in 0..nanos / MS {
            self.step();
        }
    }

    /// So many requests a millisecond at each of these nodes; how many passed.
    fn load(&mut self, nanos: u64, at: &[usize], each: u64) -> u64 {
        let mut passed = 0;
        for _ in 0..nanos / MS {
            for node in at {
                for _ in 0..each {
                    passed += u64::from(self.ask(*node, 1));
                }
            }
            self.step();
        }
        passed
    }

    fn ask(&mut self, node: usize, cost: u64) -> bool {
        let one = &self.nodes[node];
        let answer = one
            .node
            .newest()
            .check(Key::Text(b"x"), Cost::new(cost).unwrap(), self.now());
        self.post();
        answer.is_allowed()
    }

    fn crash(&mut self, node: usize) -> BTreeMap<u64, Kept> {
        self.nodes[node].is_up = false;
        self.tell();
        self.nodes[node].disk.clone()
    }

    fn reload(&mut self, text: &str) {
        for number in 0..self.nodes.len() {
            let next = self.nodes[number]
                .node
                .newest()
                .succeed(contracts(text), self.now());
            self.nodes[number].node = next;
        }
        self.post();
    }

    fn seen(&self, node: usize) -> PolicySupply {
        let status = self.nodes[node].node.supply_status(None, self.now());
        status.into_iter().next().unwrap()
    }

    fn usable(&self) -> u64 {
        let up = self.nodes.iter().filter(|one| one.is_up);
        let each = up.map(|one| {
            one.node.supply_status(None, self.now())[0]
                .key
                .stands
                .usable
        });
        each.sum()
    }

    /// Everything that was admitted, replayed through one bucket that is full at the beginning.
    fn replay(&self, limit: u64, burst: u64) {
        let mut log = self.log.lock().unwrap().clone();
        for admitted in &mut log {
            admitted.at = admitted.at.saturating_add(admitted.wait);
        }
        log.sort_by_key(|admitted| admitted.at);
        let full = u128::from(burst) * u128::from(SECOND);
        let (mut level, mut last) = (full, 0);
        for admitted in log {
            let time = admitted.at.as_nanos() - last;
            level = full.min(level + u128::from(time) * u128::from(limit));
            last = admitted.at.as_nanos();
            let cost = u128::from(admitted.cost) * u128::from(SECOND);
            assert!(level >= cost, "one too many at {last}");
            level -= cost;
        }
    }
}

#[test]
fn nodes_that_begin_together_share_the_rate_and_lend_it() {
    let mut world = World::new(4, &ceiling(1000));
    assert_eq!(world.usable(), 1000 * SECOND);
    let passed = world.load(4 * SECOND, &[2], 4);
    assert!(passed > 3_500, "{passed} of 4,000 passed");
    let lent: u64 = [0, 1, 3]
        .map(|at| world.seen(at).key.stands.lent)
        .iter()
        .sum();
    assert!(lent > 600 * SECOND, "{lent}");
    let passed = world.load(4 * SECOND, &[0, 1], 2);
    assert!(passed > 3_500, "{passed} of 4,000 passed");
    world.replay(1000, 50);
}

#[test]
fn nothing_is_used_before_everybody_is_there() {
    let mut world = World::new(3, &ceiling(1000));
    world.roster.push(("n9".to_owned(), 1));
    let mut other = World::new(0, "");
    other.roster = world.roster.clone();
    for name in ["n0", "n1", "n2"] {
        other.add(name, &ceiling(1000), BTreeMap::new());
    }
    other.tell();
    assert_eq!(other.load(3 * SECOND, &[0, 1, 2], 1), 0);
    other.add("n9", &ceiling(1000), BTreeMap::new());
    other.tell();
    other.run(3 * SECOND);
    assert_eq!(other.usable(), 1000 * SECOND);
}

#[test]
fn a_node_that_is_cut_off_has_its_home_and_no_more() {
    let mut world = World::new(4, &ceiling(1000));
    world.load(2 * SECOND, &[3], 4);
    world.cut = vec![3];
    world.tell();
    world.load(2 * SECOND, &[0, 3], 4);
    assert_eq!(world.seen(3).key.stands.usable, 250 * SECOND);
    assert!(world.usable() <= 1000 * SECOND);
    world.cut.clear();
    world.tell();
    world.load(3 * SECOND, &[0, 3], 4);
    assert!(world.usable() <= 1000 * SECOND);
    world.replay(1000, 50);
}

#[test]
fn a_killed_node_has_its_home_back_by_what_it_kept() {
    let mut world = World::new(3, &ceiling(900));
    world.load(SECOND, &[0, 1, 2], 1);
    let disk = world.crash(1);
    // Whoever is gone stays gone, and another must not be asked to agree.
    let gone = world.crash(2);
    assert_eq!(gone.len(), 1);
    let back = world.add("n1", &ceiling(900), disk);
    world.tell();
    world.load(SECOND, &[0, back], 1);
    world.run(2 * SECOND);
    assert_eq!(world.seen(back).key.stands.home, 300 * SECOND);
    world.load(3 * SECOND, &[0, back], 2);
    world.replay(900, 50);
}

#[test]
fn without_its_disk_it_waits_until_all_vouch_for_it() {
    let mut world = World::new(3, &ceiling(900));
    world.crash(2);
    world.crash(1);
    let back = world.add("n1", &ceiling(900), BTreeMap::new());
    world.tell();
    world.load(4 * SECOND, &[0, back], 1);
    assert_eq!(world.seen(back).key.stands.home, 0);
    world.add("n2", &ceiling(900), BTreeMap::new());
    world.tell();
    world.load(4 * SECOND, &[0, back], 1);
    assert_eq!(world.usable(), 900 * SECOND);
    world.replay(900, 50);
}

#[test]
fn another_limit_is_the_same_machine_and_less_counts_at_once() {
    let mut world = World::new(3, &ceiling(900));
    world.load(SECOND, &[0], 2);
    world.reload(&ceiling(300));
    assert!(world.usable() <= 900 * SECOND);
    world.run(3 * SECOND);
    assert_eq!(world.usable(), 300 * SECOND);
    world.log.lock().unwrap().clear();
    world.load(3 * SECOND, &[0, 2], 1);
    world.replay(300, 50);
    world.reload(&ceiling(1200));
    world.run(3 * SECOND);
    assert_eq!(world.usable(), 1200 * SECOND);
}

#[test]
fn a_roster_grows_and_shrinks_while_it_runs() {
    let mut world = World::new(3, &ceiling(1200));
    let set = |world: &mut World, names: &[(&str, u32)]| {
        world.roster = names.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect();
        for one in &world.nodes {
            one.node.set_roster(roster(&world.roster), world.now());
        }
        world.post();
    };
    world.add("n3", &ceiling(1200), BTreeMap::new());
    set(&mut world, &[("n0", 1), ("n1", 1), ("n2", 1), ("n3", 1)]);
    world.tell();
    world.load(3 * SECOND, &[0, 3], 2);
    assert!(world.usable() <= 1200 * SECOND);
    assert_eq!(world.seen(3).key.stands.home, 300 * SECOND);
    set(&mut world, &[("n0", 2), ("n3", 1), ("n2", 1)]);
    world.load(4 * SECOND, &[0, 1, 3], 2);
    assert_eq!(world.seen(1).key.stands.home, 0);
    assert_eq!(world.seen(0).key.stands.home, 600 * SECOND);
    world.replay(1200, 50);
}

#[test]
fn the_younger_of_two_with_one_name_has_no_home() {
    let mut world = World::new(2, &ceiling(1000));
    let disk = world.nodes[1].disk.clone();
    let twin = world.add("n1", &ceiling(1000), disk);
    let said = world.tell();
    assert!(said.iter().all(|names| names == &["n1"]), "{said:?}");
    world.load(4 * SECOND, &[1, twin], 2);
    assert_eq!(world.seen(1).key.stands.home, 500 * SECOND);
    assert_eq!(world.seen(twin).key.stands.home, 0);
    assert_eq!(world.nodes[twin].node.doubled_names().1, 1);
    world.crash(1);
    world.load(5 * SECOND, &[twin], 2);
    assert_eq!(world.seen(twin).key.stands.home, 500 * SECOND);
    world.replay(1000, 50);
}

#[test]
fn who_leaves_gives_back_and_uses_nothing() {
    let mut world = World::new(3, &ceiling(900));
    world.load(2 * SECOND, &[1], 3);
    assert!(world.seen(1).key.stands.borrowed > 0);
    world.nodes[1].node.handle_leave(world.now());
    world.post();
    world.run(50 * MS);
    let gone = world.seen(1).key.stands;
    assert_eq!(gone.usable, gone.borrowed, "nothing of the home is used");
    let lent: u64 = [0, 2].map(|at| world.seen(at).key.stands.lent).iter().sum();
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
    let mut world = World::new(3, text);
    let mut waits = 0;
    for _ in 0..2000 {
        let now = world.now();
        let one = Cost::new(1).unwrap();
        let answer = world.nodes[0].node.check(Key::Text(b"x"), one, now);
        if let Verdict::Delay { wait } = answer.verdict {
            assert!(wait.as_nanos() <= 500_000_000);
            waits += 1;
        }
        world.step();
    }
    assert!(waits > 20, "{waits}");
    for admitted in world.log.lock().unwrap().iter_mut() {
        let wait = u64::try_from(admitted.wait.as_nanos()).unwrap();
        admitted.at = Instant::from_nanos(admitted.at.as_nanos() + wait);
    }
    world.replay(100, 30);
}

#[test]
fn all_or_nothing_holds_with_policies_beside_it() {
    let text = "contracts: [{ id: api, key: [user], policies: [\
        { name: few, limit: 5, per: 1h, algorithm: fixed-window }, \
        { name: all, limit: 900, per: 1s, coordination: supply }] }]";
    let mut world = World::new(3, text);
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
    assert_eq!(world.log.lock().unwrap().len(), 5);
    world.run(10 * MS);
}

#[test]
fn a_stranger_outside_the_roster_borrows() {
    let mut world = World::new(2, &ceiling(1000));
    let guest = world.add("guest", &ceiling(1000), BTreeMap::new());
    world.tell();
    let passed = world.load(4 * SECOND, &[guest], 2);
    assert_eq!(world.seen(guest).key.stands.home, 0);
    assert!(passed > 2_000, "{passed} of 4,000 passed");
    world.replay(1000, 50);
}

fn cut(rest: &str) -> String {
    format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: 1000, per: 1s, burst: 50, coordination: split, {rest} }}] }}]"
    )
}

#[test]
fn a_cut_bucket_is_one_bucket_and_nobody_waits_long() {
    let text = cut("on_limit: delay, max_wait: 500ms");
    let mut world = World::new(4, &text);
    // All that there is, and a little more, at one of four nodes: the others lend.
    let before = world.log.lock().unwrap().len();
    let passed = world.load(2 * SECOND, &[1], 1);
    assert!(passed >= 1990, "{passed}");
    let log = world.log.lock().unwrap().clone();
    let longest = log[before..]
        .iter()
        .map(|admitted| admitted.wait.as_nanos())
        .max();
    assert!(longest < Some(u128::from(100 * MS)), "{longest:?}");
    world.load(SECOND, &[0, 1, 2, 3], 3);
    world.replay(1000, 50);
    let status = world.nodes[1].node.split_status(None, world.now());
    let counts = status[0].counts;
    assert!(counts.hits > 0 && counts.borrowed > 0, "{counts:?}");
    assert!(
        world.nodes[0].node.split_status(None, world.now())[0]
            .counts
            .given
            > 0
    );
}

#[test]
fn keys_are_cut_for_themselves_and_queues_leak_at_the_rate() {
    let text = "contracts: [{ id: api, key: [user], policies: [\
        { name: all, limit: 1000, per: 1s, burst: 40, algorithm: leaky-bucket, coordination: split }] }]";
    let mut world = World::new(2, text);
    let ask = |world: &World, user: &str| {
        let entries = [("user", user)];
        let node = world.nodes[0].node.newest();
        node.check(Key::Entries(&entries), Cost::new(1).unwrap(), world.now())
            .verdict
    };
    for step in 0..10 {
        let wait = match ask(&world, "a") {
            Verdict::Allow => 0,
            Verdict::Delay { wait } => wait.as_nanos(),
            refused => panic!("{refused:?}"),
        };
        // Half of the rate is this node's, and clocks may be wrong by a thousandth.
        assert!(
            (2 * step * 1_000_000..=2 * step * 1_001_000).contains(&wait),
            "{wait}"
        );
    }
    assert_eq!(ask(&world, "b"), Verdict::Allow);
    world.run(SECOND);
    assert_eq!(ask(&world, "a"), Verdict::Allow);
}

#[test]
fn a_restarted_node_waits_for_what_it_may_have_promised() {
    let text = cut("on_limit: delay, max_wait: 300ms");
    let mut world = World::new(3, &text);
    world.load(SECOND / 2, &[0, 1, 2], 2);
    world.crash(1);
    world.run(20 * MS);
    let again = world.add("n1", &text, BTreeMap::new());
    world.tell();
    world.load(SECOND, &[0, 2, again], 2);
    world.replay(1000, 50);
}

#[test]
fn a_message_that_no_part_is_sure_to_hold_is_refused() {
    let text = cut("on_limit: delay, max_wait: 1s");
    let mut world = World::new(4, &text);
    assert!(world.ask(0, 3));
    assert!(!world.ask(0, 4));
    assert_eq!(
        world.nodes[0].node.split_status(None, world.now())[0].cost_max,
        3
    );
}
