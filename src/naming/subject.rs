//! Objects with their types, as they are typed and as commands print them.

use super::error::NamingError;
use super::{device, rule};
use crate::model::{DeviceId, Namespace, ObjectName};

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
            "rule" | "rules" => Some(rule::parse_name(name).map(Self::Rule)),
            "node" | "nodes" | "no" => Some(one_node(name)),
            _ => rule::parse_name(text).ok().map(|name| Ok(Self::Rule(name))),
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
        return Err(NamingError::Invalid {
            field: kind,
            value: whole.to_owned(),
            problem: format!("write {kind}/NAME or {kind}/NAMESPACE/NAME"),
        });
    }
    Ok(TypedName {
        namespace: namespace.map(Namespace::from),
        name: ObjectName::from(name),
    })
}

fn one_node(name: &str) -> Result<Subject, NamingError> {
    if name.is_empty() || name.contains(['/', '%', '=', ':', '*']) {
        return Err(NamingError::Invalid {
            field: "node",
            value: name.to_owned(),
            problem: "write node/NAME".to_owned(),
        });
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
