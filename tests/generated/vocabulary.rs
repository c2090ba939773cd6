//! One vocabulary in all reports: what a field is called, what it can be, and where it is found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kubectl_devicetaint::report::metadata::API_VERSION;
use kubectl_devicetaint::report::schema;
use serde_json::Value;

use super::fields::description;

/// Words of the API and of this program for numbers that are no counts of ours.
const NUMBERS: [&str; 12] = [
    "atLeast",
    "atMost",
    "count",
    "currentHealthy",
    "desiredHealthy",
    "disruptionsAllowed",
    "exitCode",
    "expectedPods",
    "generation",
    "observedGeneration",
    "priority",
    "replicas",
];

/// Enumerations that differ from object to object, as in the Kubernetes API.
const OPEN: [&str; 2] = ["reason", "type"];

/// Names that say nothing to a reader of the Kubernetes API.
const BANNED: [&str; 17] = [
    "about", "alone", "answer", "at", "because", "beside", "blame", "code", "dialect", "holds",
    "left", "since", "suitor", "text", "together", "whole", "why",
];

/// A field in one of the schemas.
pub struct Found {
    /// The report in which it is.
    pub report: String,
    /// The object in which it is, within the report.
    pub object: String,
    /// What it is called.
    pub name: String,
    /// What it is, as the schema has it.
    pub field: Value,
    /// The schema.
    schema: Value,
}

impl Found {
    /// What it can be, aside from null; enumerations are words.
    fn kind(&self) -> String {
        kind(&self.field, &self.schema)
    }

    /// The words that it can be, where these are listed.
    fn words(&self) -> Option<BTreeSet<String>> {
        let field = match &self.field["anyOf"] {
            Value::Array(choices) => &choices[0],
            _ => &self.field,
        };
        let field = if field["type"] == "array" {
            &field["items"]
        } else {
            field
        };
        let words = values(definition(field, &self.schema)?)?;
        Some(words.map(str::to_owned).collect())
    }
}

/// The definition that a field refers to.
fn definition<'a>(field: &Value, schema: &'a Value) -> Option<&'a Value> {
    let name = field["$ref"].as_str()?.rsplit('/').next()?;
    schema["$defs"].get(name)
}

/// The values of an enumeration.
fn values(definition: &Value) -> Option<impl Iterator<Item = &str>> {
    let values = definition["oneOf"].as_array()?;
    let all: Option<Vec<&str>> = values.iter().map(|value| value["const"].as_str()).collect();
    Some(all?.into_iter())
}

fn kind(field: &Value, schema: &Value) -> String {
    if let Some(choices) = field["anyOf"].as_array() {
        let kinds = choices.iter().filter(|choice| choice["type"] != "null");
        return kinds
            .map(|choice| kind(choice, schema))
            .collect::<Vec<_>>()
            .join(" or ");
    }
    if let Some(reference) = field["$ref"].as_str() {
        let is_words = definition(field, schema).is_some_and(|it| values(it).is_some());
        let name = reference.rsplit('/').next().unwrap_or_default();
        return if is_words { "string" } else { name }.to_owned();
    }
    let names = match &field["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return "anything".to_owned(),
    };
    let names = names.into_iter().filter(|name| *name != "null");
    let kinds = names.map(|name| match name {
        "array" => format!("list of {}", kind(&field["items"], schema)),
        "object" => format!("object of {}", kind(&field["additionalProperties"], schema)),
        name => name.to_owned(),
    });
    kinds.collect::<Vec<_>>().join(" or ")
}

/// Every field of every object of a schema.
fn of_schema(schema: &Value) -> Vec<Found> {
    let report = schema["title"].as_str().unwrap_or_default();
    let parts = schema["$defs"].as_object().into_iter().flatten();
    let parts = parts.map(|(name, part)| (name.as_str(), part));
    let variants = schema["oneOf"].as_array().into_iter().flatten();
    let objects = [(report, schema)]
        .into_iter()
        .chain(variants.map(|variant| (report, variant)))
        .chain(parts);
    let fields = objects.flat_map(|(object, part)| {
        let fields = part["properties"].as_object().into_iter().flatten();
        fields.map(move |(name, field)| Found {
            report: report.to_owned(),
            object: object.to_owned(),
            name: name.clone(),
            field: field.clone(),
            schema: schema.clone(),
        })
    });
    fields.collect()
}

/// Every field of the schemas by its name.
pub fn by_name(schemas: &[Value]) -> BTreeMap<String, Vec<Found>> {
    let mut names: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for found in schemas.iter().flat_map(of_schema) {
        names.entry(found.name.clone()).or_default().push(found);
    }
    names
}

fn reports() -> Vec<Value> {
    schema::files()
        .into_iter()
        .map(|(_, schema)| schema.to_value())
        .collect()
}

fn with_inputs() -> Vec<Value> {
    let inputs = schema::inputs().into_iter();
    let inputs = inputs.map(|(_, schema)| schema.to_value());
    reports().into_iter().chain(inputs).collect()
}

/// Whether a word begins with a letter of that case, and has nothing but letters and digits.
fn is_written(word: &str, is_first: fn(&char) -> bool) -> bool {
    let mut letters = word.chars();
    letters.next().as_ref().is_some_and(is_first) && letters.all(|it| it.is_ascii_alphanumeric())
}

/// What is wrong with `names`, by the field.
fn wrong(
    names: &BTreeMap<String, Vec<Found>>,
    what: impl Fn(&str, &[Found]) -> Option<String>,
) -> Vec<String> {
    let wrong = names.iter().filter_map(|(name, found)| {
        let what = what(name, found)?;
        Some(format!("{name}: {what}"))
    });
    wrong.collect()
}

#[test]
fn a_field_has_one_type_in_all_reports() {
    let mut names = by_name(&with_inputs());
    // What a list holds is what it is a list of.
    names.remove("items");
    let wrong = wrong(&names, |_, found| {
        let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for one in found {
            let place = format!("{}.{}", one.report, one.object);
            kinds.entry(one.kind()).or_default().insert(place);
        }
        (kinds.len() > 1).then(|| format!("{kinds:#?}"))
    });
    assert_eq!(wrong, [""; 0]);
}

/// One may have words that another does not: an outcome of an explanation may be none of a preview.
#[test]
fn a_field_has_the_same_words_in_all_reports() {
    let wrong = wrong(&by_name(&with_inputs()), |name, found| {
        let words: Vec<BTreeSet<String>> = found.iter().filter_map(Found::words).collect();
        let most = words.iter().max_by_key(|words| words.len())?;
        let others = words.iter().filter(|words| !words.is_subset(most));
        let others: Vec<_> = others.collect();
        (!others.is_empty() && !OPEN.contains(&name)).then(|| format!("{most:?} and {others:?}"))
    });
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn fields_and_words_are_written_as_in_the_kubernetes_api() {
    let wrong_fields = wrong(&by_name(&with_inputs()), |name, _| {
        let is_well = is_written(name, char::is_ascii_lowercase) && !BANNED.contains(&name);
        (!is_well).then(|| "no name of a field".to_owned())
    });
    assert_eq!(wrong_fields, [""; 0]);
    for schema in with_inputs() {
        let definitions = schema["$defs"].as_object().into_iter().flatten();
        let words = definitions.filter_map(|(_, definition)| values(definition));
        let variants = schema["oneOf"].as_array().into_iter().flatten();
        let types = variants.filter_map(|variant| variant["properties"]["type"]["const"].as_str());
        for word in words.flatten().chain(types) {
            assert!(is_written(word, char::is_ascii_uppercase), "{word}");
        }
    }
}

#[test]
fn times_and_counts_are_told_by_their_names() {
    let wrong = wrong(&by_name(&with_inputs()), |name, found| {
        let kind = found[0].kind();
        let is_time = name.ends_with("Time") || name == "timeAdded";
        let is_number = name.ends_with("Count")
            || name.ends_with("Seconds")
            || name.starts_with("readyReplicas")
            || NUMBERS.contains(&name);
        let is_integer = kind == "integer" || kind == "list of integer";
        (is_time != (kind == "Time") || is_number != is_integer).then_some(kind)
    });
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_document_says_where_it_is_from_and_lists_are_called_so() {
    for schema in reports() {
        let title = schema["title"].as_str().expect("a title");
        let required = schema["required"].as_array().expect("fields");
        for field in ["apiVersion", "kind", "metadata"] {
            assert!(required.contains(&field.into()), "{title}: {field}");
        }
        let fields = &schema["properties"];
        assert_eq!(fields["apiVersion"]["const"], API_VERSION, "{title}");
        assert_eq!(fields["kind"]["const"], title);
        assert_eq!(fields["metadata"]["$ref"], "#/$defs/Metadata", "{title}");
        let metadata = schema["$defs"]["Metadata"]["required"].as_array();
        let metadata = metadata.expect("fields of metadata");
        for field in ["context", "server", "serverVersion"] {
            assert!(metadata.contains(&field.into()), "{title}: {field}");
        }
        let is_list = fields["items"]["type"] == "array";
        assert_eq!(title.ends_with("List"), is_list, "{title}");
    }
    for schema in schema::inputs().map(|(_, schema)| schema.to_value()) {
        assert_eq!(schema["properties"]["apiVersion"]["const"], API_VERSION);
    }
}

/// Tests may spell it out, as whoever reads the documents would.
#[test]
fn the_group_is_said_in_one_place() {
    let (group, _) = API_VERSION.split_once('/').expect("a group");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut said = Vec::new();
    let mut folders = vec![source];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let lines = lines.filter(|line| line.contains(group));
            let is_test = path.components().any(|part| {
                let name = part.as_os_str().to_string_lossy();
                name == "tests" || name == "tests.rs" || name == "live_tests"
            });
            if !is_test {
                said.extend(lines.map(|line| format!("{}: {line}", path.display())));
            }
        }
    }
    assert_eq!(said.len(), 1, "{said:#?}");
}

/// What fields mean that are in more than one object, where the objects say it in words of their own.
const SHARED: [(&str, &str); 80] = [
    (
        "adminAccess",
        "Whether a device is used with admin access; for a claim or claim template that tolerates a taint, whether all its requests that tolerate it have admin access.",
    ),
    (
        "allocationCount",
        "Number of allocation results that name the device or, in an ImpactReport and a RuleDescription, a selected device. A device can have several: one for each share, and one for each request with admin access.",
    ),
    (
        "apiVersion",
        "Version of the schema of the report; in `reports` and `resources` of a VersionReport, the version of that report or resource.",
    ),
    ("atLeast", "Lower bound of a count."),
    ("atMost", "Upper bound of a count."),
    (
        "availableDeviceCount",
        "Devices that claims without tolerations could still get with the proposed taints or, in `requests`, devices that the request could get.",
    ),
    (
        "bounds",
        "Lower and upper bounds of the counts of this object that are not exact; absent if all are exact.",
    ),
    (
        "changed",
        "Whether something was changed, or would have been without the dry run; null if unknown.",
    ),
    (
        "changedBy",
        "User that last changed a rule; in a DrainList, the user or program.",
    ),
    ("claim", "A claim, by namespace, name and UID."),
    ("claims", "Claims that hold devices."),
    ("condition", "The condition EvictionInProgress of a rule."),
    ("context", "Name of the kubeconfig context."),
    ("createdBy", "User that created a rule, or started a drain."),
    ("defect", "Name of a known defect of Kubernetes."),
    (
        "device",
        "The device, as DRIVER/POOL/DEVICE; in a selector the name alone, as in the API.",
    ),
    ("deviceClassName", "Name of the DeviceClass."),
    ("deviceCount", "Number of devices."),
    ("devices", "Devices, as DRIVER/POOL/DEVICE."),
    ("driver", "Name of the driver."),
    (
        "digest",
        "`sha256:` and a hash of parts of the report. In the section of each kind, the table lists these parts.",
    ),
    (
        "effect",
        "The effect of a taint or a toleration, as in the API.",
    ),
    (
        "error",
        "Why a command or a change failed, or why there is no report of a cluster, as text; null if there is no error.",
    ),
    (
        "evictedPodCount",
        "Pods that are or would be evicted, now or later.",
    ),
    (
        "evictionTime",
        "When a pod is or was evicted; a time in the past means at once, for a pod that is not evicted yet.",
    ),
    ("expression", "A guard or a CEL expression, as written."),
    (
        "fieldRef",
        "The object and the field to which the entry refers.",
    ),
    ("fix", "Suggested fix; null if there is none."),
    ("for", "Condition of the wait, as in `--for`."),
    ("guardResults", "The guards, and whether each tripped."),
    ("incomplete", "Data that could not be read or evaluated."),
    ("items", "Elements of the list."),
    ("key", "The key of a taint or a toleration, as in the API."),
    ("kind", "The kind of a document or of an object."),
    ("message", "Text for people; it may change."),
    ("messages", "Several texts for people."),
    ("metadata", "The cluster, and the data that was read."),
    ("missing", "Data that could not be read or evaluated."),
    ("name", "The name of an object."),
    ("namespace", "The namespace of an object."),
    (
        "namespaceCount",
        "Namespaces of the pods that would be evicted.",
    ),
    ("node", "Name of the node."),
    (
        "notEvictedPodCount",
        "Pods that use a device of the rules and are not evicted, except for terminating pods. In `summary`, pods that tolerate the taint are counted separately; in `ruleSummaries`, they are included.",
    ),
    (
        "notEvictedPods",
        "Pods that use the devices of rules and are not evicted.",
    ),
    (
        "outcome",
        "Outcome of a pod: EvictedNow, EvictedLater and so on.",
    ),
    ("owner", "The controller of pods; null for a bare pod."),
    (
        "partitionPodCount",
        "Pods that use the hardware of the rule's devices through other devices, such as partitions; null if unknown.",
    ),
    ("pluginDevices", "Devices of device plugins."),
    ("pod", "A pod, by namespace, name and UID."),
    ("pods", "Pods for which claims are reserved."),
    ("policy", "The file of a policy given with --policy."),
    ("published", "Whether a driver publishes devices now."),
    (
        "publishedDeviceCount",
        "Devices that a rule selects in the newest generation of each pool.",
    ),
    (
        "reason",
        "A code for the cause; in `annotations` and in the items of a DrainList, the text given with `--reason`. Stable, except for the codes of Kubernetes in conditions, events and failed Jobs.",
    ),
    (
        "request",
        "A request of a claim, as REQUEST or REQUEST/SUBREQUEST.",
    ),
    ("rule", "Name of the rule, a DeviceTaintRule."),
    ("rules", "Names of the rules, which are DeviceTaintRules."),
    (
        "selectedDevices",
        "Every device that a proposed taint selects, published or allocated; in a PlanReport, the devices of the chosen set. Ordered by name.",
    ),
    ("selector", "Which devices a rule selects."),
    (
        "semantics",
        "The Kubernetes version whose behavior the plugin assumes.",
    ),
    ("server", "The server, as its URL."),
    (
        "severity",
        "Severity of a hazard; for a pod, that of its worst known hazard.",
    ),
    (
        "shares",
        "What a device has in common with another device, as text: a hardware ID, or a PCIe root or NVLink domain.",
    ),
    (
        "sinceTime",
        "Time since which the pod waits for devices, or since which something keeps a wait from ending; null if unknown.",
    ),
    (
        "steps",
        "Steps of an explanation, each with the steps that follow from it.",
    ),
    ("taint", "A taint, and what sets it."),
    ("taints", "Taints, and what sets each."),
    (
        "terminatingPodCount",
        "Pods that use a selected device and are already terminating.",
    ),
    (
        "ticket",
        "Ticket or discussion link given with --ticket; null if not recorded.",
    ),
    ("type", "Type of an event, a step or a change."),
    (
        "uid",
        "UID of the object, which differs from that of a later object of the same name; null if unknown.",
    ),
    (
        "unit",
        "The unit: a node, a device as DRIVER/POOL/DEVICE or, in a drain, a pool as DRIVER/POOL.",
    ),
    ("unknown", "What is unknown, and why, as text."),
    (
        "untilTime",
        "Time at which the toleration or the grace period of a pod ends; null if there is none.",
    ),
    (
        "value",
        "The value of a taint or a toleration, as in the API.",
    ),
    ("verdict", "Outcome of a pod, and why."),
    (
        "version",
        "Version of the server, the plugin or a Kubernetes release.",
    ),
    ("wait", "Result of a wait."),
    ("warnings", "Warnings that do not prevent the report."),
    (
        "workload",
        "For an affected pod, the object at the top of the pod's owner chain, such as a Deployment; in the history of a rule, the controller of the pod, such as a ReplicaSet. Null for a bare pod, or if unknown.",
    ),
];

/// The first sentence of a meaning; the table of the type has all of it.
fn first_sentence(meaning: &str) -> &str {
    match meaning.find(". ") {
        Some(end) => &meaning[..=end],
        None => meaning,
    }
}

/// Every field: what it is, what it means, and in which reports it is.
pub fn table(schemas: &[Value]) -> String {
    let names = by_name(schemas);
    let rows = names.iter().map(|(name, found)| {
        let meanings: BTreeSet<String> = found.iter().map(|one| description(&one.field)).collect();
        let shared = SHARED.iter().find(|(shared, _)| shared == name);
        let meaning = match shared {
            Some((_, meaning)) => (*meaning).to_owned(),
            None => {
                assert_eq!(meanings.len(), 1, "{name} needs a meaning: {meanings:#?}");
                meanings.into_iter().collect()
            }
        };
        let reports: BTreeSet<&str> = found.iter().map(|one| one.report.as_str()).collect();
        let reports: Vec<&str> = reports.into_iter().collect();
        let reports = if reports.len() == schemas.len() {
            "all".to_owned()
        } else {
            reports.join(", ")
        };
        let kind = match name.as_str() {
            "items" => "list".to_owned(),
            _ => found[0].kind(),
        };
        format!(
            "| `{name}` | {kind}: {} | {reports} |\n",
            first_sentence(&meaning)
        )
    });
    format!(
        "| field | type and meaning | reports |\n|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

/// Whether all meanings are of fields that are there.
#[test]
fn no_meaning_is_of_a_field_that_is_gone() {
    let names = by_name(&reports());
    let gone = SHARED.iter().filter(|(name, _)| !names.contains_key(*name));
    assert_eq!(gone.count(), 0);
}
