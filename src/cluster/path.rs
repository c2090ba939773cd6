//! API paths of the objects of a kind.

use crate::wire::Version;

/// The path of a kind's objects.
pub(in crate::cluster) fn path_of(version: &Version, namespace: Option<&str>) -> String {
    let root = if version.api_version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    let within = namespace.map_or(String::new(), |name| {
        format!("/namespaces/{}", escaped(name))
    });
    format!(
        "{root}/{}{within}/{}",
        version.api_version,
        version.kind.resource()
    )
}

/// Text as it may stand in a path or a query.
pub(in crate::cluster) fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            // The unreserved characters of RFC 3986, 2.3.
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// A part of a path without its percent signs; what is no escape stays as it is.
pub(in crate::cluster) fn unescaped(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%')
            .then(|| after.split_at_checked(2))
            .flatten()
            .and_then(|(digits, after)| {
                let digits = std::str::from_utf8(digits).ok()?;
                Some((u8::from_str_radix(digits, 16).ok()?, after))
            });
        let (byte, after) = escaped.unwrap_or((first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The resource in a path, such as `pods` in `/api/v1/namespaces/ml/pods/train-0`.
pub(in crate::cluster) fn resource_in(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts = path.trim_start_matches('/').split('/');
    let group = if parts.next() == Some("apis") { 2 } else { 1 };
    let mut parts = parts.skip(group);
    match (parts.next(), parts.next(), parts.next()) {
        // A path that ends at the namespace addresses the resource `namespaces` itself.
        (Some("namespaces"), Some(_), Some(name)) | (Some(name), _, _) => name,
        (None, _, _) => "the API",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_of_a_path_is_found() {
        for (path, name) in [
            ("/api/v1/pods?limit=1000", "pods"),
            ("/api/v1/namespaces/ml/pods/train-0", "pods"),
            ("/apis/resource.k8s.io/v1/resourceclaims", "resourceclaims"),
            ("/apis/resource.k8s.io/v1", "the API"),
            ("/version", "the API"),
        ] {
            assert_eq!(resource_in(path), name, "{path}");
        }
    }

    #[test]
    fn percent_signs_that_escape_nothing_stay() {
        for (part, expected) in [
            ("a%2fb", "a/b"),
            ("100%", "100%"),
            ("%zz", "%zz"),
            ("%4", "%4"),
        ] {
            assert_eq!(unescaped(part), expected);
        }
    }
}
