//! The server's address as it is written: it may hold a name and a password, which are never shown.

use crate::cluster::path::unescaped;
use crate::naming;

/// A name and a password from an address.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::cluster) struct Login {
    pub(in crate::cluster) name: String,
    pub(in crate::cluster) password: String,
}

/// The address without the login that it holds, and the login.
///
/// Upstream: Go's `http.Client`, which sends it when the request has no other `Authorization`.
pub(in crate::cluster) fn parted(address: &str) -> (String, Option<Login>) {
    let (address, login) = naming::address::parted(address);
    let login = login.map(|login| {
        let (name, password) = login.split_once(':').unwrap_or((login, ""));
        Login {
            name: unescaped(name),
            password: unescaped(password),
        }
    });
    (address, login.filter(|login| !login.name.is_empty()))
}

/// An address that cannot be understood, as far as it can be shown: without anything before an `@`,
/// wherever that stands.
pub(in crate::cluster) fn shown(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_is_taken_out_of_the_address() {
        for (address, without, login) in [
            ("https://h:1/p", "https://h:1/p", None),
            ("https://u:p@h:1/p", "https://h:1/p", Some(("u", "p"))),
            ("https://u:p%40%2F@h", "https://h", Some(("u", "p@/"))),
            ("https://u@h", "https://h", Some(("u", ""))),
            ("https://:p@h", "https://h", None),
            ("u:p@h:6443", "h:6443", Some(("u", "p"))),
            ("https://h/p@q", "https://h/p@q", None),
            ("https://a@b:p@h", "https://h", Some(("a@b", "p"))),
            ("", "", None),
        ] {
            let login = login.map(|(name, password): (&str, &str)| Login {
                name: name.to_owned(),
                password: password.to_owned(),
            });
            assert!(parted(address) == (without.to_owned(), login), "{address}");
        }
    }

    #[test]
    fn password_is_not_shown_wherever_it_ends() {
        for address in [
            "https://u:hunter2@h",
            "https://u:hun/ter2@h",
            "u:hunter2@h:x:y",
        ] {
            let shown = shown(address);
            assert!(
                shown.starts_with("…@h") && !shown.contains("ter2"),
                "{shown}"
            );
        }
    }
}
