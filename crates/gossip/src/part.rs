//! A node's part in one policy under gossip, at the boundary: what a policy is counted by, starts, restarts and
//! catching up.
//!
//! Not here: how nodes agree, which is in the designs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_limit::{Algorithm, Calendar, Instant, Period, PolicyConfig, Span};
use tollgate_mode::{
    Build, Event, Figure, Key, Malformed, Mode, ModeKind, NodeId, Numbers, Saved, Send, Settlement,
    Sort, Tag, by_machine, wait_max,
};

use crate::bucket::Bucket;
use crate::kind::Kind;
use crate::links;
use crate::machine::{Machine, move_time};
use crate::replica::{Design, Replica};
use crate::setup::{Knobs, Setup};
use crate::windows::{Bounds, Shape, Window, WindowReplica};

/// Gossip among the ways to agree.
#[derive(Clone, Debug, Default)]
pub struct Gossip {
    /// What may be tuned.
    pub knobs: Knobs,
    /// A design in the place of those that contracts name.
    pub custom: Option<CustomDesign>,
}

/// Begins a node's part in a design.
pub type Begin = dyn Fn(&Setup) -> Box<dyn Design> + std::marker::Send + Sync;

/// A design that contracts cannot name.
#[derive(Clone)]
pub struct CustomDesign {
    /// What it is called.
    pub name: &'static str,
    /// How a node's part in it begins.
    pub begin: Arc<Begin>,
}

impl fmt::Debug for CustomDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl ModeKind for Gossip {
    fn coordination(&self) -> Coordination {
        Coordination::Gossip
    }

    fn saves_keys(&self) -> bool {
        true
    }

    fn check(&self, _: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        counted(policy.policy.config()).map(drop)
    }

    fn tag(&self, tag: &mut Tag, policy: &NamedPolicy, nodes: u64) {
        let config = policy.policy.config();
        tag.text(match &self.custom {
            Some(custom) => custom.name,
            None if is_links(policy) => "links",
            None => kind(policy, nodes).name(),
        });
        tag.number(config.limit);
        tag.number(config.burst.unwrap_or(0));
        tag.number(config.period.nanos());
        let (unit, zone) = match &config.period {
            Period::Fixed(_) => ("", None),
            Period::Calendar(calendar) => (calendar.name(), calendar.zone_name()),
        };
        tag.text(unit);
        tag.text(zone.unwrap_or_default());
        let has_slices = config.algorithm == Algorithm::SlidingCounters;
        tag.number(if has_slices {
            u64::from(config.slices)
        } else {
            0
        });
        tag.number(config.offset_ns);
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        let config = build.policy.policy.config();
        let (bucket, window) = counted(config)?;
        if is_links(build.policy) {
            let limit = match window {
                Some(window) => links::Limit::Window(window),
                None => links::Limit::Bucket {
                    bucket,
                    leaks: config.algorithm == Algorithm::LeakyBucket,
                    wait_max: wait_max(config),
                },
            };
            let mut part = links::build(limit, build.numbers, &self.knobs, build.start);
            part.handle_event(&Event::Join, build.start);
            return Ok(part);
        }
        let recipe = Recipe {
            kind: kind(build.policy, build.numbers.planned),
            custom: self.custom.clone(),
            bucket,
            window,
            leaks: config.algorithm == Algorithm::LeakyBucket,
            wait_max: wait_max(config),
            knobs: self.knobs.clone(),
        };
        let mut part = Part {
            machine: recipe.machine(build.numbers, build.start),
            recipe,
            told_before: VecDeque::new(),
            joining: None,
        };
        if build.numbers.members.len() > 1 {
            part.join(build.start);
        }
        Ok(Box::new(part))
    }
}

/// One node's part in one policy.
#[derive(Debug)]
struct Part {
    recipe: Recipe,
    machine: Box<dyn Machine>,
    /// Frames of the machine that ran before this one.
    told_before: VecDeque<Send>,
    /// While it catches up with the others: since when, and when something last came.
    joining: Option<(Instant, Instant)>,
}

/// What a machine is made of, at every start.
#[derive(Debug)]
struct Recipe {
    kind: Kind,
    custom: Option<CustomDesign>,
    /// What it counts by; a window looks at no bucket.
    bucket: Bucket,
    window: Option<Window>,
    leaks: bool,
    wait_max: Span,
    knobs: Knobs,
}

impl Recipe {
    fn machine(&self, numbers: &Numbers, start: Instant) -> Box<dyn Machine> {
        let setup = Setup {
            bucket: self.bucket,
            me: numbers.me,
            writer: numbers.writer,
            was: numbers.was,
            members: numbers.members.clone(),
            seed: numbers.seed,
            start,
            wait_max: self.wait_max,
            knobs: Knobs {
                delay: numbers.delay,
                ..self.knobs.clone()
            },
        };
        match (&self.window, &self.custom) {
            (Some(window), _) => Box::new(WindowReplica::new(window.clone(), &setup)),
            (None, Some(custom)) => Box::new(Replica::of((custom.begin)(&setup), &setup)),
            (None, None) if self.leaks => Box::new(Replica::leaking(self.kind, &setup)),
            (None, None) => Box::new(Replica::new(self.kind, &setup)),
        }
    }
}

impl Part {
    /// Asks the others for what they know.
    fn join(&mut self, now: Instant) {
        self.machine.exchange_mut().handle_join(now);
        self.joining = Some((now, now));
    }

    /// Starts again under other numbers; what it knew it knows under the old ones.
    fn renumber(&mut self, numbers: &Numbers, now: Instant) {
        // What only this node knows is told under the numbers it was counted under.
        self.machine.exchange_mut().handle_leave(now);
        let machine = &mut self.machine;
        self.told_before
            .extend(std::iter::from_fn(|| machine.poll_send()));
        let mut next = self.recipe.machine(numbers, now);
        for key in self.machine.keys() {
            if let Some(saved) = self.machine.save(key, now) {
                // What was written just now can be read.
                let _ = next.restore(key, &saved.bytes, now);
            }
        }
        self.machine = next;
        if numbers.members.len() > 1 {
            self.join(now);
        }
    }

    /// When it stops catching up, whatever comes.
    fn joined_at(&self) -> Option<Instant> {
        let (began, last) = self.joining?;
        let latest = began.saturating_add(JOIN_MAX);
        if self.machine.exchange().is_joining() {
            return Some(latest);
        }
        Some(last.saturating_add(CALM).min(latest))
    }
}

impl Mode for Part {
    by_machine!();

    fn design(&self) -> &'static str {
        let custom = self.recipe.custom.as_ref();
        custom.map_or(self.recipe.kind.name(), |custom| custom.name)
    }

    fn sort(&self, frame: &[u8]) -> Option<Sort> {
        Some(self.machine.sort(frame))
    }

    fn change(&mut self, policy: &NamedPolicy, _: Instant) {
        self.recipe.wait_max = wait_max(policy.policy.config());
        self.machine.set_wait_max(self.recipe.wait_max);
    }

    fn settle(&mut self, key: Key, due: &Settlement<'_>, now: Instant) {
        match due.difference() {
            Ok(more) => self.machine.charge(key, more, due.debt_max, now),
            Err(less) if self.machine.counts(due.receipt.at, now) => {
                self.machine.refund(key, less, now);
            }
            Err(_) => {}
        }
    }

    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        let taken = self.machine.handle_frame(from, frame, now);
        if let Some((_, last)) = &mut self.joining
            && self.machine.sort(frame) == Sort::Memory
        {
            *last = now;
        }
        taken
    }

    fn handle_event(&mut self, event: &Event<'_>, now: Instant) {
        match event {
            Event::Members(alive) => self.machine.handle_members(alive, now),
            Event::Delay(delay) => self.machine.exchange_mut().set_delay(*delay),
            Event::Join => self.join(now),
            Event::Leave => self.machine.exchange_mut().handle_leave(now),
            Event::Renumber(numbers) => self.renumber(numbers, now),
            Event::ClockSet { from, to, numbers } => {
                self.joining = self.joining.map(|_| (*to, *to));
                // Set back, all that is counted is of a time to come.
                let begun = (to < from).then(|| self.recipe.machine(numbers, *to));
                move_time(&mut self.machine, *from, *to, begun);
            }
            Event::Roster { .. } | Event::Kept(_) | Event::GiveUp | Event::Day { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.machine.handle_timeout(now);
        if self.joined_at().is_some_and(|at| at <= now) {
            self.joining = None;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.machine.poll_timeout();
        next.into_iter().chain(self.joined_at()).min()
    }

    fn poll_send(&mut self) -> Option<Send> {
        let before = self.told_before.pop_front();
        before.or_else(|| self.machine.poll_send())
    }

    fn is_joining(&self) -> bool {
        self.joining.is_some()
    }

    fn save(&mut self, key: Key, now: Instant) -> Option<Saved> {
        self.machine.save(key, now)
    }

    fn restore(&mut self, key: Key, bytes: &[u8], now: Instant) -> Result<(), Malformed> {
        self.machine.restore(key, bytes, now)
    }

    fn drop_copy(&mut self) -> bool {
        self.machine.exchange_mut().drop_copy()
    }

    fn status(&mut self, _: Option<Key>, _: Instant) -> Vec<Figure> {
        Vec::new()
    }
}

fn is_links(policy: &NamedPolicy) -> bool {
    policy.design() == tollgate_contract::Design::Links
}

/// The design of a policy, chosen for the size of the cluster where it is `auto`.
fn kind(policy: &NamedPolicy, nodes: u64) -> Kind {
    if !policy.policy.config().algorithm.is_bucket() {
        return Kind::Segments;
    }
    let kind = Kind::named(policy.design().name()).unwrap_or(Kind::Auto);
    kind.resolve(policy.policy.capacity(), nodes)
}

/// What a policy is counted by: a bucket, or a window and a bucket that it never looks at.
fn counted(config: &PolicyConfig) -> Result<(Bucket, Option<Window>), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let bucket = |burst, limit, period| Bucket::new(burst, limit, period).map_err(|e| said(&e));
    match config.algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            let burst = config.burst.unwrap_or(config.limit);
            Ok((bucket(burst, config.limit, config.period.nanos())?, None))
        }
        Algorithm::SlidingLog => Err("a sliding log cannot be merged".into()),
        Algorithm::FixedWindow | Algorithm::SlidingCounters | Algorithm::SlidingWeighted => {
            let window = Window::new(config.limit, shape(config)).map_err(|e| said(&e))?;
            Ok((bucket(1, 1, 1)?, Some(window)))
        }
    }
}

fn shape(config: &PolicyConfig) -> Shape {
    let span = |nanos: u64| Span::from_nanos(u128::from(nanos));
    let period = span(config.period.nanos());
    match (config.algorithm, &config.period) {
        (Algorithm::SlidingCounters, _) => Shape::Counters {
            period,
            slices: config.slices,
        },
        (Algorithm::SlidingWeighted, _) => Shape::Weighted { period },
        (_, Period::Calendar(calendar)) => Shape::Calendar(Arc::new(Civil(calendar.clone()))),
        (_, Period::Fixed(_)) => Shape::Fixed {
            period,
            offset: span(config.offset_ns),
        },
    }
}

/// The days and months of some place.
#[derive(Debug)]
struct Civil(Calendar);

impl crate::windows::Calendar for Civil {
    fn window(&self, now: Instant) -> Bounds {
        let (start, end) = self.0.window(now);
        Bounds {
            start: Instant::from_nanos(start),
            end: Instant::from_nanos(u64::try_from(end).unwrap_or(u64::MAX)),
        }
    }
}

/// Nothing came for that long: all is there.
const CALM: Span = Span::from_nanos(200_000_000);
/// No longer is anything waited for.
const JOIN_MAX: Span = Span::from_nanos(4_000_000_000);
