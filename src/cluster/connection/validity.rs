//! Contradictory or incomplete entries of a kubeconfig, as kubectl refuses them.
//!
//! What kubectl refuses is refused here: whichever of two ways in were taken, it could be the one that
//! was not meant.
//!
//! Upstream: `validateClusterInfo` and `validateAuthInfo` in `client-go/tools/clientcmd`, `TLSConfigFor`
//! and `HTTPWrappersForConfig` in `client-go/transport`.

use kube::config::{AuthInfo, Cluster, ExecConfig, ExecInteractiveMode};
use secrecy::{ExposeSecret, SecretString};

/// A field, and what is wrong with it.
pub(in crate::cluster) type Flaw = (&'static str, String);

/// What is wrong with a cluster, if anything.
pub(in crate::cluster) fn of_cluster(cluster: &Cluster) -> Option<Flaw> {
    let file = is_set(cluster.certificate_authority.as_ref());
    let data = is_set(cluster.certificate_authority_data.as_ref());
    if file && data {
        return Some(both("certificate-authority", "certificate-authority-data"));
    }
    if (file || data) && cluster.insecure_skip_tls_verify == Some(true) {
        return Some(both("certificate-authority", "insecure-skip-tls-verify"));
    }
    None
}

/// What is wrong with a user, if anything.
pub(in crate::cluster) fn of_user(user: &AuthInfo) -> Option<Flaw> {
    let certificate = is_set(user.client_certificate.as_ref());
    let certificate_data = is_set(user.client_certificate_data.as_ref());
    if certificate && certificate_data {
        return Some(both("client-certificate", "client-certificate-data"));
    }
    if (certificate || certificate_data)
        && is_set(user.client_key.as_ref())
        && is_secret(user.client_key_data.as_ref())
    {
        return Some(both("client-key", "client-key-data"));
    }
    let password = is_secret(user.password.as_ref());
    let has_login = is_set(user.username.as_ref());
    if is_secret(user.token.as_ref()) && (has_login || password) {
        return Some(both("token", "username or password"));
    }
    if is_set(user.token_file.as_ref()) && has_login {
        return Some(both("tokenFile", "username"));
    }
    match (&user.exec, &user.auth_provider) {
        (Some(_), Some(_)) => Some(both("exec", "auth-provider")),
        (None, Some(provider)) if provider.name != "oidc" => Some((
            "auth-provider",
            format!(
                "is {:?}, and only \"oidc\" is supported: use a credential plugin (exec)",
                provider.name
            ),
        )),
        (Some(exec), None) => of_plugin(exec),
        (None, Some(_) | None) => None,
    }
}

fn of_plugin(exec: &ExecConfig) -> Option<Flaw> {
    let missing = |what: &str| Some(("exec", format!("has no {what}")));
    if !is_set(exec.command.as_ref()) {
        return missing("command");
    }
    let version = exec.api_version.as_deref().unwrap_or_default();
    if version.is_empty() {
        return missing("apiVersion");
    }
    let variables = exec.env.iter().flatten();
    let is_named = |name: Option<&String>| is_set(name);
    if !variables.into_iter().all(|it| is_named(it.get("name"))) {
        return missing("name in one of its env entries");
    }
    match (&exec.interactive_mode, version) {
        // Only the version before has a default.
        (None, "client.authentication.k8s.io/v1") => missing("interactiveMode"),
        (
            None
            | Some(
                ExecInteractiveMode::Never
                | ExecInteractiveMode::IfAvailable
                | ExecInteractiveMode::Always,
            ),
            _,
        ) => None,
    }
}

fn is_set(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

fn is_secret(text: Option<&SecretString>) -> bool {
    text.is_some_and(|text| !text.expose_secret().is_empty())
}

fn both(one: &'static str, other: &str) -> Flaw {
    (one, format!("cannot be set together with {other}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field<T: serde::de::DeserializeOwned>(
        text: &str,
        check: fn(&T) -> Option<Flaw>,
    ) -> Option<&'static str> {
        let value: T = serde_yaml::from_str(text).expect("what a kubeconfig may hold");
        check(&value).map(|(field, _)| field)
    }

    #[test]
    fn cluster_is_checked_in_one_way() {
        for (text, expected) in [
            ("{server: s}", None),
            ("{certificate-authority: a}", None),
            (
                "{certificate-authority: '', certificate-authority-data: b}",
                None,
            ),
            ("{insecure-skip-tls-verify: true}", None),
            (
                "{certificate-authority: a, insecure-skip-tls-verify: false}",
                None,
            ),
            (
                "{certificate-authority: a, certificate-authority-data: b}",
                Some("certificate-authority"),
            ),
            (
                "{certificate-authority-data: b, insecure-skip-tls-verify: true}",
                Some("certificate-authority"),
            ),
        ] {
            assert_eq!(field(text, of_cluster), expected, "{text}");
        }
    }

    #[test]
    fn user_has_one_way_in() {
        let exec = "apiVersion: client.authentication.k8s.io/v1, command: c";
        for (text, expected) in [
            ("{}".to_owned(), None),
            ("{token: t, tokenFile: f}".to_owned(), None),
            ("{token: t, client-certificate: c}".to_owned(), None),
            (
                "{client-certificate: c, client-certificate-data: d}".to_owned(),
                Some("client-certificate"),
            ),
            (
                "{client-certificate: c, client-key: k, client-key-data: d}".to_owned(),
                Some("client-key"),
            ),
            // Without a certificate nobody looks at keys.
            ("{client-key: k, client-key-data: d}".to_owned(), None),
            ("{token: t, username: u}".to_owned(), Some("token")),
            ("{token: t, password: p}".to_owned(), Some("token")),
            ("{tokenFile: f, username: u}".to_owned(), Some("tokenFile")),
            ("{username: u, password: p}".to_owned(), None),
            ("{auth-provider: {name: oidc}}".to_owned(), None),
            (
                "{auth-provider: {name: gcp}}".to_owned(),
                Some("auth-provider"),
            ),
            (
                format!("{{exec: {{{exec}, interactiveMode: Never}}}}"),
                None,
            ),
            (format!("{{exec: {{{exec}}}}}"), Some("exec")),
            (
                format!("{{exec: {{{}}}}}", exec.replace("/v1", "/v1beta1")),
                None,
            ),
            (
                "{exec: {command: c, interactiveMode: Never}}".to_owned(),
                Some("exec"),
            ),
            (
                "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}"
                    .to_owned(),
                Some("exec"),
            ),
            (
                format!(
                    "{{exec: {{{exec}, interactiveMode: Never, env: [{{name: '', value: v}}]}}}}"
                ),
                Some("exec"),
            ),
            (
                format!(
                    "{{exec: {{{exec}, interactiveMode: Never}}, auth-provider: {{name: oidc}}}}"
                ),
                Some("exec"),
            ),
        ] {
            assert_eq!(field(&text, of_user), expected, "{text}");
        }
    }
}
