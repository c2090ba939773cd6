//! Versions of Kubernetes.

use std::fmt;

/// A Kubernetes minor version, printed `1.37`; with a patch where one is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    /// The number after `1.`.
    pub minor: u32,
    /// The number after that, when it is known.
    pub patch: Option<u32>,
}

impl Minor {
    /// Reads `v1.37.0`, `1.37`, and what vendors append, such as `v1.36.2-gke.100`, `v1.35.1+k3s1` or
    /// `1.35+`; `None` for anything else.
    ///
    /// The patch of a pre-release (`v1.37.2-rc.0`) is left open: it is not that release yet. The one
    /// reader of versions, so that a server, a snapshot of it and `--kubernetes` mean the same.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let (release, suffix) = match numbers.find(['-', '+']) {
            Some(at) => numbers.split_at(at),
            None => (numbers, ""),
        };
        let mut parts = release.split('.').map(number);
        if parts.next()?? != 1 {
            return None;
        }
        let minor = parts.next()??;
        let patch = match parts.next() {
            None => None,
            Some(patch) => Some(patch?),
        };
        let unreleased = ["-alpha", "-beta", "-rc"]
            .iter()
            .any(|stage| suffix.starts_with(stage));
        parts.next().is_none().then_some(Self {
            minor,
            patch: patch.filter(|_| !unreleased),
        })
    }
}

/// Digits and nothing else: `parse` alone would take a sign too.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

impl fmt::Display for Minor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.patch {
            Some(patch) => write!(formatter, "1.{}.{patch}", self.minor),
            None => write!(formatter, "1.{}", self.minor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_may_append_what_they_like_and_a_pre_release_has_no_patch() {
        for (text, expected) in [
            ("v1.37.0", Some("1.37.0")),
            ("1.37.0", Some("1.37.0")),
            (" v1.37.0\n", Some("1.37.0")),
            ("v1.36.2-gke.100", Some("1.36.2")),
            ("v1.35.1+k3s1", Some("1.35.1")),
            ("v1.34.4-eks-a5df82f", Some("1.34.4")),
            ("v1.37.1-rc.0+abc", Some("1.37")),
            ("v1.37.2-rc.0", Some("1.37")),
            ("v1.38.0-alpha.1", Some("1.38")),
            ("v1.38.0-beta.0.12+5f2a", Some("1.38")),
            ("v1.37", Some("1.37")),
            ("v1.35+", Some("1.35")),
            ("1.36", Some("1.36")),
            ("v2.0.0", None),
            ("v1.37.x", None),
            ("v1.37.0.1", None),
            ("v1.+37", None),
            ("v1.", None),
            ("1", None),
            ("v1.99999999999", None),
            ("v1.37.99999999999", None),
            ("newest", None),
            ("", None),
        ] {
            let found = Minor::parse(text).map(|version| version.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }
}
