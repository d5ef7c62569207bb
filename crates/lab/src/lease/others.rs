//! Other ways to agree on the same arrivals: whole nodes that count, lend or divide together.
//!
//! Only what is admitted, beside the same judges, and messages; nobody waits there. Not here: their world.

use tollgate_gossip::{Bucket, ModeKey};
use tollgate_limit::{Instant, Span};

use super::check::LabReferenceBucket;
use super::world::{LeaseOutcome, Plot};
use crate::contender::Contender;
use crate::envelope::Envelope;
use crate::nodes::OneBucket;
use crate::supply::stage::DemandArrivals;
use crate::world::{Cluster, Request, WorldFault, answered};

/// Nodes that agree in one of these ways.
pub(super) fn run(contender: Contender, plot: &Plot) -> LeaseOutcome {
    let setting = &plot.setting;
    let Ok(bucket) = Bucket::new(setting.burst, setting.per_second, 1_000_000_000) else {
        return LeaseOutcome::default();
    };
    let weather = setting.weather;
    let span = |nanos: u64| Span::from_nanos(u128::from(nanos));
    let mut cluster = Cluster::new(bucket);
    cluster.nodes = setting.clients;
    cluster.knobs.delay = span(weather.delay_min);
    cluster.faults = vec![WorldFault::Delay {
        base: span(weather.delay_min),
        jitter: span(weather.delay_max - weather.delay_min),
    }];
    let Ok((answers, figures)) = answered(&cluster, contender, &trace(plot), plot.seed) else {
        return LeaseOutcome::default();
    };
    let mut outcome = judge(plot, &answers);
    outcome.tally.messages = figures.traffic.messages;
    outcome.hash = figures.hash;
    outcome
}

/// The arrivals of a run as a trace.
fn trace(plot: &Plot) -> Vec<Request> {
    let mut arrivals = DemandArrivals::new(&plot.phases, plot.seed);
    let mut trace = Vec::new();
    while let Some((micros, node)) = arrivals.draw() {
        let at = micros.saturating_mul(1_000);
        if at > plot.setting.until {
            break;
        }
        trace.push(Request {
            at: Instant::from_nanos(at),
            key: ModeKey(1),
            cost: 1,
            node: Some(node),
        });
    }
    trace
}

/// Answers beside the central bucket and the replay.
fn judge(plot: &Plot, answers: &[(Request, bool)]) -> LeaseOutcome {
    let setting = &plot.setting;
    let mut central = LabReferenceBucket::new(setting.per_second, setting.burst);
    let mut replay = Envelope::of(OneBucket::full(setting.per_second, setting.burst, 0));
    let mut outcome = LeaseOutcome {
        clients: vec![(0, 0); usize::from(setting.clients)],
        ..LeaseOutcome::default()
    };
    for (request, is_allowed) in answers {
        let now = request.at.as_nanos();
        let should = central.take(now);
        if *is_allowed {
            replay.admit(now);
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
    outcome.excess = replay.found();
    outcome
}
