//! Names of rules, as typed and generated; and objects that are typed with their types.
//!
//! A name is typed bare, or as kubectl prints it: [`parse_name`]. The generated name of a rule
//! is a function of what it taints: a second run finds what the first one made, and a list of
//! rules shows driver, pool and device in the name.

use sha2::{Digest, Sha256};

use super::device::{self, NamingError};
use crate::model::{DeviceId, DeviceSelector, Namespace, ObjectName, Taint};

/// The API group of rules.
const GROUP: &str = "resource.k8s.io";
/// Types of rules in front of `/NAME`, as a singular and as a plural.
const TYPES: [&str; 4] = ["devicetaintrule", "devicetaintrules", "rule", "rules"];

/// Hexadecimal digits of the hash of a batch: 40 bits.
const DIGITS: usize = 10;
/// Hexadecimal digits of the hash in a name: 28 bits, since it only has to tell apart what looks the
/// same. Should two rules get one name all the same, the second is refused and asked for `--name`.
const NAME_DIGITS: usize = 7;
/// The longest part of a name: room for the names of most nodes.
const LONGEST_PART: usize = 20;

/// Reads the name of a rule as people type it and as commands print it: `NAME`, or `TYPE/NAME` with
/// any TYPE that kubectl takes for rules: `devicetaintrule` or `devicetaintrules`, or `rule`, alone or with the
/// group, or with version and group (`devicetaintrules.v1.resource.k8s.io`).
///
/// Gives the bare name. Whether it is one that the server would take for a new rule is not looked at:
/// files may hold others.
///
/// # Errors
///
/// Another type, more than one `/`, or what can be no object's name.
///
/// Upstream: `cli-runtime/pkg/resource`'s `splitResourceTypeName`, `apimachinery`'s `ParseResourceArg`.
pub fn parse_name(text: &str) -> Result<String, NamingError> {
    let wrong = |problem: &str| NamingError::invalid("rule", text, problem);
    let name = match text.split_once('/') {
        Some((kind, name)) if is_type(kind) => name,
        Some((kind, _)) => {
            return Err(wrong(&format!(
                "{kind:?} is not the type of a rule; write NAME or {}",
                qualified("NAME")
            )));
        }
        None => text,
    };
    // These would be another place in a URL; kubectl refuses them in the same way.
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '%']) {
        return Err(wrong(
            "a name must not be empty, `.` or `..`, and must not contain `/` or `%`",
        ));
    }
    Ok(name.to_owned())
}

/// True if `text` is what kubectl takes for the type of rules, or `rule`; case does not matter.
pub fn is_type(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let (name, rest) = text.split_once('.').unwrap_or((&text, GROUP));
    let versioned = |(version, group): (&str, &str)| is_version(version) && group == GROUP;
    TYPES.contains(&name) && (rest == GROUP || rest.split_once('.').is_some_and(versioned))
}

/// True if `text` looks like the version of an API, such as `v1` or `v1alpha3`.
fn is_version(text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.strip_prefix('v').is_some_and(|rest| {
        let parts = ["alpha", "beta"].map(|level| rest.split_once(level));
        match parts.into_iter().flatten().next() {
            Some((major, minor)) => number(major) && number(minor),
            None => number(rest),
        }
    })
}

/// The rule's name with its type, as kubectl prints it with `-o name`, and as every command takes it.
pub fn qualified(name: &str) -> String {
    format!("{}.{GROUP}/{name}", TYPES[0])
}

/// The name of the rule that taints the devices of `selector` with the taint called `key`, such as
/// `maintenance-node-7-gpu-0-2d7a78a`: what tells it apart at a glance, and a hash of all of it.
///
/// Domains are left out, of the key, the driver and the pool, and the driver stands only where there
/// is no pool. What is still too long is cut in its middle, since names of one kind differ at their
/// ends. Neither value nor effect is part of the name, so that a rule keeps it when they change. The
/// result has letters, digits and dashes only, and at most 80 bytes.
pub fn name(selector: &DeviceSelector, key: &str) -> String {
    readable(&[], selector, key, &[key, &device::format(selector)])
}

/// The name of the rule that asks the controller about `taint` on the devices of `selector`, made as
/// [`name`] makes it. The value counts, since other values are other questions.
pub fn preview_name(selector: &DeviceSelector, taint: &Taint) -> String {
    let asked = format!("preview-{}={}", taint.key, taint.value);
    let whole = [asked.as_str(), &device::format(selector)];
    readable(&["preview"], selector, &taint.key, &whole)
}

/// The name of the rule of a policy for the devices of `selector`, made as [`name`] makes it.
pub fn policy_name(policy: &str, selector: &DeviceSelector, key: &str) -> String {
    let whole = [policy, key, &device::format(selector)];
    readable(&[policy], selector, key, &whole)
}

/// `first`, then what the rule is about, then a hash of `whole`.
fn readable(first: &[&str], selector: &DeviceSelector, key: &str, whole: &[&str]) -> String {
    let key = key.rsplit_once('/').map_or(key, |(_, name)| name);
    let driver = selector.driver.as_ref().map(|name| name.as_str());
    let pool = selector.pool.as_ref().map(|name| name.as_str());
    let device = selector.device.as_ref().map(|name| name.as_str());
    let driver = driver.filter(|_| pool.is_none());
    let all = (driver.is_none() && pool.is_none() && device.is_none()).then_some("all");
    let mut parts: Vec<String> = [Some(key), driver, pool, device, all]
        .into_iter()
        .flatten()
        .map(short)
        .collect();
    parts.retain(|part| !part.is_empty());
    // The hash knows what the text leaves out, such as the driver.
    let mut hash = hash(whole);
    hash.truncate(NAME_DIGITS);
    let first = first.iter().map(|part| (*part).to_owned());
    let words: Vec<String> = first.chain(parts).chain([hash]).collect();
    words.join("-")
}

/// Label of all rules of one command: a hash of the devices it was about and of its
/// taint, in no particular order. Fits into a label.
pub fn batch(selectors: &[DeviceSelector], taint: &Taint) -> String {
    let mut names: Vec<String> = selectors.iter().map(device::format).collect();
    names.sort_unstable();
    names.dedup();
    let taint = taint.to_string();
    let mut parts: Vec<&str> = names.iter().map(String::as_str).collect();
    parts.push(&taint);
    hash(&parts)
}

/// A short hash of a text that is no label value, such as `DRIVER/POOL`.
pub fn digest(text: &str) -> String {
    hash(&[text])
}

/// The first digits of a hash over the parts, each with its length, so that no two lists of parts
/// are the same text.
fn hash(parts: &[&str]) -> String {
    // Not the hash of the standard library, which may change: a second run, also of a later release, has to find
    // the rules of the first.
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(format!("{}:{part}", part.len()));
    }
    let bytes = hash.finalize();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.chars().take(DIGITS).collect()
}

/// The text as part of a name: without domains, in lower case, with a dash for what cannot
/// stand there, and without its middle if it is too long.
fn short(text: &str) -> String {
    let without_domain = |part: &str| part.split('.').next().unwrap_or_default().to_owned();
    let parts: Vec<String> = text.split('/').map(without_domain).collect();
    let allowed = |character: char| match character.to_ascii_lowercase() {
        lower @ ('a'..='z' | '0'..='9') => lower,
        _ => '-',
    };
    let text: String = parts.join("-").chars().map(allowed).collect();
    let text = text.trim_matches('-');
    if text.len() <= LONGEST_PART {
        return text.to_owned();
    }
    // Only ASCII is left by now.
    let half = LONGEST_PART / 2;
    let (head, _) = text.split_at(half.saturating_sub(1));
    let (_, tail) = text.split_at(text.len().saturating_sub(half));
    format!("{}-{}", head.trim_matches('-'), tail.trim_matches('-'))
}

/// An object that is typed with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pod.
    Pod(TypedName),
    /// A claim.
    Claim(TypedName),
    /// A device.
    Device(DeviceId),
    /// A rule, which `describe` shows.
    Rule(String),
    /// A node, which stands for its devices.
    Node(String),
}

/// The name of an object in a namespace, as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedName {
    /// The namespace, if it is typed beside the name.
    pub namespace: Option<Namespace>,
    /// The name.
    pub name: ObjectName,
}

impl Subject {
    /// Reads `pod/NAME`, `claim/NAME`, `device/DRIVER/POOL/DEVICE`, `rule/NAME` or `node/NAME`, with the types that
    /// kubectl takes for them and with `NAMESPACE/NAME` for pods and claims; nothing if the argument has no type.
    ///
    /// # Errors
    ///
    /// A type with a name that is invalid for it.
    pub fn typed(text: &str) -> Option<Result<Self, NamingError>> {
        let (kind, name) = text.split_once('/')?;
        let kind = kind.to_ascii_lowercase();
        let plain = kind.strip_suffix(".resource.k8s.io").unwrap_or(&kind);
        match plain {
            "pod" | "pods" | "po" => Some(typed_name("pod", name, text).map(Self::Pod)),
            "claim" | "claims" | "resourceclaim" | "resourceclaims" => {
                Some(typed_name("claim", name, text).map(Self::Claim))
            }
            "device" | "devices" => Some(one_device(name)),
            "rule" | "rules" => Some(parse_name(name).map(Self::Rule)),
            "node" | "nodes" | "no" => Some(one_node(name)),
            _ => parse_name(text).ok().map(|name| Ok(Self::Rule(name))),
        }
    }

    /// True if the word is a type that `kubectl get` takes before a name.
    pub fn is_type(word: &str) -> bool {
        Self::typed(&format!("{word}/name")).is_some()
    }

    /// The arguments with the type before each name, if it is the first of them and a word of its own, as kubectl takes
    /// it. Further names of the type have neither dots nor slashes, as devices and taints have.
    pub fn with_types(arguments: &[String]) -> Vec<String> {
        let [kind, names @ ..] = arguments else {
            return Vec::new();
        };
        let joined = |name: &String| format!("{kind}/{name}");
        let is_name = |(place, name): (usize, &String)| {
            let is_plain = place == 0 || !name.contains(['.', '/', '*']);
            is_plain
                && Self::typed(name).is_none()
                && !name.contains(['=', ':'])
                && matches!(Self::typed(&joined(name)), Some(Ok(_)))
        };
        let names_of_type = names.iter().enumerate();
        let count = names_of_type.take_while(|name| is_name(*name)).count();
        if count == 0 || kind.contains('/') {
            return arguments.to_vec();
        }
        let (of_type, others) = names.split_at(count);
        let of_type = of_type.iter().map(joined);
        of_type.chain(others.iter().cloned()).collect()
    }

    /// The nodes of `arguments`, if each of them is `node/NAME`.
    pub fn nodes(arguments: &[String]) -> Option<Vec<String>> {
        let node = |text: String| match Self::typed(&text) {
            Some(Ok(Self::Node(name))) => Some(name),
            Some(Ok(Self::Pod(_) | Self::Claim(_) | Self::Device(_) | Self::Rule(_)) | Err(_))
            | None => None,
        };
        Self::with_types(arguments).into_iter().map(node).collect()
    }

    /// The type in words, and the command that shows the devices of the object, which was typed as `text`.
    pub fn shown_by(&self, text: &str) -> (&'static str, String) {
        match self {
            Self::Pod(_) => ("pod", format!("kubectl devicetaint explain {text}")),
            Self::Claim(_) => ("claim", format!("kubectl devicetaint explain {text}")),
            Self::Device(id) => ("device", format!("kubectl devicetaint devices {id}")),
            Self::Rule(name) => ("rule", format!("kubectl devicetaint describe {name}")),
            Self::Node(name) => ("node", format!("kubectl devicetaint devices --node {name}")),
        }
    }

    /// As [`Subject::typed`], and names that are printed without a type: `NAMESPACE/NAME` and a bare name are a pod,
    /// `DRIVER/POOL/DEVICE` is a device.
    ///
    /// # Errors
    ///
    /// An invalid name.
    pub fn parse(text: &str) -> Result<Self, NamingError> {
        if let Some(typed) = Self::typed(text) {
            return typed;
        }
        match text.split('/').count() {
            // A namespace has no dots, and a driver has. `None` is less than any place, so that a text without a
            // dot has to be ruled out.
            2 if text.find('.') < text.find('/') && text.contains('.') => one_device(text),
            1 | 2 => typed_name("pod", text, text).map(Self::Pod),
            _ => one_device(text),
        }
    }
}

fn typed_name(kind: &'static str, name: &str, whole: &str) -> Result<TypedName, NamingError> {
    let is_name = |part: &str| {
        !part.is_empty() && !matches!(part, "." | "..") && !part.contains(['/', '%', '=', ':', '*'])
    };
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, name),
    };
    if !is_name(name) || !namespace.is_none_or(is_name) {
        let problem = format!("write {kind}/NAME or {kind}/NAMESPACE/NAME");
        return Err(NamingError::invalid(kind, whole, &problem));
    }
    Ok(TypedName {
        namespace: namespace.map(Namespace::from),
        name: ObjectName::from(name),
    })
}

fn one_node(name: &str) -> Result<Subject, NamingError> {
    if name.is_empty() || name.contains(['/', '%', '=', ':', '*']) {
        return Err(NamingError::invalid("node", name, "write node/NAME"));
    }
    Ok(Subject::Node(name.to_owned()))
}

fn one_device(text: &str) -> Result<Subject, NamingError> {
    let selector = device::parse(text)?;
    match (selector.driver, selector.pool, selector.device) {
        (Some(driver), Some(pool), Some(device)) => Ok(Subject::Device(DeviceId {
            driver,
            pool,
            device,
        })),
        (Some(_) | None, _, _) => Err(NamingError::invalid(
            "device",
            text,
            "it must be one device, DRIVER/POOL/DEVICE",
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naming::device::parse_taint;

    fn selector(text: &str) -> DeviceSelector {
        device::parse(text).unwrap()
    }

    fn is_label(name: &str) -> bool {
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = name.as_bytes();
        name.len() <= 80
            && edge(bytes.first())
            && edge(bytes.last())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    }

    #[test]
    fn printed_names_of_rules_can_be_typed() {
        for text in [
            "drain-node-7",
            "devicetaintrule/drain-node-7",
            "devicetaintrules/drain-node-7",
            "DeviceTaintRule/drain-node-7",
            "rule/drain-node-7",
            "devicetaintrule.resource.k8s.io/drain-node-7",
            "devicetaintrules.resource.k8s.io/drain-node-7",
            "devicetaintrule.v1.resource.k8s.io/drain-node-7",
            "devicetaintrules.v1alpha3.resource.k8s.io/drain-node-7",
            "devicetaintrules.v1beta2.resource.k8s.io/drain-node-7",
            &qualified("drain-node-7"),
        ] {
            assert_eq!(parse_name(text), Ok("drain-node-7".to_owned()), "{text}");
        }
        // A name may have dots, and look like a type.
        let odd = "devicetaintrule.resource.k8s.io";
        assert_eq!(parse_name(odd), Ok(odd.to_owned()));
        assert_eq!(parse_name(&qualified(odd)), Ok(odd.to_owned()));
    }

    #[test]
    fn what_is_the_name_of_something_else_is_no_rule() {
        for text in [
            "",
            "pod/train-0",
            "resourceclaims.resource.k8s.io/x",
            "devicetaintrule.example.com/x",
            "devicetaintrule.v1/x",
            "devicetaintrule.1.resource.k8s.io/x",
            "devicetaintrule.v1gamma1.resource.k8s.io/x",
            "devicetaintrule/",
            "/drain-node-7",
            "devicetaintrule/drain/node-7",
            "gpu.example.com/node-7/gpu-0",
            "devicetaintrule/..",
            ".",
            "a%2fb",
        ] {
            assert!(parse_name(text).is_err(), "{text}");
        }
        let error = parse_name("pod/train-0").unwrap_err().to_string();
        insta::assert_snapshot!(error, @r#"rule "pod/train-0" is not valid: "pod" is not the type of a rule; write NAME or devicetaintrule.resource.k8s.io/NAME"#);
    }

    #[test]
    fn name_is_short_and_says_what_is_tainted() {
        insta::assert_snapshot!(name(&selector("gpu.example.com/node-7/gpu-0"), "example.com/maintenance"), @"maintenance-node-7-gpu-0-2d7a78a");
        insta::assert_snapshot!(name(&selector("GPU.example.com"), "Main_tenance"), @"main-tenance-gpu-69cf157");
        insta::assert_snapshot!(name(&selector("*/rack/1/node-7.rack.example.com/*"), "a"), @"a-rack-1-node-7-52a5e35");
        insta::assert_snapshot!(name(&selector("gpu.example.com/gke-prod-gpu-a100-pool-7f3c9d2e-x4kq/gpu-0"), "example.com/maintenance"), @"maintenance-gke-prod-c9d2e-x4kq-gpu-0-348582a");
        insta::assert_snapshot!(name(&DeviceSelector::default(), "a"), @"a-all-312e2da");
        let taint = parse_taint("example.com/maintenance=x:NoExecute").unwrap();
        insta::assert_snapshot!(preview_name(&selector("gpu.example.com/node-7/gpu-0"), &taint), @"preview-maintenance-node-7-gpu-0-723993e");
    }

    #[test]
    fn batch_knows_no_order() {
        let taint = parse_taint("a=b:None").unwrap();
        let (one, two) = (selector("gpu.example.com"), selector("nic.example.com"));
        let batch = |selectors: &[DeviceSelector]| super::batch(selectors, &taint);
        assert_eq!(
            batch(&[one.clone(), two.clone()]),
            batch(&[two.clone(), one.clone()])
        );
        assert_ne!(batch(&[one.clone(), two]), batch(&[one]));
    }

    proptest! {
        #[test]
        fn name_is_always_one_that_the_server_takes(
            driver in "[A-Za-z0-9.-]{0,63}", pool in "[a-z0-9./-]{0,253}", device in "[a-z0-9-]{0,63}", key in "[A-Za-z0-9_./-]{1,316}",
        ) {
            let selector = DeviceSelector {
                driver: Some(driver.as_str().into()),
                pool: Some(pool.as_str().into()),
                device: Some(device.as_str().into()),
                ..DeviceSelector::default()
            };
            let name = name(&selector, &key);
            prop_assert!(is_label(&name), "{}", name);
            let taint = Taint { key, value: pool, effect: crate::model::Effect::None, time_added: None };
            let name = preview_name(&selector, &taint);
            prop_assert!(is_label(&name), "{}", name);
        }
    }

    fn describe(text: &str) -> String {
        let of = |kind: &str, target: TypedName| match target.namespace {
            Some(namespace) => format!("{kind} {namespace}/{}", target.name),
            None => format!("some {kind} {}", target.name),
        };
        match Subject::parse(text) {
            Ok(Subject::Pod(target)) => of("pod", target),
            Ok(Subject::Claim(target)) => of("claim", target),
            Ok(Subject::Device(id)) => format!("device {id}"),
            Ok(Subject::Rule(name)) => format!("rule {name}"),
            Ok(Subject::Node(name)) => format!("node {name}"),
            Err(_) => "wrong".to_owned(),
        }
    }

    #[test]
    fn what_is_typed_and_what_commands_print_is_understood() {
        for (text, meant) in [
            ("pod/train-0", "some pod train-0"),
            ("pods/ml/train-0", "pod ml/train-0"),
            ("ml/train-0", "pod ml/train-0"),
            (
                "gpu.example.com/node-7/gpu-0",
                "device gpu.example.com/node-7/gpu-0",
            ),
            (
                "device/gpu.example.com/rack/1/gpu-0",
                "device gpu.example.com/rack/1/gpu-0",
            ),
            ("rule/drain", "rule drain"),
            ("devicetaintrule.resource.k8s.io/drain", "rule drain"),
            ("drain", "some pod drain"),
            ("claim/gpus", "some claim gpus"),
            ("resourceclaim.resource.k8s.io/gpus", "some claim gpus"),
            ("resourceclaims/ml/gpus", "claim ml/gpus"),
            ("pod/", "wrong"),
            ("pod/a/b/c", "wrong"),
            ("device/gpu.example.com", "wrong"),
            ("gpu.example.com/node-7/*", "wrong"),
            ("rule/a/b", "wrong"),
            ("nodes/worker-1", "node worker-1"),
            ("node/a/b", "wrong"),
            ("deployments.apps/web", "wrong"),
            ("gpu.example.com/node-7", "wrong"),
            ("pod/node/worker-1", "pod node/worker-1"),
            ("", "wrong"),
            ("a%2fb/x", "wrong"),
        ] {
            assert_eq!(describe(text), meant, "{text}");
        }
    }
}
