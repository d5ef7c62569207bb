//! `tollgate cluster key`: the file of keys that all nodes of a cluster share.
//!
//! Not here: what the keys are for (`tollgate_serve::cluster`).

use std::path::Path;

use super::options::KeyCommand;
use crate::failure::Failure;

pub(super) fn run(command: &KeyCommand) -> Result<(), Failure> {
    match command {
        KeyCommand::New(options) => write_fresh(&options.file),
        KeyCommand::Rotate(options) => rotate(&options.file),
    }
}

/// Writes fresh keys where nothing is yet.
pub(super) fn write_fresh(_file: &Path) -> Result<(), Failure> {
    Err(Failure::usage("error: not yet"))
}

fn rotate(_file: &Path) -> Result<(), Failure> {
    Err(Failure::usage("error: not yet"))
}
