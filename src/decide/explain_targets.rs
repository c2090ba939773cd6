//! Pods, claims and devices given to `explain`.

use crate::assess::{Availabilities, Availability, DeviceBasis};
use crate::decide::choice::wrong_name;
use crate::engine::DeviceState;
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, Kind, Namespace, NamespacedName, ObjectName, Pod, Reading, ResourceClaim, Source,
};
use crate::naming::phrase::nearest;
use crate::naming::{Hardware, Subject};
use std::collections::BTreeSet;

/// The arguments of `explain`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainTargets {
    /// Pods, claims and devices that are explained, each once.
    pub named: Vec<Subject>,
    /// Devices that are explained, by the numbers of their hardware.
    pub hardware: Vec<Hardware>,
    /// All others: the devices and the taint of a hypothesis.
    pub rest: Vec<String>,
}

impl ExplainTargets {
    /// Separates targets from a hypothesis: arguments with a type are targets, and so is the first one without. A type
    /// may stand before names as a word of its own.
    ///
    /// # Errors
    ///
    /// An invalid name; a type without a name; a rule; no target.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let arguments = Subject::with_types(arguments);
        if let [kind, ..] = &arguments[..]
            && !kind.contains('/')
            && Subject::is_type(kind)
        {
            let text = format!("{kind} is a type without a name");
            return Err(Failure::usage(text).hint(format!(
                "use {kind}/NAME; for a pod that is named {kind}: pod/{kind}"
            )));
        }
        let mut targets = Self::default();
        for (place, text) in arguments.iter().enumerate() {
            // Before taints are looked for: `uuid=GPU-18db…` has the form of one.
            if let Some(hardware) = hardware(text, place) {
                targets.hardware.push(hardware);
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
                    targets.rest.push(text.clone());
                    continue;
                }
            };
            let (kind, command) = subject.shown_by(text);
            if matches!(subject, Subject::Rule(_) | Subject::Node(_)) {
                let text =
                    format!("a {kind} is no target of explain: only pods, claims and devices are");
                return Err(Failure::usage(text).hint(show(kind, &command)));
            }
            if !targets.named.contains(&subject) {
                targets.named.push(subject);
            }
        }
        if targets.named.is_empty() && targets.hardware.is_empty() {
            let text = "nothing to explain: no pod, claim or device specified";
            return Err(Failure::usage(text).hint(
                "specify a pod as pod/NAME -n NAMESPACE, a claim as claim/NAME -n NAMESPACE, or a \
                 device as device/DRIVER/POOL/DEVICE or by its UUID or PCI address",
            ));
        }
        Ok(targets)
    }
}

fn show(kind: &str, command: &str) -> String {
    format!("to show the {kind}: `{command}`")
}

/// The hardware that an argument explains: with the type of devices before it, or the first without one.
fn hardware(text: &str, place: usize) -> Option<Hardware> {
    let typed = text
        .strip_prefix("device/")
        .or_else(|| text.strip_prefix("devices/"));
    Hardware::parse(typed.or((place == 0).then_some(text))?)
}

/// Failure for a pod that was not found.
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
        // A dump keeps no pods without claims.
        Source::Files => format!("pod {called} uses no devices, or is not in the input"),
    };
    let failure = Failure::new(ExitStatus::Failed, text);
    if reading.snapshot.rules.iter().any(|rule| rule.name == *name) {
        let describe = format!("kubectl devicetaint describe {name}");
        return failure.hint(show("rule", &describe));
    }
    let is_file = reading.source == Source::Files;
    if let Some(gap) = reading.without(Kind::Pod).filter(|_| is_file) {
        return failure.hint(gap.why);
    }
    let users = users(reading).into_iter();
    let similar = match namespace {
        Some(_) => nearest(&called, users),
        None => nearest(
            &called,
            users.map(|pod| pod.rsplit('/').next().unwrap_or_default().to_owned()),
        ),
    };
    match similar.is_empty() {
        true => failure,
        false => failure.hint(format!("did you mean {}?", similar.join(" or "))),
    }
}

/// The only one of `pods`, which were found by a name alone.
///
/// # Errors
///
/// There are several.
pub fn the_one(name: &str, pods: Vec<Pod>) -> Result<Option<Pod>, Failure> {
    match <[Pod; 1]>::try_from(pods) {
        Ok([pod]) => Ok(Some(pod)),
        Err(pods) => {
            let names: Vec<_> = pods.iter().map(|pod| &pod.name).collect();
            refuse_several("pod", name, &names)?;
            Ok(None)
        }
    }
}

/// The claim of that name, in the namespace or in any.
///
/// # Errors
///
/// There is none, or there are several.
pub fn the_claim<'r>(
    namespace: Option<&Namespace>,
    name: &ObjectName,
    reading: &'r Reading,
) -> Result<&'r ResourceClaim, Failure> {
    let claims = reading.snapshot.claims.iter();
    let found: Vec<&ResourceClaim> = claims
        .filter(|claim| claim.name.name == *name)
        .filter(|claim| namespace.is_none_or(|namespace| claim.name.namespace == *namespace))
        .collect();
    let names: Vec<_> = found.iter().map(|claim| &claim.name).collect();
    if found.len() > 1 {
        refuse_several("claim", name.as_str(), &names)?;
    }
    found.first().copied().ok_or_else(|| {
        let text = match reading.without(Kind::ResourceClaim) {
            None => format!("claim {name} does not exist"),
            Some(_) => format!("unknown whether claim {name} exists: claims were not read"),
        };
        Failure::new(ExitStatus::Failed, text)
    })
}

/// The failure for a claim of which no pod was found.
pub fn unused_claim(claim: &NamespacedName, reading: &Reading) -> Failure {
    let text = match reading.without(Kind::Pod) {
        None => format!("no pod uses claim {claim}"),
        Some(_) => format!("unknown which pods use claim {claim}: pods were not read"),
    };
    Failure::new(ExitStatus::Failed, text)
}

/// Refuses a name that several objects have.
fn refuse_several(kind: &str, name: &str, found: &[&NamespacedName]) -> Result<(), Failure> {
    if found.is_empty() {
        return Ok(());
    }
    let mut namespaces: Vec<&str> = found.iter().map(|it| it.namespace.as_str()).collect();
    namespaces.sort_unstable();
    let text = format!("{kind} {name} is ambiguous: it exists in several namespaces");
    let hint = format!("choose one of them: -n {}", namespaces.join(", -n "));
    Err(Failure::usage(text).hint(hint))
}

/// The pods that claims name, and those that were read.
fn users(reading: &Reading) -> BTreeSet<String> {
    let claims = reading.snapshot.claims.iter();
    let named = claims.flat_map(ResourceClaim::reserving_pods);
    let named = named.map(|pod| pod.to_string());
    let read = reading.snapshot.pods.iter();
    named.chain(read.map(|pod| pod.name.to_string())).collect()
}

/// Devices that a list has.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// The selected devices; `None` for all.
    pub selected: Option<BTreeSet<DeviceId>>,
    /// `--tainted`
    pub tainted: bool,
    /// `--free`
    pub free: bool,
    /// `--namespace`
    pub namespace: Option<String>,
}

impl ListFilter {
    /// Keeps those of the `devices` that are listed. A device is free only if that is known.
    pub fn keep(&self, devices: &mut Vec<DeviceState<'_>>, basis: &DeviceBasis<'_>) {
        let availabilities = self.free.then(|| Availabilities::new(basis.reading));
        devices.retain(|state| {
            let free = availabilities
                .as_ref()
                .is_none_or(|all| all.of(state) == Some(Availability::Free));
            free && self.wants(state)
        });
    }

    fn wants(&self, state: &DeviceState<'_>) -> bool {
        let tainted = !self.tainted || !state.taints.is_empty();
        let held = self.namespace.as_ref().is_none_or(|namespace| {
            let mut claims = state.claims.iter();
            claims.any(|claim| claim.name.namespace.as_str() == namespace)
        });
        let selected = self.selected.as_ref();
        let selected = selected.is_none_or(|selected| selected.contains(&state.id));
        selected && tainted && held
    }
}
