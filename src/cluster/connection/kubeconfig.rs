//! Choice of cluster and user from kubeconfig files and flags.
//!
//! Files are merged as kubectl merges them: the first to name a thing wins, files of `KUBECONFIG`
//! that do not exist are skipped, and the one of `--kubeconfig` is read alone and must exist.
//!
//! Upstream: `ClientConfigLoadingRules` and `DirectClientConfig` in `client-go/tools/clientcmd`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError};

use super::options::{ConnectionOptions, Environment};
use super::policy::Policy;
use crate::cluster::bounded;
use crate::cluster::error::ClusterError;

/// All kubeconfig files as one.
#[derive(Debug)]
pub(in crate::cluster) struct Loaded {
    config: Kubeconfig,
    /// The files that exist.
    found: Vec<PathBuf>,
    /// The files that were looked for.
    searched: Vec<PathBuf>,
}

/// What the current context comes down to, before flags change the cluster or the user.
#[derive(Clone, Debug, Default)]
pub(in crate::cluster) struct Chosen {
    pub(in crate::cluster) context: Option<String>,
    pub(in crate::cluster) cluster_name: Option<String>,
    pub(in crate::cluster) cluster: Cluster,
    pub(in crate::cluster) user_name: Option<String>,
    pub(in crate::cluster) user: AuthInfo,
    pub(in crate::cluster) namespace: Option<String>,
    /// Which credential plugins may be run.
    pub(in crate::cluster) policy: Policy,
    /// The files that all this is from, for messages.
    pub(in crate::cluster) files: String,
}

/// Reads the file of `--kubeconfig`, else those of `KUBECONFIG`, else `~/.kube/config`.
pub(in crate::cluster) fn load(
    options: &ConnectionOptions,
    environment: &Environment,
) -> Result<Loaded, ClusterError> {
    if let Some(path) = &options.kubeconfig {
        let config = read(path)?;
        return Ok(Loaded {
            config,
            found: vec![path.clone()],
            searched: vec![path.clone()],
        });
    }
    let searched: Vec<PathBuf> = match &environment.kubeconfig {
        Some(list) => std::env::split_paths(list)
            .filter(|path| !path.as_os_str().is_empty())
            .collect(),
        None => environment
            .home
            .iter()
            .map(|home| home.join(".kube").join("config"))
            .collect(),
    };
    let mut config = Kubeconfig::default();
    let mut found = Vec::new();
    for path in &searched {
        match read(path) {
            Ok(next) => {
                // `merge` keeps what is there already, so the first file wins.
                config = config
                    .merge(next)
                    .map_err(|error| malformed(path, &error))?;
                found.push(path.clone());
            }
            // As kubectl, which skips the files of KUBECONFIG that do not exist.
            Err(ClusterError::KubeconfigUnreadable { source, .. })
                if source.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Loaded {
        config,
        found,
        searched,
    })
}

/// The file's content.
fn read(path: &Path) -> Result<Kubeconfig, ClusterError> {
    let bytes = bounded::read(path).map_err(|source| ClusterError::KubeconfigUnreadable {
        path: path.to_owned(),
        source,
    })?;
    let not_text = || ClusterError::KubeconfigMalformed {
        path: path.to_owned(),
        reason: "it is neither UTF-8 nor UTF-16 text".to_owned(),
    };
    let text = text(bytes).ok_or_else(not_text)?;
    let mut config = Kubeconfig::from_yaml(&text).map_err(|error| malformed(path, &error))?;
    // kubectl writes an empty current-context when there is none; it must not hide that of the next file.
    config.current_context = config.current_context.filter(|name| !name.is_empty());
    if let Some(folder) = path.parent() {
        make_absolute(&mut config, folder);
    }
    Ok(config)
}

/// What `bytes` say, in UTF-8 or, as Windows' editors and shells write it, in UTF-16.
///
/// Not left to kube, which panics at half a character at the end.
fn text(bytes: Vec<u8>) -> Option<String> {
    let wide = |rest: &[u8], read: fn([u8; 2]) -> u16| {
        let (pairs, []) = rest.as_chunks::<2>() else {
            return None;
        };
        let units: Vec<u16> = pairs.iter().map(|pair| read(*pair)).collect();
        String::from_utf16(&units).ok()
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes).ok(),
    }
}

/// Names of files in a kubeconfig are relative to its folder; so are those of plugins, unless they
/// are looked for in PATH.
///
/// Upstream: `ResolveLocalPaths` and `GetAuthInfoFileReferences` in `client-go/tools/clientcmd`.
fn make_absolute(config: &mut Kubeconfig, folder: &Path) {
    let clusters = config.clusters.iter_mut();
    let users = config.auth_infos.iter_mut();
    let of_clusters = clusters
        .filter_map(|named| named.cluster.as_mut())
        .map(|cluster| &mut cluster.certificate_authority);
    let of_users = users
        .filter_map(|named| named.auth_info.as_mut())
        .flat_map(|user| {
            let command = user.exec.as_mut().map(|exec| &mut exec.command);
            let command = command.filter(|command| {
                let command = command.as_deref().unwrap_or_default();
                command.contains(std::path::MAIN_SEPARATOR)
            });
            [
                Some(&mut user.client_certificate),
                Some(&mut user.client_key),
                Some(&mut user.token_file),
                command,
            ]
        })
        .flatten();
    for name in of_clusters.chain(of_users).flatten() {
        if !name.is_empty() && Path::new(name.as_str()).is_relative() {
            *name = folder.join(name.as_str()).to_string_lossy().into_owned();
        }
    }
}

/// Says where the file is wrong, without repeating a word of it: it may hold secrets.
fn malformed(path: &Path, error: &KubeconfigError) -> ClusterError {
    let position = if let KubeconfigError::Parse(error) = error {
        error.location()
    } else {
        None
    };
    let reason = match position {
        Some(at) => format!(
            "it is not YAML or not a kubeconfig, at line {} column {}",
            at.line(),
            at.column()
        ),
        None => "it is not a kubeconfig".to_owned(),
    };
    ClusterError::KubeconfigMalformed {
        path: path.to_owned(),
        reason,
    }
}

impl Loaded {
    /// Where was looked, and what was missing there.
    pub(in crate::cluster) fn searched(&self) -> String {
        if self.found.is_empty() {
            let searched = list(&self.searched);
            return if searched.is_empty() {
                "no kubeconfig found".to_owned()
            } else {
                match self.searched.as_slice() {
                    [_] => format!("{searched} does not exist"),
                    _ => format!("none of these files exists: {searched}"),
                }
            };
        }
        let contexts: Vec<&str> = self
            .config
            .contexts
            .iter()
            .map(|c| c.name.as_str())
            .collect();
        let is_one = self.found.len() == 1;
        let names = if contexts.is_empty() {
            let verb = if is_one { "has" } else { "have" };
            format!("{verb} no contexts")
        } else {
            let verb = if is_one { "sets" } else { "set" };
            format!(
                "{verb} no current-context; choose a context with --context: {}",
                contexts.join(", ")
            )
        };
        format!("{} {names}", list(&self.found))
    }

    /// Follows context, cluster and user, or gives `None` when nothing is chosen at all.
    pub(in crate::cluster) fn choose(
        &self,
        options: &ConnectionOptions,
    ) -> Result<Option<Chosen>, ClusterError> {
        let context_name = options
            .context
            .as_ref()
            .or(self.config.current_context.as_ref());
        let context = match context_name {
            Some(name) => self.context(name)?,
            // Nothing is chosen, which leaves the service account of a pod as the last resort.
            None if options.cluster.is_none() && options.server.is_none() => return Ok(None),
            None => Context::default(),
        };
        let cluster_name = options
            .cluster
            .clone()
            .or_else(|| Some(context.cluster).filter(|name| !name.is_empty()));
        let cluster = match cluster_name.as_deref() {
            Some(name) => self.cluster(name, options)?,
            None => Cluster::default(),
        };
        let user_name = options
            .user
            .clone()
            .or_else(|| context.user.filter(|name| !name.is_empty()));
        Ok(Some(Chosen {
            context: context_name.cloned(),
            user: self.user(user_name.as_deref(), options)?,
            cluster_name,
            cluster,
            user_name,
            namespace: context.namespace.filter(|name| !name.is_empty()),
            policy: Policy::default(),
            files: list(&self.found),
        }))
    }

    fn context(&self, name: &str) -> Result<Context, ClusterError> {
        let known = &self.config.contexts;
        let found = known.iter().find(|known| known.name == name);
        found
            .and_then(|named| named.context.clone())
            .ok_or_else(|| self.missing("context", name, known.iter().map(|c| c.name.as_str())))
    }

    fn cluster(&self, name: &str, options: &ConnectionOptions) -> Result<Cluster, ClusterError> {
        let known = &self.config.clusters;
        let found = known.iter().find(|known| known.name == name);
        match found.and_then(|named| named.cluster.clone()) {
            Some(cluster) => Ok(cluster),
            // As kubectl: a server on the command line stands in for a cluster that is not there.
            None if options.cluster.is_none() && options.server.is_some() => Ok(Cluster::default()),
            None => Err(self.missing("cluster", name, known.iter().map(|c| c.name.as_str()))),
        }
    }

    /// As kubectl: a user that only a context names may be missing, which makes the request
    /// anonymous; the user of `--user` must exist.
    fn user(
        &self,
        name: Option<&str>,
        options: &ConnectionOptions,
    ) -> Result<AuthInfo, ClusterError> {
        let Some(name) = name else {
            return Ok(AuthInfo::default());
        };
        let known = &self.config.auth_infos;
        match known.iter().find(|known| known.name == name) {
            Some(named) => Ok(named.auth_info.clone().unwrap_or_default()),
            None if options.user.is_none() => Ok(AuthInfo::default()),
            None => Err(self.missing("user", name, known.iter().map(|u| u.name.as_str()))),
        }
    }

    fn missing<'a>(
        &self,
        what: &'static str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> ClusterError {
        let known: Vec<String> = known.map(str::to_owned).collect();
        let files = list(&self.found);
        ClusterError::NotInKubeconfig {
            what,
            name: name.to_owned(),
            known,
            files: if files.is_empty() {
                "any kubeconfig".to_owned()
            } else {
                files
            },
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(", ")
}
