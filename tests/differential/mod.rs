//! Comparison of the present program with that of an earlier commit, on random clusters.
//!
//! Both read the same file and answer the same questions; their JSON documents must have the same facts (see
//! `facts.rs`). Started by `tests/differential/run`.
//!
//! | variable | means |
//! |---|---|
//! | `BEFORE`, `AFTER` | the two programs |
//! | `CLUSTERS` | how many clusters, 2,000 by default |
//! | `SEED` | the seed of a run that is repeated |

mod cluster;
mod facts;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, thread};

use serde_json::Value;

use crate::harness::go_program::say;
use crate::harness::number_in;
use crate::oracle::run::fresh_seed;

/// Differences that are printed; the rest is counted.
const PRINTED: usize = 20;

/// Differences that are intended.
struct Intended {
    /// The beginning of the path of the fact.
    fact: &'static str,
    /// A part of the rest of the path; empty for all.
    about: &'static str,
    /// A few words.
    #[expect(dead_code, reason = "for those who read the list")]
    reason: &'static str,
}

const fn intended(fact: &'static str, about: &'static str, reason: &'static str) -> Intended {
    Intended {
        fact,
        about,
        reason,
    }
}

/// Devices under other names are no longer compared with one another.
const HARDWARE: &str = "no guess which devices are the same hardware";
/// The allocator of 1.37 is followed more closely, and judged also with the allocations of evicted pods gone.
const PLACEABLE: &str = "also placed after all evicted pods are gone, or unknown";

/// Every difference that is intended, with its reason.
const INTENDED: [Intended; 14] = [
    intended("items[].free", "", HARDWARE),
    intended("selectedDevices[].releaseTime", "", HARDWARE),
    intended("selectedDevices[].notReleasedReason", "", HARDWARE),
    intended("siblings[]", "", HARDWARE),
    intended("affectedPods[].hazards[]", "SiblingInUse", HARDWARE),
    intended("affectedPods[].hazards[]", "NoReplacement", PLACEABLE),
    intended("affectedPods[].severity", "", PLACEABLE),
    intended("guardResults[]", "claims.unplaceable", PLACEABLE),
    intended("guardResults[]", "devices.available", PLACEABLE),
    intended("incomplete[].affects", "", PLACEABLE),
    intended("replacements.", "", PLACEABLE),
    intended("summary.availableDeviceCount", "", PLACEABLE),
    intended("summary.unplaceableClaimCount", "", PLACEABLE),
    intended("summary.severities.", "", PLACEABLE),
];

/// A flag without which the program before ignores PodGroups; the present one heeds those that claims are reserved for.
const POD_GROUPS: [&str; 2] = ["--feature-gates", "DRAWorkloadResourceClaims=true"];

/// A fact about which the programs disagree.
struct Difference {
    cluster: u64,
    seed: u64,
    question: String,
    path: String,
    before: Option<Value>,
    after: Option<Value>,
    file: PathBuf,
}

impl Difference {
    fn is_intended(&self) -> bool {
        INTENDED
            .iter()
            .any(|one| self.path.starts_with(one.fact) && self.path.contains(one.about))
    }
}

#[test]
#[ignore = "run by tests/differential/run"]
fn decisions_are_those_of_the_commit_before() {
    let [before, after] =
        ["BEFORE", "AFTER"].map(|name| PathBuf::from(env::var(name).expect("two programs")));
    let count = number_in("CLUSTERS").unwrap_or(2_000);
    let seed = number_in("SEED").unwrap_or_else(|| fresh_seed() >> 32);
    let folder = env::temp_dir().join(format!("differential-{seed}"));
    fs::create_dir_all(&folder).expect("a folder for the clusters");
    say(&format!("differential: seed {seed}, {count} clusters"));
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    let counted = Mutex::new(BTreeMap::<String, usize>::new());
    let worker = || {
        loop {
            let cluster = next.fetch_add(1, Ordering::Relaxed);
            if cluster >= count {
                return;
            }
            let (differences, facts) = compare(cluster, seed, &folder, [&before, &after]);
            let mut counted = counted.lock().expect("no panic");
            for fact in facts {
                *counted.entry(fact).or_default() += 1;
            }
            found.lock().expect("no panic").extend(differences);
        }
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
    });
    let found = found.into_inner().expect("no panic");
    report(&found, &counted.into_inner().expect("no panic"));
    if found.is_empty() {
        let _ = fs::remove_dir_all(&folder);
    }
    let clusters: BTreeSet<u64> = found.iter().map(|one| one.cluster).collect();
    say(&format!(
        "differential: {count} clusters of seed {seed}, {} differences in {} clusters",
        found.len(),
        clusters.len()
    ));
    assert!(found.is_empty(), "the clusters are in {}", folder.display());
}

fn report(found: &[Difference], counted: &BTreeMap<String, usize>) {
    let values: usize = counted.values().sum();
    let seen = |fact: &str| counted.keys().any(|field| field.starts_with(fact));
    say(&format!(
        "differential: {values} values of {} fields compared; never seen: {:?}",
        counted.len(),
        facts::unseen(seen)
    ));
    let mut by_fact = BTreeMap::<&str, usize>::new();
    for one in found {
        let fact = one.path.split(" of ").next().unwrap_or_default();
        *by_fact.entry(fact).or_default() += 1;
    }
    say(&format!("differential: differences by fact: {by_fact:#?}"));
    for one in found.iter().take(PRINTED) {
        let shown = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        say(&format!(
            "cluster {} of seed {}: {}\n  {}\n  before: {}\n  after:  {}\n  file:   {}",
            one.cluster,
            one.seed,
            one.question,
            one.path,
            shown(&one.before),
            shown(&one.after),
            one.file.display()
        ));
    }
}

/// The differences in one cluster, and which facts were compared.
fn compare(
    cluster: u64,
    seed: u64,
    folder: &Path,
    programs: [&PathBuf; 2],
) -> (Vec<Difference>, Vec<String>) {
    let subject = cluster::subject(seed.wrapping_mul(1 << 20).wrapping_add(cluster));
    let file = folder.join(format!("cluster-{cluster}.json"));
    fs::write(&file, subject.list.to_string()).expect("the cluster can be written");
    let mut differences = Vec::new();
    let mut compared = Vec::new();
    let has_pod_groups = subject.list.to_string().contains("\"podgroups\"");
    let flags: &[&str] = if has_pod_groups { &POD_GROUPS } else { &[] };
    for question in &subject.questions {
        let before = run(programs[0], question, flags, &file);
        let after = run(programs[1], question, &[], &file);
        let before = answer(&before, facts::before);
        let after = answer(&after, facts::after);
        compared.extend(before.keys().map(|path| field(path)));
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for path in paths {
            let difference = Difference {
                cluster,
                seed,
                question: question.join(" "),
                path: path.clone(),
                before: before.get(path).cloned(),
                after: after.get(path).cloned(),
                file: file.clone(),
            };
            if difference.before != difference.after && !difference.is_intended() {
                differences.push(difference);
            }
        }
    }
    if differences.is_empty() {
        let _ = fs::remove_file(&file);
    }
    (differences, compared)
}

/// The field of a path, without the names of the elements that it is in.
fn field(path: &str) -> String {
    let end = path.find(" of ").unwrap_or(path.len());
    path[..end].to_owned()
}

struct Run {
    code: i32,
    document: Value,
}

fn run(program: &Path, question: &[String], flags: &[&str], file: &Path) -> Run {
    let output = Command::new(program)
        .args(question)
        .args(flags)
        .arg("--from")
        .arg(file)
        .env_clear()
        .output()
        .expect("the program runs");
    Run {
        code: output.status.code().unwrap_or(-1),
        document: serde_json::from_slice(&output.stdout).unwrap_or_default(),
    }
}

/// Facts of a document, and the exit code.
fn answer(run: &Run, facts: impl Fn(&Value) -> facts::Facts) -> facts::Facts {
    let mut found = facts(&run.document);
    found.insert("exit code".to_owned(), run.code.into());
    found
}
