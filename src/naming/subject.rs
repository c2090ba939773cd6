//! What is to be explained: a pod, a device or a rule, as it is typed and as commands print it.

use super::error::NamingError;
use super::{device, rule};
use crate::model::{DeviceId, Namespace, NamespacedName, ObjectName};

/// What an argument of `explain` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pod with its namespace.
    Pod(NamespacedName),
    /// A pod in the namespace that is asked for, or in whichever has it.
    PodSomewhere(ObjectName),
    /// A device.
    Device(DeviceId),
    /// A rule.
    Rule(String),
    /// A pod or a rule of that name.
    Either(String),
}

impl Subject {
    /// Reads `pod/NAME`, `pod/NAMESPACE/NAME`, `device/DRIVER/POOL/DEVICE` or `rule/NAME`, with the types
    /// that kubectl takes for them.
    ///
    /// Nothing where the argument has no type.
    ///
    /// # Errors
    ///
    /// A type with what can be no name of it.
    pub fn typed(text: &str) -> Option<Result<Self, NamingError>> {
        let (kind, name) = text.split_once('/')?;
        let kind = kind.to_ascii_lowercase();
        match kind.as_str() {
            "pod" | "pods" | "po" => Some(pod(name, text)),
            "device" | "devices" => Some(one_device(name)),
            "rule" | "rules" => Some(rule::parse_name(name).map(Self::Rule)),
            _ => rule::parse_name(text).ok().map(|name| Ok(Self::Rule(name))),
        }
    }

    /// Whether the word is a type that `kubectl get` takes before a name.
    #[must_use]
    pub fn is_type(word: &str) -> bool {
        Self::typed(&format!("{word}/name")).is_some()
    }

    /// As [`Subject::typed`], and what names print that have no type: `NAMESPACE/NAME` is a pod,
    /// `DRIVER/POOL/DEVICE` a device, and a bare name a pod or a rule.
    ///
    /// # Errors
    ///
    /// What can be no name.
    pub fn parse(text: &str) -> Result<Self, NamingError> {
        if let Some(typed) = Self::typed(text) {
            return typed;
        }
        match text.split('/').count() {
            1 => Ok(Self::Either(rule::parse_name(text)?)),
            // A namespace has no dots, and a driver has. `None` is less than any place, so that a text without a
            // dot has to be ruled out.
            2 if text.find('.') < text.find('/') && text.contains('.') => one_device(text),
            2 => pod(text, text),
            _ => one_device(text),
        }
    }
}

fn pod(name: &str, whole: &str) -> Result<Subject, NamingError> {
    let is_name = |part: &str| {
        !part.is_empty() && !matches!(part, "." | "..") && !part.contains(['/', '%', '=', ':', '*'])
    };
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, name),
    };
    if !is_name(name) || !namespace.is_none_or(is_name) {
        return Err(NamingError::Invalid {
            field: "pod",
            value: whole.to_owned(),
            problem: "write pod/NAME or NAMESPACE/NAME".to_owned(),
        });
    }
    let name = ObjectName::from(name);
    Ok(match namespace {
        Some(namespace) => Subject::Pod(NamespacedName {
            namespace: Namespace::from(namespace),
            name,
        }),
        None => Subject::PodSomewhere(name),
    })
}

fn one_device(text: &str) -> Result<Subject, NamingError> {
    let selector = device::parse(text)?;
    match (selector.driver, selector.pool, selector.device) {
        (Some(driver), Some(pool), Some(device)) => Ok(Subject::Device(DeviceId {
            driver,
            pool,
            device,
        })),
        (Some(_) | None, _, _) => Err(NamingError::Invalid {
            field: "device",
            value: text.to_owned(),
            problem: "it must be one device, DRIVER/POOL/DEVICE".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(text: &str) -> String {
        match Subject::parse(text) {
            Ok(Subject::Pod(name)) => format!("pod {name}"),
            Ok(Subject::PodSomewhere(name)) => format!("some pod {name}"),
            Ok(Subject::Device(id)) => format!("device {id}"),
            Ok(Subject::Rule(name)) => format!("rule {name}"),
            Ok(Subject::Either(name)) => format!("either {name}"),
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
            ("drain", "either drain"),
            ("pod/", "wrong"),
            ("pod/a/b/c", "wrong"),
            ("device/gpu.example.com", "wrong"),
            ("gpu.example.com/node-7/*", "wrong"),
            ("rule/a/b", "wrong"),
            ("deployments.apps/web", "wrong"),
            ("gpu.example.com/node-7", "wrong"),
            ("pod/node/worker-1", "pod node/worker-1"),
            ("", "wrong"),
            ("a%2fb/x", "wrong"),
        ] {
            assert_eq!(describe(text), meant, "{text}");
        }
    }

    #[test]
    fn what_kubectl_takes_for_a_type_is_told_from_a_namespace() {
        for (word, is_type) in [
            ("pod", true),
            ("PODS", true),
            ("devicetaintrule.resource.k8s.io", true),
            ("training", false),
            ("gpu.example.com", false),
        ] {
            assert_eq!(Subject::is_type(word), is_type, "{word}");
        }
    }
}
