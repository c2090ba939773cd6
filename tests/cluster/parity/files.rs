//! Which cluster and which user do kubeconfig files and flags choose?

use std::{fs, path::PathBuf, process::Command};

use serde_json::json;

use super::case::{
    Case,
    Expected::{Differs, Refused, Works},
    Outcome, check,
};

pub const CASES: &[Case] = &[
    Case {
        what: "one file in `KUBECONFIG`",
        make: |_, _| (),
        expected: Works,
    },
    Case {
        what: "`~/.kube/config`, without flags or `KUBECONFIG`",
        make: |_, setup| {
            setup.file(".kube/config", &setup.text());
            setup.kubeconfig = PathBuf::new();
        },
        expected: Works,
    },
    Case {
        what: "several files in `KUBECONFIG`: the first file that defines an entry wins, missing files are skipped",
        make: |_, setup| {
            let users = json!({"users": [{"name": "u", "user": {"token": "first"}}]}).to_string();
            let list = [
                setup.file("none", "").replace("none", "missing"),
                setup.file("users", &users),
                setup.file("all", &setup.text()),
            ];
            setup.kubeconfig = list.join(":").into();
        },
        expected: Works,
    },
    Case {
        what: "only missing files in `KUBECONFIG`",
        make: |_, setup| setup.kubeconfig = "/no/such/file".into(),
        expected: Refused,
    },
    Case {
        what: "`--kubeconfig` together with `KUBECONFIG`",
        make: |_, setup| {
            let other = setup.file("other", &setup.text());
            setup.flag(format!("--kubeconfig={other}"));
            setup.kubeconfig = "/no/such/file".into();
        },
        expected: Works,
    },
    Case {
        what: "`--kubeconfig` with a missing file",
        make: |_, setup| setup.flag("--kubeconfig=/no/such/file"),
        expected: Refused,
    },
    Case {
        what: "a file that is not YAML",
        make: |_, setup| setup.kubeconfig = setup.file("bad", "clusters: [").into(),
        expected: Refused,
    },
    Case {
        what: "relative paths in a kubeconfig, from another folder",
        make: |stage, setup| {
            let (certificate, key) = stage.authority.certified("alice", &[]);
            setup.file("sub/cert.pem", &certificate);
            setup.file("sub/key.pem", &key);
            setup.file("sub/ca.pem", &stage.authority.pem());
            setup.file("sub/token", "token-in-a-file\n");
            setup.cluster["certificate-authority"] = json!("ca.pem");
            setup.user = json!({
                "client-certificate": "./cert.pem", "client-key": "../sub/key.pem", "tokenFile": "token",
            });
            setup.kubeconfig = setup.file("sub/config", &setup.text()).into();
            setup.current = "/".into();
        },
        expected: Works,
    },
    Case {
        what: "a relative path in `KUBECONFIG`",
        make: |_, setup| {
            setup.file("sub/config", &setup.text());
            setup.kubeconfig = "sub/config".into();
        },
        expected: Works,
    },
    Case {
        what: "`--context`",
        make: |_, setup| {
            let text = setup
                .text()
                .replace("\"current-context\":\"x\"", "\"current-context\":\"\"");
            setup.kubeconfig = setup.file("none", &text).into();
            setup.flag("--context=x");
        },
        expected: Works,
    },
    Case {
        what: "`--context` with an unknown name",
        make: |_, setup| setup.flag("--context=y"),
        expected: Refused,
    },
    Case {
        what: "no current context, and none chosen",
        make: |_, setup| {
            let text = setup
                .text()
                .replace("\"current-context\":\"x\"", "\"current-context\":\"\"");
            setup.kubeconfig = setup.file("none", &text).into();
        },
        expected: Refused,
    },
    Case {
        what: "`--cluster` and `--user`",
        make: |_, setup| {
            setup.context = json!({"cluster": "gone", "user": "gone"});
            setup.flag("--cluster=c");
            setup.flag("--user=u");
        },
        expected: Works,
    },
    Case {
        what: "`--cluster` with an unknown name",
        make: |_, setup| setup.flag("--cluster=gone"),
        expected: Refused,
    },
    Case {
        what: "`--user` with an unknown name",
        make: |_, setup| setup.flag("--user=gone"),
        expected: Refused,
    },
    Case {
        what: "a context whose cluster is missing",
        make: |_, setup| setup.context = json!({"cluster": "gone", "user": "u"}),
        expected: Refused,
    },
    Case {
        what: "`--server` instead of a cluster, with `--token` and `--certificate-authority`",
        make: |stage, setup| {
            setup.kubeconfig = "/no/such/file".into();
            setup.flag(format!("--server={}", stage.url()));
            setup.flag("--token=t");
            setup.flag(format!("--certificate-authority={}", stage.authority_file));
        },
        expected: Works,
    },
    Case {
        what: "a pod's service account",
        make: |stage, setup| {
            in_a_pod(stage, setup);
        },
        expected: Works,
    },
    Case {
        what: "a pod's service account, with `--token`",
        make: |stage, setup| {
            in_a_pod(stage, setup);
            setup.flag("--token=t");
        },
        expected: Works,
    },
    Case {
        what: "a pod's service account, with `--as`",
        make: |stage, setup| {
            in_a_pod(stage, setup);
            setup.flag("--as=bob");
        },
        expected: Differs {
            kubectl: Outcome::Refused,
            plugin: Outcome::Works,
            why: "the service account impersonates that user; with this flag, kubectl does not use the service \
                  account, and connects to `localhost:8080`",
        },
    },
    Case {
        what: "a kubeconfig in a pod",
        make: |stage, setup| {
            let kubeconfig = setup.kubeconfig.clone();
            in_a_pod(stage, setup);
            fs::write(&kubeconfig, setup.text()).expect("a file");
            setup.kubeconfig = kubeconfig;
        },
        expected: Works,
    },
];

/// Runs both where a pod's files are, and without a kubeconfig.
fn in_a_pod(stage: &super::stage::Stage, setup: &mut super::case::Setup) {
    let namespaces = Command::new("unshare").args(["-r", "-m", "true"]).output();
    assert!(
        namespaces.is_ok_and(|output| output.status.success()),
        "a pod is played in a mount namespace: needs unshare (util-linux) as root or with user namespaces"
    );
    setup.file("account/token", "token-of-the-pod");
    setup.file("account/ca.crt", &stage.authority.pem());
    setup.file("account/namespace", "ml");
    setup.pod = Some(setup.folder.join("account"));
    setup.kubeconfig = PathBuf::new();
    setup.variable("KUBERNETES_SERVICE_HOST", "127.0.0.1");
    let port = stage.witness.address.port();
    setup.variable("KUBERNETES_SERVICE_PORT", port.to_string());
}

#[test]
fn kubeconfigs_and_flags_choose_as_for_kubectl() {
    check("files", CASES);
}
