//! Policy for running credential plugins.
//!
//! A kubeconfig from somebody else can name any program as the plugin of its user. Whoever does not
//! want that says in the preferences of kubectl (`kuberc`) which programs may be run.
//!
//! Upstream: `ValidatePluginPolicy` and `updateCommandAndCheckAllowlistLocked` in
//! `client-go/plugin/pkg/client/auth/exec`.

use std::collections::BTreeSet;

/// Which credential plugins may be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cluster) enum Policy {
    /// Whatever the kubeconfig names.
    #[default]
    AllowAll,
    /// None at all.
    DenyAll,
    /// Those with these names or at these paths.
    Allowlist(Vec<String>),
}

impl Policy {
    /// The policy called `name`, with the list that goes with it.
    ///
    /// # Errors
    ///
    /// When there is no such policy, or the list does not fit it: nobody knows then what was meant.
    pub(in crate::cluster) fn new(name: &str, list: Option<Vec<String>>) -> Result<Self, String> {
        match (name, list) {
            ("" | "AllowAll", None) => Ok(Self::AllowAll),
            ("DenyAll", None) => Ok(Self::DenyAll),
            ("" | "AllowAll" | "DenyAll", Some(_)) => Err(format!(
                "credentialPluginAllowlist is set, but credentialPluginPolicy is {name:?} and not \
                 \"Allowlist\""
            )),
            ("Allowlist", None) => Err(
                "credentialPluginPolicy is \"Allowlist\", but credentialPluginAllowlist is missing"
                    .to_owned(),
            ),
            ("Allowlist", Some(list)) if list.is_empty() => Err(
                "credentialPluginAllowlist is empty; to deny all plugins, set \
                 credentialPluginPolicy to \"DenyAll\""
                    .to_owned(),
            ),
            ("Allowlist", Some(list)) => {
                // Such an entry could never match, because commands are cleaned before they are compared.
                let odd = list
                    .iter()
                    .find(|entry| entry.is_empty() || cleaned(entry) != **entry);
                match odd {
                    Some(entry) => Err(format!(
                        "credentialPluginAllowlist has {entry:?}, which matches no program: write a \
                         name, or a path without `.`, `..`, and double or trailing slashes"
                    )),
                    None => Ok(Self::Allowlist(list)),
                }
            }
            (name, _) => Err(format!("credentialPluginPolicy {name:?} is unknown")),
        }
    }

    /// Why `command` may not be run, if so; `resolve` finds the program that a name or a path leads to.
    pub(in crate::cluster) fn refusal(
        &self,
        command: &str,
        resolve: impl Fn(&str) -> Option<String>,
    ) -> Option<&'static str> {
        let list: BTreeSet<&str> = match self {
            Self::AllowAll => return None,
            Self::DenyAll => return Some("is not run: credentialPluginPolicy is DenyAll"),
            Self::Allowlist(list) => list.iter().map(String::as_str).collect(),
        };
        let command = cleaned(command);
        let program = resolve(&command);
        let is_listed = list.contains(command.as_str())
            || program.as_ref().is_some_and(|program| {
                let called = |path: &str| path.rsplit('/').next().map(str::to_owned);
                // An entry can only resolve to a path that ends in its own name, so others need not be looked up.
                let alike = list.iter().filter(|entry| called(entry) == called(program));
                list.contains(program.as_str())
                    || alike
                        .into_iter()
                        .any(|entry| resolve(entry).as_ref() == Some(program))
            });
        (!is_listed)
            .then_some("is not run: credentialPluginAllowlist in kuberc does not contain it")
    }
}

/// The path in its shortest form.
///
/// Upstream: Go's `filepath.Clean`.
fn cleaned(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (is_rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Option<Vec<String>> {
        Some(entries.iter().map(|&entry| entry.to_owned()).collect())
    }

    #[test]
    fn policy_that_contradicts_itself_is_none() {
        for (name, entries, expected) in [
            ("", None, Ok(Policy::AllowAll)),
            ("AllowAll", None, Ok(Policy::AllowAll)),
            ("DenyAll", None, Ok(Policy::DenyAll)),
            ("", list(&[]), Err(())),
            ("AllowAll", list(&["a"]), Err(())),
            ("DenyAll", list(&["a"]), Err(())),
            ("Allowlist", None, Err(())),
            ("Allowlist", list(&[]), Err(())),
            ("Allowlist", list(&[""]), Err(())),
            ("Allowlist", list(&["a", "/b/../c"]), Err(())),
            ("Allowlist", list(&["./a"]), Err(())),
            (
                "Allowlist",
                list(&["a", "/b/c"]),
                Ok(Policy::Allowlist(vec!["a".to_owned(), "/b/c".to_owned()])),
            ),
            ("allowlist", list(&["a"]), Err(())),
            ("denyall", None, Err(())),
        ] {
            let found = Policy::new(name, entries.clone()).map_err(|_| ());
            assert_eq!(found, expected, "{name} {entries:?}");
        }
    }

    #[test]
    fn listed_plugin_is_the_one_that_would_be_run() {
        let resolve = |name: &str| match name {
            "login" | "/usr/bin/login" => Some("/usr/bin/login".to_owned()),
            "/tmp/login" => Some("/tmp/login".to_owned()),
            _ => None,
        };
        for (entries, command, allowed) in [
            (&["login"][..], "login", true),
            (&["/usr/bin/login"], "login", true),
            (&["login"], "/usr/bin/login", true),
            (&["login"], "/usr//bin/./login", true),
            (&["login"], "/tmp/login", false),
            (&["/tmp/login"], "login", false),
            (&["other"], "login", false),
            (&["gone"], "missing", false),
            // As it is written there, whether it can be found or not.
            (&["missing"], "missing", true),
            (&["other", "login"], "login", true),
        ] {
            let policy = Policy::new("Allowlist", list(entries)).expect("a policy");
            let refusal = policy.refusal(command, resolve);
            assert_eq!(refusal.is_none(), allowed, "{entries:?} {command}");
        }
        assert!(Policy::DenyAll.refusal("login", resolve).is_some());
        assert!(Policy::AllowAll.refusal("missing", resolve).is_none());
    }

    #[test]
    fn paths_are_compared_in_their_shortest_form() {
        for (path, expected) in [
            ("a", "a"),
            ("", "."),
            ("./a", "a"),
            ("/a//b/", "/a/b"),
            ("/a/../b", "/b"),
            ("/../b", "/b"),
            ("../../b", "../../b"),
            ("a/../..", ".."),
            ("/", "/"),
        ] {
            assert_eq!(cleaned(path), expected, "{path}");
        }
    }
}
