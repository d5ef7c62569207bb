//! The experiments about leases, for the list.
//!
//! Not here: what they run.

use super::{Experiment, RunRequest, Work};
use crate::lease;
use crate::report::Report;

const GROUP: &str = "Leases";

const fn one(
    name: &'static str,
    about: &'static str,
    seeds: u64,
    takes: &'static str,
    run: fn(u64, &RunRequest<'_>) -> Report,
) -> Experiment {
    Experiment {
        name,
        group: GROUP,
        about,
        seeds,
        takes,
        in_all: false,
        work: Work::Other(run),
    }
}

pub(super) const FAULTS: Experiment = one(
    "lease-faults",
    "random faults: never over one bucket, and everything is back soon",
    500,
    "1 min",
    lease::faults,
);

pub(super) const UTILISATION: Experiment = one(
    "lease-utilisation",
    "what is used beside one bucket: rivals, skew, moving demand, distance, loss",
    5,
    "1 min",
    lease::utilisation,
);

pub(super) const COST: Experiment = one(
    "lease-cost",
    "messages and round trips, cold keys, and where leases pay",
    1,
    "1 min",
    lease::cost,
);

pub(super) const FAILOVER: Experiment = one(
    "lease-failover",
    "what one failure costs, by term",
    5,
    "1 min",
    lease::failover,
);

pub(super) const SYNC: Experiment = one(
    "lease-sync",
    "the scheme that synchronises now and then, beside its formula",
    1,
    "1 min",
    lease::sync,
);

pub(super) const DISTANCE: Experiment = one(
    "lease-distance",
    "what distance costs: every way to agree on the same arrivals",
    3,
    "10 s",
    lease::distance,
);
