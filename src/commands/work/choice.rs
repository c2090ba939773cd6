//! Which devices are meant: first what was typed, understood without a cluster, then what that is in
//! what was looked at.

use std::path::PathBuf;

use super::look::Look;
use crate::engine::{self, ConsideredTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Effect, Taint, Warning};
use crate::naming::shell::word;
use crate::naming::{Argument, NamingError, device, rule, suggest, taint};
use crate::report::life::after_add;

/// What was typed to say which devices are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Typed {
    /// Devices, and perhaps a taint.
    pub(crate) arguments: Vec<String>,
    /// `--driver`, `--pool` and `--device`, if any of them was given.
    pub(crate) flags: Option<DeviceSelector>,
    /// `--all-devices`
    pub(crate) all_devices: bool,
    /// `--rule`
    pub(crate) rules: Vec<String>,
    /// `--filename`
    pub(crate) filenames: Vec<PathBuf>,
}

/// Which devices are meant, and which taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// What says which devices are meant.
    pub(crate) by: By,
    /// The taint that was named beside them.
    pub(crate) taint: Option<Taint>,
}

/// What says which devices are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Their names; one selector a taint, each once.
    Selectors(Vec<DeviceSelector>),
    /// Rules that exist, by name.
    Rules(Vec<String>),
    /// Rules that are written down in files.
    Manifests(Vec<PathBuf>),
}

/// The taint that is looked at when nobody has named one.
const DEFAULT_TAINT: &str = "kubectl-devicetaint/preview:NoExecute";

impl Choice {
    /// Understands what was typed, and finds everything that can be wrong with it without a cluster.
    pub(crate) fn parse(typed: &Typed) -> Result<Self, Failure> {
        let (named, taint) = arguments(&typed.arguments)?;
        let ways: Vec<(&str, By)> = [
            ("DEVICE", By::Selectors(named)),
            (
                "--driver, --pool, --device",
                By::Selectors(typed.flags.clone().into_iter().collect()),
            ),
            (
                "--all-devices",
                By::Selectors(vec![
                    DeviceSelector::default();
                    usize::from(typed.all_devices)
                ]),
            ),
            ("--rule", By::Rules(names(&typed.rules)?)),
            ("--filename", By::Manifests(typed.filenames.clone())),
        ]
        .into_iter()
        .filter(|(_, by)| !by.is_empty())
        .collect();
        let by = match <[_; 1]>::try_from(ways) {
            Ok([(way, by)]) => match (&by, &taint) {
                (By::Rules(_) | By::Manifests(_), Some(_)) => {
                    return Err(Failure::usage(format!(
                        "a taint cannot be given beside {way}, which has its own"
                    )));
                }
                (By::Selectors(_) | By::Rules(_) | By::Manifests(_), _) => by,
            },
            Err(ways) => return Err(not_one_way(&ways)),
        };
        Ok(Self { by, taint })
    }

    /// The taints that this means in what was looked at; `manifests` are what stands in the files.
    pub(crate) fn considered(
        &self,
        manifests: &[DeviceTaintRule],
        look: &Look,
    ) -> Result<Vec<ConsideredTaint>, Failure> {
        match &self.by {
            By::Selectors(selectors) => {
                let taint = match &self.taint {
                    Some(taint) => taint.clone(),
                    None => taint::parse(DEFAULT_TAINT).map_err(wrong_name)?,
                };
                let of = |selector: &DeviceSelector| {
                    ConsideredTaint::hypothetical(selector.clone(), taint.clone(), look.now)
                };
                Ok(selectors.iter().map(of).collect())
            }
            By::Rules(names) => names
                .iter()
                .map(|name| Ok(ConsideredTaint::of_rule(look.rule(name)?, look.now)))
                .collect(),
            By::Manifests(_) => Ok(manifests
                .iter()
                .map(|rule| ConsideredTaint::of_manifest(rule, look.snapshot(), look.now))
                .collect()),
        }
    }

    /// What to know about how this is looked at: a taint that nobody has named, or whose effect does
    /// nothing by itself.
    pub(crate) fn warning(&self) -> Option<Warning> {
        match (&self.by, &self.taint) {
            (By::Selectors(_), None) => Some(unnamed()),
            (By::Selectors(_), Some(taint)) => {
                (taint.effect == Effect::None).then(looked_at_as_no_execute)
            }
            (By::Rules(_) | By::Manifests(_), _) => None,
        }
    }
}

impl Choice {
    /// What to do after a look at this, as a command to paste; absent where that is not clear.
    /// `effect_of` is what the rule of a name does now.
    pub(crate) fn next(&self, effect_of: impl Fn(&str) -> Option<Effect>) -> Option<String> {
        let targets = match (&self.by, &self.taint) {
            (By::Selectors(_), None) => return None,
            (By::Selectors(selectors), Some(taint)) => {
                let devices = selectors.iter().map(named_for_add);
                let devices = devices.collect::<Option<Vec<_>>>()?;
                format!("{} {}", devices.join(" "), word(&taint.to_string()))
            }
            (By::Rules(names), _) => {
                let effects = names.iter().map(|name| effect_of(name));
                let effects = effects.collect::<Option<Vec<_>>>()?;
                let least = effects
                    .into_iter()
                    .find(|effect| *effect != Effect::NoExecute);
                let least = least.unwrap_or(Effect::NoExecute);
                return Some(after_add(&names.join(" "), &least));
            }
            (By::Manifests(files), _) => {
                let files = files.iter().map(|file| file.display().to_string());
                let files = files.map(|file| format!("-f {}", word(&file)));
                files.collect::<Vec<_>>().join(" ")
            }
        };
        Some(format!("next: kubectl devicetaint add {targets}"))
    }
}

/// The devices as `add` takes them; all devices have no name there.
fn named_for_add(selector: &DeviceSelector) -> Option<String> {
    (*selector != DeviceSelector::default()).then(|| word(&device::format(selector)))
}

impl By {
    fn is_empty(&self) -> bool {
        match self {
            Self::Selectors(selectors) => selectors.is_empty(),
            Self::Rules(names) => names.is_empty(),
            Self::Manifests(files) => files.is_empty(),
        }
    }
}

/// The devices, each once, and the taint among the arguments.
fn arguments(texts: &[String]) -> Result<(Vec<DeviceSelector>, Option<Taint>), Failure> {
    let mut selectors = Vec::new();
    let mut taints = Vec::new();
    for text in texts {
        match Argument::parse(text).map_err(wrong_name)? {
            Argument::Devices(selector) if selectors.contains(&selector) => {}
            Argument::Devices(selector) => selectors.push(selector),
            Argument::Taint(taint) => taints.push(taint),
        }
    }
    match taints.as_slice() {
        [] | [_] => Ok((selectors, taints.pop())),
        [first, second, ..] => Err(Failure::usage(format!(
            "more than one taint: {first} and {second}"
        ))),
    }
}

/// Names of rules, bare or as they are printed.
pub(crate) fn names(texts: &[String]) -> Result<Vec<String>, Failure> {
    let names = texts.iter().map(|text| rule::parse_name(text));
    names.collect::<Result<_, _>>().map_err(wrong_name)
}

fn not_one_way(ways: &[(&str, By)]) -> Failure {
    match ways {
        [(first, _), (second, _), ..] => {
            Failure::usage(format!("{first} cannot be used together with {second}"))
        }
        [] | [_] => Failure::usage("no devices: whom would it hit?")
            .hint("name devices as DRIVER/POOL/DEVICE, or a rule with --rule or --filename")
            .hint("list what there is with `kubectl devicetaint devices`"),
    }
}

/// Nobody has named the taint, so that only blanket tolerations can cover it.
fn unnamed() -> Warning {
    Warning {
        code: "unnamed-taint",
        message: "no taint was given: only tolerations of every key tolerate this one".to_owned(),
        fix: Some("name the taint, which may spare more pods".to_owned()),
    }
}

/// The controller previews effect None as NoExecute, and so does this plugin.
fn looked_at_as_no_execute() -> Warning {
    Warning {
        code: "previewed-as-no-execute",
        message: "effect None evicts nobody: this is whom NoExecute would hit".to_owned(),
        fix: None,
    }
}

/// Which devices to show: any of those that were named, as far as flags do not narrow that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Any of these; all devices where there are none.
    any: Vec<DeviceSelector>,
    /// And this.
    also: Option<DeviceSelector>,
}

impl Shown {
    /// Understands what was typed; to look at everything is no danger, so that `*/*/*` may be said.
    pub(crate) fn parse(typed: &Typed) -> Result<Self, Failure> {
        let mut any = Vec::new();
        let mut everything = false;
        for text in &typed.arguments {
            match device::parse(text) {
                Ok(selector) => any.push(selector),
                Err(NamingError::Everything { .. }) => everything = true,
                Err(error) => return Err(wrong_name(error)),
            }
        }
        if everything {
            any.clear();
        }
        Ok(Self {
            any,
            also: typed.flags.clone(),
        })
    }

    /// Whether the device is to be shown.
    pub(crate) fn contains(&self, id: &DeviceId) -> bool {
        let any = self.any.is_empty() || self.any.iter().any(|selector| names_it(selector, id));
        any && self.also.iter().all(|selector| names_it(selector, id))
    }

    /// A name that matches nothing is a mistake, not an empty list.
    pub(crate) fn refuse_missing<'a>(
        &self,
        known: impl Iterator<Item = &'a DeviceId> + Clone,
    ) -> Result<(), Failure> {
        let mut selectors = self.any.iter().chain(&self.also);
        let missing = selectors.find(|selector| !known.clone().any(|id| names_it(selector, id)));
        match missing {
            Some(selector) => Err(no_such_device(
                selector,
                &known.cloned().collect::<Vec<_>>(),
            )),
            None => Ok(()),
        }
    }
}

/// Whether every given field of the selector equals the device's.
fn names_it(selector: &DeviceSelector, id: &DeviceId) -> bool {
    let driver = selector.driver.as_ref();
    let pool = selector.pool.as_ref();
    let device = selector.device.as_ref();
    driver.is_none_or(|driver| *driver == id.driver)
        && pool.is_none_or(|pool| *pool == id.pool)
        && device.is_none_or(|device| *device == id.device)
}

/// A name that cannot be, with what it may have been meant as.
pub(crate) fn wrong_name(error: NamingError) -> Failure {
    let hint = match &error {
        NamingError::TwoSegments { suggestions, .. } => Some(format!(
            "did you mean {} or {}?",
            word(&suggestions[0]),
            word(&suggestions[1])
        )),
        NamingError::Invalid {
            field: "taint key",
            value,
            ..
        } if device::parse(value).is_ok_and(|selector| selector.device.is_some()) => Some(format!(
            "a device and its taint are two words: {value} KEY:EFFECT"
        )),
        NamingError::Everything { .. } => Some("if that is meant, say --all-devices".to_owned()),
        NamingError::UnknownEffect {
            nearest: Some(effect),
            ..
        } => Some(format!("did you mean {effect}?")),
        NamingError::UnknownEffect { nearest: None, .. }
        | NamingError::EmptySegment { .. }
        | NamingError::Invalid { .. }
        | NamingError::NoEffect { .. } => None,
    };
    hint.into_iter().fold(Failure::usage(error), Failure::hint)
}

/// No device of that name is published or allocated.
fn no_such_device(selector: &DeviceSelector, known: &[DeviceId]) -> Failure {
    let name = device::format(selector);
    let failure = Failure::new(
        ExitStatus::Failed,
        format!("no device matches {name}: none is published or allocated"),
    );
    let similar: Vec<String> = suggest(selector, known)
        .iter()
        .map(|name| word(name))
        .collect();
    let failure = match similar.as_slice() {
        [] => failure,
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    };
    failure.hint("list what there is with `kubectl devicetaint devices`")
}

/// A name that matches nothing is a mistake, unless nobody can know what there is.
pub(crate) fn refuse_missing(considered: &[ConsideredTaint], look: &Look) -> Result<(), Failure> {
    let counts = look.selected(considered).counts;
    for (considered, count) in considered.iter().zip(counts) {
        let Some(selector) = &considered.selector else {
            continue;
        };
        if count > 0 || considered.rule.is_some() {
            continue;
        }
        let all = engine::devices(look.snapshot(), &look.semantics).devices;
        let known: Vec<_> = all.into_iter().map(|device| device.id).collect();
        return Err(
            no_such_device(selector, &known).hint("if it will be there later, add --allow-missing")
        );
    }
    Ok(())
}

/// A manifest that taints every device, or would on a server that drops fields it does not know.
pub(crate) fn refuse_wide(
    manifests: &[DeviceTaintRule],
    semantics: &Semantics,
) -> Result<(), Failure> {
    for manifest in manifests {
        let Some(selector) = &manifest.selector else {
            return Err(wide(manifest, "has no spec.deviceSelector"));
        };
        let by_name =
            selector.driver.is_some() || selector.pool.is_some() || selector.device.is_some();
        let narrowed = selector.device_class.is_some() || !selector.expressions.is_empty();
        if by_name || (narrowed && semantics.selects_by_expression) {
            continue;
        }
        return Err(wide(
            manifest,
            if narrowed {
                "selects only by deviceClassName or selectors, which Kubernetes 1.35 and later drop: it would taint every device"
            } else {
                "has an empty spec.deviceSelector: it would taint every device"
            },
        ));
    }
    Ok(())
}

/// A manifest that taints every device, for what is the `problem` with it.
pub(crate) fn wide(manifest: &DeviceTaintRule, problem: &str) -> Failure {
    Failure::usage(format!("rule {} {problem}", manifest.name))
        .hint("name a driver, a pool or a device in spec.deviceSelector")
        .hint("to preview a taint on every device, say --all-devices")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Minor, RuleMetadata};

    fn typed(arguments: &[&str]) -> Typed {
        Typed {
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            ..Typed::default()
        }
    }

    fn shown(choice: Result<Choice, Failure>) -> String {
        let choice = match choice {
            Ok(choice) => choice,
            Err(failure) => return failure.to_string(),
        };
        let by = match &choice.by {
            By::Selectors(selectors) => selectors.iter().map(device::format).collect(),
            By::Rules(names) => names.clone(),
            By::Manifests(files) => files
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

    fn id(text: &str) -> DeviceId {
        let parts: Vec<&str> = text.split('/').collect();
        DeviceId {
            driver: parts[0].into(),
            pool: parts[1].into(),
            device: parts[2].into(),
        }
    }

    #[test]
    fn exactly_what_was_typed_is_chosen_and_nothing_wider() {
        let flags = device::from_parts(Some("gpu.example.com"), Some("node-7"), None).unwrap();
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
                "by flags",
                Typed {
                    flags: Some(flags),
                    ..Typed::default()
                },
                "gpu.example.com/node-7/*",
            ),
            (
                "all, only when that is said",
                Typed {
                    all_devices: true,
                    ..Typed::default()
                },
                "*/*/*",
            ),
            (
                "a rule as it is printed",
                Typed {
                    rules: vec!["devicetaintrule.resource.k8s.io/drain".to_owned()],
                    ..Typed::default()
                },
                "drain",
            ),
        ] {
            assert_eq!(shown(Choice::parse(&typed)), expected, "{name}");
        }
    }

    #[test]
    fn one_way_to_say_it_and_one_taint() {
        let rule = || vec!["drain".to_owned()];
        for (name, typed, refused) in [
            ("nothing", typed(&[]), "no devices: whom would it hit?"),
            (
                "a taint alone",
                typed(&["a.example.com/k:None"]),
                "no devices: whom would it hit?",
            ),
            (
                "two ways",
                Typed {
                    all_devices: true,
                    ..typed(&["gpu.example.com"])
                },
                "DEVICE cannot be used together with --all-devices",
            ),
            (
                "flags would narrow or widen",
                Typed {
                    flags: Some(DeviceSelector::default()),
                    ..typed(&["gpu.example.com"])
                },
                "DEVICE cannot be used together with --driver, --pool, --device",
            ),
            (
                "a rule and a file",
                Typed {
                    rules: rule(),
                    filenames: vec!["f".into()],
                    ..Typed::default()
                },
                "--rule cannot be used together with --filename",
            ),
            (
                "a rule has its own taint",
                Typed {
                    rules: rule(),
                    ..typed(&["a.example.com/k:None"])
                },
                "a taint cannot be given beside --rule, which has its own",
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
            assert_eq!(shown(Choice::parse(&typed)), refused, "{name}");
        }
        let warned = |arguments: &[&str]| {
            let choice = Choice::parse(&typed(arguments)).unwrap();
            choice.warning().map(|warning| warning.code)
        };
        assert_eq!(warned(&["gpu.example.com"]), Some("unnamed-taint"));
        let none = warned(&["gpu.example.com", "a.example.com/k:None"]);
        assert_eq!(none, Some("previewed-as-no-execute"));
        assert_eq!(
            warned(&["gpu.example.com", "a.example.com/k:NoExecute"]),
            None
        );
        let everything = Choice::parse(&typed(&["*/*/*"])).unwrap_err();
        assert_eq!(everything.hints(), ["if that is meant, say --all-devices"]);
    }

    #[test]
    fn what_comes_next_can_be_pasted() {
        let effect_of = |name: &str| match name {
            "quiet" => Some(Effect::None),
            "evicting" => Some(Effect::NoExecute),
            _ => None,
        };
        let rules = |names: &[&str]| Typed {
            rules: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Typed::default()
        };
        for (name, typed, next) in [
            ("no taint was named", typed(&["gpu.example.com"]), None),
            (
                "what was looked at",
                typed(&["gpu.example.com/node-7/*", "a.example.com/k=v:None"]),
                Some("add 'gpu.example.com/node-7/*' a.example.com/k=v:None"),
            ),
            (
                "a rule that does nothing yet",
                rules(&["quiet", "evicting"]),
                Some("escalate quiet evicting --to NoExecute --wait"),
            ),
            (
                "one that evicts",
                rules(&["evicting"]),
                Some("wait evicting --for evicted"),
            ),
            (
                "a file",
                Typed {
                    filenames: vec!["my rule.yaml".into()],
                    ..Typed::default()
                },
                Some("add -f 'my rule.yaml'"),
            ),
        ] {
            let choice = Choice::parse(&typed).unwrap();
            let expected = next.map(|next| format!("next: kubectl devicetaint {next}"));
            assert_eq!(choice.next(effect_of), expected, "{name}");
        }
    }

    #[test]
    fn names_widen_what_is_shown_and_flags_narrow_it() {
        let flags = device::from_parts(None, Some("node-7"), None).unwrap();
        let chosen = |arguments: &[&str], flags: Option<&DeviceSelector>| {
            Shown::parse(&Typed {
                flags: flags.cloned(),
                ..typed(arguments)
            })
            .unwrap()
        };
        let (seven, eight) = (
            id("gpu.example.com/node-7/gpu-0"),
            id("gpu.example.com/node-8/gpu-0"),
        );
        for (name, shown, contains) in [
            ("all", chosen(&[], None), (true, true)),
            (
                "all, as it is written",
                chosen(&["gpu.example.com/node-8/gpu-9", "*/*/*"], None),
                (true, true),
            ),
            (
                "one",
                chosen(&["gpu.example.com/node-8/*"], None),
                (false, true),
            ),
            (
                "either",
                chosen(&["*/node-8/*", "*/node-7/*"], None),
                (true, true),
            ),
            ("narrowed", chosen(&[], Some(&flags)), (true, false)),
            (
                "named and narrowed",
                chosen(&["gpu.example.com"], Some(&flags)),
                (true, false),
            ),
            (
                "narrowed to nothing",
                chosen(&["*/node-8/*"], Some(&flags)),
                (false, false),
            ),
        ] {
            assert_eq!(
                (shown.contains(&seven), shown.contains(&eight)),
                contains,
                "{name}"
            );
        }
        let known = [seven];
        let missing = chosen(&["*/node-8/*"], None).refuse_missing(known.iter());
        assert!(missing.unwrap_err().to_string().contains("*/node-8/*"));
        assert!(
            chosen(&["*/node-7/*"], Some(&flags))
                .refuse_missing(known.iter())
                .is_ok()
        );
    }

    #[test]
    fn a_manifest_for_every_device_is_refused() {
        let manifest = |selector: Option<DeviceSelector>| DeviceTaintRule {
            name: "wide".into(),
            uid: "".into(),
            resource_version: "".into(),
            generation: 0,
            selector,
            taint: taint::parse("example.com/k:NoExecute").unwrap(),
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
        };
        let by_class = DeviceSelector {
            device_class: Some("gpu".into()),
            ..DeviceSelector::default()
        };
        for (name, selector, minor, refused) in [
            ("none", None, 37, true),
            ("empty", Some(DeviceSelector::default()), 37, true),
            ("a class that is dropped", Some(by_class.clone()), 35, true),
            ("a class that narrows", Some(by_class), 34, false),
            (
                "a driver",
                Some(device::parse("gpu.example.com").unwrap()),
                37,
                false,
            ),
        ] {
            let semantics = Semantics::of(Minor { minor, patch: None }).unwrap();
            let outcome = refuse_wide(&[manifest(selector)], &semantics);
            assert_eq!(outcome.is_err(), refused, "{name}");
        }
    }
}
