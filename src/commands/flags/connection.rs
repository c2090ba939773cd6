//! kubectl's connection flags.

use std::path::PathBuf;
use std::time::Duration;

use crate::completion::Values;
use crate::naming::duration::parse_request_timeout;

/// Flags of kubectl that select cluster and user.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArgs {
    /// Path of the kubeconfig file
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Kubeconfig context
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Kubeconfig cluster
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) cluster: Option<String>,

    /// Kubeconfig user
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// Namespace of claims or pods; only for `devices`, `explain`, `make-room` and `podresources list`
    #[arg(short, long, global = true, value_name = "NAME", add = Values::Namespaces)]
    pub(crate) namespace: Option<String>,

    /// All namespaces (the default; accepted for compatibility with kubectl)
    #[arg(short = 'A', long, global = true)]
    pub(crate) all_namespaces: bool,

    /// Address and port of the API server
    #[arg(short, long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// Server name to verify in the API server's certificate; default: the host in the server's address
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) tls_server_name: Option<String>,

    /// Do not check the API server's certificate
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) insecure_skip_tls_verify: Option<bool>,

    /// File with the certificate of the certificate authority
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) certificate_authority: Option<PathBuf>,

    /// File with the client's certificate
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) client_certificate: Option<PathBuf>,

    /// File with the client's key
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) client_key: Option<PathBuf>,

    /// Bearer token
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,

    /// Name for basic authentication
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) username: Option<String>,

    /// Password for basic authentication
    #[arg(long, global = true, value_name = "PASSWORD")]
    pub(crate) password: Option<String>,

    /// User to impersonate
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) as_user: Option<String>,

    /// Group to impersonate; repeatable
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) as_group: Vec<String>,

    /// UID to impersonate
    #[arg(long, global = true, value_name = "UID")]
    pub(crate) as_uid: Option<String>,

    /// Extra field of the user to impersonate; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) as_user_extra: Vec<String>,

    /// How long to wait for more data from the server, such as 30s or 1m; 0 means no limit [default: 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_request_timeout)]
    pub(crate) request_timeout: Option<Timeout>,

    /// Do not request compressed responses
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) disable_compression: Option<bool>,

    /// Proxy for the API server; default: proxy-url of the kubeconfig, else HTTPS_PROXY
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) proxy_url: Option<String>,

    /// File with kubectl's preferences; only credentialPluginPolicy and credentialPluginAllowlist
    /// are used [default: $KUBERC, else ~/.kube/kuberc]
    #[arg(long, global = true, value_name = "FILENAME")]
    pub(crate) kuberc: Option<PathBuf>,

    /// Show each request with its bytes and time; all values of LEVEL above 0 have this effect
    #[arg(short, long, alias = "v", global = true, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "1", default_value = "0", hide_default_value = true)]
    pub(crate) verbosity: u8,
}

impl ConnectionArgs {
    /// True if one namespace is given.
    pub(crate) fn names_namespace(&self) -> bool {
        self.namespace.is_some() && !self.all_namespaces
    }
}

/// Value of `--request-timeout`; `None` is no limit.
pub(crate) type Timeout = Option<Duration>;
