//! From a policy to the machine that counts it together with other nodes.
//!
//! Not here: which policies those are.

use std::sync::Arc;

use tollgate_contract::NamedPolicy;
use tollgate_gossip::{BadBucket, BadWindow, Bounds, Bucket, Kind, Machine, Setup, Shape, Window};
use tollgate_limit::{Algorithm, Calendar, Instant, OnLimit, Period, PolicyConfig, Span};

use super::Membership;

/// The design of a policy, chosen for the size of the cluster where it is `auto`.
pub(super) fn kind(named: &NamedPolicy, nodes: u64) -> Kind {
    let config = named.policy.config();
    if !config.algorithm.is_bucket() {
        return Kind::Segments;
    }
    let kind = named.design.name().parse().unwrap_or(Kind::Auto);
    kind.resolve(named.policy.capacity(), nodes)
}

/// What a machine counts by.
pub(super) enum Limits {
    Bucket(Bucket),
    Window(Window),
}

/// What the machine of a policy counts by; a reason where gossip cannot count it.
pub(super) fn limits(config: &PolicyConfig) -> Result<Limits, String> {
    match config.algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => bucket(config)
            .map(Limits::Bucket)
            .map_err(|error| error.to_string()),
        Algorithm::FixedWindow | Algorithm::SlidingCounters | Algorithm::SlidingWeighted => {
            window(config)
                .map(Limits::Window)
                .map_err(|error| error.to_string())
        }
        Algorithm::SlidingLog => Err("a sliding log cannot be merged".into()),
    }
}

/// The machine of a policy; `None` where gossip cannot count it, which [`super::countable`] refuses.
pub(super) fn machine(named: &NamedPolicy, kind: Kind, membership: &Membership) -> Option<Machine> {
    let config = named.policy.config();
    let setup = |bucket: Bucket| Setup {
        bucket,
        me: membership.me,
        writer: membership.writer,
        was: membership.was,
        members: membership.members.clone(),
        seed: membership.seed,
        start: membership.start,
        wait_max: wait_max(config),
        knobs: membership.knobs.clone(),
    };
    match limits(config).ok()? {
        Limits::Bucket(bucket) if config.algorithm == Algorithm::LeakyBucket => {
            Some(Machine::leaking(kind, setup(bucket)))
        }
        Limits::Bucket(bucket) => Some(Machine::bucket(kind, setup(bucket))),
        Limits::Window(window) => {
            // A window looks at no bucket.
            let unused = Bucket::new(1, 1, 1).ok()?;
            Some(Machine::window(window, &setup(unused)))
        }
    }
}

/// How long a policy may make a request wait.
pub(super) fn wait_max(config: &PolicyConfig) -> Span {
    match config.on_limit {
        OnLimit::Deny => Span::ZERO,
        OnLimit::Delay { max_wait_ns } => max_wait_ns.map_or(Span::from_nanos(u128::MAX), |ns| {
            Span::from_nanos(u128::from(ns))
        }),
    }
}

fn bucket(config: &PolicyConfig) -> Result<Bucket, BadBucket> {
    let burst = config.burst.unwrap_or(config.limit);
    Bucket::new(burst, config.limit, config.period.nanos())
}

fn window(config: &PolicyConfig) -> Result<Window, BadWindow> {
    let span = |nanos: u64| Span::from_nanos(u128::from(nanos));
    let period = span(config.period.nanos());
    let shape = match (config.algorithm, &config.period) {
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
    };
    Window::new(config.limit, shape)
}

/// The days and months of some place.
#[derive(Debug)]
struct Civil(Calendar);

impl tollgate_gossip::Calendar for Civil {
    fn window(&self, now: Instant) -> Bounds {
        let (start, end) = self.0.window(now);
        Bounds {
            start: Instant::from_nanos(start),
            end: Instant::from_nanos(u64::try_from(end).unwrap_or(u64::MAX)),
        }
    }
}
