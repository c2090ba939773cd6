//! Client keys that ring does not know: on the curve P-521, which kubectl takes.
//!
//! Everything else about TLS stays with ring: only the signature that proves whose certificate it is
//! is made here.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Config;
use p521::SecretKey;
use p521::ecdsa::signature::Signer as _;
use p521::ecdsa::{Signature, SigningKey as Key};
use p521::pkcs8::DecodePrivateKey;
use rustls::pki_types::CertificateDer;
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use secrecy::ExposeSecret;

const SCHEME: SignatureScheme = SignatureScheme::ECDSA_NISTP521_SHA512;

/// The user's certificate with its key, if that is one on P-521.
pub(in crate::cluster) fn on_p521(config: &Config) -> Option<SingleCertAndKey> {
    let user = &config.auth_info;
    let certificate = STANDARD
        .decode(user.client_certificate_data.as_ref()?.trim())
        .ok()?;
    let key = user.client_key_data.as_ref()?.expose_secret().trim();
    let key = key_in(&STANDARD.decode(key).ok()?)?;
    let chain: Vec<CertificateDer<'static>> = pem::parse_many(certificate)
        .ok()?
        .into_iter()
        .filter(|block| block.tag() == "CERTIFICATE")
        .map(|block| CertificateDer::from(block.into_contents()))
        .collect();
    let key: Arc<dyn SigningKey> = Arc::new(P521 { key: Arc::new(key) });
    (!chain.is_empty()).then(|| CertifiedKey::new(chain, key).into())
}

/// The key on P-521 in a PEM file, whichever way it is written.
fn key_in(file: &[u8]) -> Option<Key> {
    let blocks = pem::parse_many(file).ok()?;
    let secret = blocks.iter().find_map(|block| match block.tag() {
        "PRIVATE KEY" => SecretKey::from_pkcs8_der(block.contents()).ok(),
        "EC PRIVATE KEY" => SecretKey::from_sec1_der(block.contents()).ok(),
        _ => None,
    })?;
    Some(Key::from(&secret))
}

#[derive(Clone)]
struct P521 {
    key: Arc<Key>,
}

impl SigningKey for P521 {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let signer: Box<dyn Signer> = Box::new(self.clone());
        offered.contains(&SCHEME).then_some(signer)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for P521 {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature: Signature = self
            .key
            .try_sign(message)
            .map_err(|_| Error::General("the client key cannot sign".to_owned()))?;
        Ok(signature.to_der().as_bytes().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SCHEME
    }
}

impl std::fmt::Debug for P521 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("P521")
    }
}
