//! `tollgate cluster`: a cluster to try things with, what a node says of its cluster, and the keys that nodes share.
//!
//! Not here: taking part in a cluster (`tollgate-serve`).

pub mod asker;
mod child;
mod dev;
pub mod fleet;
mod forget;
mod key;
mod lent;
pub mod nets;
pub(crate) mod options;
mod ports;
mod prove;
pub(crate) mod script;
mod status;
mod supply;
pub(crate) mod told;

use crate::failure::Failure;
pub(crate) use dev::{binary, read_script, threads};
use options::ClusterCommand;

pub(crate) fn run(command: &ClusterCommand) -> Result<(), Failure> {
    match command {
        ClusterCommand::Dev(options) => dev::run(options),
        ClusterCommand::Status(options) => status::run(options),
        ClusterCommand::Forget(options) => forget::run(options),
        ClusterCommand::Supply(options) => supply::run(options),
        ClusterCommand::Prove(options) => prove::run(options),
        ClusterCommand::ProveLease(options) => lent::run(options),
        ClusterCommand::Lessee(options) => lent::lessee(options),
        ClusterCommand::Key(command) => key::run(command),
    }
}
