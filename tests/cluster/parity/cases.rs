//! Connections that users have: which server, which user, which route.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    setup::{Setup, Stage},
    witness::{NAME, PREFIX},
};

/// Expected result of a case.
enum Expected {
    /// Both programs reach the witness, which sees this.
    Seen(&'static str),
    /// Both programs fail.
    Refused,
    /// The plugin differs from kubectl on purpose (`docs/src/connection.md`): the witness's view of the
    /// plugin, if any.
    Differs(Option<&'static str>),
}
use Expected::{Differs, Refused, Seen};

type Case = (&'static str, fn(&Stage, &mut Setup), Expected);

const T: &str = "authorization: Bearer t";
const ECHO: &str = r#"echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"$1-$FROM_ENV-$FROM_OUTSIDE\"}}""#;

const CASES: &[Case] = &[
    (
        "several files in KUBECONFIG: a missing file is skipped, the first definition counts",
        |_, setup| {
            let users = json!({"users": [{"name": "u", "user": {"token": "first"}}]}).to_string();
            let (users, all) = (
                setup.file("users", &users),
                setup.file("all", &setup.text()),
            );
            setup.kubeconfig = Some(format!("/no/such/file:{users}:{all}"));
        },
        Seen("authorization: Bearer first"),
    ),
    (
        "relative paths begin at the folder of the kubeconfig; a token file counts before a token",
        |stage, setup| {
            setup.file("ca.pem", &stage.authority.pem());
            setup.file("token", "from-the-file\n");
            setup.cluster["certificate-authority"] = json!("./ca.pem");
            setup.user = json!({"token": "t", "tokenFile": "token"});
        },
        Seen("authorization: Bearer from-the-file"),
    ),
    (
        "--context, --cluster and --user",
        |_, setup| {
            setup.context = json!({"cluster": "gone", "user": "gone"});
            let text = setup
                .text()
                .replace("\"current-context\":\"x\"", "\"current-context\":\"y\"");
            setup.kubeconfig = Some(setup.file("other", &text));
            setup.flags = ["--context=x", "--cluster=c", "--user=u"]
                .map(str::to_owned)
                .into();
        },
        Seen(T),
    ),
    (
        "--server, --token and --certificate-authority without a kubeconfig",
        |stage, setup| {
            setup.kubeconfig = Some("/no/such/file".to_owned());
            setup.flag(format!("--server={}", stage.url()));
            setup.flag("--token=t");
            setup.flag(format!(
                "--certificate-authority={}",
                stage.authority_file()
            ));
        },
        Seen(T),
    ),
    (
        "a pod's service account with --as",
        |stage, setup| {
            in_a_pod(stage, setup);
            setup.flag("--as=bob");
        },
        Differs(Some(
            "authorization: Bearer token-of-the-pod, impersonate-user: bob",
        )),
    ),
    (
        "a client certificate and a token",
        |stage, setup| {
            setup.user = certificate(stage);
            setup.user["token"] = json!("t");
        },
        Seen("authorization: Bearer t, certificate of alice"),
    ),
    (
        "impersonation in flags",
        |_, setup| {
            for flag in [
                "--as=bob",
                "--as-group=one",
                "--as-group=two",
                "--as-uid=7",
                "--as-user-extra=example.com/Team Name=ü=%",
            ] {
                setup.flag(flag);
            }
        },
        Seen(
            "authorization: Bearer t, impersonate-extra-example.com%2fteam%20name: ü=%, \
             impersonate-group: one, impersonate-group: two, impersonate-uid: 7, impersonate-user: bob",
        ),
    ),
    (
        "a credential plugin with arguments and variables, in an allow list",
        |_, setup| {
            setup.exec("bin/login", ECHO);
            setup.user["exec"]["args"] = json!(["argument"]);
            setup.user["exec"]["env"] = json!([{"name": "FROM_ENV", "value": "variable"}]);
            setup.variable("FROM_OUTSIDE", "outside");
            let login = setup.user["exec"]["command"].clone();
            kuberc(
                setup,
                &format!("Allowlist\ncredentialPluginAllowlist: [{{command: {login}}}]"),
            );
        },
        Seen("authorization: Bearer argument-variable-outside"),
    ),
    (
        "a credential plugin that needs data about the cluster",
        |stage, setup| {
            let address = stage.witness.address;
            let check =
                format!("case \"$KUBERNETES_EXEC_INFO\" in *{address}*) ;; *) exit 1;; esac");
            setup.exec("login", &format!("{check}\n{ECHO}"));
            setup.user["exec"]["provideClusterInfo"] = json!(true);
        },
        Seen("authorization: Bearer --"),
    ),
    (
        "kubectl's preferences deny credential plugins",
        |_, setup| {
            setup.exec("login", ECHO);
            kuberc(setup, "DenyAll");
        },
        Refused,
    ),
    (
        "--insecure-skip-tls-verify=false and the opposite in the kubeconfig",
        |stage, setup| {
            setup.cluster = json!({"server": stage.url(), "insecure-skip-tls-verify": true});
            setup.flag("--insecure-skip-tls-verify=false");
        },
        Differs(None),
    ),
    (
        "tls-server-name, and a path in front of the API",
        |stage, setup| {
            setup.cluster["tls-server-name"] = json!(NAME);
            setup.cluster["server"] = json!(format!("{}{PREFIX}/", stage.url()));
        },
        Seen("authorization: Bearer t, server name api.parity.test, below /clusters/one"),
    ),
    (
        "proxy-url with a login counts before HTTPS_PROXY and NO_PROXY",
        |stage, setup| {
            setup.cluster["server"] = json!(stage.name());
            let proxy = format!("http://alice:p%40ss@{}", stage.tunnel.address);
            setup.cluster["proxy-url"] = json!(proxy);
            setup.variable("HTTPS_PROXY", "http://127.0.0.1:1");
            setup.variable("NO_PROXY", "*");
        },
        Seen(
            "authorization: Bearer t, server name api.parity.test | \
             tunnel to api.parity.test:PORT as Basic YWxpY2U6cEBzcw==",
        ),
    ),
    (
        "HTTPS_PROXY, with other names and networks in NO_PROXY",
        |stage, setup| {
            behind_proxy(stage, setup);
            setup.variable(
                "NO_PROXY",
                "example.com,10.0.0.0/8,.api.parity.test,parity.test:1",
            );
        },
        Seen(
            "authorization: Bearer t, server name api.parity.test | tunnel to api.parity.test:PORT",
        ),
    ),
    (
        "HTTPS_PROXY, with the server's domain in NO_PROXY",
        |stage, setup| {
            behind_proxy(stage, setup);
            setup.variable("NO_PROXY", "example.com, parity.test");
        },
        Refused,
    ),
];

fn in_a_pod(stage: &Stage, setup: &mut Setup) {
    setup.file("account/token", "token-of-the-pod");
    setup.file("account/ca.crt", &stage.authority.pem());
    setup.account = Some(
        setup
            .file("account/namespace", "ml")
            .replace("/namespace", ""),
    );
    setup.kubeconfig = Some(String::new());
    setup.variable("KUBERNETES_SERVICE_HOST", "127.0.0.1");
    let port = stage.witness.address.port();
    setup.variable("KUBERNETES_SERVICE_PORT", port.to_string());
}

fn certificate(stage: &Stage) -> Value {
    let (certificate, key) = stage.authority.certified("alice", &[]);
    json!({
        "client-certificate-data": STANDARD.encode(certificate), "client-key-data": STANDARD.encode(key),
    })
}

fn behind_proxy(stage: &Stage, setup: &mut Setup) {
    setup.cluster["server"] = json!(stage.name());
    setup.variable("HTTPS_PROXY", format!("http://{}", stage.tunnel.address));
}

fn kuberc(setup: &Setup, policy: &str) {
    let begin = "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n";
    setup.file(
        ".kube/kuberc",
        &format!("{begin}credentialPluginPolicy: {policy}\n"),
    );
}

#[test]
fn connection_is_the_same_as_that_of_kubectl() {
    let stage = Stage::new();
    let mut wrong = Vec::new();
    for (number, (name, make, expected)) in CASES.iter().enumerate() {
        let mut setup = Setup::new(&stage, &number.to_string());
        make(&stage, &mut setup);
        let seen = match expected {
            Seen(seen) => Some(*seen),
            Refused => None,
            Differs(seen) => *seen,
        };
        let (plugin, output) = stage.run(&setup, false);
        if plugin.as_deref() != seen {
            wrong.push(format!("{name}: the plugin: {plugin:?}\n{output}"));
        }
        if crate::IS_FULL {
            let (kubectl, output) = stage.run(&setup, true);
            if (kubectl.as_deref() == seen) == matches!(expected, Differs(_)) {
                wrong.push(format!("{name}: kubectl: {kubectl:?}\n{output}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A plugin's question, such as for a PIN, is answered at the terminal.
#[test]
fn credential_plugin_asks_at_the_terminal() {
    use crate::harness::{ENTER, PLUGIN, Terminal};
    let stage = Stage::new();
    let mut setup = Setup::new(&stage, "asks");
    setup.exec(
        "login",
        &format!("printf 'PIN: ' >&2\nread FROM_ENV\n{ECHO}"),
    );
    setup.user["exec"]["interactiveMode"] = json!("Always");
    let config = setup.file("config", &setup.text());
    let mut terminal = Terminal::open(stage.plane);
    terminal
        .command(&[PLUGIN, "devices", "-o", "name", "--kubeconfig", &config].map(str::to_owned));
    terminal.until("PIN: ");
    terminal.press(&format!("1234{ENTER}"));
    terminal.ended(0);
    assert_eq!(stage.witness.take(), ["authorization: Bearer -1234-"]);
}
