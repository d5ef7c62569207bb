//! Packages of JavaScript that tests need: fetched once from the registry by name, version and checksum.
//!
//! Not here: npm, which is larger than all fetched packages, and install scripts of packages.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package in exactly one version.
#[derive(Clone, Copy, Debug)]
pub struct NodePackage {
    pub name: &'static str,
    pub version: &'static str,
    /// The SHA-512 of its archive, in hexadecimal.
    pub sha512: &'static str,
}

/// A folder `node_modules` that has these packages. Fetches them below `folder` if needed; concurrent
/// callers wait.
pub fn node_modules(folder: &Path, packages: &[NodePackage]) -> PathBuf {
    let lock = File::create(folder.join("node_modules.lock")).unwrap();
    lock.lock().unwrap();
    let modules = folder.join("node_modules");
    for package in packages {
        fetch(&modules, package);
    }
    modules
}

fn fetch(modules: &Path, package: &NodePackage) {
    let NodePackage {
        name,
        version,
        sha512,
    } = package;
    let place = modules.join(name);
    let done = place.join(format!("installed-{version}"));
    if done.exists() {
        return;
    }
    std::fs::create_dir_all(&place).unwrap();
    let file = name.rsplit('/').next().unwrap();
    let archive = place.join("archive.tgz");
    let address = format!("https://registry.npmjs.org/{name}/-/{file}-{version}.tgz");
    let curl = ["-sSfL", "--retry", "3", "--max-time", "120", &address, "-o"];
    run(Command::new("curl").args(curl).arg(&archive));
    let sum = run(Command::new("sha512sum").arg(&archive));
    assert!(sum.starts_with(sha512), "{address} is not what it was");
    let tar = ["-xz", "--strip-components=1", "-C"];
    run(Command::new("tar")
        .args(tar)
        .arg(&place)
        .arg("-f")
        .arg(&archive));
    File::create(done).unwrap();
}

/// Runs a command; gives what it printed.
fn run(command: &mut Command) -> String {
    let out = command.output().unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {errors}");
    String::from_utf8(out.stdout).unwrap()
}
