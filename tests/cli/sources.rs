//! `--from`: files, folders, streams, and what they lack.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::harness::{EXAMPLE, Folder, devicetaint, example};

const QUESTION: &str = "preview gpu.example.com/node-7/gpu-0 a:NoExecute -o json";

/// What every way to hand over the example has to give.
fn expected() -> String {
    devicetaint(&format!("{QUESTION} --from {EXAMPLE}")).shown()
}

/// The objects of the example of the kinds that `wants` takes.
fn objects(wants: impl Fn(&str) -> bool) -> Vec<Value> {
    let list: Value = serde_yaml::from_str(&example()).expect("YAML");
    let items = list["items"].as_array().expect("a list");
    let wanted = items
        .iter()
        .filter(|item| wants(item["kind"].as_str().expect("a kind")));
    wanted.cloned().collect()
}

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).expect("gzip");
    encoder.finish().expect("gzip")
}

#[test]
fn json_is_read_like_yaml() {
    let folder = Folder::new().with("cluster.json", list(&objects(|_| true)));
    let run = folder.devicetaint(&format!("{QUESTION} --from cluster.json"));
    assert_eq!(run.shown(), expected());
}

#[test]
fn gzip_and_standard_input_are_read_whatever_their_name() {
    let packed = gzip(&example());
    let folder = Folder::new().with("cluster", &packed);
    for (line, input) in [
        ("--from cluster", b"".as_slice()),
        ("--from -", example().as_bytes()),
        ("--from=-", packed.as_slice()),
    ] {
        let run = folder.devicetaint_reading(&format!("{QUESTION} {line}"), input);
        assert_eq!(run.shown(), expected(), "{line}");
    }
}

#[test]
fn files_of_both_formats_are_one_cluster() {
    let yaml = |items: Vec<Value>| {
        let documents: Vec<String> = items
            .iter()
            .map(|item| serde_yaml::to_string(item).expect("YAML"))
            .collect();
        documents.join("---\n")
    };
    let of = |kind: &'static str| objects(move |found| found == kind);
    let rest = objects(|kind| !["Pod", "ResourceClaim", "ResourceSlice"].contains(&kind));
    let folder = Folder::new()
        .with("dump/pods.json", list(&of("Pod")))
        .with("dump/claims.yaml", yaml(of("ResourceClaim")))
        .with("dump/slices.json.gz", gzip(&list(&of("ResourceSlice"))))
        .with("dump/notes.txt", "not read")
        .with("rest.yml", yaml(rest));
    let run = folder.devicetaint(&format!("{QUESTION} --from dump --from rest.yml"));
    assert_eq!(run.shown(), expected());
    let run = folder.devicetaint(&format!(
        "{QUESTION} --from rest.yml --from dump/slices.json.gz --from dump/pods.json --from dump/claims.yaml"
    ));
    assert_eq!(run.shown(), expected());
}

#[test]
fn same_object_twice_is_a_warning_and_the_newer_counts() {
    let mut older = objects(|kind| kind == "Pod");
    older.retain(|pod| pod["metadata"]["name"] == "notebook-anna");
    older[0]["metadata"]["resourceVersion"] = json!("1");
    older[0]["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:00Z");
    let folder = Folder::new()
        .with("older.json", list(&older))
        .with_example();
    let line = "preview gpu.example.com/node-7/gpu-0 a:NoExecute -o name --from older.json";
    let run = folder.devicetaint(&format!("{line} --from cluster.yaml"));
    assert_snapshot!(run.shown(), @r"
    pod/notebook-anna -n research
    pod/embed-5f6b8c9d77-mdd2q -n serving
    pod/rerank-6b4d9f8c5-wxh7f -n serving
    [stderr]
    warning: Pod research/notebook-anna occurs twice, with resourceVersion 1 and 1094063; the one with 1094063 is used; remove the other one from the input
    [exit status: 0]
    ");
}

#[test]
fn kinds_that_are_missing_make_the_answer_incomplete() {
    let folder = Folder::new()
        .with(
            "claims.json",
            list(&objects(|kind| kind == "ResourceClaim")),
        )
        .with("pods.json", list(&objects(|kind| kind == "Pod")));
    let line = "preview gpu.example.com/node-9/gpu-1 a:NoExecute --from claims.json";
    assert_snapshot!(folder.devicetaint(line).shown(), @"
    gpu.example.com/node-9/gpu-1   taint a:NoExecute

    TAINT         RULE     SELECTOR                       PUBLISHED   ALLOCATIONS        PODS   NAMESPACES
    a:NoExecute   <none>   gpu.example.com/node-9/gpu-1   <unknown>             1   <unknown>    <unknown>

    Message that the controller would report for effect None:
      unknown, because this data could not be read: resourceslices, pods

    Incomplete:
      resourceslices: the input contains no ResourceSlice: running drivers, unallocated devices, and taints set by drivers are unknown
      devicetaintrules: the input contains no DeviceTaintRule: taints of existing rules are not counted
      pods: the input contains no Pod: the pods that would be evicted are not all known

    Impact unknown, because data is missing: pods.
    [exit status: 0]
    ");
    assert_snapshot!(folder.devicetaint(&format!("{line} --from pods.json")).shown(), @"
    gpu.example.com/node-9/gpu-1   taint a:NoExecute

    Top risks:
      warning   research/xid-triage: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                   WORKLOAD   RISKS
    warning    now    research/xid-triage   <none>     unmanaged, long-grace

    TAINT         RULE     SELECTOR                       PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    a:NoExecute   <none>   gpu.example.com/node-9/gpu-1   <unknown>             1      1            1

    Message that the controller would report for effect None:
      unknown, because this data could not be read: resourceslices

    Incomplete:
      resourceslices: the input contains no ResourceSlice: running drivers, unallocated devices, and taints set by drivers are unknown
      devicetaintrules: the input contains no DeviceTaintRule: taints of existing rules are not counted
      poddisruptionbudgets: the input contains no PodDisruptionBudget: violations of PodDisruptionBudgets are unknown
      nodes: the input contains no Node: it is unknown whether the nodes of the pods are ready
      replacements: the input contains no DeviceClass and no Node: it is unknown whether claims can be reallocated

    1 pod in 1 namespace would be evicted now.
    Risks may be missing, because these could not be read: resourceslices, devicetaintrules, poddisruptionbudgets, nodes, replacements.
    If the nodes and drivers of these pods are running, which is unknown, the last evicted pod is gone after about 30s (at full grace period); unknown whether the same hardware is in use through other devices.
    The evicted pod is on node-9, and uses gpu.example.com/node-9/gpu-1.
    [exit status: 0]
    ");
    let strict = folder.devicetaint(&format!("{line} --strict -o json"));
    assert_eq!(strict.code, 6);
    assert_eq!(
        strict.json()["incomplete"].as_array().map(Vec::len),
        Some(3)
    );
    assert_snapshot!(strict.stderr, @"error: the report is incomplete: resourceslices, devicetaintrules, pods");
}

/// A claim that holds gpu-1 of node-9, and nothing about who uses it.
fn claims_alone() -> Folder {
    Folder::new().with(
        "claims.json",
        list(&objects(|kind| kind == "ResourceClaim")),
    )
}

#[test]
fn a_guard_whose_value_is_not_known_trips_and_says_why() {
    let line = "preview gpu.example.com/node-9/gpu-1 a:NoExecute --from claims.json --abort-if";
    let guarded = |guard: &str| claims_alone().devicetaint(&format!("{line} {guard}"));
    let run = guarded("pods.evicted>0");
    assert_eq!(run.code, 4);
    assert_snapshot!(run.stderr, @"error: guard tripped: pods.evicted>0, the value is unknown \
        (missing: pods)");
    assert!(
        run.stdout
            .contains("Guard pods.evicted>0 tripped: the value is unknown (missing: pods)."),
        "{}",
        run.stdout
    );
    let json = guarded("pods.evicted>0 -o json").json();
    assert_eq!(json["guardResults"][0]["count"], serde_json::Value::Null);
    assert_eq!(json["guardResults"][0]["tripped"], true);
    assert_eq!(
        json["proposedTaints"][0]["controllerMessage"],
        serde_json::Value::Null
    );
    // Which devices are selected depends on slices and claims, not on pods.
    assert_eq!(guarded("devices.selected>1").code, 4);
    assert_eq!(guarded("devices.selected<1").code, 0);
}

#[test]
fn names_of_an_incomplete_answer_say_so_beside_them_and_end_with_6() {
    let run = claims_alone()
        .devicetaint("preview gpu.example.com/node-9/gpu-1 a:NoExecute --from claims.json -o name");
    assert_snapshot!(run.shown(), @r"
    [stderr]
    error: incomplete: names may be missing from this list
      pods: the input contains no Pod: the pods that would be evicted are not all known
    [exit status: 6]
    ");
}

#[test]
fn complete_answer_is_no_error_when_strict() {
    let run = devicetaint(&format!("{QUESTION} --from {EXAMPLE} --strict"));
    assert_eq!(run.shown(), expected());
}

#[test]
fn files_without_a_time_need_one() {
    let slice = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},
        "spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"x"}]}}"#;
    let folder = Folder::new().with("slice.json", slice);
    assert_snapshot!(folder.devicetaint("devices --from slice.json").shown(), @"
    [stderr]
    error: the files contain no timestamp, so the times of evictions are unknown
    hint: set the time of the report: --now 2026-11-21T01:00:00Z
    [exit status: 2]
    ");
    let run = folder.devicetaint("devices --from slice.json --now 2026-11-21T00:00:00Z -o name");
    assert_snapshot!(run.shown(), @r"
    d/p/x
    [stderr]
    error: incomplete: names may be missing from this list
      resourceclaims: the input contains no ResourceClaim: allocated devices and the pods that use them are unknown
    [exit status: 6]
    ");
}

#[test]
fn newer_api_is_kept_shown_and_warned_about() {
    let objects = json!([
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s", "creationTimestamp": "2026-11-20T00:00:00Z", "brandNew": 1},
         "spec": {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n", "future": {"a": []},
                  "devices": [{"name": "x", "shiny": true, "taints": [{"key": "k", "effect": "Melt", "timeAdded": "2026-11-20T00:00:00Z"}]}]}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "n", "uid": "c"},
         "status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "p"}],
                    "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x",
                        "tolerations": [{"operator": "Matches", "key": "a"}]}]}}}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "rule"},
         "spec": {"deviceSelector": {"driver": "d", "rack": "7"}, "taint": {"key": "k", "effect": "Melt"}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "uid": "p"},
         "spec": {"nodeName": "n", "resourceClaims": [{"name": "c", "resourceClaimName": "c"}], "containers": []}, "status": {"phase": "Dreaming"}},
    ]);
    let folder = Folder::new().with("cluster.json", list(objects.as_array().expect("a list")));
    assert_snapshot!(folder.devicetaint("preview d/p/x a:NoExecute --from cluster.json").shown(), @"
    d/p/x   taint a:NoExecute

    Top risks:
      warning   n/p: has no controller: nothing recreates it

    SEVERITY   WHEN   POD   WORKLOAD   RISKS
    warning    now    n/p   <none>     unmanaged, long-grace

    Message that the controller would report for effect None:
      1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Incomplete:
      poddisruptionbudgets: the input contains no PodDisruptionBudget: violations of PodDisruptionBudgets are unknown
      nodes: the input contains no Node: it is unknown whether the nodes of the pods are ready
      replacements: the requests were not read (claim n/c): it is unknown whether claims can be reallocated

    1 pod in 1 namespace would be evicted now.
    Risks may be missing, because these could not be read: poddisruptionbudgets, nodes, replacements.
    If the nodes of these pods are running, which is unknown, the last evicted pod is gone after about 30s (at full grace period); then the device is free.
    The evicted pod is on n, and uses d/p/x.
    [stderr]
    warning: DeviceTaintRule rule has the unknown effect `Melt`, which evicts no pods; 1 more occurrence
    warning: ResourceClaim n/c has a toleration with the unknown operator `Matches`
    warning: Pod n/p has the unknown phase `Dreaming`
    warning: DeviceTaintRule rule has the unknown field `spec.deviceSelector.rack`, which the controller ignores
    [exit status: 0]
    ");
    assert_snapshot!(folder.devicetaint("preview --rule rule --from cluster.json").shown(), @"
    rule rule: d/*/* rack=?   taint k:Melt

    Not evicted:
      n/p: effects other than NoExecute do not evict

    TAINT    RULE   SELECTOR       PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    k:Melt   rule   d/*/* rack=?           1             1      0            0

    No pod would be evicted: effect Melt does not evict.
    1 pod uses a selected device: 1 not evicted.
    [stderr]
    warning: DeviceTaintRule rule has the unknown effect `Melt`, which evicts no pods; 1 more occurrence
    warning: ResourceClaim n/c has a toleration with the unknown operator `Matches`
    warning: Pod n/p has the unknown phase `Dreaming`
    warning: DeviceTaintRule rule has the unknown field `spec.deviceSelector.rack`, which the controller ignores
    [exit status: 0]
    ");
    assert_snapshot!(folder.devicetaint("devices --from cluster.json").shown(), @r"
      DEVICE   NODE   ALLOCATED   TAINTS                                CLAIMS   PODS
    n: 1 device, 1 allocated, 1 tainted
      d/p/x    n      yes         k:Melt (driver), k:Melt (rule rule)   n/c      n/p
    [stderr]
    warning: DeviceTaintRule rule has the unknown effect `Melt`, which evicts no pods; 1 more occurrence
    warning: ResourceClaim n/c has a toleration with the unknown operator `Matches`
    warning: Pod n/p has the unknown phase `Dreaming`
    warning: DeviceTaintRule rule has the unknown field `spec.deviceSelector.rack`, which the controller ignores
    [exit status: 0]
    ");
}

/// What a pipe says from which nothing comes, and that nobody closes.
#[cfg(unix)]
mod silent_pipe {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::super::harness::Folder;

    /// The exit code of the program, which is sent `signal` while it waits for the pipe.
    fn stopped(folder: &Folder, words: &[&str], signal: &str) -> Option<i32> {
        let mut child = folder
            .program()
            .args(words)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        // Until somebody listens, a signal ends any program.
        let listening = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
            let status = status.expect("a process");
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = u64::from_str_radix(caught.expect("a line").trim(), 16);
            caught.expect("a number") & (1 << 1 | 1 << 14) == (1 << 1 | 1 << 14)
        };
        let begun = Instant::now();
        while cfg!(target_os = "linux") && !listening() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "it never listens"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill").success());
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("a child") {
                return status.code();
            }
            if begun.elapsed() > Duration::from_secs(20) {
                child.kill().expect("a child");
                panic!("{words:?} does not end on {signal}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn signals_end_the_program_while_it_waits_for_a_pipe() {
        let folder = Folder::new();
        let pipe = folder.path("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        for words in [
            &["devices", "--from", "-"][..],
            &["list", "-o", "json", "--from", "-"],
            &["devices", "--from", "pipe"],
            &["preview", "-f", "-", "--from", "cluster.yaml"],
            &["preview", "-f", "pipe"],
            &["add", "-f", "-"],
        ] {
            assert_eq!(stopped(&folder, words, "-INT"), Some(130), "{words:?}");
            assert_eq!(stopped(&folder, words, "-TERM"), Some(143), "{words:?}");
        }
    }
}

#[test]
fn a_dump_is_redacted_and_answers_as_it_did() {
    let folder = Folder::new().with("dump/cluster.yaml", example());
    let run = folder.devicetaint("snapshot --redact --from dump -o redacted.json.gz");
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    let again = folder.devicetaint("snapshot --from dump -o -");
    assert!(!again.stdout.contains("managedFields"));
    let report = |from: &str| {
        let line = format!("preview gpu.example.com a:NoExecute -o json --from {from}");
        folder.devicetaint(&line).json()
    };
    let (open, redacted) = (report("dump"), report("redacted.json.gz"));
    // What depends on a class that chooses by attributes is not known any more, and said to be.
    let counts = |report: &serde_json::Value| {
        let mut counts = report["summary"].clone();
        let fields = counts.as_object_mut().expect("counts");
        for unsure in [
            "unplaceableClaimCount",
            "availableDeviceCount",
            "classDeviceCount",
            "bounds",
        ] {
            fields.remove(unsure);
        }
        counts
    };
    assert_eq!(counts(&redacted), counts(&open));
    let placeable = |report: &serde_json::Value| {
        let claims = report["replacements"]["claimReplacements"]
            .as_array()
            .cloned();
        let claims = claims.into_iter().flatten();
        claims.fold(
            [0_u32; 3],
            |[yes, no, unknown], claim| match &claim["placeable"] {
                serde_json::Value::Bool(true) => [yes + 1, no, unknown],
                serde_json::Value::Bool(false) => [yes, no + 1, unknown],
                _ => [yes, no, unknown + 1],
            },
        )
    };
    let [yes, no, unknown] = placeable(&open);
    let [yes_redacted, no_redacted, open_redacted] = placeable(&redacted);
    assert_eq!(
        yes + no + unknown,
        yes_redacted + no_redacted + open_redacted
    );
    assert!(0 < no_redacted && no_redacted < no, "{no_redacted} of {no}");
    assert_eq!(unknown, 0);
    assert_eq!(yes_redacted, yes);
    assert_eq!(redacted["incomplete"][0]["missing"], "replacements");
    let packed = std::fs::read(folder.path("redacted.json.gz")).expect("a file");
    let mut text = String::new();
    std::io::Read::read_to_string(
        &mut flate2::read::GzDecoder::new(packed.as_slice()),
        &mut text,
    )
    .expect("gzip");
    assert!(!text.contains("notebook-anna") && text.contains("DeviceTaintRule"));
}

#[test]
fn a_snapshot_without_rules_is_a_complete_dump() {
    let mut objects = objects(|kind| kind != "DeviceTaintRule");
    objects.retain(|object| object["kind"] != "Event");
    let kinds =
        "ResourceSlice,ResourceClaim,DeviceTaintRule,DeviceClass,Pod,Node,PodDisruptionBudget";
    let noted = json!({"apiVersion": "v1", "kind": "List", "items": objects,
        "metadata": {"annotations": {"devicetaint.dev/kinds": kinds}}});
    let folder = Folder::new()
        .with("noted.json", noted.to_string())
        .with("kubectl.json", list(&objects));
    let line = "preview gpu.example.com/node-9/gpu-1 a:NoExecute --strict -o name";
    let run = folder.devicetaint(&format!("{line} --from noted.json"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = folder.devicetaint(&format!("{line} --from kubectl.json"));
    assert_eq!(run.code, 6, "{}", run.stderr);
}
