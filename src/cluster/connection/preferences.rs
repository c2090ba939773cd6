//! The preferences of kubectl (`kuberc`), as far as they are about connections: which credential
//! plugins may be run.
//!
//! Defaults and aliases are neither used nor checked: kubectl applies them to its own commands only.
//!
//! Upstream: `kubectl/pkg/kuberc`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::options::{ConnectionOptions, Environment};
use super::policy::Policy;
use crate::cluster::bounded;
use crate::cluster::error::ClusterError;
use crate::cluster::observer::{Event, Observer};

/// What turns the preferences off, as the value of `KUBERC`.
const OFF: &str = "off";
const GROUP: &str = "kubectl.config.k8s.io/";

/// Where the preferences are.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// They are turned off, or there is no home.
    Nowhere,
    /// A file that somebody named: it must be one.
    Named(PathBuf),
    /// Where they usually are.
    Usual(PathBuf),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Preferences {
    credential_plugin_policy: Option<String>,
    credential_plugin_allowlist: Option<Vec<Entry>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    name: String,
    command: String,
}

/// What the preferences say about credential plugins.
///
/// # Errors
///
/// When a file that was named cannot be used, or one says what cannot be meant.
pub(in crate::cluster) fn policy(
    options: &ConnectionOptions,
    environment: &Environment,
    observer: &dyn Observer,
) -> Result<Policy, ClusterError> {
    let (path, is_named) = match place(options, environment)? {
        Place::Nowhere => return Ok(Policy::AllowAll),
        Place::Named(path) => (path, true),
        Place::Usual(path) => (path, false),
    };
    let failure = |reason| ClusterError::Preferences {
        path: path.clone(),
        reason,
    };
    let found = match read(&path) {
        Ok(found) => found,
        Err(Unread::Missing) if !is_named => None,
        Err(Unread::Missing) => return Err(failure("it does not exist".to_owned())),
        Err(Unread::Unusable(reason)) if is_named => return Err(failure(reason)),
        // The default file may be meant for another kubectl; only a file that was named has to be usable.
        Err(Unread::Unusable(reason)) => {
            observer.event(&Event::Notice(&format!(
                "preferences in {} are ignored: {reason}",
                path.display()
            )));
            None
        }
    };
    match found {
        Some(found) => policy_of(found).map_err(failure),
        None => Ok(Policy::AllowAll),
    }
}

/// Upstream: `LoadKuberc`.
fn place(options: &ConnectionOptions, environment: &Environment) -> Result<Place, ClusterError> {
    if environment.is_without_preferences {
        return Ok(Place::Nowhere);
    }
    match (&options.kuberc, &environment.kuberc) {
        (Some(named), Some(variable)) if variable == OFF => Err(ClusterError::Flag {
            flag: "kuberc",
            value: named.display().to_string(),
            reason: "the environment variable KUBERC=off turns preferences off; use either \
                     --kuberc or KUBERC=off"
                .to_owned(),
        }),
        (Some(named), _) => Ok(Place::Named(named.clone())),
        (None, Some(variable)) if variable == OFF => Ok(Place::Nowhere),
        (None, Some(variable)) => Ok(Place::Named(PathBuf::from(variable))),
        (None, None) => Ok(match &environment.home {
            Some(home) => Place::Usual(home.join(".kube").join("kuberc")),
            None => Place::Nowhere,
        }),
    }
}

/// Why there are no preferences to be had from a file.
enum Unread {
    Missing,
    Unusable(String),
}

/// The first preferences in the file, if there is anything in it.
fn read(path: &Path) -> Result<Option<Preferences>, Unread> {
    let bytes = bounded::read(path).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            Unread::Missing
        } else {
            Unread::Unusable(error.to_string())
        }
    })?;
    let text =
        String::from_utf8(bytes).map_err(|_| Unread::Unusable("it is not UTF-8".to_owned()))?;
    first(&text).map_err(Unread::Unusable)
}

/// Upstream: `decodePreference`.
fn first(text: &str) -> Result<Option<Preferences>, String> {
    let mut is_empty = true;
    for document in documents(text) {
        if document.trim().is_empty() {
            continue;
        }
        is_empty = false;
        // A file may hold the preferences in several versions; the first that can be decoded counts.
        if let Some(found) = decoded(&document) {
            return Ok(Some(found));
        }
    }
    if is_empty {
        Ok(None)
    } else {
        Err(format!(
            "it contains no Preference of {GROUP}v1beta1 or {GROUP}v1alpha1"
        ))
    }
}

fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let is_border = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.trim().is_empty());
        if is_border {
            documents.push(String::new());
        } else if let Some(last) = documents.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    documents
}

fn decoded(document: &str) -> Option<Preferences> {
    let value: Value = serde_yaml::from_str(document).ok()?;
    let version = value.get("apiVersion")?.as_str()?.strip_prefix(GROUP)?;
    if value.get("kind")?.as_str()? != "Preference" {
        return None;
    }
    match version {
        "v1beta1" => {
            let found: Preferences = serde_json::from_value(value).ok()?;
            let entries = found.credential_plugin_allowlist.iter().flatten();
            let contradicts = |entry: &Entry| {
                !entry.name.is_empty() && !entry.command.is_empty() && entry.name != entry.command
            };
            let is_clear = !entries.into_iter().any(contradicts);
            is_clear.then_some(found)
        }
        // It has nothing about plugins yet.
        "v1alpha1" => Some(Preferences::default()),
        _ => None,
    }
}

fn policy_of(found: Preferences) -> Result<Policy, String> {
    let list = found.credential_plugin_allowlist.map(|list| {
        let names = list.into_iter().map(|entry| match entry.command.as_str() {
            "" => entry.name,
            _ => entry.command,
        });
        names.collect()
    });
    Policy::new(&found.credential_plugin_policy.unwrap_or_default(), list)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n";

    fn read_text(text: &str) -> Result<Policy, String> {
        match first(text)? {
            Some(found) => policy_of(found),
            None => Ok(Policy::AllowAll),
        }
    }

    #[test]
    fn flag_wins_over_the_variable_and_that_over_the_home() {
        let some = |text: &str| Some(text.into());
        let usual = Place::Usual(PathBuf::from("/home/me/.kube/kuberc"));
        for (flag, variable, expected) in [
            (None, None, Ok(usual)),
            (None, some("/v"), Ok(Place::Named("/v".into()))),
            (some("/f"), some("/v"), Ok(Place::Named("/f".into()))),
            (None, some("off"), Ok(Place::Nowhere)),
            (some("/f"), some("off"), Err(())),
        ] {
            let options = ConnectionOptions {
                kuberc: flag.clone().map(|flag: String| PathBuf::from(flag)),
                ..ConnectionOptions::default()
            };
            let environment = Environment {
                home: Some(PathBuf::from("/home/me")),
                kuberc: variable.clone().map(|text: String| text.into()),
                ..Environment::default()
            };
            let found = place(&options, &environment).map_err(|_| ());
            assert_eq!(found, expected, "{flag:?} {variable:?}");
        }
        let environment = Environment {
            is_without_preferences: true,
            kuberc: Some("/v".into()),
            ..Environment::default()
        };
        let found = place(&ConnectionOptions::default(), &environment);
        assert_eq!(found.map_err(|_| ()), Ok(Place::Nowhere));
    }

    #[test]
    fn first_preferences_of_the_file_count() {
        let list = |names: &[&str]| {
            Ok(Policy::Allowlist(
                names.iter().map(|&name| name.to_owned()).collect(),
            ))
        };
        for (text, expected) in [
            (String::new(), Ok(Policy::AllowAll)),
            ("\n---\n".to_owned(), Ok(Policy::AllowAll)),
            ("kind: Config\n".to_owned(), Err(())),
            (BEGIN.to_owned(), Ok(Policy::AllowAll)),
            (format!("{BEGIN}unknown: 1\n"), Ok(Policy::AllowAll)),
            (
                format!("{BEGIN}credentialPluginPolicy: DenyAll\n"),
                Ok(Policy::DenyAll),
            ),
            (format!("{BEGIN}credentialPluginPolicy: 7\n"), Err(())),
            (
                format!("kind: Other\n---\n{BEGIN}credentialPluginPolicy: DenyAll\n---\n{BEGIN}"),
                Ok(Policy::DenyAll),
            ),
            (
                format!(
                    "{BEGIN}credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{{name: a}}, {{command: /b}}]\n"
                ),
                list(&["a", "/b"]),
            ),
            (
                format!(
                    "{BEGIN}credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{{name: a, command: b}}]\n"
                ),
                Err(()),
            ),
            (
                format!(
                    "{BEGIN}credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{{}}]\n"
                ),
                Err(()),
            ),
            (
                format!("{BEGIN}credentialPluginAllowlist: null\n"),
                Ok(Policy::AllowAll),
            ),
            // This version knows nothing of plugins.
            (
                format!(
                    "{}credentialPluginPolicy: DenyAll\n",
                    BEGIN.replace("v1beta1", "v1alpha1")
                ),
                Ok(Policy::AllowAll),
            ),
            (BEGIN.replace("v1beta1", "v9"), Err(())),
        ] {
            assert_eq!(read_text(&text).map_err(|_| ()), expected, "{text}");
        }
    }

    #[test]
    fn aliases_and_defaults_are_no_business_of_a_plugin() {
        for more in [
            "aliases: [{name: get2, command: get, options: [{name: --output, default: wide}]}]",
            "defaults: 7",
        ] {
            let text = format!("{BEGIN}credentialPluginPolicy: DenyAll\n{more}\n");
            assert_eq!(read_text(&text), Ok(Policy::DenyAll), "{more}");
        }
    }
}
