//! The way through a proxy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};

use crate::cluster::path::unescaped;

/// Where SOCKS proxies listen, as Go has it.
const SOCKS_PORT: u16 = 1080;

/// Through a proxy that is asked with CONNECT.
pub(super) fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let Some((user, password)) = user_of(proxy) else {
        return tunnel;
    };
    let login = STANDARD.encode(format!("{user}:{password}"));
    match HeaderValue::try_from(format!("Basic {login}")) {
        Ok(login) => tunnel.with_auth(login),
        // Base64 holds nothing that a header cannot.
        Err(_) => tunnel,
    }
}

/// Through a SOCKS proxy, which also finds the server's address.
pub(super) fn socks<C>(proxy: &Uri, connector: C) -> SocksV5<C> {
    let socks = SocksV5::new(with_port(proxy), connector);
    match user_of(proxy) {
        Some((user, password)) => socks.with_auth(user, password),
        None => socks,
    }
}

fn with_port(proxy: &Uri) -> Uri {
    if proxy.port().is_some() {
        return proxy.clone();
    }
    let host = proxy.host().unwrap_or_default();
    let full = format!("socks5://{host}:{SOCKS_PORT}");
    full.parse().unwrap_or_else(|_| proxy.clone())
}

/// Who the proxy's URL says that it is, and the password.
fn user_of(proxy: &Uri) -> Option<(String, String)> {
    // The last `@`, since a password may contain others.
    let (login, _) = proxy.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    Some((unescaped(user), unescaped(password)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_of_a_proxy_is_read_without_its_percent_signs() {
        for (proxy, expected) in [
            ("http://p:1", None),
            ("http://alice:pw@p:1", Some(("alice", "pw"))),
            ("http://alice@p:1", Some(("alice", ""))),
            ("http://a%40b:c%3Ad@p:1", Some(("a@b", "c:d"))),
        ] {
            let found = user_of(&proxy.parse().expect("a URL"));
            let found = found
                .as_ref()
                .map(|(user, word)| (user.as_str(), word.as_str()));
            assert_eq!(found, expected, "{proxy}");
        }
    }

    #[test]
    fn socks_proxies_have_a_port_of_their_own() {
        for (proxy, expected) in [
            ("socks5://p", "socks5://p:1080/"),
            ("socks5://[::1]", "socks5://[::1]:1080/"),
            ("socks5://alice:pw@p", "socks5://p:1080/"),
            ("socks5://p:1", "socks5://p:1/"),
        ] {
            let full = with_port(&proxy.parse().expect("a URL"));
            assert_eq!(full.to_string(), expected);
        }
    }
}
