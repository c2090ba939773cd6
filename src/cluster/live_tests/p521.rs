//! Keys of users and servers on the curve P-521, which kubectl takes.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use p521::ecdsa::signature::Verifier;
use p521::ecdsa::{Signature, SigningKey, VerifyingKey};
use p521::pkcs8::DecodePrivateKey;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    DigitallySignedStruct, DistinguishedName, Error, NamedGroup, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};

use super::proxies::proxies;
use super::ways::{ask, serving};
use crate::cluster::client::provider::provider;
use crate::cluster::{ClusterError, Environment};

/// Made with `openssl ecparam -name secp521r1 -genkey`, in both forms, and with a certificate.
const PKCS8: &str = "\
-----BEGIN PRIVATE KEY-----
MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIAJLKB60e5poqlkXPL
FooQL0lahClEFLxgaxGUQ4XQICtW1JV5kM/peAuiTkF+7s2ovFDdK2Y4v+n6u3Y2
+dEMYjmhgYkDgYYABAGHPve2Ciq3Jye7bjPtKdJ5Fhk0YfOYr1/7YBT1Sy0iRFjJ
noP9ag1TE26a04yUOt4BrHbNEHs/5ND/7mTkLoeDQQBRDQFiDTwfjEVGQjhlDo/M
meOZmqrZLp2M12ZAKayVOldezmGbBM/C3523bXS5zOAp/R6iHN7loofUwCTn6zC+
Tw==
-----END PRIVATE KEY-----
";
const SEC1: &str = "\
-----BEGIN EC PRIVATE KEY-----
MIHcAgEBBEIAJLKB60e5poqlkXPLFooQL0lahClEFLxgaxGUQ4XQICtW1JV5kM/p
eAuiTkF+7s2ovFDdK2Y4v+n6u3Y2+dEMYjmgBwYFK4EEACOhgYkDgYYABAGHPve2
Ciq3Jye7bjPtKdJ5Fhk0YfOYr1/7YBT1Sy0iRFjJnoP9ag1TE26a04yUOt4BrHbN
EHs/5ND/7mTkLoeDQQBRDQFiDTwfjEVGQjhlDo/MmeOZmqrZLp2M12ZAKayVOlde
zmGbBM/C3523bXS5zOAp/R6iHN7loofUwCTn6zC+Tw==
-----END EC PRIVATE KEY-----
";
/// What openssl writes above the key.
const PARAMETERS: &str = "\
-----BEGIN EC PARAMETERS-----
BgUrgQQAIw==
-----END EC PARAMETERS-----
";
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIB/jCCAWCgAwIBAgIUPxbe19Yq8BZGi+3AgW6WonSfiQYwCgYIKoZIzj0EAwQw
EDEOMAwGA1UEAwwFYWxpY2UwIBcNMjYxMTIxMjAyOTUzWhgPMjEyNjEwMjgyMDI5
NTNaMBAxDjAMBgNVBAMMBWFsaWNlMIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQB
hz73tgoqtycnu24z7SnSeRYZNGHzmK9f+2AU9UstIkRYyZ6D/WoNUxNumtOMlDre
Aax2zRB7P+TQ/+5k5C6Hg0EAUQ0BYg08H4xFRkI4ZQ6PzJnjmZqq2S6djNdmQCms
lTpXXs5hmwTPwt+dt210uczgKf0eohze5aKH1MAk5+swvk+jUzBRMB0GA1UdDgQW
BBTNNF4AiM4hJud3yg094ByCvXL7LDAfBgNVHSMEGDAWgBTNNF4AiM4hJud3yg09
4ByCvXL7LDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMEA4GLADCBhwJBLXtv
ZOTlRt0GiBmxPNvteC7Se//sm1qW1QFFAsN6saM1uqutmbvUBvCV8pPFaWSlvzId
5rZBvnqnDR1iqhCrZOsCQgH865saf6zc+8fry14jOo0M1NfQvHlugvHfCZcGtpRy
y9IDtVO9MEd1MmYvebPueRT80fPTcHsZ7SvNd0nMFEgq+w==
-----END CERTIFICATE-----
";

/// Made with openssl, for localhost: a key in the form that names it EC, certificates of it that an
/// authority on the curve has signed with each hash, and one that is its own authority.
const SERVER_KEY: &str = include_str!("p521/server-key.pem");
const AUTHORITY: &str = include_str!("p521/authority.pem");
const SIGNED: [&str; 3] = [
    include_str!("p521/signed-with-sha256.pem"),
    include_str!("p521/signed-with-sha384.pem"),
    include_str!("p521/signed-with-sha512.pem"),
];
const OWN_AUTHORITY: &str = include_str!("p521/own-authority.pem");

fn key() -> SigningKey {
    let block = pem::parse(PKCS8).expect("PEM");
    let secret = p521::SecretKey::from_pkcs8_der(block.contents()).expect("a key");
    SigningKey::from(&secret)
}

/// Lets in whoever has that key, which ring could not tell.
#[derive(Debug)]
struct Guard;

impl ClientCertVerifier for Guard {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let expected = pem::parse(CERTIFICATE).expect("PEM");
        assert_eq!(end_entity.as_ref(), expected.contents());
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_tls13_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = key();
        let public = VerifyingKey::from(&key);
        Signature::from_der(signed.signature())
            .and_then(|signature| public.verify(message, &signature))
            .map(|()| HandshakeSignatureValid::assertion())
            .map_err(|_| Error::General("another key".to_owned()))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP521_SHA512]
    }
}

#[tokio::test]
async fn key_on_the_curve_p521_opens_a_server_that_asks_for_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let server =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let private = PrivateKeyDer::try_from(server.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(Arc::new(Guard))
        .with_single_cert(vec![server.cert.der().clone()], private)
        .expect("a certificate with its key");
    let address = serving(config).await;
    let [tunnel, socks] = proxies(&address).await;
    for trust in [
        "insecure-skip-tls-verify: true".to_owned(),
        format!(
            "tls-server-name: localhost, certificate-authority-data: {}",
            STANDARD.encode(server.cert.pem())
        ),
        format!("insecure-skip-tls-verify: true, proxy-url: '{tunnel}'"),
        format!("insecure-skip-tls-verify: true, proxy-url: '{socks}'"),
    ] {
        let port = address.rsplit(':').next().expect("a port");
        let cluster = format!("{{server: 'https://localhost:{port}', {trust}}}");
        let with_parameters = format!("{PARAMETERS}{SEC1}");
        let keys = [PKCS8, SEC1, &with_parameters];
        // How a key is written has nothing to do with the way to the server.
        let forms = if trust.contains("proxy") {
            1
        } else {
            keys.len()
        };
        for key in &keys[..forms] {
            let user = format!(
                "{{client-certificate-data: {}, client-key-data: {}}}",
                STANDARD.encode(CERTIFICATE),
                STANDARD.encode(key)
            );
            let answer = ask(folder.path(), &cluster, &user, &Environment::default()).await;
            answer.expect("let in");
        }
        let answer = ask(folder.path(), &cluster, "{}", &Environment::default()).await;
        answer.expect_err("nobody else is");
    }
}

/// A server with that certificate and the key that belongs to it, which agrees on no other curve.
async fn server_on_p521(certificate: &str, version: &'static SupportedProtocolVersion) -> String {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM");
    let private = PrivateKeyDer::from_pem_slice(SERVER_KEY.as_bytes()).expect("a key");
    let mut strict = provider();
    strict
        .kx_groups
        .retain(|group| group.name() == NamedGroup::secp521r1);
    let config = ServerConfig::builder_with_provider(Arc::new(strict))
        .with_protocol_versions(&[version])
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .expect("a certificate with its key");
    serving(config).await
}

fn trusting(server: &str, authority: &str) -> String {
    format!(
        "{{server: '{server}', tls-server-name: localhost, certificate-authority-data: {}}}",
        STANDARD.encode(authority)
    )
}

#[tokio::test]
async fn server_on_the_curve_p521_is_known_by_its_authority() {
    let folder = tempfile::tempdir().expect("a folder");
    let environment = Environment::default();
    let signed = SIGNED.map(|certificate| (certificate, AUTHORITY));
    for version in [&TLS12, &TLS13] {
        for (certificate, authority) in [&signed[..], &[(OWN_AUTHORITY, OWN_AUTHORITY)]].concat() {
            let server = format!("https://{}", server_on_p521(certificate, version).await);
            let cluster = trusting(&server, authority);
            let answer = ask(folder.path(), &cluster, "{}", &environment).await;
            answer.unwrap_or_else(|error| panic!("{version:?} {certificate}: {error}"));
        }
    }
}

#[tokio::test]
async fn server_on_the_curve_p521_is_judged_alike_behind_proxies() {
    let folder = tempfile::tempdir().expect("a folder");
    let environment = Environment::default();
    let address = server_on_p521(SIGNED[2], &TLS13).await;
    for proxy in proxies(&address).await {
        let server = format!("https://api.example.com', proxy-url: '{proxy}");
        let answer = ask(
            folder.path(),
            &trusting(&server, AUTHORITY),
            "{}",
            &environment,
        )
        .await;
        answer.unwrap_or_else(|error| panic!("{proxy}: {error}"));
        // The certificate of alice, which is no authority of this server.
        let answer = ask(
            folder.path(),
            &trusting(&server, CERTIFICATE),
            "{}",
            &environment,
        )
        .await;
        let error = answer.expect_err("another's");
        assert!(matches!(error, ClusterError::Tls { .. }), "{error:?}");
    }
    let insecure = format!("{{server: 'https://{address}', insecure-skip-tls-verify: true}}");
    let answer = ask(folder.path(), &insecure, "{}", &environment).await;
    answer.expect("nothing is asked for");
}

#[test]
fn signature_on_p521_is_of_one_message_one_key_and_one_hash() {
    let signed = b"a message";
    let signature: Signature = p521::ecdsa::signature::Signer::sign(&key(), signed);
    let (signature, other) = (signature.to_der(), SIGNED[2]);
    let public = VerifyingKey::from(&key());
    let public = public.to_sec1_point(false);
    let algorithms = provider().signature_verification_algorithms.mapping;
    let with = |scheme: SignatureScheme| {
        let (_, found) = algorithms
            .iter()
            .find(|(found, _)| *found == scheme)
            .expect("a scheme");
        *found.last().expect("an algorithm")
    };
    let holds = |scheme, key: &[u8], message: &[u8], signature: &[u8]| {
        with(scheme)
            .verify_signature(key, message, signature)
            .is_ok()
    };
    let sha512 = SignatureScheme::ECDSA_NISTP521_SHA512;
    let (public, signature) = (public.as_bytes(), signature.as_bytes());
    assert!(holds(sha512, public, signed, signature));
    assert!(!holds(sha512, public, b"another message", signature));
    assert!(!holds(sha512, &public[1..], signed, signature));
    assert!(!holds(sha512, public, signed, other.as_bytes()));
    assert!(!holds(
        sha512,
        public,
        signed,
        &signature[..signature.len() - 1]
    ));
    for scheme in [
        SignatureScheme::ECDSA_NISTP256_SHA256,
        SignatureScheme::ECDSA_NISTP384_SHA384,
    ] {
        assert!(!holds(scheme, public, signed, signature), "{scheme:?}");
    }
}
