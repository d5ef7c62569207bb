//! A bill of materials in the format of `CycloneDX` 1.6: every crate that the binary is built from, with its licence
//! and
//! its checksum.
//!
//! Crates are sorted by name, and there is no timestamp, so that the same sources give
//! the same bill. Not here: advisories, and bundled C code (`libsqlite3-sys` has `SQLite`, `ring` its
//! cryptography).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};

pub(crate) struct Subject<'a> {
    /// The package of the binary.
    pub(crate) package: &'a str,
    /// The SHA-256 of the binary.
    pub(crate) sha256: &'a str,
    /// The target triple.
    pub(crate) target: &'a str,
    pub(crate) lock: &'a str,
}

/// The packages and dependencies of `cargo metadata`.
struct Graph<'m> {
    packages: BTreeMap<&'m str, &'m Value>,
    /// By package, its dependencies, and whether each is part of the binary or only of the build.
    needs: BTreeMap<&'m str, Vec<(&'m str, bool)>>,
}

pub(crate) fn bill(metadata: &Value, subject: &Subject<'_>) -> Result<Value> {
    let graph = Graph::of(metadata)?;
    let mut packages = graph.packages.iter();
    let named = packages.find(|(_, package)| package["name"] == subject.package);
    let (root, package) = named.context("the binary's package is not there")?;
    let shipped = graph.reached(root, false);
    let all = graph.reached(root, true);
    let checksums = checksums(subject.lock);
    let component = |id: &&&str| {
        let is_shipped = shipped.contains(**id);
        component(graph.packages[**id], &checksums, is_shipped)
    };
    let mut components: Vec<Value> = all
        .iter()
        .filter(|id| *id != root)
        .map(|id| component(&id))
        .collect();
    components.sort_by_cached_key(reference_of);
    let mut about = component_of(package, "application");
    about["hashes"] = json!([{ "alg": "SHA-256", "content": subject.sha256 }]);
    about["properties"] = json!([{ "name": "cargo:target", "value": subject.target }]);
    let arrows = |id: &&str| {
        let needs = graph.needs.get(*id).into_iter().flatten();
        let on: BTreeSet<String> = needs.map(|(to, _)| purl(graph.packages[to])).collect();
        json!({ "ref": purl(graph.packages[*id]), "dependsOn": on })
    };
    let mut dependencies: Vec<Value> = all.iter().map(arrows).collect();
    dependencies.sort_by_cached_key(|one| one["ref"].to_string());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": about },
        "components": components,
        "dependencies": dependencies,
    }))
}

impl<'m> Graph<'m> {
    fn of(metadata: &'m Value) -> Result<Self> {
        let list = |value: &'m Value, what: &'static str| value.as_array().context(what);
        let id = |value: &'m Value| value.as_str().unwrap_or_default();
        let packages = list(&metadata["packages"], "no packages")?;
        let packages = packages.iter().map(|package| (id(&package["id"]), package));
        let mut needs = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"], "nothing is resolved")? {
            let mut to = Vec::new();
            for dependency in list(&node["deps"], "no dependencies")? {
                let kinds = list(&dependency["dep_kinds"], "no kinds")?.iter();
                let kinds: BTreeSet<&str> = kinds.map(|kind| id(&kind["kind"])).collect();
                if kinds.contains("") || kinds.contains("build") {
                    to.push((id(&dependency["pkg"]), kinds.contains("")));
                }
            }
            needs.insert(id(&node["id"]), to);
        }
        let packages = packages.collect();
        Ok(Self { packages, needs })
    }

    /// Transitive dependencies and the package itself: all, or only those in the binary.
    fn reached(&self, root: &'m str, is_all: bool) -> BTreeSet<&'m str> {
        let (mut reached, mut rest) = (BTreeSet::new(), vec![root]);
        while let Some(id) = rest.pop() {
            let is_macro = !is_all && self.is_macro(id);
            if is_macro || !reached.insert(id) {
                continue;
            }
            let needs = self.needs.get(id).into_iter().flatten();
            let needs = needs.filter(|(_, is_shipped)| is_all || *is_shipped);
            rest.extend(needs.map(|(to, _)| *to));
        }
        reached
    }

    fn is_macro(&self, id: &str) -> bool {
        let targets = self
            .packages
            .get(id)
            .and_then(|it| it["targets"].as_array());
        let mut kinds = targets.into_iter().flatten().map(|target| &target["kind"]);
        kinds.any(|kind| *kind == json!(["proc-macro"]))
    }
}

fn component(package: &Value, checksums: &BTreeMap<String, String>, is_shipped: bool) -> Value {
    let mut component = component_of(package, "library");
    component["scope"] = json!(if is_shipped { "required" } else { "excluded" });
    if let Some(checksum) = checksums.get(&named(package)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(at) = package["repository"].as_str() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": at }]);
    }
    component
}

fn component_of(package: &Value, kind: &str) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // The old syntax before SPDX expressions.
        let either: Vec<&str> = licence.split('/').map(str::trim).collect();
        let expression = either.join(" OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    component
}

fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}", named(package).replace(' ', "@"))
}

fn named(package: &Value) -> String {
    let text = |name: &str| package[name].as_str().unwrap_or_default();
    format!("{} {}", text("name"), text("version"))
}

fn reference_of(component: &Value) -> String {
    component["bom-ref"].to_string()
}

/// Checksums of `Cargo.lock` by name and version.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let mut checksums = BTreeMap::new();
    for block in lock.split("[[package]]") {
        let field = |name: &str| {
            let mut lines = block.lines().filter_map(|line| line.split_once(" = "));
            let (_, value) = lines.find(|(field, _)| *field == name)?;
            Some(value.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (field("name"), field("version"), field("checksum"))
        {
            checksums.insert(format!("{name} {version}"), sum);
        }
    }
    checksums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |name: &str, licence: &str, kind: &str| {
            json!({
                "id": name, "name": name, "version": "1.0.0", "license": licence, "repository": null,
                "targets": [{ "kind": [kind] }],
            })
        };
        let needs = |to: &str, kind: Value| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [
                package("tollgate", "Apache-2.0", "bin"), package("used", "MIT/Apache-2.0", "lib"),
                package("derives", "MIT", "proc-macro"), package("quotes", "MIT", "lib"),
                package("builds", "MIT", "lib"), package("tests", "MIT", "lib"),
            ],
            "resolve": { "nodes": [
                { "id": "tollgate", "deps": [
                    needs("used", json!(null)), needs("builds", json!("build")), needs("tests", json!("dev")),
                ] },
                { "id": "used", "deps": [needs("derives", json!(null))] },
                { "id": "derives", "deps": [needs("quotes", json!(null))] },
            ] },
        })
    }

    #[test]
    fn a_bill_has_what_is_shipped_and_what_builds_it_and_no_tests() {
        let lock = "[[package]]\nname = \"used\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let subject = Subject {
            package: "tollgate",
            sha256: "cd",
            target: "here",
            lock,
        };
        let bill = bill(&metadata(), &subject).unwrap();
        let components = bill["components"].as_array().unwrap();
        let each = components
            .iter()
            .map(|one| (one["name"].as_str(), one["scope"].as_str()));
        let each: Vec<_> = each
            .map(|(name, scope)| (name.unwrap(), scope.unwrap()))
            .collect();
        let build = "excluded";
        assert_eq!(
            each,
            [
                ("builds", build),
                ("derives", build),
                ("quotes", build),
                ("used", "required")
            ]
        );
        let used = &components[3];
        assert_eq!(
            used["licenses"],
            json!([{ "expression": "MIT OR Apache-2.0" }])
        );
        assert_eq!(used["hashes"][0]["content"], "ab");
        assert_eq!(bill["metadata"]["component"]["hashes"][0]["content"], "cd");
        let arrows = &bill["dependencies"][3];
        assert_eq!(arrows["ref"], "pkg:cargo/tollgate@1.0.0");
        assert_eq!(
            arrows["dependsOn"],
            json!(["pkg:cargo/builds@1.0.0", "pkg:cargo/used@1.0.0"])
        );
    }
}
