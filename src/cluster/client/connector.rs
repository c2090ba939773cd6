//! The way to the server: kube's own layers, over connections that send at once.
//!
//! kube leaves TCP's wait for more to send (Nagle's algorithm) on. A new connection ends its handshake
//! with a small packet and starts with another one, the request, which is then held back until the
//! server has acknowledged the first: 40 ms, as long as reading all claims of a large cluster.
//!
//! Upstream: `make_generic_builder` in kube's `client/builder.rs`.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};
use rustls::pki_types::ServerName;
use tower::{BoxError, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

use super::pinned::Pinned;
use crate::cluster::path::unescaped;

/// The most that stands before a body, and that is looked at before the clock is again: API servers send some
/// hundred bytes and at most 4 KiB of warnings.
const LONGEST_HEAD: usize = 32 << 10;

/// A client that sends requests as `config` says; sends none yet.
///
/// Must be called within a Tokio runtime.
pub(super) fn connect(config: &Config) -> Result<kube::Client, kube::Error> {
    let mut direct = HttpConnector::new();
    // TLS is layered on top of this connector, which therefore gets https URLs too.
    direct.enforce_http(false);
    direct.set_nodelay(true);
    let Some(proxy) = &config.proxy_url else {
        return client(config, secured(config, direct)?);
    };
    match proxy.scheme_str() {
        Some("http") => client(config, secured(config, tunnel(proxy, direct))?),
        // As Go's `http.Transport`: one TLS configuration for the proxy and for the server behind it.
        Some("https") => {
            let proxied = tunnel(proxy, secured(config, direct)?);
            client(config, secured(config, proxied)?)
        }
        _ => {
            let socks = SocksV5::new(proxy.clone(), direct);
            let socks = match login(proxy) {
                Some((user, password)) => socks.with_auth(user, password),
                None => socks,
            };
            client(config, secured(config, socks)?)
        }
    }
}

fn client<C>(config: &Config, connector: C) -> Result<kube::Client, kube::Error>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(DecompressionLayer::new().gzip(!config.disable_compression))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(
            Client::builder(TokioExecutor::new())
                .http1_max_buf_size(LONGEST_HEAD)
                .build::<_, Body>(connector),
        );
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

/// TLS as kube makes it, but for which certificates of servers are taken.
fn secured<C>(config: &Config, connector: C) -> Result<HttpsConnector<C>, kube::Error> {
    let mut tls = config.rustls_client_config()?;
    if let Some(verifier) = Pinned::of(config) {
        tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    }
    let builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http();
    let name = config.tls_server_name.clone().map(ServerName::try_from);
    let builder = match name {
        Some(Ok(name)) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
        // An invalid name is refused when the kubeconfig is loaded.
        Some(Err(_)) | None => builder,
    };
    // HTTP/1.1 alone: servers from 1.33 to 1.37 send large bodies faster over it than over HTTP/2.
    Ok(builder.enable_http1().wrap_connector(connector))
}

/// Through a proxy that is asked with CONNECT.
fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let header = login(proxy).and_then(|(user, password)| {
        let login = STANDARD.encode(format!("{user}:{password}"));
        HeaderValue::try_from(format!("Basic {login}")).ok()
    });
    match header {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
}

/// The name and the password in a proxy's URL.
fn login(proxy: &Uri) -> Option<(String, String)> {
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
            ("http://alice@p:1", Some(("alice", ""))),
            ("http://a%40b:c%3Ad@p:1", Some(("a@b", "c:d"))),
        ] {
            let found = login(&proxy.parse().expect("a URL"));
            let expected = expected.map(|(user, word): (&str, &str)| (user.into(), word.into()));
            assert_eq!(found, expected, "{proxy}");
        }
    }
}
