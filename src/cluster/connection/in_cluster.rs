//! The cluster whose pod this runs in.
//!
//! Upstream: `InClusterConfig` in `client-go/rest`.

use std::net::Ipv6Addr;
use std::path::Path;

use kube::config::{AuthInfo, Cluster};

use super::kubeconfig::Chosen;
use super::options::Environment;

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The pod's own service account and API server, or `None` outside a pod.
pub(in crate::cluster) fn choose(environment: &Environment) -> Option<Chosen> {
    choose_from(environment, Path::new(SERVICE_ACCOUNT))
}

fn choose_from(environment: &Environment, directory: &Path) -> Option<Chosen> {
    let host = environment.service_host.as_deref()?;
    let port = environment.service_port.as_deref()?;
    let file = |name: &str| {
        let path = directory.join(name);
        path.is_file().then(|| path.to_string_lossy().into_owned())
    };
    let token_file = file("token")?;
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
            token_file: Some(token_file),
            ..AuthInfo::default()
        },
        namespace: namespace.map(|name| name.trim().to_owned()),
        files: directory.display().to_string(),
        ..Chosen::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Environment {
        Environment {
            service_host: Some("fd00::1".to_owned()),
            service_port: Some("443".to_owned()),
            ..Environment::default()
        }
    }

    #[test]
    fn pod_uses_its_service_account() {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in [("token", "t"), ("ca.crt", "c"), ("namespace", "ml\n")] {
            std::fs::write(directory.path().join(name), content).expect("a file");
        }
        let chosen = choose_from(&pod(), directory.path()).expect("this is a pod");
        assert_eq!(
            chosen.cluster.server.as_deref(),
            Some("https://[fd00::1]:443")
        );
        assert_eq!(chosen.namespace.as_deref(), Some("ml"));
        assert!(chosen.cluster.certificate_authority.is_some());
    }

    #[test]
    fn variables_without_a_token_do_not_make_a_pod() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(choose_from(&pod(), directory.path()).is_none());
    }
}
