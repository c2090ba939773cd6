//! Facts of JSON documents: single values by their path, under the names that they had before.

use std::collections::BTreeMap;

use serde_json::Value;

/// A part of a document that both programs must agree on.
struct Fact {
    /// Path in the documents of the program before; `[]` is any element of a list.
    before: &'static str,
    /// Path in the documents of the present program.
    after: &'static str,
}

const fn same(path: &'static str) -> Fact {
    Fact {
        before: path,
        after: path,
    }
}

/// Everything that is compared. A field that got another name has both names here.
const FACTS: [Fact; 40] = [
    same("kind"),
    // preview
    same("affectedPods[].outcome"),
    same("affectedPods[].evictionTime"),
    same("affectedPods[].severity"),
    same("affectedPods[].hazards"),
    same("affectedPods[].workload"),
    same("affectedPods[].owner"),
    same("affectedPods[].causes"),
    same("affectedPods[].budgetNames"),
    same("affectedPods[].usedClaims"),
    same("affectedPods[].notes[].reason"),
    same("budgets[].refusedPodCount"),
    same("budgets[].ambiguousPodCount"),
    same("budgets[].evictedPodCount"),
    same("budgets[].disruptionsAllowed"),
    same("summary"),
    same("replacements.available"),
    same("replacements.claimReplacements[].placeable"),
    same("replacements.claimReplacements[].requests"),
    same("selectedDevices[].claims"),
    same("selectedDevices[].taints"),
    same("selectedDevices[].published"),
    same("selectedDevices[].releaseTime"),
    same("selectedDevices[].notReleasedReason"),
    same("siblings[]"),
    same("guardResults[].tripped"),
    same("guardResults[].count"),
    same("guardResults[].totalCount"),
    same("proposedTaints[].controllerMessage"),
    same("proposedTaints[].counts"),
    same("incomplete[].affects"),
    // devices
    same("items[].taints"),
    same("items[].claims"),
    // list
    same("ruleSummaries[].publishedDeviceCount"),
    same("ruleSummaries[].evictedPodCount"),
    same("ruleSummaries[].terminatingPodCount"),
    same("ruleSummaries[].notEvictedPodCount"),
    same("ruleSummaries[].evicting"),
    // explain
    same("items[].verdict"),
    same("items[].blockedBy"),
];

/// Facts of one document, by path; where something is `null` or empty, there is none.
pub type Facts = BTreeMap<String, Value>;

/// Facts of the table that are not among `seen`.
pub fn unseen<'a>(seen: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let names = FACTS.iter().map(|fact| fact.before);
    names.filter(|name| !seen(name)).collect()
}

/// Facts of the document that the program before has printed.
pub fn before(document: &Value) -> Facts {
    facts(document, |fact| (fact.before, fact.before))
}

/// Facts of the document that the present program has printed, under the names of before.
pub fn after(document: &Value) -> Facts {
    facts(document, |fact| (fact.after, fact.before))
}

fn facts(document: &Value, names: impl Fn(&'static Fact) -> (&'static str, &'static str)) -> Facts {
    let mut found = Facts::new();
    let mut leaves = Vec::new();
    collect(document, String::new(), "", &mut leaves);
    for (pattern, path, value) in leaves {
        for fact in &FACTS {
            let (own, common) = names(fact);
            if let Some(rest) = pattern.strip_prefix(own)
                && (rest.is_empty() || rest.starts_with(['.', '[']))
            {
                let path = format!("{common}{rest} of {path}");
                found.insert(path, value.clone());
            }
        }
    }
    found
}

/// Every leaf below `value`, with its path without elements' names, and the names of the elements it is in.
fn collect(value: &Value, pattern: String, path: &str, leaves: &mut Vec<(String, String, Value)>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                let pattern = if pattern.is_empty() {
                    name.clone()
                } else {
                    format!("{pattern}.{name}")
                };
                collect(value, pattern, path, leaves);
            }
        }
        Value::Array(elements) => {
            let mut names = Vec::new();
            for (number, element) in elements.iter().enumerate() {
                let mut name = name_of(element).unwrap_or_else(|| number.to_string());
                while names.contains(&name) {
                    name.push('+');
                }
                collect(
                    element,
                    format!("{pattern}[]"),
                    &format!("{path} {name}"),
                    leaves,
                );
                names.push(name);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) => {
            leaves.push((pattern, path.trim_start().to_owned(), value.clone()));
        }
    }
}

/// The name of an element of a list, by which it is found in the other document.
fn name_of(element: &Value) -> Option<String> {
    if let Some(text) = element.as_str() {
        return Some(text.to_owned());
    }
    let text = |field: &str| element.get(field).and_then(Value::as_str);
    let parts = [text("kind"), text("namespace"), text("name")];
    let name: Vec<&str> = parts.into_iter().flatten().collect();
    if !name.is_empty() {
        return Some(name.join("/"));
    }
    let other = ["device", "expression", "request", "field", "rule", "node"];
    other.into_iter().find_map(text).map(str::to_owned)
}
