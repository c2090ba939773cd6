//! Signals of devices: reports of drivers and kubelets that a policy reacts to.
//!
//! | signal | present where |
//! |---|---|
//! | `taint KEY[=VALUE][:EFFECT]` | the driver publishes such a taint for the device |
//! | `NAME>QUANTITY`, with `>`, `>=`, `<`, `<=`, `==` or `!=` | an attribute or capacity of the device compares so |
//! | `health=Unhealthy` | a pod that uses the device reports it as unhealthy |
//!
//! A device that is not published, an attribute that it does not have, or a health that is not known is no answer:
//! neither present nor absent.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::allocator::sharing_counters;
use super::devices::DeviceEntry;
use super::expression::{Amount, DeviceExpression};
use super::select::{all_devices, is_selected};
use super::semantics::Semantics;
use crate::model::{
    ClaimHealth, ClaimSource, DeviceHealth, DeviceId, Effect, NamespacedName, NodeName, Pod,
    ResourceClaim, Snapshot,
};

/// A report about a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A taint that its driver publishes.
    Taint {
        /// Key of the taint.
        key: String,
        /// Its value; absent for any.
        value: Option<String>,
        /// Its effect; absent for any.
        effect: Option<Effect>,
    },
    /// A comparison of an attribute or capacity.
    Comparison {
        /// The name; without a domain, that of any domain.
        name: String,
        /// The operator, as written.
        operator: &'static str,
        /// The quantity, as written.
        written: String,
        /// The quantity.
        quantity: Amount,
    },
    /// Health `Unhealthy` in the status of a pod.
    Unhealthy,
}

/// Operators with the orderings for which they hold; longer ones first.
const OPERATORS: [(&str, &[Ordering]); 6] = [
    (">=", &[Ordering::Greater, Ordering::Equal]),
    ("<=", &[Ordering::Less, Ordering::Equal]),
    ("==", &[Ordering::Equal]),
    ("!=", &[Ordering::Less, Ordering::Greater]),
    (">", &[Ordering::Greater]),
    ("<", &[Ordering::Less]),
];

const UNHEALTHY: &str = "health=Unhealthy";

impl FromStr for Signal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == UNHEALTHY {
            return Ok(Self::Unhealthy);
        }
        if let Some(taint) = text.strip_prefix("taint ") {
            return taint_signal(taint.trim());
        }
        let comparison = text.find(['<', '>', '=', '!']).and_then(|at| {
            let (name, rest) = text.split_at(at);
            let (operator, _) = OPERATORS.iter().find(|(it, _)| rest.starts_with(it))?;
            let written = rest.strip_prefix(operator)?.trim();
            Some((name.trim(), *operator, written, Amount::parse(written)?))
        });
        match comparison {
            Some((name, operator, written, quantity)) if !name.is_empty() => Ok(Self::Comparison {
                name: name.to_owned(),
                operator,
                written: written.to_owned(),
                quantity,
            }),
            Some(_) | None => Err(format!(
                "{text:?} is no signal: use taint KEY[=VALUE][:EFFECT], NAME>QUANTITY or {UNHEALTHY}"
            )),
        }
    }
}

fn taint_signal(text: &str) -> Result<Signal, String> {
    let (rest, effect) = match text.rsplit_once(':') {
        Some((rest, effect)) => (rest, Some(Effect::from(effect))),
        None => (text, None),
    };
    let (key, value) = match rest.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (rest, None),
    };
    if let Some(Effect::Unknown(effect)) = &effect {
        return Err(format!("{effect:?} is no effect of a taint"));
    }
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(format!("{text:?} is no taint: write KEY[=VALUE][:EFFECT]"));
    }
    Ok(Signal::Taint {
        key: key.to_owned(),
        value,
        effect,
    })
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taint { key, value, effect } => {
                write!(formatter, "taint {key}")?;
                if let Some(value) = value {
                    write!(formatter, "={value}")?;
                }
                match effect {
                    Some(effect) => write!(formatter, ":{effect}"),
                    None => Ok(()),
                }
            }
            Self::Comparison {
                name,
                operator,
                written,
                ..
            } => write!(formatter, "{name}{operator}{written}"),
            Self::Unhealthy => formatter.write_str(UNHEALTHY),
        }
    }
}

/// Answer to the question if a signal is present; of several answers, the greatest counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalAnswer {
    /// It is not.
    Absent,
    /// No pod uses the device, so that its health is not reported.
    Unreported,
    /// It cannot be read, for this reason.
    Unknown(String),
    /// It is.
    Present,
}

impl From<Option<bool>> for SignalAnswer {
    fn from(answer: Option<bool>) -> Self {
        match answer {
            Some(true) => Self::Present,
            Some(false) => Self::Absent,
            None => Self::Unknown("its value cannot be compared".to_owned()),
        }
    }
}

/// Question about the devices of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct SignalQuestion<'q> {
    /// The devices in question.
    pub devices: &'q DeviceExpression,
    /// The signal of a soft threshold.
    pub soft: Option<&'q Signal>,
    /// The signal of a hard threshold.
    pub hard: Option<&'q Signal>,
    /// True if devices that share counters with a device have its signals, too.
    pub with_partitions: bool,
}

/// Signals of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSignals {
    /// The device.
    pub id: DeviceId,
    /// Its node, where it has one.
    pub node: Option<NodeName>,
    /// Present if the device is in question.
    pub selected: SignalAnswer,
    /// The soft signal; absent without one.
    pub soft: SignalAnswer,
    /// The hard signal; absent without one.
    pub hard: SignalAnswer,
    /// The device that shares counters with it, and whose signals it has.
    pub origin: Option<DeviceId>,
}

/// Returns the devices of `snapshot` with their signals, by name. The pods have to be read for [`Signal::Unhealthy`], and
/// counters for partitions.
pub fn device_signals(
    snapshot: &Snapshot,
    semantics: &Semantics,
    question: &SignalQuestion<'_>,
) -> Vec<DeviceSignals> {
    let wanted = [question.soft, question.hard];
    let health = match wanted.contains(&Some(&Signal::Unhealthy)) {
        true => reported_health(snapshot),
        false => BTreeMap::new(),
    };
    let table = all_devices(snapshot, semantics);
    let of_entry = |entry: &DeviceEntry<'_>| {
        let id = entry.id();
        let answer = |signal: Option<&Signal>| match signal {
            Some(signal) => signal.answer(entry, health.get(&id)),
            None => SignalAnswer::Absent,
        };
        DeviceSignals {
            node: entry.node().cloned(),
            selected: selected(question.devices, entry),
            soft: answer(question.soft),
            hard: answer(question.hard),
            origin: None,
            id: id.clone(),
        }
    };
    let places = table.sorted(|_| true).into_iter();
    let mut devices: Vec<_> = places.map(|place| of_entry(table.entry(place))).collect();
    if question.with_partitions {
        spread(&mut devices, snapshot);
    }
    devices
}

fn selected(expression: &DeviceExpression, entry: &DeviceEntry<'_>) -> SignalAnswer {
    match is_selected(expression, entry) {
        Ok(is_selected) => SignalAnswer::from(Some(is_selected)),
        Err(error) => SignalAnswer::Unknown(format!("devices: {error}")),
    }
}

/// Gives the signals of selected devices to those that share counters with them.
fn spread(devices: &mut [DeviceSignals], snapshot: &Snapshot) {
    let places: BTreeMap<DeviceId, usize> = devices
        .iter()
        .enumerate()
        .map(|(place, device)| (device.id.clone(), place))
        .collect();
    let spreads = |device: &&DeviceSignals| {
        let signals = (&device.soft, &device.hard);
        device.selected != SignalAnswer::Absent
            && signals != (&SignalAnswer::Absent, &SignalAnswer::Absent)
    };
    let origins: Vec<DeviceSignals> = devices.iter().filter(spreads).cloned().collect();
    for origin in origins {
        for part in sharing_counters(snapshot, &BTreeSet::from([origin.id.clone()])) {
            let part = places.get(&part).and_then(|place| devices.get_mut(*place));
            if let Some(part) = part {
                for (own, other) in [
                    (&mut part.selected, &origin.selected),
                    (&mut part.soft, &origin.soft),
                    (&mut part.hard, &origin.hard),
                ] {
                    if *other > *own {
                        own.clone_from(other);
                        part.origin = Some(origin.id.clone());
                    }
                }
            }
        }
    }
}

impl Signal {
    fn answer(&self, entry: &DeviceEntry<'_>, health: Option<&SignalAnswer>) -> SignalAnswer {
        if *self == Self::Unhealthy {
            return health.cloned().unwrap_or(SignalAnswer::Unreported);
        }
        let Some(published) = entry.published else {
            return SignalAnswer::Unknown("its driver does not publish it".to_owned());
        };
        let device = published.device;
        match self {
            Self::Taint { key, value, effect } => {
                let mut taints = device.taints.iter();
                let is_present = taints.any(|taint| {
                    taint.key == *key
                        && value.as_ref().is_none_or(|value| taint.value == *value)
                        && effect.as_ref().is_none_or(|effect| taint.effect == *effect)
                });
                SignalAnswer::from(Some(is_present))
            }
            Self::Comparison {
                name,
                operator,
                quantity,
                ..
            } => {
                let amounts = Amount::published(&published.slice.driver, device, name).into_iter();
                let holds = |amount: Option<Amount>| {
                    let order = amount.map(|amount| amount.cmp(quantity));
                    let operator = OPERATORS.iter().find(|(known, _)| known == operator);
                    order
                        .zip(operator)
                        .map(|(order, (_, holds))| holds.contains(&order))
                };
                let answers = amounts.map(|amount| SignalAnswer::from(holds(amount)));
                let unpublished =
                    || SignalAnswer::Unknown(format!("it has no attribute or capacity {name}"));
                answers.max().unwrap_or_else(unpublished)
            }
            Self::Unhealthy => SignalAnswer::Unreported,
        }
    }
}

/// Health of devices by the statuses of pods that have not ended. Of several pods, one that reports `Unhealthy` decides.
fn reported_health(snapshot: &Snapshot) -> BTreeMap<DeviceId, SignalAnswer> {
    let claims = snapshot.claims.iter();
    let claims: BTreeMap<&NamespacedName, _> = claims.map(|claim| (&claim.name, claim)).collect();
    let mut found: BTreeMap<DeviceId, SignalAnswer> = BTreeMap::new();
    for pod in snapshot.pods.iter().filter(|pod| !pod.phase.is_terminal()) {
        for report in &pod.health {
            let name = NamespacedName {
                namespace: pod.name.namespace.clone(),
                name: claim_name(pod, report).into(),
            };
            let Some(claim) = claims.get(&name) else {
                continue;
            };
            for (device, answer) in answers(report, claim) {
                // `Healthy` of one pod decides where another pod knows nothing.
                let is_better = match found.get(&device) {
                    None | Some(SignalAnswer::Unknown(_) | SignalAnswer::Unreported) => true,
                    Some(SignalAnswer::Absent) => answer == SignalAnswer::Present,
                    Some(SignalAnswer::Present) => false,
                };
                if is_better {
                    found.insert(device, answer);
                }
            }
        }
    }
    found
}

/// Name of the claim that a report is about.
fn claim_name<'a>(pod: &'a Pod, report: &'a ClaimHealth) -> &'a str {
    let entry = pod.claims.iter().find(|entry| entry.name == report.claim);
    match entry.map(|entry| &entry.source) {
        Some(ClaimSource::Claim(name)) => name.as_str(),
        Some(ClaimSource::Template { generated, .. }) => {
            generated.as_ref().map_or("", |name| name.as_str())
        }
        // For extended resources, the report has the name of the claim.
        Some(ClaimSource::Unknown) | None => &report.claim,
    }
}

/// Health of each device of a report. A CDI device ID does not name the device, so that different answers can only be
/// assigned where the IDs are names.
fn answers(report: &ClaimHealth, claim: &ResourceClaim) -> Vec<(DeviceId, SignalAnswer)> {
    let base = |request: &str| request.split('/').next().unwrap_or_default().to_owned();
    let results = claim.allocation.iter().flat_map(|found| &found.results);
    let reported = results.filter(|result| {
        let request = report.request.as_deref();
        request.is_none_or(|request| base(request) == base(&result.request))
    });
    let of_device = |id: &DeviceId| {
        let name = id.to_string();
        let own = report
            .resources
            .iter()
            .find(|(resource, _)| **resource == *name);
        let mut others = report.resources.iter().map(|(_, health)| *health);
        let first = others.next();
        let same = first.filter(|first| others.all(|other| other == *first));
        match own.map(|(_, health)| *health).or(same) {
            Some(DeviceHealth::Unhealthy) => SignalAnswer::Present,
            Some(DeviceHealth::Healthy) => SignalAnswer::Absent,
            Some(DeviceHealth::Unknown) => {
                SignalAnswer::Unknown("its health is reported as Unknown".to_owned())
            }
            None => SignalAnswer::Unknown(
                "the health of several devices is reported without their names".to_owned(),
            ),
        }
    };
    reported
        .map(|result| (result.device.clone(), of_device(&result.device)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Allocation, AttributeValue, CounterSet, Device, PodClaim, ResourceSlice, SliceTerms,
    };
    use crate::testing::{device, drawing, name, pod, published, result, semantics, slice, taint};

    fn signal(text: &str) -> Signal {
        text.parse().unwrap()
    }

    #[test]
    fn signals_are_written_as_they_are_read() {
        for text in [
            "taint gpu.example.com/xid",
            "taint gpu.example.com/xid=79",
            "taint gpu.example.com/xid=:None",
            "temperature>90",
            "gpu.example.com/memory<40Gi",
            "a==1",
            "a!=0.5",
            "a>=1",
            "a<=1",
            "health=Unhealthy",
        ] {
            assert_eq!(signal(text).to_string(), text);
        }
        assert_eq!(signal(" temperature > 90 ").to_string(), "temperature>90");
        for text in [
            "",
            "taint ",
            "taint a b",
            "taint a:Never",
            "temperature",
            "temperature>",
            "temperature>hot",
            "temperature=90",
            ">90",
            "health=Healthy",
        ] {
            assert!(text.parse::<Signal>().is_err(), "{text}");
        }
    }

    /// Answer of `signal` for the first device.
    fn answer(snapshot: &Snapshot, text: &str) -> SignalAnswer {
        let devices = DeviceExpression::compile("true").unwrap();
        let question = SignalQuestion {
            devices: &devices,
            soft: None,
            hard: Some(&signal(text)),
            with_partitions: false,
        };
        device_signals(snapshot, &semantics(37), &question)
            .swap_remove(0)
            .hard
    }

    fn with_slices(slices: Vec<ResourceSlice>) -> Snapshot {
        Snapshot {
            slices,
            ..Snapshot::default()
        }
    }

    #[test]
    fn taints_and_quantities_of_a_device_are_compared() {
        let mut gpu = published("gpu-0", &[("power", "1.5k"), ("model", "a100")]);
        let temperature = (
            "gpu.example.com/temperature".into(),
            AttributeValue::Int(91),
        );
        gpu.attributes = gpu
            .attributes
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .chain([temperature])
            .collect::<litemap::LiteMap<_, _>>()
            .into();
        gpu.capacity = [("memory".into(), "40Gi".into())]
            .into_iter()
            .collect::<litemap::LiteMap<_, _>>()
            .into();
        gpu.taints = vec![taint("gpu.example.com/xid=48:None")];
        let snapshot = with_slices(vec![slice(vec![gpu])]);
        for (text, is_present) in [
            ("taint gpu.example.com/xid", Some(true)),
            ("taint gpu.example.com/xid=48", Some(true)),
            ("taint gpu.example.com/xid=79", Some(false)),
            ("taint gpu.example.com/xid:None", Some(true)),
            ("taint gpu.example.com/xid:NoSchedule", Some(false)),
            ("taint xid", Some(false)),
            ("temperature>90", Some(true)),
            ("gpu.example.com/temperature>=91", Some(true)),
            ("temperature<91", Some(false)),
            ("temperature!=91", Some(false)),
            ("power==1500", Some(true)),
            ("memory<=40Gi", Some(true)),
            ("memory<40Gi", Some(false)),
            ("nic.example.com/temperature>90", None),
            ("humidity>90", None),
            ("model>90", None),
        ] {
            let expected = match is_present {
                Some(true) => matches!(answer(&snapshot, text), SignalAnswer::Present),
                Some(false) => matches!(answer(&snapshot, text), SignalAnswer::Absent),
                None => matches!(answer(&snapshot, text), SignalAnswer::Unknown(_)),
            };
            assert!(expected, "{text}: {:?}", answer(&snapshot, text));
        }
    }

    fn held(devices: &[&str]) -> ResourceClaim {
        ResourceClaim {
            name: name("team-a", "train-gpu"),
            allocation: Some(Allocation {
                results: devices.iter().map(|it| result(device(it))).collect(),
                ..Allocation::default()
            }),
            ..ResourceClaim::default()
        }
    }

    #[test]
    fn nothing_is_known_of_a_device_that_is_not_published() {
        let snapshot = Snapshot {
            claims: vec![held(&["gpu-0"])],
            ..Snapshot::default()
        };
        for text in ["taint a", "temperature>90"] {
            let unknown = matches!(answer(&snapshot, text), SignalAnswer::Unknown(_));
            assert!(unknown, "{text}");
        }
    }

    #[test]
    fn health_is_that_of_pods_that_use_the_device() {
        use DeviceHealth::{Healthy, Unhealthy, Unknown};
        let reporting = |name: &str, resources: &[(&str, DeviceHealth)]| {
            let resources = resources.iter();
            let resources = resources.map(|(id, health)| ((*id).into(), *health));
            Pod {
                claims: vec![PodClaim {
                    name: "device".into(),
                    source: ClaimSource::Claim("train-gpu".into()),
                }],
                health: vec![ClaimHealth {
                    claim: "device".into(),
                    request: Some("gpu".into()),
                    resources: resources.collect(),
                }],
                ..pod("team-a", name)
            }
        };
        let answered = |devices: &[&str], pods: Vec<Pod>| {
            let snapshot = Snapshot {
                claims: vec![held(devices)],
                pods,
                ..Snapshot::default()
            };
            answer(&snapshot, UNHEALTHY)
        };
        let one = |resources: &[(&str, DeviceHealth)]| {
            answered(&["gpu-0"], vec![reporting("a", resources)])
        };
        assert_eq!(answered(&["gpu-0"], Vec::new()), SignalAnswer::Unreported);
        assert_eq!(one(&[]), one(&[]));
        assert_eq!(one(&[("x", Healthy)]), SignalAnswer::Absent);
        assert_eq!(one(&[("x", Unhealthy)]), SignalAnswer::Present);
        assert!(matches!(one(&[("x", Unknown)]), SignalAnswer::Unknown(_)));
        let both = |first, second| {
            answered(
                &["gpu-0"],
                vec![
                    reporting("a", &[("x", first)]),
                    reporting("b", &[("x", second)]),
                ],
            )
        };
        assert_eq!(both(Unhealthy, Healthy), SignalAnswer::Present);
        assert_eq!(both(Healthy, Unhealthy), SignalAnswer::Present);
        assert_eq!(both(Healthy, Unknown), SignalAnswer::Absent);
        // A pod that has ended keeps what was reported last.
        let mut ended = reporting("a", &[("x", Unhealthy)]);
        ended.phase = crate::model::Phase::Failed;
        assert_eq!(answered(&["gpu-0"], vec![ended]), SignalAnswer::Unreported);
        // Which of two devices it is, only their names show.
        let named = [
            ("gpu.example.com/node-7/gpu-0", Unhealthy),
            ("gpu.example.com/node-7/gpu-1", Healthy),
        ];
        let two = |resources: &[(&str, DeviceHealth)]| {
            answered(&["gpu-0", "gpu-1"], vec![reporting("a", resources)])
        };
        assert_eq!(two(&named), SignalAnswer::Present);
        assert!(matches!(
            two(&[("x", Healthy), ("y", Unhealthy)]),
            SignalAnswer::Unknown(_)
        ));
        assert_eq!(
            two(&[("x", Unhealthy), ("y", Unhealthy)]),
            SignalAnswer::Present
        );
    }

    #[test]
    fn partitions_have_the_signals_of_their_card() {
        let card = Device {
            taints: vec![taint("xid=79:None")],
            ..drawing("card", "80Gi")
        };
        let mut published = slice(vec![card, drawing("part", "40Gi"), drawing("small", "0")]);
        published.terms = Some(Box::new(SliceTerms {
            counters: vec![CounterSet {
                name: "card".into(),
                counters: [("memory".into(), "80Gi".into())].into(),
            }],
            ..SliceTerms::default()
        }));
        let snapshot = with_slices(vec![published]);
        let devices = DeviceExpression::compile("true").unwrap();
        let signal = signal("taint xid");
        let present = |with_partitions| -> Vec<String> {
            let question = SignalQuestion {
                devices: &devices,
                soft: Some(&signal),
                hard: None,
                with_partitions,
            };
            let found = device_signals(&snapshot, &semantics(37), &question).into_iter();
            let found = found.filter(|device| device.soft == SignalAnswer::Present);
            found.map(|device| device.id.device.to_string()).collect()
        };
        assert_eq!(present(false), ["card"]);
        assert_eq!(present(true), ["card", "part"]);
    }
}
