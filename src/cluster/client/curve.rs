//! Signatures on the curve P-521.

use std::sync::Arc;

use p521::SecretKey;
use p521::ecdsa::signature::Signer as _;
use p521::ecdsa::signature::hazmat::PrehashVerifier;
use p521::ecdsa::{Signature, SigningKey as Key, VerifyingKey};
use p521::pkcs8::DecodePrivateKey;
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, PrivateKeyDer, SignatureVerificationAlgorithm, alg_id,
};
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// What TLS calls it, with the hash that fits it.
pub(super) const SCHEME: SignatureScheme = SignatureScheme::ECDSA_NISTP521_SHA512;

// A key on P-521 does not imply SHA-512: certificates on this curve are signed with shorter hashes, too.
pub(super) const SHA256: &dyn SignatureVerificationAlgorithm = &Verification {
    signature: alg_id::ECDSA_SHA256,
    hash: |message| Sha256::digest(message).to_vec(),
};
pub(super) const SHA384: &dyn SignatureVerificationAlgorithm = &Verification {
    signature: alg_id::ECDSA_SHA384,
    hash: |message| Sha384::digest(message).to_vec(),
};
pub(super) const SHA512: &dyn SignatureVerificationAlgorithm = &Verification {
    signature: alg_id::ECDSA_SHA512,
    hash: |message| Sha512::digest(message).to_vec(),
};

/// Tells whether something was signed, with one of the hashes that are in use.
#[derive(Debug)]
struct Verification {
    signature: AlgorithmIdentifier,
    hash: fn(&[u8]) -> Vec<u8>,
}

impl SignatureVerificationAlgorithm for Verification {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = VerifyingKey::from_sec1_bytes(public_key).map_err(|_| InvalidSignature)?;
        let signature = Signature::from_der(signature).map_err(|_| InvalidSignature)?;
        key.verify_prehash(&(self.hash)(message), &signature)
            .map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P521
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// What signs with `key`, if that is on P-521, whichever way it is written.
pub(super) fn signing_key(key: &PrivateKeyDer<'_>) -> Option<Arc<dyn SigningKey>> {
    let secret = if let PrivateKeyDer::Pkcs8(key) = key {
        SecretKey::from_pkcs8_der(key.secret_pkcs8_der()).ok()?
    } else if let PrivateKeyDer::Sec1(key) = key {
        SecretKey::from_sec1_der(key.secret_sec1_der()).ok()?
    } else {
        return None;
    };
    Some(Arc::new(P521 {
        key: Arc::new(Key::from(&secret)),
    }))
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
            .map_err(|_| Error::General("the private key cannot sign".to_owned()))?;
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
