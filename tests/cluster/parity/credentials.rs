//! As whom does one ask?

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::case::{
    Case,
    Expected::{Differs, Refused, Works},
    Outcome, check,
};
use crate::harness::ControlPlane;

pub const CASES: &[Case] = &[
    Case {
        what: "`token`",
        make: |_, _| (),
        expected: Works,
    },
    Case {
        what: "`tokenFile`",
        make: |_, setup| setup.user = json!({"tokenFile": setup.file("t", "from-the-file\n")}),
        expected: Works,
    },
    Case {
        what: "`token` and `tokenFile`: the file wins",
        make: |_, setup| {
            setup.user = json!({"token": "inline", "tokenFile": setup.file("t", "from-the-file")});
        },
        expected: Works,
    },
    Case {
        what: "`token` and a `tokenFile` that is missing: the token is used",
        make: |_, setup| setup.user = json!({"token": "inline", "tokenFile": "/no/such/file"}),
        expected: Works,
    },
    Case {
        what: "a `tokenFile` that is missing",
        make: |_, setup| setup.user = json!({"tokenFile": "/no/such/file"}),
        expected: Refused,
    },
    Case {
        what: "`--token` instead of `token`",
        make: |_, setup| setup.flag("--token=from-the-flag"),
        expected: Works,
    },
    Case {
        what: "`--token` together with `tokenFile`",
        make: |_, setup| {
            setup.user = json!({"tokenFile": setup.file("t", "from-the-file")});
            setup.flag("--token=from-the-flag");
        },
        expected: Differs {
            kubectl: Outcome::Works,
            plugin: Outcome::Works,
            why: "the token is that of the flag; kubectl ignores the flag, and uses the file",
        },
    },
    Case {
        what: "`--token` instead of a credential plugin",
        make: |_, setup| {
            setup.user = json!({"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/program",
                "interactiveMode": "Never",
            }});
            setup.flag("--token=from-the-flag");
        },
        expected: Works,
    },
    Case {
        what: "a client certificate from files",
        make: |stage, setup| {
            let (certificate, key) = stage.authority.certified("alice", &[]);
            setup.user = json!({
                "client-certificate": setup.file("c", &certificate), "client-key": setup.file("k", &key),
            });
        },
        expected: Works,
    },
    Case {
        what: "a client certificate in the kubeconfig",
        make: |stage, setup| {
            let (certificate, key) = stage.authority.certified("alice", &[]);
            setup.user = json!({
                "client-certificate-data": STANDARD.encode(certificate),
                "client-key-data": STANDARD.encode(key),
            });
        },
        expected: Works,
    },
    Case {
        what: "`--client-certificate` and `--client-key` instead of those in the kubeconfig",
        make: |stage, setup| {
            let (certificate, key) = stage.authority.certified("alice", &[]);
            setup.user = json!({
                "client-certificate-data": STANDARD.encode(certificate),
                "client-key-data": STANDARD.encode(key),
            });
            let (certificate, key) = stage.authority.certified("bob", &[]);
            setup.flag(format!(
                "--client-certificate={}",
                setup.file("c", &certificate)
            ));
            setup.flag(format!("--client-key={}", setup.file("k", &key)));
        },
        expected: Works,
    },
    Case {
        what: "a client certificate and a token: both are sent",
        make: |stage, setup| {
            let (certificate, key) = stage.authority.certified("alice", &[]);
            setup.user = json!({
                "client-certificate-data": STANDARD.encode(certificate),
                "client-key-data": STANDARD.encode(key), "token": "t",
            });
        },
        expected: Works,
    },
    Case {
        what: "a client certificate without its key",
        make: |stage, setup| {
            let (certificate, _) = stage.authority.certified("alice", &[]);
            setup.user = json!({"client-certificate-data": STANDARD.encode(certificate)});
        },
        expected: Refused,
    },
    Case {
        what: "a client certificate with the key of another certificate",
        make: |stage, setup| {
            let (certificate, _) = stage.authority.certified("alice", &[]);
            let (_, key) = stage.authority.certified("bob", &[]);
            setup.user = json!({
                "client-certificate-data": STANDARD.encode(certificate),
                "client-key-data": STANDARD.encode(key),
            });
        },
        expected: Refused,
    },
    Case {
        what: "a client certificate both in a file and in the kubeconfig",
        make: |stage, setup| {
            let (certificate, key) = stage.authority.certified("alice", &[]);
            setup.user = json!({
                "client-certificate": setup.file("c", &certificate),
                "client-certificate-data": STANDARD.encode(&certificate),
                "client-key": setup.file("k", &key),
            });
        },
        expected: Refused,
    },
    Case {
        what: "`username` and `password`",
        make: |_, setup| setup.user = json!({"username": "alice", "password": "p:w"}),
        expected: Works,
    },
    Case {
        what: "`--username` and `--password`",
        make: |_, setup| {
            setup.user = json!({});
            setup.flag("--username=alice");
            setup.flag("--password=pw");
        },
        expected: Works,
    },
    Case {
        what: "`--username` without a password",
        make: |_, setup| {
            setup.user = json!({});
            setup.flag("--username=alice");
        },
        expected: Works,
    },
    Case {
        what: "`--username` instead of a credential plugin",
        make: |_, setup| {
            setup.user = json!({"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/program",
                "interactiveMode": "Never",
            }});
            setup.flag("--username=alice");
            setup.flag("--password=pw");
        },
        expected: Works,
    },
    Case {
        what: "both a token and a password",
        make: |_, setup| {
            setup.flag("--username=alice");
            setup.flag("--password=pw");
        },
        expected: Refused,
    },
    Case {
        what: "no credentials at all",
        make: |_, setup| setup.user = json!({}),
        expected: Differs {
            kubectl: Outcome::Refused,
            plugin: Outcome::Works,
            why: "kubectl prompts for a name and a password; API servers have not accepted passwords \
                  since 1.19, so this program sends an anonymous request, and the server decides",
        },
    },
    Case {
        what: "OIDC: an ID token that is valid",
        make: |_, setup| setup.user = oidc(4_000_000_000),
        expected: Works,
    },
    Case {
        what: "OIDC: an ID token that has expired, and no way to refresh it",
        make: |_, setup| setup.user = oidc(1_000_000_000),
        expected: Refused,
    },
    Case {
        what: "OIDC together with `--token`",
        make: |_, setup| {
            setup.user = oidc(4_000_000_000);
            setup.flag("--token=from-the-flag");
        },
        expected: Works,
    },
    Case {
        what: "`auth-provider: gcp`, which was removed from kubectl",
        make: |_, setup| {
            setup.user =
                json!({"auth-provider": {"name": "gcp", "config": {"cmd-path": "/bin/true"}}});
        },
        expected: Refused,
    },
    Case {
        what: "`auth-provider: azure`, which was removed from kubectl",
        make: |_, setup| setup.user = json!({"auth-provider": {"name": "azure", "config": {}}}),
        expected: Refused,
    },
    Case {
        what: "an unknown `auth-provider`",
        make: |_, setup| setup.user = json!({"auth-provider": {"name": "other", "config": {}}}),
        expected: Refused,
    },
    Case {
        what: "`auth-provider` and `exec`",
        make: |_, setup| {
            setup.user = oidc(4_000_000_000);
            setup.user["exec"] = json!({
                "apiVersion": "client.authentication.k8s.io/v1", "command": "true",
                "interactiveMode": "Never",
            });
        },
        expected: Refused,
    },
    Case {
        what: "`--as`",
        make: |_, setup| setup.flag("--as=bob"),
        expected: Works,
    },
    Case {
        what: "`--as`, `--as-group` (twice), `--as-uid` and `--as-user-extra` (three times)",
        make: |_, setup| {
            for flag in [
                "--as=bob",
                "--as-group=one",
                "--as-group=two",
                "--as-uid=7",
                "--as-user-extra=scopes=a",
                "--as-user-extra=scopes=b",
                "--as-user-extra=example.com/Team Name=ü=%",
            ] {
                setup.flag(flag);
            }
        },
        expected: Works,
    },
    Case {
        what: "`as`, `as-groups`, `as-uid` and `as-user-extra` in the kubeconfig",
        make: |_, setup| {
            setup.user = json!({
                "token": "t", "as": "bob", "as-groups": ["one", "two"], "as-uid": "7",
                "as-user-extra": {"scopes": ["a", "b"]},
            });
        },
        expected: Works,
    },
    Case {
        what: "`--as` and `--as-group` together with those in the kubeconfig",
        make: |_, setup| {
            setup.user = json!({
                "token": "t", "as": "bob", "as-groups": ["one"], "as-uid": "7",
                "as-user-extra": {"scopes": ["a", "b"]},
            });
            setup.flag("--as=carol");
            setup.flag("--as-group=three");
        },
        expected: Works,
    },
    Case {
        what: "`--as-group` without `--as`",
        make: |_, setup| setup.flag("--as-group=one"),
        expected: Refused,
    },
    Case {
        what: "`--as-uid` without `--as`",
        make: |_, setup| setup.flag("--as-uid=7"),
        expected: Refused,
    },
    Case {
        what: "`--as-user-extra` without `=`",
        make: |_, setup| {
            setup.flag("--as=bob");
            setup.flag("--as-user-extra=scopes");
        },
        expected: Differs {
            kubectl: Outcome::Works,
            plugin: Outcome::Refused,
            why: "the value is invalid; kubectl drops it, and impersonates another identity than intended",
        },
    },
];

fn oidc(until: u64) -> Value {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!(
        "{}.{}.{}",
        part(json!({"alg": "none"})),
        part(json!({"exp": until, "sub": "alice"})),
        part(json!({}))
    );
    json!({"auth-provider": {"name": "oidc", "config": {
        "id-token": token, "idp-issuer-url": "https://127.0.0.1:1", "client-id": "kubernetes",
        "client-secret": "s",
    }}})
}

#[test]
fn user_is_the_same_as_for_kubectl() {
    check("credentials", CASES);
}

/// What is sent to impersonate somebody is understood by the real server.
#[tokio::test]
async fn impersonated_user_is_whom_the_server_takes_us_for() {
    let stage = super::stage::Stage::new();
    let flags = [
        "--as=bob",
        "--as-group=one",
        "--as-group=system:masters",
        "--as-uid=7",
        "--as-user-extra=scopes=a",
    ];
    let plane: &ControlPlane = stage.plane;
    let own = plane
        .command(crate::harness::PLUGIN)
        .args(["devices", "-o", "name", "--token=t"])
        .arg(format!("--server={}", stage.url()))
        .arg(format!("--certificate-authority={}", stage.authority_file))
        .args(flags)
        .output()
        .expect("it can be run");
    assert!(own.status.success(), "{own:?}");
    let visits = stage.witness.take();
    let sent = &visits.first().expect("a visit").impersonation;
    let kubectl = plane.kubectl(&[&["auth", "whoami", "-o", "json"][..], &flags[..]].concat());
    let kubectl: Value = serde_json::from_slice(&kubectl.stdout).expect("a review");
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let headers: Vec<(String, String)> = sent.iter().cloned().collect();
    let ours = plane
        .posted_as(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            &review,
            &headers,
        )
        .await;
    assert_eq!(ours["status"]["userInfo"], kubectl["status"]["userInfo"]);
    assert_eq!(ours["status"]["userInfo"]["uid"], "7", "{ours:#}");
}
