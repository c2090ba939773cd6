//! Files of a directory that cannot be read.
//!
//! One of them does not keep the others from being read: it is left out, and what it may have held is
//! missing from the answer. The path says what that is, as must-gathers lay their files out; a path that
//! says nothing may have led to any kind.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use super::error::InputError;
use crate::model::{Gap, Kind, Warning};
use crate::naming::phrase::counted;

/// So many files are named in warnings.
const NAMED: usize = 3;

/// The files that were left out, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct BrokenFiles {
    files: Vec<BrokenFile>,
}

#[derive(Debug)]
struct BrokenFile {
    file: String,
    error: InputError,
    kinds: BTreeSet<Kind>,
}

impl BrokenFiles {
    /// Leaves out `file`, which is `below` the directory that was named.
    pub(super) fn add(&mut self, file: String, below: &Path, error: InputError) {
        self.files.push(BrokenFile {
            file,
            error,
            kinds: kinds_at(below),
        });
    }

    /// Why the first one could not be read.
    pub(super) fn into_first(self) -> Option<InputError> {
        self.files.into_iter().next().map(|broken| broken.error)
    }

    /// The kinds of which objects may be missing.
    pub(super) fn kinds(&self) -> BTreeSet<Kind> {
        let files = self.files.iter();
        files.flat_map(|broken| broken.kinds.clone()).collect()
    }

    /// What the answer lacks, a gap each kind.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let gap = |kind: Kind| {
            let mut files = self.files.iter().filter(|one| one.kinds.contains(&kind));
            let first = files.next().map_or("", |one| one.file.as_str());
            let reason = match files.count() {
                0 => format!("{first} could not be read"),
                more => format!(
                    "{first} and {} could not be read",
                    counted(more, "more file")
                ),
            };
            Gap::of(kind, &reason)
        };
        self.kinds().into_iter().map(gap).collect()
    }

    /// Which files were left out, and why.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let named = self.files.iter().take(NAMED).map(|broken| {
            let fix = if broken.kinds.is_empty() {
                None
            } else {
                Some(
                    "repair the file, or remove it if it is not needed: until then the report is \
                    incomplete"
                        .to_owned(),
                )
            };
            (format!("skipped: {}", in_one_line(&broken.error)), fix)
        });
        let more = self.files.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| {
            (
                format!(
                    "skipped: {} that cannot be read",
                    counted(more, "more file")
                ),
                None,
            )
        });
        let all = named.chain(more).map(|(message, fix)| Warning {
            code: "unreadable-file",
            message,
            fix,
        });
        all.collect()
    }
}

/// The error with its causes.
fn in_one_line(error: &InputError) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    line
}

/// The kinds that a file at this path may hold.
fn kinds_at(path: &Path) -> BTreeSet<Kind> {
    let parts: Vec<String> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    let words: Vec<&str> = parts
        .iter()
        .map(|part| part.split('.').next().unwrap_or(part))
        .collect();
    let is_named = |kind: &Kind| {
        // A namespace's folder holds what is in it.
        let is_folder = *kind == Kind::NamespaceObject && words.len() > 2;
        words.contains(&kind.plural()) && !is_folder
    };
    let named: BTreeSet<Kind> = Kind::ALL.into_iter().filter(is_named).collect();
    if !named.is_empty() || names_another_resource(&parts) {
        return named;
    }
    Kind::ALL.into_iter().collect()
}

/// Whether the path is one of a must-gather, which names the resource behind its API group.
fn names_another_resource(parts: &[String]) -> bool {
    let place = |root: &str| parts.iter().position(|part| part == root);
    let behind = |place: usize, names: usize| parts.len() > place.saturating_add(names);
    place("namespaces").is_some_and(|place| behind(place, 3))
        || place("cluster-scoped-resources").is_some_and(|place| behind(place, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_what_a_file_may_have_held() {
        for (path, expected) in [
            ("namespaces/ml/core/pods.yaml", vec![Kind::Pod]),
            ("namespaces/ml/pods/train-0/train-0.yaml", vec![Kind::Pod]),
            (
                "cluster-scoped-resources/resource.k8s.io/resourceslices/a.yaml",
                vec![Kind::ResourceSlice],
            ),
            (
                "namespaces/ml/template.openshift.io/templates.yaml",
                Vec::new(),
            ),
            (
                "cluster-scoped-resources/config.openshift.io/proxies/x.yaml",
                Vec::new(),
            ),
            ("everything.yaml", Kind::ALL.to_vec()),
            ("namespaces/ml.yaml", vec![Kind::NamespaceObject]),
        ] {
            let expected: BTreeSet<Kind> = expected.into_iter().collect();
            assert_eq!(kinds_at(Path::new(path)), expected, "{path}");
        }
    }
}
