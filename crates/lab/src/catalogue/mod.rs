//! The experiments by name.
//!
//! Not here: the world they run in, and how their reports are shown.

mod bars;
mod cells;
mod control;
mod faults;
mod figures;
mod leases;
mod others;
mod pictures;
mod plan;
mod splits;
mod sweeps;
mod thesis;
mod told;
mod told_faults;
mod told_sweeps;
mod words;

pub use figures::View;
pub use plan::{ArrivalSource, ExperimentCell, ExperimentPlan, Variant};

use crate::contender::Contender;
use crate::membership;
use crate::report::Report;
use crate::world::BadWorld;

/// Something to find out.
pub struct Experiment {
    /// The name it is run by.
    pub name: &'static str,
    /// What it belongs to.
    pub group: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// How many seeds it takes by itself.
    pub seeds: u64,
    /// How long that takes on two cores.
    pub takes: &'static str,
    /// Whether it is run when all are asked for.
    pub in_all: bool,
    /// What it runs.
    work: Work,
}

/// What an experiment runs.
#[derive(Clone, Copy)]
enum Work {
    /// Designs of gossip.
    Gossip(fn() -> ExperimentPlan),
    /// Designs that pass supply, over so many seeds.
    Supply(fn(u64, &RunRequest<'_>) -> Report),
    /// Something that is no design, over so many seeds.
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
            Work::Gossip(plan) => plan().cells,
            Work::Supply(_) | Work::Other(_) => Vec::new(),
        }
    }

    /// Whether it is about designs of gossip, of which others can be asked for.
    pub fn is_gossip(&self) -> bool {
        matches!(self.work, Work::Gossip(_))
    }

    /// Runs it.
    pub fn run(&self, ask: &RunRequest<'_>) -> Result<Report, BadWorld> {
        let seeds = ask.seeds.unwrap_or(self.seeds);
        let mut report = match self.work {
            Work::Gossip(plan) => plan().run(seeds, ask)?,
            Work::Supply(run) | Work::Other(run) => run(seeds, ask),
        };
        self.name.clone_into(&mut report.experiment);
        if self.name == bars::NAME {
            bars::judge(&mut report);
        }
        Ok(report)
    }
}

/// Every experiment, in the order to list.
pub fn experiments() -> &'static [Experiment] {
    EXPERIMENTS
}

/// What an experiment is about, and where it is listed.
struct Subject {
    group: &'static str,
    name: &'static str,
    about: &'static str,
}

const fn subject(group: &'static str, name: &'static str, about: &'static str) -> Subject {
    Subject { group, name, about }
}

const fn usual(
    subject: &Subject,
    seeds: u64,
    takes: &'static str,
    plan: fn() -> ExperimentPlan,
) -> Experiment {
    Experiment {
        name: subject.name,
        group: subject.group,
        about: subject.about,
        seeds,
        takes,
        in_all: true,
        work: Work::Gossip(plan),
    }
}

/// One about supply.
const fn supply(
    name: &'static str,
    about: &'static str,
    seeds: u64,
    takes: &'static str,
    run: fn(u64, &RunRequest<'_>) -> Report,
) -> Experiment {
    Experiment {
        name,
        group: SUPPLY,
        about,
        seeds,
        takes,
        in_all: false,
        work: Work::Supply(run),
    }
}

/// One that takes too long to be run with all others.
const fn long(experiment: &Experiment) -> Experiment {
    Experiment {
        in_all: false,
        ..*experiment
    }
}

const SETS: &str = "Data sets of the thesis";
const FIGURES: &str = "Figures of the thesis";
const SWEEPS: &str = "One parameter turned";
const FAULTS: &str = "Faults";
const SHAPES: &str = "Other traffic";
const OURS: &str = "Our designs";
const SUPPLY: &str = "Passing supply";

const EXPERIMENTS: &[Experiment] = &[
    usual(
        &subject(SETS, "thesis-a", "ten limited users in five minutes"),
        10,
        "30 s",
        thesis::a,
    ),
    usual(
        &subject(
            SETS,
            "thesis-b",
            "one user: extreme, substantial, barely limited, calm",
        ),
        20,
        "10 s",
        thesis::b,
    ),
    usual(
        &subject(SETS, "thesis-c", "5000 users in an hour"),
        4,
        "4 min",
        thesis::c,
    ),
    usual(
        &subject(
            SETS,
            "thesis-d",
            "a small bucket and three gossip intervals",
        ),
        20,
        "2 s",
        thesis::d,
    ),
    usual(
        &subject(
            FIGURES,
            "figure-5.1",
            "set A: the counter beside the central bucket",
        ),
        10,
        "1 s",
        pictures::f1,
    ),
    usual(
        &subject(
            FIGURES,
            "figure-5.2",
            "set A: counter and queue on one node decide alike",
        ),
        10,
        "1 s",
        pictures::f2,
    ),
    usual(
        &subject(
            FIGURES,
            "figure-5.3",
            "set A: rejections short of the central bucket",
        ),
        10,
        "30 s",
        pictures::f3,
    ),
    usual(
        &subject(
            FIGURES,
            "figure-5.4",
            "set A: memory and bandwidth of every extension",
        ),
        10,
        "30 s",
        pictures::f4,
    ),
    usual(
        &subject(FIGURES, "figure-5.5", "B-extreme: rejections over time"),
        10,
        "1 s",
        pictures::f5,
    ),
    usual(
        &subject(FIGURES, "figure-5.6", "B-extreme: memory and bandwidth"),
        10,
        "1 s",
        pictures::f6,
    ),
    usual(
        &subject(FIGURES, "figure-5.7", "B-substantial: rejections over time"),
        10,
        "1 s",
        pictures::f7,
    ),
    usual(
        &subject(FIGURES, "figure-5.8", "B-substantial: memory and bandwidth"),
        10,
        "1 s",
        pictures::f8,
    ),
    usual(
        &subject(FIGURES, "figure-5.9", "B-barely: rejections over time"),
        10,
        "1 s",
        pictures::f9,
    ),
    usual(
        &subject(FIGURES, "figure-5.10", "B-barely: memory and bandwidth"),
        10,
        "1 s",
        pictures::f10,
    ),
    usual(
        &subject(FIGURES, "figure-5.11", "B-calm: nobody is rejected"),
        10,
        "1 s",
        pictures::f11,
    ),
    usual(
        &subject(FIGURES, "figure-5.12", "B-calm: memory and bandwidth"),
        10,
        "1 s",
        pictures::f12,
    ),
    usual(
        &subject(FIGURES, "figure-5.13", "set C: memory and bandwidth"),
        1,
        "1 min",
        pictures::f13,
    ),
    usual(
        &subject(FIGURES, "figure-5.14", "set C: users over time"),
        1,
        "1 s",
        pictures::f14,
    ),
    usual(
        &subject(
            FIGURES,
            "figure-5.15",
            "set D: the queue under three gossip intervals",
        ),
        10,
        "1 s",
        pictures::f15,
    ),
    usual(
        &subject(SWEEPS, "growth", "10 to 300 nodes"),
        5,
        "10 s",
        sweeps::growth,
    ),
    usual(
        &subject(SWEEPS, "small", "2 to 20 nodes, small buckets"),
        10,
        "5 s",
        sweeps::small,
    ),
    usual(
        &subject(SWEEPS, "capacity", "buckets of 3 to 100 tokens per node"),
        10,
        "5 s",
        sweeps::capacity,
    ),
    usual(
        &subject(SWEEPS, "delay", "messages that take up to 200 ms"),
        20,
        "5 s",
        sweeps::delays,
    ),
    usual(
        &subject(SWEEPS, "loss", "up to all messages lost"),
        20,
        "5 s",
        sweeps::losses,
    ),
    usual(
        &subject(SWEEPS, "skew", "clocks that are off by up to a second"),
        20,
        "5 s",
        sweeps::skews,
    ),
    usual(
        &subject(
            FAULTS,
            "crash",
            "nodes that lose their memory, or are gone for a while",
        ),
        20,
        "5 s",
        faults::crashes,
    ),
    usual(
        &subject(
            FAULTS,
            "faults",
            "loss, duplication, reordering, skew, crashes, and all together",
        ),
        10,
        "20 s",
        faults::all,
    ),
    Experiment {
        name: membership::NAME,
        group: FAULTS,
        about: "how fast nodes find, miss and find each other again, and what it costs",
        seeds: 5,
        takes: "2 min",
        in_all: false,
        work: Work::Other(membership::run),
    },
    usual(
        &subject(
            SHAPES,
            "drip",
            "a user a little above the refill, for hours",
        ),
        5,
        "5 s",
        others::drip,
    ),
    usual(
        &subject(SHAPES, "idle", "long pauses, then a burst"),
        20,
        "5 s",
        others::idle,
    ),
    usual(
        &subject(SHAPES, "split", "half of the nodes see what looks harmless"),
        20,
        "2 s",
        others::split,
    ),
    usual(
        &subject(SHAPES, "shapes", "a mob, two users in turn, a steady drip"),
        20,
        "2 s",
        others::shapes,
    ),
    usual(
        &subject(OURS, "variants", "links with other knobs"),
        20,
        "2 s",
        others::variants,
    ),
    long(&usual(
        &subject(OURS, bars::NAME, "what must hold, met or missed"),
        10,
        "1 min",
        bars::plan,
    )),
    supply(
        "supply-flow",
        "the document's algorithm beside ours, supply over time",
        1,
        "5 s",
        crate::supply::flow,
    ),
    supply(
        "supply-convergence",
        "rounds and messages until fill ratios are even",
        11,
        "1 min",
        crate::supply::convergence,
    ),
    supply(
        "supply-scenarios",
        "what is lost against a central limiter, and by a failure",
        3,
        "3 min",
        crate::supply::scenarios,
    ),
    supply(
        "supply-faults",
        "random faults: never over the limit, and all supply comes back",
        500,
        "4 min",
        crate::supply::faults,
    ),
    supply(
        "supply-sweep",
        "delay, loss, rounds, terms, buckets",
        1,
        "3 min",
        crate::supply::sweep,
    ),
    supply(
        "supply-bars",
        "what must hold of supply, met or missed",
        500,
        "5 min",
        crate::supply::bars,
    ),
    splits::PROP1,
    splits::EQ1,
    splits::FIG6A,
    splits::FIG6B,
    splits::FIG7,
    splits::FIG8,
    splits::FIG9,
    splits::FIG11,
    splits::TABLE1,
    splits::BORROW,
    splits::ADAPTOR,
    splits::PROFILE,
    control::FAULTS,
    leases::FAULTS,
    leases::UTILISATION,
    leases::COST,
    leases::FAILOVER,
    leases::SYNC,
    leases::DISTANCE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_has_a_name_of_its_own_and_something_to_run() {
        for (at, experiment) in experiments().iter().enumerate() {
            let before = &experiments()[..at];
            assert!(before.iter().all(|other| other.name != experiment.name));
            let Work::Gossip(plan) = experiment.work else {
                continue;
            };
            let plan = plan();
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
            let experiment = experiments().iter().find(|own| own.name == name).unwrap();
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
