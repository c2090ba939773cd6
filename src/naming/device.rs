//! DEVICE arguments: `DRIVER/POOL/DEVICE` with `*` for any, or hardware IDs; TAINT arguments beside them; suggestions for
//! those that match nothing; names, keys and values as the API server accepts them.
//!
//! A taint is `KEY[=VALUE]:EFFECT`, as kubectl writes it.
//!
//! Upstream: `pkg/apis/resource/validation/validation.go` and `apimachinery`'s `util/validation/validation.go`, whose
//! wording the messages follow.

use std::collections::BTreeMap;
use std::fmt;

use super::phrase::nearest;
use crate::model::{DeviceId, DeviceSelector, DriverName, Effect, Taint};

/// An argument that is no device, taint or name that the API server would accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// Two segments could be driver and pool or pool and device.
    #[error("device {argument:?} has two segments, but a device has three: DRIVER/POOL/DEVICE")]
    TwoSegments {
        /// The argument.
        argument: String,
        /// The two forms that it may have been meant as.
        suggestions: [String; 2],
    },
    /// Every segment is `*`.
    #[error("{argument:?} is not allowed: it selects every device of every driver")]
    Everything {
        /// The argument.
        argument: String,
    },
    /// A name, key, value or effect that does not exist, or that the API server would refuse.
    #[error("{field} {value:?} is not valid: {problem}")]
    Invalid {
        /// Part of the name, such as `driver` or `taint key`.
        field: &'static str,
        /// Value that was given.
        value: String,
        /// Requirement.
        problem: String,
    },
}

impl NamingError {
    pub(super) fn invalid(field: &'static str, value: &str, problem: &str) -> Self {
        Self::Invalid {
            field,
            value: value.to_owned(),
            problem: problem.to_owned(),
        }
    }
}

/// Reads a DEVICE argument.
///
/// The first segment is the driver, the last the device, everything between is the pool, since pool
/// names may contain `/`. A bare segment is a whole driver. `*` stands for "any" in each place, and
/// the result leaves that field out.
///
/// # Errors
///
/// Two segments (which are ambiguous), an empty segment, nothing but `*`, or a name that
/// the API server would refuse.
pub fn parse(text: &str) -> Result<DeviceSelector, NamingError> {
    let segments: Vec<&str> = text.split('/').collect();
    if segments.iter().any(|segment| segment.is_empty()) {
        let problem = "it has an empty segment; write `*` to match any name";
        return Err(NamingError::invalid("device", text, problem));
    }
    let (driver, pool, device) = match segments.as_slice() {
        [driver] => (*driver, "*".to_owned(), "*"),
        [first, second] => {
            return Err(NamingError::TwoSegments {
                argument: text.to_owned(),
                suggestions: [format!("{first}/{second}/*"), format!("*/{first}/{second}")],
            });
        }
        [driver, pool @ .., device] => (*driver, pool.join("/"), *device),
        // Never so: a split text has one part at least.
        [] => ("*", "*".to_owned(), "*"),
    };
    let given = |segment: &'_ str| Some(segment.to_owned()).filter(|segment| segment != "*");
    let (driver, pool, device) = (given(driver), given(&pool), given(device));
    driver.as_deref().map_or(Ok(()), check_driver)?;
    pool.as_deref().map_or(Ok(()), check_pool)?;
    device.as_deref().map_or(Ok(()), check_device)?;
    if driver.is_none() && pool.is_none() && device.is_none() {
        return Err(NamingError::Everything {
            argument: text.to_owned(),
        });
    }
    Ok(DeviceSelector {
        driver: driver.as_deref().map(Into::into),
        pool: pool.as_deref().map(Into::into),
        device: device.as_deref().map(Into::into),
        ..DeviceSelector::default()
    })
}

/// The selector as a DEVICE argument would say it, with what such an argument cannot say after it.
pub fn format(selector: &DeviceSelector) -> String {
    let driver = selector.driver.as_ref().map_or("*", |name| name.as_str());
    let pool = selector.pool.as_ref().map_or("*", |name| name.as_str());
    let device = selector.device.as_ref().map_or("*", |name| name.as_str());
    format!(
        "{driver}/{pool}/{device}{}",
        Conditions(&selector.unknown_fields)
    )
}

/// True if each of driver, pool and device that the selector sets is that of the device.
pub fn names(selector: &DeviceSelector, id: &DeviceId) -> bool {
    let DeviceSelector {
        driver,
        pool,
        device,
        ..
    } = selector;
    driver.as_ref().is_none_or(|driver| *driver == id.driver)
        && pool.as_ref().is_none_or(|pool| *pool == id.pool)
        && device.as_ref().is_none_or(|device| *device == id.device)
}

/// Conditions of a selector beside driver, pool and device: the names of fields that this plugin does not
/// know. Shown as ` FIELD=?`, each with a blank in front, or as nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Conditions<'a>(&'a [String]);

impl fmt::Display for Conditions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for field in self.0 {
            write!(formatter, " {field}=?")?;
        }
        Ok(())
    }
}

/// The arguments of a command that takes devices and a taint whose value and effect may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// The devices, in the order in which they were named.
    pub selectors: Vec<DeviceSelector>,
    /// The taints; more than one is for the command to refuse.
    pub taints: Vec<Taint>,
}

impl Targets {
    /// Reads all arguments together. `named` are the devices that flags name, and `beside_hardware` says whether
    /// further arguments are hardware IDs; a taint without effect gets the effect `default`.
    ///
    /// An argument with `=` or `:` is a taint. So is a bare `PREFIX/NAME`, which can be no device,
    /// where devices are named beside it and no other argument is a taint: its prefix has to be a
    /// domain, and not the driver of any of these devices, since that would be a device cut short.
    ///
    /// # Errors
    ///
    /// An argument that is neither.
    pub fn parse(
        texts: &[String],
        named: &[DeviceSelector],
        beside_hardware: bool,
        default: &Effect,
    ) -> Result<Self, NamingError> {
        let mut targets = Self::default();
        let mut unclear = Vec::new();
        for text in texts {
            if text.contains(['=', ':']) {
                targets.taints.push(parse_taint_or(text, default)?);
                continue;
            }
            match parse(text) {
                Ok(selector) => targets.selectors.push(selector),
                // All other arguments, also later ones, decide if this is the key of a taint.
                Err(error @ NamingError::TwoSegments { .. }) => unclear.push((text, error)),
                Err(error) => return Err(error),
            }
        }
        let explicit = !targets.taints.is_empty();
        for (text, error) in unclear {
            let mut devices = targets.selectors.iter().chain(named).peekable();
            let with_devices = beside_hardware || devices.peek().is_some();
            let key = if explicit || !with_devices {
                None
            } else {
                plain_key(text, devices.filter_map(|device| device.driver.as_ref()))
            };
            match key {
                Some(key) => targets.taints.push(parse_taint_or(key, default)?),
                None => return Err(error),
            }
        }
        Ok(targets)
    }
}

/// Driver, pool and device of a DEVICE argument; absent for any.
type Parts<'a> = [Option<&'a str>; 3];

/// At most three DEVICE arguments that look like `selector`, the most similar first, and each of
/// which selects at least one of the `known` devices.
///
/// Parts that are right stay, and a part that is not given stays open, so that one mistyped letter in a driver's name
/// suggests the driver and not some device of it. For the name of a pool or device in the place of a driver, these are
/// suggested.
pub fn suggest(selector: &DeviceSelector, known: &[DeviceId]) -> Vec<String> {
    let wanted: Parts<'_> = [
        selector.driver.as_ref().map(|name| name.as_str()),
        selector.pool.as_ref().map(|name| name.as_str()),
        selector.device.as_ref().map(|name| name.as_str()),
    ];
    if let [Some(name), None, None] = wanted {
        let is_pool = known.iter().any(|id| id.pool.as_str() == name);
        let is_device = known.iter().any(|id| id.device.as_str() == name);
        let pools = is_pool.then(|| format!("*/{name}/*"));
        let devices = is_device.then(|| format!("*/*/{name}"));
        let elsewhere: Vec<String> = pools.into_iter().chain(devices).collect();
        if !elsewhere.is_empty() {
            return elsewhere;
        }
    }
    let candidates: Vec<Parts<'_>> = known.iter().map(|id| as_wanted(id, &wanted)).collect();
    let right = |parts: &Parts<'_>| {
        parts
            .iter()
            .zip(&wanted)
            .filter(|(it, other)| it == other)
            .count()
    };
    let most = candidates.iter().map(right).max();
    let closest = candidates.iter().filter(|parts| Some(right(parts)) == most);
    // What both leave open makes nothing similar.
    let given = |parts: &Parts<'_>| {
        parts
            .iter()
            .flatten()
            .copied()
            .collect::<Vec<_>>()
            .join("/")
    };
    let closest: BTreeMap<String, String> = closest
        .map(|parts| (given(parts), argument(parts)))
        .collect();
    let similar = nearest(&given(&wanted), closest.keys().cloned());
    similar
        .iter()
        .filter_map(|name| closest.get(name).cloned())
        .collect()
}

/// The parts of the device that are given in `wanted`.
fn as_wanted<'a>(id: &'a DeviceId, wanted: &Parts<'_>) -> Parts<'a> {
    let given = |part: &'a str, wanted: Option<&str>| wanted.map(|_| part);
    let [driver, pool, device] = *wanted;
    [
        given(id.driver.as_str(), driver),
        given(id.pool.as_str(), pool),
        given(id.device.as_str(), device),
    ]
}

fn argument(parts: &Parts<'_>) -> String {
    match parts {
        [Some(driver), None, None] => (*driver).to_owned(),
        parts => parts.map(|part| part.unwrap_or("*")).join("/"),
    }
}

/// The effects that a rule can be given, as the API spells them.
const EFFECTS: [&str; 3] = ["None", "NoSchedule", "NoExecute"];

/// Problem of a taint without an effect.
const NO_EFFECT: &str =
    "it has no effect: write KEY[=VALUE]:EFFECT, where EFFECT is None, NoSchedule or NoExecute";

/// Reads a TAINT argument. The result has no time; the caller sets it when the taint is added.
///
/// # Errors
///
/// A missing or unknown effect (`noexecute` is unknown: the API is exact), or a key or value that
/// the API server would refuse.
pub fn parse_taint(text: &str) -> Result<Taint, NamingError> {
    let parts = text.rsplit_once(':');
    let Some((rest, effect)) = parts.filter(|(_, effect)| !effect.is_empty()) else {
        return Err(NamingError::invalid("taint", text, NO_EFFECT));
    };
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    check_taint_key(key)?;
    check_taint_value(value)?;
    Ok(Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: parse_effect(text, effect)?,
        time_added: None,
    })
}

/// Reads a TAINT argument whose effect may be left out, and is `default` then.
///
/// # Errors
///
/// As [`parse_taint`].
pub fn parse_taint_or(text: &str, default: &Effect) -> Result<Taint, NamingError> {
    if text.contains(':') {
        parse_taint(text)
    } else {
        parse_taint(&format!("{text}:{default}"))
    }
}

/// The text, if it is a taint's key and nothing else that is written with one `/`: its prefix is a
/// domain, and none of `drivers`.
fn plain_key<'a, 'b>(
    text: &'a str,
    mut drivers: impl Iterator<Item = &'b DriverName>,
) -> Option<&'a str> {
    let (prefix, _) = text.split_once('/')?;
    let is_key = prefix.contains('.') && check_taint_key(text).is_ok();
    (is_key && !drivers.any(|driver| driver.as_str() == prefix)).then_some(text)
}

/// Taints of existing rules: by key, and by value and effect where they matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintPattern {
    /// The key.
    pub key: String,
    /// The value, if it matters.
    pub value: Option<String>,
    /// The effect, if it matters.
    pub effect: Option<Effect>,
}

impl TaintPattern {
    /// Reads `KEY`, `KEY=VALUE`, `KEY:EFFECT` or all of it, with or without the dash that removes taints.
    ///
    /// # Errors
    ///
    /// A key, value or effect that no taint can have.
    pub fn parse(text: &str) -> Result<Self, NamingError> {
        let rest = text.strip_suffix('-').unwrap_or(text);
        let (rest, effect) = match rest.split_once(':') {
            Some((rest, effect)) => (rest, Some(parse_effect(text, effect)?)),
            None => (rest, None),
        };
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (rest, None),
        };
        check_taint_key(key)?;
        check_taint_value(value.as_deref().unwrap_or_default())?;
        Ok(Self {
            key: key.to_owned(),
            value,
            effect,
        })
    }

    /// True if `taint` is one of them.
    pub fn matches(&self, taint: &Taint) -> bool {
        let value = self.value.as_ref();
        let effect = self.effect.as_ref();
        self.key == taint.key
            && value.is_none_or(|value| *value == taint.value)
            && effect.is_none_or(|effect| *effect == taint.effect)
    }
}

/// As it is written, without its dash.
impl fmt::Display for TaintPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.key)?;
        if let Some(value) = &self.value {
            write!(formatter, "={value}")?;
        }
        match &self.effect {
            Some(effect) => write!(formatter, ":{effect}"),
            None => Ok(()),
        }
    }
}

fn parse_effect(argument: &str, effect: &str) -> Result<Effect, NamingError> {
    if EFFECTS.contains(&effect) {
        return Ok(Effect::from(effect));
    }
    let problem = format!(
        "unknown effect {effect:?}; effects are None, NoSchedule and NoExecute (case-sensitive)"
    );
    Err(NamingError::invalid("taint", argument, &problem))
}

/// Hardware as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The attribute that has the number; any that identifies hardware where none was typed.
    attribute: Option<String>,
    /// The number, or the place.
    number: String,
}

impl Hardware {
    /// Reads an argument that can be nothing but hardware: NAME=VALUE of an attribute that identifies it, the name in
    /// any case, a UUID, or a PCI address.
    pub fn parse(argument: &str) -> Option<Self> {
        let Some((name, value)) = argument.split_once('=') else {
            return (is_uuid(argument) || is_pci_address(argument)).then(|| Self {
                attribute: None,
                number: argument.to_owned(),
            });
        };
        let known = known(name).filter(|_| !value.is_empty())?;
        let domain = name.rsplit_once('/').map(|(domain, _)| domain);
        Some(Self {
            attribute: Some(match domain {
                Some(domain) => format!("{domain}/{}", known.name),
                None => known.name.to_owned(),
            }),
            number: value.to_owned(),
        })
    }

    /// Separates the arguments that name hardware from all others.
    pub fn among(arguments: &[String]) -> (Vec<Self>, Vec<String>) {
        let (mut hardware, mut others) = (Vec::new(), Vec::new());
        for argument in arguments {
            match Self::parse(argument) {
                Some(found) => hardware.push(found),
                None => others.push(argument.clone()),
            }
        }
        (hardware, others)
    }

    /// The attributes with values of which a device has one, as names with or without a domain, and values.
    pub fn attributes(&self) -> Vec<(&str, String)> {
        if let Some(name) = &self.attribute {
            return vec![(name, self.number.clone())];
        }
        let is_place = is_pci_address(&self.number);
        let names = KNOWN.iter().filter(|known| known.is_place == is_place);
        let spellings = self.spellings();
        let pairs = names.flat_map(|known| {
            let spellings = spellings.iter().cloned();
            spellings.map(|number| (known.name, number))
        });
        pairs.collect()
    }

    /// The ways in which drivers may write the number: PCI addresses with their domain of four or eight
    /// digits, or without, in lower case.
    fn spellings(&self) -> Vec<String> {
        let mut spellings = vec![self.number.clone()];
        if is_pci_address(&self.number) {
            let lower = self.number.to_lowercase();
            let places: Vec<&str> = lower.rsplitn(3, ':').collect();
            let [device, bus, domain @ ..] = places.as_slice() else {
                return spellings;
            };
            let short = format!("{bus}:{device}");
            let domain = domain.first().copied().unwrap_or_default();
            let domain = domain.trim_start_matches('0');
            spellings.push(format!("{domain:0>4}:{short}"));
            spellings.push(format!("{domain:0>8}:{short}"));
            // Drivers leave out the domain only if it is 0.
            if domain.is_empty() {
                spellings.push(short);
            }
            spellings.dedup();
        }
        spellings
    }
}

impl fmt::Display for Hardware {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            Some(name) => write!(formatter, "{name}={}", self.number),
            None => formatter.write_str(&self.number),
        }
    }
}

/// Hexadecimal digits in groups of these lengths.
fn is_hex(text: &str, separator: char, lengths: &[usize]) -> bool {
    let groups: Vec<&str> = text.split(separator).collect();
    let is_group = |(group, length): (&&str, &usize)| {
        group.len() == *length && group.chars().all(|c| c.is_ascii_hexdigit())
    };
    groups.len() == lengths.len() && groups.iter().zip(lengths).all(is_group)
}

/// Eight, four, four, four and twelve digits, behind a word such as `GPU-` or without one.
fn is_uuid(text: &str) -> bool {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let behind = text
        .split_once('-')
        .filter(|(word, _)| word.chars().all(|c| c.is_ascii_alphabetic()));
    is_hex(text, '-', &LENGTHS) || behind.is_some_and(|(_, rest)| is_hex(rest, '-', &LENGTHS))
}

/// `0000:17:00.0`, also with a longer domain or without one.
fn is_pci_address(text: &str) -> bool {
    let Some((rest, function)) = text.rsplit_once('.') else {
        return false;
    };
    let is_function = matches!(function.as_bytes(), [b'0'..=b'7']);
    let forms: [&[usize]; 3] = [&[2, 2], &[4, 2, 2], &[8, 2, 2]];
    is_function && forms.iter().any(|lengths| is_hex(rest, ':', lengths))
}

/// Attribute by which known drivers publish a number of the hardware, or its place.
#[derive(Debug)]
pub struct IdentifyingAttribute {
    /// The name without its domain.
    pub name: &'static str,
    /// True if the value is a place within the machine, whatever hardware is there.
    pub is_place: bool,
}

const fn number(name: &'static str) -> IdentifyingAttribute {
    IdentifyingAttribute {
        name,
        is_place: false,
    }
}

const fn place(name: &'static str) -> IdentifyingAttribute {
    IdentifyingAttribute {
        name,
        is_place: true,
    }
}

/// Identifying attributes, those first that tell most: `uuid` is NVIDIA's, Intel's and the example driver's; `serial`
/// and `serialNumber` are those of accelerators, `mac` that of network interfaces; `pciBusID` is Kubernetes' own,
/// `pciAddress` that of drivers of network interfaces, `pciAddr` AMD's.
pub const KNOWN: &[IdentifyingAttribute] = &[
    number("uuid"),
    number("serial"),
    number("serialNumber"),
    number("mac"),
    place("pciBusID"),
    place("pciAddress"),
    place("pciAddr"),
];

/// The identifying attribute of that name, with its domain or without, in any case.
pub fn known(name: &str) -> Option<&'static IdentifyingAttribute> {
    let id = name.rsplit('/').next().unwrap_or(name);
    KNOWN
        .iter()
        .find(|known| known.name.eq_ignore_ascii_case(id))
}

const MAX_DRIVER: usize = 63;
const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const VALUE: &str = "a value must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const QUALIFIED: &str = "the name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Checks the name of a driver. Upper case is accepted, as upstream.
///
/// # Errors
///
/// Too long, or no DNS subdomain.
fn check_driver(value: &str) -> Result<(), NamingError> {
    let is_valid = |value: &str| is_subdomain(&value.to_lowercase());
    check(
        "driver",
        value,
        problem(value, MAX_DRIVER, is_valid, SUBDOMAIN),
    )
}

/// Checks the name of a pool: DNS subdomains with `/` between them.
///
/// # Errors
///
/// Too long, or a part that is no DNS subdomain.
fn check_pool(value: &str) -> Result<(), NamingError> {
    let is_valid = |value: &str| value.split('/').all(is_subdomain);
    check(
        "pool",
        value,
        problem(value, MAX_SUBDOMAIN, is_valid, SUBDOMAIN),
    )
}

/// Checks the name of a device.
///
/// # Errors
///
/// Too long, or no DNS label.
fn check_device(value: &str) -> Result<(), NamingError> {
    check("device", value, problem(value, MAX_LABEL, is_label, LABEL))
}

/// Checks the name of a rule: that of any object without special rules.
///
/// # Errors
///
/// Too long, or no DNS subdomain.
pub fn check_rule(value: &str) -> Result<(), NamingError> {
    check(
        "rule",
        value,
        problem(value, MAX_SUBDOMAIN, is_subdomain, SUBDOMAIN),
    )
}

/// Checks the key of a taint: a label key.
///
/// # Errors
///
/// A prefix that is no DNS subdomain, or a name that is no label name.
pub fn check_taint_key(value: &str) -> Result<(), NamingError> {
    check_label_key("taint key", value)
}

/// Checks the value of a taint: a label value, which may be empty.
///
/// # Errors
///
/// Too long, or characters that a label value cannot have.
pub fn check_taint_value(value: &str) -> Result<(), NamingError> {
    check_label_value("taint value", value)
}

pub(super) fn check_label_key(field: &'static str, value: &str) -> Result<(), NamingError> {
    let (prefix, name) = match value.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, value),
    };
    let of_prefix = prefix.and_then(|prefix| {
        let text = format!("the prefix part: {SUBDOMAIN}");
        problem(prefix, MAX_SUBDOMAIN, is_subdomain, &text)
    });
    let of_name = || problem(name, MAX_LABEL, is_qualified, QUALIFIED);
    check(field, value, of_prefix.or_else(of_name))
}

pub(super) fn check_label_value(field: &'static str, value: &str) -> Result<(), NamingError> {
    let problem = problem(value, MAX_LABEL, is_qualified, VALUE);
    check(field, value, problem.filter(|_| !value.is_empty()))
}

fn problem(
    value: &str,
    longest: usize,
    is_valid: impl Fn(&str) -> bool,
    problem: &str,
) -> Option<String> {
    if value.is_empty() {
        Some("must not be empty".to_owned())
    } else if value.len() > longest {
        Some(format!("may not be more than {longest} bytes"))
    } else {
        (!is_valid(value)).then(|| problem.to_owned())
    }
}

fn check(field: &'static str, value: &str, problem: Option<String>) -> Result<(), NamingError> {
    match problem {
        None => Ok(()),
        Some(problem) => Err(NamingError::invalid(field, value, &problem)),
    }
}

fn is_label(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    has_shape(text, lower, |byte| lower(byte) || byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    // `is_label` asks for no length: upstream limits a subdomain as a whole, and not its parts.
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_label)
}

fn is_qualified(text: &str) -> bool {
    has_shape(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
    )
}

/// True if `text` starts and ends with an `edge` character and has only `inner` ones between.
fn has_shape(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    // Bytes will do: what is not ASCII is allowed nowhere.
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            edge(*first) && edge(*last) && bytes.iter().all(|byte| inner(*byte))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_names_driver_pool_and_device() {
        for (text, expected) in [
            (
                "gpu.example.com/node-7/gpu-0",
                "gpu.example.com/node-7/gpu-0",
            ),
            (
                "gpu.example.com/rack/1/node/gpu-0",
                "gpu.example.com/rack/1/node/gpu-0",
            ),
            ("gpu.example.com", "gpu.example.com/*/*"),
            ("*/node-7/*", "*/node-7/*"),
            ("gpu.example.com/node-7/*", "gpu.example.com/node-7/*"),
            ("GPU.example.com/node-7/*", "GPU.example.com/node-7/*"),
        ] {
            assert_eq!(
                parse(text).map(|selector| format(&selector)),
                Ok(expected.to_owned()),
                "{text}"
            );
        }
        let nested = parse("gpu.example.com/rack/1/gpu-0").expect("valid");
        assert_eq!(
            nested.pool.as_ref().map(|pool| pool.as_str()),
            Some("rack/1")
        );
    }

    #[test]
    fn what_is_selected_beside_names_is_shown() {
        let by_rack = DeviceSelector {
            unknown_fields: vec!["rack".to_owned()],
            ..DeviceSelector::default()
        };
        assert_eq!(format(&by_rack), "*/*/* rack=?");
    }

    #[test]
    fn names_that_no_driver_can_publish_are_refused() {
        for text in [
            "",
            "/",
            "/node-7/gpu-0",
            "gpu.example.com//gpu-0",
            "gpu.example.com/node-7/",
            "gpu_x/node-7/gpu-0",
            "gpu.example.com/Node-7/gpu-0",
            "gpu.example.com/node-7/gpu.0",
            "gpu.example.com/node-7/GPU-0",
            "gpu.example.com/*x/gpu-0",
            "gpu.example.com/node-7/gpu-\u{1b}[31m",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    fn targets(line: &str) -> Result<String, NamingError> {
        let texts: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let targets = Targets::parse(&texts, &[], false, &Effect::None)?;
        let devices = targets.selectors.iter().map(format);
        let taints = targets.taints.iter().map(ToString::to_string);
        Ok(devices.chain(taints).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_plain_key_beside_devices_is_a_taint() {
        let expected = "gpu.example.com/node-7/gpu-0 example.com/maintenance:None";
        for line in [
            "gpu.example.com/node-7/gpu-0 example.com/maintenance",
            "example.com/maintenance gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-0 example.com/maintenance:None",
        ] {
            assert_eq!(targets(line).as_deref(), Ok(expected), "{line}");
        }
        let named = [parse("gpu.example.com").expect("a driver")];
        let texts = ["example.com/maintenance".to_owned()];
        let found = Targets::parse(&texts, &named, false, &Effect::NoSchedule).expect("a taint");
        assert_eq!(
            found.taints[0].to_string(),
            "example.com/maintenance:NoSchedule"
        );
    }

    #[test]
    fn a_device_cut_short_is_no_taint() {
        for line in [
            "example.com/maintenance",
            "gpu.example.com/node-7/gpu-0 node-7/gpu-1",
            "gpu.example.com/node-7/gpu-0 gpu.example.com/node-8",
            "gpu.example.com/node-7/gpu-0 example.com/x example.com/maintenance:None",
            "gpu.example.com/node-7/gpu-0 example.com/*",
        ] {
            let error = targets(line).expect_err(line);
            assert!(matches!(error, NamingError::TwoSegments { .. }), "{error}");
        }
    }

    fn known() -> Vec<DeviceId> {
        [
            "gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-1",
            "gpu.example.com/node-17/gpu-0",
            "nic.example.com/fabric/node-7/vf-0",
        ]
        .iter()
        .map(|text| {
            let selector = parse(text).expect("valid");
            DeviceId {
                driver: selector.driver.expect("given"),
                pool: selector.pool.expect("given"),
                device: selector.device.expect("given"),
            }
        })
        .collect()
    }

    #[test]
    fn devices_with_similar_names_are_suggested() {
        for (typed, expected) in [
            (
                "gpu.example.con/node-7/gpu-0",
                &["gpu.example.com/node-7/gpu-0"][..],
            ),
            ("gpu.example.con", &["gpu.example.com", "nic.example.com"]),
            ("node-7", &["*/node-7/*"]),
            ("gpu-0", &["*/*/gpu-0"]),
            (
                "gpu.example.com/nod-7/gpu-0",
                &[
                    "gpu.example.com/node-7/gpu-0",
                    "gpu.example.com/node-17/gpu-0",
                ],
            ),
            (
                "gpu.example.com/node-7/gpu-9",
                &[
                    "gpu.example.com/node-7/gpu-0",
                    "gpu.example.com/node-7/gpu-1",
                ],
            ),
            (
                "nic.example.com/fabric/node-8/*",
                &["nic.example.com/fabric/node-7/*"],
            ),
            ("*/*/vf-1", &["*/*/vf-0"]),
        ] {
            let selector = parse(typed).expect("well-formed");
            assert_eq!(suggest(&selector, &known()), *expected, "{typed}");
        }
    }

    #[test]
    fn taint_has_key_value_and_effect() {
        for text in [
            "example.com/maintenance:NoExecute",
            "example.com/maintenance=firmware:NoSchedule",
            "maintenance:None",
        ] {
            assert_eq!(
                parse_taint(text).map(|taint| taint.to_string()),
                Ok(text.to_owned()),
                "{text}"
            );
        }
        let empty =
            parse_taint("example.com/maintenance=:None").expect("an empty value is a value");
        assert_eq!(empty.value, "");
    }

    #[test]
    fn taints_are_matched_by_key_and_by_what_else_is_typed() {
        let taint = parse_taint("a/b=c:NoSchedule").unwrap();
        for (text, matches) in [
            ("a/b-", true),
            ("a/b", true),
            ("a/b=c-", true),
            ("a/b=d-", false),
            ("a/b:NoSchedule-", true),
            ("a/b:None-", false),
            ("a/b=c:NoSchedule-", true),
            ("b-", false),
        ] {
            let pattern = TaintPattern::parse(text).unwrap();
            assert_eq!(pattern.matches(&taint), matches, "{text}");
        }
        assert!(TaintPattern::parse("a:Nothing-").is_err());
        assert!(TaintPattern::parse("=-").is_err());
    }

    #[test]
    fn bad_keys_and_values_are_refused() {
        for text in [
            ":NoExecute",
            "=x:NoExecute",
            "a b:NoExecute",
            "-a:NoExecute",
            "example.com/:NoExecute",
            "Example.com/x:NoExecute",
            "a/b/c:NoExecute",
            "a=b c:NoExecute",
            "a=b=c:NoExecute",
            "a=-:NoExecute",
            "a=x",
            "a=x:",
        ] {
            assert!(parse_taint(text).is_err(), "{text}");
        }
        let long = "x".repeat(64);
        assert!(
            parse_taint(&format!("{long}:None")).is_err()
                && parse_taint(&format!("a={long}:None")).is_err()
        );
    }

    #[test]
    fn names_are_accepted_as_the_api_server_accepts_them() {
        type Row = (
            &'static str,
            fn(&str) -> Result<(), NamingError>,
            &'static str,
            bool,
        );
        let rows: [Row; 19] = [
            ("driver", check_driver, "gpu.example.com", true),
            (
                "driver in upper case",
                check_driver,
                "GPU.Example.com",
                true,
            ),
            ("driver with underscore", check_driver, "gpu_x", false),
            ("driver with empty part", check_driver, "gpu..com", false),
            ("pool of several parts", check_pool, "rack-1/node.a", true),
            ("pool with empty part", check_pool, "rack-1//a", false),
            ("pool in upper case", check_pool, "Rack", false),
            ("rule", check_rule, "drain-node-7.gpu", true),
            ("rule in upper case", check_rule, "Drain", false),
            ("rule with a space", check_rule, "drain node", false),
            ("device", check_device, "gpu-0", true),
            ("device with dot", check_device, "gpu.0", false),
            ("device that ends with a dash", check_device, "gpu-", false),
            (
                "prefix",
                check_taint_key,
                "example.com/Main_tenance.x",
                true,
            ),
            ("key with two slashes", check_taint_key, "a/b/c", false),
            (
                "prefix in upper case",
                check_taint_key,
                "Example.com/a",
                false,
            ),
            ("value", check_taint_value, "v1.2_x", true),
            ("no value", check_taint_value, "", true),
            (
                "value that starts with a dot",
                check_taint_value,
                ".x",
                false,
            ),
        ];
        for (name, accepts, value, valid) in rows {
            assert_eq!(accepts(value).is_ok(), valid, "{name}");
        }
    }

    #[test]
    fn length_limits_are_those_of_the_api() {
        assert!(check_driver(&"x".repeat(63)).is_ok() && check_driver(&"x".repeat(64)).is_err());
        assert!(check_device(&"x".repeat(63)).is_ok() && check_device(&"x".repeat(64)).is_err());
        assert!(check_pool(&"x".repeat(253)).is_ok() && check_pool(&"x".repeat(254)).is_err());
        assert!(check_taint_key(&format!("{}/x", "p".repeat(253))).is_ok());
        assert!(check_taint_key(&format!("{}/x", "p".repeat(254))).is_err());
    }

    #[test]
    fn a_number_alone_is_told_from_names_and_taints() {
        for (argument, is_hardware) in [
            ("GPU-18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a", true),
            ("0000:17:00.0", true),
            ("00000000:17:00.0", true),
            ("17:00.0", true),
            ("uuid=GPU-1", true),
            ("uuid=", false),
            ("gpu.example.com", false),
            ("drain-node-7", false),
            ("1423022041312", false),
            ("maintenance:NoExecute", false),
            ("example.com/x=y:NoExecute", false),
            ("17:00.8", false),
        ] {
            let found = Hardware::parse(argument);
            assert_eq!(found.is_some(), is_hardware, "{argument}");
            if let Some(found) = found {
                assert_eq!(found.to_string(), argument);
            }
        }
    }

    #[test]
    fn hardware_is_named_by_the_attributes_of_drivers_in_any_case() {
        let named = |text: &str| Hardware::parse(text).map(|found| found.to_string());
        for (text, expected) in [
            ("uuid=GPU-1", Some("uuid=GPU-1")),
            ("UUID=GPU-1", Some("uuid=GPU-1")),
            ("gpu.nvidia.com/uuid=A", Some("gpu.nvidia.com/uuid=A")),
            ("slot=3", None),
            ("example.com/maintenance=firmware", None),
        ] {
            assert_eq!(named(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_is_found_however_its_domain_is_written() {
        let is = |typed: &str, published: &str| {
            let typed = Hardware::parse(typed).expect("an address");
            typed
                .attributes()
                .iter()
                .any(|(_, number)| number == published)
        };
        for published in ["0000:17:00.0", "00000000:17:00.0", "17:00.0"] {
            for typed in ["0000:17:00.0", "00000000:17:00.0", "17:00.0"] {
                assert!(is(typed, published), "{typed} {published}");
            }
        }
        assert!(is("0001:AF:00.0", "0001:af:00.0"));
        assert!(!is("0001:17:00.0", "0000:17:00.0"));
        assert!(!is("0001:17:00.0", "17:00.0"));
        assert!(!is("17:00.0", "0000:17:00.1"));
    }
}
