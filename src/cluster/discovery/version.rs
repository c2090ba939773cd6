//! Which Kubernetes version does the server say it is?

use crate::model::Minor;

/// Reads `v1.37.0`, also with what vendors append, such as `v1.36.2-gke.100` or `v1.35.1+k3s1`.
///
/// The patch of a pre-release (`v1.37.0-rc.1`) is left open: it is not that release yet.
pub(in crate::cluster) fn parse(git_version: &str) -> Option<Minor> {
    let numbers = git_version.trim().strip_prefix('v')?;
    let (release, suffix) = match numbers.find(['-', '+']) {
        Some(at) => numbers.split_at(at),
        None => (numbers, ""),
    };
    let mut parts = release.split('.');
    if parts.next()? != "1" {
        return None;
    }
    let minor = parts.next()?.parse().ok()?;
    let patch = parts.next().and_then(|patch| patch.parse().ok());
    let unreleased = ["-alpha", "-beta", "-rc"]
        .iter()
        .any(|stage| suffix.starts_with(stage));
    Some(Minor {
        minor,
        patch: patch.filter(|_| !unreleased),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_may_append_what_they_like() {
        for (text, expected) in [
            ("v1.37.0", Some("1.37.0")),
            ("v1.36.2-gke.100", Some("1.36.2")),
            ("v1.35.1+k3s1", Some("1.35.1")),
            ("v1.34.4-eks-a5df82f", Some("1.34.4")),
            ("v1.37.1-rc.0+abc", Some("1.37")),
            ("v1.37", Some("1.37")),
            ("v2.0.0", None),
            ("1.37.0", None),
            ("", None),
        ] {
            let found = parse(text).map(|version| version.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
