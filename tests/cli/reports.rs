//! Answers to situations from public bug reports: a file, arguments, and facts of the JSON document.
//!
//! The files of `tests/data/reports` are small clusters; each began with an answer that was wrong or of no use.

use serde_json::{Value, json};

use super::harness::devicetaint;

/// Empty lists of the kinds that a file may lack: there are none, instead of unknown ones.
const REST: &str = "tests/data/reports/rest.yaml";

/// File, arguments, pointer into the document, and the value there; each row begins a new situation or adds a fact.
fn rows() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let nothing = Value::Null;
    let gpu = "preview gpu.example.com/n1/gpu-0 x/y:NoExecute";
    let wiped = "preview d.example.com/n1/gpu-0 a/b:NoExecute";
    let first = "/affectedPods/0/outcome";
    let hazards = "/affectedPods/0/hazards";
    let note = "/affectedPods/0/notes/0/reason";
    let placeable = "/replacements/claimReplacements/0/placeable";
    let needed = "/replacements/claimReplacements/0/requests/0/neededDeviceCount";
    let unplaceable = "/summary/unplaceableClaimCount";
    let not_released = "/selectedDevices/0/notReleasedReason";
    let released = "/selectedDevices/0/releaseTime";
    let mig_a = "preview gpu.x.io/n1/mig-a a.io/m:NoExecute --now 2026-06-16T06:00:00Z";
    let mig_3g = "preview gpu.x.io/n1/mig-3g a.io/m:NoExecute --now 2026-06-16T06:00:00Z";
    let all = "preview gpu.x.io/n1/gpu-0 a.io/m:NoExecute";
    let no_schedule = "preview gpu.example.com/n1/gpu-0 x/y:NoSchedule";
    let n1 = "preview gpu.nvidia.com/n1/gpu-0 a.io/m:NoExecute";
    let finished = "preview gpu.example.com/n1/gpu-0 x/y:NoExecute --now 2026-06-16T06:00:00Z --abort-if claims.unplaceable>0";
    vec![
        // The controller skips the pod until the claim controller restores the entry in its status.
        ("claim-status-wiped", wiped, first, json!("NotEvicted")),
        ("claim-status-wiped", wiped, note, json!("ClaimNotInStatus")),
        ("claim-status-wiped", wiped, not_released, json!("PodStays")),
        // Replacements are judged by the template that their claims will come from.
        ("template-needs-more", gpu, placeable, json!(false)),
        ("template-needs-more", gpu, needed, json!(4)),
        ("template-tolerates", gpu, placeable, json!(true)),
        (
            "template-tolerates",
            gpu,
            not_released,
            json!("PodMayReturn"),
        ),
        (
            "template-tolerates",
            gpu,
            hazards,
            json!(["LastReplica", "LongGrace"]),
        ),
        (
            "template-tolerates-scheduling-only",
            gpu,
            hazards,
            json!(["LastReplica", "LongGrace", "ToleratesScheduleOnly"]),
        ),
        (
            "template-tolerates-scheduling-only",
            gpu,
            placeable,
            json!(true),
        ),
        (
            "template-tolerates",
            no_schedule,
            "/summary/notEvictedPodCount",
            json!(1),
        ),
        // A pod that has ended is deleted at once, and its Job needs no other claim.
        (
            "finished-pod",
            finished,
            released,
            json!("2026-06-16T06:00:00Z"),
        ),
        ("finished-pod", finished, unplaceable, json!(0)),
        (
            "finished-pod",
            finished,
            "/guardResults/0/tripped",
            json!(false),
        ),
        // A pod with two slices releases both.
        ("two-slices-one-pod", mig_a, first, json!("EvictedNow")),
        ("two-slices-one-pod", mig_a, "/siblings", json!([])),
        (
            "two-slices-one-pod",
            mig_a,
            released,
            json!("2026-06-16T06:00:30Z"),
        ),
        // Slices that fit beside each other are no partitions of each other.
        (
            "neighbouring-slices",
            mig_3g,
            released,
            json!("2026-06-16T06:00:30Z"),
        ),
        ("neighbouring-slices", mig_3g, "/warnings", json!([])),
        // A toleration without effect is one for the scheduler alone up to 1.37.
        ("toleration-without-effect", all, first, json!("EvictedNow")),
        (
            "toleration-without-effect",
            "preview gpu.x.io/n1/gpu-0 a.io/m:NoExecute --kubernetes 1.38",
            first,
            json!("Tolerates"),
        ),
        // A monitor with admin access takes the device from no other pod.
        (
            "monitor-on-partitions",
            all,
            "/affectedPods/0/severity",
            json!("Warning"),
        ),
        ("monitor-on-partitions", all, released, nothing.clone()),
        // Pods that use the card through a device plugin have no claim, and no taint evicts them.
        (
            "device-plugin-too",
            n1,
            not_released,
            json!("DevicePluginToo"),
        ),
        ("device-plugin-too", n1, released, nothing),
        // Workloads of pods on other nodes do not matter to a drain, and may be missing in a dump.
        (
            "device-plugin-too",
            "drain --node n2 --dry-run=client",
            "/kind",
            json!("ChangeReport"),
        ),
        // Nothing recreates a bare pod, and so it needs no replacement.
        (
            "driver-away-pending",
            "preview compute-domain.nvidia.com a/b:NoExecute",
            unplaceable,
            json!(0),
        ),
        (
            "claim-status-wiped",
            "explain claim/p-g-x -n t",
            "/items/0/pod/name",
            json!("p"),
        ),
        (
            "device-plugin-too",
            n1,
            "/warnings/0/reason",
            json!("DevicePluginToo"),
        ),
        (
            "device-plugin-too",
            "preview gpu.nvidia.com/n2/gpu-0 a.io/m:NoExecute --now 2026-06-16T06:00:00Z",
            released,
            json!("2026-06-16T06:00:00Z"),
        ),
    ]
}

#[test]
fn situations_of_public_reports_have_the_right_facts() {
    for (file, line, pointer, expected) in rows() {
        let from = format!("--from tests/data/reports/{file}.yaml --from {REST}");
        let run = devicetaint(&format!("{line} {from} -o json"));
        assert_eq!(run.code, 0, "{file}: {}", run.stderr);
        let document = run.json();
        let found = document.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(*found, expected, "{file}: {line}: {pointer}");
    }
}
