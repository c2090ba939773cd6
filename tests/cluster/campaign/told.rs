//! Changes that a run reports, compared with the server's own history.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::rules::support::Run;
use crate::harness::{Deed, Entry};

/// Report of a run about one rule.
#[derive(Clone, Debug)]
struct Said {
    name: String,
    verb: String,
    /// True if it reports that it has changed the rule; absent where it does not say.
    changed: Option<Option<bool>>,
}

/// False statements of a run, by the server's changes meanwhile.
///
/// Where a request was `doubled`, the client that gets the second answer knows only the state before it.
pub fn lies(run: &Run, history: &[Entry], doubled: bool) -> Vec<String> {
    let mut deeds: BTreeMap<&str, Vec<Deed>> = BTreeMap::new();
    for entry in history {
        deeds.entry(&entry.name).or_default().push(entry.deed);
    }
    let said = said(&run.stdout);
    let mut lies = Vec::new();
    for said in &said {
        let deeds = deeds.get(said.name.as_str()).map_or(&[][..], Vec::as_slice);
        if !is_true(&said.verb, deeds, doubled) || !may_be(said, deeds, doubled) {
            lies.push(format!("{said:?} is told of {deeds:?}"));
        }
    }
    let is_told = |name: &str| {
        let told =
            |said: &Said| said.name == name && (doubled || said.changed != Some(Some(false)));
        said.iter().any(told) || run.stderr.contains(name) || is_batch_told(&run.stderr)
    };
    for (name, deeds) in &deeds {
        let is_left = deeds.last() != Some(&Deed::Deleted) || deeds.first() != Some(&Deed::Created);
        if is_left && !is_told(name) {
            lies.push(format!("{name} is not told of: {deeds:?}"));
        }
    }
    if let Some(report) = report(&run.stdout)
        && report["changed"] == false
        && !deeds.is_empty()
        && !doubled
    {
        lies.push(format!("nothing was changed is told of {deeds:?}"));
    }
    lies
}

/// Rules of a publication have a common label, by which they are reported.
fn is_batch_told(stderr: &str) -> bool {
    stderr.contains("-l devicetaint.dev/batch=")
}

fn is_true(verb: &str, deeds: &[Deed], doubled: bool) -> bool {
    let has = |deed| deeds.contains(&deed);
    let is_gone = deeds.is_empty() || has(Deed::Deleted);
    match verb {
        "created" => has(Deed::Created),
        "configured" => has(Deed::Configured),
        "reverted" => {
            deeds
                .iter()
                .filter(|deed| **deed == Deed::Configured)
                .count()
                >= 2
        }
        "unchanged" | "failed" | "not found" => deeds.is_empty(),
        "deleted" => has(Deed::Deleted),
        "already deleted" => is_gone && (deeds.is_empty() || doubled),
        "gone" => is_gone,
        // An earlier request for deletion has no entry.
        "deletion requested" | "unknown" | "observed" | "evicted" => true,
        _ => false,
    }
}

/// True if the run may report so of its change.
fn may_be(said: &Said, deeds: &[Deed], doubled: bool) -> bool {
    match said.changed {
        None | Some(None) => true,
        Some(Some(changed)) => changed != deeds.is_empty() || (!changed && doubled),
    }
}

fn report(stdout: &str) -> Option<Value> {
    let report: Value = serde_json::from_str(stdout).ok()?;
    (report["kind"] == "ChangeReport" && report["dryRun"] == "None").then_some(report)
}

fn said(stdout: &str) -> Vec<Said> {
    if let Some(report) = report(stdout) {
        let rules = report["changes"].as_array().expect("rules").iter();
        let said = rules.map(|rule| Said {
            name: rule["name"].as_str().expect("a name").to_owned(),
            verb: in_words(rule["result"].as_str().expect("a result")),
            changed: Some(rule["changed"].as_bool()),
        });
        return said.collect();
    }
    let lines = stdout.lines().filter_map(|line| {
        let line = line.strip_prefix("devicetaintrule.resource.k8s.io/")?;
        line.split_once(' ')
    });
    let lines = lines.filter(|(_, verb)| !verb.contains("dry run"));
    lines
        .map(|(name, verb)| Said {
            name: name.to_owned(),
            verb: verb.to_owned(),
            changed: None,
        })
        .collect()
}

/// The result as lines have it: `AlreadyDeleted` is `already deleted`.
fn in_words(result: &str) -> String {
    let mut words = String::new();
    for letter in result.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
