//! `preview`: the ways to choose devices and taints, guards, and versions.

use insta::assert_snapshot;

use super::harness::{EXAMPLE, Folder, Run, devicetaint};

fn preview(flags: &str) -> Run {
    devicetaint(&format!("preview --from {EXAMPLE} {flags}"))
}

#[test]
fn one_device_is_asked_about_without_a_taint() {
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0").shown(), @"
    gpu.example.com/node-7/gpu-0   taint devicetaint.dev/preview:NoExecute

    Top risks:
      danger    Deployment/rerank of serving: PodDisruptionBudget rerank allows 0 disruptions, 1 needed; Deployment rerank has 1 ready pod and would have none left; replacements can get tainted devices, because their tolerations allow it, and are then evicted, too
      warning   research/notebook-anna: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                              WORKLOAD            RISKS
    danger     +5m    serving/rerank-6b4d9f8c5-wxh7f   Deployment/rerank   pdb-violated, last-replica (+3)
    warning    now    research/notebook-anna           <none>              unmanaged, local-data (+2)
    notice     now    serving/embed-5f6b8c9d77-mdd2q   Deployment/embed    long-grace, sibling-in-use

    Timeline:
    FROM   EVICTED   CHART
    now     2 pods   ██████████████████████████████
    +5m      1 pod   ███████████████

    Not evicted:
      serving/thumbnails-75c8f4b69d-5bvwl: uses an extended resource; this version of Kubernetes does not evict such pods
      research/evals-98wpf: tolerates the taint
      research/notebook-ben: terminating, its grace period ended 10s ago

    Message that the controller would report for effect None:
      1 published device selected. 5 allocated devices selected. 3 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Hardware that stays in use:
      gpu.example.com/node-7/gpu-0 is shared, and stays in use by pod research/evals-98wpf and 1 more

    3 pods in 2 namespaces would be evicted: 2 now, 1 later (last in 5m at 2026-11-20T10:20:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 5m30s (at full grace period; replacements may be evicted again); the device is not free then: not all of its pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    [stderr]
    warning: no taint specified: this command assumes a taint that only wildcard tolerations match; specify the taint, so that pods that tolerate it are not counted as evicted
    [exit status: 0]
    ");
}

#[test]
fn several_devices_are_one_question() {
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-1 gpu.example.com/node-9/gpu-1 gpu.example.com/node-7/gpu-1").answer(), @"
    2 pods in 2 namespaces would be evicted now.
    The last evicted pod is gone after about 30s (at full grace period); then both devices are free.
    [stderr]
    warning: no taint specified: this command assumes a taint that only wildcard tolerations match; specify the taint, so that pods that tolerate it are not counted as evicted
    [exit status: 0]
    ");
}

#[test]
fn claims_that_find_no_other_device_are_told_and_stop_what_must_not_do_that() {
    let line = "gpu.example.com/node-7/* a:NoExecute --abort-if claims.unplaceable>2 --abort-if devices.available<25%";
    assert_snapshot!(preview(line).shown(), @"
    gpu.example.com/node-7/*   taint a:NoExecute

    Top risks:
      danger    Deployment/rerank of serving: PodDisruptionBudget rerank allows 0 disruptions, 1 needed; Deployment rerank has 1 ready pod and would have none left; replacements can get tainted devices, because their tolerations allow it, and are then evicted, too
      danger    Deployment/embed of serving (2 pods): Deployment embed has 2 ready pods and would have none left; claim embed-5f6b8c9d77-mdd2q-gpu-72g96 cannot be reallocated: request gpu needs 1 device, and 0 are available (and 1 more of this kind)
      warning   research/notebook-anna: claim notebooks cannot be reallocated: request gpu needs 1 device, and 0 are available; has no controller: nothing recreates it

    SEVERITY   WHEN   POD                              DEVICE                         WORKLOAD            RISKS
    danger     +5m    serving/rerank-6b4d9f8c5-wxh7f   gpu.example.com/node-7/gpu-0   Deployment/rerank   pdb-violated, last-replica (+3)
    danger     now    serving/embed-5f6b8c9d77-mdd2q   gpu.example.com/node-7/gpu-0   Deployment/embed    last-replica, no-replacement (+2)
    danger     now    serving/embed-5f6b8c9d77-f6ln5   gpu.example.com/node-7/gpu-1   Deployment/embed    last-replica, no-replacement (+1)
    warning    now    research/notebook-anna           gpu.example.com/node-7/gpu-0   <none>              no-replacement, unmanaged (+3)

    Timeline:
    FROM   EVICTED   CHART                            FREE-AGAIN
    now     3 pods   ██████████████████████████████
    +30s                                              1 device
    +5m      1 pod   ██████████

    Not evicted:
      serving/thumbnails-75c8f4b69d-5bvwl: uses an extended resource; this version of Kubernetes does not evict such pods
      research/evals-98wpf: tolerates the taint
      research/notebook-ben: terminating, its grace period ended 10s ago

    Message that the controller would report for effect None:
      4 published devices selected. 6 allocated devices selected. 4 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Replacements:
      3 claims cannot be reallocated (research/notebooks, serving/embed-5f6b8c9d77-f6ln5-gpu-kq8sm, serving/embed-5f6b8c9d77-mdd2q-gpu-72g96): request gpu needs 1 device, and 0 are available
      together, at most 1 of the 4 claims can be reallocated, perhaps fewer; not checked: capacity of shared devices (claim serving/rerank-6b4d9f8c5-wxh7f-gpu-cknml)

    Hardware that stays in use:
      gpu.example.com/node-7/gpu-0 is shared, and stays in use by pod research/evals-98wpf and 1 more

    Guards:
      claims.unplaceable>2: tripped, the value is 3
      devices.available<25%: not tripped, the value is 11 of 40

    4 pods in 2 namespaces would be evicted: 3 now, 1 later (last in 5m at 2026-11-20T10:20:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    3 claims cannot be reallocated: too few other devices are available to them.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    Guard claims.unplaceable>2 tripped: the value is 3.
    The last evicted pod is gone after about 5m30s (at full grace period; replacements may be evicted again); 3 of the 4 devices are free then; not free: 1 (not all of its pods are evicted).
    All evicted pods are on node-7.
    [stderr]
    error: guard tripped: claims.unplaceable>2
    [exit status: 4]
    ");
    let report = preview("gpu.example.com/node-7/* a:NoExecute -o json").json();
    let claims = report["replacements"]["claimReplacements"].as_array();
    let beyond: Vec<String> = claims
        .into_iter()
        .flatten()
        .map(|claim| format!("{}: {}", claim["name"], claim["notModelled"]))
        .collect();
    assert_snapshot!(beyond.join("\n"), @r#"
    "notebooks": []
    "embed-5f6b8c9d77-f6ln5-gpu-kq8sm": []
    "embed-5f6b8c9d77-mdd2q-gpu-72g96": []
    "rerank-6b4d9f8c5-wxh7f-gpu-cknml": ["Capacity"]
    "#);
}

#[test]
fn whole_driver_is_one_segment() {
    assert_snapshot!(preview("gpu.example.com").answer(), @"
    15 pods in 4 namespaces would be evicted: 12 now, 3 later (last in 10m at 2026-11-20T10:25:00Z).
    3 PodDisruptionBudgets would be violated; taint evictions ignore PodDisruptionBudgets.
    9 claims cannot be reallocated: too few other devices are available to them.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 60m (at full grace period; replacements may be evicted again); 34 of the 40 devices are free then; not free: 1 (not all of its pods are evicted), 1 (no pod of its claim is known); not known to be free: 4 (an evicted pod may be recreated and scheduled to the same device). A free device may be allocated to the replacement of an evicted pod.
    [stderr]
    warning: no taint specified: this command assumes a taint that only wildcard tolerations match; specify the taint, so that pods that tolerate it are not counted as evicted
    [exit status: 0]
    ");
}

#[test]
fn pool_may_have_a_slash_in_its_name() {
    assert_snapshot!(preview("nic.example.com/fabric/node-1/vf-0 a:NoExecute").shown(), @"
    nic.example.com/fabric/node-1/vf-0   taint a:NoExecute

    Top risks:
      danger    StatefulSet/llm of training: PodDisruptionBudget llm allows 0 disruptions, 1 needed

    SEVERITY   WHEN   POD              WORKLOAD          RISKS
    danger     now    training/llm-0   StatefulSet/llm   pdb-violated, long-grace

    Message that the controller would report for effect None:
      1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    1 pod in 1 namespace would be evicted now.
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    The last evicted pod is gone after about 60m (at full grace period); then the device is free.
    The evicted pod is on node-1, and uses nic.example.com/fabric/node-1/vf-0.
    [exit status: 0]
    ");
}

#[test]
fn a_taint_without_its_effect_behind_other_choices_is_told_as_that() {
    assert_snapshot!(preview("--pod research/notebook-anna example.com/x").shown(), @r#"
    [stderr]
    error: cannot tell whether "example.com/x" is a taint or a device
    hint: for a taint, add its effect (None, NoSchedule or NoExecute), such as example.com/x:None
    hint: for devices: 'example.com/x/*' or '*/example.com/x'
    [exit status: 2]
    "#);
    assert_snapshot!(preview("--pod research/notebook-anna maintenance").shown(), @"
    [stderr]
    error: no driver or hardware ID maintenance
    hint: list the devices and their hardware IDs with `kubectl devicetaint devices --from examples/cluster.yaml --show-attributes`
    hint: to use maintenance as a taint, add its effect, such as maintenance:None
    [exit status: 1]
    ");
    assert_snapshot!(preview("UUID=GPU-1").shown(), @"
    [stderr]
    error: no devices specified for taint UUID=GPU-1:None
    hint: specify devices as DRIVER/POOL/DEVICE before the taint
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    hint: did you mean hardware uuid=GPU-1?
    [exit status: 2]
    ");
    assert_snapshot!(preview("uid=GPU-1 a:NoExecute").shown(), @r"
    [stderr]
    error: more than one taint: uid=GPU-1:None and a:NoExecute
    hint: did you mean hardware uuid=GPU-1?
    [exit status: 2]
    ");
}

#[test]
fn flags_say_the_same_as_an_argument() {
    let argument = preview("gpu.example.com/node-7/gpu-0").shown();
    let flags = preview("--driver gpu.example.com --pool node-7 --device gpu-0").shown();
    assert_eq!(flags, argument);
    let flags = preview("--driver=gpu.example.com --pool=node-7").shown();
    assert_eq!(flags, preview("gpu.example.com/node-7/*").shown());
    assert_eq!(
        preview("--device gpu-0").shown(),
        preview("*/*/gpu-0").shown()
    );
}

#[test]
fn every_device_has_to_be_said_in_so_many_words() {
    assert_snapshot!(preview("--all-devices").answer(), @"
    15 pods in 4 namespaces would be evicted: 12 now, 3 later (last in 10m at 2026-11-20T10:25:00Z).
    3 PodDisruptionBudgets would be violated; taint evictions ignore PodDisruptionBudgets.
    9 claims cannot be reallocated: too few other devices are available to them.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 60m (at full grace period; replacements may be evicted again); 40 of the 46 devices are free then; not free: 1 (not all of its pods are evicted), 1 (no pod of its claim is known); not known to be free: 4 (an evicted pod may be recreated and scheduled to the same device). A free device may be allocated to the replacement of an evicted pod.
    [stderr]
    warning: no taint specified: this command assumes a taint that only wildcard tolerations match; specify the taint, so that pods that tolerate it are not counted as evicted
    warning: the proposed taint devicetaint.dev/preview:NoExecute selects every device of every driver; set a driver, a pool or a device, unless you mean all of them
    [exit status: 0]
    ");
    assert_snapshot!(preview("*/*/*").shown(), @r#"
    [stderr]
    error: "*/*/*" is not allowed: it selects every device of every driver
    hint: to select every device: --all-devices
    [exit status: 2]
    "#);
}

#[test]
fn named_taint_spares_the_pods_that_tolerate_it() {
    assert_snapshot!(preview("gpu.example.com/node-3/* example.com/maintenance=firmware:NoExecute").shown(), @"
    gpu.example.com/node-3/*   taint example.com/maintenance=firmware:NoExecute

    Top risks:
      danger    DaemonSet/gpu-monitor of monitoring: claim gpu-monitor-ztccc-all-lc9v7 cannot be reallocated: request 'all' needs all matching devices of one node, but none are available (not counting 27 on nodes where the pod cannot be scheduled); the pod's priority class is system-node-critical
      danger    StatefulSet/llm of training: PodDisruptionBudget llm allows 0 disruptions, 1 needed; replacements can get tainted devices, because their tolerations allow it, and are then evicted, too
      warning   Job/sweep of training (2 pods): Job sweep recreates evicted pods, because its podFailurePolicy ignores disruptions; replacements can get tainted devices, because their tolerations allow it, and are then evicted, too

    SEVERITY   WHEN   POD                            DEVICE                              WORKLOAD                RISKS
    danger     now    monitoring/gpu-monitor-ztccc   gpu.example.com/node-3/gpu-0 (+7)   DaemonSet/gpu-monitor   critical, no-replacement (+2)
    danger     +30m   training/llm-1                 gpu.example.com/node-3/gpu-0 (+3)   StatefulSet/llm         pdb-violated, tolerates-schedule-only (+1)
    warning    +2m    training/sweep-c5h4z           gpu.example.com/node-3/gpu-4        Job/sweep               job-restart, tolerates-schedule-only (+2)
    notice     +2m    training/sweep-49jxh           gpu.example.com/node-3/gpu-5        Job/sweep               terminal-still-reserved

    Timeline:
    FROM     EVICTED   CHART                            FREE-AGAIN
    now        1 pod   ███████████████
    +2m       2 pods   ██████████████████████████████
    +2m30s                                              1 device
    +30m       1 pod   ███████████████

    Message that the controller would report for effect None:
      8 published devices selected. 14 allocated devices selected. 4 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Replacements:
      claim monitoring/gpu-monitor-ztccc-all-lc9v7 cannot be reallocated: request 'all' needs all matching devices of one node, but none are available (not counting 27 on nodes where the pod cannot be scheduled)
      together, at most 3 of the 4 claims can be reallocated, perhaps fewer; not checked: whether one node has all devices that a claim needs (claim training/llm-1-gpus-rsbmk)

    4 pods in 2 namespaces would be evicted: 1 now, 3 later (last in 30m at 2026-11-20T10:45:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    1 claim cannot be reallocated: too few other devices are available to it.
    The last evicted pod is gone after about 90m (at full grace period; replacements may be evicted again); 3 of the 8 devices are free then; not known to be free: 5 (an evicted pod may be recreated and scheduled to the same device). A free device may be allocated to the replacement of an evicted pod, or to a waiting claim that tolerates the taint.
    All evicted pods are on node-3.
    [exit status: 0]
    ");
}

#[test]
fn no_schedule_evicts_nobody() {
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0 a:NoSchedule").shown(), @"
    gpu.example.com/node-7/gpu-0   taint a:NoSchedule

    Not evicted:
      serving/thumbnails-75c8f4b69d-5bvwl: uses an extended resource; this version of Kubernetes does not evict such pods
      research/evals-98wpf: effects other than NoExecute do not evict
      research/notebook-anna: effects other than NoExecute do not evict
      research/notebook-ben: terminating, its grace period ended 10s ago
      serving/embed-5f6b8c9d77-mdd2q: effects other than NoExecute do not evict
      serving/rerank-6b4d9f8c5-wxh7f: effects other than NoExecute do not evict

    TAINT          RULE     SELECTOR                       PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    a:NoSchedule   <none>   gpu.example.com/node-7/gpu-0           1             5      0            0

    No pod would be evicted: effect NoSchedule does not evict.
    6 pods use a selected device: 1 already terminating, 5 staying for other reasons.
    [exit status: 0]
    ");
}

#[test]
fn effect_none_is_previewed_as_if_it_evicted() {
    let summary = |effect: &str| {
        let run = preview(&format!("gpu.example.com/node-7/gpu-0 a:{effect} -o json"));
        run.json()["summary"].clone()
    };
    assert_eq!(summary("None"), summary("NoExecute"));
}

#[test]
fn taint_and_devices_stand_in_any_order() {
    let one = preview("gpu.example.com/node-7/gpu-0 a=b:NoExecute").shown();
    assert_eq!(
        preview("a=b:NoExecute gpu.example.com/node-7/gpu-0").shown(),
        one
    );
    let flags_last = format!("preview a=b:NoExecute gpu.example.com/node-7/gpu-0 --from={EXAMPLE}");
    assert_eq!(devicetaint(&flags_last).shown(), one);
    let dashes = format!("preview --from={EXAMPLE} -- a=b:NoExecute gpu.example.com/node-7/gpu-0");
    assert_eq!(devicetaint(&dashes).shown(), one);
}

#[test]
fn connection_flags_are_taken_anywhere_and_files_are_read_instead_of_the_cluster_they_name() {
    let plain = preview("gpu.example.com/node-7/gpu-0").shown();
    let device = "gpu.example.com/node-7/gpu-0";
    for (line, named) in [
        (
            format!("--context prod preview {device} --from {EXAMPLE}"),
            Some("--context prod"),
        ),
        (
            format!("preview --from {EXAMPLE} {device} -A --kubeconfig /nowhere"),
            None,
        ),
        (
            format!("preview --from {EXAMPLE} {device} --context prod -v=6"),
            Some("--context prod"),
        ),
        (
            format!("preview --from {EXAMPLE} {device} --v=4 -s=https://nowhere"),
            Some("--server https://nowhere"),
        ),
    ] {
        let mut shown = devicetaint(&line).shown();
        if let Some(flag) = named {
            let told = format!("warning: {flag} is ignored: --from reads saved files\n");
            assert!(shown.contains(&told), "{line}: {shown}");
            shown = shown.replace(&told, "");
        }
        assert_eq!(shown, plain, "{line}");
    }
}

#[test]
fn existing_rule_is_asked_about_by_name() {
    assert_snapshot!(preview("--rule node-6-firmware").shown(), @"
    rule node-6-firmware: gpu.example.com/node-6/*   taint example.com/maintenance=firmware:NoExecute

    Top risks:
      warning   Deployment/chat of serving: replacements can get tainted devices, because their tolerations allow it, and are then evicted, too

    SEVERITY   WHEN   POD                             WORKLOAD          RISKS
    warning    now    serving/chat-7d9c6b5f4d-bg695   Deployment/chat   tolerates-schedule-only, long-grace

    Not evicted:
      serving/speech-8479d6bcf-jh2lt: tolerates the taint

    Message that the controller would report for effect None:
      4 published devices selected. 3 allocated devices selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    1 pod in 1 namespace would be evicted now.
    1 more pod uses a selected device: 1 tolerating the taint.
    The last evicted pod is gone after about 60s (at full grace period; replacements may be evicted again); 1 of the 4 devices is free then; not free: 2 (not all of their pods are evicted); not known to be free: 1 (an evicted pod may be recreated and scheduled to the same device). The free device may be allocated to the replacement of an evicted pod, or to a waiting claim that tolerates the taint.
    The evicted pod is on node-6, and uses gpu.example.com/node-6/gpu-0.
    [exit status: 0]
    ");
}

#[test]
fn several_rules_are_one_question() {
    assert_snapshot!(preview("--rule node-6-firmware --rule node-10-decommission").shown(), @"
    Top risks:
      danger    Job/fold of research: Job fold fails permanently unless the pod's containers exit with 0 when stopped: failure 2 exceeds its backoffLimit of 1
      warning   Deployment/chat of serving: replacements can get tainted devices, because their tolerations allow it, and are then evicted, too

    SEVERITY   WHEN   POD                             NODE      DEVICE                          WORKLOAD          CAUSE                       RISKS
    danger     +20m   research/fold-jsg5p             node-10   gpu.example.com/node-10/gpu-0   Job/fold          rule node-10-decommission   job-fails, long-grace
    warning    now    serving/chat-7d9c6b5f4d-bg695   node-6    gpu.example.com/node-6/gpu-0    Deployment/chat   rule node-6-firmware        tolerates-schedule-only, long-grace

    Timeline:
    FROM   EVICTED   CHART                            FREE-AGAIN
    now      1 pod   ██████████████████████████████
    +20m     1 pod   ██████████████████████████████   1 device

    Not evicted:
      serving/speech-8479d6bcf-jh2lt: tolerates the taint

    TAINT                                        RULE                   SELECTOR                    PUBLISHED   ALLOCATIONS   PODS   NAMESPACES
    example.com/maintenance=firmware:NoExecute   node-6-firmware        gpu.example.com/node-6/*            4             3      1            1
    example.com/decommission:NoExecute           node-10-decommission   gpu.example.com/node-10/*           4             1      1            1

    2 pods in 2 namespaces would be evicted: 1 now, 1 later (last in 20m at 2026-11-20T10:35:00Z).
    1 more pod uses a selected device: 1 tolerating the taint.
    The last evicted pod is gone after about 20m (at full grace period; replacements may be evicted again); 5 of the 8 devices are free then; not free: 2 (not all of their pods are evicted); not known to be free: 1 (an evicted pod may be recreated and scheduled to the same device). A free device may be allocated to the replacement of an evicted pod, or to a waiting claim that tolerates the taint.
    [exit status: 0]
    ");
}

#[test]
fn manifest_is_asked_about_before_it_is_created() {
    assert_snapshot!(preview("-f examples/rule.yaml").shown(), @"
    gpu.example.com/node-3/*   taint example.com/maintenance=firmware:NoExecute

    Top risks:
      danger    DaemonSet/gpu-monitor of monitoring: claim gpu-monitor-ztccc-all-lc9v7 cannot be reallocated: request 'all' needs all matching devices of one node, but none are available (not counting 27 on nodes where the pod cannot be scheduled); the pod's priority class is system-node-critical
      danger    StatefulSet/llm of training: PodDisruptionBudget llm allows 0 disruptions, 1 needed; replacements can get tainted devices, because their tolerations allow it, and are then evicted, too
      warning   Job/sweep of training (2 pods): Job sweep recreates evicted pods, because its podFailurePolicy ignores disruptions; replacements can get tainted devices, because their tolerations allow it, and are then evicted, too

    SEVERITY   WHEN   POD                            DEVICE                              WORKLOAD                RISKS
    danger     now    monitoring/gpu-monitor-ztccc   gpu.example.com/node-3/gpu-0 (+7)   DaemonSet/gpu-monitor   critical, no-replacement (+2)
    danger     +30m   training/llm-1                 gpu.example.com/node-3/gpu-0 (+3)   StatefulSet/llm         pdb-violated, tolerates-schedule-only (+1)
    warning    +2m    training/sweep-c5h4z           gpu.example.com/node-3/gpu-4        Job/sweep               job-restart, tolerates-schedule-only (+2)
    notice     +2m    training/sweep-49jxh           gpu.example.com/node-3/gpu-5        Job/sweep               terminal-still-reserved

    Timeline:
    FROM     EVICTED   CHART                            FREE-AGAIN
    now        1 pod   ███████████████
    +2m       2 pods   ██████████████████████████████
    +2m30s                                              1 device
    +30m       1 pod   ███████████████

    Message that the controller would report for effect None:
      8 published devices selected. 14 allocated devices selected. 4 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Replacements:
      claim monitoring/gpu-monitor-ztccc-all-lc9v7 cannot be reallocated: request 'all' needs all matching devices of one node, but none are available (not counting 27 on nodes where the pod cannot be scheduled)
      together, at most 3 of the 4 claims can be reallocated, perhaps fewer; not checked: whether one node has all devices that a claim needs (claim training/llm-1-gpus-rsbmk)

    4 pods in 2 namespaces would be evicted: 1 now, 3 later (last in 30m at 2026-11-20T10:45:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    1 claim cannot be reallocated: too few other devices are available to it.
    The last evicted pod is gone after about 90m (at full grace period; replacements may be evicted again); 3 of the 8 devices are free then; not known to be free: 5 (an evicted pod may be recreated and scheduled to the same device). A free device may be allocated to the replacement of an evicted pod, or to a waiting claim that tolerates the taint.
    All evicted pods are on node-3.
    [exit status: 0]
    ");
}

#[test]
fn manifest_may_come_from_standard_input() {
    let path = format!("{}/examples/rule.yaml", env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read(path).expect("a manifest");
    let folder = Folder::new().with_example();
    let line = "preview --from cluster.yaml -f -";
    let run = folder.devicetaint_reading(line, &manifest);
    assert_eq!(run.shown(), preview("-f examples/rule.yaml").shown());
}

#[test]
fn manifest_that_would_taint_everything_is_refused() {
    let rule = |selector: &str| {
        format!(
            "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceTaintRule\nmetadata: {{name: wide}}\n\
             spec:\n  {selector}\n  taint: {{key: a, effect: NoExecute}}\n"
        )
    };
    let folder = Folder::new()
        .with_example()
        .with("nil.yaml", rule("{}").replace("  {}\n", ""))
        .with("empty.yaml", rule("deviceSelector: {}"))
        .with("class.yaml", rule("deviceSelector: {deviceClassName: gpu}"));
    let line = |name: &str| format!("preview --from cluster.yaml -f {name}.yaml");
    assert_snapshot!(folder.devicetaint(&line("nil")).shown(), @"
    [stderr]
    error: rule wide has no spec.deviceSelector
    hint: set a driver, a pool or a device in spec.deviceSelector
    hint: to preview a taint on every device: --all-devices
    [exit status: 2]
    ");
    assert_snapshot!(folder.devicetaint(&line("empty")).shown(), @"
    [stderr]
    error: rule wide has an empty spec.deviceSelector: it would taint every device
    hint: set a driver, a pool or a device in spec.deviceSelector
    hint: to preview a taint on every device: --all-devices
    [exit status: 2]
    ");
    assert_snapshot!(folder.devicetaint(&line("class")).shown(), @"
    [stderr]
    error: rule wide selects only by the fields deviceClassName or selectors, which Kubernetes 1.35 and later drop: the rule would taint every device
    hint: set a driver, a pool or a device in spec.deviceSelector
    hint: to preview a taint on every device: --all-devices
    [exit status: 2]
    ");
}

#[test]
fn manifest_of_another_kind_is_refused() {
    assert_snapshot!(preview(&format!("-f {EXAMPLE}")).shown(), @r"
    [stderr]
    error: examples/cluster.yaml contains an object of kind DaemonSet; only DeviceTaintRules are allowed
    [exit status: 1]
    ");
}

#[test]
fn unknown_rule_gets_the_nearest() {
    assert_snapshot!(preview("--rule node-6-firmwar").shown(), @r#"
    [stderr]
    error: no rule "node-6-firmwar"
    hint: did you mean node-6-firmware?
    [exit status: 1]
    "#);
    assert_snapshot!(preview("--rule zzz").shown(), @r#"
    [stderr]
    error: no rule "zzz"
      the rules are: node-10-decommission, node-6-firmware, node-8-power
    [exit status: 1]
    "#);
}

#[test]
fn unknown_device_gets_the_nearest_in_each_part() {
    assert_snapshot!(preview("gpu.exmple.com/node-7/gpu-0").shown(), @"
    [stderr]
    error: no device matches gpu.exmple.com/node-7/gpu-0: none is published or allocated
    hint: did you mean gpu.example.com/node-7/gpu-0?
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    hint: to accept devices that do not exist yet: --allow-missing
    [exit status: 1]
    ");
    assert_snapshot!(preview("gpu.example.com/nod-7/gpu-0").shown(), @"
    [stderr]
    error: no device matches gpu.example.com/nod-7/gpu-0: none is published or allocated
    hint: did you mean one of gpu.example.com/node-7/gpu-0, gpu.example.com/node-1/gpu-0, gpu.example.com/node-2/gpu-0?
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    hint: to accept devices that do not exist yet: --allow-missing
    [exit status: 1]
    ");
    assert_snapshot!(preview("gpu.example.com/node-7/gpu0").shown(), @"
    [stderr]
    error: no device matches gpu.example.com/node-7/gpu0: none is published or allocated
    hint: did you mean one of gpu.example.com/node-7/gpu-0, gpu.example.com/node-7/gpu-1, gpu.example.com/node-7/gpu-2?
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    hint: to accept devices that do not exist yet: --allow-missing
    [exit status: 1]
    ");
    assert_snapshot!(preview("--pool node-70").shown(), @"
    [stderr]
    error: no device matches */node-70/*: none is published or allocated
    hint: did you mean one of '*/node-10/*', '*/node-7/*', '*/node-1/*'?
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    hint: to accept devices that do not exist yet: --allow-missing
    [exit status: 1]
    ");
}

#[test]
fn unknown_device_may_be_asked_about_all_the_same() {
    assert_snapshot!(preview("gpu.example.com/node-70/gpu-0 a:NoExecute --allow-missing").shown(), @"
    gpu.example.com/node-70/gpu-0   taint a:NoExecute

    Message that the controller would report for effect None:
      0 published devices selected. 0 allocated devices selected. 0 pods would be evicted in 0 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    No device is selected, so no pod would be evicted.
    [exit status: 0]
    ");
}

#[test]
fn guards_that_hold_are_told_and_change_nothing() {
    assert_snapshot!(preview("gpu.example.com/node-9/gpu-1 a:NoExecute --abort-if pods.evicted>1 --abort-if devices.selected>=50%").shown(), @"
    gpu.example.com/node-9/gpu-1   taint a:NoExecute

    Top risks:
      warning   research/xid-triage: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                   WORKLOAD   RISKS
    warning    now    research/xid-triage   <none>     unmanaged, long-grace

    Message that the controller would report for effect None:
      1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Guards:
      pods.evicted>1: not tripped, the value is 1
      devices.selected>=50%: not tripped, the value is 1 of 40

    1 pod in 1 namespace would be evicted now.
    The last evicted pod is gone after about 30s (at full grace period); then the device is free.
    The evicted pod is on node-9, and uses gpu.example.com/node-9/gpu-1.
    [exit status: 0]
    ");
}

#[test]
fn every_signal_can_trip() {
    for (guard, code) in [
        ("pods.evicted>2", 4),
        ("pods.evicted>=3", 4),
        ("pods.evicted>3", 0),
        ("pods.evicted==3", 4),
        ("pods.evicted!=3", 0),
        ("pods.evicted<4", 4),
        ("pods.evicted<=2", 0),
        ("pods.evicted>10%", 4),
        ("pods.evicted>90%", 0),
        ("pods.evicted.now>1", 4),
        ("pods.evicted.now>2", 0),
        ("pods.evicted.now>1%", 4),
        ("namespaces.affected>1", 4),
        ("namespaces.affected>2", 0),
        ("devices.selected>0", 4),
        ("devices.selected>1", 0),
        ("devices.selected>1%", 4),
        ("devices.selected>50%", 0),
        ("'pods.evicted > 2'", 4),
    ] {
        let run = preview(&format!(
            "gpu.example.com/node-7/gpu-0 a:NoExecute --abort-if {guard}"
        ));
        assert_eq!(run.code, code, "{guard}: {}", run.answer());
    }
}

#[test]
fn tripped_guard_is_a_refusal_with_the_whole_report() {
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0 a:NoExecute --abort-if pods.evicted>10% --abort-if namespaces.affected>9").answer(), @"
    3 pods in 2 namespaces would be evicted: 2 now, 1 later (last in 5m at 2026-11-20T10:20:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    Guard pods.evicted>10% tripped: the value is 3 of 17.
    The last evicted pod is gone after about 5m30s (at full grace period; replacements may be evicted again); the device is not free then: not all of its pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    [stderr]
    error: guard tripped: pods.evicted>10%
    [exit status: 4]
    ");
}

#[test]
fn tripped_guard_leaves_one_json_document_on_stdout() {
    let run = preview("gpu.example.com/node-7/gpu-0 --abort-if pods.evicted>2 -o json");
    assert_eq!(run.code, 4);
    assert_eq!(run.json()["kind"], "ImpactReport");
    assert_snapshot!(run.json()["guardResults"], @r#"
    [{"count":3,"expression":"pods.evicted>2","totalCount":null,"tripped":true}]
    "#);
    assert_snapshot!(run.stderr, @"
    warning: no taint specified: this command assumes a taint that only wildcard tolerations match; specify the taint, so that pods that tolerate it are not counted as evicted
    error: guard tripped: pods.evicted>2
    ");
}

#[test]
fn wrong_guards_say_what_is_right() {
    assert_snapshot!(preview("gpu.example.com --abort-if pods.evictd>1").shown(), @r#"
    [stderr]
    error: unknown signal "pods.evictd"
    hint: did you mean pods.evicted? known signals: pods.evicted, pods.evicted.now, pods.critical, pods.unmanaged, jobs.failed, pods.severity.danger, workloads.affected, workloads.down, workloads.recovering, namespaces.affected, devices.selected, budgets.violated, claims.unplaceable, claims.unplaceable.together, devices.available
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com --abort-if load>1").shown(), @r#"
    [stderr]
    error: unknown signal "load"
    hint: known signals: pods.evicted, pods.evicted.now, pods.critical, pods.unmanaged, jobs.failed, pods.severity.danger, workloads.affected, workloads.down, workloads.recovering, namespaces.affected, devices.selected, budgets.violated, claims.unplaceable, claims.unplaceable.together, devices.available
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com --abort-if pods.evicted").shown(), @r#"
    [stderr]
    error: guard "pods.evicted" has no operator
    hint: write it as <signal><operator><quantity>, such as 'pods.evicted>20'; operators: > >= < <= == !=
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com --abort-if pods.evicted>many").shown(), @r#"
    [stderr]
    error: guard "pods.evicted>many": "many" is not a whole number or a percentage from 0% to 100%
    hint: use a whole number such as 20, or a percentage from 0% to 100%
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com --abort-if namespaces.affected>10%").shown(), @r#"
    [stderr]
    error: guard "namespaces.affected>10%" cannot have a percentage
    hint: use a whole number, such as 'namespaces.affected>1'
    [exit status: 2]
    "#);
}

#[test]
fn versions_differ_in_what_they_evict() {
    let evicted = |version: &str| {
        let run = preview(&format!(
            "gpu.example.com/node-7/gpu-0 a:NoExecute --kubernetes {version} -o json"
        ));
        let report = run.json();
        let semantics = report["metadata"]["semantics"].as_str().map(str::to_owned);
        (semantics, report["summary"]["evictedPodCount"].as_u64())
    };
    for (version, semantics, pods) in [
        ("1.34.4", "1.34.4", 3),
        ("1.35", "1.35", 3),
        ("v1.36.3", "1.36.3", 3),
        ("1.37", "1.37", 3),
        ("1.37.1", "1.37.1", 3),
        ("1.37.2", "1.37.2", 4),
    ] {
        assert_eq!(
            evicted(version),
            (Some(semantics.to_owned()), Some(pods)),
            "{version}"
        );
    }
}

#[test]
fn newer_version_behaves_like_the_newest_known_with_a_warning() {
    assert_snapshot!(preview("gpu.example.com/node-9/gpu-1 a:NoExecute --kubernetes 1.99").answer(), @"
    1 pod in 1 namespace would be evicted now.
    The last evicted pod is gone after about 30s (at full grace period); then the device is free.
    The evicted pod is on node-9, and uses gpu.example.com/node-9/gpu-1.
    [stderr]
    warning: Kubernetes 1.99 is newer than the versions that this plugin knows; the plugin applies the behavior of 1.37.2; update the plugin, if a newer version exists
    [exit status: 0]
    ");
}

#[test]
fn now_decides_what_is_due() {
    let taint = "--rule node-10-decommission";
    assert_snapshot!(preview(taint).answer(), @"
    1 pod in 1 namespace would be evicted later: in 20m at 2026-11-20T10:35:00Z.
    The last evicted pod is gone after about 20m (at full grace period); then all 4 devices are free.
    The evicted pod is on node-10, and uses gpu.example.com/node-10/gpu-0.
    [exit status: 0]
    ");
    assert_snapshot!(preview(&format!("{taint} --now 2026-11-20T00:00:00Z")).answer(), @"
    1 pod in 1 namespace would be evicted later: in 10h at 2026-11-20T10:35:00Z.
    The last evicted pod is gone after about 10h (at full grace period); then all 4 devices are free.
    The evicted pod is on node-10, and uses gpu.example.com/node-10/gpu-0.
    [exit status: 0]
    ");
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0 a:NoExecute --now 2026-11-21T00:00:00+01:00").answer(), @"
    3 pods in 2 namespaces would be evicted: 2 now, 1 later (last in 5m at 2026-11-20T23:05:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 5m30s (at full grace period; replacements may be evicted again); the device is not free then: not all of its pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    [exit status: 0]
    ");
}

#[test]
fn a_claim_that_is_reserved_for_a_pod_group_counts_for_its_pods() {
    let cluster = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
         "metadata": {"name": "c", "namespace": "n", "uid": "c", "creationTimestamp": "2026-11-20T10:00:00Z"},
         "status": {"reservedFor": [{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}],
                    "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker", "namespace": "n", "uid": "w"},
         "spec": {"nodeName": "a", "schedulingGroup": {"podGroupName": "g"},
                  "resourceClaims": [{"name": "c", "resourceClaimName": "c"}]},
         "status": {"phase": "Running"}}]}"#;
    let folder = Folder::new().with("group.json", cluster);
    let names = |version: &str| {
        let line = "preview d/p/x a:NoExecute --from group.json -o name";
        folder
            .devicetaint(&format!("{line} --kubernetes {version}"))
            .stdout
    };
    assert_eq!(names("1.37"), "pod/worker -n n\n");
    assert_eq!(names("1.35"), "");
}

#[test]
fn taint_without_effect_is_looked_at_as_add_would_make_it() {
    let whole = preview("gpu.example.com/node-7/gpu-0 example.com/maintenance:None");
    for typed in [
        "example.com/maintenance",
        "example.com/maintenance=firmware",
    ] {
        let run = preview(&format!("gpu.example.com/node-7/gpu-0 {typed}"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.stderr, whole.stderr);
    }
    assert!(
        whole.stderr.contains("would evict with effect NoExecute"),
        "{}",
        whole.stderr
    );
}

#[test]
fn a_device_and_its_taint_in_one_word_are_told_apart() {
    let told = preview("gpu.example.com/node-7/gpu-0:NoExecute").stderr;
    let hint =
        "hint: separate device and taint by a space: gpu.example.com/node-7/gpu-0 KEY:EFFECT";
    assert!(told.contains(hint), "{told}");
}

#[test]
fn the_bare_name_of_a_device_or_pool_is_told_what_selects_it() {
    for (typed, meant) in [("gpu-0", "'*/*/gpu-0'"), ("node-7", "'*/node-7/*'")] {
        let told = preview(typed).stderr;
        let hint = format!("did you mean {meant}?");
        assert!(told.contains(&hint), "{told}");
        let understood = preview(&format!("{meant} a:NoExecute"));
        assert_eq!(understood.code, 0, "{}", understood.stderr);
    }
}

#[test]
fn question_about_nothing_or_two_things_is_a_usage_error() {
    assert_snapshot!(preview("").shown(), @"
    [stderr]
    error: no devices specified
    hint: specify devices as DRIVER/POOL/DEVICE, or a rule with --rule or --filename
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 2]
    ");
    assert_snapshot!(preview("a:NoExecute").shown(), @"
    [stderr]
    error: no devices specified for taint a:NoExecute
    hint: specify devices as DRIVER/POOL/DEVICE before the taint
    hint: list the devices with `kubectl devicetaint devices --from examples/cluster.yaml`
    [exit status: 2]
    ");
    assert_snapshot!(preview("gpu.example.com a:NoExecute b:NoExecute").shown(), @"
    [stderr]
    error: more than one taint: a:NoExecute and b:NoExecute
    [exit status: 2]
    ");
    assert_snapshot!(preview("--rule node-6-firmware a:NoExecute").shown(), @r"
    [stderr]
    error: a taint cannot be combined with --rule: a rule has its own taint
    [exit status: 2]
    ");
    assert_snapshot!(preview("-f examples/rule.yaml a:NoExecute").shown(), @r"
    [stderr]
    error: a taint cannot be combined with --filename: a rule has its own taint
    [exit status: 2]
    ");
    assert_snapshot!(preview("gpu.example.com --pool node-7").shown(), @"
    [stderr]
    error: DEVICE cannot be used together with --driver, --pool, --device
    [exit status: 2]
    ");
    assert_snapshot!(preview("gpu.example.com --rule node-6-firmware").shown(), @"
    [stderr]
    error: DEVICE cannot be used together with --rule
    [exit status: 2]
    ");
}

#[test]
fn wrong_arguments_are_usage_errors() {
    assert_snapshot!(preview("node-7/gpu-0").shown(), @r#"
    [stderr]
    error: device "node-7/gpu-0" has two segments, but a device has three: DRIVER/POOL/DEVICE
    hint: did you mean '*/node-7/gpu-0'?
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com//gpu-0").shown(), @r#"
    [stderr]
    error: device "gpu.example.com//gpu-0" has an empty segment; write `*` to match any name
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu_x/node-7/gpu-0").shown(), @r#"
    [stderr]
    error: driver "gpu_x" is not valid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0 a:Noexecute").shown(), @r#"
    [stderr]
    error: taint "a:Noexecute" has an unknown effect "Noexecute": effects are None, NoSchedule and NoExecute (case-sensitive)
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0 a:Evict").shown(), @r#"
    [stderr]
    error: taint "a:Evict" has an unknown effect "Evict": effects are None, NoSchedule and NoExecute (case-sensitive)
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0 'a b:NoExecute'").shown(), @r#"
    [stderr]
    error: taint key "a b" is not valid: the name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com/node-7/gpu-0 'a=b c:NoExecute'").shown(), @r#"
    [stderr]
    error: taint value "b c" is not valid: a value must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character
    [exit status: 2]
    "#);
}

#[test]
fn wrong_versions_and_times_are_usage_errors() {
    assert_snapshot!(preview("gpu.example.com --kubernetes 1.33").shown(), @r"
    [stderr]
    error: invalid value '1.33' for '--kubernetes <VERSION>': Kubernetes 1.33 is not supported: this plugin needs Kubernetes 1.34 or later

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(preview("gpu.example.com --kubernetes newest").shown(), @r#"
    [stderr]
    error: invalid value 'newest' for '--kubernetes <VERSION>': "newest" is not a Kubernetes version such as 1.36 or 1.37.1

    For more information, try '--help'.
    [exit status: 2]
    "#);
    assert_snapshot!(preview("gpu.example.com --now yesterday").shown(), @r#"
    [stderr]
    error: invalid value 'yesterday' for '--now <TIME>': "yesterday" is not a time such as 2026-11-21T01:00:00Z

    For more information, try '--help'.
    [exit status: 2]
    "#);
    assert_snapshot!(devicetaint("preview gpu.example.com --now 2026-11-21T00:00:00Z").shown(), @"
    [stderr]
    error: the following required arguments were not provided:
      --from <FILENAME>

    Usage: kubectl devicetaint preview --from <FILENAME> --now <TIME> <DEVICE|TAINT>...

    For more information, try '--help'.
    [exit status: 2]
    ");
}

#[test]
fn effect_none_is_looked_at_as_no_execute_and_that_is_said() {
    let run = preview("gpu.example.com/node-7/gpu-0 example.com/maintenance:None -o name");
    assert!(
        run.stderr.contains(
            "a rule with effect None, or without an effect, evicts no pods; the pods \
                shown are those that the rule would evict with effect NoExecute"
        ),
        "{}",
        run.shown()
    );
    assert!(!run.stdout.is_empty());
}
