//! The software bill of materials, in CycloneDX's format: what the program is made of.
//!
//! It names every crate that is compiled into the program on some released platform, or runs while it
//! is compiled; what only tests need is in no program.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::project::Project;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    description: Option<String>,
    license: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    root: String,
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// Nothing for a plain dependency.
    kind: Option<String>,
}

/// The bill, as JSON.
pub fn bill(project: &Project) -> Result<String> {
    let metadata: Metadata = serde_json::from_value(project.dependencies()?)?;
    let checksums = checksums(project)?;
    let used = used(&metadata);
    let packages: BTreeMap<&str, &Package> = metadata
        .packages
        .iter()
        .filter(|package| used.contains_key(package.id.as_str()))
        .map(|package| (package.id.as_str(), package))
        .collect();
    let root = packages
        .get(metadata.resolve.root.as_str())
        .context("cargo metadata does not have the package that it was asked for")?;

    let mut components: Vec<(String, Value)> = packages
        .values()
        .filter(|package| package.id != root.id)
        .map(|package| (package.purl(), package.component("library", &checksums)))
        .collect();
    components.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut dependencies: Vec<(String, Value)> = used
        .iter()
        .filter_map(|(id, needed)| {
            let name = packages.get(id)?.purl();
            let needed: BTreeSet<String> = needed
                .iter()
                .filter_map(|id| Some(packages.get(id)?.purl()))
                .collect();
            Some((name.clone(), json!({"ref": name, "dependsOn": needed})))
        })
        .collect();
    dependencies.sort_by(|(one, _), (other, _)| one.cmp(other));

    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root.component("application", &checksums)},
        "components": values(components),
        "dependencies": values(dependencies),
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

fn values(sorted: Vec<(String, Value)>) -> Vec<Value> {
    sorted.into_iter().map(|(_, value)| value).collect()
}

/// Dependencies of the program, by package, each with its own dependencies.
fn used(metadata: &Metadata) -> BTreeMap<&str, Vec<&str>> {
    let nodes: BTreeMap<&str, &Node> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let mut used = BTreeMap::new();
    let mut open = vec![metadata.resolve.root.as_str()];
    while let Some(id) = open.pop() {
        if used.contains_key(id) {
            continue;
        }
        let needed: Vec<&str> = nodes
            .get(id)
            .into_iter()
            .flat_map(|node| &node.deps)
            .filter(|dependency| dependency.is_built())
            .map(|dependency| dependency.pkg.as_str())
            .collect();
        open.extend(&needed);
        used.insert(id, needed);
    }
    used
}

impl Dependency {
    /// True if it is needed for more than tests.
    fn is_built(&self) -> bool {
        let kinds = &mut self.dep_kinds.iter();
        kinds.any(|kind| kind.kind.as_deref() != Some("dev"))
    }
}

impl Package {
    /// The name that every ecosystem's packages have in common.
    fn purl(&self) -> String {
        format!(
            "pkg:cargo/{}@{}",
            self.name,
            self.version.replace('+', "%2B")
        )
    }

    fn component(&self, kind: &str, checksums: &BTreeMap<(String, String), String>) -> Value {
        let mut component = json!({
            "type": kind,
            "bom-ref": self.purl(),
            "name": self.name,
            "version": self.version,
            "purl": self.purl(),
        });
        if let Some(description) = &self.description {
            component["description"] = json!(description.trim());
        }
        if let Some(license) = &self.license {
            // Some old crates separate by `/` what SPDX separates by `OR`.
            let expression: Vec<&str> = license.split('/').map(str::trim).collect();
            component["licenses"] = json!([{"expression": expression.join(" OR ")}]);
        }
        let key = (self.name.clone(), self.version.clone());
        if let Some(checksum) = self.source.as_ref().and_then(|_| checksums.get(&key)) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        component
    }
}

/// The checksums of Cargo.lock, by name and version.
///
/// The file is written by Cargo, a line each: `name = "…"`, `version = "…"`, `checksum = "…"`.
fn checksums(project: &Project) -> Result<BTreeMap<(String, String), String>> {
    let text = std::fs::read_to_string(project.root.join("Cargo.lock")).context("Cargo.lock")?;
    let mut checksums = BTreeMap::new();
    for package in text.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let mut lines = package.lines();
            let line = lines.find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (field("name"), field("version"), field("checksum"))
        {
            checksums.insert((name, version), checksum);
        }
    }
    Ok(checksums)
}
