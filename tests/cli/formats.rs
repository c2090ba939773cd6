//! Every format of every report, and what they promise to scripts.

use insta::assert_snapshot;
use jsonschema::Validator;
use serde_json::Value;

use super::harness::{EXAMPLE, Folder, Run, devicetaint};

/// One pod, one device.
fn preview(flags: &str) -> Run {
    devicetaint(&format!(
        "preview gpu.example.com/node-9/gpu-1 example.com/xid:NoExecute --from {EXAMPLE} {flags}"
    ))
}

/// Two devices, one of them in use.
fn devices(flags: &str) -> Run {
    devicetaint(&format!(
        "devices gpu.example.com/node-9/gpu-1 gpu.example.com/node-9/gpu-3 --from {EXAMPLE} {flags}"
    ))
}

#[test]
fn preview_as_table() {
    assert_snapshot!(preview("-o table").shown(), @"
    gpu.example.com/node-9/gpu-1   taint example.com/xid:NoExecute

    Top risks:
      warning   research/xid-triage: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                   WORKLOAD   RISKS
    warning    now    research/xid-triage   <none>     unmanaged, long-grace

    Message that the controller would report for effect None:
      1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    1 pod in 1 namespace would be evicted now.
    The last evicted pod is gone after about 30s (at full grace period); then the device is free.
    The evicted pod is on node-9, and uses gpu.example.com/node-9/gpu-1.
    [exit status: 0]
    ");
}

#[test]
fn table_is_the_default() {
    assert_eq!(preview("").shown(), preview("-o table").shown());
    assert_eq!(devices("").shown(), devices("-o table").shown());
}

#[test]
fn preview_as_wide_table() {
    assert_snapshot!(preview("-o wide").shown(), @"
    gpu.example.com/node-9/gpu-1   taint example.com/xid:NoExecute

    Top risks:
      warning   research/xid-triage: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                   NODE     DEVICE                         WORKLOAD   CAUSE        RISKS                  OUTCOME      QOS         PRIORITY   GRACE   CLAIM        UID
    warning    now    research/xid-triage   node-9   gpu.example.com/node-9/gpu-1   <none>     this taint   unmanaged,long-grace   EvictedNow   Burstable          0     30s   xid-triage   a131a6bd-80ee-4c1c-aab9-52c1d01f0c53

    TAINT                       RULE     SELECTOR                       PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    example.com/xid:NoExecute   <none>   gpu.example.com/node-9/gpu-1           1             1      1            1

    Message that the controller would report for effect None:
      1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Hazards:
      unmanaged (research/xid-triage): has no controller, or its controller was deleted: nothing recreates it
      long-grace (research/xid-triage): has a grace period of more than 10s, and may keep the device that long

    1 pod in 1 namespace would be evicted now.
    The last evicted pod is gone after about 30s (at full grace period); then the device is free.
    The evicted pod is on node-9, and uses gpu.example.com/node-9/gpu-1.
    [exit status: 0]
    ");
}

#[test]
fn preview_as_json() {
    assert_snapshot!(preview("-o json").shown(), @r#"
    {
      "apiVersion": "devicetaint.dev/v1alpha1",
      "kind": "ImpactReport",
      "metadata": {
        "context": null,
        "server": null,
        "serverVersion": null,
        "dataSource": "Files",
        "semantics": "1.37",
        "observedTime": "2026-11-20T10:15:00Z"
      },
      "digest": "sha256:d078a865dffa034db53ec1e05028babae5ebfbcf9632667ec69e843acc342de4",
      "hardwareDigest": "hardware:ae883105370b894b326b598b2513bea9e0eb69f9c14afd538353db6361e90feb",
      "proposedTaints": [
        {
          "rule": null,
          "selector": {
            "driver": "gpu.example.com",
            "pool": "node-9",
            "device": "gpu-1"
          },
          "selectorScope": "Described",
          "taint": {
            "key": "example.com/xid",
            "value": "",
            "effect": "NoExecute",
            "timeAdded": "2026-11-20T10:15:00Z",
            "source": "DeviceTaintRule",
            "sourceName": null
          },
          "counts": {
            "publishedDeviceCount": 1,
            "allocationCount": 1,
            "evictedPodCount": 1,
            "namespaceCount": 1
          },
          "controllerMessage": "1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
        }
      ],
      "summary": {
        "deviceCount": 1,
        "claimCount": 1,
        "evictedPodCount": 1,
        "evictedNowPodCount": 1,
        "evictedLaterPodCount": 0,
        "toleratingPodCount": 0,
        "terminatingPodCount": 0,
        "notEvictedPodCount": 0,
        "criticalPodCount": 0,
        "unmanagedPodCount": 1,
        "namespaceCount": 1,
        "nodeCount": 1,
        "workloadCount": 1,
        "violatedBudgetCount": 0,
        "downWorkloadCount": 0,
        "severities": {
          "okPodCount": 0,
          "noticePodCount": 0,
          "warningPodCount": 1,
          "dangerPodCount": 0
        },
        "unplaceableClaimCount": 0,
        "availableDeviceCount": 15,
        "classDeviceCount": 40,
        "firstEvictionTime": "2026-11-20T10:15:00Z",
        "lastEvictionTime": "2026-11-20T10:15:00Z"
      },
      "affectedPods": [
        {
          "namespace": "research",
          "name": "xid-triage",
          "uid": "a131a6bd-80ee-4c1c-aab9-52c1d01f0c53",
          "node": "node-9",
          "phase": "Running",
          "outcome": "EvictedNow",
          "evictionTime": "2026-11-20T10:15:00Z",
          "evictInSeconds": 0,
          "causes": [
            {
              "taint": {
                "key": "example.com/xid",
                "value": "",
                "effect": "NoExecute",
                "timeAdded": "2026-11-20T10:15:00Z",
                "source": "DeviceTaintRule",
                "sourceName": null
              },
              "device": "gpu.example.com/node-9/gpu-1",
              "evictionTime": "2026-11-20T10:15:00Z"
            }
          ],
          "usedClaims": [
            {
              "name": "xid-triage",
              "allocations": [
                {
                  "request": "gpu",
                  "device": "gpu.example.com/node-9/gpu-1"
                }
              ]
            }
          ],
          "owner": null,
          "workload": null,
          "qosClass": "Burstable",
          "priority": 0,
          "priorityClassName": "",
          "gracePeriodSeconds": 30,
          "hazards": [
            "Unmanaged",
            "LongGrace"
          ],
          "severity": "Warning",
          "findings": [
            {
              "hazard": "Unmanaged",
              "severity": "Warning",
              "message": "has no controller: nothing recreates it"
            },
            {
              "hazard": "LongGrace",
              "severity": "Notice",
              "message": "has a grace period of 30s, and may keep the device that long"
            }
          ],
          "notes": []
        }
      ],
      "selectedDevices": [
        {
          "device": "gpu.example.com/node-9/gpu-1",
          "node": "node-9",
          "published": true,
          "claims": [
            {
              "namespace": "research",
              "name": "xid-triage",
              "uid": "00271117-03b3-4e0c-9f71-a94480f25e58"
            }
          ],
          "taints": [
            {
              "key": "gpu.example.com/unhealthy",
              "value": "xid-79",
              "effect": "NoExecute",
              "timeAdded": "2026-11-20T08:02:33Z",
              "source": "ResourceSlice",
              "sourceName": "node-9-gpu.example.com-n5qb6"
            }
          ],
          "releaseTime": "2026-11-20T10:15:30Z",
          "notReleasedReason": null,
          "mayBeReallocated": false
        }
      ],
      "budgets": [],
      "workloads": [],
      "replacements": {
        "claimReplacements": [
          {
            "namespace": "research",
            "name": "xid-triage",
            "placeable": true,
            "requests": [
              {
                "request": "gpu",
                "neededDeviceCount": 1,
                "availableDeviceCount": 2
              }
            ],
            "notModelled": []
          }
        ],
        "maxPlaceableClaimCount": 1,
        "available": {
          "deviceClassNames": [
            "dedicated-gpu.example.com",
            "gpu.example.com"
          ],
          "availableDeviceCount": 15,
          "classDeviceCount": 40
        }
      },
      "siblings": [],
      "guardResults": [],
      "warnings": [],
      "incomplete": []
    }
    [exit status: 0]
    "#);
}

#[test]
fn preview_as_yaml() {
    assert_snapshot!(preview("-o yaml").shown(), @r#"
    apiVersion: devicetaint.dev/v1alpha1
    kind: ImpactReport
    metadata:
      context: null
      server: null
      serverVersion: null
      dataSource: Files
      semantics: "1.37"
      observedTime: "2026-11-20T10:15:00Z"
    digest: sha256:d078a865dffa034db53ec1e05028babae5ebfbcf9632667ec69e843acc342de4
    hardwareDigest: hardware:ae883105370b894b326b598b2513bea9e0eb69f9c14afd538353db6361e90feb
    proposedTaints:
    - rule: null
      selector:
        driver: gpu.example.com
        pool: node-9
        device: gpu-1
      selectorScope: Described
      taint:
        key: example.com/xid
        value: ""
        effect: NoExecute
        timeAdded: "2026-11-20T10:15:00Z"
        source: DeviceTaintRule
        sourceName: null
      counts:
        publishedDeviceCount: 1
        allocationCount: 1
        evictedPodCount: 1
        namespaceCount: 1
      controllerMessage: 1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.
    summary:
      deviceCount: 1
      claimCount: 1
      evictedPodCount: 1
      evictedNowPodCount: 1
      evictedLaterPodCount: 0
      toleratingPodCount: 0
      terminatingPodCount: 0
      notEvictedPodCount: 0
      criticalPodCount: 0
      unmanagedPodCount: 1
      namespaceCount: 1
      nodeCount: 1
      workloadCount: 1
      violatedBudgetCount: 0
      downWorkloadCount: 0
      severities:
        okPodCount: 0
        noticePodCount: 0
        warningPodCount: 1
        dangerPodCount: 0
      unplaceableClaimCount: 0
      availableDeviceCount: 15
      classDeviceCount: 40
      firstEvictionTime: "2026-11-20T10:15:00Z"
      lastEvictionTime: "2026-11-20T10:15:00Z"
    affectedPods:
    - namespace: research
      name: xid-triage
      uid: a131a6bd-80ee-4c1c-aab9-52c1d01f0c53
      node: node-9
      phase: Running
      outcome: EvictedNow
      evictionTime: "2026-11-20T10:15:00Z"
      evictInSeconds: 0
      causes:
      - taint:
          key: example.com/xid
          value: ""
          effect: NoExecute
          timeAdded: "2026-11-20T10:15:00Z"
          source: DeviceTaintRule
          sourceName: null
        device: gpu.example.com/node-9/gpu-1
        evictionTime: "2026-11-20T10:15:00Z"
      usedClaims:
      - name: xid-triage
        allocations:
        - request: gpu
          device: gpu.example.com/node-9/gpu-1
      owner: null
      workload: null
      qosClass: Burstable
      priority: 0
      priorityClassName: ""
      gracePeriodSeconds: 30
      hazards:
      - Unmanaged
      - LongGrace
      severity: Warning
      findings:
      - hazard: Unmanaged
        severity: Warning
        message: "has no controller: nothing recreates it"
      - hazard: LongGrace
        severity: Notice
        message: has a grace period of 30s, and may keep the device that long
      notes: []
    selectedDevices:
    - device: gpu.example.com/node-9/gpu-1
      node: node-9
      published: true
      claims:
      - namespace: research
        name: xid-triage
        uid: 00271117-03b3-4e0c-9f71-a94480f25e58
      taints:
      - key: gpu.example.com/unhealthy
        value: xid-79
        effect: NoExecute
        timeAdded: "2026-11-20T08:02:33Z"
        source: ResourceSlice
        sourceName: node-9-gpu.example.com-n5qb6
      releaseTime: "2026-11-20T10:15:30Z"
      notReleasedReason: null
      mayBeReallocated: false
    budgets: []
    workloads: []
    replacements:
      claimReplacements:
      - namespace: research
        name: xid-triage
        placeable: true
        requests:
        - request: gpu
          neededDeviceCount: 1
          availableDeviceCount: 2
        notModelled: []
      maxPlaceableClaimCount: 1
      available:
        deviceClassNames:
        - dedicated-gpu.example.com
        - gpu.example.com
        availableDeviceCount: 15
        classDeviceCount: 40
    siblings: []
    guardResults: []
    warnings: []
    incomplete: []
    [exit status: 0]
    "#);
}

#[test]
fn preview_as_markdown() {
    assert_snapshot!(preview("-o markdown").shown(), @r"
    gpu.example.com/node-9/gpu-1   taint example.com/xid:NoExecute

    1 pod in 1 namespace would be evicted now.

    The last evicted pod is gone after about 30s (at full grace period); then the device is free.

    The evicted pod is on node-9, and uses gpu.example.com/node-9/gpu-1.

    ### Top risks

    - warning   research/xid-triage: has no controller: nothing recreates it

    | SEVERITY | WHEN | POD | NODE | DEVICE | WORKLOAD | CAUSE | RISKS | OUTCOME | QOS | PRIORITY | GRACE | CLAIM | UID |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | ---: | ---: | --- | --- |
    | warning | now | research/xid-triage | node-9 | gpu.example.com/node-9/gpu-1 | \<none\> | this taint | unmanaged,long-grace | EvictedNow | Burstable | 0 | 30s | xid-triage | a131a6bd-80ee-4c1c-aab9-52c1d01f0c53 |

    | TAINT | RULE | SELECTOR | PUBLISHED | ALLOCATIONS | PODS | NAMESPACES |
    | --- | --- | --- | ---: | ---: | ---: | ---: |
    | example.com/xid:NoExecute | \<none\> | gpu.example.com/node-9/gpu-1 | 1 | 1 | 1 | 1 |

    ### Message that the controller would report for effect None

    - 1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    ### Hazards

    - unmanaged (research/xid-triage): has no controller, or its controller was deleted: nothing recreates it
    - long-grace (research/xid-triage): has a grace period of more than 10s, and may keep the device that long
    [exit status: 0]
    ");
}

#[test]
fn preview_as_names_of_the_evicted_pods() {
    assert_snapshot!(preview("-o name").shown(), @"
    pod/xid-triage -n research
    [exit status: 0]
    ");
}

#[test]
fn devices_as_table() {
    assert_snapshot!(devices("-o table").shown(), @r"
      DEVICE                         NODE     ALLOCATED   TAINTS                                                CLAIMS                PODS
    node-9: 2 selected devices, 1 allocated, 1 tainted
      gpu.example.com/node-9/gpu-1   node-9   yes         gpu.example.com/unhealthy=xid-79:NoExecute (driver)   research/xid-triage   research/xid-triage
      gpu.example.com/node-9/gpu-3   node-9   no          <none>                                                <none>                <none>
    [exit status: 0]
    ");
}

#[test]
fn devices_as_wide_table() {
    assert_snapshot!(devices("-o wide").shown(), @r"
      DEVICE                         NODE     ALLOCATED   TAINTS                                                CLAIMS                PODS                  PUBLISHED   DEDICATED
    node-9: 2 selected devices, 1 allocated, 1 tainted
      gpu.example.com/node-9/gpu-1   node-9   yes         gpu.example.com/unhealthy=xid-79:NoExecute (driver)   research/xid-triage   research/xid-triage   yes         <none>
      gpu.example.com/node-9/gpu-3   node-9   no          <none>                                                <none>                <none>                yes         <none>
    [exit status: 0]
    ");
}

#[test]
fn devices_as_json() {
    assert_snapshot!(devices("-o json").shown(), @r#"
    {
      "apiVersion": "devicetaint.dev/v1alpha1",
      "kind": "DeviceList",
      "metadata": {
        "context": null,
        "server": null,
        "serverVersion": null,
        "dataSource": "Files",
        "semantics": "1.37",
        "observedTime": "2026-11-20T10:15:00Z"
      },
      "items": [
        {
          "device": "gpu.example.com/node-9/gpu-1",
          "node": "node-9",
          "allocated": true,
          "free": false,
          "allocationCount": 1,
          "adminAllocationCount": 0,
          "published": true,
          "taints": [
            {
              "key": "gpu.example.com/unhealthy",
              "value": "xid-79",
              "effect": "NoExecute",
              "timeAdded": "2026-11-20T08:02:33Z",
              "source": "ResourceSlice",
              "sourceName": "node-9-gpu.example.com-n5qb6"
            }
          ],
          "dedications": [],
          "claims": [
            {
              "namespace": "research",
              "name": "xid-triage",
              "uid": "00271117-03b3-4e0c-9f71-a94480f25e58"
            }
          ],
          "adminClaims": [],
          "pods": [
            {
              "namespace": "research",
              "name": "xid-triage",
              "uid": "a131a6bd-80ee-4c1c-aab9-52c1d01f0c53"
            }
          ],
          "adminPods": []
        },
        {
          "device": "gpu.example.com/node-9/gpu-3",
          "node": "node-9",
          "allocated": false,
          "free": true,
          "allocationCount": 0,
          "adminAllocationCount": 0,
          "published": true,
          "taints": [],
          "dedications": [],
          "claims": [],
          "adminClaims": [],
          "pods": [],
          "adminPods": []
        }
      ],
      "deviceCounts": {
        "deviceCount": 2,
        "allocatedDeviceCount": 1,
        "partlyUsedDeviceCount": 0,
        "taintedDeviceCount": 1
      },
      "nodes": [
        {
          "node": "node-9",
          "nodeKnown": true,
          "deviceCount": 2,
          "allocatedDeviceCount": 1,
          "partlyUsedDeviceCount": 0,
          "taintedDeviceCount": 1
        }
      ],
      "warnings": [],
      "incomplete": []
    }
    [exit status: 0]
    "#);
}

#[test]
fn devices_as_yaml() {
    assert_snapshot!(devices("-o yaml").shown(), @r#"
    apiVersion: devicetaint.dev/v1alpha1
    kind: DeviceList
    metadata:
      context: null
      server: null
      serverVersion: null
      dataSource: Files
      semantics: "1.37"
      observedTime: "2026-11-20T10:15:00Z"
    items:
    - device: gpu.example.com/node-9/gpu-1
      node: node-9
      allocated: true
      free: false
      allocationCount: 1
      adminAllocationCount: 0
      published: true
      taints:
      - key: gpu.example.com/unhealthy
        value: xid-79
        effect: NoExecute
        timeAdded: "2026-11-20T08:02:33Z"
        source: ResourceSlice
        sourceName: node-9-gpu.example.com-n5qb6
      dedications: []
      claims:
      - namespace: research
        name: xid-triage
        uid: 00271117-03b3-4e0c-9f71-a94480f25e58
      adminClaims: []
      pods:
      - namespace: research
        name: xid-triage
        uid: a131a6bd-80ee-4c1c-aab9-52c1d01f0c53
      adminPods: []
    - device: gpu.example.com/node-9/gpu-3
      node: node-9
      allocated: false
      free: true
      allocationCount: 0
      adminAllocationCount: 0
      published: true
      taints: []
      dedications: []
      claims: []
      adminClaims: []
      pods: []
      adminPods: []
    deviceCounts:
      deviceCount: 2
      allocatedDeviceCount: 1
      partlyUsedDeviceCount: 0
      taintedDeviceCount: 1
    nodes:
    - node: node-9
      nodeKnown: true
      deviceCount: 2
      allocatedDeviceCount: 1
      partlyUsedDeviceCount: 0
      taintedDeviceCount: 1
    warnings: []
    incomplete: []
    [exit status: 0]
    "#);
}

#[test]
fn devices_as_markdown() {
    assert_snapshot!(devices("-o markdown").shown(), @r"
    node-9: 2 selected devices, 1 allocated, 1 tainted

    | DEVICE | NODE | ALLOCATED | TAINTS | CLAIMS | PODS | PUBLISHED | DEDICATED |
    | --- | --- | --- | --- | --- | --- | --- | --- |
    | gpu.example.com/node-9/gpu-1 | node-9 | yes | gpu.example.com/unhealthy=xid-79:NoExecute (driver) | research/xid-triage | research/xid-triage | yes | \<none\> |
    | gpu.example.com/node-9/gpu-3 | node-9 | no | \<none\> | \<none\> | \<none\> | yes | \<none\> |
    [exit status: 0]
    ");
}

#[test]
fn devices_as_names_that_preview_takes() {
    let names = devices("-o name");
    assert_snapshot!(names.shown(), @"
    gpu.example.com/node-9/gpu-1
    gpu.example.com/node-9/gpu-3
    [exit status: 0]
    ");
    for name in names.stdout.lines() {
        let run = devicetaint(&format!("preview {name} a:NoExecute --from {EXAMPLE}"));
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
    }
}

#[test]
fn format_can_be_given_in_every_way_kubectl_takes_it() {
    let expected = preview("-o json").shown();
    for flags in ["-ojson", "-o=json", "--output json", "--output=json"] {
        assert_eq!(preview(flags).shown(), expected, "{flags}");
    }
}

#[test]
fn unknown_format_lists_the_known_ones() {
    assert_snapshot!(preview("-o jsn").shown(), @r"
    [stderr]
    error: invalid value 'jsn' for '--output <FORMAT>'
      [possible values: table, wide, json, yaml, markdown, html, name]

    hint: did you mean 'json'?

    For more information, try '--help'.
    [exit status: 2]
    ");
}

#[test]
fn commands_without_a_page_say_what_they_take() {
    for command in ["devices", "wait r", "podresources list"] {
        let run = devicetaint(&format!("{command} -o html"));
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{command}");
        let known = "[possible values: table, wide, json, yaml, markdown, name]";
        assert!(run.stderr.contains(known), "{}", run.shown());
    }
}

#[test]
fn a_page_says_what_is_odd_and_what_is_not_known_and_ends_as_every_format_does() {
    let preview = preview("-o html --abort-if pods.evicted>0");
    assert_eq!(preview.code, 4, "{}", preview.stderr);
    assert!(preview.stdout.starts_with("<!doctype html>"));
    assert!(preview.stdout.ends_with("</html>\n"));
    assert!(preview.stdout.contains("<b class=\"bad\">tripped</b>"));
    let rules = devicetaint(&format!("list -o json --from {EXAMPLE}")).stdout;
    let folder = Folder::new().with("rules.json", rules);
    for command in [
        "preview --rule node-6-firmware",
        "list",
        "describe node-6-firmware",
        "explain rule/node-6-firmware",
    ] {
        let line = format!("{command} --now 2026-11-20T10:30:00Z --from rules.json -o html");
        let run = folder.devicetaint(&line);
        assert_eq!(run.code, 0, "{}", run.shown());
        let (_, found) = run.stdout.split_once("<main>").expect("a page");
        let first = found
            .find("Incomplete report. Unknown</h2>")
            .expect(command);
        let rest = found.find("</table>").unwrap_or(found.len());
        assert!(first < rest, "{command}: it stands above all tables");
        assert!(found.contains("<li>pods: "), "{command}: {found}");
    }
    let gone = folder.devicetaint("describe gone --from rules.json -o html");
    assert_eq!(
        (gone.code, gone.stdout.as_str()),
        (1, ""),
        "{}",
        gone.shown()
    );
}

fn schema(name: &str) -> Validator {
    let path = format!("{}/schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    jsonschema::validator_for(&schema).expect("a JSON Schema")
}

#[test]
fn json_of_every_preview_of_the_example_follows_the_schema() {
    let schema = schema("impact-report.v1alpha1.schema.json");
    for question in [
        "gpu.example.com/node-7/gpu-0",
        "gpu.example.com",
        "nic.example.com",
        "--all-devices",
        "--rule node-6-firmware",
        "-f examples/rule.yaml",
        "gpu.example.com a:NoSchedule",
        "gpu.example.com a:None --abort-if pods.evicted>1%",
        "gpu.example.com/node-7/gone a:None --allow-missing",
        "gpu.example.com --kubernetes 1.34",
    ] {
        let run = devicetaint(&format!("preview {question} --from {EXAMPLE} -o json"));
        let report = run.json();
        let errors: Vec<String> = schema
            .iter_errors(&report)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{question}: {errors:#?}");
    }
}

#[test]
fn json_of_every_list_of_devices_follows_the_schema() {
    let schema = schema("device-list.v1alpha1.schema.json");
    for question in ["", "--tainted", "--node node-7", "--free --node node-11"] {
        let run = devicetaint(&format!("devices {question} --from {EXAMPLE} -o json"));
        assert!(schema.is_valid(&run.json()), "{question}");
    }
}

/// Every test validates what it sees; this one shows that it would find what is wrong.
#[test]
fn a_document_that_does_not_follow_its_schema_is_found() {
    let good = r#"{"apiVersion":"devicetaint.dev/v1alpha1","kind":"DeviceTaintPolicy"}"#;
    let bad = r#"{"apiVersion":"devicetaint.dev/v1alpha1","kind":"DeviceTaintPolicy","guards":7}"#;
    let unknown = "apiVersion: devicetaint.dev/v1alpha1\nkind: NoReport\n";
    let foreign = r#"{"apiVersion":"v1","kind":"List","note":"devicetaint.dev/"}"#;
    assert_eq!(crate::validated::documents(foreign), Vec::<Value>::new());
    for (text, is_good) in [(good, true), (bad, false), (unknown, false)] {
        let found = crate::validated::documents(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(
            crate::validated::validated(&found[0]).is_ok(),
            is_good,
            "{text}"
        );
    }
    assert_eq!(
        crate::validated::documents(&format!("{good}\n{bad}\n")).len(),
        2
    );
}

#[test]
fn yaml_says_the_same_as_json() {
    for command in ["preview gpu.example.com a:NoExecute", "devices"] {
        let run = |format: &str| devicetaint(&format!("{command} --from {EXAMPLE} -o {format}"));
        let yaml: Value = serde_yaml::from_str(&run("yaml").stdout).expect("YAML");
        assert_eq!(yaml, run("json").json(), "{command}");
    }
}
