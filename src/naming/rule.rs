//! What is a rule called, by those who type a name, and when nobody has named it?
//!
//! A name is typed bare, or as kubectl prints it: [`parse_name`]. The name of a rule that nobody has
//! named is a function of what it taints: a second run finds what the first one made, and whoever
//! reads a list of rules sees driver, pool and device in the name.

use sha2::{Digest, Sha256};

use super::{NamingError, device};
use crate::model::{DeviceSelector, Taint};

/// The API group of rules.
const GROUP: &str = "resource.k8s.io";
/// What rules are called in front of `/NAME`, as a singular and as a plural.
const TYPES: [&str; 2] = ["devicetaintrule", "devicetaintrules"];

/// The longest name that the API server accepts for a rule.
const MAX_NAME: usize = 253;
/// Hexadecimal digits of a hash: 40 bits, enough to tell the rules of one cluster apart.
const DIGITS: usize = 10;

/// Reads the name of a rule as people type it and as commands print it: `NAME`, or `TYPE/NAME` with
/// any TYPE that kubectl takes for rules: `devicetaintrule` or `devicetaintrules`, alone or with the
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
    let wrong = |problem: String| NamingError::Invalid {
        field: "rule",
        value: text.to_owned(),
        problem,
    };
    let name = match text.split_once('/') {
        Some((kind, name)) if is_type(kind) => name,
        Some((kind, _)) => {
            return Err(wrong(format!(
                "{kind:?} is not the type of a rule; write NAME or {}",
                qualified("NAME")
            )));
        }
        None => text,
    };
    // These would be another place in a URL; kubectl refuses them in the same way.
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '%']) {
        return Err(wrong("that can be no object's name".to_owned()));
    }
    Ok(name.to_owned())
}

/// Whether `text` is what kubectl takes for the type of rules; it does not look at case.
fn is_type(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let (name, rest) = match text.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text.as_str(), None),
    };
    let of_group = |rest: &str| {
        rest == GROUP
            || rest
                .split_once('.')
                .is_some_and(|(version, group)| is_version(version) && group == GROUP)
    };
    TYPES.contains(&name) && rest.is_none_or(of_group)
}

/// Whether `text` looks like the version of an API, such as `v1` or `v1alpha3`.
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
#[must_use]
pub fn qualified(name: &str) -> String {
    format!("{}.{GROUP}/{name}", TYPES[0])
}

/// The name of the rule that taints the devices of `selector` with the taint called `key`: key,
/// driver, pool and device, cut where they are too long, and a hash that makes it unique.
///
/// Neither value nor effect is part of it, so that a rule keeps its name when they change. The
/// result is a DNS-1123 subdomain of at most 253 bytes.
#[must_use]
pub fn name(selector: &DeviceSelector, key: &str) -> String {
    let parts = [
        key,
        selector.driver.as_ref().map_or("any", |name| name.as_str()),
        selector.pool.as_ref().map_or("any", |name| name.as_str()),
        selector.device.as_ref().map_or("any", |name| name.as_str()),
    ];
    // "any" may be a pool's own name: the hash knows the difference.
    let hash = hash(&[key, &device::format(selector)]);
    let longest = (MAX_NAME - DIGITS - 1 - (parts.len() - 1)) / parts.len();
    let readable: Vec<String> = parts
        .iter()
        .map(|part| cut(&subdomain(part), longest))
        .filter(|part| !part.is_empty())
        .collect();
    format!("{}-{hash}", readable.join("-"))
}

/// What the rules of one command have in common: a hash of the devices it was about and of its
/// taint, in no particular order. Fits into a label.
#[must_use]
pub fn batch(selectors: &[DeviceSelector], taint: &Taint) -> String {
    let mut names: Vec<String> = selectors.iter().map(device::format).collect();
    names.sort_unstable();
    names.dedup();
    let taint = taint.to_string();
    let mut parts: Vec<&str> = names.iter().map(String::as_str).collect();
    parts.push(&taint);
    hash(&parts)
}

/// The first digits of a hash over the parts, each with its length, so that no two lists of parts
/// are the same text.
fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(format!("{}:{part}", part.len()));
    }
    let bytes = hash.finalize();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.chars().take(DIGITS).collect()
}

/// The text as a DNS-1123 subdomain: lower case, and a dash for what cannot stand there.
fn subdomain(text: &str) -> String {
    let allowed = |character: char| match character.to_ascii_lowercase() {
        lower @ ('a'..='z' | '0'..='9' | '.' | '-') => lower,
        _ => '-',
    };
    let text: String = text.chars().map(allowed).collect();
    labels(&text)
}

/// Every part between dots begins and ends with a letter or a digit; empty ones are left out.
fn labels(text: &str) -> String {
    let labels: Vec<&str> = text
        .split('.')
        .map(|label| label.trim_matches('-'))
        .filter(|label| !label.is_empty())
        .collect();
    labels.join(".")
}

fn cut(text: &str, longest: usize) -> String {
    // Only ASCII is left by now.
    let kept: String = text.chars().take(longest).collect();
    labels(&kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naming::taint;

    fn selector(text: &str) -> DeviceSelector {
        device::parse(text).unwrap()
    }

    fn is_subdomain(name: &str) -> bool {
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        name.len() <= MAX_NAME
            && name.split('.').all(|label| {
                let bytes = label.as_bytes();
                edge(bytes.first())
                    && edge(bytes.last())
                    && bytes.iter().all(|byte| {
                        byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-'
                    })
            })
    }

    #[test]
    fn printed_names_of_rules_can_be_typed() {
        for text in [
            "drain-node-7",
            "devicetaintrule/drain-node-7",
            "devicetaintrules/drain-node-7",
            "DeviceTaintRule/drain-node-7",
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
    fn name_says_key_driver_pool_and_device() {
        insta::assert_snapshot!(name(&selector("gpu.example.com/node-7/gpu-0"), "example.com/maintenance"), @"example.com-maintenance-gpu.example.com-node-7-gpu-0-2d7a78a2d7");
        insta::assert_snapshot!(name(&selector("GPU.example.com"), "Main_tenance"), @"main-tenance-gpu.example.com-any-any-69cf157889");
        insta::assert_snapshot!(name(&selector("*/rack/1/node-7/*"), "a"), @"a-any-rack-1-node-7-any-b13bd8b050");
        insta::assert_snapshot!(name(&DeviceSelector::default(), "a"), @"a-any-any-any-312e2da207");
    }

    #[test]
    fn what_differs_in_anything_but_value_and_effect_has_another_name() {
        let names: std::collections::BTreeSet<String> = [
            name(&selector("gpu.example.com/any/gpu-0"), "a"),
            name(&selector("gpu.example.com/*/gpu-0"), "a"),
            name(&selector("gpu.example.com/a/b/gpu-0"), "a"),
            name(&selector("gpu.example.com/a-b/gpu-0"), "a"),
            name(&selector("gpu.example.com/a-b/gpu-0"), "A"),
        ]
        .into();
        assert_eq!(names.len(), 5, "{names:?}");
    }

    #[test]
    fn batch_knows_no_order() {
        let taint = taint::parse("a=b:None").unwrap();
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
            prop_assert!(is_subdomain(&name), "{}", name);
        }
    }
}
