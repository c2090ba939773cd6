//! Choice of cluster and user from kubeconfig files, or from the pod that this runs in.
//!
//! Upstream: `ClientConfigLoadingRules` and `DirectClientConfig` in `client-go/tools/clientcmd`,
//! `InClusterConfig` in `client-go/rest`.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError};
use secrecy::ExposeSecret;

use super::load::{ConnectionOptions, Environment};
use super::plugin::{Plugin, Policy};
use crate::cluster::error::{ClusterError, or_from_a_dump};
use crate::cluster::observer::Observer;
use crate::naming::phrase::hint_for;

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// One cluster and one user.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    pub(super) context: Option<String>,
    pub(super) cluster_name: Option<String>,
    pub(super) cluster: Cluster,
    pub(super) user_name: Option<String>,
    pub(super) user: AuthInfo,
    pub(super) namespace: Option<String>,
    /// Credential plugins that may be run.
    pub(super) policy: Policy,
    /// The files that all this is from, for messages.
    pub(super) files: String,
}

impl Chosen {
    /// An error about a field of the cluster.
    pub(super) fn bad_cluster(&self, problem: impl AsRef<str>) -> ClusterError {
        self.bad("cluster", self.cluster_name.as_deref(), problem.as_ref())
    }

    /// An error about a field of the user.
    pub(super) fn bad_user(&self, problem: impl AsRef<str>) -> ClusterError {
        self.bad("user", self.user_name.as_deref(), problem.as_ref())
    }

    fn bad(&self, what: &str, name: Option<&str>, problem: &str) -> ClusterError {
        let object = name.map_or_else(|| format!("the {what}"), |name| format!("{what} {name:?}"));
        let files = match self.files.as_str() {
            "" => String::new(),
            files => format!(" in {files}"),
        };
        ClusterError::configuration(format!("{object}{files}: {problem}"))
    }
}

/// Chooses from the file of `--kubeconfig`, else those of `KUBECONFIG`, else `~/.kube/config`, else the service account
/// of a pod.
pub(super) fn choose(
    options: &ConnectionOptions,
    environment: &Environment,
) -> Result<Chosen, ClusterError> {
    let (config, found) = load(options, environment)?;
    let name = options
        .context
        .clone()
        .or_else(|| config.current_context.clone());
    let context = match &name {
        Some(name) => {
            let known = config.contexts.iter().map(|it| (&it.name, &it.context));
            entry("context", name, known, &found)?
        }
        None if options.cluster.is_none() && options.server.is_none() => {
            return in_pod(environment, Path::new(SERVICE_ACCOUNT))
                .ok_or_else(|| nothing_chosen(options, environment, &config, &found));
        }
        None => Context::default(),
    };
    let given = |name: Option<String>| name.filter(|name| !name.is_empty());
    let cluster_name = given(options.cluster.clone().or(Some(context.cluster)));
    let user_name = given(options.user.clone().or(context.user));
    let clusters = config.clusters.iter().map(|it| (&it.name, &it.cluster));
    let users = config.auth_infos.iter().map(|it| (&it.name, &it.auth_info));
    // As kubectl: --server stands in for a cluster, and anonymity for a user, that only a context names.
    let cluster = match cluster_name.as_deref() {
        Some(name) => match entry("cluster", name, clusters, &found) {
            Err(_) if options.cluster.is_none() && options.server.is_some() => Cluster::default(),
            cluster => cluster?,
        },
        None => Cluster::default(),
    };
    let user = match user_name.as_deref() {
        Some(name) => match entry("user", name, users, &found) {
            Err(_) if options.user.is_none() => AuthInfo::default(),
            user => user?,
        },
        None => AuthInfo::default(),
    };
    Ok(Chosen {
        context: name,
        cluster_name,
        cluster,
        user_name,
        user,
        namespace: given(context.namespace),
        policy: Policy::default(),
        files: found,
    })
}

/// The files to look for.
fn paths(options: &ConnectionOptions, environment: &Environment) -> Vec<PathBuf> {
    let usual = |home: &PathBuf| vec![home.join(".kube").join("config")];
    let mut paths = match (&options.kubeconfig, &environment.kubeconfig) {
        (Some(path), _) => vec![path.clone()],
        (None, Some(list)) => std::env::split_paths(list).collect(),
        (None, None) => environment.home.as_ref().map(usual).unwrap_or_default(),
    };
    paths.retain(|path| !path.as_os_str().is_empty());
    paths
}

/// All files as one, and the names of those that exist.
fn load(
    options: &ConnectionOptions,
    environment: &Environment,
) -> Result<(Kubeconfig, String), ClusterError> {
    let mut config = Kubeconfig::default();
    let mut found = Vec::new();
    for path in &paths(options, environment) {
        let shown = path.display();
        let bytes = match read_bounded(path) {
            // As kubectl, which needs the file of --kubeconfig alone.
            Err(error) if error.kind() == ErrorKind::NotFound && options.kubeconfig.is_none() => {
                continue;
            }
            read => read.map_err(|error| {
                ClusterError::configuration(format!("cannot read the kubeconfig {shown}: {error}"))
            })?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut next = Kubeconfig::from_yaml(text.trim_start_matches('\u{feff}'))
            .map_err(|error| malformed(path, &error))?;
        // kubectl writes an empty current-context when there is none; it must not hide that of the next file.
        next.current_context = next.current_context.filter(|name| !name.is_empty());
        make_absolute(&mut next, path.parent().unwrap_or(Path::new("")));
        // `merge` keeps what is there already, so the first file wins.
        config = config
            .merge(next)
            .map_err(|error| malformed(path, &error))?;
        found.push(shown.to_string());
    }
    Ok((config, found.join(", ")))
}

/// Says where the file is wrong, without repeating a word of it: it may hold secrets.
fn malformed(path: &Path, error: &KubeconfigError) -> ClusterError {
    let position = if let KubeconfigError::Parse(error) = error {
        error.location()
    } else {
        None
    };
    let place = position.map_or_else(String::new, |at| format!(" at line {}", at.line()));
    ClusterError::configuration(format!(
        "{} is not a valid kubeconfig{place}",
        path.display()
    ))
}

/// Names of files in a kubeconfig are relative to its folder; so are those of plugins, unless they
/// are looked for in PATH.
///
/// Upstream: `ResolveLocalPaths` and `GetAuthInfoFileReferences` in `client-go/tools/clientcmd`.
fn make_absolute(config: &mut Kubeconfig, folder: &Path) {
    let absolute = |name: &mut Option<String>| {
        if let Some(name) = name
            && !name.is_empty()
            && Path::new(name.as_str()).is_relative()
        {
            *name = folder.join(name.as_str()).to_string_lossy().into_owned();
        }
    };
    let clusters = config.clusters.iter_mut();
    for cluster in clusters.filter_map(|named| named.cluster.as_mut()) {
        absolute(&mut cluster.certificate_authority);
    }
    let users = config.auth_infos.iter_mut();
    for user in users.filter_map(|named| named.auth_info.as_mut()) {
        absolute(&mut user.client_certificate);
        absolute(&mut user.client_key);
        absolute(&mut user.token_file);
        if let Some(exec) = &mut user.exec
            && let Some(command) = &exec.command
            && command.contains(std::path::MAIN_SEPARATOR)
        {
            absolute(&mut exec.command);
        }
    }
}

fn entry<'a, T: Clone + 'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = (&'a String, &'a Option<T>)>,
    files: &str,
) -> Result<T, ClusterError> {
    let mut names = Vec::new();
    for (known, value) in known {
        if known == name
            && let Some(value) = value
        {
            return Ok(value.clone());
        }
        names.push(known.clone());
    }
    let files = if files.is_empty() {
        "any kubeconfig"
    } else {
        files
    };
    Err(ClusterError::Configuration {
        message: format!("{what} {name:?} does not exist in {files}"),
        hint: Some(hint_for(what, name, &names)),
    })
}

fn nothing_chosen(
    options: &ConnectionOptions,
    environment: &Environment,
    config: &Kubeconfig,
    found: &str,
) -> ClusterError {
    let contexts: Vec<&str> = config.contexts.iter().map(|it| it.name.as_str()).collect();
    let searched = paths(options, environment);
    let searched: Vec<_> = searched.iter().map(|path| path.to_string_lossy()).collect();
    let why = match (searched.join(", "), found) {
        (searched, "") if searched.is_empty() => "no kubeconfig found".to_owned(),
        (searched, "") => format!("{searched} does not exist"),
        (_, found) => format!("{found} has no current-context"),
    };
    let hint = if contexts.is_empty() {
        let advice = "set a kubeconfig with --kubeconfig or KUBECONFIG";
        or_from_a_dump(advice, options.purpose)
    } else {
        format!("choose one with --context: {}", contexts.join(", "))
    };
    ClusterError::Configuration {
        message: format!("no cluster is configured: {why}"),
        hint: Some(hint),
    }
}

/// The pod's own service account and API server, or `None` outside a pod.
fn in_pod(environment: &Environment, directory: &Path) -> Option<Chosen> {
    let host = environment.service_host.as_deref()?;
    let port = environment.service_port.as_deref()?;
    let file = |name: &str| {
        let path = directory.join(name);
        path.is_file().then(|| path.to_string_lossy().into_owned())
    };
    let token_file = Some(file("token")?);
    // As Go's `net.JoinHostPort`: an IPv6 address needs brackets in a URL.
    let host = match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.to_owned(),
    };
    let namespace = file("namespace").and_then(|path| std::fs::read_to_string(path).ok());
    Some(Chosen {
        cluster: Cluster {
            server: Some(format!("https://{host}:{port}")),
            certificate_authority: file("ca.crt"),
            ..Cluster::default()
        },
        user: AuthInfo {
            token_file,
            ..AuthInfo::default()
        },
        namespace: namespace.map(|name| name.trim().to_owned()),
        files: directory.display().to_string(),
        ..Chosen::default()
    })
}

/// Renewal of expired credentials: from a file that is replaced, or from a plugin.
#[derive(Clone, Debug)]
pub(crate) struct Renewal {
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
    pub(crate) async fn credentials(
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
    read_bounded(Path::new(path)).map_err(|error| format!("cannot read {path}: {error}"))
}

/// More than this is no kubeconfig, no certificate and no token.
const LIMIT: u64 = 16 << 20;

/// The content of the file at `path`.
///
/// # Errors
///
/// When it cannot be read, or is longer than 16 MiB ([`io::ErrorKind::FileTooLarge`]).
pub(super) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut start = File::open(path)?.take(LIMIT.saturating_add(1));
    start.read_to_end(&mut content)?;
    if u64::try_from(content.len()).is_ok_and(|length| length <= LIMIT) {
        Ok(content)
    } else {
        Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is longer than 16 MiB",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_uses_its_service_account() {
        let pod = Environment {
            service_host: Some("fd00::1".to_owned()),
            service_port: Some("443".to_owned()),
            ..Environment::default()
        };
        let directory = tempfile::tempdir().expect("a directory");
        assert!(in_pod(&pod, directory.path()).is_none(), "without a token");
        for (name, content) in [("token", "t"), ("ca.crt", "c"), ("namespace", "ml\n")] {
            std::fs::write(directory.path().join(name), content).expect("a file");
        }
        let chosen = in_pod(&pod, directory.path()).expect("this is a pod");
        let server = chosen.cluster.server.as_deref();
        assert_eq!(server, Some("https://[fd00::1]:443"));
        assert_eq!(chosen.namespace.as_deref(), Some("ml"));
        assert!(chosen.cluster.certificate_authority.is_some());
    }
}
