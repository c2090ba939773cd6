//! Secrets in kubeconfigs, flags, variables and output of credential plugins are never shown.

use std::path::PathBuf;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::setup::{Setup, Stage};
use crate::harness::PLUGIN;

/// Part of every secret; its second half alone is too much.
const MARK: &str = "hunter2";

/// Users, each with a secret in another place.
fn users(stage: &Stage) -> Vec<Value> {
    let file = Setup::new(stage, "files").file("token", &format!("{MARK}-file"));
    let (certificate, _) = stage.authority.certified("alice", &[]);
    let key = STANDARD.encode(format!("{MARK}-key"));
    let key = format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n");
    let credential = |status: &str| {
        format!(
            r#"echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{{status}}}}}'"#
        )
    };
    let plugin = |script: &str| {
        json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "interactiveMode": "Never",
            "args": ["-c", script, format!("{MARK}-argument")],
            "env": [{"name": "SECRET", "value": format!("{MARK}-env")}],
        }})
    };
    vec![
        json!({"token": format!("{MARK}-token")}),
        json!({"token": format!("{MARK}\u{1}token")}),
        json!({"tokenFile": file}),
        json!({"username": "alice", "password": format!("{MARK}-password")}),
        json!({"token": format!("{MARK}-token"), "username": "alice", "password": format!("{MARK}-password")}),
        json!({
            "client-certificate-data": STANDARD.encode(&certificate), "client-key-data": STANDARD.encode(&key),
        }),
        json!({
            "client-certificate-data": STANDARD.encode(&certificate), "client-key-data": format!("{MARK}!key"),
        }),
        plugin(&credential(&format!(r#""token":"{MARK}-plugin""#))),
        plugin(&credential(&format!(
            r#""clientCertificateData":"{MARK}","clientKeyData":"{MARK}-key""#
        ))),
        plugin(&format!("echo {MARK}-output; exit 1")),
        plugin(&format!("echo {MARK}-output")),
        json!({"auth-provider": {"name": "oidc", "config": {
            "id-token": format!("{MARK}-id"), "refresh-token": format!("{MARK}-refresh"),
            "client-secret": format!("{MARK}-client"), "client-id": "c", "idp-issuer-url": "https://127.0.0.1:1",
        }}}),
        json!({"auth-provider": {"name": "gcp", "config": {"access-token": format!("{MARK}-access")}}}),
    ]
}

#[test]
fn secrets_are_never_shown_at_any_verbosity() {
    let stage = Stage::new();
    let (tunnel, trusted) = (stage.tunnel.address, stage.authority_file());
    // The server answers, is behind a proxy with a password, does not exist, or is invalid.
    let clusters = [
        json!({"server": stage.url(), "certificate-authority": trusted}),
        json!({
            "server": stage.name(), "certificate-authority": trusted,
            "proxy-url": format!("http://{MARK}-proxy:{MARK}-password@{tunnel}"),
        }),
        json!({"server": format!("https://{MARK}-login:{MARK}-password@127.0.0.1:1")}),
        json!({"server": stage.url(), "proxy-url": format!("ftp://{MARK}@{tunnel}")}),
    ];
    let mut setup = Setup::new(&stage, "secrets");
    for user in users(&stage) {
        setup.user = user;
        for cluster in &clusters {
            setup.cluster = cluster.clone();
            for level in ["-v0", "-v9"] {
                assert_hidden(&stage, &setup, level);
            }
        }
    }
    let mut setup = Setup::new(&stage, "flags");
    setup.user = json!({});
    setup.variable(
        "HTTPS_PROXY",
        format!("http://a:{MARK}-environment@127.0.0.1:1"),
    );
    for flags in [
        vec![format!("--token={MARK}-token")],
        vec![format!("--token={MARK}\u{7f}")],
        vec![
            "--username=alice".to_owned(),
            format!("--password={MARK}-password"),
        ],
        vec![format!("--proxy-url=http://a:{MARK}@{tunnel}")],
        vec![format!("--proxy-url=http://a:{MARK}@[")],
    ] {
        setup.flags = flags;
        assert_hidden(&stage, &setup, "-v9");
    }
    // A secret would be found.
    assert!(has_secret("a hunter2 b") && has_secret(&STANDARD.encode("xhunter2-token")));
}

fn assert_hidden(stage: &Stage, setup: &Setup, level: &str) {
    let words = ["devices", level, "--request-timeout=5s"];
    let output = setup.command(stage, PathBuf::from(PLUGIN), words).output();
    let output = output.expect("a program");
    for text in [output.stdout, output.stderr] {
        let text = String::from_utf8_lossy(&text);
        assert!(!has_secret(&text), "{} {level}: {text}", setup.text());
    }
}

/// True if a text has a secret, as it is or in base64 at any offset.
fn has_secret(text: &str) -> bool {
    let middle = |padding: &str| {
        let whole = STANDARD.encode(format!("{padding}{MARK}"));
        whole[4..whole.len() - 4].to_owned()
    };
    let mut paddings = ["", "a", "aa"].iter();
    text.contains(&MARK[3..]) || paddings.any(|padding| text.contains(&middle(padding)))
}
