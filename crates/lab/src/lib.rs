//! A deterministic world of many nodes, in which the machines that the daemon runs are put under traffic and faults.
//!
//! One seed decides everything: arrivals, phases, loss, delay. The same seed gives the same [`Outcome::hash`] on every
//! machine. Checkers share no code with what they check.
//!
//! Deliberately not here: files, terminals, plots. The `tollgate` command reads traces and draws what is in a
//! [`Report`].

mod catalogue;
mod check;
mod contender;
mod dice;
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

pub use catalogue::{Arrivals, Ask, Cell, Experiment, Plan, Variant, View, experiments};
pub use check::{
    Counts, Finding, Promises, Weather, WindowLaw, check, check_window, findings, promises,
    random_window, random_world,
};
pub use contender::{Contender, UnknownContender};
pub use lease::{
    LeaseEvent, LeaseExpected, LeaseMore, LeaseRow, LeaseStory, LeaseSync, LeaseTold, LeaseTrial,
    LeaseTried,
};
pub use modes::{Frequency, PaperPart, PaperSetup};
pub use report::{Bar, Column, Figure, Line, Report, Reported, Row, Source, Spread};
pub use run::{Batch, Job, run_batch};
pub use sets::{Set, set, sets};
pub use split::{SplitMore, SplitRow};
pub use supply::{SupplyMore, SupplyRow};
pub use truth::{Judgement, central, judge};
pub use world::{
    BadWorld, Cluster, Curves, Fault, Lent, NODES_MAX, Outcome, Probe, Request, Routing, Traffic,
    Watch, answers_of, places, simulate,
};
