//! What every format makes of whole reports.

use super::{Format, Page, render};
use crate::assess::Basis;
use crate::assess::Limits;
use crate::assess::{Guard, Wholes};
use crate::engine::{Consumer, DeviceState, DeviceTaint, Origin};
use crate::model::Warning;
use crate::report::testing::{self, Example};
use crate::report::{DeviceReport, View};

fn shown(report: &impl View, format: Format) -> String {
    let page = Page {
        format,
        width: None,
        height: None,
    };
    render(report, page).unwrap()
}

#[test]
fn the_table_says_who_is_hit_when_and_by_what() {
    let guards: Vec<Guard> = ["pods.evicted>20", "pods.evicted.now>=25%"]
        .map(|guard| guard.parse().unwrap())
        .into();
    let limits = Limits {
        guards: &guards,
        wholes: Wholes {
            pods: 4,
            devices: 1,
        },
    };
    let report = Example::new().report_within(&limits);
    assert!(report.is_refused());
    insta::assert_snapshot!(shown(&report, Format::Table), @"
    gpu.example.com/node-7/gpu-0   taint example.com/maintenance:NoExecute

    Top risks:
      warning   team-b/bare-0: has no controller: nothing recreates it

    SEVERITY   WHEN    POD              WORKLOAD              CAUSE                           RISKS
    warning    +150m   team-b/bare-0    <none>                this taint                      unmanaged, long-grace
    notice     +5m     team-a/train-1   ReplicaSet/train-6d   this taint, rule drain-node-7   long-grace, foreign-taint
    notice     now     team-a/train-0   ReplicaSet/train-6d   this taint                      long-grace

    Timeline:
    FROM    EVICTED   CHART
    now       1 pod   ██████████████████████████████
    +5m       1 pod   ██████████████████████████████
    +150m     1 pod   ██████████████████████████████

    Not evicted:
      team-a/infer-0: tolerates the taint; evicted anyway, by the driver's taint
      team-a/old-0: terminating, its grace period ended 10m ago
      team-a/queued-0: has no node yet

    Message that the controller would report for effect None:
      1 published device selected. 6 allocated devices selected. 3 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Guards:
      pods.evicted>20: not tripped, the value is 3
      pods.evicted.now>=25%: tripped, the value is 1 of 4

    3 pods in 2 namespaces would be evicted: 1 now, 2 later (last in 150m at 2026-11-21T03:30:34Z).
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    Guard pods.evicted.now>=25% tripped: the value is 1 of 4.
    The last evicted pod is gone after about 3h30m (at full grace period); the device is not free then: not all of its pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    ");
}

#[test]
fn wide_adds_what_an_owner_wants_to_know() {
    let report = Example::new().report();
    insta::assert_snapshot!(shown(&report, Format::Wide), @"
    gpu.example.com/node-7/gpu-0   taint example.com/maintenance:NoExecute

    Top risks:
      warning   team-b/bare-0: has no controller: nothing recreates it

    SEVERITY   WHEN    POD              NODE     DEVICE                         WORKLOAD              CAUSE                           RISKS                      OUTCOME        QOS         PRIORITY   GRACE   CLAIM         UID
    warning    +150m   team-b/bare-0    node-7   gpu.example.com/node-7/gpu-0   <none>                this taint                      unmanaged,long-grace       EvictedLater   <none>             0   3600s   bare-0-gpu    uid-of-bare-0
    notice     +5m     team-a/train-1   node-7   gpu.example.com/node-7/gpu-0   ReplicaSet/train-6d   this taint, rule drain-node-7   long-grace,foreign-taint   EvictedLater   Burstable          0     30s   train-1-gpu   uid-of-train-1
    notice     now     team-a/train-0   node-7   gpu.example.com/node-7/gpu-0   ReplicaSet/train-6d   this taint                      long-grace                 EvictedNow     Burstable          0     30s   train-0-gpu   uid-of-train-0

    Timeline:
    FROM    EVICTED   CHART
    now       1 pod   ██████████████████████████████
    +5m       1 pod   ██████████████████████████████
    +150m     1 pod   ██████████████████████████████

    Not evicted:
      team-a/infer-0: tolerates the taint; evicted anyway, by the driver's taint
      team-a/old-0: terminating, its grace period ended 10m ago
      team-a/queued-0: has no node yet

    TAINT                               RULE     SELECTOR                       PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    example.com/maintenance:NoExecute   <none>   gpu.example.com/node-7/gpu-0           1             6      3            2

    Message that the controller would report for effect None:
      1 published device selected. 6 allocated devices selected. 3 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Hazards:
      unmanaged (team-b/bare-0): has no controller, or its controller was deleted: nothing recreates it
      long-grace (team-a/train-0 and 2 more): has a grace period of more than 10s, and may keep the device that long
      foreign-taint (team-a/infer-0 and 1 more): is also evicted by an existing rule or by a driver's taint

    3 pods in 2 namespaces would be evicted: 1 now, 2 later (last in 150m at 2026-11-21T03:30:34Z).
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 3h30m (at full grace period); the device is not free then: not all of its pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    ");
}

#[test]
fn a_document_carries_the_warnings_too() {
    let mut example = Example::new();
    example.proposed = testing::proposed(Some("drain-gpu-0"));
    example.reading.warnings.push(Warning {
        code: "incomplete-pool",
        message: "pool gpu.example.com/node-7 has 1 of 2 slices".to_owned(),
        fix: Some("wait for the driver".to_owned()),
    });
    insta::assert_snapshot!(shown(&example.report(), Format::Markdown), @r"
    rule drain-gpu-0: gpu.example.com/node-7/gpu-0   taint example.com/maintenance:NoExecute

    3 pods in 2 namespaces would be evicted: 1 now, 2 later (last in 150m at 2026-11-21T03:30:34Z).

    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.

    The last evicted pod is gone after about 3h30m (at full grace period); the device is not free then: not all of its pods are evicted.

    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.

    ### Top risks

    - warning   team-b/bare-0: has no controller: nothing recreates it

    | SEVERITY | WHEN | POD | NODE | DEVICE | WORKLOAD | CAUSE | RISKS | OUTCOME | QOS | PRIORITY | GRACE | CLAIM | UID |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | ---: | ---: | --- | --- |
    | warning | +150m | team-b/bare-0 | node-7 | gpu.example.com/node-7/gpu-0 | \<none\> | rule drain-gpu-0 | unmanaged,long-grace | EvictedLater | \<none\> | 0 | 3600s | bare-0-gpu | uid-of-bare-0 |
    | notice | +5m | team-a/train-1 | node-7 | gpu.example.com/node-7/gpu-0 | ReplicaSet/train-6d | rule drain-gpu-0, rule drain-node-7 | long-grace,foreign-taint | EvictedLater | Burstable | 0 | 30s | train-1-gpu | uid-of-train-1 |
    | notice | now | team-a/train-0 | node-7 | gpu.example.com/node-7/gpu-0 | ReplicaSet/train-6d | rule drain-gpu-0 | long-grace | EvictedNow | Burstable | 0 | 30s | train-0-gpu | uid-of-train-0 |

    ### Timeline

    | FROM | EVICTED | CHART |
    | --- | ---: | --- |
    | now | 1 pod | ██████████████████████████████ |
    | +5m | 1 pod | ██████████████████████████████ |
    | +150m | 1 pod | ██████████████████████████████ |

    ### Not evicted

    - team-a/infer-0: tolerates the taint; evicted anyway, by the driver's taint
    - team-a/old-0: terminating, its grace period ended 10m ago
    - team-a/queued-0: has no node yet

    | TAINT | RULE | SELECTOR | PUBLISHED | ALLOCATIONS | PODS | NAMESPACES |
    | --- | --- | --- | ---: | ---: | ---: | ---: |
    | example.com/maintenance:NoExecute | drain-gpu-0 | gpu.example.com/node-7/gpu-0 | 1 | 6 | 3 | 2 |

    ### Message that the controller would report for effect None

    - 1 published device selected. 6 allocated devices selected. 3 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    ### Hazards

    - unmanaged (team-b/bare-0): has no controller, or its controller was deleted: nothing recreates it
    - long-grace (team-a/train-0 and 2 more): has a grace period of more than 10s, and may keep the device that long
    - foreign-taint (team-a/infer-0 and 1 more): is also evicted by an existing rule or by a driver's taint

    ### Warnings

    - pool gpu.example.com/node-7 has 1 of 2 slices; wait for the driver
    ");
}

#[test]
fn names_are_those_of_the_evicted_pods() {
    let report = Example::new().report();
    insta::assert_snapshot!(shown(&report, Format::Name), @"
    pod/train-0 -n team-a
    pod/train-1 -n team-a
    pod/bare-0 -n team-b
    ");
}

#[test]
fn yaml_has_all_of_it_in_the_order_of_the_contract() {
    let report = Example::new().report();
    insta::assert_snapshot!(shown(&report, Format::Yaml), @r#"
    apiVersion: devicetaint.dev/v1alpha1
    kind: ImpactReport
    metadata:
      context: null
      server: null
      serverVersion: null
      dataSource: Files
      semantics: "1.37"
      observedTime: "2026-11-21T01:00:34Z"
      resourceVersions:
        pods: "220"
    digest: sha256:4298e0c95cb494cbafa0fd1de5fd1d934e6c9e9c4e0db2232095be662c740e61
    hardwareDigest: hardware:c431ad5e42a49713c788dcf9d61216e302d4c0bc8e5aa234beefe972ca1c33e7
    proposedTaints:
    - rule: null
      selector:
        driver: gpu.example.com
        pool: node-7
        device: gpu-0
      selectorScope: Described
      taint:
        key: example.com/maintenance
        value: ""
        effect: NoExecute
        timeAdded: "2026-11-21T01:00:34Z"
        source: DeviceTaintRule
        sourceName: null
      counts:
        publishedDeviceCount: 1
        allocationCount: 6
        evictedPodCount: 3
        namespaceCount: 2
      controllerMessage: 1 published device selected. 6 allocated devices selected. 3 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.
    summary:
      deviceCount: 1
      claimCount: 6
      evictedPodCount: 3
      evictedNowPodCount: 1
      evictedLaterPodCount: 2
      toleratingPodCount: 1
      terminatingPodCount: 1
      notEvictedPodCount: 1
      criticalPodCount: 0
      unmanagedPodCount: 1
      namespaceCount: 2
      nodeCount: 1
      workloadCount: 2
      violatedBudgetCount: 0
      downWorkloadCount: 0
      severities:
        okPodCount: 0
        noticePodCount: 2
        warningPodCount: 1
        dangerPodCount: 0
      unplaceableClaimCount: 0
      availableDeviceCount: 0
      classDeviceCount: 0
      firstEvictionTime: "2026-11-21T01:00:34Z"
      lastEvictionTime: "2026-11-21T03:30:34Z"
    affectedPods:
    - namespace: team-a
      name: infer-0
      uid: uid-of-infer-0
      node: node-7
      phase: Running
      outcome: Tolerates
      evictionTime: null
      evictInSeconds: null
      causes:
      - taint:
          key: gpu.example.com/ecc
          value: high
          effect: NoExecute
          timeAdded: "2026-11-21T01:00:34Z"
          source: ResourceSlice
          sourceName: node-7-gpu-x
        device: gpu.example.com/node-7/gpu-0
        evictionTime: "2026-11-21T03:00:34Z"
      usedClaims:
      - name: infer-0-gpu
        allocations:
        - request: gpu
          device: gpu.example.com/node-7/gpu-0
      owner:
        kind: ReplicaSet
        name: train-6d
      workload: null
      qosClass: Burstable
      priority: 0
      priorityClassName: ""
      gracePeriodSeconds: 30
      hazards:
      - ForeignTaint
      severity: Notice
      findings:
      - hazard: ForeignTaint
        severity: Notice
        message: is also evicted by an existing rule or by a driver's taint
      notes:
      - reason: Tolerates
        message: tolerates the taint
      - reason: EvictedAnyway
        message: the driver's taint gpu.example.com/ecc=high:NoExecute evicts the pod at 2026-11-21T03:00:34Z
    - namespace: team-a
      name: old-0
      uid: uid-of-old-0
      node: node-7
      phase: Running
      outcome: Terminating
      evictionTime: null
      evictInSeconds: null
      causes: []
      usedClaims:
      - name: old-0-gpu
        allocations:
        - request: gpu
          device: gpu.example.com/node-7/gpu-0
      owner:
        kind: ReplicaSet
        name: train-6d
      workload: null
      qosClass: Burstable
      priority: 0
      priorityClassName: ""
      gracePeriodSeconds: 30
      hazards: []
      severity: Ok
      notes:
      - reason: Terminating
        message: terminating, its grace period ended 10m ago
    - namespace: team-a
      name: queued-0
      uid: uid-of-queued-0
      node: null
      phase: Running
      outcome: NotEvicted
      evictionTime: null
      evictInSeconds: null
      causes: []
      usedClaims:
      - name: queued-0-gpu
        allocations:
        - request: gpu
          device: gpu.example.com/node-7/gpu-0
      owner:
        kind: ReplicaSet
        name: train-6d
      workload: null
      qosClass: Burstable
      priority: 0
      priorityClassName: ""
      gracePeriodSeconds: 30
      hazards: []
      severity: Ok
      notes:
      - reason: NotScheduled
        message: has no node yet
    - namespace: team-a
      name: train-0
      uid: uid-of-train-0
      node: node-7
      phase: Running
      outcome: EvictedNow
      evictionTime: "2026-11-21T01:00:34Z"
      evictInSeconds: 0
      causes:
      - taint:
          key: example.com/maintenance
          value: ""
          effect: NoExecute
          timeAdded: "2026-11-21T01:00:34Z"
          source: DeviceTaintRule
          sourceName: null
        device: gpu.example.com/node-7/gpu-0
        evictionTime: "2026-11-21T01:00:34Z"
      usedClaims:
      - name: train-0-gpu
        allocations:
        - request: gpu
          device: gpu.example.com/node-7/gpu-0
      owner:
        kind: ReplicaSet
        name: train-6d
      workload:
        kind: ReplicaSet
        name: train-6d
      qosClass: Burstable
      priority: 0
      priorityClassName: ""
      gracePeriodSeconds: 30
      hazards:
      - LongGrace
      severity: Notice
      findings:
      - hazard: LongGrace
        severity: Notice
        message: has a grace period of 30s, and may keep the device that long
      notes: []
    - namespace: team-a
      name: train-1
      uid: uid-of-train-1
      node: node-7
      phase: Running
      outcome: EvictedLater
      evictionTime: "2026-11-21T01:05:34Z"
      evictInSeconds: 300
      causes:
      - taint:
          key: example.com/maintenance
          value: ""
          effect: NoExecute
          timeAdded: "2026-11-21T01:00:34Z"
          source: DeviceTaintRule
          sourceName: null
        device: gpu.example.com/node-7/gpu-0
        evictionTime: "2026-11-21T01:05:34Z"
      - taint:
          key: example.com/maintenance
          value: ""
          effect: NoExecute
          timeAdded: "2026-11-21T01:00:34Z"
          source: DeviceTaintRule
          sourceName: drain-node-7
        device: gpu.example.com/node-7/gpu-0
        evictionTime: "2026-11-21T01:10:34Z"
      usedClaims:
      - name: train-1-gpu
        allocations:
        - request: gpu
          device: gpu.example.com/node-7/gpu-0
      owner:
        kind: ReplicaSet
        name: train-6d
      workload:
        kind: ReplicaSet
        name: train-6d
      qosClass: Burstable
      priority: 0
      priorityClassName: ""
      gracePeriodSeconds: 30
      hazards:
      - LongGrace
      - ForeignTaint
      severity: Notice
      findings:
      - hazard: LongGrace
        severity: Notice
        message: has a grace period of 30s, and may keep the device that long
      - hazard: ForeignTaint
        severity: Notice
        message: is also evicted by an existing rule or by a driver's taint
      notes:
      - reason: EvictedAnyway
        message: rule drain-node-7 evicts the pod too, at 2026-11-21T01:10:34Z
    - namespace: team-b
      name: bare-0
      uid: uid-of-bare-0
      node: node-7
      phase: Running
      outcome: EvictedLater
      evictionTime: "2026-11-21T03:30:34Z"
      evictInSeconds: 9000
      causes:
      - taint:
          key: example.com/maintenance
          value: ""
          effect: NoExecute
          timeAdded: "2026-11-21T01:00:34Z"
          source: DeviceTaintRule
          sourceName: null
        device: gpu.example.com/node-7/gpu-0
        evictionTime: "2026-11-21T03:30:34Z"
      usedClaims:
      - name: bare-0-gpu
        allocations:
        - request: gpu
          device: gpu.example.com/node-7/gpu-0
      owner: null
      workload: null
      qosClass: null
      priority: 0
      priorityClassName: ""
      gracePeriodSeconds: 3600
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
        message: has a grace period of 3600s, and may keep the device that long
      notes: []
    selectedDevices:
    - device: gpu.example.com/node-7/gpu-0
      node: node-7
      published: true
      claims:
      - namespace: team-b
        name: bare-0-gpu
        uid: uid-of-bare-0-gpu
      - namespace: team-a
        name: train-1-gpu
        uid: uid-of-train-1-gpu
      - namespace: team-a
        name: train-0-gpu
        uid: uid-of-train-0-gpu
      - namespace: team-a
        name: infer-0-gpu
        uid: uid-of-infer-0-gpu
      - namespace: team-a
        name: old-0-gpu
        uid: uid-of-old-0-gpu
      - namespace: team-a
        name: queued-0-gpu
        uid: uid-of-queued-0-gpu
      taints:
      - key: gpu.example.com/ecc
        value: high
        effect: NoExecute
        timeAdded: "2026-11-21T01:00:34Z"
        source: ResourceSlice
        sourceName: node-7-gpu-x
      releaseTime: null
      notReleasedReason: PodStays
      mayBeReallocated: false
    budgets: []
    workloads:
    - namespace: team-a
      kind: ReplicaSet
      name: train-6d
      replicas: 5
      readyReplicas: 5
      evictedPodCount: 2
      readyReplicasLeft: 3
    replacements:
      claimReplacements: []
      maxPlaceableClaimCount: 0
      available:
        deviceClassNames: []
        availableDeviceCount: 0
        classDeviceCount: 0
    siblings: []
    guardResults: []
    warnings: []
    incomplete: []
    "#);
}

fn shown_devices(devices: &[DeviceState<'_>], format: Format) -> String {
    let reading = testing::reading();
    let semantics = testing::semantics(37);
    let basis = Basis::new(&reading, &semantics, testing::now());
    let report = DeviceReport::new(devices, &[], &basis);
    shown(&report, format)
}

fn with_devices(check: impl FnOnce(&[DeviceState<'_>])) {
    let pods = [
        testing::pod("team-a", "train-0"),
        testing::pod("team-a", "train-1"),
    ];
    let (rule, slice) = ("drain-gpu-1".into(), "node-7-x".into());
    let node = "node-7".into();
    let free = |name| DeviceState {
        node: Some(&node),
        ..testing::device_state(testing::device(name))
    };
    let taint = |origin| DeviceTaint {
        origin,
        taint: &testing::TAINT,
    };
    check(&[
        DeviceState {
            taints: vec![
                taint(Origin::ResourceSlice(&slice)),
                taint(Origin::Rule(&rule)),
            ],
            ..free("gpu-1")
        },
        DeviceState {
            allocations: 2,
            consumers: pods
                .iter()
                .map(|pod| Consumer {
                    name: pod.name.clone(),
                    resource: "pods",
                    uid: &pod.uid,
                    admin: false,
                })
                .collect(),
            ..free("gpu-0")
        },
        DeviceState {
            node: None,
            published: false,
            device: None,
            allocations: 1,
            ..free("gpu-9")
        },
    ]);
}

#[test]
fn the_table_says_where_a_device_is_and_who_uses_it() {
    with_devices(|devices| {
        insta::assert_snapshot!(shown_devices(devices, Format::Wide), @r"
          DEVICE                         NODE     ALLOCATED   TAINTS                                                                                             CLAIMS   PODS                             PUBLISHED   DEDICATED
        node-7: 2 devices, 1 allocated, 1 tainted
          gpu.example.com/node-7/gpu-0   node-7   yes (2)     <none>                                                                                             <none>   team-a/train-0, team-a/train-1   yes         <none>
          gpu.example.com/node-7/gpu-1   node-7   no          example.com/maintenance:NoExecute (driver), example.com/maintenance:NoExecute (rule drain-gpu-1)   <none>   <none>                           yes         <none>
        not local to a node: 1 device, 1 allocated, 0 tainted
          gpu.example.com/node-7/gpu-9   <none>   yes         <none>                                                                                             <none>   <none>                           no          <none>

        1 node: 3 devices, 2 allocated, 1 tainted
        ");
    });
}

#[test]
fn names_are_what_other_commands_take() {
    with_devices(|devices| {
        insta::assert_snapshot!(shown_devices(devices, Format::Name), @"
        gpu.example.com/node-7/gpu-0
        gpu.example.com/node-7/gpu-1
        gpu.example.com/node-7/gpu-9
        ");
    });
}

#[test]
fn no_device_is_no_text() {
    assert_eq!(shown_devices(&[], Format::Table), "");
}
