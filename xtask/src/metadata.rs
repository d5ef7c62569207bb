//! The workspace as cargo sees it: packages and the dependencies in their manifests.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A package of the workspace with its production dependencies.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest: String,
    /// Of production code only.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One entry of `[dependencies]`.
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether it belongs to this workspace.
    pub(crate) ours: bool,
    /// Its features, including `default` if enabled.
    pub(crate) features: Vec<String>,
}

/// Every package of the workspace.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>> {
    let metadata = run_cargo(root, "metadata", &["--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata")?;
    let listed = metadata["packages"]
        .as_array()
        .context("cargo metadata lists packages")?;
    Ok(listed
        .iter()
        .map(|package| read_package(root, package))
        .collect())
}

/// The standard output of a cargo command.
pub(crate) fn run_cargo(root: &Path, command: &str, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("cargo")
        .arg(command)
        .args(arguments)
        .current_dir(root)
        .output()
        .with_context(|| format!("running cargo {command}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo {command}: {errors}");
    Ok(output.stdout)
}

fn read_package(root: &Path, package: &Value) -> Package {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let manifest = manifest.strip_prefix(root).unwrap_or(manifest);
    let listed = package["dependencies"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    // A production dependency has no kind; the others are "dev" and "build".
    let production = listed
        .iter()
        .filter(|dependency| dependency["kind"].is_null());
    Package {
        name: package["name"].as_str().unwrap_or_default().to_owned(),
        manifest: manifest.display().to_string(),
        dependencies: production.map(read_dependency).collect(),
    }
}

fn read_dependency(dependency: &Value) -> Dependency {
    let named = dependency["features"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let named = named.iter().filter_map(Value::as_str).map(str::to_owned);
    let default = dependency["uses_default_features"] == true;
    Dependency {
        name: dependency["name"].as_str().unwrap_or_default().to_owned(),
        ours: dependency["path"].is_string(),
        features: named.chain(default.then(|| "default".to_owned())).collect(),
    }
}
