//! A deterministic world of many nodes, in which the machines that the daemon runs are put under traffic and faults.
//!
//! One seed decides everything: arrivals, phases, loss, delay. The same seed gives the same [`RunOutcome::hash`] on
//! every machine. Checkers share no code with what they check.
//!
//! Deliberately not here: files, terminals, plots. The `tollgate` command reads traces and draws what is in a
//! [`Report`].

mod catalogue;
mod check;
mod contender;
mod dice;
mod experiment;
mod lease;
pub mod membership;
mod modes;
pub mod nodes;
mod report;
mod run;
mod sets;
mod split;
mod supply;
mod truth;
mod world;

pub use catalogue::{
    ArrivalSource, Experiment, ExperimentCell, ExperimentGroup, ExperimentPlan, RunRequest,
    Variant, View, digits, experiment_groups, experiments,
};
pub use check::{
    FaultLevel, Finding, Promises, WindowCounting, WindowLaw, check, check_window, findings,
    promises, random_window, random_world,
};
pub use contender::Contender;
pub use lease::{
    LeaseEvent, LeaseExpected, LeaseMore, LeaseRow, LeaseStory, LeaseSync, LeaseTold, LeaseTrial,
    LeaseTried,
};
pub use modes::{Frequency, PaperPart, PaperSetup};
pub use report::{Bar, Column, FigureSource, Line, PlotFigure, Report, Reported, Row, Spread};
pub use run::{Job, RunBatch, run_batch};
pub use sets::{Set, set, sets};
pub use split::{SplitMore, SplitRow};
pub use supply::{SupplyMore, SupplyRow};
pub use truth::{Judgement, central, judge};
pub use world::{
    BadWorld, Cluster, Curves, FrameTraffic, KeyProbe, LendingMode, NODES_MAX, RecordingOptions,
    Request, Routing, RunOutcome, WorldFault, answers_of, places, simulate,
};
