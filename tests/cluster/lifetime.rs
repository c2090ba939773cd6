//! Does nothing stay behind, however a test binary ends?

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::harness::{ControlPlane, DEADLINE, Variant, block_on, wait_for};

/// Starts fastest.
fn smallest() -> Variant {
    Variant::default().without_controllers().without_scheduler()
}

/// Whether the process has ended; one that nobody has asked about yet counts as ended.
fn ended(process_id: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{process_id}/stat")) else {
        return true;
    };
    // The name in parentheses may contain anything; the state follows it.
    status
        .rsplit_once(") ")
        .is_none_or(|(_, rest)| rest.starts_with('Z'))
}

fn wait_until_ended(what: &str, process_ids: &[u32]) {
    assert!(!process_ids.is_empty());
    block_on(wait_for(what, DEADLINE, async || {
        process_ids.iter().all(|id| ended(*id)).then_some(())
    }));
}

fn signal(name: &str, process_id: u32) {
    let status = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(process_id.to_string())
        .status();
    assert!(status.expect("kill can be run").success());
}

#[test]
fn nothing_is_left_of_a_control_plane_that_is_dropped() {
    let plane = ControlPlane::start(&smallest());
    let ids: Vec<_> = plane.process_ids().values().copied().collect();
    let folder = plane.folder().to_owned();
    assert!(ids.iter().all(|id| !ended(*id)) && folder.exists());

    drop(plane);
    wait_until_ended("dropped", &ids);
    assert!(!folder.exists());
}

#[test]
fn components_end_when_their_owner_is_killed() {
    let plane = ControlPlane::start(&Variant::default());
    let ids: Vec<_> = plane.process_ids().values().copied().collect();
    signal("KILL", plane.owner_process_id());
    wait_until_ended("owner killed", &ids);
}

#[test]
fn nothing_is_left_when_the_test_binary_is_killed() {
    for name in ["KILL", "TERM", "INT"] {
        let (mut binary, ids, folder) = other_test_binary();
        signal(name, binary.id());
        binary.wait().expect("the test binary ends");
        wait_until_ended(name, &ids);
        block_on(wait_for("its files are removed", DEADLINE, async || {
            (!folder.exists()).then_some(())
        }));
    }
}

/// Runs [`hold`] in another test binary; with its components and its folder.
fn other_test_binary() -> (Child, Vec<u32>, PathBuf) {
    let mut binary = Command::new(env::current_exe().expect("the test binary has a path"))
        .args([
            "--exact",
            "cluster::lifetime::hold",
            "--ignored",
            "--nocapture",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test binary can be run");
    let lines = BufReader::new(binary.stdout.take().expect("stdout is a pipe"))
        .lines()
        .map_while(Result::ok);
    let line = lines
        .into_iter()
        .find(|line| line.contains(MARK))
        .expect("the other test binary has a control plane");
    let (_, line) = line.split_once(MARK).expect("the line has the mark");
    let (folder, ids) = line
        .split_once(' ')
        .expect("the line has a folder and processes");
    let ids = ids
        .split(' ')
        .map(|id| id.parse().expect("a process ID is a number"))
        .collect();
    (binary, ids, Path::new(folder).to_owned())
}

const MARK: &str = "control plane: ";

/// Not a test: holds a control plane until somebody kills it.
#[test]
#[ignore = "waits until it is killed"]
fn hold() {
    let plane = ControlPlane::start(&smallest());
    let ids: Vec<_> = plane.process_ids().values().map(u32::to_string).collect();
    println!("{MARK}{} {}", plane.folder().display(), ids.join(" "));
    loop {
        std::thread::park();
    }
}
