//! Choice of the proxy for a server.
//!
//! The cluster's own `proxy-url` is always used. Otherwise the environment decides, as Go's
//! `http.ProxyFromEnvironment` does: `NO_PROXY` and loopback addresses go straight to the server.
//! (kube compares `NO_PROXY` with the proxy's own address, so the choice is made here.)

use std::net::IpAddr;

use http::Uri;

use super::options::Environment;

/// The proxy for `server` that the environment asks for, as it is written there.
pub(in crate::cluster) fn from_environment<'a>(
    server: &Uri,
    environment: &'a Environment,
) -> Option<&'a str> {
    let host = server.host()?.trim_matches(['[', ']']);
    if is_loopback(host) {
        return None;
    }
    let secure = server.scheme_str() != Some("http");
    let proxy = if secure {
        environment.https_proxy.as_deref()?
    } else {
        environment.http_proxy.as_deref()?
    };
    let port = server.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let excluded = environment
        .no_proxy
        .as_deref()
        .unwrap_or_default()
        .split(',')
        .any(|entry| excludes(entry.trim(), host, port));
    (!excluded).then_some(proxy)
}

/// Whether a proxy with a URL of this scheme can be spoken to.
pub(in crate::cluster) fn is_spoken(scheme: Option<&str>) -> bool {
    matches!(scheme, Some("http" | "https" | "socks5" | "socks5h"))
}

/// Whether `host` is this machine.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Whether an entry of `NO_PROXY` covers `host`.
///
/// Entries are `*`, an address, a CIDR, a domain with all below it, or `.domain` for only what is
/// below; domains and addresses may carry a port. Others cover nothing.
///
/// Upstream: `golang.org/x/net/http/httpproxy`.
fn excludes(entry: &str, host: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = entry.split_once('/') {
        return in_network(host, network, bits).unwrap_or(false);
    }
    let (name, wanted_port) = match entry.rsplit_once(':') {
        // A bare IPv6 address has colons of its own; a port can only follow the brackets.
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => {
            match digits.parse::<u16>() {
                Ok(port) => (name, Some(port)),
                Err(_) => return false,
            }
        }
        _ => (entry, None),
    };
    if wanted_port.is_some_and(|wanted| wanted != port) {
        return false;
    }
    let name = name.trim_matches(['[', ']']).to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    if let (Ok(wanted), Ok(actual)) = (name.parse::<IpAddr>(), host.parse::<IpAddr>()) {
        return wanted == actual;
    }
    let name = name.strip_prefix('*').unwrap_or(&name);
    match name.strip_prefix('.') {
        Some(parent) => !parent.is_empty() && is_below(&host, parent),
        None => !name.is_empty() && (host == name || is_below(&host, name)),
    }
}

fn is_below(host: &str, parent: &str) -> bool {
    host.strip_suffix(parent)
        .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

fn in_network(host: &str, network: &str, bits: &str) -> Option<bool> {
    let bits: u32 = bits.parse().ok()?;
    match (host.parse().ok()?, network.parse().ok()?) {
        (IpAddr::V4(host), IpAddr::V4(network)) => {
            // For the prefix /0 the shift equals the width and gives `None`: the mask is zero.
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(bits)?).unwrap_or(0);
            Some((host.to_bits() ^ network.to_bits()) & mask == 0)
        }
        (IpAddr::V6(host), IpAddr::V6(network)) => {
            let mask = u128::MAX
                .checked_shl(128_u32.checked_sub(bits)?)
                .unwrap_or(0);
            Some((host.to_bits() ^ network.to_bits()) & mask == 0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_is_read_as_go_reads_it() {
        for (entry, host, covered) in [
            ("*", "anything", true),
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("0.0.0.0/0", "11.1.2.3", true),
            ("fd00::/8", "fd12::1", true),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3:6443", "10.1.2.3", true),
            ("10.1.2.3:443", "10.1.2.3", false),
            ("example.com", "example.com", true),
            ("example.com", "api.example.com", true),
            ("example.com", "badexample.com", false),
            (".example.com", "example.com", false),
            (".example.com", "api.example.com", true),
            ("*.example.com", "api.example.com", true),
            ("EXAMPLE.com", "api.Example.COM", true),
            ("example.com:6443", "api.example.com", true),
            ("example.com:80", "api.example.com", false),
            ("", "example.com", false),
            ("10.0.0.0/99", "10.1.2.3", false),
        ] {
            assert_eq!(excludes(entry, host, 6443), covered, "{entry} {host}");
        }
    }

    #[test]
    fn proxy_depends_on_the_scheme_and_spares_loopback() {
        let environment = Environment {
            https_proxy: Some("http://secure:1".to_owned()),
            http_proxy: Some("http://plain:1".to_owned()),
            no_proxy: Some("internal, 10.0.0.0/8".to_owned()),
            ..Environment::default()
        };
        for (server, proxy) in [
            ("https://api.example.com:6443", Some("http://secure:1")),
            ("http://api.example.com", Some("http://plain:1")),
            ("https://api.internal", None),
            ("https://10.0.0.1:6443", None),
            ("https://127.0.0.1:6443", None),
            ("https://[::1]:6443", None),
            ("https://localhost:6443", None),
        ] {
            let server = server.parse().expect("a URL");
            assert_eq!(from_environment(&server, &environment), proxy, "{server}");
        }
    }
}
