//! Semantic versions as Kubernetes parses and compares them.

use std::cmp::Ordering;

/// A semantic version; what follows `+` does not count in comparisons.
///
/// Upstream: `github.com/blang/semver/v4`.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// Major, minor, patch.
    pub(super) numbers: [u64; 3],
    pre: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    // Numbers come before names.
    Number(u64),
    Name(String),
}

impl Version {
    /// Reads a version strictly; nothing if it is none.
    ///
    /// Upstream: `semver.Parse`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        let mut build = build.into_iter().flat_map(|build| build.split('.'));
        if !build.all(is_identifier) {
            return None;
        }
        let pre = pre.into_iter().flat_map(|pre| pre.split('.')).map(part);
        Some(Self {
            numbers: [number(major)?, number(minor)?, number(patch)?],
            pre: pre.collect::<Option<_>>()?,
        })
    }

    /// Likewise, after what people write otherwise is made a version: a `v` before it, zeros before
    /// numbers, fewer than three numbers.
    ///
    /// Upstream: `normalizeAndParse`.
    pub(super) fn parse_loosely(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        // Upstream takes no short version with a pre-release or a build.
        if parts.len() < 3 && parts.last()?.contains(['+', '-']) {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }

    /// Upstream: `Version.Compare`.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.cmp(&other.numbers);
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            // Vectors compare as versions ask: part by part, and the shorter one first.
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}

fn without_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|first: char| first.is_ascii_digit()) {
        rest.to_owned()
    } else {
        format!("0{rest}")
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = digits && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn part(text: &str) -> Option<Part> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Part::Number);
    }
    is_identifier(text).then(|| Part::Name(text.to_owned()))
}

fn is_identifier(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}
