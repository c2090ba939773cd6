//! `devices`: what there is, and who uses it.

use insta::assert_snapshot;

use super::harness::{EXAMPLE, Folder, Run, devicetaint};

fn devices(flags: &str) -> Run {
    devicetaint(&format!("devices --from {EXAMPLE} {flags}"))
}

#[test]
fn all_devices_are_listed_by_name() {
    let run = devices("-o name");
    assert_eq!(run.code, 0);
    assert_eq!(run.stdout.lines().count(), 46, "{}", run.stdout);
    assert!(run.stdout.lines().is_sorted());
}

#[test]
fn node_narrows_the_list() {
    assert_snapshot!(devices("--node node-7").shown(), @r"
      DEVICE                         NODE     ALLOCATED   TAINTS   CLAIMS                                     PODS
    node-7: 4 devices, 2 allocated, 0 tainted
      gpu.example.com/node-7/gpu-0   node-7   yes (5)     <none>   research/evals-98wpf-gpu-75n4d (+4)        research/evals-98wpf (+5)
      gpu.example.com/node-7/gpu-1   node-7   yes         <none>   serving/embed-5f6b8c9d77-f6ln5-gpu-kq8sm   serving/embed-5f6b8c9d77-f6ln5
      gpu.example.com/node-7/gpu-2   node-7   no          <none>   <none>                                     <none>
      gpu.example.com/node-7/gpu-3   node-7   no          <none>   <none>                                     <none>
    [exit status: 0]
    ");
}

#[test]
fn unknown_node_is_a_mistake_and_one_without_devices_an_empty_list() {
    assert_snapshot!(devices("--node nod-7").shown(), @r"
    [stderr]
    error: node nod-7 not found
    hint: did you mean one of node-7, node-1, node-2?
    [exit status: 1]
    ");
    assert_snapshot!(devices("--node elsewhere -o json").shown(), @r"
    [stderr]
    error: node elsewhere not found
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 1]
    ");
    assert_snapshot!(devices("--node node-11").shown(), @r"
    [stderr]
    No resources found
    node node-11 exists, but no device is local to it
    [exit status: 0]
    ");
    assert_snapshot!(devices("--node node-11 --class gpu").shown(), @r"
    [stderr]
    error: node node-11 exists, but no device is local to it
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 1]
    ");
}

#[test]
fn what_is_there_without_devices_is_told_as_that() {
    for (flags, said) in [
        (
            "--pod research/idle",
            "pod research/idle not found, or it uses no devices",
        ),
        (
            "--pod default/notebook-anna",
            "did you mean research/notebook-anna?",
        ),
        (
            "--claim default/notebooks",
            "did you mean research/notebooks?",
        ),
    ] {
        let run = devices(flags);
        assert_eq!(run.code, 1, "{}", run.shown());
        assert!(run.stderr.contains(said), "{}", run.shown());
    }
}

#[test]
fn arguments_that_are_no_devices_are_told_as_what_they_are() {
    assert_snapshot!(devices("UUID=GPU-1").shown(), @r#"
    [stderr]
    error: driver "UUID=GPU-1" is not valid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character
    hint: did you mean hardware uuid=GPU-1?
    [exit status: 2]
    "#);
    assert_snapshot!(devices("example.com/x=y").shown(), @r#"
    [stderr]
    error: "example.com/x=y" is a taint; `devices` takes no taint
    hint: to list devices that have a taint: --tainted
    [exit status: 2]
    "#);
    assert_snapshot!(devices("--columns model, gpu.example.com").shown(), @r"
    [stderr]
    error: --columns has an empty attribute name
    hint: specify names, such as --columns model,memory
    [exit status: 2]
    ");
    assert_snapshot!(devices("--attribute model==L40S").shown(), @r#"
    [stderr]
    error: --attribute "model==L40S" is not a comparison
    hint: use = instead of ==: --attribute model=L40S
    [exit status: 2]
    "#);
    assert_snapshot!(devices("--attribute memory>=40GB --node node-7").shown(), @r"
    [stderr]
    error: cannot tell whether 4 devices match
      gpu.example.com/node-7/gpu-0: its memory is 48Gi, and 40GB is not a quantity: use 40G
      gpu.example.com/node-7/gpu-1: its memory is 48Gi, and 40GB is not a quantity: use 40G
      gpu.example.com/node-7/gpu-2: its memory is 48Gi, and 40GB is not a quantity: use 40G
      gpu.example.com/node-7/gpu-3: its memory is 48Gi, and 40GB is not a quantity: use 40G
    hint: compare with a value of the attribute's type, such as 3, 580.12 or 40Gi, or skip these devices: --skip-errors
    [exit status: 1]
    ");
}

/// One GPU in two halves and as a whole, of which a half is in use.
const PARTS: &str = r#"
apiVersion: v1
kind: List
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: counters, uid: s0, creationTimestamp: "2026-11-20T10:00:00Z"}
  spec:
    driver: gpu.example.com
    nodeName: node-1
    pool: {name: node-1, generation: 1, resourceSliceCount: 2}
    sharedCounters:
    - {name: gpu-0, counters: {memory: {value: 80Gi}}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: devices, uid: s1, creationTimestamp: "2026-11-20T10:00:00Z"}
  spec:
    driver: gpu.example.com
    nodeName: node-1
    pool: {name: node-1, generation: 1, resourceSliceCount: 2}
    devices:
    - name: half-0
      consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 40Gi}}}]
    - name: half-1
      consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 40Gi}}}]
    - name: whole
      consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: 80Gi}}}]
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: gpu, namespace: ml, uid: c1, creationTimestamp: "2026-11-20T10:00:00Z"}
  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
  status:
    allocation:
      devices:
        results: [{request: gpu, driver: gpu.example.com, pool: node-1, device: half-0}]
"#;

#[test]
fn parts_of_hardware_are_listed_with_a_part_and_are_not_free_while_others_need_it() {
    let folder = Folder::new().with("parts.yaml", PARTS);
    let names = |flags: &str| {
        let run = folder.devicetaint(&format!("devices --from parts.yaml {flags} -o name"));
        let names = run.stdout.lines();
        let names = names.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
        names.collect::<Vec<String>>()
    };
    assert_eq!(names("--free"), ["half-1"]);
    assert_eq!(names("--allocated"), ["half-0"]);
    let whole = names("gpu.example.com/node-1/half-0 --with-partitions");
    assert_eq!(whole, ["half-0", "half-1", "whole"]);
    let free = names("gpu.example.com/node-1/half-0 --with-partitions --free");
    assert_eq!(free, ["half-1"]);
}

#[test]
fn tainted_devices_name_whose_taint_it_is() {
    assert_snapshot!(devices("--tainted").shown(), @r"
      DEVICE                          NODE      ALLOCATED        TAINTS                                                           CLAIMS                                      PODS
    node-10: 4 selected devices, 1 allocated, 4 tainted
      gpu.example.com/node-10/gpu-0   node-10   yes              example.com/decommission:NoExecute (rule node-10-decommission)   research/fold-jsg5p-gpu-ktkm8               research/fold-jsg5p
      gpu.example.com/node-10/gpu-1   node-10   no               example.com/decommission:NoExecute (rule node-10-decommission)   <none>                                      <none>
      gpu.example.com/node-10/gpu-2   node-10   no               example.com/decommission:NoExecute (rule node-10-decommission)   <none>                                      <none>
      gpu.example.com/node-10/gpu-3   node-10   no               example.com/decommission:NoExecute (rule node-10-decommission)   <none>                                      <none>
    node-3: 1 selected device, 1 allocated, 1 tainted
      gpu.example.com/node-3/gpu-2    node-3    yes (+1 admin)   gpu.example.com/ecc-errors=correctable:None (driver)             training/llm-1-gpus-rsbmk (+1 admin)        training/llm-1 (+1 admin)
    node-4: 1 selected device, 0 allocated, 1 tainted
      gpu.example.com/node-4/gpu-2    node-4    no               gpu.example.com/ecc-errors=uncorrectable:NoSchedule (driver)     <none>                                      <none>
    node-6: 4 selected devices, 3 allocated, 4 tainted
      gpu.example.com/node-6/gpu-0    node-6    yes              example.com/maintenance=firmware:None (rule node-6-firmware)     serving/chat-7d9c6b5f4d-bg695-gpu-qndgx     serving/chat-7d9c6b5f4d-bg695
      gpu.example.com/node-6/gpu-1    node-6    yes              example.com/maintenance=firmware:None (rule node-6-firmware)     serving/speech-8479d6bcf-jh2lt-gpus-vvqgx   serving/speech-8479d6bcf-jh2lt
      gpu.example.com/node-6/gpu-2    node-6    yes              example.com/maintenance=firmware:None (rule node-6-firmware)     serving/speech-8479d6bcf-jh2lt-gpus-vvqgx   serving/speech-8479d6bcf-jh2lt
      gpu.example.com/node-6/gpu-3    node-6    no               example.com/maintenance=firmware:None (rule node-6-firmware)     <none>                                      <none>
    node-8: 4 selected devices, 1 allocated, 4 tainted
      gpu.example.com/node-8/gpu-0    node-8    yes              example.com/maintenance=power:NoSchedule (rule node-8-power)     serving/chat-7d9c6b5f4d-qvwlt-gpu-qg224     serving/chat-7d9c6b5f4d-qvwlt
      gpu.example.com/node-8/gpu-1    node-8    no               example.com/maintenance=power:NoSchedule (rule node-8-power)     <none>                                      <none>
      gpu.example.com/node-8/gpu-2    node-8    no               example.com/maintenance=power:NoSchedule (rule node-8-power)     <none>                                      <none>
      gpu.example.com/node-8/gpu-3    node-8    no               example.com/maintenance=power:NoSchedule (rule node-8-power)     <none>                                      <none>
    node-9: 1 selected device, 1 allocated, 1 tainted
      gpu.example.com/node-9/gpu-1    node-9    yes              gpu.example.com/unhealthy=xid-79:NoExecute (driver)              research/xid-triage                         research/xid-triage

    6 nodes: 15 selected devices, 7 allocated, 15 tainted
    [exit status: 0]
    ");
}

#[test]
fn free_devices_are_held_by_no_claim() {
    assert_snapshot!(devices("--free gpu.example.com/node-9/*").shown(), @r"
      DEVICE                         NODE     ALLOCATED   TAINTS   CLAIMS   PODS
    node-9: 1 selected device, 0 allocated, 0 tainted
      gpu.example.com/node-9/gpu-3   node-9   no          <none>   <none>   <none>
    [exit status: 0]
    ");
}

#[test]
fn names_widen_and_flags_narrow() {
    for (flags, expected) in [
        (
            "gpu.example.com/node-7/gpu-0 gpu.example.com/node-8/gpu-0",
            2,
        ),
        ("gpu.example.com --pool node-7", 4),
        ("gpu.example.com --pool node-7 --free", 2),
        ("--driver gpu.example.com --pool node-7 --device gpu-1", 1),
        ("*/node-7/*", 4),
        ("--all-namespaces --pool fabric/node-1", 2),
    ] {
        let run = devices(&format!("{flags} -o name"));
        assert_eq!(
            run.stdout.lines().count(),
            expected,
            "{flags}: {}",
            run.shown()
        );
    }
}

#[test]
fn everything_may_be_asked_for() {
    assert_eq!(devices("*/*/*").shown(), devices("").shown());
}

#[test]
fn unknown_device_gets_the_nearest() {
    assert_snapshot!(devices("gpu.example.com/node-7/gpu-9").shown(), @"
    [stderr]
    error: no device matches gpu.example.com/node-7/gpu-9: none is published or allocated
    hint: did you mean one of gpu.example.com/node-7/gpu-0, gpu.example.com/node-7/gpu-1, gpu.example.com/node-7/gpu-2?
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 1]
    ");
}

#[test]
fn missing_slices_are_a_gap_and_an_error_only_for_names() {
    let claims = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimList","metadata":{},"items":[
        {"metadata":{"name":"c","namespace":"n","uid":"u","creationTimestamp":"2026-11-20T10:00:00Z"},
         "status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d","pool":"p","device":"x"}]}}}}]}"#;
    let folder = Folder::new().with("claims.json", claims);
    assert_snapshot!(folder.devicetaint("devices --from claims.json").shown(), @r"
      DEVICE   NODE        ALLOCATED   TAINTS      CLAIMS   PODS
    on an unknown node: at least 1 device, 1 allocated, an unknown number tainted
      d/p/x    <unknown>   yes         <unknown>   n/c      <none>

    Incomplete:
      resourceslices: the input contains no ResourceSlice: running drivers, unallocated devices, and taints set by drivers are unknown
      devicetaintrules: the input contains no DeviceTaintRule: taints of existing rules are not counted
    [exit status: 0]
    ");
    assert_snapshot!(folder.devicetaint("devices --from claims.json -o name").shown(), @r"
    d/p/x
    [stderr]
    error: incomplete: names may be missing from this list
      resourceslices: the input contains no ResourceSlice: running drivers, unallocated devices, and taints set by drivers are unknown
    [exit status: 6]
    ");
}

#[test]
fn a_namespace_narrows_to_the_devices_that_its_claims_hold() {
    let names = |flags: &str| {
        let run = devicetaint(&format!("devices --from {EXAMPLE} -o name {flags}"));
        run.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (all, serving) = (names(""), names("-n serving"));
    assert!(
        !serving.is_empty() && serving.len() < all.len(),
        "{serving:?}"
    );
    assert_eq!(names("-n nobody"), [""; 0]);
    assert_eq!(names("-n serving -A"), all);
    let run = devicetaint(&format!("devices --from {EXAMPLE} -n serving --free"));
    assert_eq!(run.code, 2, "{}", run.shown());
}

#[test]
fn nothing_is_free_while_nobody_knows_who_holds_what() {
    let slices = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSliceList","metadata":{},"items":[
        {"metadata":{"name":"s","uid":"u","creationTimestamp":"2026-11-20T10:00:00Z"},
         "spec":{"driver":"gpu.example.com","nodeName":"node-7","pool":{"name":"node-7","generation":1,"resourceSliceCount":1},
                 "devices":[{"name":"gpu-0"}]}}]}"#;
    let folder = Folder::new().with("slices.json", slices);
    let run = folder.devicetaint("devices --free -o name --from slices.json");
    assert_snapshot!(run.shown(), @r"
    [stderr]
    error: incomplete: names may be missing from this list
      resourceclaims: the input contains no ResourceClaim: allocated devices and the pods that use them are unknown
    [exit status: 6]
    ");
    let run = folder.devicetaint("devices --free --from slices.json");
    assert!(!run.stdout.contains("gpu-0"), "{}", run.shown());
}

/// What the example's slices say of its devices is asked like any other.
#[test]
fn what_devices_are_chooses_them() {
    let count = |flags: &str| {
        let run = devices(&format!("{flags} -o name"));
        assert_eq!(run.code, 0, "{}", run.shown());
        run.stdout.lines().count()
    };
    let all = count("");
    assert_eq!(count("--where true"), all);
    assert!(count("--node node-7 --where device.driver==\"gpu.example.com\"") < all);
}

#[test]
fn a_wrong_expression_is_pointed_at() {
    let run = devices("--where device.drver==1");
    assert_eq!(run.code, 2);
    assert!(
        run.shown().contains("column 7: undefined field 'drver'"),
        "{}",
        run.shown()
    );
}

#[test]
fn devices_of_which_it_cannot_be_said_are_named() {
    let asked = "--node node-7 --where device.attributes[\"nobody.example\"].model==\"x\"";
    let run = devices(asked);
    assert_eq!(run.code, 1);
    assert!(
        run.shown().contains("no such key: model"),
        "{}",
        run.shown()
    );
    assert!(run.shown().contains("--skip-errors"), "{}", run.shown());
}

#[test]
fn attributes_have_columns_and_unknown_ones_get_the_nearest() {
    assert_snapshot!(devices("gpu.example.com/node-7/* --columns model,memory --allocated").shown(), @r"
      DEVICE                         NODE     ALLOCATED   TAINTS   CLAIMS                                     PODS                             MODEL   MEMORY
    node-7: 2 selected devices, 2 allocated, 0 tainted
      gpu.example.com/node-7/gpu-0   node-7   yes (5)     <none>   research/evals-98wpf-gpu-75n4d (+4)        research/evals-98wpf (+5)        L40S    48Gi
      gpu.example.com/node-7/gpu-1   node-7   yes         <none>   serving/embed-5f6b8c9d77-f6ln5-gpu-kq8sm   serving/embed-5f6b8c9d77-f6ln5   L40S    48Gi
    [exit status: 0]
    ");
    assert_snapshot!(devices("--columns modle").shown(), @r"
    [stderr]
    error: no attribute or capacity modle
    hint: did you mean model?
    hint: show all attributes and capacities with --show-attributes
    [exit status: 1]
    ");
    let run = devices("gpu.example.com/node-7/gpu-0 --show-attributes -o json");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let row = &report["items"][0];
    assert!(
        row["attributes"].is_object() && row["capacity"].is_object(),
        "{row}"
    );
}

/// What is allocated and what is free are all there is, each once.
#[test]
fn devices_are_either_allocated_or_free() {
    let count = |flags: &str| devices(&format!("{flags} -o name")).stdout.lines().count();
    assert_eq!(count("--allocated") + count("--free"), count(""));
    assert_eq!(devices("--allocated --free").code, 2);
}

#[test]
fn devices_are_counted_node_by_node_and_in_all() {
    let run = devices("gpu.example.com -o json");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let sum = |field: &str| -> u64 {
        let nodes = report["nodes"].as_array().expect("nodes").iter();
        nodes
            .map(|node| node[field].as_u64().expect("a number"))
            .sum()
    };
    for field in ["deviceCount", "allocatedDeviceCount", "taintedDeviceCount"] {
        assert_eq!(report["deviceCounts"][field], sum(field), "{field}");
        assert!(sum(field) > 0);
    }
}
