//! Reads saved state: `--from FILE|DIR|-`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bytes::{self, Content, content};
use super::gather::{
    NewestTime, SerializedObject, SnapshotBuilder, gaps, missing_pods, notes, version_of,
};
use super::sources::{FileSource, InputError, InputFile, InputOrigin, Limits};
use crate::model::{
    DeviceTaintRule, Effect, Kind, Minor, Need, Reading, ResourceClaim, Source, Warning,
};
use crate::wire::{DecodeError, Decoded, Documents, Fact, ListHeader, TypeMeta};

/// Reads all of `sources` as one cluster. `stdin` is read where `-` was given.
///
/// # Errors
///
/// If a file cannot be read, any object in it that is needed cannot be read, or none is needed.
pub fn read(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Reading, InputError> {
    let input = Input::of(sources, stdin, limits, &[])?;
    Ok(input.reading(&named(sources))?.0)
}

/// Reads all of `sources` as one cluster, and gives the rules as they stand in the files too, by name:
/// with all fields, also those that this plugin does not know.
///
/// # Errors
///
/// As [`read`].
pub fn read_with_rules(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<(Reading, BTreeMap<String, Value>), InputError> {
    let input = Input::of(sources, stdin, limits, &[Kind::DeviceTaintRule])?;
    let (reading, written) = input.reading(&named(sources))?;
    let by_name = written.into_iter().map(|rule| (rule.name, rule.object));
    Ok((reading, by_name.collect()))
}

fn named(sources: &[FileSource]) -> String {
    let names: Vec<_> = sources.iter().map(FileSource::name).collect();
    names.join(", ")
}

/// Adds what is in `text`, in JSON or YAML; kubectl looks at the first character too.
fn decode_text(documents: &mut Documents, text: &str) -> Result<(), DecodeError> {
    if text.trim_start().starts_with('{') {
        documents.decode_json(text)
    } else {
        documents.decode_yaml(text)
    }
}

/// The objects of one file, as `documents` wants them.
pub(crate) fn decode_file(
    file: &FileSource,
    stdin: &mut dyn Read,
    limits: &Limits,
    mut documents: Documents,
) -> Result<Decoded, InputError> {
    let failed = |source: DecodeError| match source.unstored() {
        Some(object) => InputError::no_dump(format!(
            "{} is a manifest, not a dump: {object} has no uid or no namespace",
            file.name()
        )),
        None => InputError::Decode {
            file: file.name(),
            source,
        },
    };
    let mut newest = NewestTime::default();
    // Much faster than decoding what comes byte by byte.
    let long_file = bytes::long_file(file, limits).filter(|_| !documents.is_keeping());
    let list = long_file.and_then(|text| Documents::list_from(newest.of(text)));
    if let Some(list) = list {
        return Ok(with_newest(list, &newest));
    }
    match bytes::content(file, stdin, limits)? {
        Content::Text(text) => {
            newest.add(text.as_bytes());
            decode_text(&mut documents, &text).map_err(failed)?;
        }
        Content::Json(head, mut rest) => {
            let decoded = documents.decode_json_from(newest.of(bytes::joined(head, &mut rest)));
            // The parser's error may be one of reading.
            decoded.map_err(|error| rest.failed().unwrap_or_else(|| failed(error)))?;
        }
    }
    Ok(with_newest(documents, &newest))
}

/// Decoded objects, with the newest time of the whole text.
fn with_newest(documents: Documents, newest: &NewestTime) -> Decoded {
    let decoded = documents.finish();
    Decoded {
        newest: decoded.newest.max(newest.get()),
        ..decoded
    }
}

/// Everything that was read so far.
#[derive(Default)]
struct Input {
    gathering: SnapshotBuilder,
    found: BTreeMap<TypeMeta, usize>,
    present: BTreeSet<Kind>,
    /// The kinds that a snapshot has all of, as it says itself.
    noted: BTreeSet<Kind>,
    resource_versions: BTreeMap<String, String>,
    /// As the annotations say.
    observed_at: Option<Timestamp>,
    version: Option<Minor>,
    server_version: Option<String>,
    /// Files of directories that hold no objects, and the first of them.
    left_out: Option<(String, usize)>,
    /// The newest time of any object.
    newest: Option<Timestamp>,
    warnings: Vec<Warning>,
}

impl Input {
    fn of(
        sources: &[FileSource],
        stdin: &mut dyn Read,
        limits: &Limits,
        kept: &[Kind],
    ) -> Result<Self, InputError> {
        let mut input = Self::default();
        for source in sources {
            for InputFile { source: file, way } in source.files(limits)? {
                let documents = Documents::keeping(kept.iter().copied());
                match decode_file(&file, stdin, limits, documents) {
                    Ok(decoded) => input.add(&file.name(), decoded, way)?,
                    Err(error) if way == InputOrigin::Listed && error.is_no_manifest() => {
                        input.leave_out(file.name());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(input)
    }

    fn leave_out(&mut self, file: String) {
        let (_, more) = self.left_out.get_or_insert((file, 0));
        *more = more.saturating_add(1);
    }

    fn add(&mut self, file: &str, decoded: Decoded, way: InputOrigin) -> Result<(), InputError> {
        if way == InputOrigin::Listed && decoded.found.is_empty() && decoded.lists.is_empty() {
            self.leave_out(file.to_owned());
        }
        for list in &decoded.lists {
            self.add_list(file, list)?;
        }
        for (type_meta, count) in decoded.found {
            self.present.extend(read_kind(&type_meta.kind, &type_meta));
            let so_far = self.found.entry(type_meta).or_default();
            *so_far = so_far.saturating_add(count);
        }
        for item in decoded.items {
            self.gathering.add(item);
        }
        self.warnings.extend(decoded.warnings);
        self.newest = self.newest.max(decoded.newest);
        Ok(())
    }

    fn add_list(&mut self, file: &str, list: &ListHeader) -> Result<(), InputError> {
        let notes = notes(file, &list.metadata)?;
        self.observed_at = self.observed_at.max(notes.observed_at);
        self.version = self.version.or(notes.version);
        self.server_version = self.server_version.take().or(notes.server_version);
        self.noted.extend(&notes.kinds);
        self.present.extend(notes.kinds);
        let kind = list
            .type_meta
            .kind
            .strip_suffix("List")
            .and_then(|kind| read_kind(kind, &list.type_meta));
        if let Some(kind) = kind {
            self.present.insert(kind);
            let version = list.metadata.resource_version.clone();
            if !version.is_empty() {
                self.resource_versions
                    .insert(kind.plural().to_owned(), version);
            }
        }
        Ok(())
    }

    fn reading(mut self, files: &str) -> Result<(Reading, Vec<SerializedObject>), InputError> {
        if self
            .present
            .iter()
            .all(|kind| kind.need() == Need::Optional)
        {
            let found = in_words(&self.found);
            return Err(InputError::no_dump(format!(
                "{files} contains nothing that this command uses: {found}"
            )));
        }
        self.warnings.append(&mut self.gathering.warnings);
        let left_out = self.left_out.take();
        self.warnings
            .extend(left_out.map(|(first, count)| left_out_warning(&first, count)));
        let (snapshot, written) = self.gathering.finish();
        // A list may say that it has the pods, and have lost them since.
        let has_pods = self
            .found
            .keys()
            .any(|found| found.kind == Kind::Pod.as_str());
        if !has_pods && are_reserved_for_pods(&snapshot.claims) {
            self.present.remove(&Kind::Pod);
        }
        let mut gaps = gaps(&self.present);
        // A snapshot says that it has all pods: one that it lacks was gone when the snapshot was taken.
        if self.present.contains(&Kind::Pod) && !self.noted.contains(&Kind::Pod) {
            gaps.extend(missing_pods(&snapshot));
        }
        gaps.sort_by_key(|gap| {
            Kind::ALL
                .into_iter()
                .position(|kind| gap.what == kind.plural())
        });
        let reading = Reading {
            gaps,
            snapshot,
            source: Source::Files,
            observed_at: self.observed_at.or(self.newest),
            is_time_guessed: self.observed_at.is_none(),
            version: self.version.or_else(|| version_of(&self.found)),
            known: self.present,
            resource_versions: self.resource_versions,
            warnings: self.warnings,
        };
        Ok((reading, written))
    }
}

/// The kind called `kind`, if objects at the version of `type_meta` are read.
fn read_kind(kind: &str, type_meta: &TypeMeta) -> Option<Kind> {
    let mut versions = crate::wire::VERSIONS.iter();
    let version = versions.find(|version| {
        version.kind.as_str() == kind && version.api_version == type_meta.api_version
    });
    version.map(|version| version.kind)
}

/// True if there has to be a pod: claims are reserved for existing pods only, apart from the
/// moment when one goes.
fn are_reserved_for_pods(claims: &[ResourceClaim]) -> bool {
    let mut consumers = claims.iter().flat_map(|claim| &claim.reserved_for);
    consumers.any(|consumer| &*consumer.resource == Kind::Pod.plural())
}

/// Says that files of a directory were not used.
fn left_out_warning(first: &str, count: usize) -> Warning {
    Warning {
        code: "no-manifest",
        message: format!("ignored files without Kubernetes objects: {count} (first: {first})"),
        fix: None,
    }
}

/// Objects that were found, such as "only 2 × Node, 1 × Secret".
fn in_words(found: &BTreeMap<TypeMeta, usize>) -> String {
    if found.is_empty() {
        return "no objects".to_owned();
    }
    let kinds: Vec<_> = found
        .iter()
        .map(|(type_meta, count)| format!("{count} × {}", type_meta.kind.escape_debug()))
        .collect();
    format!("only {}", kinds.join(", "))
}

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
            let documents = Documents::only(Kind::DeviceTaintRule);
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
        return Err(no_rule(&named(sources)));
    }
    Ok(manifests)
}

/// The policies of YAML files: documents of kind `TaintPolicy`.
///
/// # Errors
///
/// If a file cannot be read, or holds nothing or something else; a wrong field is named.
pub fn read_policies<T: DeserializeOwned>(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Vec<T>, InputError> {
    let mut policies = Vec::new();
    for source in sources {
        let file = source.name();
        let unusable = |problem: String| InputError::unusable(format!("{file}: {problem}"));
        let Content::Text(text) = content(source, stdin, limits)? else {
            return Err(unusable("it is too long".to_owned()));
        };
        let documents = serde_yaml::from_multiple::<Value>(&text).map_err(|error| {
            let error = error.to_string();
            let line = error.lines().next().unwrap_or_default();
            unusable(line.trim_start_matches("error: ").to_owned())
        })?;
        for document in documents {
            if document["kind"] != "TaintPolicy" {
                let kind = document["kind"]
                    .as_str()
                    .unwrap_or("a document without kind");
                return Err(unusable(format!(
                    "{} is no TaintPolicy",
                    kind.escape_debug()
                )));
            }
            let policy = serde_path_to_error::deserialize(document);
            policies.push(policy.map_err(|error| unusable(error.to_string()))?);
        }
    }
    match policies.is_empty() {
        true => Err(InputError::unusable(format!(
            "no TaintPolicy in {}",
            named(sources)
        ))),
        false => Ok(policies),
    }
}

fn without_rules(error: InputError) -> InputError {
    if let InputError::EmptyDirectory(directory) = error {
        return no_rule(&directory);
    }
    error
}

fn no_rule(files: &str) -> InputError {
    InputError::unusable(format!("no DeviceTaintRule in {files}"))
}

fn check(rule: &DeviceTaintRule, written: &Value, file: &FileSource) -> Result<(), InputError> {
    let wrong = |field: &str, problem: String| {
        let field = field.trim_start_matches('/').replace('/', ".");
        let (file, rule) = (file.name(), &rule.name);
        let message = format!("{file}: DeviceTaintRule {rule}: {field}: {problem}");
        Err(InputError::unusable(message))
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
