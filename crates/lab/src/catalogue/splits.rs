//! The experiments about cut buckets, for the list.
//!
//! Not here: what they run.

use super::{Experiment, RunRequest, Work};
use crate::report::Report;
use crate::split;

const GROUP: &str = "A bucket cut into parts";

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

pub(super) const BORROW: Experiment = one(
    "split-borrow",
    "what borrowing tokens leaves of the penalty, and what it costs",
    3,
    "1 min",
    split::borrow,
);

pub(super) const ADAPTOR: Experiment = one(
    "split-adaptor",
    "one broker's traffic jumps: shares and tokens follow",
    3,
    "1 min",
    split::adaptor,
);

pub(super) const PROP1: Experiment = one(
    "split-prop1",
    "one bucket never has more waiting than its parts; percentiles differ",
    3,
    "10 s",
    split::prop1,
);

pub(super) const EQ1: Experiment = one(
    "split-eq1",
    "who waits for tokens and how long: printed, exact, measured",
    20,
    "2 min",
    split::eq1,
);

pub(super) const FIG6A: Experiment = one(
    "split-fig6a",
    "figure 6a: the penalty grows with the number of brokers",
    5,
    "30 s",
    split::fig6a,
);

pub(super) const FIG6B: Experiment = one(
    "split-fig6b",
    "figure 6b: one broker is too few, six are too many",
    3,
    "1 min",
    split::fig6b,
);

pub(super) const PROFILE: Experiment = one(
    "split-profile",
    "how certain the burst is that a trace needs",
    12,
    "2 min",
    split::profiling,
);

pub(super) const FIG7: Experiment = one(
    "split-fig7",
    "figure 7: as few brokers as can carry a topic, or all",
    1,
    "2 min",
    split::fig7,
);

pub(super) const FIG8: Experiment = one(
    "split-fig8",
    "figure 8: brokers with load, and parts as large as can be",
    3,
    "2 min",
    split::fig8,
);

pub(super) const FIG9: Experiment = one(
    "split-fig9",
    "figures 9 and 10: publishers that send together, also on fresh traffic",
    5,
    "3 min",
    split::fig9,
);

pub(super) const FIG11: Experiment = one(
    "split-fig11",
    "figure 11: groups whose batches are spread over a time",
    3,
    "1 min",
    split::fig11,
);

pub(super) const TABLE1: Experiment = one(
    "split-table1",
    "table 1: rounds until a placement keeps its bound",
    3,
    "2 min",
    split::table1,
);
