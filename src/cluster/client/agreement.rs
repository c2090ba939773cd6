//! Keys that are agreed on over the curve P-521.
//!
//! It is offered last, and chosen by servers that know no other. Up to TLS 1.2, servers also take the
//! offer to mean that a certificate on the curve is understood.

use p521::ecdh::diffie_hellman;
use p521::elliptic_curve::sec1::ToSec1Point;
use p521::{PublicKey, SecretKey};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup, ring};
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// The group, as TLS knows it.
#[derive(Debug)]
pub(super) struct OverP521;

impl SupportedKxGroup for OverP521 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = fresh()?;
        // TLS uses the uncompressed form alone (RFC 8446, 4.2.8.2).
        let public = secret.public_key().to_sec1_point(false);
        Ok(Box::new(Agreement {
            public: public.as_bytes().to_vec(),
            secret,
        }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

/// A secret that is used once.
fn fresh() -> Result<SecretKey, Error> {
    let random = ring::default_provider().secure_random;
    loop {
        let mut bytes = [0; 66];
        random.fill(&mut bytes)?;
        // 521 bits: one of the first byte. Nearly every such number is a key.
        bytes[0] &= 1;
        if let Ok(secret) = SecretKey::from_slice(&bytes) {
            return Ok(secret);
        }
    }
}

struct Agreement {
    secret: SecretKey,
    public: Vec<u8>,
}

impl ActiveKeyExchange for Agreement {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        // Fails for a point off the curve, which would leak bits of the secret; RFC 8446, 4.2.8.2 requires the check.
        let peer = PublicKey::from_sec1_bytes(peer)
            .map_err(|_| Error::from(PeerMisbehaved::InvalidKeyShare))?;
        let shared = diffie_hellman(self.secret.to_nonzero_scalar(), peer.as_affine());
        Ok(SharedSecret::from(&shared.raw_secret_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}
