//! A user whose key is on the curve P-521, with which kubectl gets in.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use p521::ecdsa::signature::Verifier;
use p521::ecdsa::{Signature, SigningKey, VerifyingKey};
use p521::pkcs8::DecodePrivateKey;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{
    DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};

use super::ways::{ask, serving};
use crate::cluster::Environment;

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
    for trust in [
        "insecure-skip-tls-verify: true".to_owned(),
        format!(
            "tls-server-name: localhost, certificate-authority-data: {}",
            STANDARD.encode(server.cert.pem())
        ),
    ] {
        let cluster = format!("{{server: 'https://{address}', {trust}}}");
        for key in [PKCS8, SEC1] {
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
