//! What a listener gets to know: as little as from kubectl, which sends no credentials over
//! connections that are not encrypted, but for a login in the address.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    process::Stdio,
    sync::mpsc::{Receiver, channel},
    thread,
};

use crate::harness::{ControlPlane, PLUGIN};

/// A server without TLS, and the headers of each request to it that say who asks.
fn listener() -> (String, Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a connection"));
            let mut told = Vec::new();
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).is_err() || line.trim().is_empty() {
                    break;
                }
                let name = line.split(':').next().unwrap_or_default().to_lowercase();
                if name == "authorization" || name.starts_with("impersonate-") {
                    let (_, value) = line.split_once(':').expect("a header");
                    told.push(format!("{name}:{}", value.trim()));
                }
            }
            told.sort();
            let _ = sender.send(told);
            let answer =
                b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            let _ = stream.get_mut().write_all(answer);
        }
    });
    (address, receiver)
}

/// Who a user is, and the flags of a run.
struct Asking {
    name: &'static str,
    user: String,
    flags: Vec<&'static str>,
}

fn asking(folder: &Path) -> Vec<Asking> {
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let token = file("token", "from-a-file");
    let script = file(
        "plugin.sh",
        &format!(
            "touch {}\necho '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\
             \"kind\":\"ExecCredential\",\"status\":{{\"token\":\"of-a-plugin\"}}}}'\n",
            folder.join("plugin-ran").display()
        ),
    );
    let plugin = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, args: ['{script}'], \
         interactiveMode: Never}}}}"
    );
    let one = |name, user: &str, flags: &[&'static str]| Asking {
        name,
        user: user.to_owned(),
        flags: flags.to_vec(),
    };
    vec![
        one("a token", "{token: secret}", &[]),
        one(
            "a token in a file",
            &format!("{{tokenFile: '{token}'}}"),
            &[],
        ),
        one("a password", "{username: alice, password: secret}", &[]),
        one("a plugin", &plugin, &[]),
        one("a token by flag", "{}", &["--token", "secret"]),
        one("somebody else", "{token: secret}", &["--as", "bob"]),
        one(
            "somebody else with groups",
            "{token: secret}",
            &[
                "--as",
                "bob",
                "--as-group",
                "a",
                "--as-group",
                "b",
                "--as-uid",
                "7",
            ],
        ),
        one(
            "somebody else in the kubeconfig",
            "{token: secret, as: bob, as-groups: [a, b], as-uid: '7', as-user-extra: {scopes: [v, w]}}",
            &[],
        ),
        one(
            "somebody else with a plugin",
            &plugin.replace("{exec", "{as: bob, exec"),
            &["--as-group", "c"],
        ),
        one("nobody", "{}", &[]),
    ]
}

#[test]
fn a_listener_gets_to_know_what_it_gets_from_kubectl() {
    let plane = ControlPlane::shared();
    let folder = tempfile::tempdir().expect("a folder");
    let ran = folder.path().join("plugin-ran");
    let config = folder.path().join("config");
    let mut impersonated = 0;
    for asking in asking(folder.path()) {
        for (way, server, flag) in [
            ("kubeconfig", "http://ADDRESS", None),
            ("flag", "https://127.0.0.1:1", Some("http://ADDRESS")),
            ("address", "http://carol:pw@ADDRESS", None),
        ] {
            let told = [plane.kubectl_path(), PLUGIN.into()].map(|program| {
                let (address, requests) = listener();
                let content = format!(
                    "{{apiVersion: v1, kind: Config, current-context: c, \
                     clusters: [{{name: c, cluster: {{server: '{}'}}}}], \
                     contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
                     users: [{{name: u, user: {}}}]}}",
                    server.replace("ADDRESS", &address),
                    asking.user
                );
                fs::write(&config, content).expect("a file");
                let _ = fs::remove_file(&ran);
                let words: &[&str] = if program == Path::new(PLUGIN) {
                    &["list"]
                } else {
                    &["get", "--raw", "/version"]
                };
                let mut command = plane.command(&program);
                command
                    .args(words)
                    .args(&asking.flags)
                    .env("KUBECONFIG", &config);
                if let Some(flag) = flag {
                    command.args(["--server", &flag.replace("ADDRESS", &address)]);
                }
                let output = command.stdin(Stdio::null()).output().expect("it starts");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let first = requests.try_recv();
                (
                    first.unwrap_or_else(|_| panic!("{program:?}: {said}")),
                    ran.exists(),
                )
            });
            let [mut kubectl, plugin] = told;
            // The one difference, and meant: a password in the address is one, too.
            if way == "address" {
                let login = "authorization:Basic Y2Fyb2w6cHc=";
                assert!(
                    kubectl.0.iter().any(|header| header == login),
                    "{kubectl:?}"
                );
                kubectl.0.retain(|header| header != login);
            }
            assert_eq!(plugin, kubectl, "{} by {way}", asking.name);
            impersonated += kubectl.0.len();
        }
    }
    assert!(impersonated > 20, "they were told {impersonated} headers");
}
