//! Does nothing of a node stay behind, and is the machine that it runs on left as it is?

use std::{env, fs, path::Path, process::Command};

use super::bench::plane;
use crate::harness::{DEADLINE, Node, block_on, build_node, driver_name, random_suffix, wait_for};

/// What a kubelet writes into the kernel where nobody keeps it from that.
const SETTINGS: [&str; 4] = [
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/panic_on_oops",
];

fn settings() -> Vec<String> {
    let read = |path: &&str| fs::read_to_string(path).unwrap_or_default();
    SETTINGS.iter().map(read).collect()
}

fn is_there(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

#[test]
fn nothing_of_a_node_stays_behind_and_the_machine_is_as_it_was() {
    let Some(plane) = plane() else { return };
    let before = settings();
    let folders = ["/var/lib/kubelet", "/var/log/pods"].map(|path| Path::new(path).exists());
    let name = format!("node-{}", random_suffix());
    let node = Node::start(plane, &name, &driver_name());
    assert_eq!(settings(), before, "while the node runs");
    let folder = node.folder().to_owned();
    let ids: Vec<u32> = node.process_ids().values().copied().collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| is_there(*id)));
    drop(node);
    assert!(!ids.iter().any(|id| is_there(*id)));
    assert!(!folder.exists());
    let after = ["/var/lib/kubelet", "/var/log/pods"].map(|path| Path::new(path).exists());
    assert_eq!(after, folders);

    let killed = Node::start(plane, &format!("{name}-b"), &driver_name());
    let ids: Vec<u32> = killed.process_ids().values().copied().collect();
    let status = Command::new("kill")
        .args(["-KILL", &killed.owner_process_id().to_string()])
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    let what = "the processes of a node whose owner was killed have ended";
    block_on(wait_for(what, DEADLINE, async || {
        (!ids.iter().any(|id| is_there(*id))).then_some(())
    }));
}

#[test]
fn where_no_node_can_run_one_line_says_why() {
    let Some(plane) = plane() else { return };
    let program = build_node().unwrap_or_else(|reason| panic!("{reason}"));
    // Root of a machine that lets nobody have mounts of his own.
    let output = Command::new("setpriv")
        .args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"])
        .arg(program)
        .args(["up", "--name", "node-without-rights", "--kubeconfig"])
        .arg(plane.kubeconfig())
        .output()
        .expect("setpriv can be run");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    let words = "error: a node needs root and mounts of its own";
    assert!(
        said.starts_with(words) && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn who_leaves_the_tests_with_nodes_out_is_told_so() {
    const TEST: &str =
        "cluster::nodes::lifetime::nothing_of_a_node_stays_behind_and_the_machine_is_as_it_was";
    let output = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", TEST])
        .env("DEVICETAINT_NODES", "none")
        .output()
        .expect("this program can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("left out"),
        "{said}"
    );
}
