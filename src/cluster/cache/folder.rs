//! The cache folder of a server, beside kubectl's own.
//!
//! Upstream: `computeDiscoverCacheDir` and `getDefaultCacheDir` in
//! `cli-runtime/pkg/genericclioptions/config_flags.go`.

use std::path::{Path, PathBuf};

/// The part of a cache that belongs to the server at `address`, as the kubeconfig writes it; `None` for
/// an address that would lead out of the cache.
pub(in crate::cluster) fn of_server(address: &str) -> Option<PathBuf> {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let bare = address
        .replacen("https://", "", 1)
        .replacen("http://", "", 1);
    // Upstream: `overlyCautiousIllegalFileCharacters`, `[^(\w/.)]`, in which parentheses are members of the class.
    let kept = |letter: char| letter.is_ascii_alphanumeric() || "_()/.".contains(letter);
    let safe: String = bare
        .chars()
        .map(|letter| if kept(letter) { letter } else { '_' })
        .collect();
    let parts: Vec<&str> = safe
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let leads_out = parts.is_empty() || parts.contains(&"..");
    (!leads_out).then(|| parts.iter().collect())
}

/// Where kubectl has what the version `api_version` of an API has.
pub(in crate::cluster) fn of_resources(server: &Path, api_version: &str) -> PathBuf {
    Path::new("discovery")
        .join(server)
        .join(api_version)
        .join("serverresources.json")
}

/// Where it is noted how far away the server is; kubectl has nothing like it.
pub(in crate::cluster) fn of_link(server: &Path) -> PathBuf {
    Path::new("devicetaint").join(server).join("link.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_server_is_kubectls() {
        for (address, folder) in [
            ("https://127.0.0.1:6443", Some("127.0.0.1_6443")),
            ("https://127.0.0.1:6443/", Some("127.0.0.1_6443")),
            ("http://api.example-1.com", Some("api.example_1.com")),
            ("api.example.com:443", Some("api.example.com_443")),
            ("https://[::1]:6443", Some("___1__6443")),
            ("https://h:1/clusters/one/", Some("h_1/clusters/one")),
            ("https://h:1/k8s?x=1", Some("h_1/k8s")),
            ("https://h:1/a/../../../etc", None),
            ("https://..", None),
            ("", None),
        ] {
            let found = of_server(address);
            assert_eq!(found.as_deref(), folder.map(Path::new), "{address}");
        }
    }

    #[test]
    fn resources_are_where_kubectl_looks_for_them() {
        let server = Path::new("h_1");
        assert_eq!(
            of_resources(server, "resource.k8s.io/v1"),
            Path::new("discovery/h_1/resource.k8s.io/v1/serverresources.json")
        );
        assert_eq!(
            of_resources(server, "v1"),
            Path::new("discovery/h_1/v1/serverresources.json")
        );
    }
}
