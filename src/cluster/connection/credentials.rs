//! Certificates, keys and tokens: from files, from the kubeconfig itself, or from a plugin.
//!
//! Everything is read before the first request, so that a missing file is a message about that file.

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

/// Renewal of expired credentials: from a file that is replaced, or from a plugin.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Renewal {
    chosen: Chosen,
    environment: Environment,
}

impl Renewal {
    /// `None` when the credentials would be the same again.
    pub(super) fn of(chosen: &Chosen, environment: &Environment) -> Option<Self> {
        let user = &chosen.user;
        let expires =
            given(&user.token_file).is_some() || (user.token.is_none() && user.exec.is_some());
        expires.then(|| Self {
            chosen: chosen.clone(),
            environment: environment.clone(),
        })
    }

    /// Reads the file or runs the plugin again.
    pub(in crate::cluster) async fn credentials(
        &self,
        observer: &dyn Observer,
    ) -> Result<AuthInfo, ClusterError> {
        self.chosen.credentials(&self.environment, observer).await
    }
}

impl Chosen {
    /// The certificate authorities that the server's certificate must come from, as DER; `None` for
    /// those that this machine trusts.
    pub(super) fn root_certificates(&self) -> Result<Option<Vec<Vec<u8>>>, ClusterError> {
        let cluster = &self.cluster;
        let bundle = match given(&cluster.certificate_authority_data) {
            Some(data) => STANDARD
                .decode(data.trim())
                .map_err(|_| self.bad_cluster("certificate-authority-data is not base64"))?,
            None => match given(&cluster.certificate_authority) {
                Some(path) => read(path).map_err(|problem| self.bad_cluster(problem))?,
                None => return Ok(None),
            },
        };
        let blocks = pem::parse_many(&bundle).unwrap_or_default().into_iter();
        let certificates: Vec<Vec<u8>> = blocks
            .filter(|block| block.tag() == "CERTIFICATE")
            .map(pem::Pem::into_contents)
            .collect();
        if certificates.is_empty() {
            return Err(self.bad_cluster("certificate-authority is no certificate in PEM format"));
        }
        Ok(Some(certificates))
    }

    /// The user with everything that is in files or comes from a plugin filled in.
    pub(super) async fn credentials(
        &self,
        environment: &Environment,
        observer: &dyn Observer,
    ) -> Result<AuthInfo, ClusterError> {
        let mut user = self.user.clone();
        let file = |path: &str| read(path).map_err(|problem| self.bad_user(problem));
        if user.client_certificate_data.is_none()
            && let Some(path) = given(&user.client_certificate)
        {
            user.client_certificate_data = Some(STANDARD.encode(file(path)?));
        }
        if user.client_key_data.is_none()
            && let Some(path) = given(&user.client_key)
        {
            user.client_key_data = Some(STANDARD.encode(file(path)?).into());
        }
        // Before the credential plugin runs, which may open a browser for a kubeconfig that cannot work.
        if user.client_certificate_data.is_some() != user.client_key_data.is_some() {
            return Err(self.bad_user("client-certificate and client-key need each other"));
        }
        if let Some(path) = given(&user.token_file) {
            match (file(path), &user.token) {
                (Ok(token), _) => {
                    let token = String::from_utf8_lossy(&token);
                    user.token = Some(token.trim().to_owned().into());
                }
                // As kubectl: the token is there for the time before the file.
                (Err(_), Some(_)) => {}
                (Err(error), None) => return Err(error),
            }
        }
        // Otherwise kube would read the file on its own, without trimming the token.
        user.token_file = None;
        let has_credentials = user.token.is_some()
            || user.username.is_some()
            || user.auth_provider.is_some()
            || user.client_certificate_data.is_some();
        // As kubectl: a plugin is only asked when there are no other credentials.
        if let Some(exec) = user.exec.take().filter(|_| !has_credentials) {
            let plugin = Plugin {
                exec: &exec,
                cluster: &self.cluster,
                policy: &self.policy,
                user: self.user_name.as_deref().unwrap_or_default(),
            };
            let found = plugin.run(environment, observer).await?;
            user.token = found.token.map(|token| token.trim().to_owned().into());
            let encoded = |pem: Option<String>| pem.map(|pem| STANDARD.encode(pem));
            user.client_certificate_data = encoded(found.client_certificate_data);
            user.client_key_data = encoded(found.client_key_data).map(Into::into);
        }
        // kube takes it for granted that a token can stand in a header.
        if let Some(token) = &user.token
            && http::HeaderValue::from_str(token.expose_secret()).is_err()
        {
            return Err(self.bad_user("the token has characters that no HTTP header can hold"));
        }
        Ok(user)
    }
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn read(path: &str) -> Result<Vec<u8>, String> {
    bounded::read(Path::new(path)).map_err(|error| format!("cannot read {path}: {error}"))
}
