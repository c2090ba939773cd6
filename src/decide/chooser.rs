//! Selection of rules by name, label or device.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::choice::misspelt_name::meant_as_hardware;
use super::exit_status::of_parts;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, DeviceTaintRule};
use crate::naming::labels::LabelSelector;
use crate::naming::nearest::corrections;
use crate::naming::taint::TaintPattern;
use crate::naming::{NamingError, device, rule, taint};

/// What was typed to say which rules are meant.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleArguments<'a> {
    /// Names of rules, or devices and a taint.
    pub targets: &'a [String],
    /// `--selector`
    pub selector: Option<&'a LabelSelector>,
    /// `--expired`
    pub expired: bool,
    /// `--all`
    pub all: bool,
    /// `--ignore-not-found`
    pub absence: Absence,
}

/// Which rules are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chooser {
    /// Those of these names, each once, by name.
    Names(Vec<String>),
    /// Those that taint exactly these devices with such a taint.
    Taints(Vec<DeviceSelector>, TaintPattern),
    /// Those with such labels.
    Labelled(LabelSelector),
    /// Those that should be gone by now.
    Expired,
    /// All of them.
    All,
}

/// The rules that are meant, and why others are not among them.
#[derive(Debug, Default)]
pub struct SelectedRules {
    /// The rules, by name.
    pub rules: Vec<DeviceTaintRule>,
    /// One failure for each name, or devices with a taint, that nothing was found for.
    pub missing: Vec<Failure>,
}

impl Chooser {
    /// Understands what was typed. A target is
    ///
    /// - a taint, if it has `=` or `:` or ends in `-`, or is PREFIX/NAME,
    /// - devices, if it has two slashes or more, or stands beside a taint,
    /// - a taint's key, if it is the only word beside devices,
    /// - else the name of a rule, with or without its type.
    ///
    /// # Errors
    ///
    /// No way or more than one; devices without a taint, a taint without devices, names beside either.
    pub fn parse(ways: &RuleArguments<'_>) -> Result<Self, Failure> {
        let given = [
            (!ways.targets.is_empty(), "RULE or DEVICE"),
            (ways.selector.is_some(), "--selector"),
            (ways.expired, "--expired"),
            (ways.all, "--all"),
        ];
        let given: Vec<&str> = given
            .into_iter()
            .filter_map(|(is_given, way)| is_given.then_some(way))
            .collect();
        if let [first, second, ..] = given[..] {
            return Err(Failure::usage(format!(
                "{first} cannot be used together with {second}"
            )));
        }
        match ways.selector {
            Some(selector) => Ok(Self::Labelled(selector.clone())),
            None if ways.expired => Ok(Self::Expired),
            None if ways.all => Ok(Self::All),
            None if ways.targets.is_empty() => Err(Failure::usage("no rules specified").hint(
                "specify rule names, or devices and the key of a taint: DRIVER/POOL/DEVICE \
                    KEY",
            )),
            None => targets(ways.targets),
        }
    }

    /// Those of `rules` that are selected, at `now` by the server's clock.
    #[must_use]
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
            Self::Expired => all_found(keep(&|rule| rule.metadata.is_expired(now))),
            Self::All => all_found(keep(&|_| true)),
        }
    }

    /// Which rules are meant where devices were chosen by what they are: those that taint the devices
    /// `now`, and those that were made for this hardware, which are `noted`; both with the taint that was
    /// named. Where there is none, it is as it was typed.
    #[must_use]
    pub fn of_hardware(
        self,
        now: &[DeviceSelector],
        noted: &[&DeviceTaintRule],
        rules: &[DeviceTaintRule],
    ) -> Self {
        let Self::Taints(_, pattern) = &self else {
            return self;
        };
        let is_meant = |rule: &&DeviceTaintRule| {
            let mut now = now.iter();
            // A rule keeps its selector when the hardware moves to another name, so its note about the
            // hardware counts, too.
            let is_noted = noted.iter().any(|noted| noted.name == rule.name);
            now.any(|selector| has(rule, selector, pattern))
                || (is_noted && pattern.matches(&rule.taint))
        };
        let names: Vec<String> = rules
            .iter()
            .filter(is_meant)
            .map(|rule| rule.name.to_string())
            .collect();
        // The error of a taint that was not found names the devices; an empty selection would name nothing.
        if names.is_empty() {
            self
        } else {
            Self::Names(names)
        }
    }

    /// The taint that was named beside devices.
    #[must_use]
    pub fn pattern(&self) -> Option<&TaintPattern> {
        match self {
            Self::Taints(_, pattern) => Some(pattern),
            Self::Names(_) | Self::Labelled(_) | Self::Expired | Self::All => None,
        }
    }

    /// The names of the rules that can be meant, where they follow from what was typed: names
    /// themselves, and for devices with a key those that rules get which nobody has named. They can
    /// be found without a list of all rules.
    #[must_use]
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
    /// One failure for all that is not there, if anything is not.
    #[must_use]
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

/// What a word can be, by its form alone.
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

/// The devices among `targets`, and everything else as it was typed.
///
/// # Errors
///
/// What is written like a device and can be none.
pub fn devices_among(targets: &[String]) -> Result<(Vec<DeviceSelector>, Vec<String>), Failure> {
    let (mut devices, mut others) = (Vec::new(), Vec::new());
    for target in targets {
        match form(target) {
            Form::Devices(text) => devices.push(device::parse(&text).map_err(Failure::usage)?),
            Form::Name(_) | Form::Word(_) | Form::Taint(_) => others.push(target.clone()),
        }
    }
    Ok((devices, others))
}

fn targets(targets: &[String]) -> Result<Chooser, Failure> {
    let (mut names, mut words, mut devices, mut taints) = (vec![], vec![], vec![], vec![]);
    for target in targets {
        match form(target) {
            Form::Name(name) => names.push(name),
            Form::Word(word) => words.push(word),
            Form::Devices(text) => devices.push(text),
            Form::Taint(text) => taints.push(text),
        }
    }
    if taints.is_empty() && devices.is_empty() {
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
            return Err(
                Failure::usage(format!("{:?} is not the name of a rule", devices[0])).hint(
                    "to select a rule by its devices, add the key of its taint: DRIVER/POOL/DEVICE \
                     KEY",
                ),
            );
        }
        [first, second, ..] => {
            let failure = Failure::usage(format!("more than one taint: {first} and {second}"));
            return Err(meant_as_hardware(&taints, failure));
        }
    };
    let wrong = |error: NamingError| Failure::usage(error);
    let pattern = pattern(taint).map_err(wrong)?;
    if devices.is_empty() {
        let failure = Failure::usage(format!(
            "no devices specified for {}",
            taint::format(&pattern)
        ))
        .hint("specify devices as DRIVER/POOL/DEVICE, or a rule name");
        return Err(meant_as_hardware(&taints, failure));
    }
    let selectors = devices
        .iter()
        .map(|text| device::parse(text).map_err(wrong));
    Ok(Chooser::Taints(
        selectors.collect::<Result<_, _>>()?,
        pattern,
    ))
}

/// `KEY`, `KEY=VALUE`, `KEY:EFFECT`, with or without the dash that `remove` is used to.
fn pattern(text: &str) -> Result<TaintPattern, NamingError> {
    // One parser for both forms, so that `remove KEY-` and `escalate KEY` accept the same taints.
    let dashed = format!("{}-", text.strip_suffix('-').unwrap_or(text));
    TaintPattern::parse(&dashed).unwrap_or_else(|| {
        Err(NamingError::NoEffect {
            argument: text.to_owned(),
        })
    })
}

/// Whether the rule taints exactly these devices with such a taint.
fn has(rule: &DeviceTaintRule, selector: &DeviceSelector, pattern: &TaintPattern) -> bool {
    // Equal, not overlapping: a rule for a whole pool also taints devices that were not named.
    rule.selector.as_ref() == Some(selector) && pattern.matches(&rule.taint)
}

const LIST_RULES: &str = "list the rules with `kubectl devicetaint list`";

/// There is no rule of that name among `rules`, which are all that there are.
#[must_use]
pub fn no_such_rule(name: &str, rules: &[DeviceTaintRule]) -> Failure {
    let failure = Failure::new(ExitStatus::Failed, format!("no rule {name:?}"));
    let known: Vec<String> = rules.iter().map(|rule| rule.name.to_string()).collect();
    match corrections(name, known).as_slice() {
        [] => failure.hint(LIST_RULES),
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    }
}

fn no_such_taint(selector: &DeviceSelector, pattern: &TaintPattern) -> Failure {
    let devices = device::format(selector);
    Failure::new(
        ExitStatus::Failed,
        format!(
            "no rule with selector {devices} has taint {}",
            taint::format(pattern)
        ),
    )
    .hint(LIST_RULES)
}

/// Whether it is fine that a rule which is meant is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absence {
    /// It is.
    Ignored,
    /// That is a mistake.
    #[default]
    Refused,
}

impl Absence {
    /// That of `--ignore-not-found`.
    #[must_use]
    pub fn of(ignore_not_found: bool) -> Self {
        if ignore_not_found {
            Self::Ignored
        } else {
            Self::Refused
        }
    }
}

impl SelectedRules {
    /// One failure for all that is not there; where that is fine, lines that say what is not, and that
    /// is no failure any more.
    pub fn objection(&mut self, absence: Absence) -> (Vec<String>, Option<Failure>) {
        let ignored = match absence {
            Absence::Ignored => std::mem::take(&mut self.missing),
            Absence::Refused => Vec::new(),
        };
        let lines = ignored.iter().map(Failure::to_string).collect();
        let failure = self.all_missing();
        let hint = "to ignore missing rules: --ignore-not-found";
        (lines, failure.map(|failure| failure.hint(hint)))
    }
}

/// The rule of that name is gone, which was there when the command began.
#[must_use]
pub fn gone(name: &str) -> Failure {
    Failure::new(ExitStatus::Failed, format!("no rule {name:?}"))
        .hint("list the rules with `kubectl devicetaint list`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{KEY, named, selector};
    use crate::model::RuleMetadata;

    const GPU: &str = "gpu.example.com/node-7/gpu-0";

    fn parsed(targets: &[&str]) -> Result<Chooser, Failure> {
        let targets: Vec<String> = targets.iter().map(|text| (*text).to_owned()).collect();
        Chooser::parse(&RuleArguments {
            targets: &targets,
            ..RuleArguments::default()
        })
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
    fn devices_and_a_taint_are_understood_with_and_without_a_dash() {
        for taint in [KEY, "example.com/maintenance-"] {
            let expected = Chooser::Taints(
                vec![selector("gpu-0")],
                TaintPattern {
                    key: KEY.to_owned(),
                    value: None,
                    effect: None,
                },
            );
            assert_eq!(parsed(&[GPU, taint]).unwrap(), expected, "{taint}");
            assert_eq!(parsed(&[taint, GPU]).unwrap(), expected, "{taint}");
        }
        let Chooser::Taints(selectors, pattern) =
            parsed(&["gpu.example.com", "drain=x:NoExecute"]).unwrap()
        else {
            panic!("a taint");
        };
        assert_eq!(device::format(&selectors[0]), "gpu.example.com/*/*");
        assert_eq!(taint::format(&pattern), "drain=x:NoExecute");
        let Chooser::Taints(_, pattern) = parsed(&[GPU, "drain"]).unwrap() else {
            panic!("a taint");
        };
        assert_eq!(pattern.key, "drain");
    }

    #[test]
    fn what_can_be_read_in_two_ways_or_none_is_refused() {
        for (targets, said) in [
            (&[GPU][..], "is not the name of a rule"),
            (
                &[KEY][..],
                "no devices specified for example.com/maintenance",
            ),
            (&[GPU, "a:None", "b:None"][..], "more than one taint"),
            (&[GPU, "a", "b"][..], "is not the name of a rule"),
            (
                &[GPU, KEY, "devicetaintrule/x"][..],
                "rule x cannot be combined",
            ),
            (&["pod/x"][..], "no devices"),
        ] {
            let failure = parsed(targets).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Usage);
            assert!(failure.to_string().contains(said), "{targets:?}: {failure}");
        }
        let none = Chooser::parse(&RuleArguments::default()).unwrap_err();
        assert_eq!(none.to_string(), "no rules specified");
        let two = Chooser::parse(&RuleArguments {
            expired: true,
            all: true,
            ..RuleArguments::default()
        });
        assert_eq!(
            two.unwrap_err().to_string(),
            "--expired cannot be used together with --all"
        );
    }

    #[test]
    fn every_other_way_chooses_what_it_says() {
        let expired = RuleArguments {
            expired: true,
            ..RuleArguments::default()
        };
        assert_eq!(Chooser::parse(&expired).unwrap(), Chooser::Expired);
        let all = RuleArguments {
            all: true,
            ..RuleArguments::default()
        };
        assert_eq!(Chooser::parse(&all).unwrap(), Chooser::All);
    }

    #[test]
    fn nothing_is_meant_that_was_not_named() {
        let rules = rules();
        assert_eq!(found(&parsed(&["drain"]).unwrap(), &rules), ["drain"]);
        assert_eq!(found(&parsed(&["drai"]).unwrap(), &rules), [""; 0]);
        assert_eq!(
            found(&parsed(&["drain-2", "drain"]).unwrap(), &rules),
            ["drain", "drain-2"]
        );
        assert_eq!(found(&Chooser::All, &rules).len(), rules.len());
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
    fn hardware_means_the_rules_on_it_and_those_that_were_made_for_it() {
        let mut rules = rules();
        // Made for the hardware that is gpu-1 now, when it was gpu-5.
        let mut moved = named("moved", "NoExecute");
        moved.selector = Some(selector("gpu-5"));
        rules.push(moved.clone());
        let meant = |taint: &str, now: &[DeviceSelector], noted: &[&DeviceTaintRule]| {
            let chooser = parsed(&["gpu.example.com/node-7/gpu-1", taint]).unwrap();
            found(&chooser.of_hardware(now, noted, &rules), &rules)
        };
        let now = [selector("gpu-1")];
        assert_eq!(meant(KEY, &now, &[&moved]), ["moved", "other"]);
        assert_eq!(
            meant("example.com/maintenance:NoExecute", &now, &[&moved]),
            ["moved"]
        );
        assert_eq!(meant(KEY, &now, &[]), ["other"]);
        // Nobody publishes it any more.
        assert_eq!(meant(KEY, &[], &[&moved]), ["moved"]);
        assert_eq!(meant("example.com/other", &now, &[&moved]), [""; 0]);
    }

    #[test]
    fn labels_and_time_choose_what_they_say() {
        let mut rules = rules();
        rules[0]
            .metadata
            .labels
            .insert("team".to_owned(), "ml".to_owned());
        let annotations = &mut rules[1].metadata.annotations;
        annotations.insert(
            RuleMetadata::EXPIRES.to_owned(),
            "2026-11-21T01:00:00Z".to_owned(),
        );
        let annotations = &mut rules[3].metadata.annotations;
        annotations.insert(
            RuleMetadata::EXPIRES.to_owned(),
            "2026-11-21T01:00:01Z".to_owned(),
        );
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
        assert_eq!(failure.to_string(), "no rule \"drani\"");
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
    fn names_follow_from_devices_and_key() {
        let names = parsed(&[GPU, KEY]).unwrap().names().unwrap();
        assert_eq!(names, [rule::name(&selector("gpu-0"), KEY)]);
        assert_eq!(Chooser::Expired.names(), None);
    }

    #[test]
    fn what_is_not_there_is_a_mistake_unless_that_is_fine() {
        let meant = || {
            let chooser = Chooser::Names(vec!["a".to_owned()]);
            chooser.select(&[], Timestamp::UNIX_EPOCH)
        };
        let (lines, failure) = meant().objection(Absence::Refused);
        assert!(lines.is_empty());
        let failure = failure.expect("a mistake");
        assert!(
            failure
                .hints()
                .iter()
                .any(|hint| hint.ends_with("--ignore-not-found"))
        );
        let mut fine = meant();
        let (lines, failure) = fine.objection(Absence::Ignored);
        assert_eq!(lines, ["no rule \"a\""]);
        assert!(failure.is_none() && fine.missing.is_empty());
    }

    #[test]
    fn of_several_devices_the_rules_of_each_are_meant() {
        let chooser = parsed(&[GPU, "gpu.example.com/node-7/gpu-1", KEY]).unwrap();
        assert_eq!(found(&chooser, &rules()), ["drain", "drain-2", "other"]);
    }
}
