//! No secret is ever shown, however much is told.

use std::{fs, process::Stdio};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{plugins::exec, stage::Stage};
use crate::harness::PLUGIN;

/// Part of every secret; the second half alone gives one away.
const MARK: &str = "hunter2";

/// Users each with a secret in another place.
fn users(stage: &Stage) -> Vec<(&'static str, Value)> {
    let folder = stage.folder();
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    };
    let (certificate, _) = stage.authority.certified("alice", &[]);
    let marked_key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(format!("{MARK}-key"))
    );
    let plugin = |script: &str| {
        let mut user = exec("sh");
        let script = script.replace("MARK", MARK);
        user["exec"]["args"] = json!(["-c", script, format!("{MARK}-argument")]);
        user["exec"]["env"] = json!([{"name": "SECRET", "value": format!("{MARK}-env")}]);
        user
    };
    let oidc = json!({"auth-provider": {"name": "oidc", "config": {
        "id-token": format!("{MARK}-id"), "refresh-token": format!("{MARK}-refresh"),
        "client-secret": format!("{MARK}-client"), "client-id": "c",
        "idp-issuer-url": "https://127.0.0.1:1",
    }}});
    let good = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"MARK-plugin"}}'"#;
    let odd = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"clientCertificateData":"MARK-certificate","clientKeyData":"MARK-key"}}'"#;
    vec![
        ("token", json!({"token": format!("{MARK}-token")})),
        ("odd token", json!({"token": format!("{MARK}\u{1}token")})),
        (
            "token file",
            json!({"tokenFile": file("token", &format!("{MARK}-file"))}),
        ),
        (
            "password",
            json!({"username": "alice", "password": format!("{MARK}-password")}),
        ),
        (
            "key",
            json!({
                "client-certificate-data": STANDARD.encode(&certificate),
                "client-key-data": STANDARD.encode(&marked_key),
            }),
        ),
        (
            "key that is not base64",
            json!({
                "client-certificate-data": STANDARD.encode(&certificate),
                "client-key-data": format!("{MARK}!key"),
            }),
        ),
        (
            "key file",
            json!({
                "client-certificate": file("cert.pem", &certificate), "client-key": file("key.pem", &marked_key),
            }),
        ),
        ("plugin", plugin(good)),
        ("plugin that fails", plugin("echo MARK-output; exit 1")),
        ("plugin that answers nonsense", plugin("echo MARK-output")),
        ("plugin with an odd certificate", plugin(odd)),
        ("identity provider", oidc),
        (
            "removed provider",
            json!({"auth-provider": {"name": "gcp", "config": {
                "access-token": format!("{MARK}-access"),
            }}}),
        ),
        (
            "two ways in",
            json!({
                "token": format!("{MARK}-token"), "username": "alice", "password": format!("{MARK}-password"),
            }),
        ),
    ]
}

#[test]
fn secrets_are_never_shown_at_any_verbosity() {
    let stage = Stage::new();
    let tunnel = stage.tunnel.address;
    let mut shown = Vec::new();
    for (name, user) in users(&stage) {
        // The server answers, is behind a proxy with a password, is not there, or is not understood.
        let clusters = [
            json!({"server": stage.url(), "certificate-authority": stage.authority_file}),
            json!({
                "server": stage.name(), "certificate-authority": stage.authority_file,
                "proxy-url": format!("http://{MARK}-proxy:{MARK}-password@{tunnel}"),
            }),
            json!({"server": format!("https://{MARK}-login:{MARK}-password@127.0.0.1:1")}),
            json!({"server": stage.url(), "proxy-url": format!("ftp://{MARK}@{tunnel}")}),
        ];
        for (number, cluster) in clusters.into_iter().enumerate() {
            let file = stage.folder().join("config");
            let config = json!({
                "apiVersion": "v1", "kind": "Config", "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
            });
            fs::write(&file, config.to_string()).expect("a file");
            // All levels where the server answers; the highest tells most.
            let levels: &[&str] = if number == 0 {
                &["0", "1", "6", "8", "9", "10"]
            } else {
                &["9"]
            };
            for level in levels {
                let mut command = stage.plane.command(PLUGIN);
                command
                    .args(["devices", "-o", "json", "-v", level, "--request-timeout=5s"])
                    .env("KUBECONFIG", &file)
                    .stdin(Stdio::null());
                let output = command.output().expect("it can be run");
                let text = format!(
                    "{}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
                if gives_away(&text) {
                    shown.push(format!("{name}, cluster {number}, -v {level}: {text}"));
                }
            }
        }
    }
    assert!(shown.is_empty(), "{}", shown.join("\n\n"));
    // What is looked for would be found.
    assert!(gives_away("a hunter2 b") && gives_away(&STANDARD.encode("xhunter2-token")));
}

/// Secrets in flags and in the environment are not shown, either.
#[test]
fn secrets_on_the_command_line_are_never_shown() {
    let stage = Stage::new();
    let (url, trusted) = (
        stage.url(),
        format!("--certificate-authority={}", stage.authority_file),
    );
    let flags: [&[String]; 5] = [
        &[format!("--token={MARK}-token")],
        &[
            "--username=alice".to_owned(),
            format!("--password={MARK}-password"),
        ],
        &[format!(
            "--proxy-url=http://a:{MARK}@{}",
            stage.tunnel.address
        )],
        &[format!("--proxy-url=http://a:{MARK}@[")],
        &[format!("--token={MARK}\u{7f}")],
    ];
    for flags in flags {
        let output = stage
            .plane
            .command(PLUGIN)
            .args(["devices", "-v=9", "--server", &url, &trusted])
            .args(flags)
            .env("KUBECONFIG", "/no/such/file")
            .env(
                "HTTPS_PROXY",
                format!("http://a:{MARK}-environment@127.0.0.1:1"),
            )
            .output()
            .expect("it can be run");
        let text = format!("{output:?}");
        assert!(!gives_away(&text), "{flags:?}: {text}");
    }
}

/// Whether a text holds a secret, as it is or in base64 at any offset.
fn gives_away(text: &str) -> bool {
    let middle = |padding: &str| {
        let whole = STANDARD.encode(format!("{padding}{MARK}"));
        whole[4..whole.len() - 4].to_owned()
    };
    text.contains(&MARK[3..])
        || ["", "a", "aa"]
            .iter()
            .any(|padding| text.contains(&middle(padding)))
}
