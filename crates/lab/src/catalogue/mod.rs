//! The experiments by name.
//!
//! Not here: the world they run in, and how their reports are shown.

mod bars;
mod cells;
mod faults;
mod figures;
mod others;
mod pictures;
mod plan;
mod sweeps;
mod thesis;
mod told;
mod told_faults;
mod told_sweeps;
mod words;

pub use figures::View;
pub use plan::{ArrivalSource, ExperimentCell, ExperimentPlan, Variant};
pub use words::digits;

use self::Work::{Gossip, Judged, Other, Picture};
use crate::contender::Contender;
use crate::report::Report;
use crate::world::BadWorld;
use crate::{lease, membership, split, supply};

/// Something to find out.
pub struct Experiment {
    /// The name it is run by.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// How many seeds it takes by itself.
    pub seeds: u64,
    /// How long that takes on two cores.
    pub takes: &'static str,
    work: Work,
}

/// Experiments that are listed together.
pub struct ExperimentGroup {
    /// What they have in common.
    pub name: &'static str,
    /// In the order to list.
    pub experiments: &'static [Experiment],
}

#[derive(Clone, Copy)]
enum Work {
    /// Designs of gossip.
    Gossip(fn() -> ExperimentPlan),
    /// The same for a figure of the thesis.
    Picture(u8),
    /// The same with bars to meet; takes too long to be run with all others.
    Judged(fn() -> ExperimentPlan),
    /// Something else, over so many seeds.
    Other(fn(u64, &RunRequest<'_>) -> Report),
}

/// How an experiment is run.
pub struct RunRequest<'a> {
    /// The first seed.
    pub first: u64,
    /// How many seeds; `None` for the experiment's own choice.
    pub seeds: Option<u64>,
    /// Threads to run on.
    pub threads: usize,
    /// These designs in place of the experiment's own.
    pub designs: Option<&'a [Contender]>,
    /// Whether curves over time are wanted.
    pub curves: bool,
    /// Hears how many runs are done, of how many.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
}

impl Experiment {
    /// What it runs, for those who run it elsewhere.
    pub fn cells(&self) -> Vec<ExperimentCell> {
        match self.work {
            Gossip(plan) | Judged(plan) => plan().cells,
            Picture(number) => pictures::plan(number).cells,
            Other(_) => Vec::new(),
        }
    }

    /// Whether it is about designs of gossip, of which others can be asked for.
    pub fn is_gossip(&self) -> bool {
        !matches!(self.work, Other(_))
    }

    /// Whether it is run when all are asked for.
    pub fn is_in_all(&self) -> bool {
        matches!(self.work, Gossip(_) | Picture(_))
    }

    /// Runs it.
    pub fn run(&self, ask: &RunRequest<'_>) -> Result<Report, BadWorld> {
        let seeds = ask.seeds.unwrap_or(self.seeds);
        let mut report = match self.work {
            Gossip(plan) | Judged(plan) => plan().run(seeds, ask)?,
            Picture(number) => pictures::plan(number).run(seeds, ask)?,
            Other(run) => run(seeds, ask),
        };
        self.name.clone_into(&mut report.experiment);
        if matches!(self.work, Judged(_)) {
            bars::judge(&mut report);
        }
        Ok(report)
    }
}

/// Every experiment, in the order to list.
pub fn experiments() -> impl Iterator<Item = &'static Experiment> {
    GROUPS.iter().flat_map(|group| group.experiments)
}

/// The same by what they have in common.
pub fn experiment_groups() -> &'static [ExperimentGroup] {
    GROUPS
}

const fn one(
    name: &'static str,
    about: &'static str,
    seeds: u64,
    takes: &'static str,
    work: Work,
) -> Experiment {
    Experiment {
        name,
        about,
        seeds,
        takes,
        work,
    }
}

#[rustfmt::skip]
const GROUPS: &[ExperimentGroup] = &[
    ExperimentGroup { name: "Data sets of the thesis", experiments: &[
        one("thesis-a", "ten limited users in five minutes", 10, "30 s", Gossip(thesis::a)),
        one("thesis-b", "one user: extreme, substantial, barely limited, calm", 20, "10 s", Gossip(thesis::b)),
        one("thesis-c", "5000 users in an hour", 4, "4 min", Gossip(thesis::c)),
        one("thesis-d", "a small bucket and three gossip intervals", 20, "2 s", Gossip(thesis::d)),
    ] },
    ExperimentGroup { name: "Figures of the thesis", experiments: &[
        one("figure-5.1", "set A: the counter beside the central bucket", 10, "1 s", Picture(1)),
        one("figure-5.2", "set A: counter and queue on one node decide alike", 10, "1 s", Picture(2)),
        one("figure-5.3", "set A: rejections short of the central bucket", 10, "30 s", Picture(3)),
        one("figure-5.4", "set A: memory and bandwidth of every extension", 10, "30 s", Picture(4)),
        one("figure-5.5", "B-extreme: rejections over time", 10, "1 s", Picture(5)),
        one("figure-5.6", "B-extreme: memory and bandwidth", 10, "1 s", Picture(6)),
        one("figure-5.7", "B-substantial: rejections over time", 10, "1 s", Picture(7)),
        one("figure-5.8", "B-substantial: memory and bandwidth", 10, "1 s", Picture(8)),
        one("figure-5.9", "B-barely: rejections over time", 10, "1 s", Picture(9)),
        one("figure-5.10", "B-barely: memory and bandwidth", 10, "1 s", Picture(10)),
        one("figure-5.11", "B-calm: nobody is rejected", 10, "1 s", Picture(11)),
        one("figure-5.12", "B-calm: memory and bandwidth", 10, "1 s", Picture(12)),
        one("figure-5.13", "set C: memory and bandwidth", 1, "1 min", Picture(13)),
        one("figure-5.14", "set C: users over time", 1, "1 s", Picture(14)),
        one("figure-5.15", "set D: the queue under three gossip intervals", 10, "1 s", Picture(15)),
    ] },
    ExperimentGroup { name: "One parameter turned", experiments: &[
        one("growth", "10 to 300 nodes", 5, "10 s", Gossip(sweeps::growth)),
        one("small", "2 to 20 nodes, small buckets", 10, "5 s", Gossip(sweeps::small)),
        one("capacity", "buckets of 3 to 100 tokens per node", 10, "5 s", Gossip(sweeps::capacity)),
        one("delay", "messages that take up to 200 ms", 20, "5 s", Gossip(sweeps::delays)),
        one("loss", "up to all messages lost", 20, "5 s", Gossip(sweeps::losses)),
        one("skew", "clocks that are off by up to a second", 20, "5 s", Gossip(sweeps::skews)),
    ] },
    ExperimentGroup { name: "Faults", experiments: &[
        one("crash", "nodes that lose their memory, or are gone for a while",
            20, "5 s", Gossip(faults::crashes)),
        one("faults", "loss, duplication, reordering, skew, crashes, and all together",
            10, "20 s", Gossip(faults::all)),
        one(membership::NAME, "how fast nodes find, miss and find each other again, and what it costs",
            5, "2 min", Other(membership::run)),
    ] },
    ExperimentGroup { name: "Other traffic", experiments: &[
        one("drip", "a user a little above the refill, for hours", 5, "5 s", Gossip(others::drip)),
        one("idle", "long pauses, then a burst", 20, "5 s", Gossip(others::idle)),
        one("split", "half of the nodes see what looks harmless", 20, "2 s", Gossip(others::split)),
        one("shapes", "a mob, two users in turn, a steady drip", 20, "2 s", Gossip(others::shapes)),
    ] },
    ExperimentGroup { name: "Our designs", experiments: &[
        one("variants", "links with other knobs", 20, "2 s", Gossip(others::variants)),
        one(bars::NAME, "what must hold, met or missed", 10, "1 min", Judged(bars::plan)),
    ] },
    ExperimentGroup { name: "Passing supply", experiments: &[
        one("supply-flow", "the document's algorithm beside ours, supply over time",
            1, "5 s", Other(supply::flow)),
        one("supply-convergence", "rounds and messages until fill ratios are even",
            11, "1 min", Other(supply::convergence)),
        one("supply-scenarios", "what is lost against a central limiter, and by a failure",
            3, "3 min", Other(supply::scenarios)),
        one("supply-faults", "random faults: never over the limit, and all supply comes back",
            500, "4 min", Other(supply::faults)),
        one("supply-sweep", "delay, loss, rounds, terms, buckets", 1, "3 min", Other(supply::sweep)),
        one("supply-bars", "what must hold of supply, met or missed", 500, "5 min", Other(supply::bars)),
    ] },
    ExperimentGroup { name: "A bucket cut into parts", experiments: &[
        one("split-prop1", "one bucket never has more waiting than its parts; percentiles differ",
            3, "10 s", Other(split::prop1)),
        one("split-eq1", "who waits for tokens and how long: printed, exact, measured",
            20, "2 min", Other(split::eq1)),
        one("split-fig6a", "figure 6a: the penalty grows with the number of brokers",
            5, "30 s", Other(split::fig6a)),
        one("split-fig6b", "figure 6b: one broker is too few, six are too many",
            3, "1 min", Other(split::fig6b)),
        one("split-fig7", "figure 7: as few brokers as can carry a topic, or all",
            1, "2 min", Other(split::fig7)),
        one("split-fig8", "figure 8: brokers with load, and parts as large as can be",
            3, "2 min", Other(split::fig8)),
        one("split-fig9", "figures 9 and 10: publishers that send together, also on fresh traffic",
            5, "3 min", Other(split::fig9)),
        one("split-fig11", "figure 11: groups whose batches are spread over a time",
            3, "1 min", Other(split::fig11)),
        one("split-table1", "table 1: rounds until a placement keeps its bound",
            3, "2 min", Other(split::table1)),
        one("split-borrow", "what borrowing tokens leaves of the penalty, and what it costs",
            3, "1 min", Other(split::borrow)),
        one("split-adaptor", "one broker's traffic jumps: shares and tokens follow",
            3, "1 min", Other(split::adaptor)),
        one("split-profile", "how certain the burst is that a trace needs",
            12, "2 min", Other(split::profiling)),
    ] },
    ExperimentGroup { name: "Leases", experiments: &[
        one("lease-faults", "random faults: never over one bucket, and everything is back soon",
            500, "1 min", Other(lease::faults)),
        one("lease-utilisation", "what is used beside one bucket: rivals, skew, moving demand, distance, loss",
            5, "1 min", Other(lease::utilisation)),
        one("lease-cost", "messages and round trips, cold keys, and where leases pay",
            1, "1 min", Other(lease::cost)),
        one("lease-failover", "what one failure costs, by term", 5, "1 min", Other(lease::failover)),
        one("lease-sync", "the scheme that synchronises now and then, beside its formula",
            1, "1 min", Other(lease::sync)),
        one("lease-distance", "what distance costs: every way to agree on the same arrivals",
            3, "10 s", Other(lease::distance)),
    ] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_has_a_name_of_its_own_and_something_to_run() {
        for (at, experiment) in experiments().enumerate() {
            let mut before = experiments().take(at);
            assert!(before.all(|other| other.name != experiment.name));
            let plan = match experiment.work {
                Gossip(plan) | Judged(plan) => plan(),
                Picture(number) => pictures::plan(number),
                Other(_) => continue,
            };
            assert!(!plan.cells.is_empty(), "{}", experiment.name);
            assert!(
                plan.cells.iter().all(|cell| !cell.variants.is_empty()),
                "{}",
                experiment.name
            );
            assert!(!plan.title.is_empty() && !plan.about.is_empty());
        }
    }

    #[test]
    fn what_others_report_is_about_designs_that_are_run_somewhere() {
        let reported = |name: &str| {
            let experiment = experiments().find(|own| own.name == name).unwrap();
            experiment
                .cells()
                .iter()
                .map(|cell| cell.told.len())
                .sum::<usize>()
        };
        for name in [
            "thesis-a", "thesis-b", "thesis-c", "thesis-d", "growth", "capacity", "delay",
            "faults", "shapes",
        ] {
            assert!(reported(name) > 0, "{name}");
        }
    }
}
