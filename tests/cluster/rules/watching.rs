//! `list --watch` and `devices --watch`: what others do is shown as it happens.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Deserializer, Value};

use super::support::{KEY, World};
use crate::harness::{ControlPlane, DEADLINE, PLUGIN, block_on};

/// The program while it watches.
struct Watching {
    child: Child,
    stdout: Arc<Mutex<String>>,
}

impl Watching {
    fn begin(world: &World<'_>, line: &str) -> Self {
        let mut child = world
            .plane
            .command(PLUGIN)
            .args(world.words(line))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the plugin can be run");
        let mut pipe = child.stdout.take().expect("a pipe");
        let stdout = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&stdout);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]);
                let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                written.push_str(&text);
            }
        });
        Self { child, stdout }
    }

    fn shown(&self) -> String {
        let stdout = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        stdout.clone()
    }

    /// Waits until what was shown is as wanted.
    #[track_caller]
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let end = Instant::now() + DEADLINE;
        while !wanted(&self.shown()) {
            assert!(Instant::now() < end, "no {what}: {}", self.shown());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Interrupts it, as Ctrl-C does, and gives its standard error.
    #[track_caller]
    fn interrupted(mut self) -> String {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &process]).status();
        assert!(sent.expect("kill can be run").success());
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut said).expect("text");
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(130), "{said}");
        said
    }
}

#[test]
fn a_watched_list_shows_what_becomes_of_a_rule() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=x"));
    let watching = Watching::begin(&world, &format!("list {name} --watch"));
    let has = |effect: &'static str, pods: &'static str| {
        let name = name.clone();
        move |shown: &str| {
            let mut rows = shown.lines().filter(|line| line.starts_with(&name));
            rows.any(|row| {
                let cells: Vec<&str> = row.split_whitespace().collect();
                cells[2] == effect && cells[7] == pods
            })
        }
    };
    watching.until("rule without effect", has("None", "1"));
    world
        .run(&format!("escalate {name} --to NoSchedule --yes"))
        .ended(0);
    watching.until("rule that blocks", has("NoSchedule", "0"));
    world
        .run(&format!("escalate {name} --to NoExecute --yes"))
        .ended(0);
    watching.until("eviction", |shown| shown.contains("0 (+1 terminating)"));
    let said = watching.interrupted();
    assert!(said.contains("error: interrupted"), "{said}");
}

#[test]
fn watched_devices_come_as_one_document_after_another() {
    let world = block_on(World::new(ControlPlane::shared()));
    let watching = Watching::begin(&world, "devices DRIVER --watch -o json");
    let documents = |shown: &str| -> Vec<Value> {
        let documents = Deserializer::from_str(shown).into_iter::<Value>();
        documents.map_while(Result::ok).collect()
    };
    let last = |shown: &str| documents(shown).pop().unwrap_or_default();
    watching.until("first document", |shown| documents(shown).len() == 1);
    block_on(world.pod("train", "gpu-1"));
    watching.until("user", |shown| last(shown)["items"][1]["free"] == false);
    world
        .run(&format!("add GPU1 {KEY}:NoSchedule --yes"))
        .ended(0);
    watching.until("taint", |shown| {
        last(shown)["items"][1]["taints"][0]["key"] == KEY
    });
    // Nobody has to be told that a look has changed nothing.
    assert_eq!(watching.interrupted(), "error: interrupted\n");
}

#[test]
fn watched_names_are_names_again_and_again() {
    let world = block_on(World::new(ControlPlane::shared()));
    let watching = Watching::begin(&world, "devices DRIVER --free --watch -o name");
    let both = format!("{}\n{}\n", world.device("gpu-0"), world.device("gpu-1"));
    watching.until("both devices", |shown| shown == both);
    block_on(world.pod("train", "gpu-0"));
    let then = format!("{both}\n{}\n", world.device("gpu-1"));
    watching.until("device that is left", |shown| shown == then);
    watching.interrupted();
}
