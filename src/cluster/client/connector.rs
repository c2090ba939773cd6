//! The way to the server: kube's own layers, over connections that send at once.
//!
//! kube leaves TCP's wait for more to send (Nagle's algorithm) on. A new connection ends its handshake
//! with a small packet and starts with another one, the request, which is then held back until the
//! server has acknowledged the first: 40 ms, as long as reading all claims of a large cluster.
//!
//! Upstream: `make_generic_builder` in kube's `client/builder.rs`.

use std::sync::Arc;

use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};
use rustls::pki_types::ServerName;
use tower::{BoxError, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

use super::identity::on_p521;
use super::pinned::Pinned;

/// A client that sends requests as `config` says; sends none yet.
///
/// Must be called within a Tokio runtime.
pub(in crate::cluster) fn connect(config: Config) -> Result<kube::Client, kube::Error> {
    if config.proxy_url.is_some() {
        // A proxy is far away anyway, and kube knows its kinds.
        return kube::Client::try_from(config);
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    let connector = secured(&config, connector)?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(DecompressionLayer::new().gzip(!config.disable_compression))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(Client::builder(TokioExecutor::new()).build::<_, Body>(connector));
    Ok(kube::Client::new(service, config.default_namespace))
}

/// TLS as kube makes it, but for which certificates of servers are taken, and which keys users have.
fn secured(
    config: &Config,
    connector: HttpConnector,
) -> Result<HttpsConnector<HttpConnector>, kube::Error> {
    let verifier = Pinned::of(config);
    let identity = on_p521(config);
    let mut config = config.clone();
    if identity.is_some() {
        // kube gives up on a key that ring does not know.
        config.auth_info.client_certificate_data = None;
        config.auth_info.client_key_data = None;
    }
    let usual = config.rustls_https_connector_with_connector(connector.clone())?;
    if verifier.is_none() && identity.is_none() {
        return Ok(usual);
    }
    let mut tls = config.rustls_client_config()?;
    if let Some(verifier) = verifier {
        tls.dangerous().set_certificate_verifier(Arc::new(verifier));
    }
    if let Some(identity) = identity {
        tls.client_auth_cert_resolver = Arc::new(identity);
    }
    let builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http();
    let builder = match config.tls_server_name.map(ServerName::try_from) {
        Some(Ok(name)) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
        // kube has refused a name that is none above.
        Some(Err(_)) => return Ok(usual),
        None => builder,
    };
    Ok(builder.enable_http1().wrap_connector(connector))
}
