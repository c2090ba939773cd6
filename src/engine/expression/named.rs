//! Named formats of Kubernetes, such as `dns1123Label`.

/// A form of texts, by the name that `format.NAME()` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Label,
    LabelPrefix,
    Subdomain,
    SubdomainPrefix,
    OldLabel,
    OldLabelPrefix,
    QualifiedName,
    LabelValue,
    Uuid,
    /// Known by name; what has it is not known here.
    Other(&'static str),
}

const NAMES: &[(&str, Named)] = &[
    ("dns1123Label", Named::Label),
    ("dns1123LabelPrefix", Named::LabelPrefix),
    ("dns1123Subdomain", Named::Subdomain),
    ("dns1123SubdomainPrefix", Named::SubdomainPrefix),
    ("dns1035Label", Named::OldLabel),
    ("dns1035LabelPrefix", Named::OldLabelPrefix),
    ("qualifiedName", Named::QualifiedName),
    ("labelValue", Named::LabelValue),
    ("uuid", Named::Uuid),
    ("uri", Named::Other("uri")),
    ("byte", Named::Other("byte")),
    ("date", Named::Other("date")),
    ("datetime", Named::Other("datetime")),
];

impl Named {
    /// The form of that name.
    pub(super) fn of(name: &str) -> Option<Self> {
        let mut names = NAMES.iter();
        names
            .find(|(known, _)| *known == name)
            .map(|(_, named)| *named)
    }

    /// Whether `text` has the form; nothing if that is not known here.
    ///
    /// Upstream: `ConstantFormats`.
    pub(super) fn has(self, text: &str) -> Option<bool> {
        Some(match self {
            Self::Label => is_label(text, |first| first.is_ascii_alphanumeric()),
            Self::LabelPrefix => is_label(prefix(text), |first| first.is_ascii_alphanumeric()),
            Self::OldLabel => is_label(text, |first| first.is_ascii_alphabetic()),
            Self::OldLabelPrefix => is_label(prefix(text), |first| first.is_ascii_alphabetic()),
            Self::Subdomain => is_subdomain(text),
            Self::SubdomainPrefix => is_subdomain(prefix(text)),
            Self::LabelValue => text.is_empty() || is_name(text),
            Self::QualifiedName => match text.split_once('/') {
                Some((domain, name)) => is_subdomain(domain) && is_name(name),
                None => is_name(text),
            },
            Self::Uuid => is_uuid(text),
            Self::Other(_) => return None,
        })
    }
}

/// A name to which more is appended may end in a dash.
fn prefix(text: &str) -> &str {
    text.strip_suffix('-')
        .filter(|rest| !rest.is_empty())
        .unwrap_or(text)
}

fn is_label(text: &str, first: impl Fn(char) -> bool) -> bool {
    let allowed = |next: char| next.is_ascii_lowercase() || next.is_ascii_digit() || next == '-';
    text.len() <= 63 && text.chars().all(allowed) && text.starts_with(first) && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    let allowed = |next: char| next.is_ascii_lowercase() || next.is_ascii_digit() || next == '-';
    let is_part = |part: &str| {
        part.chars().all(allowed)
            && part.starts_with(|first: char| first != '-')
            && !part.ends_with('-')
    };
    // Upstream limits the whole, and not each part to the 63 characters of a label.
    text.len() <= 253 && text.split('.').all(is_part)
}

fn is_name(text: &str) -> bool {
    let outer = |next: char| next.is_ascii_alphanumeric();
    let inner = |next: char| outer(next) || "-_.".contains(next);
    text.len() <= 63 && text.starts_with(outer) && text.ends_with(outer) && text.chars().all(inner)
}

fn is_uuid(text: &str) -> bool {
    let plain: String = text.chars().filter(|next| *next != '-').collect();
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    plain.len() == 32
        && plain.chars().all(|next| next.is_ascii_hexdigit())
        && matches!(groups.as_slice(), [8, 4, 4, 4, 12] | [32])
}
