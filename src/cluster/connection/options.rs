//! Connection settings of the user and the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::purpose::Purpose;

/// Maximum silence of a server by default.
pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// kubectl's connection flags, as they were given.
#[derive(Clone, Debug, Default)]
pub struct ConnectionOptions {
    /// `--kubeconfig`: this file and no other.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`.
    pub context: Option<String>,
    /// `--cluster`: instead of the context's.
    pub cluster: Option<String>,
    /// `--user`: instead of the context's.
    pub user: Option<String>,
    /// `--namespace`: instead of the context's.
    pub namespace: Option<String>,
    /// `--server`: instead of the cluster's, together with its `tls-server-name`.
    pub server: Option<String>,
    /// `--tls-server-name`.
    pub tls_server_name: Option<String>,
    /// `--insecure-skip-tls-verify`; absent when the flag was not given.
    pub insecure_skip_tls_verify: Option<bool>,
    /// `--certificate-authority`.
    pub certificate_authority: Option<PathBuf>,
    /// `--client-certificate`.
    pub client_certificate: Option<PathBuf>,
    /// `--client-key`.
    pub client_key: Option<PathBuf>,
    /// `--token`: instead of all other credentials except certificates.
    pub token: Option<String>,
    /// `--username`.
    pub username: Option<String>,
    /// `--password`.
    pub password: Option<String>,
    /// `--as`.
    pub as_user: Option<String>,
    /// `--as-group`, repeatable.
    pub as_group: Vec<String>,
    /// `--as-uid`.
    pub as_uid: Option<String>,
    /// `--as-user-extra KEY=VALUE`, repeatable.
    pub as_user_extra: Vec<String>,
    /// For how long a server may be silent; absent for no limit.
    pub request_timeout: Option<Duration>,
    /// `--disable-compression`.
    pub disable_compression: bool,
    /// `--proxy-url`: instead of the cluster's.
    pub proxy_url: Option<String>,
    /// `--kuberc`: kubectl's preferences, which say what credential plugins may be run.
    pub kuberc: Option<PathBuf>,
    /// Purpose of the connection, which decides the role that is shown when a permission is missing.
    pub purpose: Option<Purpose>,
}

impl ConnectionOptions {
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
