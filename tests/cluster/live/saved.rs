//! Measures time and memory of a preview of saved state. Run by `benches/live.sh`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use super::large::{DRIVER, RUNS, measured, say};
use crate::harness::ControlPlane;

/// Copies of the snapshot of 1,000 nodes in one file: 5,000 nodes with 142,000 pods, of which 32,000 use a
/// claim and are saved.
const TIMES: usize = 5;

/// Limits for a preview of a file: in seconds, and in megabytes.
struct Aim {
    seconds: f64,
    megabytes: Option<f64>,
}

/// The table of saved state: output of kubectl for the cluster, and a snapshot of five of them.
pub(super) fn measure(plane: &ControlPlane, plugin: &Path) {
    say("| preview of one device in | MB | seconds | at most | memory, MB | at most |");
    say("|---|---|---|---|---|---|");
    let aim = Aim {
        seconds: 0.6,
        megabytes: None,
    };
    preview(plane, plugin, &dump(plane), &aim);
    let aim = Aim {
        seconds: 1.2,
        megabytes: Some(250.0),
    };
    preview(plane, plugin, &snapshot(plane, plugin), &aim);
}

fn preview(plane: &ControlPlane, plugin: &Path, file: &Path, aim: &Aim) {
    let (mut fastest, mut largest) = (Duration::MAX, 0.0_f64);
    for _ in 0..RUNS {
        let mut command = plane.command(plugin);
        let device = format!("{DRIVER}/node-0007/gpu-0");
        command.args(["preview", &device, "-o", "json", "--from"]);
        let (took, memory) = measured(command.arg(file));
        (fastest, largest) = (fastest.min(took), largest.max(memory));
    }
    let bytes = fs::metadata(file).expect("a file").len();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let most = aim
        .megabytes
        .map_or("–".to_owned(), |most| format!("{most:.0}"));
    say(&format!(
        "| {name} | {} | {:.2} | {:.1} | {largest:.0} | {most} |",
        bytes / 1_000_000,
        fastest.as_secs_f64(),
        aim.seconds,
    ));
}

/// Output of kubectl for slices, claims and pods.
fn dump(plane: &ControlPlane) -> PathBuf {
    let file = plane.folder().join("kubectl.json");
    let mut kubectl = plane.command(plane.kubectl_path());
    kubectl.args([
        "get",
        "resourceslices,resourceclaims,pods",
        "-A",
        "-o",
        "json",
    ]);
    kubectl.stdout(File::create(&file).expect("a file"));
    let status = kubectl.status().expect("kubectl can be run");
    assert!(status.success(), "{status}");
    file
}

/// A snapshot of the cluster, as often as there are clusters in it: each under names of its own.
fn snapshot(plane: &ControlPlane, plugin: &Path) -> PathBuf {
    let one = plane.folder().join("one.json");
    let mut command = plane.command(plugin);
    let status = command.args(["snapshot", "-o"]).arg(&one).status();
    assert!(status.expect("the plugin can be run").success());
    let text = fs::read_to_string(&one).expect("a snapshot");
    let mut list: Value = serde_json::from_str(&text).expect("JSON");
    let items = list["items"].take();
    let file = plane.folder().join("snapshot.json");
    let mut to = BufWriter::new(File::create(&file).expect("a file"));
    let head = list.to_string();
    let (head, tail) = head.split_once("\"items\":null").expect("a list");
    write!(to, "{head}\"items\":[").expect("space");
    let items = items.as_array().expect("items");
    for number in 0..TIMES {
        for (place, item) in items.iter().enumerate() {
            let comma = if number + place == 0 { "" } else { "," };
            write!(to, "{comma}{}", renamed(item.to_string(), number)).expect("space");
        }
    }
    write!(to, "]{tail}").expect("space");
    to.flush().expect("space");
    file
}

/// The object as one of the cluster with that number; the first keeps its names.
fn renamed(object: String, number: usize) -> String {
    if number == 0 {
        return object;
    }
    [
        ("\"node-", "node"),
        ("\"train-", "train"),
        ("\"training-", "training"),
        ("\"uid\":\"", ""),
    ]
    .into_iter()
    .fold(object, |object, (found, word)| match word {
        "" => object.replace(found, &format!("{found}{number}")),
        word => object.replace(found, &format!("\"{word}-{number}")),
    })
}
