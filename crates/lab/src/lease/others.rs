//! Other ways to agree on the same arrivals, in their own worlds: gossip and supply.
//!
//! Only what is admitted, beside the same judges, and messages; nobody waits there. Not here: those worlds.

use tollgate_gossip::{Bucket, Key};
use tollgate_limit::{Instant, Span};
use tollgate_sim::Weather;

use super::check::{Broken, Excess, Ghost, Replay};
use super::world::{Outcome, Plot};
use crate::contender::Contender;
use crate::supply::stage::{Arrivals, Plot as SupplyPlot, Setting as SupplySetting};
use crate::supply::{Design, Tuning};
use crate::world::{Cluster, Fault, Request, answers_of, simulate};

/// Nodes that count together.
pub(super) fn gossip(plot: &Plot) -> Outcome {
    let setting = &plot.setting;
    let Ok(bucket) = Bucket::new(setting.burst, setting.per_second, 1_000_000_000) else {
        return Outcome::default();
    };
    let weather = setting.weather;
    let span = |nanos: u64| Span::from_nanos(u128::from(nanos));
    let mut cluster = Cluster::new(bucket);
    cluster.nodes = setting.clients;
    cluster.knobs.delay = span(weather.delay_min);
    cluster.faults = vec![Fault::Delay {
        base: span(weather.delay_min),
        jitter: span(weather.delay_max - weather.delay_min),
    }];
    let trace = trace(plot);
    let contender = Contender::Links;
    let answers = answers_of(&cluster, contender, &trace, plot.seed);
    let figures = simulate(&cluster, contender, &trace, plot.seed);
    let (Ok(answers), Ok(figures)) = (answers, figures) else {
        return Outcome::default();
    };
    let mut outcome = judge(plot, &answers);
    outcome.tally.messages = figures.traffic.messages;
    outcome.hash = figures.hash;
    outcome
}

/// The arrivals of a run as a trace.
pub(super) fn trace(plot: &Plot) -> Vec<Request> {
    let mut arrivals = Arrivals::new(&plot.phases, plot.seed);
    let mut trace = Vec::new();
    while let Some((micros, node)) = arrivals.draw() {
        let at = micros.saturating_mul(1_000);
        if at > plot.setting.until {
            break;
        }
        trace.push(Request {
            at: Instant::from_nanos(at),
            key: Key(1),
            cost: 1,
            node: Some(node),
        });
    }
    trace
}

/// Answers beside the central bucket and the replay.
pub(super) fn judge(plot: &Plot, answers: &[(Request, bool)]) -> Outcome {
    let setting = &plot.setting;
    let mut central = Ghost::new(setting.per_second, setting.burst);
    let mut replay = Replay::new(setting.per_second, setting.burst);
    let mut outcome = Outcome {
        clients: vec![(0, 0); usize::from(setting.clients)],
        ..Outcome::default()
    };
    for (request, is_allowed) in answers {
        let now = request.at.as_nanos();
        let should = central.take(now);
        if *is_allowed {
            replay.admit(1, now);
        }
        outcome.tally.arrived += 1;
        outcome.tally.admitted += u64::from(*is_allowed);
        outcome.tally.central += u64::from(should);
        let client = usize::from(request.node.unwrap_or(0));
        if let Some(client) = outcome.clients.get_mut(client) {
            client.0 += u64::from(*is_allowed);
            client.1 += u64::from(should);
        }
    }
    outcome.excess = replay.excess;
    outcome
}

/// Nodes that lend each other rate.
pub(super) fn supply(plot: &Plot) -> Outcome {
    let setting = &plot.setting;
    let micros = |nanos: u64| nanos / 1_000;
    let weather = setting.weather;
    let run = Design::Loans(Tuning::USUAL).run(&SupplyPlot {
        setting: SupplySetting {
            rate: setting.demand(100),
            depth_us: setting.burst * 1_000_000 / setting.per_second.max(1),
            weather: Weather {
                delay_min: micros(weather.delay_min),
                delay_max: micros(weather.delay_max),
                ..weather
            },
            drift: u64::from(setting.drift_ppm),
            until: micros(setting.until),
            ..SupplySetting::rack(setting.clients)
        },
        phases: plot.phases.clone(),
        changes: Vec::new(),
        seed: plot.seed,
    });
    let mut outcome = Outcome {
        checks: run.sums.checks,
        broken: Broken {
            potential: run.sums.violations(),
            ..Broken::default()
        },
        excess: Excess {
            over: run.excess.over,
            worst: run.excess.worst,
        },
        hash: run.hash,
        ..Outcome::default()
    };
    outcome.tally.arrived = run.offered;
    outcome.tally.admitted = run.admitted;
    outcome.tally.central = run.central;
    outcome.tally.messages = run.messages;
    outcome
}
