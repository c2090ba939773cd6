//! Certificates, keys and tokens: from files, from the kubeconfig itself, or from a plugin.
//!
//! Everything is read before the first request, so that a missing file is a message about that
//! file, and handed on as data.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::AuthInfo;
use secrecy::ExposeSecret;

use super::kubeconfig::Chosen;
use super::options::Environment;
use super::plugin::Plugin;
use crate::cluster::bounded;
use crate::cluster::error::ClusterError;
use crate::cluster::observer::Observer;

/// The object identifier 1.3.132.0.35 in DER, as keys name the curve (RFC 5480, 2.1.1.1).
const SECP521R1: [u8; 7] = [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];

/// Where the secrets of a connection are to be found.
#[derive(Debug)]
pub(in crate::cluster) struct Material<'a> {
    chosen: &'a Chosen,
}

impl<'a> Material<'a> {
    pub(in crate::cluster) fn new(chosen: &'a Chosen) -> Self {
        Self { chosen }
    }

    /// The certificate authorities that the server's certificate must come from, as DER; `None` for
    /// those that this machine trusts.
    pub(in crate::cluster) fn root_certificates(
        &self,
    ) -> Result<Option<Vec<Vec<u8>>>, ClusterError> {
        let cluster = &self.chosen.cluster;
        let object = self.chosen.cluster_object();
        let bundle = if let Some(data) = non_empty(cluster.certificate_authority_data.as_ref()) {
            STANDARD.decode(data.trim()).map_err(|_| {
                self.chosen
                    .bad_cluster("certificate-authority-data", "is not base64".to_owned())
            })?
        } else if let Some(path) = non_empty(cluster.certificate_authority.as_ref()) {
            read("certificate authority", path, object)?
        } else {
            return Ok(None);
        };
        let certificates: Vec<Vec<u8>> = pem::parse_many(&bundle)
            .unwrap_or_default()
            .into_iter()
            .filter(|block| block.tag() == "CERTIFICATE")
            .map(pem::Pem::into_contents)
            .collect();
        if certificates.is_empty() {
            return Err(self.chosen.bad_cluster(
                "certificate-authority",
                "contains no certificate in PEM format".to_owned(),
            ));
        }
        Ok(Some(certificates))
    }

    /// Whether asking again later may give other credentials.
    pub(in crate::cluster) fn expires(&self) -> bool {
        let user = &self.chosen.user;
        non_empty(user.token_file.as_ref()).is_some()
            || (user.token.is_none() && user.exec.is_some())
    }

    /// The user with everything that is in files or comes from a plugin filled in.
    pub(in crate::cluster) async fn user(
        &self,
        environment: &Environment,
        observer: &dyn Observer,
    ) -> Result<AuthInfo, ClusterError> {
        let mut user = self.chosen.user.clone();
        if user.client_certificate_data.is_none()
            && let Some(path) = non_empty(user.client_certificate.as_ref())
        {
            let certificate = read("client certificate", path, self.user_object())?;
            user.client_certificate_data = Some(STANDARD.encode(certificate));
        }
        if user.client_key_data.is_none()
            && let Some(path) = non_empty(user.client_key.as_ref())
        {
            let key = read("client key", path, self.user_object())?;
            user.client_key_data = Some(STANDARD.encode(key).into());
        }
        // Before the credential plugin runs, which may open a browser for a kubeconfig that cannot work.
        self.check_pair(&user)?;
        if let Some(path) = non_empty(user.token_file.as_ref()) {
            match (self.token_in(path), &user.token) {
                (Ok(token), _) => user.token = Some(token.into()),
                // As kubectl: the token is there for the time before the file.
                (Err(_), Some(_)) => {}
                (Err(error), None) => return Err(error),
            }
        }
        // Otherwise kube would read the file on its own, without trimming the token.
        user.token_file = None;
        let user = self.with_plugin(user, environment, observer).await?;
        self.check_token(&user)?;
        self.check_curve(&user)?;
        Ok(user)
    }

    /// The token in the file at `path`.
    fn token_in(&self, path: &str) -> Result<String, ClusterError> {
        let token = read("token file", path, self.user_object())?;
        let token =
            String::from_utf8(token).map_err(|_| self.bad_user("tokenFile", "is not text"))?;
        Ok(token.trim().to_owned())
    }

    /// kube takes it for granted that a token can stand in a header.
    fn check_token(&self, user: &AuthInfo) -> Result<(), ClusterError> {
        match &user.token {
            Some(token) if http::HeaderValue::from_str(token.expose_secret()).is_err() => Err(self
                .bad_user(
                    "token",
                    "contains characters that are invalid in an HTTP header",
                )),
            Some(_) | None => Ok(()),
        }
    }

    /// ring, which does the cryptography, lacks the curve, and would say only that the key is invalid.
    fn check_curve(&self, user: &AuthInfo) -> Result<(), ClusterError> {
        let key = user.client_key_data.as_ref();
        if key.is_some_and(|key| is_on_p521(key.expose_secret())) {
            return Err(self.bad_user(
                "client-key",
                "is on the curve P-521, which this plugin does not support: use a token, an RSA key, \
                 or a key on P-256 or P-384",
            ));
        }
        Ok(())
    }

    /// As kubectl: a plugin is only asked when there are no other credentials.
    async fn with_plugin(
        &self,
        user: AuthInfo,
        environment: &Environment,
        observer: &dyn Observer,
    ) -> Result<AuthInfo, ClusterError> {
        let mut user = user;
        let has_credentials = user.token.is_some()
            || user.username.is_some()
            || user.auth_provider.is_some()
            || user.client_certificate_data.is_some();
        let Some(exec) = user.exec.take().filter(|_| !has_credentials) else {
            return Ok(user);
        };
        let plugin = Plugin {
            exec: &exec,
            cluster: &self.chosen.cluster,
            policy: &self.chosen.policy,
            user: self.chosen.user_name.as_deref().unwrap_or_default(),
        };
        let credentials = plugin.run(environment, observer).await?;
        user.token = credentials
            .token
            .map(|token| token.trim().to_owned().into());
        user.client_certificate_data = credentials
            .client_certificate_data
            .map(|pem| STANDARD.encode(pem));
        user.client_key_data = credentials
            .client_key_data
            .map(|pem| STANDARD.encode(pem).into());
        Ok(user)
    }

    fn check_pair(&self, user: &AuthInfo) -> Result<(), ClusterError> {
        match (&user.client_certificate_data, &user.client_key_data) {
            (Some(_), None) => {
                Err(self.bad_user("client-key", "is missing, but a client certificate is set"))
            }
            (None, Some(_)) => {
                Err(self.bad_user("client-certificate", "is missing, but a client key is set"))
            }
            (Some(certificate), Some(_)) if STANDARD.decode(certificate.trim()).is_err() => {
                Err(self.bad_user("client-certificate-data", "is not base64"))
            }
            (Some(_), Some(_)) | (None, None) => Ok(()),
        }
    }

    fn bad_user(&self, field: &'static str, problem: &str) -> ClusterError {
        self.chosen.bad_user(field, problem.to_owned())
    }

    fn user_object(&self) -> String {
        self.chosen.user_object()
    }
}

fn non_empty(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

/// Whether a private key, as PEM in base64, names the curve P-521 as its own.
fn is_on_p521(key: &str) -> bool {
    let pem = STANDARD.decode(key.trim()).unwrap_or_default();
    let blocks = pem::parse_many(&pem).unwrap_or_default();
    blocks.iter().any(|block| {
        let mut places = block.contents().windows(SECP521R1.len());
        places.any(|found| found == SECP521R1)
    })
}

fn read(what: &'static str, path: &str, object: String) -> Result<Vec<u8>, ClusterError> {
    bounded::read(Path::new(path)).map_err(|source| ClusterError::File {
        what,
        path: path.into(),
        object,
        source,
    })
}
