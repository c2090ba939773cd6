//! Manifests of rules: `-f FILE`.

use std::io::Read;

use serde_json::Value;

use super::error::InputError;
use super::limits::Limits;
use super::read::decode_file;
use super::sources::{FileSource, InputFile, InputOrigin};
use crate::model::{DeviceTaintRule, Effect, Kind};
use crate::wire::{Documents, Fact};

/// Rules of manifests, in their order.
#[derive(Debug, Default)]
pub struct Manifests {
    /// Each with the object as it is written.
    pub rules: Vec<(DeviceTaintRule, Value)>,
    /// Kinds of the other objects, which are skipped, each with its file.
    pub skipped: Vec<(String, String)>,
}

/// Fields of an object that a server knows, except those of `metadata` and `status`.
const FIELDS: [(&str, &[&str]); 4] = [
    ("", &["apiVersion", "kind", "metadata", "spec", "status"]),
    ("/spec", &["deviceSelector", "taint"]),
    ("/spec/deviceSelector", &["driver", "pool", "device"]),
    ("/spec/taint", &["key", "value", "effect", "timeAdded"]),
];

/// The rules in all of `sources`. `stdin` is read where `-` was given.
///
/// # Errors
///
/// If a file cannot be read, there is no rule in any, or a rule has a field or an effect that no server knows: each
/// would make the answer one about another rule than the one that is applied later.
pub fn read_manifests(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Manifests, InputError> {
    let mut manifests = Manifests::default();
    for source in sources {
        let files = source.files(limits).map_err(without_rules)?;
        for InputFile { source: file, way } in files {
            let documents = Documents::keeping([Kind::DeviceTaintRule]);
            let decoded = match decode_file(&file, stdin, limits, documents) {
                Err(error) if way == InputOrigin::Listed && error.is_no_manifest() => continue,
                decoded => decoded?,
            };
            let kinds = decoded.found.keys().map(|found| found.kind.clone());
            let others = kinds.filter(|kind| kind != Kind::DeviceTaintRule.as_str());
            manifests
                .skipped
                .extend(others.map(|kind| (file.name(), kind)));
            for item in decoded.items {
                if let (Some(rule), Some(written)) =
                    (DeviceTaintRule::of(item.object), item.written)
                {
                    check(&rule, &written, &file)?;
                    manifests.rules.push((rule, *written));
                }
            }
        }
    }
    if manifests.rules.is_empty() {
        let names: Vec<String> = sources.iter().map(FileSource::name).collect();
        return Err(InputError::NoRule {
            files: names.join(", "),
        });
    }
    Ok(manifests)
}

fn without_rules(error: InputError) -> InputError {
    if let InputError::EmptyDirectory { directory } = error {
        return InputError::NoRule { files: directory };
    }
    error
}

fn check(rule: &DeviceTaintRule, written: &Value, file: &FileSource) -> Result<(), InputError> {
    let wrong = |field: &str, problem: String| {
        Err(InputError::Rule {
            file: file.name(),
            rule: rule.name.to_string(),
            field: field.trim_start_matches('/').replace('/', "."),
            problem,
        })
    };
    for (path, known) in FIELDS {
        let object = written.pointer(path).and_then(Value::as_object);
        let mut names = object.into_iter().flat_map(serde_json::Map::keys);
        if let Some(name) = names.find(|name| !known.contains(&name.as_str())) {
            return wrong(&format!("{path}/{name}"), "unknown field".to_owned());
        }
    }
    match &rule.taint.effect {
        Effect::Unknown(effect) => wrong(
            "/spec/taint/effect",
            format!("{effect:?} is not NoSchedule, NoExecute or None"),
        ),
        Effect::None | Effect::NoSchedule | Effect::NoExecute => Ok(()),
    }
}
