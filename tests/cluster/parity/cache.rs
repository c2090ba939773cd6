//! What is remembered of a server, by kubectl and by this program, in the same files.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, SystemTime},
};

use crate::harness::{At, ControlPlane, Fault, PLUGIN, Proxy, Reply, random_suffix};

/// A server in front of the real one that writes down what is asked, and an empty cache.
struct Bench {
    plane: &'static ControlPlane,
    proxy: Proxy,
    cache: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let plane = ControlPlane::shared();
        let folder = plane.folder().join(format!("cached-{}", random_suffix()));
        Self {
            plane,
            proxy: Proxy::start(plane),
            cache: folder,
        }
    }

    fn run(&self, mut command: Command, words: &[&str]) -> Output {
        self.proxy.plan([]);
        command
            .args(words)
            .env("KUBECONFIG", &self.proxy.kubeconfig)
            .env("KUBECACHEDIR", &self.cache);
        command.output().expect("it can be run")
    }

    /// Runs the plugin; gives what it asked the server for.
    fn plugin(&self, words: &[&str]) -> (Output, Vec<String>) {
        let output = self.run(self.plane.command(PLUGIN), words);
        (output, self.asked())
    }

    fn kubectl(&self, words: &[&str]) -> (Output, Vec<String>) {
        let output = self.run(self.plane.command(self.plane.kubectl_path()), words);
        (output, self.asked())
    }

    fn asked(&self) -> Vec<String> {
        let seen = self.proxy.seen();
        seen.into_iter().map(|seen| seen.path).collect()
    }

    /// Where both remember what `resource.k8s.io/v1` has.
    fn file(&self) -> PathBuf {
        let server = self.proxy.server.replace("https://", "").replace(':', "_");
        self.cache
            .join("discovery")
            .join(server)
            .join("resource.k8s.io/v1/serverresources.json")
    }

    /// The plugin's answer, which has to be right whatever is remembered.
    #[track_caller]
    fn assert_right(&self, what: &str) -> Vec<String> {
        let (output, asked) = self.plugin(&["devices", "-o", "json"]);
        assert!(output.status.success(), "{what}: {output:?}");
        let report: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a report in JSON");
        assert!(
            report["incomplete"].as_array().is_none_or(Vec::is_empty),
            "{what}: {report:#}"
        );
        asked
    }
}

/// What asks a server what it has.
fn discovers(asked: &[String]) -> bool {
    asked
        .iter()
        .any(|path| path.starts_with("/apis/resource.k8s.io") && path.matches('/').count() < 4)
}

#[test]
fn second_run_asks_for_lists_at_once() {
    let bench = Bench::new();
    let first = bench.assert_right("nothing is remembered");
    assert!(discovers(&first), "{first:?}");
    let second = bench.assert_right("everything is remembered");
    assert!(!discovers(&second), "{second:?}");
    // Only the server says which version it is.
    assert!(second.iter().any(|path| path == "/version"), "{second:?}");
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&bench.file()) & !0o660, 0);
    assert_eq!(mode(bench.file().parent().expect("a folder")) & !0o750, 0);
}

#[test]
fn kubectl_and_the_plugin_read_each_others_files() {
    let bench = Bench::new();
    let (output, _) = bench.kubectl(&["get", "resourceslices"]);
    assert!(output.status.success(), "{output:?}");
    let by_kubectl = bench.file();
    assert!(
        by_kubectl.is_file(),
        "kubectl remembers it at {}",
        by_kubectl.display()
    );
    let asked = bench.assert_right("kubectl remembers everything");
    assert!(!discovers(&asked), "{asked:?}");

    fs::remove_file(&by_kubectl).expect("a file");
    let asked = bench.assert_right("one file is gone");
    assert!(discovers(&asked) && by_kubectl.is_file(), "{asked:?}");
    let (output, asked) = bench.kubectl(&["get", "resourceslices"]);
    assert!(output.status.success(), "{output:?}");
    assert!(!discovers(&asked), "kubectl takes our file: {asked:?}");
}

#[test]
fn cache_dir_is_where_it_is_said_to_be() {
    let bench = Bench::new();
    let other = bench.cache.with_extension("other");
    let flag = format!("--cache-dir={}", other.display());
    for _ in 0..2 {
        let (output, _) = bench.plugin(&["devices", &flag]);
        assert!(output.status.success(), "{output:?}");
    }
    assert!(!bench.cache.exists() && other.join("discovery").is_dir());
    // kubectl's place without flag and variable.
    let home = bench.cache.with_extension("home");
    let mut command = bench.plane.command(PLUGIN);
    command
        .env_remove("KUBECACHEDIR")
        .env("HOME", &home)
        .arg("devices");
    command.env("KUBECONFIG", &bench.proxy.kubeconfig);
    assert!(command.status().expect("it can be run").success());
    assert!(home.join(".kube/cache/discovery").is_dir());
}

#[test]
fn cache_never_makes_an_answer_wrong() {
    let bench = Bench::new();
    bench.assert_right("nothing is remembered");
    let file = bench.file();
    let good = fs::read_to_string(&file).expect("a file");
    let put = |content: &str| fs::write(&file, content).expect("a file");
    for (what, content) in [
        ("cut short", &good[..good.len() / 2]),
        ("empty", ""),
        ("no JSON", "hello"),
        (
            "another kind",
            &good.replace("APIResourceList", "APIGroupList"),
        ),
        (
            "another version",
            &good.replace("resource.k8s.io/v1", "resource.k8s.io/v2"),
        ),
        // Nobody but the server may say that there are no rules.
        ("no rules", &good.replace("devicetaintrules", "others")),
        (
            "nothing at all",
            r#"{"kind":"APIResourceList","groupVersion":"resource.k8s.io/v1","resources":[]}"#,
        ),
        ("nothing to list", &good.replace("\"list\"", "\"look\"")),
    ] {
        put(content);
        let asked = bench.assert_right(what);
        assert!(discovers(&asked), "{what}: {asked:?}");
        assert_eq!(
            fs::read_to_string(&file).expect("a file"),
            good,
            "{what}: it is mended"
        );
    }
    let age = |hours: u64| {
        let time = SystemTime::now() - Duration::from_secs(hours * 3600);
        let opened = fs::File::options()
            .append(true)
            .open(&file)
            .expect("a file");
        opened.set_modified(time).expect("a time");
    };
    age(7);
    assert!(discovers(&bench.assert_right("older than six hours")));
    age(5);
    assert!(!discovers(&bench.assert_right("not so old")));
    let opened = fs::File::options()
        .append(true)
        .open(&file)
        .expect("a file");
    let future = SystemTime::now() + Duration::from_secs(86_400);
    opened.set_modified(future).expect("a time");
    assert!(discovers(&bench.assert_right("from the future")));
    // What is no file is not read, and what cannot be written is no reason to fail.
    fs::remove_file(&file).expect("a file");
    fs::create_dir(&file).expect("a folder");
    assert!(discovers(&bench.assert_right("a folder in its place")));
    fs::remove_dir_all(&bench.cache).expect("a folder");
    fs::write(&bench.cache, "a file in the place of the cache").expect("a file");
    assert!(discovers(
        &bench.assert_right("a file in the place of the cache")
    ));
}

/// Whatever a cache says that the server has: a list that is not there is asked of the server.
#[test]
fn what_the_server_no_longer_has_is_discovered_again() {
    let bench = Bench::new();
    bench.assert_right("nothing is remembered");
    let gone = Reply::json(
        "404 Not Found",
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{},"code":404,"message":"the server could not find the requested resource"}"#,
    );
    let rules = "/apis/resource.k8s.io/v1/devicetaintrules";
    let run = || {
        let mut command = bench.plane.command(PLUGIN);
        command
            .args(["devices", "-o", "json"])
            .env("KUBECONFIG", &bench.proxy.kubeconfig)
            .env("KUBECACHEDIR", &bench.cache);
        command.output().expect("it can be run")
    };
    // Gone once, as where the server is replaced meanwhile: found again, and right.
    bench
        .proxy
        .plan([(At::Path(rules.to_owned(), 1), Fault::Answer(gone.clone()))]);
    let output = run();
    assert!(output.status.success(), "{output:?}");
    assert!(discovers(&bench.asked()), "{:?}", bench.asked());
    // Gone for good while discovery has it: that is no answer.
    bench.assert_right("remembered again");
    bench
        .proxy
        .plan([(At::Path(rules.to_owned(), 99), Fault::Answer(gone))]);
    let output = run();
    assert!(!output.status.success(), "{output:?}");
    assert!(discovers(&bench.asked()), "{:?}", bench.asked());
}
