//! Storms: whole nodes and many keys in bad weather, and what one bucket for each key says of it.
//!
//! Frames are lost, doubled, late and out of order, links are cut, nodes fall, and where limits are divided clocks
//! differ; or nothing fails but one node is cut off for ten seconds. Not here: how a campaign of them is listed.

use std::collections::BTreeMap;

use tollgate_contract::Coordination;
use tollgate_kit::Dice;
use tollgate_node::Key;
use tollgate_sim::{Conditions, SimClock};

use super::judge::{Decision, Observer, OneBucket};
use super::world::{NodeWorld, contracts};
use crate::catalogue::RunRequest;
use crate::report::{Bar, Report};
use crate::run::each;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Half of all requests are for so many keys.
const HOT: u64 = 6;
const PER_SECOND: u64 = 20;
const BURST: u64 = 10;
const BYTES_MAX: u64 = 1 << 28;
/// How long one node is cut off.
const PARTITION: u64 = 10 * SECOND;
/// A key is refused no longer than that when links are whole again.
const REFUSED_MAX: u64 = SECOND;

/// What is asked of whom, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    /// How nodes agree.
    pub by: Coordination,
    /// How many nodes there are.
    pub nodes: u16,
    /// How many keys.
    pub keys: u64,
    /// Requests in a millisecond.
    pub each: u64,
    /// How long it lasts.
    pub span: u64,
}

/// What came of a storm.
#[derive(Clone, Copy, Debug, Default)]
pub struct StormOutcome {
    /// Requests that were admitted.
    pub admitted: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that were refused although the bucket of all that was admitted had a token.
    pub falsely: u64,
    /// Requests that passed, where nodes keep to one bucket, while that had no token.
    pub over: u64,
    /// The longest that a key had nothing but such refusals after links were whole again, in nanoseconds.
    pub longest: u64,
    /// Names everything that happened.
    pub hash: u64,
}

/// One bucket for each key, which sees all that is admitted.
#[derive(Debug, Default)]
struct StormJudge {
    buckets: BTreeMap<u64, (OneBucket, Option<u64>)>,
    outcome: StormOutcome,
    healed: Option<u64>,
}

impl Observer for StormJudge {
    fn decided(&mut self, decision: &Decision<'_>) {
        let Key::Word(user) = decision.key else {
            return;
        };
        let full = || (OneBucket::full(PER_SECOND, BURST, decision.at), None);
        let (bucket, since) = self.buckets.entry(user).or_insert_with(full);
        let has = bucket.has(1, decision.at);
        if decision.is_allowed {
            self.outcome.admitted += 1;
            bucket.take(1);
            *since = None;
            return;
        }
        self.outcome.refused += 1;
        self.outcome.falsely += u64::from(has);
        let Some(healed) = self.healed.filter(|_| has) else {
            *since = None;
            return;
        };
        let began = *since.get_or_insert(decision.at.max(healed));
        self.outcome.longest = self.outcome.longest.max(decision.at - began);
    }
}

impl Storm {
    /// Five nodes and so many keys for eight seconds.
    pub const fn of(by: Coordination, keys: u64, each: u64) -> Self {
        Self {
            by,
            nodes: 5,
            keys,
            each,
            span: 8 * SECOND,
        }
    }

    fn world(&self, weather: Conditions, seed: u64) -> NodeWorld<StormJudge> {
        let by = self.by.name();
        let text = format!(
            "contracts: [{{ id: a, key: [user], policies: [{{ name: p, limit: {PER_SECOND}, per: 1s, burst: {BURST}, coordination: {by} }}] }}]"
        );
        let mut world = NodeWorld::watched(weather, seed, BYTES_MAX, StormJudge::default());
        world.contracts = contracts(&text);
        if self.by.is_divided() {
            world.divide(usize::from(self.nodes));
        }
        world
    }

    /// Asks one node after the other by chance, for a millisecond.
    fn load(&self, world: &mut NodeWorld<StormJudge>, dice: &mut Dice) {
        world.run(MS);
        for _ in 0..self.each {
            let node = dice.place(usize::from(self.nodes));
            let is_hot = dice.below(2) == 0;
            let user = dice.below(if is_hot { HOT } else { self.keys });
            if world.nodes.get(node).is_some_and(|node| node.is_up) {
                let _ = world.ask(node, Key::Word(user), tollgate_limit::Cost::ONE);
            }
        }
    }

    /// Everything that can fail does, as a seed says; then a calm.
    pub fn run(&self, seed: u64) -> StormOutcome {
        let weather = Conditions {
            loss: 100_000,
            copies: 100_000,
            late: 20_000,
            late_max: SECOND,
            ..Conditions::between(MS / 4, 20 * MS)
        };
        let mut world = self.world(weather, seed);
        let mut dice = Dice::new(seed ^ 0xc1);
        for node in (0..self.nodes).filter(|_| self.by.is_divided()) {
            let ahead = number(dice.below(20 * SECOND)) - number(10 * SECOND);
            let drift = number(dice.below(401)) - 200;
            world.sim.set_clock(node, SimClock { ahead, drift });
        }
        world.start(usize::from(self.nodes), 3 * SECOND);
        let mut dice = Dice::new(seed ^ 0x57);
        let mut back = BTreeMap::new();
        let end = world.sim.now() + self.span;
        while world.sim.now() < end {
            self.load(&mut world, &mut dice);
            self.shake(&mut world, &mut dice, &mut back);
        }
        world.sim.links.heal();
        world.sim.links.weather = Conditions::between(MS / 4, MS);
        world.run(10 * SECOND);
        outcome(&world)
    }

    /// Now and then a link is cut one way, or a node falls for a while.
    fn shake(
        &self,
        world: &mut NodeWorld<StormJudge>,
        dice: &mut Dice,
        back: &mut BTreeMap<usize, u64>,
    ) {
        let (now, nodes) = (world.sim.now(), u64::from(self.nodes));
        let one = |dice: &mut Dice| u16::try_from(dice.below(nodes)).unwrap_or(0);
        if dice.below(500) == 0 {
            let (from, to) = (one(dice), one(dice));
            let until = now + dice.below(2 * SECOND);
            world.sim.links.cut(&[from], &[to], now..until);
        }
        if dice.below(1_500) == 0 && back.is_empty() {
            let node = usize::from(one(dice));
            world.crash(node);
            back.insert(node, now + dice.below(SECOND));
        }
        let is_due = back.first_key_value().is_some_and(|(_, at)| *at <= now);
        if is_due && let Some((node, _)) = back.pop_first() {
            world.restart(node);
            world.tell();
        }
    }

    /// One node is cut off for ten seconds and everybody is asked all the while; then links are whole, and they are
    /// asked on.
    pub fn cut(&self, seed: u64) -> StormOutcome {
        let mut world = self.world(Conditions::between(MS / 4, MS), seed);
        world.start(usize::from(self.nodes), 30 * SECOND);
        let mut dice = Dice::new(seed ^ 0x57);
        let ask = |world: &mut NodeWorld<StormJudge>, dice: &mut Dice, until: u64| {
            while world.sim.now() < until {
                self.load(world, dice);
            }
        };
        let begin = world.sim.now() + SECOND;
        ask(&mut world, &mut dice, begin);
        let sides = (0..self.nodes).map(|node| u8::from(node == 0)).collect();
        world.sim.links.split(sides);
        world.tell();
        ask(&mut world, &mut dice, begin + PARTITION);
        world.sim.links.heal();
        world.tell();
        world.observer.healed = Some(world.sim.now());
        ask(&mut world, &mut dice, begin + PARTITION + self.span);
        outcome(&world)
    }
}

/// What the judge saw, and what passed while the bucket of a key had nothing: limits that are divided are written down.
fn outcome(world: &NodeWorld<StormJudge>) -> StormOutcome {
    let mut passes: Vec<(u64, u128)> = world
        .log()
        .iter()
        .map(|(node, admitted)| {
            let at = admitted.at.saturating_add(admitted.wait);
            let node = u16::try_from(*node).unwrap_or(u16::MAX);
            (world.sim.clock(node).world(at.as_nanos()), admitted.key.0)
        })
        .collect();
    passes.sort_unstable();
    let (mut buckets, mut over) = (BTreeMap::new(), 0);
    for (at, key) in passes {
        let full = OneBucket::full(PER_SECOND, BURST, at);
        let bucket = buckets.entry(key).or_insert(full);
        over += u64::from(!bucket.has(1, at));
        bucket.take(1);
    }
    StormOutcome {
        over,
        hash: world.hash(),
        ..world.observer.outcome
    }
}

/// Runs the campaign.
pub(crate) fn faults(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let modes = [
        Coordination::Gossip,
        Coordination::Supply,
        Coordination::Split,
        Coordination::Sync,
    ];
    let tasks: Vec<(Coordination, u64)> = modes
        .into_iter()
        .flat_map(|by| (0..seeds).map(move |seed| (by, ask.first + seed)))
        .collect();
    let all = tasks.len() as u64;
    let done = each(&tasks, ask.threads, |(by, seed)| {
        let storm = Storm::of(*by, KEYS, EACH);
        let ran = (storm.run(*seed), storm.cut(*seed));
        (ask.progress)(1, all);
        ran
    });
    let mut bars = Vec::new();
    for by in modes {
        let own = tasks.iter().zip(&done).filter(|((of, _), _)| *of == by);
        let own: Vec<_> = own.filter_map(|(_, ran)| ran.as_ref()).collect();
        bars.extend(judged(by, &own));
    }
    let missed = bars.iter().filter(|bar| bar.met == Some(false));
    let missed: Vec<&str> = missed.map(|bar| &*bar.name).collect();
    Report {
        title: "Ten thousand keys, whole nodes, whatever fails".to_owned(),
        about: "Five whole nodes decide 10,000 keys of 20 tokens a second; half of all requests are for six of them. For eight seconds \
                a tenth of the frames is lost and a tenth doubled, some are a second late, links are cut one way and nodes fall and \
                come back without their memory; where limits are divided, clocks differ by up to ten seconds and 400 ppm. In another \
                run nothing fails but one node is cut off for ten seconds."
            .to_owned(),
        parameters: vec![
            ("seeds".to_owned(), seeds.to_string()),
            ("first seed".to_owned(), ask.first.to_string()),
        ],
        failure: (!missed.is_empty()).then(|| missed.join(", ")),
        bars,
        ..Report::default()
    }
}

/// What is promised by a mode, and whether it held.
fn judged(by: Coordination, ran: &[&(StormOutcome, StormOutcome)]) -> Vec<Bar> {
    let sum = |pick: fn(&StormOutcome) -> u64| -> u64 {
        let both = |(storm, cut): &&(StormOutcome, StormOutcome)| pick(storm) + pick(cut);
        ran.iter().map(both).sum()
    };
    let decided = sum(|it| it.admitted + it.refused);
    let none = |what: &str, found: u64| Bar {
        name: format!("{}: {what}", by.name()),
        bar: "0".to_owned(),
        measured: format!("{found} of {decided}"),
        met: Some(found == 0),
    };
    let longest = ran.iter().map(|(_, cut)| cut.longest).max().unwrap_or(0);
    let after = Bar {
        name: format!("{}: longest refusal after the heal", by.name()),
        bar: "<= 1 s".to_owned(),
        measured: format!("{} ms", longest / MS),
        met: Some(longest <= REFUSED_MAX),
    };
    let promised = match by {
        Coordination::Gossip => Some(none("refused what one bucket has", sum(|it| it.falsely))),
        _ if by.is_divided() => Some(none("passed beyond one bucket", sum(|it| it.over))),
        _ => None,
    };
    promised.into_iter().chain([after]).collect()
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Keys of a campaign, and requests in a millisecond.
const KEYS: u64 = 10_000;
const EACH: u64 = 10;
