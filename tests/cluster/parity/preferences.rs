//! kubectl's preferences (`kuberc`): which credential plugins may be run, and what else of them counts.

use std::fs;

use serde_json::json;

use super::{
    case::{
        Case,
        Expected::{Differs, Refused, Works},
        Outcome, Setup, check,
    },
    plugins::{answer, exec},
};
use crate::harness::{ControlPlane, random_suffix, text};

const BEGIN: &str = "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n";
const DENY: &str = "credentialPluginPolicy: DenyAll\n";

/// A user with a plugin called `login` in `PATH`, and no preferences yet.
fn plugin(setup: &mut Setup) {
    let script = answer("client.authentication.k8s.io/v1", &json!({"token": "t"}));
    setup.program("bin/login", &script);
    setup.program("other/login", &script);
    setup.user = exec("login");
    let path = setup.folder.join("bin").display().to_string();
    setup.variable("PATH", format!("{path}:/usr/bin:/bin"));
    setup.variable("KUBERC", "");
}

/// As [`plugin`], with these preferences where they usually are.
fn usual(setup: &mut Setup, more: &str) {
    plugin(setup);
    setup.file(".kube/kuberc", &format!("{BEGIN}{more}"));
}

/// As [`usual`], with this list of plugins.
fn listed(setup: &mut Setup, entry: &str) {
    let entry = entry.replace("FOLDER", &setup.folder.display().to_string());
    usual(
        setup,
        &format!("credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist:\n- {entry}\n"),
    );
}

pub const CASES: &[Case] = &[
    Case {
        what: "no preferences",
        make: |_, setup| plugin(setup),
        expected: Works,
    },
    Case {
        what: "`credentialPluginPolicy: AllowAll`",
        make: |_, setup| usual(setup, "credentialPluginPolicy: AllowAll\n"),
        expected: Works,
    },
    Case {
        what: "`DenyAll` in `~/.kube/kuberc`",
        make: |_, setup| usual(setup, DENY),
        expected: Refused,
    },
    Case {
        what: "`DenyAll`, and a token instead of the plugin",
        make: |_, setup| {
            usual(setup, DENY);
            setup.flag("--token=t");
        },
        expected: Works,
    },
    Case {
        what: "`DenyAll`, and a user without a plugin",
        make: |_, setup| {
            usual(setup, DENY);
            setup.user = json!({"token": "t"});
        },
        expected: Works,
    },
    Case {
        what: "`DenyAll` in the file of `KUBERC`",
        make: |_, setup| {
            plugin(setup);
            let file = setup.file("mine", &format!("{BEGIN}{DENY}"));
            setup.variable("KUBERC", file);
        },
        expected: Refused,
    },
    Case {
        what: "`DenyAll` in the file of `--kuberc`, which wins over `KUBERC`",
        make: |_, setup| {
            plugin(setup);
            let other = setup.file("other-preferences", BEGIN);
            setup.variable("KUBERC", other);
            let file = setup.file("mine", &format!("{BEGIN}{DENY}"));
            setup.flag(format!("--kuberc={file}"));
        },
        expected: Refused,
    },
    Case {
        what: "`KUBERC=off` together with `DenyAll` in `~/.kube/kuberc`",
        make: |_, setup| {
            usual(setup, DENY);
            setup.variable("KUBERC", "off");
        },
        expected: Works,
    },
    Case {
        what: "`KUBERC=off` together with `--kuberc`",
        make: |_, setup| {
            usual(setup, "");
            setup.variable("KUBERC", "off");
            let file = setup.file("mine", BEGIN);
            setup.flag(format!("--kuberc={file}"));
        },
        expected: Refused,
    },
    Case {
        what: "`KUBECTL_KUBERC=false` together with `DenyAll`",
        make: |_, setup| {
            usual(setup, DENY);
            setup.variable("KUBECTL_KUBERC", "False");
        },
        expected: Works,
    },
    Case {
        what: "`--kuberc` with a missing file",
        make: |_, setup| {
            plugin(setup);
            setup.flag("--kuberc=/no/such/file");
        },
        expected: Refused,
    },
    Case {
        what: "an allow list with the plugin's name",
        make: |_, setup| listed(setup, "command: login"),
        expected: Works,
    },
    Case {
        what: "an allow list with the plugin's name in the older field `name`",
        make: |_, setup| listed(setup, "name: login"),
        expected: Works,
    },
    Case {
        what: "an allow list with the plugin's path",
        make: |_, setup| listed(setup, "command: FOLDER/bin/login"),
        expected: Works,
    },
    Case {
        what: "an allow list with the plugin's name, and a kubeconfig with the plugin's path",
        make: |_, setup| {
            listed(setup, "command: login");
            setup.user = exec(&setup.folder.join("bin/login").display().to_string());
        },
        expected: Works,
    },
    Case {
        what: "an allow list with the plugin's name, and a kubeconfig with the path of another program of that name",
        make: |_, setup| {
            listed(setup, "command: login");
            setup.user = exec(&setup.folder.join("other/login").display().to_string());
        },
        expected: Refused,
    },
    Case {
        what: "an allow list with the path of another program of the same name",
        make: |_, setup| listed(setup, "command: FOLDER/other/login"),
        expected: Refused,
    },
    Case {
        what: "an allow list without the plugin",
        make: |_, setup| listed(setup, "command: another"),
        expected: Refused,
    },
    Case {
        what: "an allow list with a path that is not normalized",
        make: |_, setup| listed(setup, "command: FOLDER/bin/../bin/login"),
        expected: Refused,
    },
    Case {
        what: "an allow list with an empty entry",
        make: |_, setup| listed(setup, "{}"),
        expected: Refused,
    },
    Case {
        what: "an empty allow list",
        make: |_, setup| {
            usual(
                setup,
                "credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: []\n",
            );
        },
        expected: Refused,
    },
    Case {
        what: "`credentialPluginPolicy: Allowlist` without an allow list",
        make: |_, setup| usual(setup, "credentialPluginPolicy: Allowlist\n"),
        expected: Refused,
    },
    Case {
        what: "an allow list without `credentialPluginPolicy: Allowlist`",
        make: |_, setup| usual(setup, "credentialPluginAllowlist: [{command: login}]\n"),
        expected: Refused,
    },
    Case {
        what: "an empty allow list without `credentialPluginPolicy: Allowlist`",
        make: |_, setup| usual(setup, "credentialPluginAllowlist: []\n"),
        expected: Refused,
    },
    Case {
        what: "an unknown policy, also for a user without a plugin",
        make: |_, setup| {
            usual(setup, "credentialPluginPolicy: Never\n");
            setup.user = json!({"token": "t"});
        },
        expected: Refused,
    },
    Case {
        what: "an allow list entry whose `name` and `command` differ, in `~/.kube/kuberc`: the file is ignored",
        make: |_, setup| listed(setup, "{name: login, command: another}"),
        expected: Works,
    },
    Case {
        what: "a file that is not a Preference object, in `~/.kube/kuberc`: the file is ignored",
        make: |_, setup| {
            plugin(setup);
            setup.file(".kube/kuberc", "kind: Other\n");
        },
        expected: Works,
    },
    Case {
        what: "a file that is not a Preference object, in `KUBERC`",
        make: |_, setup| {
            plugin(setup);
            let file = setup.file("mine", "kind: Other\n");
            setup.variable("KUBERC", file);
        },
        expected: Refused,
    },
    Case {
        what: "an unknown field together with `DenyAll`",
        make: |_, setup| usual(setup, &format!("other: 1\n{DENY}")),
        expected: Refused,
    },
    Case {
        what: "the first of several documents counts",
        make: |_, setup| usual(setup, &format!("---\n{BEGIN}{DENY}")),
        expected: Works,
    },
    Case {
        what: "`DenyAll` in a Preference object of `v1alpha1`, which has no field `credentialPluginPolicy`",
        make: |_, setup| {
            usual(setup, "");
            let text = format!("{}{DENY}", BEGIN.replace("v1beta1", "v1alpha1"));
            setup.file(".kube/kuberc", &text);
        },
        expected: Works,
    },
    Case {
        what: "a default for `kubectl get`, of an option that `get` does not have",
        make: |_, setup| {
            let option = "options: [{name: no-such-option, default: wide}]";
            usual(setup, &format!("defaults: [{{command: get, {option}}}]\n"));
        },
        expected: Differs {
            kubectl: Outcome::Refused,
            plugin: Outcome::Works,
            why: "this program ignores defaults, which are for kubectl's own commands",
        },
    },
];

#[test]
fn plugins_that_kubectl_may_not_run_are_not_run() {
    check("preferences", CASES);
}

/// Neither reaches a plugin: an alias ends in an error of kubectl itself, a default is not applied.
#[test]
fn aliases_and_defaults_of_kubectl_do_not_reach_plugins() {
    let plane = ControlPlane::shared();
    let file = plane.folder().join(format!("kuberc-{}", random_suffix()));
    fs::write(
        &file,
        format!(
            "{BEGIN}aliases: [{{name: dt, command: devicetaint}}]\n\
             defaults: [{{command: devicetaint devices, options: [{{name: output, default: json}}]}}]\n"
        ),
    )
    .expect("a file");
    let run = |words: &[&str]| {
        let mut command = plane.command(plane.kubectl_path());
        command.env("KUBERC", &file).args(words);
        command.output().expect("it can be run")
    };
    let alias = run(&["dt", "devices"]);
    let said = String::from_utf8_lossy(&alias.stderr).into_owned();
    assert!(
        !alias.status.success() && said.contains("\"devicetaint\" not found to set alias"),
        "{said}"
    );
    let default = text(&run(&["devicetaint", "devices", "--free"]));
    assert!(!default.starts_with('{'), "{default}");
    // The plugin takes kubectl's flag, which kubectl looks for among its words, too.
    let flag = file.display().to_string();
    text(&run(&["devicetaint", "devices", "--kuberc", &flag]));
}
