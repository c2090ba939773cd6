//! Explanation of what a rule selects.

use super::origin::{published, since};
use super::step::{FieldReference, Step, StepType};
use super::verdict::describe_in;
use super::view::Explained;
use crate::assess::Basis;
use crate::assess::{CountSubject, ReportCompleteness};
use crate::engine::beside::pods_beside;
use crate::engine::explain::PodVerdict;
use crate::engine::rule_lifecycle::EvictionStatus;
use crate::engine::{DeviceImpact, Impact, PodImpact, ProposedTaint, Verdict, selection};
use crate::model::{Count, Gap, Kind};
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, NamespacedName, ResourceClaim,
};
use crate::naming::phrase::counted;
use crate::report::rule_lifecycle::NO_CONDITION;

/// What the rule selects and why, what the controller says of it, and what each selected device does.
#[must_use]
pub fn explain_rule(rule: &DeviceTaintRule, basis: &Basis<'_>) -> Explained {
    let as_it_is = [ProposedTaint::of_changed_rule(
        rule,
        &rule.taint.effect,
        basis.now,
    )];
    let impact = basis.impact(&as_it_is);
    // A rule with effect None is taken for one with NoExecute here: that is what it is made to preview.
    let would = [ProposedTaint::of_rule(rule, basis.now)];
    let would = basis.impact(&would);
    let teller = RuleSteps {
        rule,
        basis,
        impact: &impact,
    };
    let devices = teller.devices();
    let steps = teller
        .selector()
        .into_iter()
        .chain([teller.taint(), teller.condition()])
        .chain(devices);
    let selected = known(impact.devices.len(), CountSubject::Selected, basis);
    let selected = worded(selected, "device");
    let pods = |impact: &Impact<'_>, verb: &str| pods(impact, verb, basis);
    let answer = match &rule.taint.effect {
        Effect::NoExecute => format!("selects {selected}, and {}", pods(&impact, "evicts")),
        Effect::None => format!(
            "selects {selected}, and evicts no pods; with NoExecute it {}",
            pods(&would, "would evict")
        ),
        Effect::NoSchedule | Effect::Unknown(_) => {
            format!("selects {selected}, and evicts no pods")
        }
    };
    let beside = pods_beside(&basis.reading.snapshot, &as_it_is, &impact, basis.semantics);
    let beside = beside.get(&rule.name).copied().unwrap_or_default();
    Explained {
        message: format!("{answer}{}", on_partitions(beside)),
        steps: steps.collect(),
        ..Explained::of_rule(&rule.name)
    }
}

/// That so many pods use the hardware of the devices through other devices, to follow the answer.
fn on_partitions(pods: usize) -> String {
    match pods {
        0 => String::new(),
        1 => "; 1 more pod uses partitions of the devices, and is not evicted".to_owned(),
        more => format!("; {more} more pods use partitions of the devices, and are not evicted"),
    }
}

/// Whom the only rule of `impact` evicts, as far as that is known, and who is on the way out already.
fn pods(impact: &Impact<'_>, verb: &str, basis: &Basis<'_>) -> String {
    let (pods, terminating) = impact
        .rules
        .first()
        .map_or((0, 0), |rule| (rule.counts.pods, rule.terminating));
    let pods = known(pods, CountSubject::Pods, basis);
    let evicts = format!("{verb} {}", worded(pods, "pod"));
    match terminating {
        0 => evicts,
        1 => format!("{evicts}; 1 more is already terminating"),
        more => format!("{evicts}; {more} more are already terminating"),
    }
}

/// What is known of a number that was counted.
fn known(number: usize, subject: CountSubject, basis: &Basis<'_>) -> Count {
    ReportCompleteness::new(&basis.reading.gaps).count(subject, number)
}

/// So many of them, as far as that is known.
fn worded(count: Count, noun: &str) -> String {
    match count.exact() {
        Some(number) => counted(number, noun),
        None if count.is_unknown() => format!("an unknown number of {noun}s"),
        None => format!("{count} {noun}s"),
    }
}

struct RuleSteps<'t, 'a> {
    rule: &'t DeviceTaintRule,
    basis: &'t Basis<'t>,
    impact: &'t Impact<'a>,
}

impl RuleSteps<'_, '_> {
    fn at(&self, path: &str) -> Option<FieldReference> {
        FieldReference::new("DeviceTaintRule", &self.rule.name, path)
    }

    /// How many devices are left with each field of the selector.
    fn selector(&self) -> Vec<Step> {
        let Some(selector) = &self.rule.selector else {
            let all = if self.basis.semantics.nil_selector_blocks {
                "no selector: the rule evicts no pods, but the scheduler treats every device as tainted"
            } else {
                "no selector: in this version of Kubernetes, the rule selects no device"
            };
            return vec![Step::new(
                StepType::Selector,
                all,
                self.at(".spec.deviceSelector"),
            )];
        };
        let mut so_far = DeviceSelector::default();
        let mut steps = Vec::new();
        let mut add = |text: String, path: &str, so_far: &DeviceSelector| {
            let found = self.selected(so_far);
            let found = known(found, CountSubject::Selected, self.basis);
            // Each field narrows down what the fields before it match.
            let narrows = if steps.is_empty() { "" } else { "of these, " };
            let text = format!("{narrows}{text}: {}", worded(found, "device"));
            let step = Step::new(StepType::Selector, text, self.at(path));
            // Between none and some it stays null: what could not be read or evaluated may decide it.
            let is_known = found.is_some() || found.is_none();
            steps.push(step.satisfied(is_known.then_some(found.is_some())));
        };
        if let Some(driver) = &selector.driver {
            so_far.driver = Some(driver.clone());
            add(
                format!("driver {driver}"),
                ".spec.deviceSelector.driver",
                &so_far,
            );
        }
        if let Some(pool) = &selector.pool {
            so_far.pool = Some(pool.clone());
            add(format!("pool {pool}"), ".spec.deviceSelector.pool", &so_far);
        }
        if let Some(device) = &selector.device {
            so_far.device = Some(device.clone());
            add(
                format!("device {device}"),
                ".spec.deviceSelector.device",
                &so_far,
            );
        }
        if steps.is_empty() {
            let text = "an empty selector: every device of every driver";
            steps.push(Step::new(
                StepType::Selector,
                text,
                self.at(".spec.deviceSelector"),
            ));
        }
        steps
    }

    fn selected(&self, selector: &DeviceSelector) -> usize {
        let proposed = [ProposedTaint {
            rule: None,
            selector: Some(selector.clone()),
            taint: self.rule.taint.clone(),
        }];
        let snapshot = &self.basis.reading.snapshot;
        let found = selection(snapshot, &proposed, self.basis.semantics);
        found.devices.len()
    }

    fn taint(&self) -> Step {
        let taint = &self.rule.taint;
        let text = format!("taint {taint}, {}", since(taint, self.basis.now));
        let evicts = taint.effect == Effect::NoExecute;
        Step::new(StepType::Taint, text, self.at(".spec.taint")).satisfied(evicts)
    }

    /// What the controller says, and whether that is about the rule as it is.
    fn condition(&self) -> Step {
        let source = self.at(".status.conditions");
        let Some(condition) = &self.rule.condition else {
            let text = "the controller has not reported on this rule";
            let advice = Step::new(StepType::Note, NO_CONDITION, None);
            return Step::new(StepType::Condition, text, source)
                .satisfied(false)
                .with([advice]);
        };
        let left = self.impact.rules.first().map_or(0, |rule| rule.counts.pods);
        let is_none_left = known(left, CountSubject::Pods, self.basis).is_none();
        let evicting = EvictionStatus::judged(self.rule, is_none_left);
        let mut text = format!(
            "controller condition: EvictionInProgress {}, {}",
            condition.status, condition.reason
        );
        if !condition.message.is_empty() {
            text.push_str(&format!(", {}", condition.message));
        }
        let stale = match evicting {
            EvictionStatus::Yes | EvictionStatus::No | EvictionStatus::Unknown => None,
            EvictionStatus::Outdated => Some(format!(
                "stale: it is for generation {}, but the rule is at generation {}",
                condition.observed_generation, self.rule.generation
            )),
            EvictionStatus::Leftover => Some(
                "stale: it reports pending evictions, but every pod that the rule evicts is gone or terminating"
                    .to_owned(),
            ),
        };
        let notes = stale.map(|text| Step::new(StepType::Note, text, None));
        Step::new(StepType::Condition, text, source)
            .satisfied(evicting.is_current())
            .with(notes)
    }

    /// The selected devices: those of a pool that the same claims hold in one step, so that nothing is said
    /// of each of them again.
    fn devices(&self) -> Vec<Step> {
        let mut groups: Vec<Vec<&DeviceImpact<'_>>> = Vec::new();
        for device in &self.impact.devices {
            let like_it = groups.iter_mut().find(|group| {
                let first = group.first();
                first.is_some_and(|first| is_like(first, device))
            });
            match like_it {
                Some(group) => group.push(device),
                None => groups.push(vec![device]),
            }
        }
        let steps = groups.iter().filter_map(|group| {
            let (first, more) = group.split_first()?;
            Some(self.group(first, more))
        });
        steps.collect()
    }

    /// The first device of a group, and those that are like it.
    fn group(&self, first: &DeviceImpact<'_>, more: &[&DeviceImpact<'_>]) -> Step {
        let all: Vec<&DeviceImpact<'_>> = [first].into_iter().chain(more.iter().copied()).collect();
        let claims: Vec<Step> = first
            .claims
            .iter()
            .map(|claim| self.claim(claim, &all))
            .collect();
        let mut text = match more {
            [] => format!("device {}", first.id),
            more => {
                let names: Vec<&str> = more
                    .iter()
                    .map(|device| device.id.device.as_str())
                    .collect();
                let count = all.len();
                format!("{count} devices: {}, {}", first.id, names.join(", "))
            }
        };
        let mut gaps = self.basis.reading.gaps.iter().filter_map(Gap::kind);
        let is_unread = gaps.any(|kind| kind == Kind::ResourceSlice);
        if !first.published && is_unread {
            text.push_str(", and whether a driver publishes it is unknown");
        } else if !first.published {
            text.push_str(", no longer published");
        }
        if claims.is_empty() {
            let is_unread = self.basis.reading.without(Kind::ResourceClaim).is_some();
            text.push_str(if is_unread {
                ", allocation unknown"
            } else {
                ", not allocated"
            });
        }
        let source = published(&first.id, &self.basis.reading.snapshot);
        let source = source.map(|source| match more {
            [] => source,
            // One of several places in it.
            _ => FieldReference {
                field_path: source
                    .field_path
                    .split('[')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                ..source
            },
        });
        Step::new(StepType::Device, text, source).with(claims)
    }

    /// A claim that holds all of these devices, with the pods that use it.
    fn claim(&self, claim: &ResourceClaim, devices: &[&DeviceImpact<'_>]) -> Step {
        let is_held = |id: &DeviceId| devices.iter().any(|device| device.id == *id);
        let pods = self.impact.pods.iter().filter(|pod| {
            let mut used = pod.claims.iter();
            used.any(|used| {
                let mut results = used.results.iter();
                *used.claim == claim.name && results.any(|result| is_held(&result.device))
            })
        });
        let pods = pods.map(|pod| self.pod(pod));
        let results = claim.allocation.iter().flat_map(|all| &all.results);
        let places: Vec<usize> = results
            .enumerate()
            .filter(|(_, result)| is_held(&result.device))
            .map(|(place, _)| place)
            .collect();
        let path = match places[..] {
            [only] => format!(".status.allocation.devices.results[{only}]"),
            // A path names one entry; for several only the list that holds them can be named.
            [..] => ".status.allocation.devices.results".to_owned(),
        };
        let source = FieldReference::new("ResourceClaim", &claim.name, path);
        let text = format!("allocated to claim {}", claim.name);
        Step::new(StepType::Claim, text, source).with(pods)
    }

    fn pod(&self, impact: &PodImpact<'_>) -> Step {
        let verdict = PodVerdict::from(&impact.verdict);
        let text = format!(
            "pod {}: {}",
            impact.pod.name,
            describe_in(self.basis.reading, verdict, impact.pod, self.basis.now)
        );
        let source = FieldReference::new("Pod", &impact.pod.name, "");
        let evicts = matches!(impact.verdict, Verdict::Evicted { .. });
        Step::new(StepType::Pod, text, source).satisfied(evicts)
    }
}

/// Whether two devices of a pool have the same to be said of them but their names.
fn is_like(one: &DeviceImpact<'_>, other: &DeviceImpact<'_>) -> bool {
    let same_pool = one.id.driver == other.id.driver && one.id.pool == other.id.pool;
    let names = |device: &DeviceImpact<'_>| -> Vec<NamespacedName> {
        device
            .claims
            .iter()
            .map(|claim| claim.name.clone())
            .collect()
    };
    same_pool && one.published == other.published && names(one) == names(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        ClaimSource, ConsumerReference, Gap, Kind, Pod, PodClaim, Reading, ResourceClaim,
        RuleMetadata,
    };
    use crate::report::testing;

    /// A pod with a device, its claim, and a rule about that.
    fn reading(change: impl FnOnce(&mut Pod)) -> Reading {
        let proposed = testing::proposed(Some("drain"));
        let mut pod = testing::pod("ml", "train-0");
        let mut claim: ResourceClaim = testing::claim(&pod);
        claim.reserved_for = vec![ConsumerReference {
            api_group: "".into(),
            resource: "pods".into(),
            name: pod.name.name.clone(),
            uid: pod.uid.clone(),
        }];
        pod.claims = vec![PodClaim {
            name: "gpu".into(),
            source: ClaimSource::Claim(claim.name.name.clone()),
        }];
        change(&mut pod);
        let mut reading = testing::reading();
        reading.snapshot.pods = vec![pod];
        reading.snapshot.claims = vec![claim];
        reading.snapshot.rules = vec![DeviceTaintRule {
            name: "drain".into(),
            uid: "uid".into(),
            resource_version: "1".to_owned(),
            generation: 1,
            selector: proposed.selector,
            taint: proposed.taint,
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
        }];
        reading
    }

    fn explained(reading: &Reading) -> Explained {
        let semantics = testing::semantics(37);
        let basis = Basis::new(reading, &semantics, testing::now());
        explain_rule(&reading.snapshot.rules[0], &basis)
    }

    #[test]
    fn what_was_not_read_is_not_called_nobody() {
        let mut unread = reading(|_| {});
        unread.snapshot.pods.clear();
        unread.snapshot.claims.clear();
        let kinds = [Kind::Pod, Kind::ResourceClaim, Kind::ResourceSlice];
        unread.gaps = kinds.map(|kind| Gap::of(kind, "denied")).into();
        let told = explained(&unread);
        let answer = "selects an unknown number of devices, and evicts an unknown number of pods";
        assert_eq!(told.message, answer);
        assert_eq!(told.steps[0].satisfied, None);
    }
}
