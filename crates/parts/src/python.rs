//! Packages of Python that tests need: installed once, in a separate folder of the build.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of a package's programs. Installs exactly this version below `folder` if needed; concurrent
/// callers wait.
pub fn python_programs(folder: &Path, package: &str, version: &str) -> PathBuf {
    let name = format!("{package}-{version}");
    let lock = File::create(folder.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let place = folder.join(&name);
    let done = place.join("installed");
    if !done.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&place));
        let package = format!("{package}=={version}");
        run(Command::new(place.join("bin/pip")).args(["install", "-q", &package]));
        File::create(done).unwrap();
    }
    place.join("bin")
}

fn run(command: &mut Command) {
    let out = command.output().unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}
