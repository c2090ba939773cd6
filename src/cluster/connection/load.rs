//! How to reach the cluster that the user means, and as whom.
//!
//! ```text
//! flags ─┐
//! KUBECONFIG, ~/.kube/config ─┼─▶ one cluster, one user ─▶ credential plugin ─▶ kube::Config
//! service account of a pod ─┘
//! ```
//!
//! Flags win over files, files over the pod that this may run in. What cannot be loaded is said
//! here, in one line that names the file and the object, before any request is made.
//!
//! **Differs** from kube's own loading: files of `KUBECONFIG` may be missing, credential plugins run
//! once, `NO_PROXY` is compared with the server, tokens from files are trimmed, nothing is retried.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use kube::Config;
use kube::config::Cluster;

use super::kubeconfig::{self, Chosen};
use super::material::Material;
use super::{ConnectionOptions, Environment, Renewal, in_cluster, proxy};
use crate::cluster::error::Server;
use crate::cluster::{ClusterError, Observer};

/// Everything that is needed to send a request.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(in crate::cluster) config: Config,
    /// For credentials that expire.
    pub(in crate::cluster) renewal: Option<Renewal>,
    /// Which server it leads to.
    pub server: Arc<Server>,
    /// The kubeconfig context, if one was used.
    pub context: Option<String>,
    /// The namespace for objects that are named without one.
    pub namespace: String,
    /// For how long the server may be silent; absent for no limit.
    pub request_timeout: Option<Duration>,
}

impl Connection {
    /// Loads what `options` and `environment` choose; runs a credential plugin if the user has one.
    ///
    /// # Errors
    ///
    /// When nothing is configured, or what is chosen is missing or cannot be used.
    pub async fn load(
        options: &ConnectionOptions,
        environment: &Environment,
        observer: &dyn Observer,
    ) -> Result<Self, ClusterError> {
        let loaded = kubeconfig::load(options, environment)?;
        let chosen = match loaded.choose(options)? {
            Some(chosen) => chosen,
            None => {
                in_cluster::choose(environment).ok_or_else(|| ClusterError::NoConfiguration {
                    searched: loaded.searched(),
                })?
            }
        };
        let chosen = chosen.with_flags(options)?;
        let user = Material::new(&chosen).user(environment, observer).await?;
        let config = chosen.config(environment)?;
        Ok(Self {
            server: Arc::new(Server {
                cluster: chosen.cluster_name.clone(),
                url: config
                    .cluster_url
                    .to_string()
                    .trim_end_matches('/')
                    .to_owned(),
            }),
            config: with_user(config, user),
            renewal: Renewal::of(&chosen, environment),
            context: chosen.context,
            namespace: chosen.namespace.unwrap_or_else(|| "default".to_owned()),
            request_timeout: options.request_timeout,
        })
    }
}

fn with_user(mut config: Config, user: kube::config::AuthInfo) -> Config {
    config.auth_info = user;
    config
}

impl Chosen {
    /// The same with what flags say instead.
    ///
    /// Upstream: `getCluster` and `getAuthInfo` in `client-go/tools/clientcmd/client_config.go`.
    pub(in crate::cluster) fn with_flags(
        self,
        options: &ConnectionOptions,
    ) -> Result<Self, ClusterError> {
        Ok(Self {
            namespace: options.namespace.clone().or(self.namespace),
            cluster: cluster_with_flags(self.cluster, options),
            user: user_with_flags(self.user, options)?,
            ..self
        })
    }

    fn config(&self, environment: &Environment) -> Result<Config, ClusterError> {
        let url = self.url()?;
        let local = url
            .host()
            .is_some_and(|host| proxy::is_loopback(host.trim_matches(['[', ']'])));
        let mut config = Config::new(url);
        config.root_cert = if config.cluster_url.scheme_str() == Some("http") {
            // Loading what this machine trusts takes longer than a request.
            Some(Vec::new())
        } else {
            Material::new(self).root_certificates()?
        };
        config.accept_invalid_certs = self.cluster.insecure_skip_tls_verify.unwrap_or(false);
        config.tls_server_name = self
            .cluster
            .tls_server_name
            .clone()
            .filter(|name| !name.is_empty());
        config.proxy_url = self.proxy(&config.cluster_url, environment)?;
        // An API server compresses at about 300 MB/s, to a tenth: that pays on every network, and
        // keeps large lists within the server's own time limit on slow ones. Only on this machine
        // is it slower than sending everything.
        config.disable_compression = local || self.cluster.disable_compression.unwrap_or(false);
        // Retries and time limits are `client`'s business: bounded, announced, and never for writes.
        config.default_retry = false;
        config.connect_timeout = None;
        config.write_timeout = None;
        Ok(config)
    }

    /// The server's URL; without a scheme it is `https` when anything about TLS is configured.
    fn url(&self) -> Result<Uri, ClusterError> {
        let text = self.cluster.server.as_deref().unwrap_or_default().trim();
        if text.is_empty() {
            return Err(self.bad_cluster("server", "is missing".to_owned()));
        }
        let url = if text.contains("://") {
            text.to_owned()
        } else {
            format!(
                "{}://{text}",
                if self.uses_tls() { "https" } else { "http" }
            )
        };
        let parsed: Result<Uri, _> = url.parse();
        match parsed {
            Ok(uri)
                if matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some() =>
            {
                Ok(uri)
            }
            Ok(_) => {
                Err(self.bad_cluster("server", format!("{text:?} is not an http or https URL")))
            }
            Err(error) => {
                Err(self.bad_cluster("server", format!("{text:?} is not a URL: {error}")))
            }
        }
    }

    fn uses_tls(&self) -> bool {
        let cluster = &self.cluster;
        cluster.certificate_authority.is_some()
            || cluster.certificate_authority_data.is_some()
            || cluster.insecure_skip_tls_verify == Some(true)
            || self.user.client_certificate.is_some()
            || self.user.client_certificate_data.is_some()
    }

    fn proxy(&self, server: &Uri, environment: &Environment) -> Result<Option<Uri>, ClusterError> {
        let own = self
            .cluster
            .proxy_url
            .as_deref()
            .filter(|url| !url.is_empty());
        let Some(url) = own.or_else(|| proxy::from_environment(server, environment)) else {
            return Ok(None);
        };
        let full = if url.contains("://") {
            url.to_owned()
        } else {
            format!("http://{url}")
        };
        // A proxy's URL may hold a password, so it is never repeated.
        let parsed: Result<Uri, _> = full.parse();
        match parsed {
            Ok(uri) if uri.host().is_some() => Ok(Some(uri)),
            _ => Err(self.bad_cluster("proxy-url", "is not a URL".to_owned())),
        }
    }

    pub(in crate::cluster) fn bad_cluster(
        &self,
        field: &'static str,
        problem: String,
    ) -> ClusterError {
        ClusterError::KubeconfigValue {
            object: self.cluster_object(),
            field,
            problem,
            files: self.files.clone(),
        }
    }

    pub(in crate::cluster) fn cluster_object(&self) -> String {
        match &self.cluster_name {
            Some(name) => format!("cluster {name:?}"),
            None => "the cluster".to_owned(),
        }
    }
}

fn cluster_with_flags(cluster: Cluster, options: &ConnectionOptions) -> Cluster {
    let mut cluster = cluster;
    if let Some(server) = &options.server {
        cluster.server = Some(server.clone());
        // The name in the file belongs to the server in the file.
        cluster.tls_server_name = None;
    }
    if let Some(name) = &options.tls_server_name {
        cluster.tls_server_name = Some(name.clone());
    }
    if let Some(insecure) = options.insecure_skip_tls_verify {
        cluster.insecure_skip_tls_verify = Some(insecure);
        if insecure {
            cluster.certificate_authority = None;
            cluster.certificate_authority_data = None;
        }
    }
    if let Some(path) = &options.certificate_authority {
        cluster.certificate_authority = Some(text(path));
        cluster.certificate_authority_data = None;
    }
    if options.disable_compression {
        cluster.disable_compression = Some(true);
    }
    cluster
}

fn user_with_flags(
    user: kube::config::AuthInfo,
    options: &ConnectionOptions,
) -> Result<kube::config::AuthInfo, ClusterError> {
    let mut user = user;
    if let Some(token) = &options.token {
        user.token = Some(token.clone().into());
        user.token_file = None;
        user.username = None;
        user.password = None;
        user.auth_provider = None;
        user.exec = None;
    }
    if let Some(path) = &options.client_certificate {
        user.client_certificate = Some(text(path));
        user.client_certificate_data = None;
    }
    if let Some(path) = &options.client_key {
        user.client_key = Some(text(path));
        user.client_key_data = None;
    }
    user.impersonate = options.as_user.clone().or(user.impersonate);
    user.impersonate_uid = options.as_uid.clone().or(user.impersonate_uid);
    if !options.as_group.is_empty() {
        user.impersonate_groups = Some(options.as_group.clone());
    }
    for extra in &options.as_user_extra {
        let (key, value) = extra.split_once('=').ok_or_else(|| ClusterError::Flag {
            flag: "as-user-extra",
            value: extra.clone(),
            reason: "expected KEY=VALUE".to_owned(),
        })?;
        let all = user.impersonate_user_extra.get_or_insert_default();
        all.entry(key.to_owned())
            .or_default()
            .push(value.to_owned());
    }
    if user.impersonate.is_none()
        && (user.impersonate_uid.is_some()
            || user.impersonate_groups.is_some()
            || user.impersonate_user_extra.is_some())
    {
        return Err(ClusterError::Flag {
            flag: "as",
            value: String::new(),
            reason: "a group, UID or extra to impersonate needs a user to impersonate".to_owned(),
        });
    }
    Ok(user)
}

fn text(path: &Path) -> String {
    PathBuf::from(path).to_string_lossy().into_owned()
}
