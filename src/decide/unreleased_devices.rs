//! Notes on rules about devices that were not seen to be released.
//!
//! A wait that sees a pod deleted by force, or gone from being stuck, is the only one that has: the API forgets pod and
//! claim at once, and says that the device is free. So the wait notes it on the rule, and every look at the rule or the device says it, until
//! the rule is gone.
//!
//! Nothing else in the API marks it. With the pod its conditions are gone; of its events, the controller's is that of
//! any eviction, and the kubelet's (`Killing`) that of any end; the kubelet reports a device that cannot be prepared
//! (`FailedPrepareDynamicResources`), and none that is not given back (seen with 1.37.0).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::in_use_elsewhere::selected_by;
use super::record_reader::RecordReader;
use crate::engine::Semantics;
use crate::engine::forced_deletions::{PodEnd, UnreleasedPod};
use crate::engine::hardware::Hardware;
use crate::engine::unreleased_devices::may_select;
use crate::model::{DeviceId, DeviceTaintRule, NodeName, RuleMetadata, Snapshot, Warning};
use crate::naming::phrase::few;

/// A device that a pod held which is gone, and that its node was not seen to release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotedRelease {
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// The pod's UID; absent in records of earlier versions.
    pub uid: Option<String>,
    /// Where the pod was.
    pub node: Option<String>,
    /// When that was seen, as RFC 3339.
    pub seen: String,
    /// How the pod went.
    pub end: PodEnd,
}

/// What a record says of a pod whose end was not observed; it says nothing of one that was deleted by force.
const NOT_OBSERVED: &str = "NotObserved";

impl NotedRelease {
    fn parse(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self {
            device: text("device")?,
            pod: text("pod")?,
            uid: text("uid"),
            node: text("node"),
            seen: text("seen")?,
            end: match value["end"].as_str() {
                None => PodEnd::ForceDeleted,
                // What a later version may record here is no observation of this one.
                Some(_) => PodEnd::NotObserved,
            },
        })
    }

    fn value(&self) -> Value {
        let mut value = json!({
            "device": self.device, "pod": self.pod, "node": self.node, "seen": self.seen,
        });
        match self.end {
            PodEnd::ForceDeleted => {}
            PodEnd::NotObserved => value["end"] = NOT_OBSERVED.into(),
        }
        if let Some(uid) = &self.uid {
            value["uid"] = uid.as_str().into();
        }
        value
    }

    /// Whether it is about a pod whose end had not been observed, and that `has_ended` accepts by its UID.
    #[must_use]
    pub fn is_ended(&self, has_ended: impl Fn(&str) -> bool) -> bool {
        self.end == PodEnd::NotObserved && self.uid.as_deref().is_some_and(has_ended)
    }

    /// What happened, as the record of these rules.
    fn line(&self, rules: &[&str]) -> String {
        let records = vec![self.clone()];
        let rules = rules.to_vec();
        DeviceRecords { records, rules }.line(RecordReader::Api)
    }

    /// Whether the other record is about the same device and node, and a pod that went like this one.
    fn is_like(&self, other: &Self) -> bool {
        (&self.device, &self.node, self.end) == (&other.device, &other.node, other.end)
    }

    fn seen_to_the_second(&self) -> String {
        let seen: Option<Timestamp> = self.seen.parse().ok();
        let seen = seen.and_then(|seen| Timestamp::from_second(seen.as_second()).ok());
        seen.map_or_else(|| self.seen.clone(), |seen| seen.to_string())
    }
}

/// What is recorded of one device on one node, of all pods that went alike.
struct DeviceRecords<'a> {
    /// Each pod once, as it was recorded first.
    records: Vec<NotedRelease>,
    /// The rules that record one of them.
    rules: Vec<&'a str>,
}

impl<'a> DeviceRecords<'a> {
    fn new(one: NotedRelease, rule: &'a str) -> Self {
        Self {
            records: vec![one],
            rules: vec![rule],
        }
    }

    /// Whether a record is about the same device and node, and a pod that went like these.
    fn takes(&self, one: &NotedRelease) -> bool {
        self.records.iter().any(|known| known.is_like(one))
    }

    fn add(&mut self, one: NotedRelease, rule: &'a str) {
        // Rules for the partitions of a card all record the same pod, whenever each was made.
        if !self.records.iter().any(|known| known.pod == one.pod) {
            self.records.push(one);
        }
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    fn node(&self) -> Option<&str> {
        self.records.first().and_then(|one| one.node.as_deref())
    }

    /// What happened to the pods, how many these are, and which rules record it. Only a `reader` that asks no kubelet says
    /// that the release is still not confirmed.
    fn line(&self, reader: RecordReader<'_>) -> String {
        const NAMED: usize = 2;
        let Some(first) = self.records.first() else {
            return String::new();
        };
        let place = self.node().unwrap_or("its node");
        let rules = match self.rules[..] {
            [one] => format!("rule {one}"),
            _ => format!("rules {}", self.rules.join(", ")),
        };
        let pods: Vec<&str> = self.records.iter().map(|one| one.pod.as_str()).collect();
        let pods = match pods[..] {
            [one] => format!("pod {one} {}", how_it_went(first.end)),
            [one, other] => format!("2 pods {} ({one} and {other})", how_they_went(first.end)),
            _ => format!(
                "{} pods {} ({} and {} more)",
                pods.len(),
                how_they_went(first.end),
                pods[..NAMED].join(", "),
                pods.len().saturating_sub(NAMED)
            ),
        };
        let times: BTreeSet<String> = self
            .records
            .iter()
            .map(NotedRelease::seen_to_the_second)
            .collect();
        let since = match (times.first(), times.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (Some(only), _) => only.clone(),
            (None, _) => first.seen.clone(),
        };
        let device = &first.device;
        match reader {
            RecordReader::Api => format!(
                "device {device}: {pods}, and {place} has not confirmed the release (this was recorded on {rules} \
                 at {since})"
            ),
            RecordReader::Kubelet(_) => format!(
                "device {device}: {pods}; when this was recorded on {rules} at {since}, {place} had not confirmed the \
                 release"
            ),
        }
    }
}

/// What the rule notes; nothing where it notes nothing, or what is not understood.
#[must_use]
pub fn noted(rule: &DeviceTaintRule) -> Vec<NotedRelease> {
    let text = rule.metadata.annotation(RuleMetadata::NOT_RELEASED);
    let list: Option<Vec<Value>> = text.and_then(|text| serde_json::from_str(text).ok());
    let list = list.unwrap_or_default();
    list.iter().filter_map(NotedRelease::parse).collect()
}

/// Other rules than `rules` that record an unreleased device of the same hardware as the devices of `rules`, such as
/// those of its partitions, with these records alone. Counters have to be read to find partitions.
#[must_use]
pub fn on_same_hardware(
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Vec<DeviceTaintRule> {
    let own: Vec<&DeviceTaintRule> = rules.iter().collect();
    let others = others_recording(&own, &snapshot.rules, |_| true);
    // Such records are rare, and without one the hardware need not be looked up.
    if others.is_empty() {
        return others;
    }
    let (_, selected) = selected_by(rules, snapshot, semantics);
    let hardware: BTreeSet<String> = Hardware::of(&snapshot.slices)
        .closure(&selected)
        .iter()
        .map(ToString::to_string)
        .collect();
    others_recording(&own, &others, |one| hardware.contains(&one.device))
}

/// Those of `all` rules that are none of `rules`, with the records alone that `is_meant` accepts; not those without any.
fn others_recording(
    rules: &[&DeviceTaintRule],
    all: &[DeviceTaintRule],
    is_meant: impl Fn(&NotedRelease) -> bool,
) -> Vec<DeviceTaintRule> {
    let others = all
        .iter()
        .filter(|rule| rules.iter().all(|own| own.name != rule.name));
    let recording = others.filter_map(|rule| {
        let mut meant = noted(rule);
        meant.retain(&is_meant);
        if meant.is_empty() {
            return None;
        }
        let meant: Vec<Value> = meant.iter().map(NotedRelease::value).collect();
        let key = RuleMetadata::NOT_RELEASED.to_owned();
        let mut rule = rule.clone();
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(key, Value::from(meant).to_string());
        Some(rule)
    });
    recording.collect()
}

/// The merge patch that takes those records of devices on `node` off `rule` that `verified`, the same rule as it was before,
/// has too: the kubelet has released these; nothing where there is none.
#[must_use]
pub fn released_of(
    rule: &DeviceTaintRule,
    node: &str,
    verified: &DeviceTaintRule,
) -> Option<Value> {
    let verified = noted(verified);
    without(rule, |one| {
        one.node.as_deref() == Some(node) && verified.contains(one)
    })
}

/// What a rule notes of a device that was not seen to be released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRelease<'a> {
    /// The rules that note it, such as those of a card and its partitions.
    pub rules: Vec<&'a str>,
    /// What they note.
    pub noted: NotedRelease,
}

impl RecordedRelease<'_> {
    /// It in words.
    #[must_use]
    pub fn line(&self) -> String {
        self.noted.line(&self.rules)
    }
}

/// What became of a pod that is gone, behind its name.
#[must_use]
pub fn how_it_went(end: PodEnd) -> &'static str {
    match end {
        PodEnd::ForceDeleted => "was force-deleted before it ended",
        PodEnd::NotObserved => "was stuck in Terminating when it was last seen",
    }
}

/// As [`how_it_went`], of several pods.
fn how_they_went(end: PodEnd) -> &'static str {
    match end {
        PodEnd::ForceDeleted => "were force-deleted before they ended",
        PodEnd::NotObserved => "were stuck in Terminating when they were last seen",
    }
}

/// What a wait for `rules` still has to wait for although the API shows nothing: devices that an earlier wait noted as
/// not seen to be released.
#[must_use]
pub fn left(rules: &[DeviceTaintRule]) -> Vec<RecordedRelease<'_>> {
    let mut recorded: Vec<RecordedRelease<'_>> = Vec::new();
    for rule in rules {
        let name = rule.name.as_str();
        for noted in noted(rule) {
            let is_it = |known: &&mut RecordedRelease<'_>| {
                known.noted.pod == noted.pod && known.noted.is_like(&noted)
            };
            match recorded.iter_mut().find(is_it) {
                Some(known) if known.rules.contains(&name) => {}
                Some(known) => known.rules.push(name),
                None => recorded.push(RecordedRelease {
                    rules: vec![name],
                    noted,
                }),
            }
        }
    }
    recorded
}

/// The merge patch that notes on `rule` what was seen at `now` of those of its devices that `pods` held; nothing where
/// it selects none of them nor of their `hardware`, or notes all of it.
#[must_use]
pub fn note(
    rule: &DeviceTaintRule,
    pods: &[UnreleasedPod],
    hardware: &Hardware,
    now: Timestamp,
) -> Option<Value> {
    let seen = pods.iter().flat_map(|pod| {
        pod.devices.iter().map(|device| NotedRelease {
            device: device.to_string(),
            pod: pod.pod.to_string(),
            uid: Some(pod.uid.to_string()),
            node: pod.node.as_ref().map(ToString::to_string),
            seen: now.to_string(),
            end: pod.end,
        })
    });
    with_more(rule, seen, hardware)
}

/// What rules record as not released on the hardware of `devices`, one warning for each device.
#[must_use]
pub fn of_hardware<'a>(
    devices: impl IntoIterator<Item = &'a DeviceId>,
    snapshot: &Snapshot,
) -> Vec<Warning> {
    // Such records are rare, and without one the hardware need not be looked up.
    if snapshot.rules.iter().all(|rule| noted(rule).is_empty()) {
        return Vec::new();
    }
    let hardware = Hardware::of(&snapshot.slices).closure(devices);
    let hardware: Vec<DeviceId> = hardware.into_iter().collect();
    warnings(&snapshot.rules, Some(&hardware), RecordReader::Api)
}

/// The devices that `removed` rules record and that no rule records that stays: none of these selects the `hardware`.
#[must_use]
pub fn forgotten(
    removed: &[DeviceTaintRule],
    staying: &[DeviceTaintRule],
    hardware: &Hardware,
) -> Vec<String> {
    let devices: BTreeSet<String> = removed
        .iter()
        .flat_map(noted)
        .map(|one| one.device)
        .collect();
    let is_kept = |name: &String| {
        staying.iter().any(|rule| {
            let mut known = noted(rule).into_iter();
            known.any(|one| one.device == *name)
                || DeviceId::parse(name).is_some_and(|device| is_on(rule, &device, hardware))
        })
    };
    let devices = devices.into_iter();
    devices.filter(|name| !is_kept(name)).collect()
}

/// That rules were removed that had the last record of these devices, or would be, where the removal is only tried.
#[must_use]
pub fn forgotten_line(devices: &[String], is_stored: bool) -> String {
    let records = if is_stored { "records" } else { "would record" };
    format!(
        "no rule {records} any more that the release of {} was not confirmed",
        few(devices)
    )
}

/// The merge patch that adds to `rule` what the `removed` rules record of its devices: nothing else in the API has it.
/// Nothing where it records all of that, or selects none of these devices nor of their `hardware`.
#[must_use]
pub fn carried_over(
    rule: &DeviceTaintRule,
    removed: &[DeviceTaintRule],
    hardware: &Hardware,
) -> Option<Value> {
    with_more(rule, removed.iter().flat_map(noted), hardware)
}

/// The merge patch that adds to what `rule` records those of `more` that are of its devices; nothing where it records them
/// all.
fn with_more(
    rule: &DeviceTaintRule,
    more: impl Iterator<Item = NotedRelease>,
    hardware: &Hardware,
) -> Option<Value> {
    let mut all = noted(rule);
    let before = all.len();
    for one in more {
        let device = DeviceId::parse(&one.device);
        let is_known = all
            .iter()
            .any(|known| known.device == one.device && known.pod == one.pod);
        if !is_known && device.is_some_and(|device| is_on(rule, &device, hardware)) {
            all.push(one);
        }
    }
    if all.len() == before {
        return None;
    }
    all.sort();
    let text = Value::from_iter(all.iter().map(NotedRelease::value)).to_string();
    Some(json!({"metadata": {"annotations": {RuleMetadata::NOT_RELEASED: text}}}))
}

/// Whether the rule may select the device, by any name: a device by another name, or a part of it, is held just the same.
fn is_on(rule: &DeviceTaintRule, device: &DeviceId, hardware: &Hardware) -> bool {
    let mut aliases = hardware.aliases(device).into_iter();
    may_select(rule, device) || aliases.any(|alias| may_select(rule, &alias.device))
}

/// The merge patch that takes the records of devices on `node` off `rule`, whose kubelet has released them; nothing
/// where there is none.
#[must_use]
pub fn released(rule: &DeviceTaintRule, node: &str) -> Option<Value> {
    // A record without a node stays: the kubelet of this one cannot speak for it.
    without(rule, |one| one.node.as_deref() == Some(node))
}

/// The merge patch that takes the records of pods off `rule` that were stuck, and that their kubelet was seen to end since:
/// `has_ended` accepts their UIDs; nothing where there is none.
#[must_use]
pub fn ended(rule: &DeviceTaintRule, has_ended: impl Fn(&str) -> bool) -> Option<Value> {
    without(rule, |one| one.is_ended(&has_ended))
}

/// The names of the rules with such records.
#[must_use]
pub fn with_ended(rules: &[DeviceTaintRule], has_ended: impl Fn(&str) -> bool) -> Vec<String> {
    let recording = rules
        .iter()
        .filter(|rule| ended(rule, &has_ended).is_some());
    recording.map(|rule| rule.name.to_string()).collect()
}

/// The devices on `node` that `rules` record.
#[must_use]
pub fn recorded_on(rules: &[DeviceTaintRule], node: &NodeName) -> Vec<DeviceId> {
    let all = rules.iter().flat_map(noted);
    let here = all.filter(|one| one.node.as_deref() == Some(node.as_str()));
    here.filter_map(|one| DeviceId::parse(&one.device))
        .collect()
}

/// The devices that the rules of `snapshot` record, and all that is the same hardware, each with the recorded ones of its
/// hardware.
#[must_use]
pub fn recorded_by_hardware(snapshot: &Snapshot) -> BTreeMap<DeviceId, BTreeSet<DeviceId>> {
    let all = snapshot.rules.iter().flat_map(noted);
    let devices: BTreeSet<DeviceId> = all.filter_map(|one| DeviceId::parse(&one.device)).collect();
    let mut recorded: BTreeMap<DeviceId, BTreeSet<DeviceId>> = BTreeMap::new();
    // Such records are rare, and without one the hardware need not be looked up.
    if devices.is_empty() {
        return recorded;
    }
    let hardware = Hardware::of(&snapshot.slices);
    for device in devices {
        for name in hardware.closure(std::iter::once(&device)) {
            recorded.entry(name).or_default().insert(device.clone());
        }
    }
    recorded
}

/// The devices that the rules of `snapshot` record, and all that is the same hardware.
#[must_use]
pub fn recorded(snapshot: &Snapshot) -> BTreeSet<DeviceId> {
    recorded_by_hardware(snapshot).into_keys().collect()
}

/// The merge patch that takes the records off `rule` that `is_over` accepts; nothing where there is none.
fn without(rule: &DeviceTaintRule, is_over: impl Fn(&NotedRelease) -> bool) -> Option<Value> {
    let all = noted(rule);
    let left: Vec<Value> = all
        .iter()
        .filter(|one| !is_over(one))
        .map(NotedRelease::value)
        .collect();
    if left.len() == all.len() {
        return None;
    }
    // Null takes the annotation away, which an empty list would leave.
    let text = (!left.is_empty()).then(|| Value::from(left).to_string());
    Some(json!({"metadata": {"annotations": {RuleMetadata::NOT_RELEASED: text}}}))
}

/// The command that asks the kubelet of the node what it still holds.
#[must_use]
pub fn check_on(node: Option<&str>) -> String {
    format!(
        "kubectl devicetaint podresources check --node {}",
        node.unwrap_or("NODE")
    )
}

/// Those of `all` rules that are none of `rules`, and that record an unreleased device which one of `rules` may select, with
/// these records alone.
#[must_use]
pub fn also_recording(rules: &[&DeviceTaintRule], all: &[DeviceTaintRule]) -> Vec<DeviceTaintRule> {
    others_recording(rules, all, |one| {
        let device = DeviceId::parse(&one.device);
        device.is_some_and(|device| rules.iter().any(|own| may_select(own, &device)))
    })
}

/// The commands by which the kubelets of the nodes confirm the releases that `rules` record as open, with their purpose.
#[must_use]
pub fn confirmations(rules: &[&DeviceTaintRule]) -> Vec<String> {
    let mut by_node: BTreeMap<Option<String>, BTreeSet<&str>> = BTreeMap::new();
    for rule in rules {
        for one in noted(rule) {
            by_node
                .entry(one.node)
                .or_default()
                .insert(rule.name.as_str());
        }
    }
    let commands = by_node.into_iter().map(|(node, rules)| {
        let node = node.unwrap_or_else(|| "NODE".to_owned());
        let rules: Vec<&str> = rules.into_iter().collect();
        format!(
            "once no other pod uses the device, run on node {node} to confirm the release: \
            kubectl devicetaint wait {} --for idle --verify-node --node {node}",
            rules.join(" ")
        )
    });
    commands.collect()
}

/// What `rules` note, one line for each device; of these `devices` alone, where some are named.
#[must_use]
pub fn warnings(
    rules: &[DeviceTaintRule],
    devices: Option<&[DeviceId]>,
    reader: RecordReader<'_>,
) -> Vec<Warning> {
    let names: Option<Vec<String>> =
        devices.map(|devices| devices.iter().map(ToString::to_string).collect());
    let is_meant = |one: &NotedRelease| {
        names
            .as_ref()
            .is_none_or(|names| names.contains(&one.device))
    };
    // Of a pod that is recreated and deleted again each time, a rule has a record for each.
    let mut devices: Vec<DeviceRecords<'_>> = Vec::new();
    for rule in rules {
        let name = rule.name.as_str();
        for one in noted(rule).into_iter().filter(is_meant) {
            match devices.iter_mut().find(|device| device.takes(&one)) {
                Some(device) => device.add(one, name),
                None => devices.push(DeviceRecords::new(one, name)),
            }
        }
    }
    let warnings = devices.iter().map(|device| Warning {
        code: "not-released",
        message: device.line(reader),
        fix: Some(match reader {
            RecordReader::Api => format!(
                "before the device is used again, check it on its node: {}",
                check_on(device.node())
            ),
            RecordReader::Kubelet(flags) => format!(
                "once no other pod uses the device, confirm the release and clear the record: \
                 kubectl devicetaint wait {} --for idle {flags}",
                device.rules.join(" ")
            ),
        }),
    });
    warnings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::named;
    use crate::model::NamespacedName;
    use crate::report::testing;

    fn device(text: &str) -> DeviceId {
        let parts: Vec<&str> = text.split('/').collect();
        DeviceId {
            driver: parts[0].into(),
            pool: parts[1].into(),
            device: parts[2].into(),
        }
    }

    fn pod(devices: &[&str]) -> UnreleasedPod {
        UnreleasedPod {
            pod: NamespacedName {
                namespace: "ml".into(),
                name: "train".into(),
            },
            uid: "train".into(),
            node: Some("node-7".into()),
            devices: devices.iter().map(|text| device(text)).collect(),
            end: PodEnd::ForceDeleted,
        }
    }

    fn now() -> Timestamp {
        "2026-11-21T01:00:00Z".parse().unwrap()
    }

    /// The rule after `patch`.
    fn patched(mut rule: DeviceTaintRule, patch: &Value) -> DeviceTaintRule {
        let text = &patch["metadata"]["annotations"][RuleMetadata::NOT_RELEASED];
        let text = text.as_str().expect("a note").to_owned();
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(RuleMetadata::NOT_RELEASED.to_owned(), text);
        rule
    }

    #[test]
    fn what_was_seen_is_noted_once_and_told_wherever_the_rule_is() {
        let mut rule = named("drain", "NoExecute");
        rule.selector = None;
        let seen = [pod(&["gpu.example.com/node-7/gpu-0"])];
        let patch = note(&rule, &seen, &Hardware::default(), now()).expect("a note");
        let rule = patched(rule, &patch);
        assert_eq!(
            note(&rule, &seen, &Hardware::default(), now()),
            None,
            "it is noted"
        );
        let open = left(std::slice::from_ref(&rule));
        assert_eq!(open.len(), 1, "a later wait is not over");
        assert_eq!(open[0].noted.end, PodEnd::ForceDeleted);
        assert_eq!(open[0].noted.node.as_deref(), Some("node-7"));
        assert_eq!(open[0].noted.pod, "ml/train");
        assert_eq!(left(&[named("other", "NoExecute")]), []);
        let mut card = rule.clone();
        card.name = "card".into();
        let both = [rule.clone(), card];
        let once = left(&both);
        assert_eq!(once.len(), 1, "rules of a card record the same pod");
        assert!(once[0].line().contains("recorded on rules drain, card at"));
        let other = UnreleasedPod {
            pod: crate::report::testing::name("ml", "other"),
            uid: "other".into(),
            ..seen[0].clone()
        };
        let patch = note(&rule, &[other], &Hardware::default(), now()).expect("another pod");
        let rules = [patched(rule.clone(), &patch)];
        assert_eq!(left(&rules).len(), 2, "each pod is waited for");
        let told = warnings(std::slice::from_ref(&rule), None, RecordReader::Api);
        assert_eq!(told.len(), 1);
        assert_eq!(
            told[0].message,
            "device gpu.example.com/node-7/gpu-0: pod ml/train was force-deleted before it ended, \
             and node-7 has not confirmed the release (this was recorded on rule drain at \
             2026-11-21T01:00:00Z)"
        );
        // A rule on another name of the hardware records it, too, and one on other hardware does not.
        let mut elsewhere = named("pull", "NoExecute");
        elsewhere.selector = Some(device("vfio.example.com/node-7/card").into());
        let slice = |text: &str, uuid: &str| {
            let id = device(text);
            let mut slice = testing::slice(vec![testing::published(
                id.device.as_str(),
                &[("uuid", uuid)],
            )]);
            (slice.driver, slice.pool.name) = (id.driver, id.pool);
            slice
        };
        let same = [
            slice("gpu.example.com/node-7/gpu-0", "a"),
            slice("vfio.example.com/node-7/card", "a"),
        ];
        let other = [
            slice("gpu.example.com/node-7/gpu-0", "a"),
            slice("vfio.example.com/node-7/card", "b"),
        ];
        assert!(note(&elsewhere, &seen, &Hardware::of(&same), now()).is_some());
        assert_eq!(note(&elsewhere, &seen, &Hardware::of(&other), now()), None);
        // Several rules with the same record are one warning.
        let mut twin = named("pull", "NoExecute");
        twin.metadata.annotations = rule.metadata.annotations.clone();
        let reader = RecordReader::Kubelet("--verify-node --node node-7");
        let told = warnings(&[rule.clone(), twin], None, reader);
        let [only] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert!(
            only.message
                .contains("; when this was recorded on rules drain, pull at "),
            "{only:?}"
        );
        let fix = only.fix.as_deref().unwrap_or_default();
        let command = "wait drain pull --for idle --verify-node --node node-7";
        assert!(fix.ends_with(command), "{fix}");
        let other = [device("gpu.example.com/node-7/gpu-1")];
        assert_eq!(
            warnings(std::slice::from_ref(&rule), Some(&other), RecordReader::Api),
            []
        );
        let this = [device("gpu.example.com/node-7/gpu-0")];
        assert_eq!(warnings(&[rule], Some(&this), RecordReader::Api).len(), 1);
    }

    #[test]
    fn many_pods_of_a_device_are_one_warning() {
        let mut rule = named("drain", "NoExecute");
        rule.selector = None;
        for (count, second) in [(1, 0), (15, 1), (16, 2)] {
            let seen: Vec<UnreleasedPod> = (0..count)
                .map(|number: usize| {
                    let mut pod = pod(&["gpu.example.com/node-7/gpu-0"]);
                    pod.pod.name = format!("train-{number:02}").as_str().into();
                    pod
                })
                .collect();
            let at = now() + jiff::SignedDuration::from_secs(second);
            let patch = note(&rule, &seen, &Hardware::default(), at).expect("a note");
            rule = patched(rule, &patch);
        }
        let other = pod(&["gpu.example.com/node-7/gpu-1"]);
        let patch = note(&rule, &[other], &Hardware::default(), now());
        let rule = patched(rule, &patch.expect("a note"));
        let told = warnings(&[rule], None, RecordReader::Api);
        let told: Vec<&str> = told.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "device gpu.example.com/node-7/gpu-0: 16 pods were force-deleted before they ended \
                 (ml/train-00, ml/train-01 and 14 more), and node-7 has not confirmed the release \
                 (this was recorded on rule drain at 2026-11-21T01:00:00Z to 2026-11-21T01:00:02Z)",
                "device gpu.example.com/node-7/gpu-1: pod ml/train was force-deleted before it ended, \
                 and node-7 has not confirmed the release (this was recorded on rule drain at \
                 2026-11-21T01:00:00Z)",
            ]
        );
    }

    #[test]
    fn a_pod_whose_end_was_not_observed_is_not_recorded_as_deleted_by_force() {
        let mut rule = named("drain", "NoExecute");
        rule.selector = None;
        let seen = [UnreleasedPod {
            end: PodEnd::NotObserved,
            ..pod(&["gpu.example.com/node-7/gpu-0"])
        }];
        let rule = patched(
            rule.clone(),
            &note(&rule, &seen, &Hardware::default(), now()).expect("a note"),
        );
        let open = left(std::slice::from_ref(&rule));
        assert_eq!(open[0].noted.end, PodEnd::NotObserved);
        assert!(
            open[0].line().contains(
                "was stuck in Terminating when it was last seen, and node-7 has not confirmed"
            ),
            "{open:?}"
        );
    }

    #[test]
    fn a_pod_that_was_stuck_and_is_seen_to_end_is_no_longer_recorded() {
        let mut rule = named("drain", "NoExecute");
        rule.selector = None;
        let stuck = UnreleasedPod {
            end: PodEnd::NotObserved,
            ..pod(&["gpu.example.com/node-7/gpu-0"])
        };
        let forced = UnreleasedPod {
            uid: "forced".into(),
            ..pod(&["gpu.example.com/node-7/gpu-1"])
        };
        let patch = note(&rule, &[stuck, forced], &Hardware::default(), now());
        let rule = patched(rule, &patch.expect("a note"));
        let rules = std::slice::from_ref(&rule);
        assert_eq!(ended(&rule, |uid| uid == "other"), None);
        assert!(with_ended(rules, |uid| uid == "other").is_empty());
        // Whatever its kubelet does later, a pod that was deleted by force was not seen to release anything.
        assert_eq!(ended(&rule, |uid| uid == "forced"), None);
        assert_eq!(with_ended(rules, |uid| uid == "train"), ["drain"]);
        let rule = patched(
            rule.clone(),
            &ended(&rule, |uid| uid == "train").expect("a change"),
        );
        let recorded = noted(&rule).into_iter().map(|one| one.device);
        assert_eq!(
            recorded.collect::<Vec<_>>(),
            ["gpu.example.com/node-7/gpu-1"]
        );
    }

    #[test]
    fn recorded_devices_are_those_of_the_node() {
        let mut rule = named("drain", "NoExecute");
        rule.selector = None;
        let device = DeviceId {
            driver: "gpu.example.com".into(),
            pool: "racks/a".into(),
            device: "gpu-0".into(),
        };
        let seen = [UnreleasedPod {
            devices: vec![device.clone()],
            ..pod(&[])
        }];
        let patch = note(&rule, &seen, &Hardware::default(), now());
        let rules = [patched(rule, &patch.expect("a note"))];
        assert_eq!(
            recorded_on(&rules, &"node-7".into()),
            std::slice::from_ref(&device)
        );
        assert_eq!(recorded_on(&rules, &"node-8".into()), []);
        let snapshot = Snapshot {
            rules: rules.to_vec(),
            ..Snapshot::default()
        };
        assert_eq!(recorded(&snapshot), [device].into());
    }

    #[test]
    fn what_a_kubelet_has_released_is_taken_off_and_nothing_else() {
        let mut rule = named("drain", "NoExecute");
        rule.selector = None;
        let elsewhere = UnreleasedPod {
            node: Some("node-8".into()),
            ..pod(&["gpu.example.com/node-8/gpu-0"])
        };
        let seen = [pod(&["gpu.example.com/node-7/gpu-0"]), elsewhere];
        let rule = patched(
            rule.clone(),
            &note(&rule, &seen, &Hardware::default(), now()).expect("a note"),
        );
        assert_eq!(released(&rule, "node-9"), None);
        let rule = patched(rule.clone(), &released(&rule, "node-7").expect("a change"));
        let left: Vec<Option<String>> = noted(&rule).into_iter().map(|one| one.node).collect();
        assert_eq!(left, [Some("node-8".to_owned())]);
        let patch = released(&rule, "node-8").expect("a change");
        assert!(patch["metadata"]["annotations"][RuleMetadata::NOT_RELEASED].is_null());
    }

    /// Two devices on one node, recorded by one rule; another rule selects only the first.
    #[test]
    fn records_of_another_rule_count_for_the_devices_that_are_selected_too() {
        let mut wide = named("wide", "NoExecute");
        wide.selector = None;
        let (first, second) = (
            "gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-1",
        );
        let patch = note(&wide, &[pod(&[first, second])], &Hardware::default(), now());
        let wide = patched(wide, &patch.expect("a note"));
        let mut own = named("own", "NoExecute");
        own.selector = Some(device(first).into());
        let snapshot = Snapshot {
            rules: vec![wide.clone(), own.clone()],
            slices: vec![crate::engine::testing::slice(vec![
                crate::engine::testing::published("gpu-0", &[]),
                crate::engine::testing::published("gpu-1", &[]),
            ])],
            ..Snapshot::default()
        };
        let semantics = crate::engine::testing::semantics(37);
        let found = on_same_hardware(std::slice::from_ref(&own), &snapshot, &semantics);
        let [reduced] = found.as_slice() else {
            panic!("{found:?}");
        };
        let devices = |rule: &DeviceTaintRule| -> Vec<String> {
            noted(rule).into_iter().map(|one| one.device).collect()
        };
        assert_eq!(devices(reduced), [first]);
        let lines = of_hardware([&device(first)], &snapshot);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let message = &lines[0].message;
        assert!(
            message.starts_with(&format!("device {first}: pod")),
            "{message}"
        );
        let elsewhere = device("gpu.example.com/node-9/gpu-0");
        assert!(of_hardware([&elsewhere], &snapshot).is_empty());
        assert_eq!(released_of(&wide, "node-8", reduced), None);
        let patch = released_of(&wide, "node-7", reduced).expect("a change");
        assert_eq!(devices(&patched(wide.clone(), &patch)), [second]);
        let all = [wide.clone(), own.clone()];
        assert_eq!(also_recording(&[&own], &all), found);
        assert!(also_recording(&[&wide], &all).is_empty(), "its own");
        // The record outlives the rule where another one has the device.
        let none = Hardware::default();
        let removed = std::slice::from_ref(&wide);
        let patch = carried_over(&own, removed, &none).expect("a change");
        let kept = patched(own.clone(), &patch);
        assert_eq!(devices(&kept), [first]);
        assert_eq!(carried_over(&kept, removed, &none), None, "it has it");
        let staying = std::slice::from_ref(&own);
        assert_eq!(
            forgotten(removed, staying, &none),
            [second],
            "of no other rule"
        );
        assert_eq!(forgotten(removed, &[], &none), [first, second]);
        let devices = [second.to_owned()];
        let line = format!("that the release of {second} was not confirmed");
        assert_eq!(
            forgotten_line(&devices, true),
            format!("no rule records any more {line}")
        );
        assert_eq!(
            forgotten_line(&devices, false),
            format!("no rule would record any more {line}")
        );
        own.selector = Some(device("gpu.example.com/node-8/gpu-0").into());
        assert_eq!(carried_over(&own, removed, &none), None, "another device");
        assert!(also_recording(&[&own], &all).is_empty(), "of other devices");
    }

    #[test]
    fn a_rule_notes_its_own_devices_and_odd_notes_are_none() {
        let mut rule = named("drain", "NoExecute");
        rule.selector = Some(device("gpu.example.com/node-7/gpu-1").into());
        let seen = [pod(&["gpu.example.com/node-7/gpu-0"])];
        assert_eq!(note(&rule, &seen, &Hardware::default(), now()), None);
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(RuleMetadata::NOT_RELEASED.to_owned(), "{".to_owned());
        assert_eq!(noted(&rule), []);
    }

    #[test]
    fn a_rule_on_neither_name_of_the_hardware_records_nothing() {
        let named_as = |text: &str| {
            let id = device(text);
            let uuid = [("uuid", "a")];
            let published = testing::published(id.device.as_str(), &uuid);
            let mut slice = testing::slice(vec![published]);
            (slice.driver, slice.pool.name) = (id.driver, id.pool);
            slice
        };
        let same = [
            "gpu.example.com/node-7/gpu-0",
            "vfio.example.com/node-7/card",
        ]
        .map(named_as);
        let mut elsewhere = named("elsewhere", "NoExecute");
        elsewhere.selector = Some(device("gpu.example.com/node-7/gpu-9").into());
        let seen = [pod(&["gpu.example.com/node-7/gpu-0"])];
        assert_eq!(note(&elsewhere, &seen, &Hardware::of(&same), now()), None);
    }

    #[test]
    fn none_of_several_rules_is_another_rule_with_records() {
        let mut first = named("first", "NoExecute");
        first.selector = None;
        let seen = [pod(&["gpu.example.com/node-7/gpu-0"])];
        let patch = note(&first, &seen, &Hardware::default(), now()).expect("a note");
        let first = patched(first, &patch);
        let second = named("second", "NoExecute");
        let all = [first.clone(), second.clone()];
        assert_eq!(others_recording(&[&first, &second], &all, |_| true), []);
        assert_eq!(others_recording(&[&second], &all, |_| true).len(), 1);
    }
}
