//! `tollgate lab`: experiments in a simulated cluster, and recorded traffic in one.
//!
//! Not here: the simulation and the experiments, which are the lab's own crate.

mod designs;
mod html;
mod human;
mod json;
mod lease;
mod list;
mod live;
pub(crate) mod options;
mod run;
mod show;
mod split;
mod supply;
mod trace;
pub(crate) mod values;

use crate::failure::Failure;
use options::LabCommand;

pub(crate) fn run(command: &LabCommand) -> Result<(), Failure> {
    match command {
        LabCommand::List(options) => list::run(options),
        LabCommand::Run(options) => run::run(options),
        LabCommand::Trace(options) => trace::run(options),
        LabCommand::Live(options) => live::run(options),
    }
}
