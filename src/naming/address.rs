//! The address of a server as people write it: it may hold a name and a password, which are never shown.

/// The address without the login that it holds, and the login as it is written: `NAME:PASSWORD`.
pub fn parted(address: &str) -> (String, Option<&str>) {
    let start = address.find("://").map_or(0, |at| at.saturating_add(3));
    let (scheme, rest) = address.split_at(start);
    // The path behind these may hold an `@` that ends no login.
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // The last one: a password may hold it, and a host cannot.
    match authority.rsplit_once('@') {
        Some((login, host)) => (format!("{scheme}{host}{path}"), Some(login)),
        None => (address.to_owned(), None),
    }
}

/// The address as it may be shown and used again: without the login that it holds.
pub fn without_login(address: &str) -> String {
    parted(address).0
}
