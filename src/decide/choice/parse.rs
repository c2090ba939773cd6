//! Parsing of device arguments, without a cluster.

use std::path::PathBuf;

use super::ambiguous::NumberUse;
use super::device_arguments::DeviceArguments;
use super::device_filters::{DeviceFilter, DeviceFilterFlags, FilterResult};
use super::misspelt_name::{meant_as_hardware, wrong_name};
use super::numbers::{is_one_of, numbers, words_among};
use crate::decide::identity::Hardware;
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{DeviceSelector, Effect, Reading, Taint};
use crate::naming::shell::word;
use crate::naming::taint::TaintPattern;
use crate::naming::{NamingError, Targets, device, rule};

/// Which devices are meant, and which taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What says which devices are meant.
    pub by: ChoiceBasis,
    /// The taint that was named beside them.
    pub taint: Option<Taint>,
}

/// What says which devices are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceBasis {
    /// Their names; one selector a taint, each once.
    Selectors(Vec<DeviceSelector>),
    /// What they are, and who uses them, of those that one of the selectors names; of all where there
    /// are none. Becomes selectors once it is known what there is.
    Filtered(Box<DeviceFilter>, Vec<DeviceSelector>),
    /// Rules that exist, by name.
    Rules(Vec<String>),
    /// Rules that are written down in files.
    Manifests(Vec<PathBuf>),
}

/// What devices are named for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To assess what a taint would do, without making it: the taint may stay unnamed.
    Assess,
    /// To taint them.
    Add,
    /// To choose some of them for what has its own taint, if any. No flag selects every device.
    Choose,
}

impl Choice {
    /// Understands what was typed, and finds everything that can be wrong with it without a cluster.
    ///
    /// # Errors
    ///
    /// What is no name; no way to say it or more than one; a taint beside what has its own.
    pub fn parse(typed: &DeviceArguments, purpose: Purpose) -> Result<Self, Failure> {
        // Before taints are looked for: `uuid=GPU-18db…` has the form of one.
        let all_arguments = typed.arguments.len();
        let (hardware, typed) = &without_hardware(typed);
        let beside_hardware = typed.arguments.len() < all_arguments;
        let (named, taint) = arguments(typed, beside_hardware, purpose)?;
        let filter = DeviceFilter::parse(hardware)?;
        // Manifests bring taints of their own.
        if purpose == Purpose::Add && taint.is_none() && typed.filenames.is_empty() {
            return Err(no_taint());
        }
        let ways: Vec<(&str, ChoiceBasis)> = [
            ("DEVICE", ChoiceBasis::Selectors(named)),
            (
                // The only way to an empty selector, which every device matches.
                "--all-devices",
                ChoiceBasis::Selectors(vec![
                    DeviceSelector::default();
                    usize::from(typed.all_devices)
                ]),
            ),
            ("--rule", ChoiceBasis::Rules(rule_names(&typed.rules)?)),
            (
                "--filename",
                ChoiceBasis::Manifests(typed.filenames.clone()),
            ),
        ]
        .into_iter()
        .filter(|(_, by)| !by.is_empty())
        .collect();
        // A filter that selects nothing itself, such as `--with-partitions`, needs devices to apply to.
        if let Some(filter) = filter
            && (filter.chooses() || !ways.is_empty())
        {
            let by = filtered(filter, ways, purpose)?;
            return Ok(Self { by, taint });
        }
        let by = match <[_; 1]>::try_from(ways) {
            Ok([(way, by)]) => match (&by, &taint) {
                (ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_), Some(_)) => {
                    return Err(Failure::usage(format!(
                        "a taint cannot be combined with {way}: a rule has its own taint"
                    )));
                }
                (
                    ChoiceBasis::Selectors(_)
                    | ChoiceBasis::Filtered(..)
                    | ChoiceBasis::Rules(_)
                    | ChoiceBasis::Manifests(_),
                    _,
                ) => by,
            },
            Err(ways) => {
                let failure = match taint.as_ref().filter(|_| ways.is_empty()) {
                    Some(taint) => no_devices_for(taint),
                    None => not_one_way(&ways, purpose),
                };
                return Err(meant_as_hardware(&typed.arguments, failure));
            }
        };
        Ok(Self { by, taint })
    }
}

impl Choice {
    /// What has to be known of devices to tell which are meant; nothing where names say it.
    #[must_use]
    pub fn filter(&self) -> Option<&DeviceFilter> {
        match &self.by {
            ChoiceBasis::Filtered(filter, _) => Some(filter),
            ChoiceBasis::Selectors(_) | ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_) => None,
        }
    }

    /// The words that may be numbers of hardware, such as serial numbers, where none of these is the driver
    /// of a device in `reading`: whether they are, attributes say.
    #[must_use]
    pub fn words(&self, reading: &Reading) -> Vec<&str> {
        let named = match &self.by {
            ChoiceBasis::Selectors(named) | ChoiceBasis::Filtered(_, named) => named,
            ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_) => return Vec::new(),
        };
        words_among(named, reading)
    }

    /// The choice with those of its words as hardware that are numbers of devices in `reading`, of which
    /// attributes were read.
    ///
    /// # Errors
    ///
    /// As [`DeviceFilter::parse`].
    pub fn with_numbers(self, reading: &Reading) -> Result<Self, Failure> {
        let words = self.words(reading);
        let hardware = numbers(&words, &reading.snapshot);
        if hardware.is_empty() {
            return Ok(self);
        }
        let (filter, mut named) = match self.by {
            ChoiceBasis::Filtered(filter, named) => (Some(filter), named),
            ChoiceBasis::Selectors(named) => (None, named),
            by @ (ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_)) => {
                return Ok(Self { by, ..self });
            }
        };
        named.retain(|selector| !is_one_of(selector, &hardware));
        let filter = match filter {
            Some(filter) => Some(filter.with_hardware(hardware)?),
            None => DeviceFilter::parse(&DeviceFilterFlags {
                identities: hardware,
                ..DeviceFilterFlags::default()
            })?,
        };
        let by = match filter {
            Some(filter) => ChoiceBasis::Filtered(Box::new(filter), named),
            None => ChoiceBasis::Selectors(named),
        };
        Ok(Self { by, ..self })
    }

    /// The choice with the devices of `reading` by their names, for this use, and what there is to say about that.
    ///
    /// # Errors
    ///
    /// As [`DeviceFilter::resolve`].
    pub fn resolved(
        &self,
        reading: &Reading,
        semantics: &Semantics,
        use_of: NumberUse,
    ) -> Result<ResolvedChoice, Failure> {
        let ChoiceBasis::Filtered(filter, named) = &self.by else {
            return Ok(ResolvedChoice {
                choice: self.clone(),
                notes: Vec::new(),
            });
        };
        let filtered = filter.resolve(reading, named, semantics)?;
        let filtered = filtered.unambiguous(use_of)?;
        let FilterResult { devices, notes, .. } = filtered;
        let by = ChoiceBasis::Selectors(devices.into_iter().map(DeviceSelector::from).collect());
        let taint = self.taint.clone();
        Ok(ResolvedChoice {
            choice: Self { by, taint },
            notes,
        })
    }
}

/// A choice with the devices by their names.
#[derive(Clone, Debug)]
pub struct ResolvedChoice {
    /// The choice.
    pub choice: Choice,
    /// What there is to say about it.
    pub notes: Vec<String>,
}

/// What was typed with arguments that name hardware among the other choices.
fn without_hardware(typed: &DeviceArguments) -> (DeviceFilterFlags, DeviceArguments) {
    let mut filters = typed.filters.clone();
    let (identities, arguments) = hardware_among(&typed.arguments);
    filters.identities.extend(identities);
    let rest = DeviceArguments {
        arguments,
        filters: filters.clone(),
        ..typed.clone()
    };
    (filters, rest)
}

/// The arguments that name hardware, such as `uuid=GPU-18db…` or the number alone, and all others.
#[must_use]
pub fn hardware_among(arguments: &[String]) -> (Vec<Hardware>, Vec<String>) {
    let (mut identities, mut others) = (Vec::new(), Vec::new());
    for argument in arguments {
        match Hardware::parse(argument) {
            Some(identity) => identities.push(identity),
            None => others.push(argument.clone()),
        }
    }
    (identities, others)
}

/// Devices by what they are, of those that were named.
fn filtered(
    filter: DeviceFilter,
    mut ways: Vec<(&str, ChoiceBasis)>,
    purpose: Purpose,
) -> Result<ChoiceBasis, Failure> {
    if ways.len() > 1 {
        return Err(not_one_way(&ways, purpose));
    }
    match ways.pop() {
        None => Ok(ChoiceBasis::Filtered(Box::new(filter), Vec::new())),
        Some((_, ChoiceBasis::Selectors(named))) => {
            Ok(ChoiceBasis::Filtered(Box::new(filter), named))
        }
        Some((
            way,
            ChoiceBasis::Filtered(..) | ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_),
        )) => Err(Failure::usage(format!(
            "{way} selects the devices and cannot be combined with hardware IDs, --node and --where"
        ))),
    }
}

impl ChoiceBasis {
    fn is_empty(&self) -> bool {
        match self {
            Self::Selectors(selectors) => selectors.is_empty(),
            Self::Filtered(..) => false,
            Self::Rules(names) => names.is_empty(),
            Self::Manifests(files) => files.is_empty(),
        }
    }
}

/// The devices, each once, and the taint among the arguments, which stand beside hardware IDs or not.
fn arguments(
    typed: &DeviceArguments,
    beside_hardware: bool,
    purpose: Purpose,
) -> Result<(Vec<DeviceSelector>, Option<Taint>), Failure> {
    let Targets {
        selectors,
        mut taints,
    } = targets(typed, beside_hardware, purpose)?;
    if let [first, second, ..] = taints.as_slice() {
        let failure = Failure::usage(format!("more than one taint: {first} and {second}"));
        return Err(meant_as_hardware(&typed.arguments, failure));
    }
    let mut once: Vec<DeviceSelector> = Vec::new();
    for selector in selectors {
        if !once.contains(&selector) {
            once.push(selector);
        }
    }
    Ok((once, taints.pop()))
}

/// The arguments, understood in one way whatever devices are named for: what is looked at can be added
/// by changing the verb.
fn targets(
    typed: &DeviceArguments,
    beside_hardware: bool,
    purpose: Purpose,
) -> Result<Targets, Failure> {
    let texts = &typed.arguments;
    // A trailing dash removes a taint in kubectl. A command that adds taints must not read it as part of a
    // key.
    let mut taken = texts
        .iter()
        .filter(|text| TaintPattern::parse(text).is_some());
    if let Some(text) = taken.next() {
        let words: Vec<String> = texts.iter().map(|text| word(text)).collect();
        return Err(
            Failure::usage(format!("{text:?} removes a taint")).hint(format!(
                "to remove the taint: kubectl devicetaint remove {}",
                words.join(" ")
            )),
        );
    }
    let all = typed.all_devices.then(DeviceSelector::default);
    let beside = Vec::from_iter(all);
    Targets::parse(texts, &beside, beside_hardware, &Effect::None).map_err(|error| {
        if let NamingError::TwoSegments {
            argument,
            suggestions,
        } = &error
            && beside.is_empty()
            && !typed.filters.is_empty()
        {
            return without_effect(argument, suggestions);
        }
        let hint = match &error {
            NamingError::TwoSegments { argument, .. } if purpose == Purpose::Add => {
                Some(format!("for a taint, add an effect: {argument}:None"))
            }
            NamingError::Everything { .. } if purpose != Purpose::Choose => {
                Some("to select every device: --all-devices".to_owned())
            }
            NamingError::TwoSegments { .. }
            | NamingError::EmptySegment { .. }
            | NamingError::Everything { .. }
            | NamingError::Invalid { .. }
            | NamingError::NoEffect { .. }
            | NamingError::UnknownEffect { .. } => None,
        };
        hint.into_iter().fold(wrong_name(error), Failure::hint)
    })
}

/// Names of rules, bare or as they are printed.
///
/// # Errors
///
/// What can be no name.
fn rule_names(texts: &[String]) -> Result<Vec<String>, Failure> {
    let names = texts.iter().map(|text| rule::parse_name(text));
    names.collect::<Result<_, _>>().map_err(wrong_name)
}

/// The failure of a word that can only be a taint without an effect, or an incomplete device; absent for all others.
///
/// What has no dot before its slash has no domain, as the driver of a device and the prefix of a taint key have.
#[must_use]
pub fn incomplete_taint(text: &str) -> Option<Failure> {
    match device::parse(text) {
        Err(NamingError::TwoSegments {
            argument,
            suggestions,
        }) if text.split('/').next()?.contains('.') => {
            Some(without_effect(&argument, &suggestions))
        }
        Ok(_) | Err(_) => None,
    }
}

/// What stands beside choices by what devices are, and may be a taint or devices.
fn without_effect(argument: &str, suggestions: &[String; 2]) -> Failure {
    let devices: Vec<String> = suggestions.iter().map(|text| word(text)).collect();
    Failure::usage(format!(
        "cannot tell whether {argument:?} is a taint or a device"
    ))
    .hint(format!(
        "for a taint, add its effect (None, NoSchedule or NoExecute), such as {argument}:None"
    ))
    .hint(format!("for devices: {}", devices.join(" or ")))
}

fn no_taint() -> Failure {
    Failure::usage("no taint specified")
        .hint("add a taint as KEY[=VALUE][:EFFECT], such as example.com/maintenance=firmware")
}

fn no_devices_for(taint: &Taint) -> Failure {
    Failure::usage(format!("no devices specified for taint {taint}"))
        .hint("specify devices as DRIVER/POOL/DEVICE before the taint")
        .hint("list the devices with `kubectl devicetaint devices`")
}

fn not_one_way(ways: &[(&str, ChoiceBasis)], purpose: Purpose) -> Failure {
    match (ways, purpose) {
        ([(first, _), (second, _), ..], _) => {
            Failure::usage(format!("{first} cannot be used together with {second}"))
        }
        ([] | [_], Purpose::Assess) => Failure::usage("no devices specified")
            .hint("specify devices as DRIVER/POOL/DEVICE, or a rule with --rule or --filename")
            .hint("list the devices with `kubectl devicetaint devices`"),
        ([] | [_], Purpose::Choose) => Failure::usage("no devices specified")
            .hint("specify devices as DRIVER/POOL/DEVICE; DRIVER alone means all devices of the driver")
            .hint("list the devices with `kubectl devicetaint devices`"),
        ([] | [_], Purpose::Add) => Failure::usage("no devices specified")
            .hint("specify devices as DRIVER/POOL/DEVICE")
            .hint("list the devices with `kubectl devicetaint devices`"),
    }
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

    fn shown(choice: Result<Choice, Failure>) -> String {
        let choice = match choice {
            Ok(choice) => choice,
            Err(failure) => return failure.to_string(),
        };
        let by = match &choice.by {
            ChoiceBasis::Selectors(selectors) | ChoiceBasis::Filtered(_, selectors) => {
                selectors.iter().map(device::format).collect()
            }
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
    fn exactly_what_was_typed_is_chosen_and_nothing_wider() {
        for (name, typed, expected) in [
            (
                "one device",
                typed(&["gpu.example.com/node-7/gpu-0"]),
                "gpu.example.com/node-7/gpu-0",
            ),
            (
                "each once, in their order",
                typed(&[
                    "b.example.com/p/d",
                    "a.example.com/p/d",
                    "b.example.com/p/d",
                ]),
                "b.example.com/p/d a.example.com/p/d",
            ),
            (
                "with a taint",
                typed(&["example.com/k=v:NoSchedule", "gpu.example.com/node-7/*"]),
                "gpu.example.com/node-7/* example.com/k=v:NoSchedule",
            ),
            (
                "all, only when that is said",
                DeviceArguments {
                    all_devices: true,
                    ..DeviceArguments::default()
                },
                "*/*/*",
            ),
            (
                "a rule as it is printed",
                DeviceArguments {
                    rules: vec!["devicetaintrule.resource.k8s.io/drain".to_owned()],
                    ..DeviceArguments::default()
                },
                "drain",
            ),
        ] {
            assert_eq!(
                shown(Choice::parse(&typed, Purpose::Assess)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn one_way_to_say_it_and_one_taint() {
        let rule = || vec!["drain".to_owned()];
        for (name, typed, refused) in [
            ("nothing", typed(&[]), "no devices specified"),
            (
                "a taint alone",
                typed(&["a.example.com/k:None"]),
                "no devices specified for taint a.example.com/k:None",
            ),
            (
                "two ways",
                DeviceArguments {
                    all_devices: true,
                    ..typed(&["gpu.example.com"])
                },
                "DEVICE cannot be used together with --all-devices",
            ),
            (
                "a rule and a file",
                DeviceArguments {
                    rules: rule(),
                    filenames: vec!["f".into()],
                    ..DeviceArguments::default()
                },
                "--rule cannot be used together with --filename",
            ),
            (
                "a rule has its own taint",
                DeviceArguments {
                    rules: rule(),
                    ..typed(&["a.example.com/k:None"])
                },
                "a taint cannot be combined with --rule: a rule has its own taint",
            ),
            (
                "two taints",
                typed(&[
                    "gpu.example.com",
                    "a.example.com/k:None",
                    "a.example.com/l:None",
                ]),
                "more than one taint: a.example.com/k:None and a.example.com/l:None",
            ),
        ] {
            assert_eq!(
                shown(Choice::parse(&typed, Purpose::Assess)),
                refused,
                "{name}"
            );
        }
        let everything = |purpose| Choice::parse(&typed(&["*/*/*"]), purpose).unwrap_err();
        assert_eq!(
            everything(Purpose::Choose).hints(),
            <[String; 0]>::default()
        );
        let everything = everything(Purpose::Assess);
        assert_eq!(
            everything.hints(),
            ["to select every device: --all-devices"]
        );
    }

    #[test]
    fn a_taint_without_its_effect_beside_other_choices_is_told_as_that() {
        let by_node = || DeviceFilterFlags {
            node: Some("node-7".to_owned()),
            ..DeviceFilterFlags::default()
        };
        let with = |arguments: &[&str], filters: DeviceFilterFlags| DeviceArguments {
            filters,
            ..typed(arguments)
        };
        for purpose in [Purpose::Assess, Purpose::Add] {
            let unclear = with(&["example.com/x"], by_node());
            let failure = Choice::parse(&unclear, purpose).unwrap_err();
            assert_eq!(
                failure.to_string(),
                "cannot tell whether \"example.com/x\" is a taint or a device"
            );
            // What is pasted evicts no pod.
            let hint = &failure.hints()[0];
            assert!(hint.ends_with("example.com/x:None"), "{hint}");
        }
        // Beside devices that are named it is a taint, also by their hardware; a value says so, too.
        let named = with(&["gpu.example.com/*/gpu-0", "example.com/x"], by_node());
        let valued = with(&["example.com/x=y"], by_node());
        let by_uuid = typed(&["uuid=GPU-1", "example.com/x"]);
        let by_number = typed(&["example.com/x", "GPU-18db2cf4-4a53-1f4c-9cf1-0f4a6d0a5b1c"]);
        for typed in [named, valued, by_uuid, by_number] {
            assert!(Choice::parse(&typed, Purpose::Add).is_ok(), "{typed:?}");
        }
    }

    #[test]
    fn hardware_that_is_misspelt_is_told_as_it_is_spelt() {
        for (arguments, meant) in [
            (&["UUID=GPU-1"][..], Some("uuid=GPU-1")),
            (&["uid=GPU-1", "k:NoExecute"], Some("uuid=GPU-1")),
            (&["maintenance=x"], None),
        ] {
            let failure = Choice::parse(&typed(arguments), Purpose::Assess).unwrap_err();
            let hint = meant.map(|meant| format!("did you mean hardware {meant}?"));
            let hints = failure.hints();
            assert_eq!(
                hints.iter().find(|hint| hint.contains("hardware")),
                hint.as_ref()
            );
        }
    }

    #[test]
    fn what_is_tainted_is_chosen_as_what_is_looked_at_and_a_taint_is_needed() {
        let (gpu, key) = ("gpu.example.com/node-7/gpu-0", "example.com/maintenance");
        for (name, typed, expected) in [
            (
                "a taint without effect no consequence yet",
                typed(&[gpu, key]),
                "gpu.example.com/node-7/gpu-0 example.com/maintenance:None",
            ),
            (
                "also beside flags",
                DeviceArguments {
                    all_devices: true,
                    ..typed(&[key])
                },
                "*/*/* example.com/maintenance:None",
            ),
            ("no taint", typed(&[gpu]), "no taint specified"),
            ("nothing", typed(&[]), "no taint specified"),
            (
                "a taint alone",
                typed(&["a=b"]),
                "no devices specified for taint a=b:None",
            ),
            (
                "two ways",
                DeviceArguments {
                    all_devices: true,
                    ..typed(&[gpu, "a=b"])
                },
                "DEVICE cannot be used together with --all-devices",
            ),
            (
                "a file has its own taint",
                DeviceArguments {
                    filenames: vec!["f".into()],
                    ..typed(&["a=b"])
                },
                "a taint cannot be combined with --filename: a rule has its own taint",
            ),
            (
                "what takes away",
                typed(&[gpu, "example.com/maintenance-"]),
                "\"example.com/maintenance-\" removes a taint",
            ),
        ] {
            assert_eq!(
                shown(Choice::parse(&typed, Purpose::Add)),
                expected,
                "{name}"
            );
        }
    }
}
