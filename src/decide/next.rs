//! The command to run next, or why there is none.
//!
//! A command is printed to be pasted: it means what was looked at, under the guards that held for the
//! look, and agrees to nothing else. One that is known to be refused is not printed; why there is none
//! is said instead.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use super::add::{AddStep, Existing, Terms, add};
use super::choice::{Choice, ChoiceBasis, refuse_unknown_on_node};
use super::draft::RuleDraft;
use super::drafts::RuleAnnotations;
use super::effect::rank;
use super::identity::{OtherHardware, refuse_other_hardware};
use super::next_words::{after_add, before_eviction, timeout_until};
use super::policy::{CheckedRule, Policies};
use super::proposal::ProposedRule;
use crate::assess::{Assessment, ImpactFacts};
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, Reading};
use crate::naming::device;
use crate::naming::shell::word;

/// What was typed beside devices and taint, and holds for the next command too.
#[derive(Clone, Copy, Debug)]
pub struct RepeatedArguments<'a> {
    /// `--abort-if`
    pub guards: &'a [String],
    /// `--policy`
    pub files: &'a [PathBuf],
    /// What these files say.
    pub policies: &'a Policies,
    /// `--identity-attribute`
    pub identity_attributes: &'a [String],
    /// What becomes of names that match nothing.
    pub absent: UnmatchedNames,
}

/// What becomes of names that match no device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnmatchedNames {
    /// They are mistakes, unless nobody can know what there is.
    Refused,
    /// They are fine: somebody has said so.
    Allowed,
}

impl From<bool> for UnmatchedNames {
    /// By `--allow-missing`.
    fn from(is_allowed: bool) -> Self {
        if is_allowed {
            Self::Allowed
        } else {
            Self::Refused
        }
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug)]
pub struct ViewedAnswer<'a> {
    /// Which devices are meant, as it was typed.
    pub typed: &'a Choice,
    /// These devices by their names.
    pub resolved: &'a Choice,
    /// The manifests that were given, each with the object as it is written.
    pub manifests: &'a [(DeviceTaintRule, Value)],
    /// Whom it hits.
    pub assessment: &'a Assessment,
    /// What was read.
    pub reading: &'a Reading,
    /// How the cluster behaves.
    pub semantics: &'a Semantics,
    /// When that was.
    pub now: Timestamp,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// A command to paste.
    Command(String),
    /// None, and why; what else can be done.
    Refused(String, Vec<String>),
}

impl NextStep {
    /// What there is to say, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Command(line) => line.clone(),
            Self::Refused(why, _) => format!("no next command: {why}"),
        }
    }
}

impl NextStep {
    /// What else can be done.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        match self {
            Self::Command(_) => &[],
            Self::Refused(_, hints) => hints,
        }
    }
}

impl From<Failure> for NextStep {
    /// Of a look nobody expects that it changes anything.
    fn from(failure: Failure) -> Self {
        let why = failure.to_string();
        let why = why.strip_suffix("; nothing was changed").unwrap_or(&why);
        Self::Refused(why.to_owned(), failure.hints().to_vec())
    }
}

/// What to do after a look; absent where no taint was named, so that there is nothing to add.
#[must_use]
pub fn next(looked: &ViewedAnswer<'_>, kept: &RepeatedArguments<'_>) -> Option<NextStep> {
    let next = match (&looked.typed.by, &looked.typed.taint) {
        // A file without rules.
        (ChoiceBasis::Manifests(files), _)
            if looked.manifests.is_empty() && !files.contains(&PathBuf::from("-")) =>
        {
            return None;
        }
        (ChoiceBasis::Selectors(_) | ChoiceBasis::Filtered(..), None) => return None,
        (ChoiceBasis::Rules(names), _) => escalation(names, looked, kept),
        (ChoiceBasis::Selectors(_) | ChoiceBasis::Filtered(..) | ChoiceBasis::Manifests(_), _) => {
            addition(looked, kept)
        }
    };
    Some(next.unwrap_or_else(NextStep::from))
}

/// What to do with devices that were chosen while no taint was named: look at them alone.
#[must_use]
pub fn look_at(choice: &Choice) -> NextStep {
    let devices = devices(choice).join(" ");
    NextStep::Command(format!("next: kubectl devicetaint preview {devices}"))
}

/// What to do with nodes that were chosen while no taint was named: drain them, with the `flags` without which that is
/// refused.
#[must_use]
pub fn drain_nodes(nodes: &[String], flags: &[&str]) -> NextStep {
    let nodes: Vec<String> = nodes
        .iter()
        .map(|node| format!("--node {}", word(node)))
        .collect();
    drain(&nodes, flags)
}

/// What to do with devices that were chosen while no taint was named: drain them, with the `flags` without which that is
/// refused.
#[must_use]
pub fn drain_devices(choice: &Choice, flags: &[&str]) -> NextStep {
    drain(&devices(choice), flags)
}

fn drain(devices: &[String], flags: &[&str]) -> NextStep {
    let words = devices
        .iter()
        .map(String::as_str)
        .chain(flags.iter().copied());
    let words: Vec<&str> = words.collect();
    NextStep::Command(format!(
        "next: kubectl devicetaint drain {} --dry-run",
        words.join(" ")
    ))
}

/// The command that makes the rules, or what comes after it where they are there.
fn addition(looked: &ViewedAnswer<'_>, kept: &RepeatedArguments<'_>) -> Result<NextStep, Failure> {
    let stdin = PathBuf::from("-");
    // Standard input is used up: the same command would read nothing.
    if let ChoiceBasis::Manifests(files) = &looked.typed.by
        && files.contains(&stdin)
    {
        let why = "the manifest came from standard input; save it, and pass the file to `add`";
        return Ok(NextStep::Refused(why.to_owned(), Vec::new()));
    }
    if let Some(filter) = looked.typed.filter() {
        let slices = &looked.reading.snapshot.slices;
        refuse_unknown_on_node(filter, looked.resolved, slices)?;
    }
    let drafts = RuleAnnotations::default().drafts(looked.resolved, looked.manifests.to_vec())?;
    // As the printed command runs, which has no `--overwrite`.
    let terms = Terms {
        existing: Existing::Kept,
        semantics: looked.semantics,
        now: looked.now,
    };
    let rules = &looked.reading.snapshot.rules;
    if !drafts.is_empty() && drafts.iter().all(|draft| is_more_than_there(draft, rules)) {
        let names: Vec<String> = drafts.into_iter().map(|draft| draft.name).collect();
        return escalation(&names, looked, kept);
    }
    let steps = add(drafts, rules, &terms)?;
    if !steps.iter().any(AddStep::is_open) {
        let names: Vec<String> = steps.iter().map(|step| step.draft().name.clone()).collect();
        // A rule that keeps pods off does all that was looked at; to let it evict is another decision.
        let keeps_off = |step: &AddStep| step.draft().taint.effect == Effect::NoSchedule;
        if steps.iter().all(keeps_off) {
            let line = after_add(&names.join(" "), &Effect::NoSchedule);
            return Ok(NextStep::Command(line));
        }
        return escalation(&names, looked, kept);
    }
    let effects: Vec<&Effect> = steps
        .iter()
        .map(|step| &step.draft().taint.effect)
        .collect();
    let evicts = effects.contains(&&Effect::NoExecute);
    let unknown = looked.assessment.facts.unknown_evictions();
    // A weaker effect evicts nobody, so that only a guard needs the number.
    if !unknown.is_empty() && (evicts || !looked.assessment.guards.is_empty()) {
        return Ok(whom_is_not_known("add", &unknown));
    }
    let mut words = vec!["next: kubectl devicetaint add".to_owned()];
    words.extend(devices(looked.typed));
    words.extend(
        looked
            .typed
            .taint
            .iter()
            .map(|taint| word(&taint.to_string())),
    );
    words.extend(
        looked
            .typed
            .filter()
            .into_iter()
            .flat_map(|filter| filter.flags()),
    );
    // With a filter, its flags name them already.
    if looked.typed.filter().is_none() {
        let attributes = kept.identity_attributes.iter();
        words.extend(attributes.map(|name| format!("--identity-attribute {}", word(name))));
    }
    if kept.absent == UnmatchedNames::Allowed {
        words.push("--allow-missing".to_owned());
    }
    words.extend(guards(kept));
    let agreed = if evicts {
        Some(all_of(&looked.assessment.facts))
    } else {
        hardware_of(looked)
    };
    words.extend(agreed.map(|mark| format!("--expect {mark}")));
    let asked: Vec<CheckedRule> = steps
        .iter()
        .map(|step| ProposedRule::from(step).asked())
        .collect();
    // Empty, to be filled in: the policy refuses the command without them.
    let unsaid = kept.policies.unsaid(&asked);
    words.extend(unsaid.iter().map(|flag| format!("{flag}=")));
    Ok(NextStep::Command(words.join(" ")))
}

/// Whether a rule is there that is as the draft asks for but that it evicts nobody yet: `add` leaves it
/// so, and `escalate` does what is asked for.
fn is_more_than_there(draft: &RuleDraft, rules: &[DeviceTaintRule]) -> bool {
    let mut rules = rules.iter();
    let found = rules.find(|rule| rule.name.as_str() == draft.name);
    found.is_some_and(|rule| {
        let is_same = rule.selector.as_ref() == Some(&draft.selector)
            && rule.taint.key == draft.taint.key
            && rule.taint.value == draft.taint.value;
        let is_less = rank(&rule.taint.effect) < rank(&Effect::NoExecute);
        is_same
            && is_less
            && draft.taint.effect == Effect::NoExecute
            // An unknown effect has no rank, and `None` is less than any: it may evict already.
            && rank(&rule.taint.effect).is_some()
            && rule.metadata.deletion.is_none()
    })
}

/// The command that lets the rules of these names evict, or waits where they do.
fn escalation(
    names: &[String],
    looked: &ViewedAnswer<'_>,
    kept: &RepeatedArguments<'_>,
) -> Result<NextStep, Failure> {
    let rules = looked.reading.snapshot.rules.iter();
    let is_meant = |rule: &&DeviceTaintRule| names.iter().any(|name| rule.name.as_str() == name);
    let rules: Vec<DeviceTaintRule> = rules.filter(is_meant).cloned().collect();
    let evicting = |rule: &&DeviceTaintRule| rule.taint.effect == Effect::NoExecute;
    let (done, open): (Vec<_>, Vec<_>) = rules.iter().partition(evicting);
    let names = names.join(" ");
    if open.is_empty() {
        return Ok(NextStep::Command(after_add(&names, &Effect::NoExecute)));
    }
    let mut words = vec![before_eviction(&names)];
    let last = looked.assessment.totals.last_eviction;
    words.extend(last.and_then(|due| timeout_until(due, looked.now)));
    let open: Vec<DeviceTaintRule> = open.into_iter().cloned().collect();
    let refused = OtherHardware::Refused;
    if refuse_other_hardware(&open, looked.reading, looked.semantics, refused).is_err() {
        let why = "`escalate` refuses rules whose hardware has changed: remove these rules and add rules for \
            the intended devices, or use --accept-identity-change";
        return Ok(NextStep::Refused(why.to_owned(), Vec::new()));
    }
    let unknown = looked.assessment.facts.unknown_evictions();
    if !unknown.is_empty() {
        return Ok(whom_is_not_known("escalate", &unknown));
    }
    words.extend(guards(kept));
    // What evicts already is not what this agrees to, and of NoSchedule nobody has looked whom NoExecute
    // would hit.
    let mut taints = looked.assessment.facts.taints.iter();
    let is_previewed = taints.all(|proposed| proposed.taint.effect == Effect::NoExecute);
    let agreed = if done.is_empty() && is_previewed {
        Some(all_of(&looked.assessment.facts))
    } else {
        hardware_of(looked)
    };
    words.extend(agreed.map(|mark| format!("--expect {mark}")));
    Ok(NextStep::Command(words.join(" ")))
}

fn whom_is_not_known(command: &str, unknown: &[String]) -> NextStep {
    let why = format!(
        "the impact is unknown, so `{command}` will ask for confirmation ({})",
        unknown.join("; ")
    );
    NextStep::Refused(why, Vec::new())
}

/// The guards that held for the look.
fn guards(kept: &RepeatedArguments<'_>) -> Vec<String> {
    let files = kept
        .files
        .iter()
        .map(|file| format!("--policy {}", word(&file.display().to_string())));
    let guards = kept
        .guards
        .iter()
        .map(|guard| format!("--abort-if {}", word(guard)));
    files.chain(guards).collect()
}

/// What agrees to an impact, and to nothing else.
fn all_of(facts: &ImpactFacts) -> String {
    let hardware = facts.short_hardware_digest();
    let hardware = hardware.filter(|_| facts.knows_hardware());
    let parts = [facts.short_digest()].into_iter().chain(hardware);
    parts.collect::<Vec<_>>().join(",")
}

/// What agrees to the devices, whomever it hits: nobody is evicted. Names that were typed need none, unless
/// it is known what they stand for.
fn hardware_of(looked: &ViewedAnswer<'_>) -> Option<String> {
    let facts = &looked.assessment.facts;
    let is_told = facts.knows_hardware() || looked.typed.filter().is_some();
    facts.short_hardware_digest().filter(|_| is_told)
}

/// The devices as they were typed.
fn devices(choice: &Choice) -> Vec<String> {
    let named = |selector: &DeviceSelector| {
        if *selector == DeviceSelector::default() {
            "--all-devices".to_owned()
        } else {
            word(&device::format(selector))
        }
    };
    match &choice.by {
        ChoiceBasis::Selectors(selectors) => selectors.iter().map(named).collect(),
        ChoiceBasis::Filtered(filter, selectors) => {
            let named = selectors.iter().map(named);
            named.chain(filter.hardware()).collect()
        }
        ChoiceBasis::Manifests(files) => {
            let files = files.iter().map(|file| file.display().to_string());
            files.map(|file| format!("-f {}", word(&file))).collect()
        }
        ChoiceBasis::Rules(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::choice::{DeviceArguments, DeviceFilterFlags, Purpose};
    use crate::decide::policy::{DeviceTaintPolicy, Policy, Requirement};
    use crate::decide::testing::named;
    use crate::model::{Affects, Gap, RuleMetadata};
    use crate::report::testing::{self, Example};

    const GPU: &str = "gpu.example.com/node-7/gpu-0";

    fn typed(arguments: &[&str]) -> DeviceArguments {
        DeviceArguments {
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            ..DeviceArguments::default()
        }
    }

    /// What came of a look, with the digests by their names.
    struct Look {
        typed: DeviceArguments,
        /// What the devices are by their names, where they were typed otherwise.
        resolved: Option<Vec<DeviceSelector>>,
        assessment: Assessment,
        reading: Reading,
        guards: Vec<String>,
        requires: Vec<Requirement>,
        absent: UnmatchedNames,
    }

    fn look(typed: DeviceArguments) -> Look {
        let mut reading = testing::reading();
        let rule = |name: &str, effect: &str| named(name, effect);
        reading.snapshot.rules = vec![
            rule("quiet", "None"),
            rule("silent", "None"),
            rule("blocking", "NoSchedule"),
            rule("evicting", "NoExecute"),
        ];
        Look {
            typed,
            resolved: None,
            assessment: Example::new().report().assessment,
            reading,
            guards: Vec::new(),
            requires: Vec::new(),
            absent: UnmatchedNames::Refused,
        }
    }

    impl Look {
        fn identified(mut self) -> Self {
            let identity = [("gpu.example.com/uuid".to_owned(), "GPU-A".to_owned())];
            let identities = [(GPU.to_owned(), identity.into())].into();
            self.assessment.facts = self.assessment.facts.with_identities(&identities);
            self
        }

        fn next(&self) -> Option<NextStep> {
            let typed = Choice::parse(&self.typed, Purpose::Assess).unwrap();
            let resolved = match &self.resolved {
                Some(selectors) => Choice {
                    by: ChoiceBasis::Selectors(selectors.clone()),
                    ..typed.clone()
                },
                None => typed.clone(),
            };
            let policies = Policies(vec![Policy {
                name: "team.yaml".to_owned(),
                terms: DeviceTaintPolicy {
                    require: self.requires.clone(),
                    ..DeviceTaintPolicy::default()
                },
            }]);
            let files = [PathBuf::from("team.yaml")];
            let looked = ViewedAnswer {
                typed: &typed,
                resolved: &resolved,
                manifests: &[],
                assessment: &self.assessment,
                reading: &self.reading,
                semantics: &testing::semantics(37),
                now: testing::now(),
            };
            let kept = RepeatedArguments {
                guards: &self.guards,
                files: if self.requires.is_empty() {
                    &[]
                } else {
                    &files
                },
                policies: &policies,
                identity_attributes: &self.typed.filters.identity_attributes,
                absent: self.absent,
            };
            next(&looked, &kept)
        }

        /// The command, with SEEN for the digest and HARDWARE for that of the hardware.
        fn command(&self) -> String {
            let facts = &self.assessment.facts;
            let hardware = facts.short_hardware_digest().unwrap();
            match self.next() {
                Some(NextStep::Command(line)) => line
                    .replace(&facts.short_digest(), "SEEN")
                    .replace(&hardware, "HARDWARE")
                    .replace("next: kubectl devicetaint ", ""),
                other => panic!("a command: {other:?}"),
            }
        }

        fn refused(&self) -> String {
            match self.next() {
                Some(NextStep::Refused(why, _)) => why,
                other => panic!("none: {other:?}"),
            }
        }
    }

    fn rules(names: &[&str]) -> DeviceArguments {
        DeviceArguments {
            rules: names.iter().map(|name| (*name).to_owned()).collect(),
            ..DeviceArguments::default()
        }
    }

    #[test]
    fn what_comes_next_can_be_pasted() {
        for (name, typed, next) in [
            (
                "what was looked at",
                typed(&["gpu.example.com/node-7/*", "a.example.com/k=v:None"]),
                "add 'gpu.example.com/node-7/*' a.example.com/k=v:None",
            ),
            (
                "whom it evicts",
                typed(&["gpu.example.com/node-7/*", "a.example.com/k=v:NoExecute"]),
                "add 'gpu.example.com/node-7/*' a.example.com/k=v:NoExecute --expect SEEN",
            ),
            (
                "rules that do nothing yet",
                rules(&["quiet", "silent"]),
                "escalate quiet silent --to NoExecute --wait --timeout 152m --expect SEEN",
            ),
            (
                "a rule that no consequence yet",
                rules(&["quiet", "evicting"]),
                "escalate quiet evicting --to NoExecute --wait --timeout 152m",
            ),
            (
                "one that evicts",
                rules(&["evicting"]),
                "wait evicting --for evicted",
            ),
            (
                "all devices",
                DeviceArguments {
                    all_devices: true,
                    ..typed(&["a.example.com/k=v:NoSchedule"])
                },
                "add --all-devices a.example.com/k=v:NoSchedule",
            ),
        ] {
            assert_eq!(look(typed).command(), next, "{name}");
        }
        assert_eq!(look(typed(&["gpu.example.com"])).next(), None);
    }

    #[test]
    fn what_comes_next_agrees_to_the_hardware_that_was_seen() {
        for (typed, next) in [
            (
                typed(&[GPU, "k:NoExecute"]),
                "add gpu.example.com/node-7/gpu-0 k:NoExecute --expect SEEN,HARDWARE",
            ),
            (
                typed(&[GPU, "k:None"]),
                "add gpu.example.com/node-7/gpu-0 k:None --expect HARDWARE",
            ),
            (
                rules(&["quiet"]),
                "escalate quiet --to NoExecute --wait --timeout 152m --expect SEEN,HARDWARE",
            ),
        ] {
            assert_eq!(look(typed).identified().command(), next);
        }
    }

    #[test]
    fn a_rule_of_which_nobody_has_looked_whom_it_would_evict_is_not_agreed_to() {
        let blocking = || {
            let mut example = Example::new();
            example.proposed.taint.effect = Effect::NoSchedule;
            Look {
                assessment: example.report().assessment,
                ..look(rules(&["blocking"]))
            }
        };
        let next = "escalate blocking --to NoExecute --wait --timeout 152m";
        assert_eq!(blocking().command(), next);
        let agreed = format!("{next} --expect HARDWARE");
        assert_eq!(blocking().identified().command(), agreed);
    }

    #[test]
    fn devices_stay_chosen_as_they_were_typed() {
        let filtered = |arguments: &[&str], filters: DeviceFilterFlags| {
            let mut look = look(DeviceArguments {
                filters,
                ..typed(arguments)
            });
            look.resolved = Some(vec![device::parse(GPU).unwrap()]);
            look
        };
        for (look, next) in [
            (
                filtered(&["uuid=GPU-A", "k:NoExecute"], DeviceFilterFlags::default()).identified(),
                "add uuid=GPU-A k:NoExecute --expect SEEN,HARDWARE",
            ),
            (
                filtered(
                    &["gpu.example.com/node-7/*", "k:NoSchedule"],
                    DeviceFilterFlags {
                        pod: Some("train-0".to_owned()),
                        namespace: Some("team-a".to_owned()),
                        with_partitions: true,
                        ..DeviceFilterFlags::default()
                    },
                ),
                "add 'gpu.example.com/node-7/*' k:NoSchedule --pod team-a/train-0 --with-partitions --expect HARDWARE",
            ),
            (
                filtered(
                    &["slot=3", "k:None"],
                    DeviceFilterFlags {
                        expressions: vec!["device.driver == 'd'".to_owned()],
                        node: Some("node-7".to_owned()),
                        class: Some("gpu".to_owned()),
                        claim: Some("team-a/gpu".to_owned()),
                        attributes: vec!["memory>=40Gi".to_owned()],
                        identity_attributes: vec!["slot".to_owned()],
                        skips_errors: true,
                        ..DeviceFilterFlags::default()
                    },
                ),
                r"add slot=3 k:None --where 'device.driver == '\''d'\''' --node node-7 --class gpu --claim team-a/gpu --attribute 'memory>=40Gi' --identity-attribute slot --skip-errors --expect HARDWARE",
            ),
        ] {
            assert_eq!(look.command(), next);
        }
    }

    #[test]
    fn the_guards_of_the_look_hold_for_what_comes_next() {
        let kept = |typed: DeviceArguments, requires: &[Requirement]| Look {
            guards: vec!["pods.evicted>20".to_owned()],
            requires: requires.to_vec(),
            absent: UnmatchedNames::Allowed,
            ..look(typed)
        };
        for (look, next) in [
            (
                kept(typed(&["d", "k:None"]), &[Requirement::ReasonOrTicket]),
                "add 'd/*/*' k:None --allow-missing --policy team.yaml --abort-if 'pods.evicted>20' --reason=",
            ),
            (
                kept(
                    typed(&["d", "k:NoExecute"]),
                    &[Requirement::Ticket, Requirement::Reason],
                ),
                "add 'd/*/*' k:NoExecute --allow-missing --policy team.yaml --abort-if 'pods.evicted>20' --expect SEEN --ticket= --reason=",
            ),
            (
                kept(rules(&["quiet"]), &[Requirement::Reason]),
                "escalate quiet --to NoExecute --wait --timeout 152m --policy team.yaml --abort-if 'pods.evicted>20' --expect SEEN",
            ),
        ] {
            assert_eq!(look.command(), next);
        }
        let named = Look {
            requires: Vec::new(),
            ..kept(
                DeviceArguments {
                    filters: DeviceFilterFlags {
                        identity_attributes: vec!["slot".to_owned()],
                        ..DeviceFilterFlags::default()
                    },
                    ..typed(&[GPU, "k:None"])
                },
                &[],
            )
        };
        assert_eq!(
            named.command(),
            "add gpu.example.com/node-7/gpu-0 k:None --identity-attribute slot --allow-missing --abort-if 'pods.evicted>20'"
        );
    }

    #[test]
    fn a_command_that_would_be_refused_is_not_printed() {
        let unknown = |typed: DeviceArguments, guards: &[&str]| {
            let mut look = look(typed);
            look.assessment.facts.gaps.push(Gap {
                what: "pods".to_owned(),
                why: "access denied".to_owned(),
                affects: Affects::Evictions,
            });
            let guards = guards.iter().map(|guard| guard.parse().unwrap());
            let guards: Vec<crate::assess::Guard> = guards.collect();
            let limits = crate::assess::Limits {
                guards: &guards,
                ..Default::default()
            };
            look.assessment.guards = Example::new().report_within(&limits).assessment.guards;
            look
        };
        for look in [
            unknown(typed(&["d", "k:NoExecute"]), &[]),
            unknown(typed(&["d", "k:None"]), &["pods.evicted>20"]),
            unknown(rules(&["quiet"]), &[]),
        ] {
            let why = look.refused();
            assert!(why.contains("pods: access denied"), "{why}");
        }
        // Who does nothing to anybody needs to know nobody.
        let harmless = unknown(typed(&["d", "k:None"]), &[]).command();
        assert_eq!(harmless, "add 'd/*/*' k:None");
        // `add` reads the rules that it makes by name, so that it works without the permission to list them.
        let mut unlisted = look(typed(&["d", "k:None"]));
        let gap = Gap::of(crate::model::Kind::DeviceTaintRule, "access denied");
        unlisted.reading.gaps.push(gap);
        assert_eq!(unlisted.command(), harmless);

        // The name of the rule is taken by one that does something else.
        let mut taken = look(typed(&[GPU, "k=v:NoExecute"]));
        let name = crate::naming::rule::name(&device::parse(GPU).unwrap(), "k");
        let mut rule = named(&name, "None");
        rule.taint.key = "k".to_owned();
        taken.reading.snapshot.rules.push(rule);
        let why = taken.refused();
        assert!(why.contains(&name), "{why}");
        assert!(!why.contains("nothing was changed"), "{why}");
        // One that does less is to do more.
        for effect in ["None", "NoSchedule"] {
            taken.typed = typed(&[GPU, "k:NoExecute"]);
            let there = taken.reading.snapshot.rules.last_mut().unwrap();
            there.taint.effect = Effect::from(effect);
            let escalated =
                format!("escalate {name} --to NoExecute --wait --timeout 152m --expect SEEN");
            assert_eq!(taken.command(), escalated, "{effect}");
            taken.typed = typed(&[GPU, "k:NoSchedule"]);
            if effect == "None" {
                assert!(taken.refused().contains(&name));
            }
        }
        let there = taken.reading.snapshot.rules.last_mut().unwrap();
        there.taint.effect = Effect::None;
        // What is there as it was asked for need not be added.
        taken.typed = typed(&[GPU, "k:None"]);
        let rules = &mut taken.reading.snapshot.rules;
        let there = rules.last_mut().unwrap();
        let batch = crate::naming::rule::batch(&[device::parse(GPU).unwrap()], &there.taint);
        let labels = &mut there.metadata.labels;
        labels.insert(RuleMetadata::BATCH.to_owned(), batch);
        assert_eq!(
            taken.command(),
            format!("escalate {name} --to NoExecute --wait --timeout 152m --expect SEEN")
        );

        let stdin = DeviceArguments {
            filenames: vec!["-".into()],
            ..DeviceArguments::default()
        };
        assert!(look(stdin).refused().contains("standard input"));
    }

    #[test]
    fn a_rule_whose_hardware_has_changed_is_not_to_be_escalated() {
        let mut look = look(rules(&["quiet"]));
        let device = testing::published("gpu-0", &[("uuid", "GPU-B")]);
        look.reading.snapshot.slices = vec![testing::slice(vec![device])];
        let note = |look: &mut Look, uuid: &str| {
            let rule = &mut look.reading.snapshot.rules[0];
            let text = format!("{{\"gpu.example.com/uuid\":{uuid:?}}}");
            let annotations = &mut rule.metadata.annotations;
            annotations.insert(RuleMetadata::IDENTITY.to_owned(), text);
        };
        note(&mut look, "GPU-B");
        assert!(look.command().starts_with("escalate quiet"));
        note(&mut look, "GPU-A");
        let why = look.refused();
        assert!(why.contains("--accept-identity-change"), "{why}");
    }
}
