//! The cryptography of connections: ring's, and the curve P-521, which kubectl takes and ring lacks.
//!
//! Keys of users, certificates of servers and of those who signed them may be on it, and what both
//! sides agree on. Everything else about TLS stays with ring.

use std::sync::{Arc, LazyLock};

use rustls::crypto::{CryptoProvider, KeyProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{PrivateKeyDer, SignatureVerificationAlgorithm};
use rustls::sign::SigningKey;
use rustls::{Error, SignatureScheme};

use super::agreement::OverP521;
use super::curve;

type Algorithm = &'static dyn SignatureVerificationAlgorithm;

/// Whatever a certificate may be signed with.
static ALL: LazyLock<Vec<Algorithm>> = LazyLock::new(|| {
    let ring = of_ring().all.iter();
    ring.copied()
        .chain([curve::SHA256, curve::SHA384, curve::SHA512])
        .collect()
});

/// What a server may sign with under each name of TLS. Up to TLS 1.2 the names are silent about the
/// curve, from 1.3 on the first of each is meant.
static BY_SCHEME: LazyLock<Vec<(SignatureScheme, Vec<Algorithm>)>> = LazyLock::new(|| {
    let of_ring = of_ring().mapping.iter().map(|(scheme, algorithms)| {
        let mut algorithms = algorithms.to_vec();
        if *scheme == SignatureScheme::ECDSA_NISTP256_SHA256 {
            algorithms.push(curve::SHA256);
        } else if *scheme == SignatureScheme::ECDSA_NISTP384_SHA384 {
            algorithms.push(curve::SHA384);
        }
        (*scheme, algorithms)
    });
    of_ring
        .chain([(curve::SCHEME, vec![curve::SHA512])])
        .collect()
});

static MAPPING: LazyLock<Vec<(SignatureScheme, &'static [Algorithm])>> = LazyLock::new(|| {
    let schemes = BY_SCHEME.iter();
    schemes
        .map(|(scheme, algorithms)| (*scheme, algorithms.as_slice()))
        .collect()
});

fn of_ring() -> WebPkiSupportedAlgorithms {
    ring::default_provider().signature_verification_algorithms
}

/// Makes it that of the whole process, where kube looks for it.
pub(in crate::cluster) fn install() {
    if CryptoProvider::get_default().is_none() {
        // It fails if another connection was first, which has brought the same.
        let _ = provider().install_default();
    }
}

/// ring with P-521.
pub(in crate::cluster) fn provider() -> CryptoProvider {
    let ring = ring::default_provider();
    CryptoProvider {
        kx_groups: [ring.kx_groups, vec![&OverP521]].concat(),
        signature_verification_algorithms: WebPkiSupportedAlgorithms {
            all: &ALL,
            mapping: &MAPPING,
        },
        key_provider: &Keys,
        ..ring
    }
}

/// Reads the keys that ring reads, and those on P-521.
#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        if let Some(key) = curve::signing_key(&key) {
            return Ok(key);
        }
        ring::default_provider().key_provider.load_private_key(key)
    }
}
