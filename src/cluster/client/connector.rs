//! The way to the server: kube's own layers, over connections that send at once.
//!
//! kube leaves TCP's wait for more to send (Nagle's algorithm) on. A new connection ends its handshake
//! with a small packet and starts with another one, the request, which is then held back until the
//! server has acknowledged the first: 40 ms, as long as reading all claims of a large cluster.
//!
//! Upstream: `make_generic_builder` in kube's `client/builder.rs`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use tower::{BoxError, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

use super::failure::unusable;
use crate::cluster::client::target::unescaped;
use crate::cluster::connection::Renewal;
use crate::cluster::error::{ClusterError, Server};
use crate::cluster::observer::Observer;

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

/// Takes what webpki takes, and a trusted certificate that the server has itself.
#[derive(Debug)]
pub(crate) struct Pinned {
    trusted: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl Pinned {
    /// For the authorities that `config` names; `None` when it names none, or checks nothing.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let named = config.root_cert.as_ref()?;
        if config.accept_invalid_certs || named.is_empty() {
            return None;
        }
        let trusted: Vec<CertificateDer<'static>> =
            named.iter().cloned().map(CertificateDer::from).collect();
        let mut roots = RootCertStore::empty();
        for root in &trusted {
            roots.add(root.clone()).ok()?;
        }
        let usual = WebPkiServerVerifier::builder(Arc::new(roots))
            .build()
            .ok()?;
        Some(Self { trusted, usual })
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let usual = self.usual.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match usual {
            Err(Error::InvalidCertificate(CertificateError::Other(reason)))
                if is_only_an_authority(&reason)
                    && self.trusted.iter().any(|root| root == end_entity) =>
            {
                // webpki stopped at the CA flag, before the name was compared.
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// True if webpki's only objection is that the certificate is an authority's. It checks that
/// after the time, so that one that has expired is still refused.
fn is_only_an_authority(reason: &OtherError) -> bool {
    // Compared as text, because `webpki` is not a direct dependency and its error type cannot be named.
    format!("{reason:?}").contains("CaUsedAsEndEntity")
}

/// The way to one server.
pub(super) struct Transport {
    config: Config,
    renewal: Option<Renewal>,
    current: Mutex<Access>,
    /// Held while new credentials are asked for.
    renewing: futures::lock::Mutex<()>,
}

/// A client with certain credentials.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) client: kube::Client,
    /// Number of earlier renewals.
    generation: u32,
    /// The server has accepted them.
    accepted: bool,
}

impl Transport {
    /// Prepares the way; must be called within a Tokio runtime.
    pub(super) fn new(config: Config, renewal: Option<Renewal>) -> Result<Self, kube::Error> {
        Ok(Self {
            current: Mutex::new(Access {
                client: connect(&config)?,
                generation: 0,
                accepted: false,
            }),
            config,
            renewal,
            renewing: futures::lock::Mutex::default(),
        })
    }

    /// Current credentials and connection for requests.
    pub(super) fn access(&self) -> Access {
        self.current().clone()
    }

    /// Notes that the server knows whose request it was.
    pub(super) fn accepted(&self, access: &Access) {
        let mut current = self.current();
        if current.generation == access.generation {
            current.accepted = true;
        }
    }

    /// Renews what the server has rejected; `false` when that is of no use.
    ///
    /// # Errors
    ///
    /// When new credentials cannot be had.
    pub(super) async fn renew(
        &self,
        rejected: &Access,
        server: &Server,
        observer: &dyn Observer,
    ) -> Result<bool, ClusterError> {
        let Some(renewal) = &self.renewal else {
            return Ok(false);
        };
        // An async lock, because it is held while a plugin runs; `current` is locked only for moments.
        let _alone = self.renewing.lock().await;
        let current = self.access();
        // Another request was first, or these never worked: a plugin would ask its questions twice.
        if current.generation != rejected.generation || !current.accepted {
            return Ok(current.generation != rejected.generation);
        }
        let mut config = self.config.clone();
        config.auth_info = renewal.credentials(observer).await?;
        *self.current() = Access {
            client: connect(&config).map_err(|error| unusable(server, &error))?,
            generation: current.generation.wrapping_add(1),
            accepted: false,
        };
        Ok(true)
    }

    fn current(&self) -> MutexGuard<'_, Access> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
