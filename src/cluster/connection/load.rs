//! A connection: the cluster and the user that were chosen, with flags applied, as kube's `Config`.
//!
//! Errors are reported here, in one line that names the file and the object, before any request is made.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ArgAction;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{AuthInfo, Cluster};
use rustls::pki_types::ServerName;

use super::kubeconfig::{self, Chosen, Renewal};
use super::plugin;
use crate::cluster::error::{ClusterError, Server};
use crate::cluster::observer::{Event, Observer};
use crate::cluster::permission::Purpose;
use crate::completion::Values;
use crate::naming::duration::parse_request_timeout;

/// Everything that is needed to send a request.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) config: Config,
    /// For credentials that expire.
    pub(crate) renewal: Option<Renewal>,
    /// Server.
    pub server: Arc<Server>,
    /// The kubeconfig context, if one was used.
    pub context: Option<String>,
    /// The namespace for objects that are named without one.
    pub namespace: String,
    /// For how long the server may be silent; absent for no limit.
    pub request_timeout: Option<Duration>,
    /// Purpose of the connection.
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
        let mut chosen = kubeconfig::choose(options, environment)?;
        chosen.namespace = options.namespace.clone().or(chosen.namespace);
        set_cluster(&mut chosen.cluster, options);
        set_user(&mut chosen.user, options)?;
        chosen.check()?;
        let mut config = chosen.config(environment)?;
        let url = config.cluster_url.to_string();
        let url = url.trim_end_matches('/').to_owned();
        if config.cluster_url.scheme_str() == Some("http") {
            chosen.drop_credentials(&url, observer);
        }
        if chosen.user.exec.is_some() {
            chosen.policy = plugin::policy(options, environment)?;
        }
        config.auth_info = chosen.credentials(environment, observer).await?;
        Ok(Self {
            server: Arc::new(Server {
                cluster: chosen.cluster_name.clone(),
                url,
            }),
            config,
            renewal: Renewal::of(&chosen, environment),
            context: chosen.context,
            namespace: chosen.namespace.unwrap_or_else(|| "default".to_owned()),
            request_timeout: options.request_timeout,
            purpose: options.purpose,
        })
    }
}

/// Puts what flags say in the place of what the kubeconfig says.
///
/// Upstream: `getCluster` in `client-go/tools/clientcmd/client_config.go`.
fn set_cluster(cluster: &mut Cluster, options: &ConnectionOptions) {
    if options.server.is_some() {
        cluster.server.clone_from(&options.server);
        // The name in the file belongs to the server in the file.
        cluster.tls_server_name = None;
    }
    replace(&mut cluster.tls_server_name, &options.tls_server_name);
    // One of the two flags stands for all that the file says about certificates.
    let insecure = options.insecure_skip_tls_verify;
    if insecure == Some(true) || options.certificate_authority.is_some() {
        cluster.certificate_authority = options.certificate_authority.as_deref().map(text);
        cluster.certificate_authority_data = None;
        cluster.insecure_skip_tls_verify = insecure;
    }
    replace(&mut cluster.insecure_skip_tls_verify, &insecure);
    replace(&mut cluster.proxy_url, &options.proxy_url);
    if options.disable_compression {
        cluster.disable_compression = Some(true);
    }
}

/// Upstream: `getAuthInfo` in `client-go/tools/clientcmd/client_config.go`.
fn set_user(user: &mut AuthInfo, options: &ConnectionOptions) -> Result<(), ClusterError> {
    if let Some(token) = &options.token {
        user.token = Some(token.clone().into());
        // Otherwise the token from the file would replace that of the flag.
        user.token_file = None;
    }
    replace(&mut user.username, &options.username);
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
    replace(&mut user.impersonate, &options.as_user);
    replace(&mut user.impersonate_uid, &options.as_uid);
    if !options.as_group.is_empty() {
        user.impersonate_groups = Some(options.as_group.clone());
    }
    for extra in &options.as_user_extra {
        let (key, value) = extra.split_once('=').ok_or_else(|| {
            ClusterError::configuration(format!(
                "invalid value {extra:?} for --as-user-extra: expected KEY=VALUE"
            ))
        })?;
        let all = user.impersonate_user_extra.get_or_insert_default();
        let values = all.entry(key.to_owned()).or_default();
        values.push(value.to_owned());
    }
    if user.impersonate.is_none()
        && (user.impersonate_uid.is_some()
            || user.impersonate_groups.is_some()
            || user.impersonate_user_extra.is_some())
    {
        return Err(ClusterError::configuration(
            "--as is missing: impersonating a group, a UID or an extra field also needs a user",
        ));
    }
    // As kubectl: a token or a name stands in for an identity provider or a plugin, and a name needs no password.
    user.username = user.username.take().filter(|name| !name.is_empty());
    if user.username.is_some() {
        user.password.get_or_insert_default();
    }
    Ok(())
}

impl Chosen {
    /// Refuses what says two things at once, as kubectl does.
    ///
    /// Upstream: `validateAuthInfo` in `client-go/tools/clientcmd`, `TLSConfigFor` in `client-go/transport`.
    fn check(&mut self) -> Result<(), ClusterError> {
        let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let cluster = &self.cluster;
        if cluster.insecure_skip_tls_verify == Some(true)
            && (given(&cluster.certificate_authority) || given(&cluster.certificate_authority_data))
        {
            return Err(self.bad_cluster(
                "certificate-authority and insecure-skip-tls-verify exclude each other",
            ));
        }
        let user = &self.user;
        let has_token = user.token.is_some() || given(&user.token_file);
        if has_token && user.username.is_some() {
            return Err(self.bad_user("a token and a username exclude each other"));
        }
        match &user.auth_provider {
            Some(_) if user.exec.is_some() => {
                return Err(self.bad_user("exec and auth-provider exclude each other"));
            }
            // kube would run a command of others, and show its output.
            Some(provider) if provider.name != "oidc" => {
                return Err(
                    self.bad_user("auth-provider is not \"oidc\": use a credential plugin (exec)")
                );
            }
            Some(_) | None => {}
        }
        if has_token || user.username.is_some() {
            self.user.auth_provider = None;
            self.user.exec = None;
        }
        Ok(())
    }

    /// Drops all credentials, which a listener could use; impersonation is no secret.
    ///
    /// Upstream: `ClientConfig` in `client-go/tools/clientcmd/client_config.go`.
    fn drop_credentials(&mut self, url: &str, observer: &dyn Observer) {
        let user = std::mem::take(&mut self.user);
        let has_some = user.token.is_some()
            || user.token_file.is_some()
            || user.username.is_some()
            || user.auth_provider.is_some()
            || user.exec.is_some()
            || user.client_certificate.is_some()
            || user.client_certificate_data.is_some();
        if has_some {
            observer.event(&Event::Notice(&format!(
                "the credentials are not sent to {url}: the connection is not encrypted"
            )));
        }
        self.user = AuthInfo {
            impersonate: user.impersonate,
            impersonate_groups: user.impersonate_groups,
            impersonate_uid: user.impersonate_uid,
            impersonate_user_extra: user.impersonate_user_extra,
            ..AuthInfo::default()
        };
    }

    fn config(&self, environment: &Environment) -> Result<Config, ClusterError> {
        let cluster = &self.cluster;
        let mut config = Config::new(self.url()?);
        config.root_cert = if config.cluster_url.scheme_str() == Some("http") {
            // Loading what this machine trusts takes longer than a request.
            Some(Vec::new())
        } else {
            self.root_certificates()?
        };
        config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
        let name = cluster.tls_server_name.clone();
        config.tls_server_name = name.filter(|name| !name.is_empty());
        if let Some(name) = &config.tls_server_name
            && ServerName::try_from(name.as_str()).is_err()
        {
            return Err(self.bad_cluster(format!("tls-server-name {name:?} is not a host name")));
        }
        config.proxy_url = self.proxy(&config.cluster_url, environment)?;
        config.disable_compression = cluster.disable_compression.unwrap_or(false);
        // Retries and time limits are `client`'s business: bounded, announced, and never for writes.
        config.default_retry = false;
        config.connect_timeout = None;
        config.write_timeout = None;
        Ok(config)
    }

    /// The server's URL; without a scheme it is `https` when anything about TLS is configured.
    ///
    /// Upstream: `DefaultServerUrlFor` in `client-go/rest/url_utils.go`.
    fn url(&self) -> Result<Uri, ClusterError> {
        let (cluster, user) = (&self.cluster, &self.user);
        let text = cluster.server.as_deref().unwrap_or_default().trim();
        if text.contains('@') {
            return Err(
                self.bad_cluster("server has an @: a name and a password belong to the user")
            );
        }
        let uses_tls = cluster.certificate_authority.is_some()
            || cluster.certificate_authority_data.is_some()
            || cluster.insecure_skip_tls_verify == Some(true)
            || user.client_certificate.is_some()
            || user.client_certificate_data.is_some();
        let url: Option<Uri> = match (text.contains("://"), uses_tls) {
            (true, _) => text.parse(),
            (false, true) => format!("https://{text}").parse(),
            (false, false) => format!("http://{text}").parse(),
        }
        .ok();
        let is_usable = |url: &Uri| {
            let has_port = url.authority().is_some_and(|place| {
                // `Uri` takes any text for a port.
                place.port_u16().is_some() || place.as_str() == place.host()
            });
            matches!(url.scheme_str(), Some("http" | "https")) && has_port
        };
        url.filter(is_usable)
            .ok_or_else(|| self.bad_cluster(format!("server {text:?} is not an http or https URL")))
    }

    fn proxy(&self, server: &Uri, environment: &Environment) -> Result<Option<Uri>, ClusterError> {
        let own = self.cluster.proxy_url.as_deref();
        let own = own.filter(|url| !url.is_empty());
        let Some(url) = own.or_else(|| from_environment(server, environment)) else {
            return Ok(None);
        };
        // client-go requires a scheme in `proxy-url`; for the environment's variables Go assumes http.
        let full = if url.contains("://") || own.is_some() {
            url.to_owned()
        } else {
            format!("http://{url}")
        };
        let schemes = ["http", "https", "socks5", "socks5h"];
        let parsed = full.parse().ok().filter(|uri: &Uri| {
            uri.host().is_some() && uri.scheme_str().is_some_and(|it| schemes.contains(&it))
        });
        // A proxy's URL may hold a password, so it is never repeated.
        let bad = || self.bad_cluster("the proxy's URL is not one of http, https or socks5");
        parsed.map(Some).ok_or_else(bad)
    }
}

fn replace<T: Clone>(value: &mut Option<T>, flag: &Option<T>) {
    if flag.is_some() {
        value.clone_from(flag);
    }
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}

/// The proxy for `server` that the environment asks for, as it is written there.
pub(super) fn from_environment<'a>(server: &Uri, environment: &'a Environment) -> Option<&'a str> {
    let host = server.host()?.trim_matches(['[', ']']);
    let proxy = if server.scheme_str() == Some("http") {
        environment.http_proxy.as_deref()?
    } else {
        environment.https_proxy.as_deref()?
    };
    let entries = environment.no_proxy.as_deref().unwrap_or_default();
    let entries = entries.split(',').map(|entry| {
        let entry = entry.trim();
        entry
            .strip_prefix('*')
            .filter(|rest| !rest.is_empty())
            .unwrap_or(entry)
    });
    // In Go, unlike in the matcher, `.domain` covers only what is below.
    let entries = entries.filter(|entry| entry.strip_prefix('.') != Some(host));
    let entries: Vec<&str> = entries.collect();
    let matcher = Matcher::builder()
        .all("http://any")
        .no(entries.join(","))
        .build();
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    (!is_loopback && matcher.intercept(server).is_some()).then_some(proxy)
}

/// Value of `--request-timeout`; `None` is no limit.
pub type Timeout = Option<Duration>;

/// kubectl's connection flags, as they were given.
#[allow(
    rustdoc::broken_intra_doc_links,
    reason = "these texts are the help that users read, with its brackets"
)]
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionOptions {
    /// Path of the kubeconfig file
    #[arg(long, global = true, value_name = "FILENAME")]
    pub kubeconfig: Option<PathBuf>,

    /// Kubeconfig context
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,

    /// Kubeconfig cluster
    #[arg(long, global = true, value_name = "NAME")]
    pub cluster: Option<String>,

    /// Kubeconfig user
    #[arg(long, global = true, value_name = "NAME")]
    pub user: Option<String>,

    /// Namespace of claims or pods; only for `devices`, `explain`, `make-room` and `podresources list`
    #[arg(short, long, global = true, value_name = "NAME", add = Values::Namespaces)]
    pub namespace: Option<String>,

    /// All namespaces (the default; accepted for compatibility with kubectl)
    #[arg(short = 'A', long, global = true)]
    pub all_namespaces: bool,

    /// Address and port of the API server
    #[arg(short, long, global = true, value_name = "URL")]
    pub server: Option<String>,

    /// Server name to verify in the API server's certificate; default: the host in the server's address
    #[arg(long, global = true, value_name = "NAME")]
    pub tls_server_name: Option<String>,

    /// Do not check the API server's certificate
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub insecure_skip_tls_verify: Option<bool>,

    /// File with the certificate of the certificate authority
    #[arg(long, global = true, value_name = "FILENAME")]
    pub certificate_authority: Option<PathBuf>,

    /// File with the client's certificate
    #[arg(long, global = true, value_name = "FILENAME")]
    pub client_certificate: Option<PathBuf>,

    /// File with the client's key
    #[arg(long, global = true, value_name = "FILENAME")]
    pub client_key: Option<PathBuf>,

    /// Bearer token
    #[arg(long, global = true, value_name = "TOKEN")]
    pub token: Option<String>,

    /// Name for basic authentication
    #[arg(long, global = true, value_name = "NAME")]
    pub username: Option<String>,

    /// Password for basic authentication
    #[arg(long, global = true, value_name = "PASSWORD")]
    pub password: Option<String>,

    /// User to impersonate
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub as_user: Option<String>,

    /// Group to impersonate; repeatable
    #[arg(long, global = true, value_name = "NAME")]
    pub as_group: Vec<String>,

    /// UID to impersonate
    #[arg(long, global = true, value_name = "UID")]
    pub as_uid: Option<String>,

    /// Extra field of the user to impersonate; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub as_user_extra: Vec<String>,

    /// How long to wait for more data from the server, such as 30s or 1m; 0 means no limit [default: 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_request_timeout, default_value = "30s", hide_default_value = true)]
    pub request_timeout: Timeout,

    /// Do not request compressed responses
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = ArgAction::Set)]
    pub disable_compression: bool,

    /// Proxy for the API server; default: proxy-url of the kubeconfig, else HTTPS_PROXY
    #[arg(long, global = true, value_name = "URL")]
    pub proxy_url: Option<String>,

    /// File with kubectl's preferences; only credentialPluginPolicy and credentialPluginAllowlist
    /// are used [default: $KUBERC, else ~/.kube/kuberc]
    #[arg(long, global = true, value_name = "FILENAME")]
    pub kuberc: Option<PathBuf>,

    /// Show each request with its bytes and time; all values of LEVEL above 0 have this effect
    #[arg(short, long, alias = "v", global = true, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "1", default_value = "0", hide_default_value = true)]
    pub verbosity: u8,

    /// Purpose of the connection, which decides the role that is shown when a permission is missing
    #[arg(skip)]
    pub purpose: Option<Purpose>,
}

impl ConnectionOptions {
    /// The namespace that narrows the command.
    pub fn narrowing_namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| !self.all_namespaces)
    }

    /// As kubectl: what is set to nothing is not set.
    pub(super) fn given(&self) -> Self {
        let text = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let path = |value: &Option<PathBuf>| {
            let value = value.clone();
            value.filter(|value| !value.as_os_str().is_empty())
        };
        Self {
            kubeconfig: path(&self.kubeconfig),
            context: text(&self.context),
            cluster: text(&self.cluster),
            user: text(&self.user),
            namespace: text(&self.namespace),
            server: text(&self.server),
            tls_server_name: text(&self.tls_server_name),
            certificate_authority: path(&self.certificate_authority),
            client_certificate: path(&self.client_certificate),
            client_key: path(&self.client_key),
            token: text(&self.token),
            username: text(&self.username),
            password: text(&self.password),
            proxy_url: text(&self.proxy_url),
            kuberc: path(&self.kuberc),
            as_user: text(&self.as_user),
            as_uid: text(&self.as_uid),
            ..self.clone()
        }
    }
}

/// The environment, as far as connections depend on it.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `KUBECONFIG`.
    pub kubeconfig: Option<OsString>,
    /// `HOME`, or `USERPROFILE`.
    pub home: Option<PathBuf>,
    /// `HTTPS_PROXY`, or `https_proxy`.
    pub https_proxy: Option<String>,
    /// `HTTP_PROXY`, or `http_proxy`.
    pub http_proxy: Option<String>,
    /// `NO_PROXY`, or `no_proxy`.
    pub no_proxy: Option<String>,
    /// `PATH`, for credential plugins that are named without a folder.
    pub path: Option<OsString>,
    /// `KUBERC`: where kubectl's preferences are, or `off`.
    pub kuberc: Option<OsString>,
    /// `KUBECTL_KUBERC=false`: there are none.
    pub is_without_preferences: bool,
    /// `KUBERNETES_SERVICE_HOST`, set in pods.
    pub service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`, set in pods.
    pub service_port: Option<String>,
    /// True if the user can answer the prompts of a credential plugin.
    pub stdin_is_terminal: bool,
    /// True if the user must not be disturbed, as while a shell completes a word: credential plugins print
    /// nothing then.
    pub is_silent: bool,
}

impl Environment {
    /// Takes from `lookup` what is needed; variables that are set to nothing count as not set.
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let first = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| lookup(name).filter(|value| !value.is_empty()))
        };
        let text = |names: &[&str]| first(names).and_then(|value| value.into_string().ok());
        Self {
            is_silent: false,
            kubeconfig: first(&["KUBECONFIG"]),
            home: first(&["HOME", "USERPROFILE"]).map(PathBuf::from),
            https_proxy: text(&["HTTPS_PROXY", "https_proxy"]),
            http_proxy: text(&["HTTP_PROXY", "http_proxy"]),
            no_proxy: text(&["NO_PROXY", "no_proxy"]),
            path: first(&["PATH"]),
            kuberc: first(&["KUBERC"]),
            is_without_preferences: text(&["KUBECTL_KUBERC"])
                .is_some_and(|value| value.eq_ignore_ascii_case("false")),
            service_host: text(&["KUBERNETES_SERVICE_HOST"]),
            service_port: text(&["KUBERNETES_SERVICE_PORT"]),
            stdin_is_terminal: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_is_that_of_the_environment_unless_it_spares_the_server() {
        for (no_proxy, server, proxy) in [
            ("", "https://api.example.com:6443", Some("http://secure:1")),
            ("", "http://api.example.com", Some("http://plain:1")),
            ("", "https://127.0.0.1:6443", None),
            ("", "https://[::1]:6443", None),
            ("", "https://localhost:6443", None),
            ("*", "https://anything", None),
            ("x, 10.0.0.0/8,", "https://10.1.2.3:6443", None),
            ("10.0.0.0/8", "https://11.1.2.3", Some("http://secure:1")),
            ("fd00::/8", "https://[fd12::1]:6443", None),
            ("10.1.2.3", "https://10.1.2.3", None),
            ("example.com", "https://example.com", None),
            ("example.com", "https://api.EXAMPLE.com", None),
            (
                "example.com",
                "https://badexample.com",
                Some("http://secure:1"),
            ),
            (
                ".example.com",
                "https://example.com",
                Some("http://secure:1"),
            ),
            (".example.com", "https://api.example.com", None),
            ("*.example.com", "https://api.example.com", None),
            (
                "example.com:80",
                "https://example.com",
                Some("http://secure:1"),
            ),
        ] {
            let environment = Environment {
                https_proxy: Some("http://secure:1".to_owned()),
                http_proxy: Some("http://plain:1".to_owned()),
                no_proxy: Some(no_proxy.to_owned()),
                ..Environment::default()
            };
            let uri = server.parse().expect("a URL");
            let found = from_environment(&uri, &environment);
            assert_eq!(found, proxy, "{no_proxy} {server}");
        }
    }
}
