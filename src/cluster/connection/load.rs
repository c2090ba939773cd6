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
use kube::config::{AuthInfo, Cluster};

use super::address::{parted, shown};
use super::kubeconfig::{self, Chosen};
use super::material::Material;
use super::options::{ConnectionOptions, Environment};
use super::renewal::Renewal;
use super::{in_cluster, preferences, proxy, validity};
use crate::cluster::error::ClusterError;
use crate::cluster::error::Server;
use crate::cluster::observer::{Event, Observer};
use crate::cluster::purpose::Purpose;

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
    /// What is done with the cluster.
    pub purpose: Option<Purpose>,
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
        let options = &options.given();
        let loaded = kubeconfig::load(options, environment)?;
        let chosen = match loaded.choose(options)? {
            Some(chosen) => chosen,
            None => {
                in_cluster::choose(environment).ok_or_else(|| ClusterError::NoConfiguration {
                    searched: loaded.searched(),
                    purpose: options.purpose,
                })?
            }
        };
        let mut chosen = chosen.with_flags(options)?.with_login_of_the_address();
        chosen.policy = preferences::policy(options, environment, observer)?;
        // Before one credential is picked: a contradiction is an error, not a question of precedence.
        chosen.check()?;
        let chosen = chosen.with_one_way_in();
        // Before credentials are dropped: whether a URL without a scheme means https depends on the client certificate.
        let config = chosen.config(environment)?;
        let chosen = if config.cluster_url.scheme_str() == Some("http") {
            chosen.without_credentials(&config.cluster_url, observer)
        } else {
            chosen
        };
        let user = Material::new(&chosen).user(environment, observer).await?;
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
            purpose: options.purpose,
        })
    }
}

fn with_user(mut config: Config, user: AuthInfo) -> Config {
    config.auth_info = user;
    config
}

impl Chosen {
    /// Puts what flags say in the place of what the kubeconfig says.
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

    /// Takes the name and the password in the address as the user's, who has no others: the
    /// address itself is shown.
    fn with_login_of_the_address(self) -> Self {
        let Some((server, Some(login))) = self.cluster.server.as_deref().map(parted) else {
            return self;
        };
        let mut chosen = self;
        chosen.cluster.server = Some(server);
        let user = &mut chosen.user;
        let has_others = user.token.is_some()
            || user.token_file.is_some()
            || user.username.is_some()
            || user.auth_provider.is_some()
            || user.exec.is_some();
        if !has_others {
            user.username = Some(login.name);
            user.password = Some(login.password.into());
        }
        chosen
    }

    /// Refuses what says two things at once.
    fn check(&self) -> Result<(), ClusterError> {
        if let Some((field, problem)) = validity::of_cluster(&self.cluster) {
            return Err(self.bad_cluster(field, problem));
        }
        match validity::of_user(&self.user) {
            Some((field, problem)) => Err(self.bad_user(field, problem)),
            None => Ok(()),
        }
    }

    /// As kubectl: a token or a name stands in for an identity provider or a plugin, and a name needs
    /// no password.
    fn with_one_way_in(self) -> Self {
        let mut chosen = self;
        let user = &mut chosen.user;
        user.username = user.username.take().filter(|name| !name.is_empty());
        if user.username.is_some() {
            user.password.get_or_insert_default();
        }
        if user.token.is_some() || user.token_file.is_some() || user.username.is_some() {
            user.auth_provider = None;
            user.exec = None;
        }
        chosen
    }

    /// Drops whatever a listener could use: whom to impersonate is no secret. A plugin is
    /// not asked for credentials that would not be sent.
    ///
    /// Upstream: `ClientConfig` in `client-go/tools/clientcmd/client_config.go`, which reads the
    /// user's credentials only for a server with TLS.
    fn without_credentials(self, url: &Uri, observer: &dyn Observer) -> Self {
        let user = &self.user;
        let left_out = user.token.is_some()
            || user.token_file.is_some()
            || user.username.is_some()
            || user.auth_provider.is_some()
            || user.exec.is_some()
            || user.client_certificate.is_some()
            || user.client_certificate_data.is_some();
        if left_out {
            let whose = match &self.user_name {
                Some(name) => format!("the credentials of user {name:?}"),
                None => "the credentials".to_owned(),
            };
            observer.event(&Event::Notice(&format!(
                "{whose} are not sent to {}: the connection is not encrypted",
                url.to_string().trim_end_matches('/')
            )));
        }
        Self {
            user: AuthInfo {
                impersonate: self.user.impersonate,
                impersonate_groups: self.user.impersonate_groups,
                impersonate_uid: self.user.impersonate_uid,
                impersonate_user_extra: self.user.impersonate_user_extra,
                ..AuthInfo::default()
            },
            ..self
        }
    }

    fn config(&self, environment: &Environment) -> Result<Config, ClusterError> {
        let url = self.url()?;
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
        config.disable_compression = self.cluster.disable_compression.unwrap_or(false);
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
            Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) && has_place(&uri) => {
                Ok(uri)
            }
            Ok(_) => {
                let text = shown(text);
                Err(self.bad_cluster("server", format!("{text:?} is not an http or https URL")))
            }
            Err(error) => {
                let text = shown(text);
                Err(self.bad_cluster("server", format!("{text:?} is not a URL: {error}")))
            }
        }
    }

    // Upstream: `DefaultServerUrlFor` in `client-go/rest/url_utils.go`.
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
        // client-go requires a scheme in `proxy-url`; for the environment's variables Go assumes http.
        let full = if url.contains("://") || own.is_some() {
            url.to_owned()
        } else {
            format!("http://{url}")
        };
        // A proxy's URL may hold a password, so it is never repeated.
        let parsed: Result<Uri, _> = full.parse();
        match parsed {
            Ok(uri) if uri.host().is_some() && proxy::is_spoken(uri.scheme_str()) => Ok(Some(uri)),
            _ => Err(self.bad_cluster(
                "proxy-url",
                "is not an http, https or socks5 URL".to_owned(),
            )),
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

    pub(in crate::cluster) fn bad_user(
        &self,
        field: &'static str,
        problem: String,
    ) -> ClusterError {
        ClusterError::KubeconfigValue {
            object: self.user_object(),
            field,
            problem,
            files: self.files.clone(),
        }
    }

    pub(in crate::cluster) fn user_object(&self) -> String {
        match &self.user_name {
            Some(name) => format!("user {name:?}"),
            None => "the user".to_owned(),
        }
    }

    pub(in crate::cluster) fn cluster_object(&self) -> String {
        match &self.cluster_name {
            Some(name) => format!("cluster {name:?}"),
            None => "the cluster".to_owned(),
        }
    }
}

/// Whether a URL says where the server is: a host, and a number if there is a port.
fn has_place(url: &Uri) -> bool {
    let Some(authority) = url.authority() else {
        return false;
    };
    let host = authority.host();
    let port = authority
        .as_str()
        .rsplit_once(host)
        .and_then(|(_, port)| port.strip_prefix(':'));
    !host.is_empty() && port.is_none_or(|port| port.parse::<u16>().is_ok())
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
    // One of the two flags stands for all that the file says about certificates.
    let insecure = options.insecure_skip_tls_verify;
    if insecure == Some(true) || options.certificate_authority.is_some() {
        cluster.insecure_skip_tls_verify = insecure;
        cluster.certificate_authority = options.certificate_authority.as_deref().map(text);
        cluster.certificate_authority_data = None;
    } else if insecure.is_some() {
        cluster.insecure_skip_tls_verify = insecure;
    }
    if let Some(proxy) = &options.proxy_url {
        cluster.proxy_url = Some(proxy.clone());
    }
    if options.disable_compression {
        cluster.disable_compression = Some(true);
    }
    cluster
}

fn user_with_flags(user: AuthInfo, options: &ConnectionOptions) -> Result<AuthInfo, ClusterError> {
    let mut user = user;
    if let Some(token) = &options.token {
        user.token = Some(token.clone().into());
        // Otherwise the token from the file would replace that of the flag, see `Material::user`.
        user.token_file = None;
    }
    if let Some(name) = &options.username {
        user.username = Some(name.clone());
    }
    if let Some(password) = &options.password {
        user.password = Some(password.clone().into());
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
        return Err(ClusterError::FlagMissing {
            flag: "as",
            reason: "impersonating a group, a UID or an extra field also needs a user".to_owned(),
        });
    }
    Ok(user)
}

fn text(path: &Path) -> String {
    PathBuf::from(path).to_string_lossy().into_owned()
}
