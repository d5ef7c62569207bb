//! `tollgate cluster key`: the file of keys that all nodes of a cluster share.
//!
//! Not here: what the keys are for (`tollgate_serve::cluster`).

use std::io::Write;
use std::path::Path;

use tollgate_serve::cluster::keys::{KeyError, KeyRing};

use super::options::KeyCommand;
use crate::failure::Failure;

pub(super) fn run(command: &KeyCommand) -> Result<(), Failure> {
    let word = match command {
        KeyCommand::New(options) => {
            write_fresh(&options.file)?;
            let file = options.file.display();
            format!("{file}: fresh keys; give the file to every node as --cluster-key")
        }
        KeyCommand::Rotate(options) => rotate(&options.file)?,
    };
    writeln!(std::io::stdout(), "{word}").map_err(Failure::output)
}

/// Writes new keys unless the file exists.
pub(super) fn write_fresh(file: &Path) -> Result<(), Failure> {
    let written = KeyRing::fresh().and_then(|keys| keys.create(file));
    written.map_err(|error| failed(file, &error))
}

/// Takes the next step of a rotation; returns which.
fn rotate(file: &Path) -> Result<String, Failure> {
    let keys = KeyRing::read(file).map_err(|error| match error {
        KeyError::File(error) => Failure::unreadable(file, &error),
        error => failed(file, &error),
    })?;
    let rotated = keys.rotate().and_then(|(keys, step)| {
        keys.replace(file)?;
        Ok(step)
    });
    let step = rotated.map_err(|error| failed(file, &error))?;
    Ok(format!("{}: {step}", file.display()))
}

fn failed(file: &Path, error: &KeyError) -> Failure {
    match error {
        KeyError::File(error) => Failure::file(file, error),
        KeyError::Random => Failure::system("draw a key", &std::io::Error::other("no randomness")),
        error => Failure::usage(format!("error: {}: {error}", file.display())),
    }
}
