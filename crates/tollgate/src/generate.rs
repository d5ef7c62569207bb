//! What is generated from the command line's own definition: shell completions and man pages.
//!
//! Not here: where they are installed; packages decide that.

use std::io::{Write, stdout};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;

pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tollgate", &mut script);
    stdout().write_all(&script).map_err(Failure::output)
}

/// Writes one man page per command into a folder, which is made where it is missing.
pub(crate) fn man(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(Failure::output)
}
