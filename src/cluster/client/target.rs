//! The objects that a path addresses, read as the API server reads it, so that a response can be compared with
//! the question.
//!
//! Upstream: `RequestInfoFactory.NewRequestInfo` in `apiserver/pkg/endpoints/request`.

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) enum Target {
    /// One object of a resource.
    Object(Resource, String),
    /// All objects of a resource, or those of a namespace.
    Collection(Resource),
    /// `/apis/GROUP`: the versions of a group.
    Group(String),
    /// `/apis/GROUP/VERSION`: the resources of a version.
    GroupVersion(String),
    /// `/version`.
    Version,
    /// Anything else, such as a subresource.
    Other,
}

/// A resource, and where its objects are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cluster) struct Resource {
    /// Group and version.
    pub(in crate::cluster) api_version: String,
    /// Absent for those of the cluster, and for all namespaces.
    pub(in crate::cluster) namespace: Option<String>,
    /// Plural, such as `resourceslices`.
    pub(in crate::cluster) name: String,
}

impl Target {
    /// What `path`, with or without a query, leads to.
    pub(in crate::cluster) fn of(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        // Split first: an escaped slash (`%2F`) belongs to a name.
        let parts: Vec<String> = path.split('/').skip(1).map(unescaped).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (api_version, rest) = match parts.as_slice() {
            ["version"] => return Self::Version,
            ["apis", group] => return Self::Group((*group).to_owned()),
            ["apis", group, version] => return Self::GroupVersion(format!("{group}/{version}")),
            ["api", version] => return Self::GroupVersion((*version).to_owned()),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            _ => return Self::Other,
        };
        let (namespace, rest) = match rest {
            // `/api/v1/namespaces/ml` is the object `ml` of the resource `namespaces`.
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let resource = |name: &str| Resource {
            api_version,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        match rest {
            [name] => Self::Collection(resource(name)),
            [name, object] => Self::Object(resource(name), (*object).to_owned()),
            _ => Self::Other,
        }
    }
}

impl Resource {
    /// Whether objects of `kind` are what this resource holds.
    ///
    /// Upstream: `UnsafeGuessKindToResource` in `apimachinery/pkg/api/meta`, which is right for every
    /// kind of Kubernetes but `Endpoints`.
    pub(in crate::cluster) fn holds(&self, kind: &str) -> bool {
        let singular = kind.to_ascii_lowercase();
        let plural = if singular.ends_with('s') {
            format!("{singular}es")
        } else if let Some(stem) = singular.strip_suffix('y') {
            format!("{stem}ies")
        } else {
            format!("{singular}s")
        };
        !kind.is_empty() && self.name == plural
    }
}

/// A part of a path without its percent signs; what is no escape stays as it is.
pub(in crate::cluster) fn unescaped(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| after.split_at_checked(2))
            .flatten()
            .and_then(|(digits, after)| {
                let digits = std::str::from_utf8(digits).ok()?;
                Some((u8::from_str_radix(digits, 16).ok()?, after))
            });
        let (byte, after) = escaped.unwrap_or((first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(api_version: &str, namespace: Option<&str>, name: &str) -> Resource {
        Resource {
            api_version: api_version.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    #[test]
    fn path_is_read_as_the_server_reads_it() {
        let rules = resource("resource.k8s.io/v1", None, "devicetaintrules");
        let pods = resource("v1", Some("ml"), "pods");
        for (path, target) in [
            ("/version", Target::Version),
            ("/apis/g", Target::Group("g".to_owned())),
            ("/apis/g/v1", Target::GroupVersion("g/v1".to_owned())),
            ("/api/v1", Target::GroupVersion("v1".to_owned())),
            (
                "/apis/resource.k8s.io/v1/devicetaintrules?limit=1",
                Target::Collection(rules.clone()),
            ),
            (
                "/apis/resource.k8s.io/v1/devicetaintrules/a%2Db",
                Target::Object(rules, "a-b".to_owned()),
            ),
            (
                "/api/v1/namespaces/ml/pods",
                Target::Collection(pods.clone()),
            ),
            (
                "/api/v1/namespaces/ml/pods/p",
                Target::Object(pods, "p".to_owned()),
            ),
            (
                "/api/v1/namespaces/ml",
                Target::Object(resource("v1", None, "namespaces"), "ml".to_owned()),
            ),
            ("/api/v1/namespaces/ml/pods/p/eviction", Target::Other),
            ("/healthz", Target::Other),
            ("", Target::Other),
        ] {
            assert_eq!(Target::of(path), target, "{path}");
        }
    }

    #[test]
    fn kinds_are_known_by_their_plural() {
        for (name, kind, held) in [
            ("devicetaintrules", "DeviceTaintRule", true),
            ("deviceclasses", "DeviceClass", true),
            ("networkpolicies", "NetworkPolicy", true),
            ("pods", "PodList", false),
            ("pods", "", false),
            ("s", "", false),
        ] {
            let resource = resource("v1", None, name);
            assert_eq!(resource.holds(kind), held, "{name} {kind}");
        }
    }

    #[test]
    fn percent_signs_that_escape_nothing_stay() {
        for (part, expected) in [
            ("a%2fb", "a/b"),
            ("100%", "100%"),
            ("%zz", "%zz"),
            ("%4", "%4"),
        ] {
            assert_eq!(unescaped(part), expected);
        }
    }
}
