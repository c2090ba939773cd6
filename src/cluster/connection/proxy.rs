//! Choice of the proxy for a server.
//!
//! The cluster's own `proxy-url` is always used. Otherwise the environment decides, as Go's
//! `http.ProxyFromEnvironment` does: `NO_PROXY` and loopback addresses go straight to the server.
//! (kube compares `NO_PROXY` with the proxy's own address, so the choice is made here.)

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

use super::options::Environment;

/// The proxy for `server` that the environment asks for, as it is written there.
pub(super) fn from_environment<'a>(server: &Uri, environment: &'a Environment) -> Option<&'a str> {
    let host = server.host()?.trim_matches(['[', ']']);
    let proxy = if server.scheme_str() == Some("http") {
        environment.http_proxy.as_deref()?
    } else {
        environment.https_proxy.as_deref()?
    };
    let entries = environment.no_proxy.as_deref().unwrap_or_default();
    let entries = entries.split(',').map(|entry| {
        let entry = entry.trim();
        entry
            .strip_prefix('*')
            .filter(|rest| !rest.is_empty())
            .unwrap_or(entry)
    });
    // In Go, unlike in the matcher, `.domain` covers only what is below.
    let entries = entries.filter(|entry| entry.strip_prefix('.') != Some(host));
    let entries: Vec<&str> = entries.collect();
    let matcher = Matcher::builder()
        .all("http://any")
        .no(entries.join(","))
        .build();
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    (!is_loopback && matcher.intercept(server).is_some()).then_some(proxy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_is_that_of_the_environment_unless_it_spares_the_server() {
        for (no_proxy, server, proxy) in [
            ("", "https://api.example.com:6443", Some("http://secure:1")),
            ("", "http://api.example.com", Some("http://plain:1")),
            ("", "https://127.0.0.1:6443", None),
            ("", "https://[::1]:6443", None),
            ("", "https://localhost:6443", None),
            ("*", "https://anything", None),
            ("x, 10.0.0.0/8,", "https://10.1.2.3:6443", None),
            ("10.0.0.0/8", "https://11.1.2.3", Some("http://secure:1")),
            ("fd00::/8", "https://[fd12::1]:6443", None),
            ("10.1.2.3", "https://10.1.2.3", None),
            ("example.com", "https://example.com", None),
            ("example.com", "https://api.EXAMPLE.com", None),
            (
                "example.com",
                "https://badexample.com",
                Some("http://secure:1"),
            ),
            (
                ".example.com",
                "https://example.com",
                Some("http://secure:1"),
            ),
            (".example.com", "https://api.example.com", None),
            ("*.example.com", "https://api.example.com", None),
            (
                "example.com:80",
                "https://example.com",
                Some("http://secure:1"),
            ),
        ] {
            let environment = Environment {
                https_proxy: Some("http://secure:1".to_owned()),
                http_proxy: Some("http://plain:1".to_owned()),
                no_proxy: Some(no_proxy.to_owned()),
                ..Environment::default()
            };
            let uri = server.parse().expect("a URL");
            let found = from_environment(&uri, &environment);
            assert_eq!(found, proxy, "{no_proxy} {server}");
        }
    }
}
