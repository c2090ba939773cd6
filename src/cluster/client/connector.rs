//! The way to the server: kube's own layers, over connections that send at once.
//!
//! kube leaves TCP's wait for more to send (Nagle's algorithm) on. A new connection ends its handshake
//! with a small packet and starts with another one, the request, which is then held back until the
//! server has acknowledged the first: 40 ms, as long as reading all claims of a large cluster.
//!
//! A proxy is only another way to the same server, so that what is trusted does not depend on it.
//!
//! Upstream: `make_generic_builder` in kube's `client/builder.rs`.

use std::sync::Arc;

use http::Request;
use http_body_util::BodyExt;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};
use rustls::pki_types::ServerName;
use tower::{BoxError, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

use super::pinned::Pinned;
use super::proxy_tunnel;
use super::sending::Sending;

/// The most that stands before a body, and that is looked at before the clock is again: API servers send some
/// hundred bytes and at most 4 KiB of warnings.
const LONGEST_HEAD: usize = 32 << 10;

/// A client that sends requests as `config` says; sends none yet.
///
/// Must be called within a Tokio runtime.
pub(in crate::cluster) fn connect(config: &Config) -> Result<kube::Client, kube::Error> {
    let mut direct = HttpConnector::new();
    // TLS is layered on top of this connector, which therefore gets https URLs too.
    direct.enforce_http(false);
    direct.set_nodelay(true);
    let Some(proxy) = &config.proxy_url else {
        return client(config, secured(config, direct)?);
    };
    match proxy.scheme_str() {
        Some("socks5" | "socks5h") => {
            client(config, secured(config, proxy_tunnel::socks(proxy, direct))?)
        }
        Some("http") => client(
            config,
            secured(config, proxy_tunnel::tunnel(proxy, direct))?,
        ),
        Some("https") => {
            // As Go's `http.Transport`: one TLS configuration for the proxy and for the server behind it.
            let direct = secured(config, direct)?;
            client(
                config,
                secured(config, proxy_tunnel::tunnel(proxy, direct))?,
            )
        }
        _ => Err(kube::Error::ProxyProtocolUnsupported {
            proxy_url: Box::new(proxy.clone()),
        }),
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
        // Innermost, since `Sending` has to know when the connection itself takes the body.
        .map_request(|request: Request<Body>| {
            let sending = Sending::of(&request);
            request.map(|body| body.inspect_frame(move |_| sending.begin()))
        })
        .map_err(BoxError::from)
        .service(
            Client::builder(TokioExecutor::new())
                .http1_max_buf_size(LONGEST_HEAD)
                .build(connector),
        );
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

/// TLS as kube makes it, but for which certificates of servers are taken.
fn secured<C>(config: &Config, connector: C) -> Result<HttpsConnector<C>, kube::Error> {
    let name = config.tls_server_name.clone().map(ServerName::try_from);
    let (Some(verifier), None | Some(Ok(_))) = (Pinned::of(config), &name) else {
        // kube has words of its own for a name that is none.
        return config.rustls_https_connector_with_connector(connector);
    };
    let mut tls = config.rustls_client_config()?;
    tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    let builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http();
    let builder = match name {
        Some(Ok(name)) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
        Some(Err(_)) | None => builder,
    };
    // HTTP/1.1 alone: servers from 1.33 to 1.37 send large bodies faster over it than over HTTP/2.
    Ok(builder.enable_http1().wrap_connector(connector))
}
