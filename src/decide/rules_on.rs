//! Selection of rules through the devices that they taint.

use std::collections::BTreeSet;

use super::choice::{
    DeviceFilter, DeviceFilterFlags, NumberUse, hardware_among, noted_numbers, numbers,
};
use super::chooser::{Absence, Chooser, RuleArguments, devices_among};
use super::identity::hardware::may_be_number;
use super::identity::{ChangedIdentity, Hardware, IDENTITY_CHANGED, made_for};
use crate::engine::allocator::parts_of;
use crate::engine::{self, ProposedTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Kind, Reading};
use crate::naming::device;
use crate::naming::taint::TaintPattern;

/// What happens to rules on the parts of hardware that was named, such as partitions of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiblingRules {
    /// They are selected too: a wait for hardware that leaves out its partitions ends too early.
    Selected,
    /// They are not selected, but named in a note: a change of more rules than were named is asked for explicitly.
    Noted,
}

impl SiblingRules {
    /// What the command does with the devices: what only looks at rules selects all that are on the same hardware.
    fn number_use(self) -> NumberUse {
        match self {
            Self::Selected => NumberUse::Read,
            Self::Noted => NumberUse::Change,
        }
    }
}

/// What was typed to mean rules, with the hardware among it apart.
#[derive(Clone, Debug)]
pub struct RuleWords<'a> {
    ways: RuleArguments<'a>,
    hardware: Vec<Hardware>,
    siblings: SiblingRules,
    /// The targets that are no hardware.
    others: Vec<String>,
}

/// The rules that are meant, and what there is to say about the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesOnDevices {
    /// Which they are.
    pub chooser: Chooser,
    /// What to know about it.
    pub notes: Vec<String>,
}

impl<'a> RuleWords<'a> {
    /// What was typed, with the hardware among it apart.
    #[must_use]
    pub fn new(ways: RuleArguments<'a>, siblings: SiblingRules) -> Self {
        let (hardware, others) = hardware_among(ways.targets);
        Self {
            ways,
            hardware,
            siblings,
            others,
        }
    }

    /// Which rules are meant, where that can be told without a look at devices.
    ///
    /// # Errors
    ///
    /// As [`Chooser::parse`].
    pub fn chooser(&self) -> Result<Option<Chooser>, Failure> {
        if !self.hardware.is_empty() {
            return Ok(None);
        }
        Chooser::parse(&self.ways).map(Some)
    }

    /// The words that may be numbers of hardware as well as names, such as serial numbers.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        let words = self.others.iter().map(String::as_str);
        words.filter(|word| may_be_number(word)).collect()
    }

    /// What was typed, for rules of which nothing else is known.
    #[must_use]
    pub fn text(&self) -> String {
        let labels = self.ways.selector.map(ToString::to_string);
        let words = self.ways.targets.iter().cloned().chain(labels);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Refuses words that name none of `rules` and that may be hardware IDs, where devices could not be read for this
    /// `reason`: a rule that is meant may be there.
    ///
    /// # Errors
    ///
    /// When there is such a word.
    pub fn refuse_unread(
        &self,
        rules: &[DeviceTaintRule],
        reason: &Failure,
    ) -> Result<(), Failure> {
        match self.unknown_word(&self.unnamed_words(rules), |_| false) {
            None => Ok(()),
            Some(word) => Err(unknown_hardware_id(word)
                .detail(reason.to_string())
                .ending(reason.status())),
        }
    }

    /// The words that may be numbers of hardware, and name none of `rules`: a word that names a rule means the rule,
    /// whatever hardware has it for a number.
    fn unnamed_words(&self, rules: &[DeviceTaintRule]) -> Vec<&str> {
        let is_rule = |word: &str| rules.iter().any(|rule| rule.name.as_str() == word);
        let words = self.words().into_iter();
        words.filter(|word| !is_rule(word)).collect()
    }

    /// The first of `words` that is no known hardware ID and no key of a taint.
    fn unknown_word<'w>(
        &self,
        words: &[&'w str],
        is_number: impl Fn(&str) -> bool,
    ) -> Option<&'w str> {
        // Beside devices, only the first word is no key of a taint.
        let has_device = self.others.iter().any(|word| word.contains('/'));
        let first = self.ways.targets.first().map(String::as_str);
        let is_unknown = |word: &&str| !is_number(word) && (!has_device || first == Some(*word));
        words.iter().copied().find(is_unknown)
    }

    /// Which rules are meant in `reading`, where attributes were read of slices that could be: words that are
    /// no names of rules may be numbers.
    ///
    /// # Errors
    ///
    /// What can be no name; devices that are not there; hardware without a rule of its own.
    pub fn find(
        &self,
        reading: &Reading,
        semantics: &Semantics,
    ) -> Result<RulesOnDevices, Failure> {
        let rules = &reading.snapshot.rules;
        let words = self.unnamed_words(rules);
        let mut hardware = numbers(&words, &reading.snapshot);
        for noted in noted_numbers(&words, rules) {
            if !hardware.contains(&noted) {
                hardware.push(noted);
            }
        }
        let is_number = |text: &String| hardware.iter().any(|found| found.number == *text);
        let is_known = |word: &str| hardware.iter().any(|it| it.number == word);
        if let Some(gap) = reading.without(Kind::ResourceSlice)
            && let Some(word) = self.unknown_word(&words, is_known)
        {
            return Err(unknown_hardware_id(word).detail(format!("{}: {}", gap.what, gap.why)));
        }
        let (_, others): (Vec<String>, Vec<String>) =
            self.others.iter().cloned().partition(is_number);
        let filters = DeviceFilterFlags {
            identities: [self.hardware.clone(), hardware].concat(),
            ..DeviceFilterFlags::default()
        };
        let Some(filter) = DeviceFilter::parse(&filters)? else {
            let chooser = Chooser::parse(&self.ways)?;
            return Ok(RulesOnDevices {
                chooser,
                notes: Vec::new(),
            });
        };
        let on = OnDevices {
            ways: &self.ways,
            filter: &filter,
            siblings: self.siblings,
            others,
        };
        on.find(reading, semantics)
    }
}

/// That no rule has that name, and that it is unknown whether it is a hardware ID.
fn unknown_hardware_id(word: &str) -> Failure {
    let text =
        format!("no rule has the name {word}, and it is unknown whether {word} is a hardware ID");
    Failure::new(ExitStatus::Failed, text)
}

/// Devices that were chosen, and what else was typed.
struct OnDevices<'a> {
    ways: &'a RuleArguments<'a>,
    filter: &'a DeviceFilter,
    siblings: SiblingRules,
    others: Vec<String>,
}

impl OnDevices<'_> {
    fn find(self, reading: &Reading, semantics: &Semantics) -> Result<RulesOnDevices, Failure> {
        let rules = &reading.snapshot.rules;
        let (named, mut targets) = devices_among(&self.others)?;
        // Rules note numbers alone: whether one of the names is meant cannot be told from the note.
        let noted = if named.is_empty() {
            made_for(rules, self.filter.identities())
        } else {
            Vec::new()
        };
        let mut notes = Vec::new();
        let is_recorded = |hardware: &Hardware| {
            // Empty where other conditions decide, too.
            !noted.is_empty() && !made_for(rules, std::slice::from_ref(hardware)).is_empty()
        };
        let filtered = self
            .filter
            .resolve_with_recorded(reading, &named, &is_recorded, semantics);
        let chosen: Vec<DeviceId> = match filtered {
            Ok(filtered) => {
                let filtered = filtered.unambiguous(self.siblings.number_use())?;
                notes.extend(filtered.notes);
                filtered.devices
            }
            // What nobody publishes any more was something once.
            Err(failure) if noted.is_empty() => return Err(failure),
            Err(failure) => {
                let unknown = self.filter.not_compared(reading, semantics);
                let failure = match unknown {
                    Some(_) => "no published device matches".to_owned(),
                    None => failure.to_string(),
                };
                notes.extend(unknown);
                notes.push(format!(
                    "{failure}; the rules that record this hardware are selected instead"
                ));
                Vec::new()
            }
        };
        let now: Vec<DeviceSelector> = chosen.iter().cloned().map(DeviceSelector::from).collect();
        let parts = parts_of(&reading.snapshot, &chosen);
        let siblings: Vec<DeviceSelector> = parts.into_iter().map(DeviceSelector::from).collect();
        if targets.is_empty() {
            let on_siblings = rules_on(&siblings, rules, None);
            let chooser = match all_on(&now, &noted, reading, semantics) {
                Ok(chooser) => self.extend(chooser, on_siblings, &mut notes),
                // No rule is on the whole, but those on its partitions keep it from being free.
                Err(_) if self.selects(&on_siblings) => {
                    self.extend(Chooser::Names(Vec::new()), on_siblings, &mut notes)
                }
                Err(NoRule::Nowhere(missing)) if self.ways.absence == Absence::Ignored => {
                    notes.push(missing.to_string());
                    self.extend(Chooser::Names(Vec::new()), on_siblings, &mut notes)
                }
                Err(missing) if on_siblings.is_empty() => return Err(missing.failure()),
                Err(missing) => {
                    let failure = missing.failure();
                    return Err(failure.detail(named_siblings(&on_siblings)));
                }
            };
            return Ok(RulesOnDevices { chooser, notes });
        }
        let before = noted.iter().filter_map(|rule| rule.selector.as_ref());
        // Where nothing of it is published, it still has the names for which its rules were made.
        let devices = if now.is_empty() {
            before.map(device::format).collect::<BTreeSet<_>>()
        } else {
            now.iter().map(device::format).collect()
        };
        targets.extend(devices);
        let chooser = Chooser::parse(&RuleArguments {
            targets: &targets,
            ..*self.ways
        })?;
        let on_siblings = rules_on(&siblings, rules, chooser.pattern());
        let chooser = chooser.of_hardware(&now, &noted, rules);
        let chooser = self.extend(chooser, on_siblings, &mut notes);
        Ok(RulesOnDevices { chooser, notes })
    }

    fn selects(&self, on_siblings: &[String]) -> bool {
        self.siblings == SiblingRules::Selected && !on_siblings.is_empty()
    }

    /// The rules of `chooser`, with those on siblings or a note about them.
    fn extend(
        &self,
        chooser: Chooser,
        on_siblings: Vec<String>,
        notes: &mut Vec<String>,
    ) -> Chooser {
        let selected = match &chooser {
            Chooser::Names(names) => names.clone(),
            Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired | Chooser::All => {
                Vec::new()
            }
        };
        let others: Vec<String> = on_siblings
            .into_iter()
            .filter(|name| !selected.contains(name))
            .collect();
        if others.is_empty() {
            return chooser;
        }
        match self.siblings {
            SiblingRules::Selected => {
                notes.push(format!(
                    "rules on partitions of this device are also selected: {}",
                    others.join(", ")
                ));
                Chooser::Names([selected, others].concat())
            }
            SiblingRules::Noted => {
                notes.push(named_siblings(&others));
                chooser
            }
        }
    }
}

/// The names of the rules that taint exactly one of `devices`; with such a taint, where there is a `pattern`.
fn rules_on(
    devices: &[DeviceSelector],
    rules: &[DeviceTaintRule],
    pattern: Option<&TaintPattern>,
) -> Vec<String> {
    let is_on = |rule: &&DeviceTaintRule| {
        let selector = rule.selector.as_ref();
        selector.is_some_and(|selector| devices.contains(selector))
            && pattern.is_none_or(|pattern| pattern.matches(&rule.taint))
    };
    let rules = rules.iter().filter(is_on);
    rules.map(|rule| rule.name.to_string()).collect()
}

fn named_siblings(names: &[String]) -> String {
    format!(
        "rules on partitions of this device are not selected: {}",
        names.join(", ")
    )
}

/// Why no rule of certain devices is meant.
enum NoRule {
    /// No rule taints them.
    Nowhere(Failure),
    /// A rule may taint them, together with others.
    Perhaps(Failure),
}

impl NoRule {
    fn failure(self) -> Failure {
        match self {
            Self::Nowhere(failure) | Self::Perhaps(failure) => failure,
        }
    }
}

/// All rules that taint exactly the devices that the hardware is `now`, whatever their taints, and those that
/// were made for it, which are `noted`.
fn all_on(
    now: &[DeviceSelector],
    noted: &[&DeviceTaintRule],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<Chooser, NoRule> {
    // Rules that were not read must not pass for rules that are not there.
    if let Some(gap) = reading.without(Kind::DeviceTaintRule) {
        let failure = Failure::new(ExitStatus::Failed, gap.why);
        return Err(NoRule::Perhaps(failure));
    }
    let rules = &reading.snapshot.rules;
    let is_on_it = |rule: &&DeviceTaintRule| {
        let selector = rule.selector.as_ref();
        let is_noted = noted.iter().any(|noted| noted.name == rule.name);
        is_noted || selector.is_some_and(|selector| now.contains(selector))
    };
    let names: Vec<String> = rules
        .iter()
        .filter(is_on_it)
        .map(|rule| rule.name.to_string())
        .collect();
    if names.is_empty() {
        return Err(none_on(now, reading, semantics));
    }
    Ok(Chooser::Names(names))
}

/// No rule taints exactly these devices: others may taint them with more.
fn none_on(now: &[DeviceSelector], reading: &Reading, semantics: &Semantics) -> NoRule {
    let devices: Vec<String> = now.iter().map(device::format).collect();
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("no rule taints exactly {}", devices.join(" or ")),
    );
    let snapshot = &reading.snapshot;
    // Which devices a rule selects is the same at any time.
    let epoch = jiff::Timestamp::UNIX_EPOCH;
    let covers = |rule: &&DeviceTaintRule| {
        let proposed = [ProposedTaint::of_rule(rule, epoch)];
        let selected = engine::selection(snapshot, &proposed, semantics).devices;
        let mut selected = selected.into_iter().map(DeviceSelector::from);
        selected.any(|device| now.contains(&device))
    };
    let wider: Vec<String> = snapshot
        .rules
        .iter()
        .filter(covers)
        .map(|rule| rule.name.to_string())
        .collect();
    match &wider[..] {
        [] => NoRule::Nowhere(failure.hint("list the rules with `kubectl devicetaint list`")),
        [name] => NoRule::Perhaps(failure.hint(format!(
            "to select the rule that also taints other devices, use its name: {name}"
        ))),
        names => NoRule::Perhaps(failure.hint(format!(
            "to select a rule that also taints other devices, use one of these names: {}",
            names.join(", ")
        ))),
    }
}

impl RuleWords<'_> {
    /// Refuses to wait for hardware that was named by a number where rules were found that taint other hardware by now:
    /// `rules` are their names, and `changed` those whose device names stand for other hardware.
    ///
    /// # Errors
    ///
    /// A rule's device is not the hardware that it was made for.
    pub fn refuse_moved_hardware(
        &self,
        rules: &[&str],
        changed: &[ChangedIdentity],
    ) -> Result<(), Failure> {
        let words = self.words();
        // Beside DRIVER/POOL/DEVICE, a word is the key of a taint.
        let named = devices_among(&self.others);
        let is_by_path = named.is_ok_and(|(devices, _)| !devices.is_empty());
        let is_word_number = !is_by_path && words.iter().any(|word| !rules.contains(word));
        let is_by_number = !self.hardware.is_empty() || is_word_number;
        let Some(first) = changed.first().filter(|_| is_by_number) else {
            return Ok(());
        };
        let message = format!("{IDENTITY_CHANGED}: {}", first.message);
        let failure = Failure::new(ExitStatus::Failed, message)
            .hint("to wait for the devices that the rules select now, specify the rule names");
        // Hardware that was taken out of the node has no name for which a rule could be added.
        let (renamed, unpublished): (Vec<&ChangedIdentity>, Vec<&ChangedIdentity>) =
            changed.iter().partition(|one| !one.published_as.is_empty());
        let failure = unpublished.iter().fold(failure, |failure, one| {
            failure.detail(format!(
                "rule {} was created for hardware that is not among the published devices of driver {}",
                one.rule, one.device.driver
            ))
        });
        Err(if renamed.is_empty() {
            failure
        } else {
            failure.hint(
                "to wait for the original hardware: remove the rule, add a rule for the current device name of the original \
                hardware, and run the same command again: it finds the new rule by the hardware ID",
            )
        })
    }

    /// Refuses to change the effect of several `rules` where only hardware was named: one of them was meant.
    ///
    /// # Errors
    ///
    /// When there are several.
    pub fn refuse_several(&self, rules: &[DeviceTaintRule]) -> Result<(), Failure> {
        let hardware = self.hardware_alone(rules);
        if hardware.is_empty() || rules.len() < 2 {
            return Ok(());
        }
        let told: Vec<String> = rules
            .iter()
            .map(|rule| format!("{} ({})", rule.name, rule.taint))
            .collect();
        Err(Failure::usage(format!(
            "{} has {} rules: {}",
            hardware.join(" or "),
            rules.len(),
            told.join(", ")
        ))
        .hint(
            "use the name of one of these rules, or, for all of its rules with the same KEY, add the KEY",
        ))
    }

    /// The hardware that was named without the key of a taint, so that any of the `rules` on it is meant.
    fn hardware_alone(&self, rules: &[DeviceTaintRule]) -> Vec<String> {
        if !self.others.is_empty() {
            // A word that is no rule is the number of hardware; a second argument is the key of a taint.
            let is_rule = |word: &String| rules.iter().any(|rule| rule.name.as_str() == word);
            return match self.others.as_slice() {
                [word] if may_be_number(word) && !is_rule(word) => vec![word.clone()],
                _ => Vec::new(),
            };
        }
        self.hardware.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::decide::testing::{KEY, named, selector};
    use crate::model::{CounterUse, RuleMetadata, Snapshot};
    use crate::report::testing;

    const UUID: &str = "GPU-18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a";

    /// gpu-0 with a rule of its own and one for its pool, gpu-1 with none of its own, gpu-2 with two.
    fn reading() -> Reading {
        let published = |name, uuid, serial, address| {
            let attributes = [("uuid", uuid), ("serial", serial), ("pciBusID", address)];
            testing::published(name, &attributes)
        };
        let rule = |name: &str, device: &str, key: &str| {
            let mut rule = named(name, "NoSchedule");
            rule.selector = Some(match device {
                "*" => device::parse("gpu.example.com/node-7/*").unwrap(),
                device => selector(device),
            });
            rule.taint.key = key.to_owned();
            rule
        };
        let mut gone = rule("gone", "gpu-9", KEY);
        let note = BTreeMap::from([("gpu.example.com/serial", "777")]);
        let note = serde_json::json!(note).to_string();
        gone.metadata
            .annotations
            .insert(RuleMetadata::IDENTITY.to_owned(), note);
        Reading {
            snapshot: Snapshot {
                slices: vec![testing::slice(vec![
                    published("gpu-0", UUID, "1423", "0000:17:00.0"),
                    published("gpu-1", "GPU-1", "1424", "0000:18:00.0"),
                    published("gpu-2", "GPU-2", "1425", "0000:19:00.0"),
                ])],
                rules: vec![
                    rule("one", "gpu-0", KEY),
                    rule("pool", "*", KEY),
                    rule("first", "gpu-2", KEY),
                    rule("second", "gpu-2", "example.com/other"),
                    gone,
                ],
                ..Snapshot::default()
            },
            ..testing::reading()
        }
    }

    fn found(targets: &[&str]) -> Result<Vec<String>, Failure> {
        found_in(&reading(), targets, SiblingRules::Noted).map(|(names, _)| names)
    }

    /// The names of the rules that are meant, and what is noted about the choice.
    fn found_in(
        reading: &Reading,
        targets: &[&str],
        siblings: SiblingRules,
    ) -> Result<(Vec<String>, Vec<String>), Failure> {
        let targets: Vec<String> = targets.iter().map(|text| (*text).to_owned()).collect();
        let ways = RuleArguments {
            targets: &targets,
            ..RuleArguments::default()
        };
        let typed = RuleWords::new(ways, siblings);
        let on = typed.find(reading, &testing::semantics(37))?;
        let meant = on.chooser.select(&reading.snapshot.rules, testing::now());
        match meant.all_missing() {
            Some(missing) => Err(missing),
            None => {
                let names = meant.rules.iter().map(|rule| rule.name.to_string());
                Ok((names.collect(), on.notes))
            }
        }
    }

    #[test]
    fn hardware_alone_means_the_rules_on_exactly_it() {
        for (targets, names) in [
            (&["uuid=GPU-2"][..], &["first", "second"][..]),
            (&["GPU-2"], &["first", "second"]),
            (&[UUID], &["one"]),
            (&["0000:17:00.0"], &["one"]),
            (&["1423"], &["one"]),
            (&["1425", "example.com/other"], &["second"]),
            (&["GPU-2", KEY], &["first"]),
            // What nobody publishes any more was noted.
            (&["serial=777"], &["gone"]),
            (&["777"], &["gone"]),
            // Names stay names.
            (&["pool"], &["pool"]),
        ] {
            assert_eq!(found(targets).unwrap(), names, "{targets:?}");
        }
    }

    #[test]
    fn a_note_alone_is_not_enough_where_hardware_is_not_all_that_is_named() {
        let device = "gpu.example.com/node-7/gpu-0";
        assert!(found(&["serial=777", device]).is_err());
        assert!(found(&[device, "serial=777"]).is_err());
        assert_eq!(found(&["serial=1423", device]).unwrap(), ["one"]);
    }

    /// gpu-2 has a partition with two rules of its own, on the same counters.
    fn partitioned() -> Reading {
        let mut reading = reading();
        let counters = |amount: &str| CounterUse {
            set: "gpu-2".into(),
            counters: [("memory".into(), amount.into())].into_iter().collect(),
            ..CounterUse::default()
        };
        let slice = &mut reading.snapshot.slices[0];
        let mut devices = slice.devices.to_vec();
        devices.push(testing::published("gpu-2-mig-0", &[("uuid", "MIG-2")]));
        for device in devices
            .iter_mut()
            .filter(|device| device.name.as_str().starts_with("gpu-2"))
        {
            let mut terms = device.terms.as_deref().cloned().unwrap_or_default();
            let amount = match device.name.as_str() {
                "gpu-2" => "80Gi",
                _ => "40Gi",
            };
            terms.consumes = vec![counters(amount)];
            device.terms = Some(Box::new(terms));
        }
        slice.devices = devices;
        for (name, key) in [("part", KEY), ("part-other", "example.com/third")] {
            let mut rule = named(name, "NoSchedule");
            rule.selector = Some(selector("gpu-2-mig-0"));
            rule.taint.key = key.to_owned();
            reading.snapshot.rules.push(rule);
        }
        reading
    }

    #[test]
    fn rules_on_partitions_of_named_hardware_are_selected_or_noted() {
        let reading = partitioned();
        let selected = |targets: &[&str]| {
            let found = found_in(&reading, targets, SiblingRules::Selected);
            found.map(|(names, _)| names).unwrap()
        };
        assert_eq!(
            selected(&["GPU-2"]),
            ["first", "part", "part-other", "second"]
        );
        assert_eq!(selected(&["1425", KEY]), ["first", "part"]);
        assert_eq!(selected(&["1425", "example.com/third"]), ["part-other"]);
        assert_eq!(selected(&["1423"]), ["one"]);
        // The rules on a card are not those on a partition of it.
        assert_eq!(selected(&["MIG-2"]), ["part", "part-other"]);

        let noted = |targets: &[&str]| found_in(&reading, targets, SiblingRules::Noted).unwrap();
        let (names, notes) = noted(&["GPU-2"]);
        assert_eq!(names, ["first", "second"]);
        assert!(
            notes[0].ends_with("not selected: part, part-other"),
            "{notes:?}"
        );
        let (names, notes) = noted(&["1425", KEY]);
        assert_eq!(names, ["first"]);
        assert!(notes[0].ends_with("not selected: part"), "{notes:?}");
        assert_eq!(noted(&["1423"]).1, [""; 0]);
    }

    #[test]
    fn a_card_without_rules_of_its_own_has_those_of_its_partitions() {
        let mut reading = partitioned();
        let rules = &mut reading.snapshot.rules;
        rules.retain(|rule| !["first", "second", "pool"].contains(&rule.name.as_str()));
        let (names, _) = found_in(&reading, &["GPU-2"], SiblingRules::Selected).unwrap();
        assert_eq!(names, ["part", "part-other"]);
        let failure = found_in(&reading, &["GPU-2"], SiblingRules::Noted).unwrap_err();
        assert!(
            failure.details()[0].ends_with("part, part-other"),
            "{failure:?}"
        );
    }

    #[test]
    fn hardware_that_has_moved_is_not_waited_for_by_its_number() {
        let changed = [ChangedIdentity {
            rule: "one".into(),
            device: testing::device("gpu-0"),
            message: "rule one …".to_owned(),
            published_as: vec![testing::device("gpu-9")],
        }];
        let refusal = |target: &str, changed: &[ChangedIdentity]| {
            let targets: Vec<String> = target.split(' ').map(str::to_owned).collect();
            let ways = RuleArguments {
                targets: &targets,
                ..RuleArguments::default()
            };
            let typed = RuleWords::new(ways, SiblingRules::Selected);
            typed.refuse_moved_hardware(&["one"], changed).err()
        };
        let refused =
            |target: &str, changed: &[ChangedIdentity]| refusal(target, changed).is_some();
        assert!(refused(UUID, &changed) && refused("1423", &changed));
        assert!(
            !refused("one", &changed),
            "the rule is meant, whatever it taints"
        );
        assert!(!refused("gpu.example.com/node-7/gpu-0", &changed));
        assert!(!refused(
            "gpu.example.com/node-7/gpu-0 maintenance",
            &changed
        ));
        assert!(refused("1423 example.com/maintenance", &changed));
        assert!(refused("one 1423", &changed), "a number beside a name");
        assert!(!refused(UUID, &[]));
        let failure = refusal(UUID, &changed).expect("a refusal");
        assert_eq!(failure.to_string(), "identity-changed: rule one …");
        assert_eq!(failure.details(), [""; 0]);
        assert!(
            failure.hints()[1].contains("current device name"),
            "{failure:?}"
        );
        let gone = [ChangedIdentity {
            published_as: Vec::new(),
            ..changed[0].clone()
        }];
        let failure = refusal(UUID, &gone).expect("a refusal");
        assert_eq!(
            failure.details(),
            [
                "rule one was created for hardware that is not among the published devices of driver \
              gpu.example.com"
            ]
        );
        assert_eq!(failure.hints().len(), 1, "{failure:?}");
    }

    /// A cluster where a second driver publishes the device for `node` with the same UUID and PCI address.
    fn published_twice(node: &str) -> Reading {
        let mut reading = reading();
        let mut other = reading.snapshot.slices[0].clone();
        other.name = "vfio".into();
        other.driver = "vfio.example.com".into();
        other.pool.name = node.into();
        other.nodes = crate::model::SliceNodes::One(node.into());
        reading.snapshot.slices.push(other);
        reading
    }

    #[test]
    fn a_number_of_two_drivers_is_refused() {
        let reading = published_twice("node-8");
        for target in [UUID, "GPU-1"] {
            let failure = found_in(&reading, &[target], SiblingRules::Noted).unwrap_err();
            assert!(failure.to_string().contains("is ambiguous"), "{failure}");
        }
    }

    #[test]
    fn a_number_of_two_drivers_of_a_node_selects_the_rules_of_both_to_who_looks() {
        let reading = published_twice("node-7");
        let (names, notes) = found_in(&reading, &[UUID], SiblingRules::Selected).unwrap();
        assert_eq!(names, ["one"]);
        assert!(
            notes[0].starts_with("several drivers on node node-7 publish "),
            "{notes:?}"
        );
        let failure = found_in(&reading, &[UUID], SiblingRules::Noted).unwrap_err();
        assert!(failure.to_string().contains("is ambiguous"), "{failure}");
    }

    #[test]
    fn a_number_is_found_although_an_unpublished_device_cannot_be_compared() {
        let mut reading = reading();
        let mut claim = testing::claim(&testing::pod("ml", "train-0"));
        for result in claim.allocation.iter_mut().flat_map(|it| &mut it.results) {
            result.device = crate::model::DeviceId {
                driver: "mig.example.com".into(),
                ..testing::device("away")
            };
        }
        reading.snapshot.claims.push(claim);
        let found = |targets: &[&str]| found_in(&reading, targets, SiblingRules::Selected);
        let note = "no ResourceSlice lists this allocated device, so it is unknown whether it matches: \
            mig.example.com/node-7/away";
        let (names, notes) = found(&["0000:17:00.0"]).unwrap();
        assert_eq!(names, ["one"]);
        assert_eq!(notes, [note]);
        // What a rule records may be the device that is not published.
        let (names, notes) = found(&["serial=777"]).unwrap();
        assert_eq!(names, ["gone"]);
        assert_eq!(
            notes,
            [
                note,
                "no published device matches; the rules that record this hardware are selected instead"
            ]
        );
        let (names, _) = found(&["serial=1423", "serial=777"]).unwrap();
        assert_eq!(names, ["gone", "one"]);
        // Nothing is known to match, and the hint works in this very command.
        let failure = found(&["0000:99:00.0"]).unwrap_err();
        assert_eq!(failure.to_string(), "cannot tell whether 1 device matches");
        assert_eq!(
            failure.hints(),
            ["specify the devices as DRIVER/POOL/DEVICE"]
        );
        let failure = found(&["0000:99:00.0", "gpu.example.com/*/*"]).unwrap_err();
        assert!(
            failure
                .to_string()
                .starts_with("no device matches all filters"),
            "{failure}"
        );
    }

    #[test]
    fn hardware_without_a_rule_of_its_own_is_told_with_those_for_more() {
        let failure = found(&["GPU-1"]).unwrap_err();
        let device = "gpu.example.com/node-7/gpu-1";
        assert_eq!(
            failure.to_string(),
            format!("no rule taints exactly {device}")
        );
        assert_eq!(
            failure.hints()[0],
            "to select the rule that also taints other devices, use its name: pool"
        );
        let failure = found(&["GPU-77"]).unwrap_err();
        assert_eq!(failure.to_string(), "no device with GPU-77");
        let failure = found(&["nothing"]).unwrap_err();
        assert_eq!(failure.to_string(), "no rule \"nothing\"");
    }

    #[test]
    fn a_word_that_may_be_hardware_is_not_missing_where_slices_were_not_read() {
        let mut unread = reading();
        unread.known.remove(&Kind::ResourceSlice);
        let found = |targets: &[&str]| {
            let found = found_in(&unread, targets, SiblingRules::Selected);
            found
                .map(|(names, _)| names)
                .map_err(|failure| failure.to_string())
        };
        let unknown = "no rule has the name node-1-gpu-3, and it is unknown whether node-1-gpu-3 is a hardware ID";
        for targets in [
            &["node-1-gpu-3"][..],
            &["pool", "node-1-gpu-3"],
            &["node-1-gpu-3", "example.com/raw"],
        ] {
            assert_eq!(found(targets), Err(unknown.to_owned()), "{targets:?}");
        }
        assert_eq!(found(&["pool"]), Ok(vec!["pool".to_owned()]));
        let by_device = ["gpu.example.com/node-7/gpu-1", "maintenance"];
        let told = found(&by_device).unwrap_or_else(|failure| vec![failure]);
        assert!(!told.concat().contains("hardware ID"), "{told:?}");
    }

    #[test]
    fn a_word_that_may_be_hardware_is_not_missing_where_nothing_could_be_read() {
        let rules = &reading().snapshot.rules;
        let refusal = |targets: &[&str], status| {
            let targets: Vec<String> = targets.iter().map(|it| (*it).to_owned()).collect();
            let ways = RuleArguments {
                targets: &targets,
                ..RuleArguments::default()
            };
            let typed = RuleWords::new(ways, SiblingRules::Selected);
            let reason = Failure::new(status, "the server does not respond");
            typed.refuse_unread(rules, &reason).err()
        };
        for status in [ExitStatus::TryAgain, ExitStatus::Failed] {
            let failure = refusal(&["pool", "node-1-gpu-3"], status).expect("it is unknown");
            assert_eq!(failure.status(), status);
            assert_eq!(
                failure.to_string(),
                "no rule has the name node-1-gpu-3, and it is unknown whether node-1-gpu-3 is a hardware ID"
            );
            assert_eq!(failure.details(), ["the server does not respond"]);
        }
        assert!(refusal(&["pool"], ExitStatus::Failed).is_none());
    }

    #[test]
    fn hardware_that_no_rule_taints_is_no_mistake_where_missing_rules_are_ignored() {
        let found = |rules: usize, absence| {
            let mut reading = reading();
            reading.snapshot.rules.truncate(rules);
            let targets = ["GPU-1".to_owned()];
            let ways = RuleArguments {
                targets: &targets,
                absence,
                ..RuleArguments::default()
            };
            let typed = RuleWords::new(ways, SiblingRules::Selected);
            assert_eq!(typed.text(), "GPU-1");
            let found = typed.find(&reading, &testing::semantics(37));
            found
                .map(|on| (on.chooser, on.notes))
                .map_err(|it| it.to_string())
        };
        let device = "gpu.example.com/node-7/gpu-1";
        let missing = format!("no rule taints exactly {device}");
        let none = (Chooser::Names(Vec::new()), vec![missing.clone()]);
        assert_eq!(found(0, Absence::Ignored), Ok(none));
        assert_eq!(found(0, Absence::Refused), Err(missing.clone()));
        // A rule that taints the whole pool is not missing.
        assert_eq!(found(usize::MAX, Absence::Ignored), Err(missing));
    }

    #[test]
    fn one_of_several_rules_on_hardware_has_to_be_named_where_it_is_to_do_more() {
        let rules = reading().snapshot.rules;
        let refused = |targets: &[&str], rules: &[DeviceTaintRule]| {
            let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
            let ways = RuleArguments {
                targets: &targets,
                ..RuleArguments::default()
            };
            RuleWords::new(ways, SiblingRules::Noted)
                .refuse_several(rules)
                .err()
        };
        let two = &rules[2..4];
        let failure = refused(&["GPU-2"], two).unwrap();
        assert!(
            failure.to_string().contains("second (example.com/other"),
            "{failure}"
        );
        assert!(failure.hints()[0].ends_with("add the KEY"));
        assert!(refused(&["node-7-gpu-2"], two).is_some(), "any UUID");
        assert!(refused(&["GPU-2", KEY], two).is_none(), "with its key");
        assert!(refused(&["first", "second"], two).is_none(), "names");
        assert!(refused(&["first"], &rules[2..3]).is_none());
        assert!(refused(&["gpu.example.com/node-7/gpu-2"], two).is_none());
        assert!(refused(&["GPU-2"], &rules[..1]).is_none(), "one rule");
    }

    #[test]
    fn the_name_of_a_rule_means_the_rule_whatever_hardware_has_it_for_a_number() {
        let mut reading = reading();
        let mut rule = named("1423", "NoSchedule");
        rule.selector = Some(selector("gpu-1"));
        reading.snapshot.rules.push(rule);
        let (names, _) = found_in(&reading, &["1423"], SiblingRules::Noted).unwrap();
        assert_eq!(names, ["1423"]);
    }
}
