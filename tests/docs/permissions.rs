//! Is the page about permissions complete?

use std::collections::BTreeSet;

use serde_json::Value;

use crate::page::root;

const PAGE: &str = "docs/src/permissions.md";
/// The row that means those of the row above it.
const PREVIOUS: &str = "the four resources of the previous row";

/// A resource and a verb.
type Permission = (String, String);

#[test]
fn the_purposes_name_every_permission_of_the_roles_and_no_other() {
    let (granted, explained) = (granted(), explained());
    let without_purpose: Vec<&Permission> = granted.difference(&explained).collect();
    let granted_nowhere: Vec<&Permission> = explained.difference(&granted).collect();
    assert!(granted.len() > 30, "{granted:?}");
    assert!(
        without_purpose.is_empty(),
        "without a purpose: {without_purpose:?}"
    );
    assert!(
        granted_nowhere.is_empty(),
        "in no role: {granted_nowhere:?}"
    );
}

/// Permissions in the generated roles.
fn granted() -> BTreeSet<Permission> {
    ["reader", "operator", "dedicator"]
        .iter()
        .flat_map(|role| {
            let text = std::fs::read_to_string(root().join(format!("manifests/{role}.yaml")));
            let role: Value = serde_yaml::from_str(&text.unwrap()).unwrap();
            let rules = role["rules"].as_array().unwrap().clone();
            rules.into_iter().flat_map(|rule| {
                let words = |key: &str| -> Vec<String> {
                    let words = rule[key].as_array().unwrap().iter();
                    words
                        .map(|word| word.as_str().unwrap().to_owned())
                        .collect()
                };
                let verbs = words("verbs");
                pairs(&words("resources"), &verbs)
            })
        })
        .collect()
}

/// Permissions to which the table of the page gives a purpose.
fn explained() -> BTreeSet<Permission> {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let (_, table) = page
        .split_once("\n## Purpose of each permission")
        .expect("the section");
    let (table, _) = table.split_once("\n## ").expect("a section after it");
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let mut above = Vec::new();
    let mut found = BTreeSet::new();
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let resources = match cells[1] {
            PREVIOUS => above,
            names => names
                .split(", ")
                .map(|name| name.trim_matches('`').to_owned())
                .collect(),
        };
        let verbs: Vec<String> = cells[2].split(", ").map(str::to_owned).collect();
        found.extend(pairs(&resources, &verbs));
        above = resources;
    }
    found
}

fn pairs(resources: &[String], verbs: &[String]) -> Vec<Permission> {
    let resources = resources.iter();
    resources
        .flat_map(|resource| verbs.iter().map(|verb| (resource.clone(), verb.clone())))
        .collect()
}
