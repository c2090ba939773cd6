//! Where are the objects of a kind?

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
        version.kind.plural()
    )
}

/// Text as it may stand in a path or a query.
pub(in crate::cluster) fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}
