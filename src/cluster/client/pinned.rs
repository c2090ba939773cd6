//! A server whose certificate is its own authority, as the servers of small clusters make them.
//!
//! The kubeconfig then names the server's own certificate as what to trust, and that often says that
//! it is an authority (`CA:TRUE`). webpki takes no authority's certificate for a server's; Go, and so
//! kubectl, takes it when it is the very certificate that is trusted.
//!
//! Upstream: `Certificate.Verify` in Go's `crypto/x509`.

use std::sync::Arc;

use kube::Config;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

/// Takes what webpki takes, and a trusted certificate that the server has itself.
#[derive(Debug)]
pub(in crate::cluster) struct Pinned {
    trusted: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl Pinned {
    /// For the authorities that `config` names; `None` when it names none, or checks nothing.
    pub(in crate::cluster) fn of(config: &Config) -> Option<Self> {
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
