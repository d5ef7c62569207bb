//! Gossip among the modes: what it counts, and how a node's part in a policy is built.
//!
//! Not here: how nodes agree (`machine`).

use std::sync::Arc;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_limit::{Algorithm, Calendar, Instant, Period, PolicyConfig, Span};
use tollgate_mode::{Build, Mode, ModeEvent, ModeKind, SHARDS, Tag, wait_max};

use crate::bucket::Bucket;
use crate::level::Buckets;
use crate::machine::{Machine, MachinePlan};
use crate::setup::Knobs;
use crate::slices::Windows;
use crate::window::{Bounds, Shape, Window};

/// Gossip among the ways to agree.
#[derive(Clone, Debug, Default)]
pub struct Gossip {
    /// What may be tuned.
    pub knobs: Knobs,
}

impl ModeKind for Gossip {
    fn coordination(&self) -> Coordination {
        Coordination::Gossip
    }

    fn shards(&self) -> usize {
        SHARDS
    }

    fn saves_keys(&self) -> bool {
        true
    }

    fn check(&self, _: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        counted(policy.policy.config()).map(drop)
    }

    fn tag(&self, tag: &mut Tag, policy: &NamedPolicy) {
        let config = policy.policy.config();
        tag.text("links");
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
        let (numbers, knobs) = (build.numbers, &self.knobs);
        let plan = MachinePlan {
            me: numbers.me,
            writer: numbers.writer,
            was: numbers.was,
            members: numbers.members.clone(),
            seed: numbers.seed,
            start: build.start,
            delay: numbers.delay,
            keep: knobs.buddy.then_some(knobs.interval),
            linger: Span::ZERO,
        };
        let mut part: Box<dyn Mode> = match counted(config)? {
            Counted::Bucket(bucket) => {
                let law = Buckets {
                    bucket,
                    wait_max: wait_max(config),
                    leaks: config.algorithm == Algorithm::LeakyBucket,
                    sigma: knobs.beta,
                    fade: knobs.fade,
                    grace: knobs.grace,
                    segs_max: SEGS_MAX,
                    nodes: 1,
                };
                Box::new(Machine::new(law, &plan))
            }
            Counted::Window(window) => {
                let law = Windows {
                    window,
                    sigma: knobs.beta,
                    grace: knobs.grace,
                    nodes: 1,
                };
                Box::new(Machine::new(law, &plan))
            }
        };
        part.handle_event(&ModeEvent::Join, build.start);
        Ok(part)
    }
}

/// Own segments of a key at most.
const SEGS_MAX: usize = 8;

/// What a policy is counted by.
enum Counted {
    Bucket(Bucket),
    Window(Window),
}

fn counted(config: &PolicyConfig) -> Result<Counted, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    match config.algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            let burst = config.burst.unwrap_or(config.limit);
            let bucket = Bucket::new(burst, config.limit, config.period.nanos());
            bucket.map(Counted::Bucket).map_err(|error| said(&error))
        }
        Algorithm::SlidingLog => Err("a sliding log cannot be merged".into()),
        Algorithm::FixedWindow | Algorithm::SlidingCounters | Algorithm::SlidingWeighted => {
            let window = Window::new(config.limit, shape(config));
            window.map(Counted::Window).map_err(|error| said(&error))
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

impl crate::window::Calendar for Civil {
    fn window(&self, now: Instant) -> Bounds {
        let (start, end) = self.0.window(now);
        Bounds {
            start: Instant::from_nanos(start),
            end: Instant::from_nanos(u64::try_from(end).unwrap_or(u64::MAX)),
        }
    }
}
