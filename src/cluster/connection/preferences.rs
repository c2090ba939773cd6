//! The preferences of kubectl (`kuberc`), as far as they are about connections: which credential
//! plugins may be run.
//!
//! A kubeconfig from elsewhere can name any program as the plugin of its user. Defaults and aliases are neither used nor
//! checked: kubectl applies them to its own commands only.
//!
//! Upstream: `kubectl/pkg/kuberc`; `updateCommandAndCheckAllowlistLocked` in `client-go/plugin/pkg/client/auth/exec`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::options::{ConnectionOptions, Environment};
use crate::cluster::bounded;
use crate::cluster::error::ClusterError;

/// Policy for credential plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// Whatever the kubeconfig names.
    #[default]
    AllowAll,
    /// None at all.
    DenyAll,
    /// Those with these names or at these paths.
    Allowlist(Vec<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Preferences {
    credential_plugin_policy: Option<String>,
    credential_plugin_allowlist: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Entry {
    name: String,
    command: String,
}

impl Policy {
    /// True if `command` may be run; `find` gives the program that a name or a path leads to.
    pub(super) fn allows(&self, command: &str, find: impl Fn(&str) -> Option<PathBuf>) -> bool {
        let list = match self {
            Self::AllowAll => return true,
            Self::DenyAll => return false,
            Self::Allowlist(list) => list,
        };
        let program = find(command).map(|program| shortest(&program));
        let mut list = list.iter();
        list.any(|entry| {
            let is_same = shortest(Path::new(entry)) == shortest(Path::new(command));
            let found = find(entry).map(|entry| shortest(&entry));
            is_same || (program.is_some() && found == program)
        })
    }
}

/// The path without `.` and double slashes.
fn shortest(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Policy of the preferences for credential plugins.
///
/// # Errors
///
/// When the file cannot be used: what it forbids is not known then.
pub(super) fn policy(
    options: &ConnectionOptions,
    environment: &Environment,
) -> Result<Policy, ClusterError> {
    let variable = environment.kuberc.as_ref().map(PathBuf::from);
    let Some(named) = options.kuberc.clone().or(variable) else {
        let usual = environment.home.as_ref();
        let usual = usual.map(|home| home.join(".kube").join("kuberc"));
        return match usual.filter(|_| !environment.is_without_preferences) {
            Some(path) if path.exists() => read(&path),
            Some(_) | None => Ok(Policy::AllowAll),
        };
    };
    if environment.is_without_preferences || named.as_os_str() == "off" {
        return Ok(Policy::AllowAll);
    }
    read(&named)
}

fn read(path: &Path) -> Result<Policy, ClusterError> {
    let read = bounded::read(path).map_err(|error| error.to_string());
    let policy = read.and_then(|bytes| policy_in(&String::from_utf8_lossy(&bytes)));
    policy.map_err(|reason| ClusterError::Configuration {
        message: format!("cannot use the preferences {}: {reason}", path.display()),
        hint: Some("fix the file, or turn preferences off with KUBERC=off".to_owned()),
    })
}

/// Policy of the first preferences in the file, which may hold them in several versions.
fn policy_in(text: &str) -> Result<Policy, String> {
    let documents: Vec<Value> =
        serde_yaml::from_multiple(text).map_err(|_| "it is not YAML".to_owned())?;
    let mut documents = documents.into_iter().filter(|document| !document.is_null());
    let mut is_empty = true;
    let known = documents.find_map(|document| {
        is_empty = false;
        let version = document["apiVersion"].as_str()?;
        let version = version.strip_prefix("kubectl.config.k8s.io/")?.to_owned();
        let is_known = ["v1beta1", "v1alpha1"].contains(&version.as_str());
        (is_known && document["kind"] == "Preference").then_some((version, document))
    });
    match known {
        // This version has nothing about plugins yet.
        Some((version, _)) if version == "v1alpha1" => Ok(Policy::AllowAll),
        Some((_, document)) => serde_json::from_value(document)
            .ok()
            .and_then(policy_of)
            .ok_or_else(|| {
                "credentialPluginPolicy and credentialPluginAllowlist are not valid together"
                    .to_owned()
            }),
        None if is_empty => Ok(Policy::AllowAll),
        None => Err("it has no Preference of kubectl.config.k8s.io/v1beta1".to_owned()),
    }
}

fn policy_of(found: Preferences) -> Option<Policy> {
    let list = found.credential_plugin_allowlist;
    match (found.credential_plugin_policy.as_deref(), list) {
        (None | Some("" | "AllowAll"), None) => Some(Policy::AllowAll),
        (Some("DenyAll"), None) => Some(Policy::DenyAll),
        (Some("Allowlist"), Some(list)) if !list.is_empty() => {
            let names = list
                .into_iter()
                .map(|entry| match (entry.name, entry.command) {
                    (name, command) if name.is_empty() || name == command => Some(command),
                    (name, command) if command.is_empty() => Some(name),
                    _ => None,
                });
            let names: Option<Vec<String>> =
                names.map(|name| name.filter(|it| !it.is_empty())).collect();
            names.map(Policy::Allowlist)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_preferences_of_the_file_count() {
        let begin = "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n";
        let list = |list: &str| {
            format!("{begin}credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: {list}\n")
        };
        let allowed = vec!["a".to_owned(), "/b".to_owned()];
        for (text, expected) in [
            (String::new(), Some(Policy::AllowAll)),
            ("\n---\n".to_owned(), Some(Policy::AllowAll)),
            ("kind: Config\n".to_owned(), None),
            (begin.to_owned(), Some(Policy::AllowAll)),
            (
                format!("{begin}aliases: [{{name: get2}}]\ndefaults: 7\n"),
                Some(Policy::AllowAll),
            ),
            (
                format!("{begin}credentialPluginPolicy: DenyAll\n"),
                Some(Policy::DenyAll),
            ),
            (format!("{begin}credentialPluginPolicy: denyall\n"), None),
            (format!("{begin}credentialPluginPolicy: 7\n"), None),
            (
                format!("kind: Other\n---\n{begin}credentialPluginPolicy: DenyAll\n---\n{begin}"),
                Some(Policy::DenyAll),
            ),
            (
                list("[{name: a}, {command: /b}]"),
                Some(Policy::Allowlist(allowed)),
            ),
            (list("[{name: a, command: b}]"), None),
            (list("[{}]"), None),
            (list("[]"), None),
            (format!("{begin}credentialPluginPolicy: Allowlist\n"), None),
            (
                format!("{begin}credentialPluginAllowlist: [{{name: a}}]\n"),
                None,
            ),
            (
                format!(
                    "{}credentialPluginPolicy: DenyAll\n",
                    begin.replace("v1beta1", "v1alpha1")
                ),
                Some(Policy::AllowAll),
            ),
            (begin.replace("v1beta1", "v9"), None),
        ] {
            assert_eq!(policy_in(&text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn listed_plugin_is_the_one_that_would_be_run() {
        let find = |name: &str| match name {
            "login" => Some(PathBuf::from("/usr/bin/login")),
            name => name.contains('/').then(|| PathBuf::from(name)),
        };
        for (entry, command, allowed) in [
            ("login", "login", true),
            ("/usr/bin/login", "login", true),
            ("login", "/usr/bin/login", true),
            ("login", "/usr//bin/./login", true),
            ("login", "/tmp/login", false),
            ("/tmp/login", "login", false),
            ("other", "login", false),
            ("gone", "missing", false),
        ] {
            let policy = Policy::Allowlist(vec!["x".to_owned(), entry.to_owned()]);
            assert_eq!(policy.allows(command, find), allowed, "{entry} {command}");
        }
        assert!(!Policy::DenyAll.allows("login", find));
        assert!(Policy::AllowAll.allows("missing", find));
    }
}
