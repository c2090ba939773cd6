//! Device arguments and flags, understood without a cluster.

use std::path::PathBuf;

use super::resolve::DeviceFilter;
use crate::completion::Values;
use crate::error::Failure;
use crate::model::{DeviceSelector, Effect, Taint};
use crate::naming::phrase::is_other_type;
use crate::naming::shell::word;
use crate::naming::{Hardware, NamingError, Subject, Targets, device, rule};

/// Arguments and flags that select devices, as they were typed. A device has to meet all conditions.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DeviceArguments {
    /// Devices for which this CEL expression is true
    ///
    /// For example 'device.attributes["gpu.example.com"].model == "H100"'. A device for which it cannot be evaluated is an
    /// error. Repeatable; all must be true.
    #[arg(long = "where", value_name = "CEL", help_heading = "Devices")]
    pub expressions: Vec<String>,

    /// Devices that are local to this node
    #[arg(long, help_heading = "Devices", add = Values::Nodes)]
    pub node: Option<String>,

    /// Devices, hardware IDs, and perhaps a taint; each command documents its own.
    #[arg(skip)]
    pub arguments: Vec<String>,

    /// `--all-devices`; `None` where the command has no such flag.
    #[arg(skip)]
    pub all_devices: Option<bool>,

    /// `--skip-errors`; `None` where the command has no such flag.
    #[arg(skip)]
    pub skips_errors: Option<bool>,

    /// `--with-partitions`
    #[arg(skip)]
    pub with_partitions: bool,

    /// `--rule`
    #[arg(skip)]
    pub rules: Vec<String>,

    /// `--filename`
    #[arg(skip)]
    pub filenames: Vec<PathBuf>,
}

impl DeviceArguments {
    /// The flags, with the arguments beside them.
    #[must_use]
    pub fn with(&self, arguments: &[String]) -> Self {
        Self {
            arguments: arguments.to_vec(),
            ..self.clone()
        }
    }

    /// True if neither devices nor a taint were typed.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
            && self.all_devices != Some(true)
            && self.expressions.is_empty()
            && self.node.is_none()
            && !self.with_partitions
            && self.rules.is_empty()
            && self.filenames.is_empty()
    }

    /// The arguments with `device/DEVICE` as the device, `node/NAME` as `--node` and, to assess rules, `rule/NAME` as
    /// `--rule`; and the node.
    fn without_types(&self, purpose: Purpose) -> Result<(Self, Option<String>), Failure> {
        let (mut node, mut typed) = (None::<String>, self.clone());
        typed.arguments.clear();
        for text in Subject::with_types(&self.arguments) {
            let subject = Subject::typed(&text).and_then(Result::ok);
            match subject.filter(|_| !text.contains(['=', ':'])) {
                None => typed.arguments.push(text),
                Some(Subject::Device(id)) => typed.arguments.push(id.to_string()),
                Some(Subject::Node(name)) => {
                    if let Some(first) = node.as_ref().or(self.node.as_ref()) {
                        let text = format!("more than one node: {first} and {name}");
                        return Err(Failure::usage(text));
                    }
                    typed.node = Some(name.clone());
                    node = Some(name);
                }
                Some(Subject::Rule(name)) if purpose == Purpose::Assess => typed.rules.push(name),
                Some(other @ (Subject::Rule(_) | Subject::Pod(_) | Subject::Claim(_))) => {
                    return Err(other_type(&other, &text, "device"));
                }
            }
        }
        Ok((typed, node))
    }
}

/// The failure of an object of another type than `wanted`.
pub fn other_type(subject: &Subject, text: &str, wanted: &str) -> Failure {
    let (kind, command) = subject.shown_by(text);
    Failure::usage(format!("{text} is a {kind}, not a {wanted}"))
        .hint(format!("to show its devices: `{command}`"))
}

/// Selection of devices, and the taint beside it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Devices by name, rules or manifests.
    pub by: ChoiceBasis,
    /// Hardware IDs, whose devices are selected beside those with names.
    pub hardware: Vec<Hardware>,
    /// Conditions that the selected devices meet; with no name and no hardware ID, all devices that meet them are
    /// selected.
    pub filter: Option<DeviceFilter>,
    /// The taint that was named beside the devices.
    pub taint: Option<Taint>,
}

/// Devices by name, rules or manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceBasis {
    /// Selectors; one a taint, each once.
    Selectors(Vec<DeviceSelector>),
    /// Rules that exist, by name.
    Rules(Vec<String>),
    /// Files with rules.
    Manifests(Vec<PathBuf>),
}

/// Purpose for which devices are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Assessment of a taint without making it: the taint may stay unnamed.
    Assess,
    /// Creation of rules with a taint.
    Add,
    /// Anything without a taint of the user's.
    Choose,
    /// A list, which may be empty.
    List,
}

impl Choice {
    /// Selects devices by name, with a taint.
    pub fn of_selectors(selectors: Vec<DeviceSelector>, taint: Option<Taint>) -> Self {
        Self {
            by: ChoiceBasis::Selectors(selectors),
            hardware: Vec::new(),
            filter: None,
            taint,
        }
    }

    /// Understands what was typed, and finds everything that can be wrong with it without a cluster.
    ///
    /// # Errors
    ///
    /// An invalid name; no way to select devices, or two; a taint where none can be, or none where one is needed.
    pub fn parse(typed: &DeviceArguments, purpose: Purpose) -> Result<Self, Failure> {
        let (typed, node) = typed.without_types(purpose)?;
        // Before taints are looked for: `uuid=GPU-18db…` has the form of one.
        let (hardware, names) = Hardware::among(&typed.arguments);
        let (selectors, taint) = devices_and_taint(&names, &typed, &hardware)?;
        let filter = DeviceFilter::parse(&typed)?;
        let filter = filter.map(|filter| filter.used_for(purpose));
        match (&taint, purpose) {
            (Some(taint), Purpose::Choose | Purpose::List) => {
                return Err(Failure::usage(format!("{taint} is a taint, not a device")));
            }
            // Manifests bring taints of their own.
            (None, Purpose::Add) if typed.filenames.is_empty() => return Err(no_taint()),
            (Some(_) | None, Purpose::Assess | Purpose::Add | Purpose::Choose | Purpose::List) => {}
        }
        let is_all = typed.all_devices == Some(true);
        let ways = [
            ("DEVICE", !selectors.is_empty() || !hardware.is_empty()),
            ("node/NAME", node.is_some()),
            ("--all-devices", is_all),
            ("--rule", !typed.rules.is_empty()),
            ("--filename", !typed.filenames.is_empty()),
        ];
        let ways: Vec<&str> = ways
            .into_iter()
            .filter_map(|(way, is_used)| is_used.then_some(way))
            .collect();
        if let [first, second, ..] = ways[..] {
            let text = format!("{first} cannot be used together with {second}");
            return Err(Failure::usage(text));
        }
        let by = if !typed.rules.is_empty() {
            let names = typed.rules.iter().map(|text| rule::parse_name(text));
            ChoiceBasis::Rules(names.collect::<Result<_, _>>().map_err(wrong_name)?)
        } else if !typed.filenames.is_empty() {
            ChoiceBasis::Manifests(typed.filenames)
        } else if is_all {
            // The only way to an empty selector, which every device matches.
            ChoiceBasis::Selectors(vec![DeviceSelector::default()])
        } else {
            ChoiceBasis::Selectors(selectors)
        };
        let is_chosen = !ways.is_empty() || filter.as_ref().is_some_and(DeviceFilter::chooses);
        match (&by, ways.first()) {
            (ChoiceBasis::Selectors(_), _) if !is_chosen => return Err(no_devices(taint.as_ref())),
            (ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_), Some(way)) => {
                if taint.is_some() {
                    return Err(Failure::usage(format!(
                        "a taint cannot be combined with {way}: a rule has its own taint"
                    )));
                }
                if filter.is_some() {
                    return Err(Failure::usage(format!(
                        "{way} selects the devices and cannot be combined with --node, --where and --with-partitions"
                    )));
                }
            }
            (
                ChoiceBasis::Selectors(_) | ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_),
                Some(_) | None,
            ) => {}
        }
        Ok(Self {
            by,
            hardware,
            filter,
            taint,
        })
    }

    /// True if all devices of a driver, or of all drivers, are selected.
    pub fn has_whole_driver(&self) -> bool {
        let selectors = match &self.by {
            ChoiceBasis::Selectors(selectors) => selectors.as_slice(),
            ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_) => &[],
        };
        let is_whole = |it: &DeviceSelector| it.pool.is_none() && it.device.is_none();
        self.filter.is_none() && selectors.iter().any(is_whole)
    }

    /// True if the cluster has to be read to tell the selected devices.
    pub fn needs_cluster(&self) -> bool {
        !self.hardware.is_empty() || self.filter.is_some()
    }

    /// True if attributes or counters of devices have to be read for that.
    pub fn needs_attributes(&self) -> bool {
        let mut filter = self.filter.iter();
        !self.hardware.is_empty() || filter.any(DeviceFilter::needs_attributes)
    }
}

/// The devices, each once, and the taint among the arguments without hardware IDs. The arguments have the same meaning
/// for all commands: what is assessed can be added by changing the verb.
fn devices_and_taint(
    names: &[String],
    typed: &DeviceArguments,
    hardware: &[Hardware],
) -> Result<(Vec<DeviceSelector>, Option<Taint>), Failure> {
    // A trailing dash removes a taint in kubectl. A command that adds taints must not read it as part of a
    // key.
    if let Some(text) = names.iter().find(|text| text.ends_with('-')) {
        let words: Vec<String> = typed.arguments.iter().map(|text| word(text)).collect();
        // `remove` has no --node.
        let hint = match typed.node {
            None => format!("kubectl devicetaint remove {}", words.join(" ")),
            Some(_) => "kubectl devicetaint remove RULE".to_owned(),
        };
        return Err(Failure::usage(format!("{text:?} removes a taint"))
            .hint(format!("to remove the taint: {hint}")));
    }
    let is_all = typed.all_devices == Some(true);
    let beside = Vec::from_iter(is_all.then(DeviceSelector::default));
    let targets = Targets::parse(names, &beside, !hardware.is_empty(), &Effect::None);
    let Targets {
        selectors,
        mut taints,
    } = targets.map_err(|error| match error {
        NamingError::Everything { .. } if typed.all_devices.is_some() => {
            Failure::usage(error).hint("to select every device: --all-devices")
        }
        NamingError::TwoSegments { .. }
        | NamingError::Everything { .. }
        | NamingError::Invalid { .. } => wrong_name(error),
    })?;
    if let [first, second, ..] = taints.as_slice() {
        let text = format!("more than one taint: {first} and {second}");
        return Err(Failure::usage(text));
    }
    let mut once: Vec<DeviceSelector> = Vec::new();
    for selector in selectors {
        if !once.contains(&selector) {
            once.push(selector);
        }
    }
    Ok((once, taints.pop()))
}

/// The failure of a malformed name, with a name that may have been meant.
pub fn wrong_name(error: NamingError) -> Failure {
    wrong_name_or_taint(error, &Effect::None)
}

/// As [`wrong_name`], where a taint that may have been meant gets this effect.
pub fn wrong_name_or_taint(error: NamingError, effect: &Effect) -> Failure {
    if let NamingError::TwoSegments { argument, .. } = &error
        && let Some(Ok(subject)) = Subject::typed(argument)
    {
        return other_type(&subject, argument, "device");
    }
    let hint = match &error {
        // A driver has a dot, and so has the domain of a taint's key.
        NamingError::TwoSegments { argument, .. }
            if argument
                .split('/')
                .next()
                .is_some_and(|first| first.contains('.')) =>
        {
            Some(match argument.strip_suffix("/*") {
                Some(driver) => format!("for all devices of a driver: {driver}"),
                None => format!(
                    "for all devices of a pool: {}; for a taint: {argument}:{effect}",
                    word(&format!("{argument}/*"))
                ),
            })
        }
        NamingError::TwoSegments { argument, .. } if is_other_type(argument) => None,
        NamingError::TwoSegments { argument, .. } => {
            Some(format!("did you mean {}?", word(&format!("*/{argument}"))))
        }
        // A device and an effect with a colon between them have the form of a taint, with the device as its
        // key.
        NamingError::Invalid {
            field: "taint key",
            value,
            ..
        } if device::parse(value).is_ok_and(|selector| selector.device.is_some()) => Some(format!(
            "separate device and taint by a space: {value} KEY:EFFECT"
        )),
        NamingError::Everything { .. } | NamingError::Invalid { .. } => None,
    };
    hint.into_iter().fold(Failure::usage(error), Failure::hint)
}

fn no_taint() -> Failure {
    Failure::usage("no taint specified")
        .hint("add a taint as KEY[=VALUE]:EFFECT, such as example.com/maintenance:None")
}

fn no_devices(taint: Option<&Taint>) -> Failure {
    let text = match taint {
        Some(taint) => format!("no devices specified for taint {taint}"),
        None => "no devices specified".to_owned(),
    };
    Failure::usage(text)
        .hint("specify devices as DRIVER or DRIVER/POOL/DEVICE; list them with `kubectl devicetaint devices`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(arguments: &[&str]) -> DeviceArguments {
        DeviceArguments {
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            ..DeviceArguments::default()
        }
    }

    /// Arguments beside `--all-devices`, and those with `--rule`.
    fn all(arguments: &[&str]) -> DeviceArguments {
        DeviceArguments {
            all_devices: Some(true),
            ..typed(arguments)
        }
    }

    fn by_rule(rule: &str, arguments: &[&str]) -> DeviceArguments {
        DeviceArguments {
            rules: vec![rule.to_owned()],
            ..typed(arguments)
        }
    }

    fn shown(choice: Result<Choice, Failure>) -> String {
        let choice = match choice {
            Ok(choice) => choice,
            Err(failure) => return failure.to_string(),
        };
        let by = match &choice.by {
            ChoiceBasis::Selectors(selectors) => selectors.iter().map(device::format).collect(),
            ChoiceBasis::Rules(names) => names.clone(),
            ChoiceBasis::Manifests(files) => files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
        };
        let taint = choice.taint.map(|taint| taint.to_string());
        by.into_iter()
            .chain(taint)
            .collect::<Vec<String>>()
            .join(" ")
    }

    #[test]
    fn whole_drivers_are_told_from_parts_of_them() {
        for (names, is_whole) in [
            (vec!["gpu.example.com"], true),
            (vec!["gpu.example.com/*/*"], true),
            (vec!["gpu.example.com/node-7/*"], false),
            (vec!["*/node-7/*"], false),
            (vec!["gpu.example.com/*/gpu-0"], false),
        ] {
            let mut choice = Choice::parse(&typed(&names), Purpose::Assess).expect("devices");
            assert_eq!(choice.has_whole_driver(), is_whole, "{names:?}");
            choice.filter = DeviceFilter::parse(&DeviceArguments {
                node: Some("node-7".to_owned()),
                ..DeviceArguments::default()
            })
            .expect("a filter");
            assert!(!choice.has_whole_driver(), "{names:?} of a node");
        }
    }

    #[test]
    fn exactly_what_was_typed_is_chosen_and_nothing_wider() {
        let (a, b) = ("a.example.com/p/d", "b.example.com/p/d");
        let (taint, node) = ("example.com/k=v:NoSchedule", "a.example.com/p/*");
        let rule = "devicetaintrule.resource.k8s.io/drain";
        for (name, typed, expected) in [
            ("one device", typed(&[a]), a.to_owned()),
            ("each once", typed(&[b, a, b]), format!("{b} {a}")),
            ("a taint", typed(&[taint, node]), format!("{node} {taint}")),
            ("all", all(&[]), "*/*/*".to_owned()),
            ("as printed", by_rule(rule, &[]), "drain".to_owned()),
        ] {
            assert_eq!(
                shown(Choice::parse(&typed, Purpose::Assess)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_key_without_effect_beside_devices_is_a_taint() {
        let by_node = || DeviceArguments {
            node: Some("node-7".to_owned()),
            ..DeviceArguments::default()
        };
        let with = |arguments: &[&str], filters: DeviceArguments| {
            filters.with(&typed(arguments).arguments)
        };
        let by_number = ["example.com/x", "GPU-18db2cf4-4a53-1f4c-9cf1-0f4a6d0a5b1c"];
        for typed in [
            with(&["example.com/x=y"], by_node()),
            with(&["gpu.example.com/*/gpu-0", "example.com/x"], by_node()),
            typed(&["uuid=GPU-1", "example.com/x"]),
            typed(&by_number),
        ] {
            let choice = Choice::parse(&typed, Purpose::Add).expect("a choice");
            assert!(choice.taint.is_some(), "{typed:?}");
        }
        for typed in [
            typed(&["example.com/x"]),
            with(&["example.com/x"], by_node()),
        ] {
            let failure = Choice::parse(&typed, Purpose::Add).unwrap_err();
            // The pasted taint evicts no pod.
            assert!(failure.hints()[0].ends_with("example.com/x:None"));
        }
        let no_domain = Choice::parse(&typed(&["node-7/gpu-0"]), Purpose::Assess).unwrap_err();
        assert_eq!(no_domain.hints(), ["did you mean '*/node-7/gpu-0'?"]);
    }

    #[test]
    fn what_is_tainted_is_chosen_as_what_is_looked_at_and_a_taint_is_needed() {
        let (gpu, key) = ("gpu.example.com/node-7/gpu-0", "example.com/maintenance");
        let file = DeviceArguments {
            filenames: vec!["f".into()],
            ..typed(&["a=b"])
        };
        let away = "example.com/maintenance-";
        for (name, typed, expected) in [
            ("no effect", typed(&[gpu, key]), "maintenance:None"),
            ("all", all(&[key]), "*/*/* example.com/maintenance:None"),
            ("no taint", typed(&[gpu]), "no taint specified"),
            ("nothing", typed(&[]), "no taint specified"),
            ("a taint alone", typed(&["a=b"]), "no devices specified"),
            ("two ways", all(&[gpu, "a=b"]), "with --all-devices"),
            ("a file with a taint", file, "with --filename"),
            ("taken away", typed(&[gpu, away]), "removes a taint"),
        ] {
            let told = shown(Choice::parse(&typed, Purpose::Add));
            assert!(told.contains(expected), "{name}: {told}");
        }
    }
}
