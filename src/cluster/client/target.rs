//! The objects that a path addresses, read as the API server reads it, so that a response can be compared with
//! the question.
//!
//! Upstream: `RequestInfoFactory.NewRequestInfo` in `apiserver/pkg/endpoints/request`.

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cluster) enum Target {
    /// One object of a resource.
    Object(Resource),
    /// All objects of a resource, or those of a namespace.
    Collection(Resource),
    /// `/apis/GROUP`: the versions of a group.
    Group,
    /// `/apis/GROUP/VERSION`: the resources of a version.
    GroupVersion,
    /// `/version`.
    Version,
    /// Anything else, such as a subresource.
    Other,
}

/// A resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cluster) struct Resource {
    /// Group and version.
    pub(in crate::cluster) api_version: String,
    /// Plural, such as `resourceslices`.
    pub(in crate::cluster) name: String,
}

impl Target {
    /// What `path`, with or without a query, leads to.
    pub(in crate::cluster) fn of(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let (api_version, rest) = match parts.as_slice() {
            ["version"] => return Self::Version,
            ["apis", _] => return Self::Group,
            ["apis", _, _] | ["api", _] => return Self::GroupVersion,
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            _ => return Self::Other,
        };
        let rest = match rest {
            // `/api/v1/namespaces/ml` is the object `ml` of the resource `namespaces`.
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            rest => rest,
        };
        let resource = |name: &str| Resource {
            api_version,
            name: name.to_owned(),
        };
        match rest {
            [name] => Self::Collection(resource(name)),
            [name, _] => Self::Object(resource(name)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(api_version: &str, name: &str) -> Resource {
        Resource {
            api_version: api_version.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn path_is_read_as_the_server_reads_it() {
        let rules = resource("resource.k8s.io/v1", "devicetaintrules");
        let pods = resource("v1", "pods");
        for (path, target) in [
            ("/version", Target::Version),
            ("/apis/g", Target::Group),
            ("/apis/g/v1", Target::GroupVersion),
            ("/api/v1", Target::GroupVersion),
            (
                "/apis/resource.k8s.io/v1/devicetaintrules?limit=1",
                Target::Collection(rules.clone()),
            ),
            (
                "/apis/resource.k8s.io/v1/devicetaintrules/a%2Fb",
                Target::Object(rules),
            ),
            (
                "/api/v1/namespaces/ml/pods",
                Target::Collection(pods.clone()),
            ),
            ("/api/v1/namespaces/ml/pods/p", Target::Object(pods)),
            (
                "/api/v1/namespaces/ml",
                Target::Object(resource("v1", "namespaces")),
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
            assert_eq!(resource("v1", name).holds(kind), held, "{name} {kind}");
        }
    }
}
