//! Measures memory of the program while it reads endless input.
//!
//! The largest resident size of the real program, as the kernel counts it. Unit tests count the bytes read;
//! this is their effect.

#![cfg(target_os = "linux")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test or benchmark, not the program"
)]

mod kubelet;
mod server;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use flate2::Compression;
use flate2::write::GzEncoder;
use nix::sys::resource::{UsageWho, getrusage};

/// Most MiB of a run, 40 of which a program takes that was not built to be released.
const MOST: i64 = 96;

/// Far longer than the limit of a second, for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Output of a run, and the largest size of any run so far in MiB.
fn run(arguments: &[&str], stdin: Stdio) -> (String, i64) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-devicetaint"))
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(stdin)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // Refused, waited for in vain, or too slow, which another try may mend.
    let code = output.status.code();
    assert!(
        [Some(1), Some(5), Some(75)].contains(&code),
        "{arguments:?}: {code:?} {said}"
    );
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts");
    (said, usage.max_rss() >> 10)
}

/// Data that unpacks to so many megabytes, a thousandth of them.
fn packed(megabytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..megabytes {
        encoder.write_all(&[b' '; 1 << 20]).expect("memory");
    }
    encoder.finish().expect("memory")
}

/// 4 MB that unpack to 4 GB.
fn bomb(path: &Path) {
    let packed = packed(1);
    fs::write(path, packed.repeat((4 << 20) / packed.len())).expect("a file");
}

/// A kubeconfig whose user's plugin never stops printing.
fn talkative(path: &Path) {
    let config = "
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users:
- name: u
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: 'yes', interactiveMode: Never}}
";
    fs::write(path, config).expect("a file");
}

/// A list as kubectl prints it, with 128 MB of objects of which none is needed.
fn long_list(path: &Path) {
    let data = "x".repeat(1 << 20);
    let object = format!(r#"{{"apiVersion":"v1","kind":"Secret","data":{{"a":"{data}"}}}}"#);
    // Not in memory as a whole here either: the memory of a process at the start of another one counts as
    // that of the other.
    let mut file = fs::File::create(path).expect("a file");
    let mut write = |text: &str| file.write_all(text.as_bytes()).expect("a file");
    write(r#"{"apiVersion":"v1","items":["#);
    for place in 0..128 {
        write(if place == 0 { "" } else { "," });
        write(&object);
    }
    write(r#"],"kind":"List"}"#);
}

/// Where `yes` comes out.
fn yes() -> Stdio {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    thread::spawn(move || while writer.write_all(&b"a: b\n".repeat(1 << 12)).is_ok() {});
    reader.into()
}

#[test]
fn what_does_not_end_takes_no_more_memory_than_a_large_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (packed, config) = (place("bomb.json.gz"), place("config"));
    let list = place("list.json");
    long_list(Path::new(&list));
    bomb(Path::new(&packed));
    talkative(Path::new(&config));
    // Each is a process of its own, and most of them wait.
    thread::scope(|scope| {
        for answers in kubelet::Answer::ALL.chunks(3) {
            scope.spawn(|| at_a_kubelets_socket(folder.path(), answers));
        }
        for questions in server::Question::ALL.chunks(7) {
            scope.spawn(|| at_an_api_server(questions));
        }
        at_files(&packed, &config, &list);
    });
}

/// Everything that is read from files, plugins and standard input.
fn at_files(packed: &str, config: &str, list: &str) {
    let server = "--server https://127.0.0.1:1 --certificate-authority";
    for (line, expected) in [
        (format!("devices --from {list}"), "128 × Secret"),
        ("devices --from /dev/zero".to_owned(), "is not text"),
        (format!("devices --kubeconfig {config}"), "yes"),
        ("devices --kubeconfig /dev/zero".to_owned(), "/dev/zero"),
        (format!("devices {server} /dev/zero"), "/dev/zero"),
        ("add -f /dev/zero".to_owned(), "is not text"),
        ("add -f -".to_owned(), "stdin"),
        (format!("devices --from {packed}"), "than 48 MiB"),
        ("devices --from -".to_owned(), "than 48 MiB"),
    ] {
        let is_read = line.ends_with(" -");
        let stdin = if is_read { yes() } else { Stdio::null() };
        let arguments: Vec<&str> = line.split(' ').collect();
        let (said, peak) = run(&arguments, stdin);
        println!("{arguments:?}: {peak} MiB");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(peak < MOST, "{arguments:?}: {peak} MiB");
    }
}

/// Everything that asks a kubelet, and these ways to answer it without an end.
fn at_a_kubelets_socket(folder: &Path, answers: &[kubelet::Answer]) {
    for answer in answers {
        let socket = kubelet::socket(folder, *answer);
        let socket = socket.to_str().expect("a path of ASCII");
        for question in [
            &["podresources", "list", "--socket", socket][..],
            &["podresources", "check", "--node", "n", "--socket", socket],
        ] {
            let arguments = [question, &["--request-timeout", "1s"]].concat();
            let began = Instant::now();
            let (said, peak) = run(&arguments, Stdio::null());
            println!("{answer:?} {question:?}: {peak} MiB");
            assert!(peak < MOST, "{answer:?} {arguments:?}: {peak} MiB");
            assert!(said.contains(socket), "{answer:?} {arguments:?}: {said}");
            let taken = began.elapsed();
            assert!(taken < PATIENCE, "{answer:?} {arguments:?}: {taken:?}");
        }
    }
}

/// Endless answers of an API server.
fn at_an_api_server(questions: &'static [server::Question]) {
    for question in questions {
        let server::Question { answer, path, line } = question;
        let address = server::serve(question);
        let words: Vec<&str> = line.split(' ').collect();
        let connection = ["--server", &address, "--request-timeout", "2s"];
        let began = Instant::now();
        let (said, peak) = run(&[&words[..], &connection].concat(), Stdio::null());
        let taken = began.elapsed();
        println!("{answer:?} {path} {line}: {peak} MiB, {taken:?}: {said}");
        assert!(peak < MOST, "{answer:?} {path}: {peak} MiB");
        let is_told = said.contains(&address) || matches!(answer, server::Answer::Events);
        assert!(is_told, "{answer:?} {path}: {said}");
        assert!(taken < PATIENCE, "{answer:?} {path}: {taken:?}");
    }
}
