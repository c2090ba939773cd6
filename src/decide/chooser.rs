//! Selection of rules by name, label or device.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::choice::{devices_with, not_found, other_type, wrong_name};
use super::exit_status::of_parts;
use crate::completion::Values;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, DeviceTaintRule, Kind, Reading};
use crate::naming::keys;
use crate::naming::labels::LabelSelector;
use crate::naming::phrase::corrections;
use crate::naming::{Hardware, Subject, TaintPattern, device, rule};

/// Rules by name, taint or labels.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct RuleArguments {
    /// Rules by name, or by devices and the KEY of their taint
    ///
    /// A device is DRIVER/POOL/DEVICE or a hardware ID (UUID, PCI address, uuid=UUID or serial=NUMBER). Only rules that
    /// select exactly this device are selected. Instead of KEY, KEY=VALUE and KEY:EFFECT are also accepted. A final
    /// `-`, as in `kubectl taint`, is accepted and ignored.
    #[arg(value_name = "RULE|DEVICE KEY", add = Values::RulesOrDevices)]
    pub targets: Vec<String>,

    /// Rules with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<LabelSelector>,

    /// `--expired`, of commands that select by it.
    #[arg(skip)]
    pub expired: bool,

    /// `--all`, of commands that have it.
    #[arg(skip)]
    pub all: bool,
}

impl RuleArguments {
    /// Rules by name.
    pub fn named(names: Vec<String>) -> Self {
        Self {
            targets: names,
            ..Self::default()
        }
    }

    /// The selection of a command that takes all rules where none are named, and narrows them by labels; absent without
    /// names. As for kubectl, the type alone stands for all.
    ///
    /// # Errors
    ///
    /// As [`RuleChoice::parse`].
    pub fn narrowed(&self) -> Result<Option<RuleChoice>, Failure> {
        let is_all = match &self.targets[..] {
            [only] => rule::is_type(only),
            several => several.is_empty(),
        };
        if is_all {
            return Ok(None);
        }
        RuleChoice::parse(&Self::named(self.targets.clone())).map(Some)
    }

    /// True if a rule with these labels is among the selected ones.
    pub fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        let selector = self.selector.as_ref();
        selector.is_none_or(|selector| selector.matches(labels))
    }
}

/// Selection of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chooser {
    /// Rules of these names, each once, by name.
    Names(Vec<String>),
    /// Rules that taint exactly these devices with such a taint.
    Taints(Vec<DeviceSelector>, TaintPattern),
    /// Rules with such labels.
    Labelled(LabelSelector),
    /// Rules whose expiry has passed.
    Expired,
    /// All rules.
    All,
}

/// Selection of rules before hardware IDs are resolved to devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChoice {
    /// The selection without the hardware IDs.
    chooser: Chooser,
    /// Hardware IDs, whose devices are among those that the rules taint.
    hardware: Vec<Hardware>,
}

/// The selected rules, and the failures of what was not found.
#[derive(Debug, Default)]
pub struct SelectedRules {
    /// The rules, by name.
    pub rules: Vec<DeviceTaintRule>,
    /// One failure for each name, or devices with a taint, for which there is no rule.
    pub missing: Vec<Failure>,
}

impl RuleChoice {
    /// Understands what was typed. A target is
    ///
    /// - a hardware ID, such as `uuid=GPU-18db…`,
    /// - a taint, if it has `=` or `:` or ends in `-`, or is PREFIX/NAME,
    /// - devices, if it has two slashes or more, or stands beside a taint,
    /// - a taint's key, if it is the only word beside devices,
    /// - else the name of a rule, with or without its type.
    ///
    /// # Errors
    ///
    /// No way or more than one; devices without a taint, a taint without devices, names beside either.
    pub fn parse(typed: &RuleArguments) -> Result<Self, Failure> {
        let ways = [
            (!typed.targets.is_empty(), "RULE or DEVICE"),
            (typed.selector.is_some(), "--selector"),
            (typed.expired, "--expired"),
            (typed.all, "--all"),
        ];
        let ways: Vec<&str> = ways
            .into_iter()
            .filter_map(|(is_given, way)| is_given.then_some(way))
            .collect();
        if let [first, second, ..] = ways[..] {
            return Err(Failure::usage(format!(
                "{first} cannot be used together with {second}"
            )));
        }
        let (hardware, others) = Hardware::among(&typed.targets);
        let chooser = match &typed.selector {
            Some(selector) => Chooser::Labelled(selector.clone()),
            None if typed.expired => Chooser::Expired,
            None if typed.all => Chooser::All,
            None if typed.targets.is_empty() => {
                return Err(Failure::usage("no rules specified").hint(
                    "specify rule names, or devices and the key of a taint: DRIVER/POOL/DEVICE KEY",
                ));
            }
            None => targets(&others, &hardware)?,
        };
        Ok(Self { chooser, hardware })
    }

    /// The selection, where it has no hardware IDs.
    pub fn without_hardware(&self) -> Option<&Chooser> {
        self.hardware.is_empty().then_some(&self.chooser)
    }

    /// Returns the selection with the devices of its hardware IDs in `reading`, of which attributes were read.
    ///
    /// # Errors
    ///
    /// As [`devices_with`].
    pub fn resolved(&self, reading: &Reading, semantics: &Semantics) -> Result<Chooser, Failure> {
        let found = devices_with(&self.hardware, reading, semantics)?;
        let mut chooser = self.chooser.clone();
        if let Chooser::Taints(selectors, _) = &mut chooser {
            selectors.extend(found.into_iter().map(DeviceSelector::from));
        }
        Ok(chooser)
    }
}

impl Chooser {
    /// Selects from `rules`, at `now` by the server's clock.
    pub fn select(&self, rules: &[DeviceTaintRule], now: Timestamp) -> SelectedRules {
        let keep = |wanted: &dyn Fn(&DeviceTaintRule) -> bool| {
            let mut kept: Vec<_> = rules.iter().filter(|rule| wanted(rule)).cloned().collect();
            kept.sort_by(|left, right| left.name.cmp(&right.name));
            kept
        };
        let all_found = |rules| SelectedRules {
            rules,
            missing: Vec::new(),
        };
        match self {
            Self::Names(names) => {
                let is = |rule: &DeviceTaintRule, name: &String| rule.name.as_str() == name;
                let missing = names
                    .iter()
                    .filter(|name| !rules.iter().any(|rule| is(rule, name)));
                SelectedRules {
                    rules: keep(&|rule| names.iter().any(|name| is(rule, name))),
                    missing: missing.map(|name| no_such_rule(name, rules)).collect(),
                }
            }
            Self::Taints(selectors, pattern) => {
                let missing = selectors
                    .iter()
                    .filter(|selector| !rules.iter().any(|rule| has(rule, selector, pattern)));
                SelectedRules {
                    rules: keep(&|rule| {
                        let mut selectors = selectors.iter();
                        selectors.any(|selector| has(rule, selector, pattern))
                    }),
                    missing: missing
                        .map(|selector| no_such_taint(selector, pattern))
                        .collect(),
                }
            }
            Self::Labelled(selector) => {
                all_found(keep(&|rule| selector.matches(&rule.metadata.labels)))
            }
            Self::Expired => all_found(keep(&|rule| keys::is_expired(&rule.metadata, now))),
            Self::All => all_found(keep(&|_| true)),
        }
    }

    /// The names of the rules that can be meant, where they follow from what was typed: names themselves, and for
    /// devices with a key the generated names. They can be found without a list of all rules.
    pub fn names(&self) -> Option<Vec<String>> {
        match self {
            Self::Names(names) => Some(names.clone()),
            Self::Taints(selectors, pattern) => {
                let names = selectors.iter();
                Some(
                    names
                        .map(|selector| rule::name(selector, &pattern.key))
                        .collect(),
                )
            }
            Self::Labelled(_) | Self::Expired | Self::All => None,
        }
    }
}

impl SelectedRules {
    /// One failure for all that was not found, if anything was not.
    pub fn all_missing(&self) -> Option<Failure> {
        let texts: Vec<String> = self.missing.iter().map(ToString::to_string).collect();
        let hints: BTreeSet<&String> = self.missing.iter().flat_map(Failure::hints).collect();
        let status = of_parts(self.missing.iter().map(Failure::status));
        let failure = Failure::new(status, texts.join("; "));
        let details = self.missing.iter().flat_map(Failure::details);
        let failure = details.fold(failure, Failure::detail);
        (!self.missing.is_empty()).then(|| hints.into_iter().fold(failure, Failure::hint))
    }
}

/// Meaning that a word can have by its form alone.
enum Form {
    Name(String),
    Word(String),
    Devices(String),
    Taint(String),
}

fn form(target: &str) -> Form {
    let text = target.to_owned();
    if target.contains(['=', ':']) || target.ends_with('-') {
        return Form::Taint(text);
    }
    match target.matches('/').count() {
        0 => Form::Word(text),
        // PREFIX/NAME is how most keys look, and no devices are written with one slash.
        1 => match rule::parse_name(target) {
            Ok(name) => Form::Name(name),
            Err(_) => Form::Taint(text),
        },
        _ => Form::Devices(text),
    }
}

fn targets(targets: &[String], hardware: &[Hardware]) -> Result<Chooser, Failure> {
    let (mut names, mut words, mut devices, mut taints) = (vec![], vec![], vec![], vec![]);
    for target in &Subject::with_types(targets) {
        match form(target) {
            Form::Name(name) => names.push(name),
            Form::Word(word) => words.push(word),
            Form::Devices(text) => devices.push(text),
            Form::Taint(text) => taints.push(text),
        }
    }
    if taints.is_empty() && devices.is_empty() && hardware.is_empty() {
        for word in words {
            names.push(rule::parse_name(&word).map_err(Failure::usage)?);
        }
        names.sort_unstable();
        names.dedup();
        return Ok(Chooser::Names(names));
    }
    if let Some(name) = names.first() {
        return Err(Failure::usage(format!(
            "rule {name} cannot be combined with devices and taints"
        )));
    }
    if taints.is_empty() && words.len() == 1 {
        taints = words;
    } else {
        // A single segment is a whole driver, as it is for `add`.
        devices.extend(words);
    }
    let taint = match &taints[..] {
        [only] => only,
        [] => {
            let names = devices.first().cloned();
            let names = names.or_else(|| hardware.first().map(ToString::to_string));
            return Err(Failure::usage(format!(
                "{} is not the name of a rule",
                names.unwrap_or_default()
            ))
            .hint(
                "to select a rule by its devices, add the key of its taint: DRIVER/POOL/DEVICE KEY",
            ));
        }
        [first, second, ..] => {
            return Err(Failure::usage(format!(
                "more than one taint: {first} and {second}"
            )));
        }
    };
    let pattern = TaintPattern::parse(taint).map_err(wrong_name)?;
    if devices.is_empty() && hardware.is_empty() {
        if let Some(Ok(subject)) = Subject::typed(taint) {
            return Err(other_type(&subject, taint, "rule"));
        }
        return Err(
            Failure::usage(format!("no devices specified for {pattern}"))
                .hint("specify devices as DRIVER/POOL/DEVICE, or a rule name"),
        );
    }
    let selectors = devices
        .iter()
        .map(|text| device::parse(text).map_err(wrong_name));
    Ok(Chooser::Taints(
        selectors.collect::<Result<_, _>>()?,
        pattern,
    ))
}

/// True if the rule taints exactly these devices with such a taint.
fn has(rule: &DeviceTaintRule, selector: &DeviceSelector, pattern: &TaintPattern) -> bool {
    // Equal, not overlapping: a rule for a whole pool also taints devices that were not named.
    rule.selector.as_ref() == Some(selector) && pattern.matches(&rule.taint)
}

const LIST_RULES: &str = "list the rules with `kubectl devicetaint list`";

/// There is no rule of that name among `rules`, which are all that there are.
pub fn no_such_rule(name: &str, rules: &[DeviceTaintRule]) -> Failure {
    let known = rules.iter().map(|rule| rule.name.to_string());
    let failure = not_found("rule", name, corrections(name, known));
    if failure.hints().is_empty() {
        failure.hint(LIST_RULES)
    } else {
        failure
    }
}

fn no_such_taint(selector: &DeviceSelector, pattern: &TaintPattern) -> Failure {
    let devices = device::format(selector);
    Failure::new(
        ExitStatus::Failed,
        format!("no rule with selector {devices} has taint {pattern}"),
    )
    .hint(LIST_RULES)
}

impl SelectedRules {
    /// Returns the failure of what was not found; with `ignore_not_found`, lines about that instead.
    pub fn objection(&mut self, ignore_not_found: bool) -> (Vec<String>, Option<Failure>) {
        if ignore_not_found {
            let ignored = std::mem::take(&mut self.missing);
            return (ignored.iter().map(Failure::to_string).collect(), None);
        }
        (Vec::new(), self.all_missing())
    }
}

/// The failure of a rule that is gone, and was there when the command began.
pub fn gone(name: &str) -> Failure {
    Failure::new(ExitStatus::Failed, format!("no rule {name}")).hint(LIST_RULES)
}

/// All rules that were read.
///
/// # Errors
///
/// When they could not be read: what is not known is not none.
pub fn rules_in(reading: &Reading) -> Result<&[DeviceTaintRule], Failure> {
    match reading.gaps_of(&[Kind::DeviceTaintRule]).next() {
        Some(gap) => Err(Failure::new(ExitStatus::Failed, gap.why.clone())),
        None => Ok(&reading.snapshot.rules),
    }
}

/// The one of `rules` that has that name, if these are all that there are.
///
/// # Errors
///
/// When there is none, with what may have been meant.
pub fn rule_named<'a>(
    name: &str,
    rules: &'a [DeviceTaintRule],
) -> Result<&'a DeviceTaintRule, Failure> {
    let found = rules.iter().find(|rule| rule.name.as_str() == name);
    found.ok_or_else(|| no_such_rule(name, rules))
}

/// Those of `rules` that have one of these names.
pub fn rules_named(
    names: &[String],
    rules: impl IntoIterator<Item = DeviceTaintRule>,
) -> Vec<DeviceTaintRule> {
    let is_named = |rule: &DeviceTaintRule| names.iter().any(|name| name == rule.name.as_str());
    rules.into_iter().filter(is_named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{KEY, named, selector};
    use crate::model::Gap;

    const GPU: &str = "gpu.example.com/node-7/gpu-0";

    fn parsed(targets: &[&str]) -> Result<Chooser, Failure> {
        let targets = targets.iter().map(|text| (*text).to_owned());
        choose(&RuleArguments::named(targets.collect()))
    }

    fn choose(typed: &RuleArguments) -> Result<Chooser, Failure> {
        let choice = RuleChoice::parse(typed)?;
        Ok(choice.without_hardware().expect("names").clone())
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn found(chooser: &Chooser, rules: &[DeviceTaintRule]) -> Vec<String> {
        let meant = chooser.select(rules, at("2026-11-21T01:00:00Z"));
        let names = meant.rules.iter().map(|rule| rule.name.to_string());
        names.collect()
    }

    fn rules() -> Vec<DeviceTaintRule> {
        let mut pool = named("pool", "NoSchedule");
        pool.selector = Some(device::parse("gpu.example.com/node-7/*").unwrap());
        let mut other = named("other", "NoSchedule");
        other.selector = Some(selector("gpu-1"));
        let mut none = named("none", "NoSchedule");
        none.selector = None;
        vec![
            pool,
            other,
            none,
            named("drain", "NoSchedule"),
            named("drain-2", "NoExecute"),
        ]
    }

    #[test]
    fn words_are_names_and_names_may_have_their_type() {
        let names =
            |names: &[&str]| Chooser::Names(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(parsed(&["b", "a", "b"]).unwrap(), names(&["a", "b"]));
        assert_eq!(
            parsed(&["devicetaintrule.resource.k8s.io/a"]).unwrap(),
            names(&["a"])
        );
    }

    #[test]
    fn a_rule_is_meant_by_exactly_its_devices_and_its_taint() {
        let rules = rules();
        for (targets, expected) in [
            ([GPU, KEY], &["drain", "drain-2"][..]),
            ([GPU, "example.com/maintenance:NoExecute"], &["drain-2"][..]),
            ([GPU, "example.com/maintenance=x"], &[][..]),
            ([GPU, "example.com/other"], &[][..]),
            (["gpu.example.com/node-7/*", KEY], &["pool"][..]),
            (["gpu.example.com", KEY], &[][..]),
        ] {
            let chooser = parsed(&targets).unwrap();
            assert_eq!(found(&chooser, &rules), expected, "{targets:?}");
            let missing = chooser.select(&rules, at("2026-11-21T01:00:00Z")).missing;
            assert_eq!(missing.is_empty(), !expected.is_empty(), "{targets:?}");
        }
    }

    #[test]
    fn a_hardware_id_means_the_rules_on_exactly_its_device() {
        use crate::engine::testing::{published, semantics, slice};
        let mut reading = crate::report::testing::reading();
        reading.known.insert(crate::model::Kind::ResourceSlice);
        reading.snapshot.slices = vec![slice(vec![published("gpu-1", &[("uuid", "A")])])];
        reading.snapshot.rules = rules();
        let meant = |targets: &[&str]| {
            let targets = targets.iter().map(|text| (*text).to_owned());
            let choice = RuleChoice::parse(&RuleArguments::named(targets.collect()))?;
            assert!(choice.without_hardware().is_none());
            let chooser = choice.resolved(&reading, &semantics(37))?;
            Ok::<_, Failure>(found(&chooser, &reading.snapshot.rules))
        };
        assert_eq!(meant(&["uuid=A", KEY]).unwrap(), ["other"]);
        assert_eq!(
            meant(&["uuid=A", GPU, KEY]).unwrap(),
            ["drain", "drain-2", "other"]
        );
        assert!(meant(&["uuid=B", KEY]).is_err());
        let without_key = meant(&["uuid=A"]).unwrap_err();
        assert_eq!(without_key.status(), ExitStatus::Usage);
    }

    #[test]
    fn labels_and_time_choose_what_they_say() {
        let mut rules = rules();
        rules[0]
            .metadata
            .labels
            .insert("team".to_owned(), "ml".to_owned());
        let annotations = &mut rules[1].metadata.annotations;
        annotations.insert(keys::EXPIRES.to_owned(), "2026-11-21T01:00:00Z".to_owned());
        let annotations = &mut rules[3].metadata.annotations;
        annotations.insert(keys::EXPIRES.to_owned(), "2026-11-21T01:00:01Z".to_owned());
        let labelled = Chooser::Labelled("team=ml".parse().unwrap());
        assert_eq!(found(&labelled, &rules), ["pool"]);
        assert_eq!(found(&Chooser::Expired, &rules), ["other"]);
    }

    #[test]
    fn what_is_missing_is_named_with_what_it_may_have_been() {
        let rules = rules();
        let meant = parsed(&["drani", "drain"])
            .unwrap()
            .select(&rules, at("2026-11-21T01:00:00Z"));
        assert_eq!(meant.rules.len(), 1);
        let failure = meant.all_missing().unwrap();
        assert_eq!(failure.to_string(), "no rule drani");
        assert!(failure.hints()[0].starts_with("did you mean"));
        assert!(failure.hints()[0].contains("drain"));
        assert!(SelectedRules::default().all_missing().is_none());
        let other = parsed(&[GPU, "example.com/other"]).unwrap();
        let failure = other
            .select(&rules, at("2026-11-21T01:00:00Z"))
            .all_missing()
            .unwrap();
        assert_eq!(
            failure.to_string(),
            format!("no rule with selector {GPU} has taint example.com/other")
        );
        // Rules for pools and devices of a driver are no rule for the driver.
        let driver = parsed(&["gpu.example.com/*/*", "example.com/maintenance"]).unwrap();
        let missing = driver
            .select(&rules, at("2026-11-21T01:00:00Z"))
            .all_missing();
        assert!(missing.is_some());
    }

    #[test]
    fn a_missing_rule_is_a_failure_unless_it_is_ignored() {
        let meant = || {
            let chooser = Chooser::Names(vec!["a".to_owned()]);
            chooser.select(&[], Timestamp::UNIX_EPOCH)
        };
        let (lines, failure) = meant().objection(false);
        assert!(lines.is_empty() && failure.is_some());
        let mut ignored = meant();
        let (lines, failure) = ignored.objection(true);
        assert_eq!(lines, ["no rule a"]);
        assert!(failure.is_none() && ignored.missing.is_empty());
    }

    fn refusal(reading: &Reading, name: &str) -> (String, Vec<String>) {
        let found = rules_in(reading).and_then(|rules| rule_named(name, rules));
        let failure = found.expect_err("no such rule");
        let told = [failure.details(), failure.hints()].concat();
        (failure.to_string(), told)
    }

    #[test]
    fn rules_that_could_not_be_read_are_not_known_instead_of_none() {
        let gap = Gap {
            why: "access denied for alice".to_owned(),
            ..Gap::of(Kind::DeviceTaintRule, "")
        };
        let reading = Reading {
            gaps: vec![gap],
            ..Reading::default()
        };
        let (text, hints) = refusal(&reading, "drain-a");
        assert_eq!(text, "access denied for alice");
        assert!(hints.is_empty(), "{hints:?}");
        assert!(rules_in(&reading).is_err());
    }

    #[test]
    fn of_all_rules_those_are_meant_that_are_named() {
        let all = ["a", "b", "c"].map(|name| named(name, "None"));
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let found = rules_named(&names, all.clone());
            let found = found.iter().map(|rule| rule.name.to_string());
            found.collect::<Vec<_>>()
        };
        assert_eq!(of(&["c", "a", "absent"]), ["a", "c"]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
