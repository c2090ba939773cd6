//! kubectl's connection flags, and what is shown while the cluster is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::context::Context;
use crate::cluster::{
    ApiClient, ClusterError, Connection, ConnectionOptions, DEFAULT_REQUEST_TIMEOUT, Event,
    Observer, Permission, Served, cluster_role_for, discover, parse_request_timeout,
};
use crate::error::Failure;
use crate::output::Printer;

/// Flags of kubectl that say which cluster is meant and who asks.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Connection")]
pub(super) struct ConnectionArgs {
    /// Path of the kubeconfig file
    #[arg(long, global = true, value_name = "FILENAME")]
    kubeconfig: Option<PathBuf>,

    /// Kubeconfig context
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,

    /// Kubeconfig cluster
    #[arg(long, global = true, value_name = "NAME")]
    cluster: Option<String>,

    /// Kubeconfig user
    #[arg(long, global = true, value_name = "NAME")]
    user: Option<String>,

    /// Namespace of the objects that a command names
    #[arg(short, long, global = true, value_name = "NAME")]
    namespace: Option<String>,

    /// All namespaces, which is what is looked at anyway; accepted as kubectl's
    #[arg(short = 'A', long, global = true, hide = true)]
    all_namespaces: bool,

    /// Address and port of the API server
    #[arg(short, long, global = true, value_name = "URL")]
    server: Option<String>,

    /// Name in the API server's certificate; default: the host in its address
    #[arg(long, global = true, value_name = "NAME")]
    tls_server_name: Option<String>,

    /// Do not check the API server's certificate
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    insecure_skip_tls_verify: Option<bool>,

    /// File with the certificate of the certificate authority
    #[arg(long, global = true, value_name = "FILENAME")]
    certificate_authority: Option<PathBuf>,

    /// File with the client's certificate
    #[arg(long, global = true, value_name = "FILENAME")]
    client_certificate: Option<PathBuf>,

    /// File with the client's key
    #[arg(long, global = true, value_name = "FILENAME")]
    client_key: Option<PathBuf>,

    /// Bearer token
    #[arg(long, global = true, value_name = "TOKEN")]
    token: Option<String>,

    /// User to impersonate
    #[arg(long = "as", global = true, value_name = "NAME")]
    as_user: Option<String>,

    /// Group to impersonate; repeatable
    #[arg(long, global = true, value_name = "NAME")]
    as_group: Vec<String>,

    /// UID to impersonate
    #[arg(long, global = true, value_name = "UID")]
    as_uid: Option<String>,

    /// Further property of the user to impersonate; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    as_user_extra: Vec<String>,

    /// How long the server may be silent, such as 30s or 1m; 0 means no limit [default: 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_request_timeout)]
    request_timeout: Option<Timeout>,

    /// Do not ask for compressed answers
    #[arg(long, global = true, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    disable_compression: Option<bool>,

    /// Folder for caches; accepted as kubectl's, nothing is cached
    #[arg(long, global = true, value_name = "FOLDER", hide = true)]
    cache_dir: Option<PathBuf>,

    /// Show each request with its bytes and time
    #[arg(short, long, alias = "v", global = true, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "1", default_value = "0", hide_default_value = true)]
    verbosity: u8,
}

/// What `--request-timeout` means; `None` is no limit.
type Timeout = Option<Duration>;

impl ConnectionArgs {
    fn options(&self) -> ConnectionOptions {
        let args = self.clone();
        ConnectionOptions {
            kubeconfig: args.kubeconfig,
            context: args.context,
            cluster: args.cluster,
            user: args.user,
            namespace: args.namespace,
            server: args.server,
            tls_server_name: args.tls_server_name,
            insecure_skip_tls_verify: args.insecure_skip_tls_verify,
            certificate_authority: args.certificate_authority,
            client_certificate: args.client_certificate,
            client_key: args.client_key,
            token: args.token,
            as_user: args.as_user,
            as_group: args.as_group,
            as_uid: args.as_uid,
            as_user_extra: args.as_user_extra,
            request_timeout: args
                .request_timeout
                .unwrap_or(Some(DEFAULT_REQUEST_TIMEOUT)),
            disable_compression: args.disable_compression == Some(true),
        }
    }
}

/// A cluster that answers, and what it has.
pub(super) struct Live {
    pub(super) client: ApiClient,
    pub(super) served: Served,
}

/// Connects as the flags and the environment say, and asks the server what it has.
pub(super) async fn connect(context: &Context) -> Result<Live, Failure> {
    let observer = Arc::new(Spectator {
        printer: Arc::clone(&context.printer),
        verbose: context.connection.verbosity > 0,
        bytes: Mutex::default(),
    });
    let options = context.connection.options();
    let connection = Connection::load(&options, &context.environment, observer.as_ref())
        .await
        .map_err(failed)?;
    if context.printer.progress().is_seen() {
        tokio::spawn(Arc::clone(&observer).watch());
    }
    let client = ApiClient::new(connection, observer).map_err(failed)?;
    let served = discover(&client).await.map_err(failed)?;
    Ok(Live { client, served })
}

/// A cluster that does not do what is asked, with the way out.
pub(super) fn failed(error: ClusterError) -> Failure {
    let denied: Vec<Permission> = error.denied().into_iter().cloned().collect();
    failed_for_want_of(&denied, error)
}

/// The same, with the role that would have allowed all of what was denied.
fn failed_for_want_of(denied: &[Permission], error: ClusterError) -> Failure {
    let forbidden = error.denied().is_some();
    let hints = error.hints();
    let failure = hints.into_iter().fold(Failure::from(error), Failure::hint);
    if !forbidden {
        return failure;
    }
    let role = cluster_role_for(denied);
    failure.attach(format!("This role would allow it:\n{role}"))
}

impl Live {
    /// As [`failed`], for a read that is made of several: whoever is denied one of them learns of the
    /// others too.
    pub(super) fn failed(&self, error: ClusterError) -> Failure {
        let mut denied = self.client.denied();
        denied.extend(error.denied().cloned());
        denied.sort_unstable();
        denied.dedup();
        failed_for_want_of(&denied, error)
    }

    /// Says what the server warned of, and which role would have allowed more.
    pub(super) fn tell(&self, printer: &Printer<'_>) {
        for warning in self.client.warnings() {
            printer.server_warning(&warning);
        }
        let denied = self.client.denied();
        if !denied.is_empty() {
            printer.block(&format!(
                "This role would allow what was denied:\n{}",
                cluster_role_for(&denied)
            ));
        }
    }
}

/// Shows on standard error what the user has to wait for, and with `-v` every request.
struct Spectator {
    printer: Arc<Printer<'static>>,
    verbose: bool,
    /// What has arrived so far, by the request that is under way.
    bytes: Mutex<Bytes>,
}

#[derive(Debug, Default)]
struct Bytes {
    finished: u64,
    under_way: BTreeMap<String, u64>,
}

/// How often the line that shows the progress is looked after.
const LOOK: Duration = Duration::from_millis(100);

impl Spectator {
    /// Shows the progress, also while nothing arrives; never ends.
    async fn watch(self: Arc<Self>) {
        loop {
            if let Some(text) = self.progress() {
                self.printer.progress().update(&text);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What is being read, or `None` while nothing is.
    fn progress(&self) -> Option<String> {
        let bytes = self.bytes();
        let total = bytes.finished + bytes.under_way.values().sum::<u64>();
        let mut names: Vec<&str> = bytes.under_way.keys().map(|path| resource(path)).collect();
        names.sort_unstable();
        names.dedup();
        let megabytes = total / 1_000_000;
        let tenths = total / 100_000 % 10;
        (!names.is_empty()).then(|| {
            format!(
                "reading {} ({megabytes}.{tenths} MB so far)",
                names.join(", ")
            )
        })
    }

    fn count(&self, event: &Event<'_>) {
        match event {
            Event::Started { path, .. } => {
                self.bytes().under_way.insert((*path).to_owned(), 0);
            }
            Event::Progress { path, bytes } => {
                if let Some(so_far) = self.bytes().under_way.get_mut(*path) {
                    *so_far = *bytes;
                }
            }
            Event::Finished { path, .. } | Event::Failed { path, .. } => {
                let mut bytes = self.bytes();
                bytes.finished += bytes.under_way.remove(*path).unwrap_or_default();
            }
            Event::Notice(_) => {}
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The resource in a path, such as `pods` in `/api/v1/namespaces/ml/pods/train-0`.
fn resource(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts = path.trim_start_matches('/').split('/');
    let group = if parts.next() == Some("apis") { 2 } else { 1 };
    let mut parts = parts.skip(group);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("namespaces"), Some(_), Some(name)) | (Some(name), _, _) => name,
        (None, _, _) => "the API",
    }
}

impl fmt::Debug for Spectator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Spectator")
            .field("verbose", &self.verbose)
            .finish_non_exhaustive()
    }
}

impl Observer for Spectator {
    fn event(&self, event: &Event<'_>) {
        self.count(event);
        match event {
            Event::Notice(text) => self.printer.note(text),
            Event::Finished {
                method,
                path,
                status,
                bytes,
                elapsed,
            } if self.verbose => {
                let milliseconds = elapsed.as_millis();
                self.printer.note(&format!(
                    "{method} {path} {status} {bytes} bytes in {milliseconds} ms"
                ));
            }
            Event::Failed {
                method,
                path,
                reason,
                elapsed,
            } if self.verbose => {
                let milliseconds = elapsed.as_millis();
                self.printer.note(&format!(
                    "{method} {path} failed after {milliseconds} ms: {reason}"
                ));
            }
            Event::Started { .. }
            | Event::Progress { .. }
            | Event::Finished { .. }
            | Event::Failed { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_of_a_path_is_found() {
        for (path, name) in [
            ("/api/v1/pods?limit=1000", "pods"),
            ("/api/v1/namespaces/ml/pods/train-0", "pods"),
            ("/apis/resource.k8s.io/v1/resourceclaims", "resourceclaims"),
            ("/apis/resource.k8s.io/v1", "the API"),
            ("/version", "the API"),
        ] {
            assert_eq!(resource(path), name, "{path}");
        }
    }
}
