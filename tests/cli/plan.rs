//! `plan`: which devices or nodes hurt least.

use insta::assert_snapshot;
use serde_json::Value;

use super::harness::{EXAMPLE, Run, devicetaint};

fn plan(flags: &str) -> Run {
    devicetaint(&format!("plan --from {EXAMPLE} {flags}"))
}

#[test]
fn the_plan_ends_with_the_verdict_and_the_next_command() {
    assert_snapshot!(plan("gpu.example.com --count 3 --keep-available 'devices.available>=10'").shown(), @"
    3 of 40 devices, keeping devices.available>=10

    Units, in order:
    UNIT                            NODE      DEVICES   PODS
    gpu.example.com/node-10/gpu-1   node-10         1      0
    gpu.example.com/node-10/gpu-2   node-10         1      0
    gpu.example.com/node-10/gpu-3   node-10         1      0

    No pod would be evicted.

    TAINT                               RULE     SELECTOR                        PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    devicetaint.dev/preview:NoExecute   <none>   gpu.example.com/node-10/gpu-1           1             0      0            0
    devicetaint.dev/preview:NoExecute   <none>   gpu.example.com/node-10/gpu-2           1             0      0            0
    devicetaint.dev/preview:NoExecute   <none>   gpu.example.com/node-10/gpu-3           1             0      0            0

    Runner-up:
      gpu.example.com/node-10/gpu-1, gpu.example.com/node-10/gpu-2, gpu.example.com/node-7/gpu-1
      1 pod with 1 claimed device; no PodDisruptionBudget violated; grace periods above 10s; hazards: 1 of severity notice

    Plan: gpu.example.com/node-10/gpu-1, gpu.example.com/node-10/gpu-2, gpu.example.com/node-10/gpu-3.
    Cost: no pod is evicted.
    In the DeviceClasses of the selected devices, 15 devices can still be allocated after the plan.
    Optimal: no other set costs less.
    [stderr]
    warning: no taint specified: this command assumes a taint that only wildcard tolerations match; specify the taint, so that pods that tolerate it are not counted as evicted
    [exit status: 0]
    ");
}

#[test]
fn what_a_plan_costs_is_told_with_the_assessment_of_its_set() {
    assert_snapshot!(plan("'gpu.example.com/node-3/*' --count 5 example.com/firmware:NoSchedule").shown(), @"
    5 of 8 devices

    Units, in order:
    UNIT                           NODE     DEVICES   PODS
    gpu.example.com/node-3/gpu-6   node-3         1      1
    gpu.example.com/node-3/gpu-0   node-3         1      2
    gpu.example.com/node-3/gpu-1   node-3         1      2
    gpu.example.com/node-3/gpu-2   node-3         1      2
    gpu.example.com/node-3/gpu-3   node-3         1      2

    2 pods in 2 namespaces would be evicted now.
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    2 claims cannot be reallocated: too few other devices are available to them.
    The last evicted pod is gone after about 60m (at full grace period); then all 5 devices are free.
    All evicted pods are on node-3.

    Top risks:
      danger    DaemonSet/gpu-monitor of monitoring: claim gpu-monitor-ztccc-all-lc9v7 cannot be reallocated: request 'all' needs all matching devices of one node; on all nodes together, 3 are available (not counting 27 on nodes where the pod cannot be scheduled); on every node on which the pod can be scheduled, at least one matching device is not available; the pod's priority class is system-node-critical
      danger    StatefulSet/llm of training: PodDisruptionBudget llm allows 0 disruptions, 1 needed; claim llm-1-gpus-rsbmk cannot be reallocated: request gpus needs 4 devices, and 8 are available; request nic needs 1 device, and 5 are available; no node has available devices for the whole claim

    SEVERITY   WHEN   POD                            DEVICE                              WORKLOAD                RISKS
    danger     now    monitoring/gpu-monitor-ztccc   gpu.example.com/node-3/gpu-6 (+4)   DaemonSet/gpu-monitor   critical, no-replacement (+2)
    danger     now    training/llm-1                 gpu.example.com/node-3/gpu-0 (+3)   StatefulSet/llm         pdb-violated, no-replacement (+1)

    TAINT                            RULE     SELECTOR                       PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    example.com/firmware:NoExecute   <none>   gpu.example.com/node-3/gpu-6           1             1      1            1
    example.com/firmware:NoExecute   <none>   gpu.example.com/node-3/gpu-0           1             2      2            2
    example.com/firmware:NoExecute   <none>   gpu.example.com/node-3/gpu-1           1             2      2            2
    example.com/firmware:NoExecute   <none>   gpu.example.com/node-3/gpu-2           1             2      2            2
    example.com/firmware:NoExecute   <none>   gpu.example.com/node-3/gpu-3           1             2      2            2

    Replacements:
      claim monitoring/gpu-monitor-ztccc-all-lc9v7 cannot be reallocated: request 'all' needs all matching devices of one node; on all nodes together, 3 are available (not counting 27 on nodes where the pod cannot be scheduled); on every node on which the pod can be scheduled, at least one matching device is not available
      claim training/llm-1-gpus-rsbmk cannot be reallocated: request gpus needs 4 devices, and 8 are available; request nic needs 1 device, and 5 are available; no node has available devices for the whole claim

    Runner-up:
      gpu.example.com/node-3/gpu-6, gpu.example.com/node-3/gpu-7, gpu.example.com/node-3/gpu-0, gpu.example.com/node-3/gpu-1, gpu.example.com/node-3/gpu-2
      2 pods with 13 claimed devices; PodDisruptionBudgets violated; hazards: 2 of severity danger, 3 of severity notice

    Plan: gpu.example.com/node-3/gpu-6, gpu.example.com/node-3/gpu-0, gpu.example.com/node-3/gpu-1, gpu.example.com/node-3/gpu-2, gpu.example.com/node-3/gpu-3.
    Cost: 2 pods with 13 claimed devices; PodDisruptionBudgets violated; hazards: 2 of severity danger, 3 of severity notice.
    Optimal: no other set costs less.
    [exit status: 0]
    ");
}

#[test]
fn whole_nodes_are_planned_with_all_of_their_devices() {
    assert_snapshot!(plan("gpu.example.com --nodes 2 --exclude gpu.example.com/node-2/gpu-0 -o name").shown(), @r"
    gpu.example.com/node-4/gpu-0
    gpu.example.com/node-4/gpu-1
    gpu.example.com/node-4/gpu-2
    gpu.example.com/node-4/gpu-3
    nic.example.com/fabric/node-4/vf-0
    nic.example.com/fabric/node-4/vf-1
    gpu.example.com/node-8/gpu-0
    gpu.example.com/node-8/gpu-1
    gpu.example.com/node-8/gpu-2
    gpu.example.com/node-8/gpu-3
    [exit status: 0]
    ");
}

#[test]
fn devices_are_planned_of_each_pool_and_spread_over_zones_and_nodes() {
    let names = |flags: &str| plan(&format!("gpu.example.com {flags} -o name")).stdout;
    let pools = names("--per-pool 1");
    assert_eq!(pools.lines().count(), 9, "{pools}");
    let nodes = names("--count 9 --spread node");
    let nodes: std::collections::BTreeSet<&str> = nodes
        .lines()
        .filter_map(|name| name.split('/').nth(1))
        .collect();
    assert_eq!(nodes.len(), 9);
    assert_eq!(names("--count 3 --spread zone").lines().count(), 3);
}

#[test]
fn a_guard_is_evaluated_on_the_plan() {
    let flags = "'gpu.example.com/node-3/*' --count 5 --abort-if pods.evicted>";
    let run = plan(&format!("{flags}1"));
    assert_eq!(run.code, 4, "{}", run.shown());
    assert!(run.stderr.contains("guard tripped: pods.evicted>1"));
    assert_eq!(plan(&format!("{flags}2")).code, 0);
}

#[test]
fn what_cannot_be_planned_is_refused_with_the_reason() {
    assert_snapshot!(plan("--count 2").shown(), @r"
    [stderr]
    error: no devices specified
    hint: specify devices as DRIVER/POOL/DEVICE; DRIVER alone means all devices of the driver
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --count 0").shown(), @r"
    [stderr]
    error: --count 0 plans nothing
    hint: use a whole number of 1 or more
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --nodes 1 --spread node").shown(), @"
    [stderr]
    error: --spread node cannot be used together with --nodes, which always chooses different nodes
    hint: spread nodes over zones: --spread zone
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --count 41").shown(), @r"
    [stderr]
    error: --count 41 exceeds the number of candidates: 40 devices
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --nodes 99").shown(), @r"
    [stderr]
    error: --nodes 99 exceeds the number of candidates: 9 nodes
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --per-pool 5").shown(), @r"
    [stderr]
    error: --per-pool 5 exceeds the number of candidates in some pools: gpu.example.com/node-1 has 4, gpu.example.com/node-10 has 4, gpu.example.com/node-2 has 4, gpu.example.com/node-4 has 4, gpu.example.com/node-6 has 4 and 3 more
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com --node nod-7 --count 1").shown(), @r"
    [stderr]
    error: node nod-7 not found
    hint: did you mean one of node-7, node-1, node-2?
    [exit status: 1]
    ");
    assert_snapshot!(plan("gpu.example.com --count 4 --keep-available 'devices.available>=100'").shown(), @r#"
    [stderr]
    error: --keep-available "devices.available>=100" is not met even if nothing is drained: 15 devices of classes dedicated-gpu.example.com, gpu.example.com, h200.example.com, shared-gpu.example.com can be allocated now
    [exit status: 4]
    "#);
    assert_snapshot!(plan("gpu.example.com --count 1 --keep-available 'devices.available<4'").shown(), @r#"
    [stderr]
    error: "devices.available<4" does not set a minimum of available devices
    hint: use devices.available with >= or >, such as 'devices.available>=4'
    [exit status: 2]
    "#);
    assert_snapshot!(plan("gpu.example.com --count 1 --exclude gpu.example.com").shown(), @r"
    [stderr]
    error: --exclude excludes all of 40 selected devices
    [exit status: 2]
    ");
    assert_snapshot!(plan("gpu.example.com/node-77/gpu-0 --count 1").shown(), @r"
    [stderr]
    error: no device matches gpu.example.com/node-77/gpu-0: none is published or allocated
    hint: did you mean one of gpu.example.com/node-7/gpu-0, gpu.example.com/node-1/gpu-0, gpu.example.com/node-10/gpu-0?
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 1]
    ");
    assert_snapshot!(plan("gpu.example.com --count 1 --exclude example.com/a=b:NoExecute").shown(), @"
    [stderr]
    error: --exclude: no devices specified for taint example.com/a=b:NoExecute
    hint: specify devices as DRIVER/POOL/DEVICE before the taint
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 2]
    ");
    let unsized_plan = plan("gpu.example.com");
    assert_eq!(unsized_plan.code, 2);
    assert!(
        unsized_plan
            .stderr
            .contains("--count <N>|--nodes <N>|--per-pool <N>")
    );
}

#[test]
fn what_was_not_read_makes_a_plan_unknown_and_not_cheap() {
    let all = devicetaint(&format!("plan gpu.example.com --count 40 --from {EXAMPLE}"));
    assert_eq!(all.code, 0, "{}", all.shown());
    assert!(!all.stdout.contains("unknown whether"), "{}", all.stdout);
    let text = super::harness::example();
    let documents = text.split("\n- apiVersion: ").collect::<Vec<_>>();
    let kept = documents
        .into_iter()
        .filter(|document| !document.contains("kind: PodDisruptionBudget\n"));
    let kept = kept.collect::<Vec<_>>().join("\n- apiVersion: ");
    let folder = super::harness::Folder::new().with("cluster.yaml", kept);
    let busy = folder.devicetaint("plan gpu.example.com --count 40 --from cluster.yaml");
    assert!(
        busy.stdout
            .contains("unknown whether PodDisruptionBudgets are violated"),
        "{}",
        busy.shown()
    );
    let idle = folder.devicetaint("plan gpu.example.com --count 3 --from cluster.yaml");
    assert!(
        idle.stdout.contains("Cost: no pod is evicted."),
        "{}",
        idle.shown()
    );
}

#[test]
fn the_plan_file_follows_its_schema_and_its_digest_covers_what_decides() {
    let path = format!(
        "{}/schemas/plan-report.v1alpha1.schema.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let file = |flags: &str| {
        let run = plan(&format!("{flags} -o json"));
        let json = run.json();
        assert!(jsonschema::is_valid(&schema, &json), "{flags}: {json:#}");
        json
    };
    let three = file("gpu.example.com --count 3");
    let again = file("gpu.example.com --count 3 --keep-available 'devices.available>=10'");
    assert_eq!(three["digest"], again["digest"]);
    assert_eq!(
        three["plannedUnits"][0]["devices"][0],
        three["plannedUnits"][0]["unit"]
    );
    assert_eq!(three["optimality"], "Optimal");
    assert_eq!(three["cost"], three["lowerBound"]);
    assert_eq!(again["allocatableDeviceCount"], 15);
    let others = [
        file("gpu.example.com --count 4"),
        file("gpu.example.com --count 3 --exclude gpu.example.com/node-10/gpu-1"),
        file("gpu.example.com --nodes 2"),
        file("'gpu.example.com/node-3/*' --per-pool 5"),
    ];
    for other in others {
        assert_ne!(other["digest"], three["digest"]);
    }
}
