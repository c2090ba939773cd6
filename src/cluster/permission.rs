//! Permissions of a user, and those that are missing.

use std::fmt;

use crate::model::Kind;

/// Something that a user may or may not do, printed `list resourceslices.resource.k8s.io`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// Verb, such as `list`.
    pub verb: &'static str,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural, such as `resourceslices`.
    pub resource: String,
}

impl Permission {
    /// To `verb` objects of `kind`.
    pub fn new(verb: &'static str, kind: Kind) -> Self {
        Self {
            verb,
            group: kind.group().to_owned(),
            resource: kind.resource().to_owned(),
        }
    }

    /// To evict pods through the Eviction API.
    pub fn evictions() -> Self {
        Self {
            verb: "create",
            group: String::new(),
            // For RBAC a subresource is a resource of its own: `pods` does not include it.
            resource: "pods/eviction".to_owned(),
        }
    }

    /// True if it is a permission to read.
    pub fn is_read(&self) -> bool {
        ["get", "list", "watch"].contains(&self.verb)
    }

    /// The resource with its group, as `kubectl` and the API server print it.
    pub fn full_resource(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.verb, self.full_resource())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_resources_have_no_group_in_their_name() {
        assert_eq!(Permission::new("get", Kind::Pod).to_string(), "get pods");
        assert_eq!(
            Permission::new("list", Kind::DeviceTaintRule).to_string(),
            "list devicetaintrules.resource.k8s.io"
        );
    }
}
