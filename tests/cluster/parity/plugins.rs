//! Credential plugins: how they are run, and what they may answer.

use serde_json::{Value, json};

use super::case::{
    Case,
    Expected::{Refused, Waits, Works},
    Setup, check,
};

const V1: &str = "client.authentication.k8s.io/v1";

/// What a plugin prints that knows a token.
pub fn answer(version: &str, status: &Value) -> String {
    let answer = json!({"apiVersion": version, "kind": "ExecCredential", "status": status});
    format!("cat <<'END'\n{answer}\nEND")
}

/// A user of that plugin.
pub fn exec(command: &str) -> Value {
    json!({"exec": {"apiVersion": V1, "command": command, "interactiveMode": "Never"}})
}

/// A user whose plugin does this.
fn plugin(setup: &mut Setup, script: &str) {
    setup.user = exec(&setup.program("login", script));
}

fn token() -> String {
    answer(V1, &json!({"token": "from-the-plugin"}))
}

pub const CASES: &[Case] = &[
    Case {
        what: "a plugin with a token",
        make: |_, setup| plugin(setup, &token()),
        expected: Works,
    },
    Case {
        what: "a plugin with a client certificate",
        make: |stage, setup| {
            let (certificate, key) = stage.authority.certified("alice", &[]);
            let status =
                json!({"clientCertificateData": certificate, "clientKeyData": key, "token": ""});
            plugin(setup, &answer(V1, &status));
        },
        expected: Works,
    },
    Case {
        what: "a plugin with a client certificate and no key",
        make: |stage, setup| {
            let (certificate, _) = stage.authority.certified("alice", &[]);
            let status = json!({"clientCertificateData": certificate, "token": "t"});
            plugin(setup, &answer(V1, &status));
        },
        expected: Refused,
    },
    Case {
        what: "a plugin of `v1beta1`, which needs no `interactiveMode`",
        make: |_, setup| {
            let version = "client.authentication.k8s.io/v1beta1";
            let script = answer(version, &json!({"token": "t"}));
            let command = setup.program("login", &script);
            setup.user = json!({"exec": {"apiVersion": version, "command": command}});
        },
        expected: Works,
    },
    Case {
        what: "a plugin of `v1alpha1`, which was removed",
        make: |_, setup| {
            plugin(setup, &token());
            setup.user["exec"]["apiVersion"] = json!("client.authentication.k8s.io/v1alpha1");
        },
        expected: Refused,
    },
    Case {
        what: "a plugin that responds with another API version",
        make: |_, setup| {
            let version = "client.authentication.k8s.io/v1beta1";
            plugin(setup, &answer(version, &json!({"token": "t"})));
        },
        expected: Refused,
    },
    Case {
        what: "`args` and `env` of the plugin, in addition to the environment",
        make: |_, setup| {
            let script = token().replace("from-the-plugin", "$1-$FROM_ENV-$FROM_OUTSIDE");
            plugin(setup, &script.replace("'END'", "END"));
            setup.user["exec"]["args"] = json!(["argument"]);
            setup.user["exec"]["env"] = json!([{"name": "FROM_ENV", "value": "variable"}]);
            setup.variable("FROM_OUTSIDE", "outside");
        },
        expected: Works,
    },
    Case {
        what: "`KUBERNETES_EXEC_INFO` in `env` does not replace what is passed to the plugin",
        make: |_, setup| {
            let script = format!(
                "case \"$KUBERNETES_EXEC_INFO\" in mine) exit 1;; esac\n{}",
                token()
            );
            plugin(setup, &script);
            setup.user["exec"]["env"] = json!([{"name": "KUBERNETES_EXEC_INFO", "value": "mine"}]);
        },
        expected: Works,
    },
    Case {
        what: "`provideClusterInfo`, with the extension `client.authentication.k8s.io/exec` of the cluster in the kubeconfig",
        make: |stage, setup| {
            let script = format!(
                "case \"$KUBERNETES_EXEC_INFO\" in *{}*) ;; *) exit 1;; esac\n\
                 case \"$KUBERNETES_EXEC_INFO\" in *setting-of-the-cluster*) ;; *) exit 1;; esac\n{}",
                stage.witness.address,
                token()
            );
            plugin(setup, &script);
            setup.user["exec"]["provideClusterInfo"] = json!(true);
            setup.cluster["extensions"] = json!([{
                "name": "client.authentication.k8s.io/exec", "extension": {"a": "setting-of-the-cluster"},
            }]);
        },
        expected: Works,
    },
    Case {
        what: "without `provideClusterInfo` the plugin gets no data about the cluster",
        make: |stage, setup| {
            let script = format!(
                "case \"$KUBERNETES_EXEC_INFO\" in *{}*) exit 1;; esac\n{}",
                stage.witness.address,
                token()
            );
            plugin(setup, &script);
        },
        expected: Works,
    },
    Case {
        what: "a plugin in `PATH`",
        make: |_, setup| {
            setup.program("bin/login-of-the-case", &token());
            setup.user = exec("login-of-the-case");
            let path = setup.folder.join("bin").display().to_string();
            setup.variable("PATH", format!("{path}:/usr/bin:/bin"));
        },
        expected: Works,
    },
    Case {
        what: "a plugin in the current folder, through `PATH=.`",
        make: |_, setup| {
            setup.program("login-of-the-case", &token());
            setup.user = exec("login-of-the-case");
            setup.variable("PATH", ".:/usr/bin:/bin");
        },
        expected: Refused,
    },
    Case {
        what: "a relative `command`, in the directory of the kubeconfig",
        make: |_, setup| {
            setup.program("bin/login", &token());
            setup.user = exec("bin/login");
            setup.current = "/".into();
        },
        expected: Works,
    },
    Case {
        what: "a plugin that is not installed",
        make: |_, setup| {
            setup.user = exec("no-such-program");
            setup.user["exec"]["installHint"] = json!("get it from example.com");
        },
        expected: Refused,
    },
    Case {
        what: "a plugin that fails",
        make: |_, setup| plugin(setup, &format!("{}\nexit 3", token())),
        expected: Refused,
    },
    Case {
        what: "a plugin that prints invalid output",
        make: |_, setup| plugin(setup, "echo hello"),
        expected: Refused,
    },
    Case {
        what: "a plugin whose output has no credentials",
        make: |_, setup| plugin(setup, &answer(V1, &json!({}))),
        expected: Refused,
    },
    Case {
        what: "a plugin that hangs",
        make: |_, setup| {
            plugin(setup, "exec sleep 5");
            setup.waits = true;
        },
        expected: Waits,
    },
    Case {
        what: "`interactiveMode: IfAvailable` without a terminal",
        make: |_, setup| {
            plugin(setup, &token());
            setup.user["exec"]["interactiveMode"] = json!("IfAvailable");
        },
        expected: Works,
    },
    Case {
        what: "`interactiveMode: Always` without a terminal",
        make: |_, setup| {
            plugin(setup, &token());
            setup.user["exec"]["interactiveMode"] = json!("Always");
        },
        expected: Refused,
    },
    Case {
        what: "an unknown `interactiveMode`",
        make: |_, setup| {
            plugin(setup, &token());
            setup.user["exec"]["interactiveMode"] = json!("Sometimes");
        },
        expected: Refused,
    },
    Case {
        what: "no `interactiveMode`",
        make: |_, setup| {
            plugin(setup, &token());
            setup.user["exec"]["interactiveMode"] = Value::Null;
        },
        expected: Refused,
    },
    Case {
        what: "no `command`",
        make: |_, setup| {
            plugin(setup, &token());
            setup.user["exec"]["command"] = Value::Null;
        },
        expected: Refused,
    },
    Case {
        what: "no `apiVersion`",
        make: |_, setup| {
            plugin(setup, &token());
            setup.user["exec"]["apiVersion"] = Value::Null;
        },
        expected: Refused,
    },
];

#[test]
fn plugins_are_run_as_kubectl_runs_them() {
    check("plugins", CASES);
}
