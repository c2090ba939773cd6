//! Pods, devices and rules given to `explain`.

use std::collections::BTreeSet;

use crate::decide::choice::wrong_name;
use crate::decide::identity::Hardware;
use crate::error::{ExitStatus, Failure};
use crate::model::{Kind, Namespace, NamespacedName, ObjectName, Pod, Reading, Source};
use crate::naming::Subject;
use crate::naming::nearest::nearest;
use crate::naming::pod::arguments;
use crate::naming::rule::qualified;

/// What was typed for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainTargets {
    /// What is explained, each once.
    pub named: Vec<Subject>,
    /// Devices that are explained, by the numbers of their hardware.
    pub hardware: Vec<Hardware>,
    /// Everything else: devices and a taint that are asked about.
    pub rest: Vec<String>,
}

impl ExplainTargets {
    /// Tells what is explained from what is asked about: arguments with a type are explained, and so is
    /// the first one without. A type may stand before names as a word of its own.
    ///
    /// # Errors
    ///
    /// What can be no name; a type without a name; nothing to explain.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let arguments = with_types(arguments)?;
        let mut subjects = Self {
            named: Vec::new(),
            hardware: Vec::new(),
            rest: Vec::new(),
        };
        for (place, text) in arguments.iter().enumerate() {
            // Before taints are looked for: `uuid=GPU-18db…` has the form of one.
            if let Some(hardware) = hardware(text, place) {
                subjects.hardware.push(hardware);
                continue;
            }
            let subject = match Subject::typed(text) {
                Some(typed) => typed.map_err(wrong_name)?,
                // Only the first word may be a name without its type. Devices and a taint follow, which look
                // the same.
                None if place == 0 && !text.contains(['=', ':']) => {
                    Subject::parse(text).map_err(wrong_name)?
                }
                None => {
                    subjects.rest.push(text.clone());
                    continue;
                }
            };
            if !subjects.named.contains(&subject) {
                subjects.named.push(subject);
            }
        }
        let is_empty = subjects.named.is_empty() && subjects.hardware.is_empty();
        if is_empty {
            return Err(
                Failure::usage("nothing to explain: no pod, device or rule specified")
                    .hint(
                        "specify a pod as pod/NAME -n NAMESPACE, a device as \
                    device/DRIVER/POOL/DEVICE or by its UUID or PCI address, or a \
                    rule as rule/NAME",
                    )
                    .hint(
                        "list devices and rules with \
                    `kubectl devicetaint devices` and \
                    `kubectl devicetaint list`",
                    ),
            );
        }
        Ok(subjects)
    }
}

/// The hardware that an argument explains: with the type of devices before it, or the first without one.
fn hardware(text: &str, place: usize) -> Option<Hardware> {
    let typed = text
        .strip_prefix("device/")
        .or_else(|| text.strip_prefix("devices/"));
    Hardware::parse(typed.or((place == 0).then_some(text))?)
}

/// The arguments with the type before each name, where it is the first of them and a word of its own as
/// kubectl takes it. Further names of it have neither dots nor slashes, as devices and taints have.
fn with_types(arguments: &[String]) -> Result<Vec<String>, Failure> {
    let [kind, names @ ..] = arguments else {
        return Ok(Vec::new());
    };
    if kind.contains('/') || !Subject::is_type(kind) {
        return Ok(arguments.to_vec());
    }
    let is_name = |name: &String| Subject::typed(name).is_none() && !name.contains(['=', ':']);
    if !names.first().is_some_and(is_name) {
        return Err(
            Failure::usage(format!("{kind} is a type without a name")).hint(format!(
                "use {kind}/NAME; for a pod or rule that is named {kind}: pod/{kind} or rule/{kind}"
            )),
        );
    }
    let named = |(place, name): (usize, &String)| {
        // A dot, a slash or an asterisk marks the devices or the taint whose effect is assumed.
        let is_plain = is_name(name) && !name.contains(['.', '/', '*']);
        place == 0 || is_plain
    };
    let count = names
        .iter()
        .enumerate()
        .take_while(|one| named(*one))
        .count();
    let (of_type, others) = names.split_at(count);
    let of_type = of_type.iter().map(|name| format!("{kind}/{name}"));
    Ok(of_type.chain(others.iter().cloned()).collect())
}

/// There is no such pod, or none that uses a device: in that namespace, or in any.
#[must_use]
pub fn no_such_pod(namespace: Option<&Namespace>, name: &ObjectName, reading: &Reading) -> Failure {
    let called = match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_string(),
    };
    let text = match reading.source {
        Source::Cluster { .. } if namespace.is_none() => {
            format!("no pod {called:?} uses a device in any namespace")
        }
        Source::Cluster { .. } => format!("pod {called} not found"),
        Source::Files => format!(
            "the input has no pod {called:?} that uses a device: the pod does not exist, or has no \
            claim"
        ),
    };
    let failure = Failure::new(ExitStatus::Failed, text);
    let similar = match namespace {
        Some(_) => nearest(&called, users(reading)),
        None => {
            let all = users(reading).into_iter();
            let names = all.map(|pod| pod.rsplit('/').next().unwrap_or_default().to_owned());
            nearest(&called, names)
        }
    };
    if !similar.is_empty() {
        return failure.hint(format!("did you mean {}?", similar.join(" or ")));
    }
    let is_file = reading.source == Source::Files;
    match reading.without(Kind::Pod).filter(|_| is_file) {
        Some(gap) => failure.hint(gap.why),
        None => failure,
    }
}

/// Pods by their labels may not be read.
#[must_use]
pub fn pods_denied(why: String) -> Failure {
    Failure::new(ExitStatus::Failed, why).hint("add a namespace: -n NAMESPACE")
}

/// A word is the name of a rule, and whether it is that of a pod, too, is not known.
#[must_use]
pub fn rule_or_pod(name: &str, why: String) -> Failure {
    let failure = Failure::new(ExitStatus::Failed, why);
    failure.hint(format!("to explain the rule: use {}", qualified(name)))
}

/// The one of `pods` that is meant by a name alone.
///
/// # Errors
///
/// When there are several.
pub fn the_one(name: &str, pods: Vec<Pod>) -> Result<Option<Pod>, Failure> {
    match <[Pod; 1]>::try_from(pods) {
        Ok([pod]) => Ok(Some(pod)),
        Err(pods) if pods.is_empty() => Ok(None),
        Err(pods) => {
            let names = pods.iter().map(|pod| {
                let NamespacedName { namespace, name } = &pod.name;
                arguments(namespace.as_str(), name.as_str())
            });
            let mut names: Vec<String> = names.collect();
            names.sort();
            Err(Failure::usage(format!(
                "pod {name} is ambiguous: it exists in several namespaces"
            ))
            .hint(format!("choose one of {}", names.join(", "))))
        }
    }
}

/// A name that a pod and a rule have.
#[must_use]
pub fn ambiguous(name: &str) -> Failure {
    Failure::usage(format!(
        "{name} is ambiguous: a pod and a rule have this name"
    ))
    .hint(format!("use pod/{name} or {}", qualified(name)))
}

/// A name that neither a pod nor a rule has.
#[must_use]
pub fn neither(name: &str, reading: &Reading) -> Failure {
    let rule = match reading.without(Kind::DeviceTaintRule) {
        None => format!("rule {name} does not exist"),
        Some(_) => format!("it is unknown whether rule {name} exists: no rules were read"),
    };
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("no pod {name} uses a device, and {rule}"),
    );
    failure.hint("specify the type: pod/NAME -n NAMESPACE, device/DRIVER/POOL/DEVICE or rule/NAME")
}

/// The pods that claims name, and those that were read.
fn users(reading: &Reading) -> BTreeSet<String> {
    let claims = reading.snapshot.claims.iter();
    let named = claims.flat_map(|claim| {
        let users = claim.reserved_for.iter();
        let pods = users.filter(|user| &*user.resource == "pods");
        pods.map(|pod| format!("{}/{}", claim.name.namespace, pod.name))
    });
    let read = reading.snapshot.pods.iter();
    named.chain(read.map(|pod| pod.name.to_string())).collect()
}

/// A rule is what it is: no other taint changes that.
///
/// # Errors
///
/// When a rule is explained and a taint asked about.
pub fn refuse_rules_beside(subjects: &ExplainTargets, is_supposed: bool) -> Result<(), Failure> {
    let mut named = subjects.named.iter();
    if is_supposed && named.any(|subject| matches!(subject, Subject::Rule(_))) {
        return Err(
            Failure::usage("TAINT is allowed only with pods and devices, not with a rule")
                .hint("to show the impact of a taint: `kubectl devicetaint preview`"),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    fn parsed(line: &str) -> Result<(Vec<String>, Vec<String>), String> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let subjects = ExplainTargets::parse(&arguments).map_err(|failure| failure.to_string())?;
        let named = subjects.named.iter().map(|subject| match subject {
            Subject::Pod(name) => format!("pod {name}"),
            Subject::PodSomewhere(name) => format!("some pod {name}"),
            Subject::Device(id) => format!("device {id}"),
            Subject::Rule(name) => format!("rule {name}"),
            Subject::Either(name) => format!("either {name}"),
        });
        let hardware = subjects.hardware.iter();
        let hardware = hardware.map(|hardware| format!("hardware {hardware}"));
        Ok((named.chain(hardware).collect(), subjects.rest))
    }

    #[test]
    fn a_type_before_a_name_may_be_a_word_of_its_own() {
        for (line, named, rest) in [
            ("pod mig-a", vec!["some pod mig-a"], vec![]),
            (
                "po a b rule/c",
                vec!["some pod a", "some pod b", "rule c"],
                vec![],
            ),
            (
                "pod a gpu.example.com/n/* k:NoExecute",
                vec!["some pod a"],
                vec!["gpu.example.com/n/*", "k:NoExecute"],
            ),
            ("pods ml/a", vec!["pod ml/a"], vec![]),
            ("devicetaintrule drain", vec!["rule drain"], vec![]),
            (
                "device gpu.example.com/n/0 gpu.example.com/n/1 k:None",
                vec!["device gpu.example.com/n/0"],
                vec!["gpu.example.com/n/1", "k:None"],
            ),
            ("0000:17:00.0", vec!["hardware 0000:17:00.0"], vec![]),
            (
                "pod/a uuid=GPU-1 k:None",
                vec!["some pod a"],
                vec!["uuid=GPU-1", "k:None"],
            ),
            (
                "podium gpu.example.com",
                vec!["either podium"],
                vec!["gpu.example.com"],
            ),
        ] {
            let strings = |all: Vec<&str>| all.into_iter().map(str::to_owned).collect();
            assert_eq!(parsed(line), Ok((strings(named), strings(rest))), "{line}");
        }
    }

    #[test]
    fn what_is_not_explained_is_refused_with_the_way_out() {
        for (line, part) in [
            ("pod", "without a name"),
            ("rule pod/a", "without a name"),
            ("gpu.example.com/node-7", "two segments"),
        ] {
            let refused = parsed(line).expect_err(line);
            assert!(refused.contains(part), "{line}: {refused}");
        }
    }

    #[test]
    fn without_rules_it_is_unknown_whether_one_of_that_name_exists() {
        let mut reading = testing::reading();
        reading.known.remove(&Kind::DeviceTaintRule);
        let told = neither("drain", &reading).to_string();
        assert!(
            told.contains("it is unknown whether rule drain exists"),
            "{told}"
        );
        let told = neither("drain", &testing::reading()).to_string();
        assert!(told.ends_with("rule drain does not exist"), "{told}");
    }
}
