//! `explain`: chains from saved files, and what is said where a link is missing.

use serde_json::{Value, json};

use super::harness::{EXAMPLE, Folder, devicetaint, example};

fn explain(words: &str) -> super::harness::Run {
    devicetaint(&format!("explain {words} --from examples/cluster.yaml"))
}

#[test]
fn a_pod_is_explained_by_its_answer_the_deciding_links_and_fixes() {
    insta::assert_snapshot!(explain("pod/fold-jsg5p -n research").shown(), @"
    pod/fold-jsg5p -n research: evicted in 20m, at 2026-11-20T10:35:00Z

      WHY rule node-10-decommission taints gpu.example.com/node-10/gpu-0 with
          example.com/decommission:NoExecute
          claim fold-jsg5p-gpu-ktkm8 tolerates this taint for 1800s, until
          2026-11-20T10:35:00Z
      FIX remove rule node-10-decommission
          or for pods that are created later: add toleration
          example.com/decommission:NoExecute to the request gpu of a new
          ResourceClaimTemplate that replaces fold-gpu
    [exit status: 0]
    ");
}

#[test]
fn the_whole_chain_has_the_field_of_each_link() {
    insta::assert_snapshot!(explain("pod/fold-jsg5p -n research -o wide").shown(), @"
    pod/fold-jsg5p -n research: evicted in 20m, at 2026-11-20T10:35:00Z

      WHY rule node-10-decommission taints gpu.example.com/node-10/gpu-0 with
          example.com/decommission:NoExecute
          claim fold-jsg5p-gpu-ktkm8 tolerates this taint for 1800s, until
          2026-11-20T10:35:00Z
      FIX remove rule node-10-decommission
          or for pods that are created later: add toleration
          example.com/decommission:NoExecute to the request gpu of a new
          ResourceClaimTemplate that replaces fold-gpu

      claim fold-jsg5p-gpu-ktkm8, generated from a template
          (Pod research/fold-jsg5p: .spec.resourceClaims[0])
        reserved for this pod
            (ResourceClaim research/fold-jsg5p-gpu-ktkm8: .status.reservedFor[0])
        request gpu: 1 device of class dedicated-gpu.example.com
            (ResourceClaim research/fold-jsg5p-gpu-ktkm8:
                .spec.devices.requests[0].exactly)
          device gpu.example.com/node-10/gpu-0
              (ResourceClaim research/fold-jsg5p-gpu-ktkm8:
                  .status.allocation.devices.results[0])
            pool node-10: generation 2 is current
                (ResourceSlice node-10-gpu.example.com-9b7hb: .spec.devices[0])
            taint example.com/decommission:NoExecute of rule node-10-decommission,
                since 2026-11-20T10:05:00Z (10m ago): evicts in 20m, at
                2026-11-20T10:35:00Z
                (DeviceTaintRule node-10-decommission: .spec.taint)
              toleration example.com/decommission:NoExecute for 1800s matches, and
                  determines when the taint evicts
                  (ResourceClaim research/fold-jsg5p-gpu-ktkm8:
                      .status.allocation.devices.results[0].tolerations[0])

    Possible fixes:
      without rule node-10-decommission: the pod stays, because none of its devices
          is tainted (DeviceTaintRule node-10-decommission)
      for a pod that is created later, with toleration
          example.com/decommission:NoExecute added to the request gpu of a new
          ResourceClaimTemplate that replaces fold-gpu: the pod stays, because it
          tolerates the taints that would evict it
          (ResourceClaimTemplate research/fold-gpu:
              .spec.spec.devices.requests[0].exactly.tolerations)
        - key: example.com/decommission
          operator: Exists
          effect: NoExecute
    [exit status: 0]
    ");
}

#[test]
fn a_pod_that_waits_is_told_what_keeps_devices_from_it() {
    insta::assert_snapshot!(explain("training/llm-2").shown(), @"
    pod/llm-2 -n training: waits for devices that are excluded by the driver's taint gpu.example.com/ecc-errors=uncorrectable:NoSchedule on gpu.example.com/node-4/gpu-2; without that taint a node has enough devices

      WHY request gpus of class h200.example.com: needs 4; 9 match and are available
            10 devices are allocated to other claims
            1 device is excluded by taint
              gpu.example.com/ecc-errors=uncorrectable:NoSchedule of its driver,
              which the request does not tolerate
          request nic of class nic.example.com: needs 1; 4 match and are available
            2 devices are allocated to other claims
          not checked: free CPU and memory, pod affinity
          scheduler message: 0/12 nodes are available: 1 node(s) had untolerated
          taint(s), 11 cannot allocate all claims. preemption: 0/12 nodes are
          available: 12 Preemption is not helpful for scheduling.
      FIX repair gpu.example.com/node-4/gpu-2, so that its driver removes taint
          gpu.example.com/ecc-errors=uncorrectable:NoSchedule
          or add toleration gpu.example.com/ecc-errors=uncorrectable:NoSchedule to
          the request gpus of a new ResourceClaimTemplate that replaces llm-gpus
    [exit status: 0]
    ");
}

#[test]
fn a_device_and_a_rule_are_explained() {
    insta::assert_snapshot!(explain("device/gpu.example.com/node-9/gpu-1 rule/node-10-decommission").shown(), @"
    gpu.example.com/node-9/gpu-1: allocated to 1 claim; 1 taint; no request of a pending claim matches the device

      published for node node-9; generation 2 of pool node-9 is current
      taint gpu.example.com/unhealthy=xid-79:NoExecute of the driver, since
          2026-11-20T08:02:33Z (132m ago): evicts pods whose claims do not tolerate
          it, and blocks new allocations to such claims
      allocated to claim research/xid-triage
        pod research/xid-triage: stays: it tolerates the taints that would evict it

    devicetaintrule.resource.k8s.io/node-10-decommission: selects 4 devices, and evicts 1 pod

      driver gpu.example.com: 40 devices
      of these, pool node-10: 4 devices
      taint example.com/decommission:NoExecute, since 2026-11-20T10:05:00Z (10m ago)
      controller condition: EvictionInProgress True, PodsPendingEviction, 1 pod
          needs to be evicted in 1 namespace. 1 pod evicted since starting the
          controller.
      device gpu.example.com/node-10/gpu-0
        allocated to claim research/fold-jsg5p-gpu-ktkm8
          pod research/fold-jsg5p: evicted in 20m, at 2026-11-20T10:35:00Z
      3 devices: gpu.example.com/node-10/gpu-1, gpu-2, gpu-3, not allocated
      unknown: past evictions, because the input contains no Event
    [exit status: 0]
    ");
}

#[test]
fn no_line_of_a_chain_is_longer_than_a_terminal() {
    for words in [
        "pod/llm-2",
        "rule/node-8-power",
        "gpu.example.com/node-7/gpu-0",
    ] {
        let text = explain(words).stdout;
        let chain = text.lines().filter(|line| line.starts_with(' '));
        for line in chain {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn names_that_commands_print_are_understood() {
    for words in [
        "pod/fold-jsg5p -n research",
        "pod/research/fold-jsg5p",
        "research/fold-jsg5p",
        "pod/fold-jsg5p",
        "fold-jsg5p",
    ] {
        let run = explain(&format!("{words} -o name"));
        assert_eq!(run.stdout, "pod/fold-jsg5p -n research\n", "{words}");
    }
    for words in [
        "node-10-decommission",
        "rule/node-10-decommission",
        "devicetaintrule.resource.k8s.io/node-10-decommission",
    ] {
        let run = explain(&format!("{words} -o name"));
        let name = "devicetaintrule.resource.k8s.io/node-10-decommission\n";
        assert_eq!(run.stdout, name, "{words}");
    }
    let device = explain("gpu.example.com/node-9/gpu-1 -o name").stdout;
    assert_eq!(device, "gpu.example.com/node-9/gpu-1\n");
    let labelled = explain("-l app=chat -o name").stdout;
    let labelled: Vec<&str> = labelled.lines().collect();
    assert!(!labelled.is_empty());
    assert!(
        labelled.iter().all(|line| line.starts_with("pod/chat-")),
        "{labelled:?}"
    );
}

#[test]
fn the_verdict_is_that_of_preview_for_a_taint_that_is_asked_about() {
    let taint = "gpu.example.com/node-7/gpu-0 example.com/maintenance=firmware:NoExecute";
    let previewed = devicetaint(&format!(
        "preview {taint} --from examples/cluster.yaml -o json"
    ));
    let previewed = previewed.json();
    let pods = previewed["affectedPods"].as_array().expect("pods");
    assert!(pods.len() > 4);
    for pod in pods {
        let name = format!(
            "{}/{}",
            pod["namespace"].as_str().unwrap(),
            pod["name"].as_str().unwrap()
        );
        let explained = explain(&format!("{name} {taint} -o json")).json();
        let verdict = &explained["items"][0]["verdict"];
        assert_eq!(verdict["outcome"], pod["outcome"], "{name}");
        assert_eq!(verdict["evictionTime"], pod["evictionTime"], "{name}");
    }
}

#[test]
fn a_change_is_told_with_the_lines_that_a_manifest_needs() {
    let explained = explain("research/fold-jsg5p -o json").json();
    let changes = explained["items"][0]["fixes"].as_array().unwrap();
    let toleration = changes
        .iter()
        .find(|change| change["type"] == "WithToleration");
    assert_eq!(
        toleration.unwrap()["toleration"],
        json!({"key": "example.com/decommission", "operator": "Exists", "effect": "NoExecute"})
    );
    let rule = changes
        .iter()
        .find(|change| change["type"] == "WithoutTaint")
        .unwrap();
    assert_eq!(rule["rule"], "node-10-decommission");
    assert_eq!(rule["verdict"]["outcome"], "Untouched");
}

/// A pod with a claim of its own, `extra` in its spec, beside `others`.
fn cluster(pods: &[Value], others: &[Value]) -> Folder {
    let items: Vec<&Value> = pods.iter().chain(others).collect();
    let kinds = "ResourceSlice,ResourceClaim,DeviceTaintRule,Pod,DeviceClass,Node";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"annotations": {
        "devicetaint.dev/observed-at": "2026-11-21T01:00:00Z",
        "devicetaint.dev/kinds": kinds,
    }}});
    Folder::new().with("cluster.json", list.to_string())
}

fn pod(namespace: &str, name: &str, entry: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}-{name}")},
        "spec": {"resourceClaims": [entry]}, "status": {"phase": "Pending"}})
}

fn claim(name: &str, class: &str) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"namespace": "ml", "name": name, "uid": name},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": class, "allocationMode": "ExactCount", "count": 1}}]}}})
}

/// A card of which a partition is in use is not free, although no claim has the card itself.
#[test]
fn a_device_is_not_called_free_while_pods_use_its_partitions() {
    let counters =
        |amount: &str| json!([{"counterSet": "card", "counters": {"memory": {"value": amount}}}]);
    let sets = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "gpu.example.com-a-sets"},
        "spec": {"driver": "gpu.example.com", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 2},
            "sharedCounters": [{"name": "card", "counters": {"memory": {"value": "80Gi"}}}]}});
    let devices = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "gpu.example.com-a"},
    "spec": {"driver": "gpu.example.com", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 2},
        "devices": [
            {"name": "card", "consumesCounters": counters("80Gi")},
            {"name": "card-part-0", "consumesCounters": counters("10Gi")},
            {"name": "card-part-1", "consumesCounters": counters("10Gi")},
        ]}});
    let held = |place: usize| {
        let mut held = claim(&format!("part-{place}"), "gpu");
        held["status"] = json!({
            "allocation": {"devices": {"results": [{"request": "gpu", "driver": "gpu.example.com", "pool": "a", "device": format!("card-part-{place}")}]}},
            "reservedFor": [{"resource": "pods", "name": format!("train-{place}"), "uid": format!("ml-train-{place}")}],
        });
        held
    };
    let pods = [0, 1].map(|place| {
        let named = json!({"name": "gpu", "resourceClaimName": format!("part-{place}")});
        pod("ml", &format!("train-{place}"), &named)
    });
    let answer = |claims: &[Value]| {
        let others = [&[sets.clone(), devices.clone()], claims].concat();
        let folder = cluster(&pods, &others);
        let run =
            folder.devicetaint("explain device/gpu.example.com/a/card --from cluster.json -o json");
        run.json()["items"][0]["message"]
            .as_str()
            .expect("an answer")
            .to_owned()
    };
    for (claims, expected) in [
        (vec![], "not allocated; "),
        (
            vec![held(0)],
            "not allocated itself, but 1 pod uses its partitions; ",
        ),
        (
            vec![held(0), held(1)],
            "not allocated itself, but 2 pods use its partitions; ",
        ),
    ] {
        let told = answer(&claims);
        assert!(told.starts_with(expected), "{told}");
    }
}

/// What the owner of a pod can do comes before what undoes the work of an administrator.
#[test]
fn a_toleration_is_advised_before_the_removal_of_a_rule_which_is_named_with_its_creator() {
    let slice = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "gpu.example.com-a"},
        "spec": {"driver": "gpu.example.com", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "gpu-0"}]}});
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {}, "status": {}});
    let fixes = |annotations: Value, labels: Value| {
        let rule = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule",
            "metadata": {"name": "firmware", "uid": "firmware", "annotations": annotations, "labels": labels},
            "spec": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "example.com/firmware", "effect": "NoSchedule", "timeAdded": "2026-11-21T00:00:00Z"}}});
        let named = json!({"name": "gpu", "resourceClaimName": "waiting"});
        let folder = cluster(
            &[pod("ml", "next", &named)],
            &[
                node.clone(),
                slice.clone(),
                class.clone(),
                rule,
                claim("waiting", "gpu"),
            ],
        );
        let run = folder.devicetaint("explain pod/next -n ml --from cluster.json -o json");
        let told = run.json()["items"][0]["fixes"].clone();
        let told = told.as_array().expect("fixes").iter();
        let texts = told.map(|fix| fix["fix"].as_str().expect("a fix").to_owned());
        texts.collect::<Vec<_>>()
    };
    let noted = json!({"devicetaint.dev/created-by": "anna", "devicetaint.dev/ticket": "OPS-7"});
    let told = fixes(noted, json!({}));
    let [first, last] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(
        first.starts_with("add toleration example.com/firmware"),
        "{told:?}"
    );
    assert_eq!(last, "remove rule firmware (created by anna, ticket OPS-7)");
    assert_eq!(fixes(json!({}), json!({}))[1], "remove rule firmware");
    // Where a policy would refuse the toleration, the removal is what is left.
    let dedicated = json!({"devicetaint.dev/dedication": "research"});
    assert_eq!(fixes(json!({}), dedicated), ["remove rule firmware"]);
}

/// A word without slashes may be a driver, a rule, a pod or a number: a mistake in it is not taken to be the name
/// of a driver, of which no device would be found.
#[test]
fn a_name_with_a_typo_is_not_answered_with_a_driver_that_does_not_exist() {
    for words in [
        "devices node-10-decomission",
        "devices nod-7",
        "explain nod-7",
        "explain node-10-decomission",
        "list node-10-decomission",
        "describe node-10-decomission",
        "preview node-10-decomission",
        "preview nod-7 example.com/maintenance:NoExecute",
    ] {
        let run = devicetaint(&format!("{words} --from {EXAMPLE}"));
        assert_eq!(run.code, 1, "{words}: {}", run.stderr);
        let name = words.split(' ').nth(1).expect("a name");
        // Such as "no device matches nod-7/*/*" or "driver nod-7 publishes no devices".
        assert!(!run.stderr.contains(&format!("{name}/*")), "{}", run.stderr);
        assert!(
            !run.stderr.contains(&format!("driver {name}")),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(name), "{words}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{words}");
        if name.starts_with("node-10")
            && !matches!(words.split(' ').next(), Some("devices" | "preview"))
        {
            let hint = "did you mean";
            assert!(run.stderr.contains(hint), "{words}: {}", run.stderr);
        }
    }
}

/// A program that reads verdicts has to tell a pod that waits from one that is left alone.
#[test]
fn the_verdict_of_a_pod_that_waits_is_that_it_waits() {
    let named = |name: &str| json!({"name": "gpu", "resourceClaimName": name});
    let folder = cluster(
        &[
            pod("ml", "lost", &named("nowhere")),
            pod("ml", "classless", &named("waiting")),
        ],
        &[claim("waiting", "gone")],
    );
    for name in ["lost", "classless"] {
        let run = folder.devicetaint(&format!("explain pod/{name} --from cluster.json -o json"));
        assert_eq!(
            run.json()["items"][0]["verdict"]["outcome"],
            "Waiting",
            "{name}"
        );
    }
}

#[test]
fn what_keeps_a_pending_pod_beside_devices_is_told_with_the_words_of_the_scheduler() {
    let metadata = json!({"name": "gpu.example.com-a"});
    let pool = json!({"name": "a", "generation": 1, "resourceSliceCount": 1});
    let node = |spec: &Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"zone": "here"}}, "spec": spec});
    let others = |spec: &Value| {
        [
            claim("waiting", "gpu"),
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}),
            node(spec),
            json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": {
                "driver": "gpu.example.com", "nodeName": "a", "pool": pool, "devices": [{"name": "gpu-0"}],
            }}),
        ]
    };
    let said = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
    let told = |more: Value, node: Value| {
        let mut waiting = pod(
            "ml",
            "early",
            &json!({"name": "gpu", "resourceClaimName": "waiting"}),
        );
        for (name, value) in more.as_object().expect("fields") {
            waiting["spec"][name] = value.clone();
        }
        waiting["status"]["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said,
        }]);
        let folder = cluster(&[waiting], &others(&node));
        let run = folder.devicetaint("explain pod/early --from cluster.json -o json");
        let explained = run.json()["items"][0].clone();
        let why = explained["messages"].as_array().expect("reasons").iter();
        let fixes = explained["fixes"].as_array().expect("fixes").iter();
        let fixes = fixes.map(|change| &change["fix"]);
        let lines = [&explained["message"]].into_iter().chain(why).chain(fixes);
        let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
        lines.join("\n")
    };
    let required = json!({"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "zone", "operator": "In", "values": ["there"]},
    ]}]});
    let affinity =
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    let bound = "of the nodes that its node selector or affinity allows, none";
    let open = json!({"podCIDR": "10.0.0.0/24"});
    let taint = json!({"key": "reserved", "effect": "NoSchedule"});
    let tainted = json!({"taints": [taint]});
    let tolerating = json!({"tolerations": [{"key": "reserved", "operator": "Exists"}]});
    let closed = "waits for devices: of the nodes on which it can be scheduled, none has free devices \
        that meet all requests of the pod; another node has them";
    let not_checked = "not checked: free CPU and memory, pod affinity";
    for (more, node, part) in [
        (
            json!({"schedulingGates": [{"name": "quota"}]}),
            &open,
            "waits for scheduling gate quota",
        ),
        (json!({"nodeSelector": {"zone": "there"}}), &open, bound),
        (json!({"affinity": affinity}), &open, bound),
        (
            json!({"nodeSelector": {"zone": "here"}}),
            &open,
            not_checked,
        ),
        (json!({}), &tainted, closed),
        (
            json!({}),
            &tainted,
            "nodes on which the pod cannot be scheduled: a has taint reserved:NoSchedule",
        ),
        (json!({}), &json!({"unschedulable": true}), "a is cordoned"),
        (
            json!({}),
            &json!({"unschedulable": true}),
            "; node a has them, but is cordoned",
        ),
        (
            json!({}),
            &json!({"unschedulable": true}),
            "kubectl uncordon a",
        ),
        (tolerating, &tainted, not_checked),
        // Of a node of which only the metadata is there, nothing is known.
        (
            json!({}),
            &Value::Null,
            "not checked: cordoned nodes, node taints",
        ),
    ] {
        let answer = told(more, node.clone());
        assert!(answer.contains(part), "{part}: {answer}");
        let words = format!("scheduler message: {said}");
        assert!(answer.contains(&words), "{answer}");
    }
}

#[test]
fn a_template_that_does_not_exist_is_named() {
    let template = |name: &str| {
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"namespace": "ml", "name": name}, "spec": {"spec": {"devices": {"requests": []}}},
        })
    };
    let entry = json!({"name": "gpu", "resourceClaimTemplateName": "four-gpus"});
    let told = |name: &str| {
        let folder = cluster(&[pod("ml", "early", &entry)], &[template(name)]);
        let run = folder.devicetaint("explain pod/early --from cluster.json");
        run.shown()
    };
    let missing = told("two-gpus");
    let named = "waits for a claim that does not exist: ResourceClaimTemplate four-gpus does not \
        exist in namespace ml";
    assert!(missing.contains(named), "{missing}");
    let there = told("four-gpus");
    let named = "no claim has been created from ResourceClaimTemplate four-gpus yet";
    assert!(there.contains(named), "{there}");
    assert!(!there.contains("four-gpus does not exist"), "{there}");
}

#[test]
fn each_missing_link_is_told_with_what_can_still_be_said() {
    let named = |name: &str| json!({"name": "gpu", "resourceClaimName": name});
    let folder = cluster(
        &[
            pod(
                "ml",
                "early",
                &json!({"name": "gpu", "resourceClaimTemplateName": "template"}),
            ),
            pod("ml", "lost", &named("nowhere")),
            pod("ml", "classless", &named("waiting")),
            pod("ml", "twice", &named("waiting")),
            pod("dev", "twice", &named("waiting")),
        ],
        &[claim("waiting", "gone")],
    );
    let told = |words: &str| {
        folder
            .devicetaint(&format!("explain {words} --from cluster.json"))
            .shown()
    };
    insta::assert_snapshot!(told("pod/early"), @"
    pod/early -n ml: waits for a claim that does not exist: no claim has been created from ResourceClaimTemplate template; the template may not exist (check with `kubectl get resourceclaimtemplate template -n ml`)

      no claim has been created from ResourceClaimTemplate template; the template
          may not exist (check with `kubectl get resourceclaimtemplate template -n
          ml`); or kube-controller-manager's resource claim controller decided that
          the pod needs no claim from this template
    [exit status: 0]
    ");
    insta::assert_snapshot!(told("pod/lost"), @"
    pod/lost -n ml: waits for a claim that does not exist

      claim nowhere
        claim not found: it was deleted, or has not been created yet
    [exit status: 0]
    ");
    insta::assert_snapshot!(told("pod/classless"), @"
    pod/classless -n ml: waits for devices: DeviceClass gone does not exist

      claim waiting
        not allocated: the claim has no device
          request gpu: 1 device of class gone
    [exit status: 0]
    ");
    insta::assert_snapshot!(told("pod/twice"), @r"
    [stderr]
    error: pod twice is ambiguous: it exists in several namespaces
    hint: choose one of pod/twice -n dev, pod/twice -n ml
    [exit status: 2]
    ");
    insta::assert_snapshot!(told("pod/clasless -n ml"), @r#"
    [stderr]
    error: the input has no pod "ml/clasless" that uses a device: the pod does not exist, or has no claim
    hint: did you mean ml/classless?
    [exit status: 1]
    "#);
    insta::assert_snapshot!(told("device/gpu.example.com/a/b"), @"
    [stderr]
    error: no device matches gpu.example.com/a/b: none is published or allocated
    hint: no driver publishes a device, and no claim has one allocated: install a DRA driver, and check `kubectl get resourceslices`
    [exit status: 1]
    ");
    insta::assert_snapshot!(told("rule/nowhere"), @r#"
    [stderr]
    error: no rule "nowhere"
      there are no rules
    [exit status: 1]
    "#);
    insta::assert_snapshot!(told("twicee"), @r"
    [stderr]
    error: no pod twicee uses a device, and rule twicee does not exist
    hint: did you mean pod/dev/twice or pod/ml/twice?
    hint: specify the type: pod/NAME -n NAMESPACE, device/DRIVER/POOL/DEVICE or rule/NAME
    [exit status: 1]
    ");
}

#[test]
fn what_was_not_read_makes_a_verdict_unknown_and_strict_fails() {
    let pod = pod(
        "ml",
        "train",
        &json!({"name": "gpu", "resourceClaimName": "claim"}),
    );
    let folder = Folder::new().with("pods.json", pod.to_string());
    let run = |more: &str| {
        let line = format!("explain pod/train --from pods.json --now 2026-11-21T01:00:00Z {more}");
        folder.devicetaint(&line)
    };
    insta::assert_snapshot!(run("").shown(), @"
    pod/train -n ml: outcome unknown: the data is incomplete

      claim claim
        claims were not read: the devices of this claim are unknown

    Incomplete:
      resourceslices: the input contains no ResourceSlice: running drivers, unallocated devices, and taints set by drivers are unknown
      resourceclaims: the input contains no ResourceClaim: allocated devices and the pods that use them are unknown
      devicetaintrules: the input contains no DeviceTaintRule: taints of existing rules are not counted
    [exit status: 0]
    ");
    let device = folder.devicetaint(
        "explain device/gpu.example.com/a/b --from pods.json --now 2026-11-21T01:00:00Z",
    );
    assert_eq!(device.code, 1);
    assert!(
        device.stderr.contains("cannot tell whether"),
        "{}",
        device.stderr
    );
    let json = run("-o json").json();
    assert_eq!(json["items"][0]["verdict"]["outcome"], "Unknown");
    assert_eq!(json["items"][0]["fixes"], json!([]));
}

#[test]
fn what_cannot_be_explained_is_refused() {
    for words in [
        "",
        "example.com/maintenance:NoExecute",
        "gpu.example.com/node-7/*",
        "rule/node-10-decommission --rule node-6-firmware",
        "pod/a/b/c",
    ] {
        assert_eq!(explain(words).code, 2, "{words}");
    }
}

#[test]
fn what_was_not_read_is_unknown_and_not_none() {
    let explained = |missing: &str, what: &str| {
        let all: Value = serde_yaml::from_str(&example()).expect("YAML");
        let items = all["items"].as_array().expect("objects").iter();
        let read: Vec<&Value> = items.filter(|item| item["kind"] != missing).collect();
        let dump = json!({"apiVersion": "v1", "kind": "List", "items": read});
        let folder = Folder::new().with("dump.json", dump.to_string());
        let run = folder.devicetaint(&format!("explain {what} --from dump.json"));
        // As one line, since a terminal wraps.
        run.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let device = "device/gpu.example.com/node-9/gpu-1";
    for (missing, what, said, not_said) in [
        (
            "ResourceSlice",
            device,
            "whether a driver publishes it is unknown",
            "not published",
        ),
        (
            "ResourceSlice",
            device,
            "not all of its taints are known",
            "no taint",
        ),
        (
            "ResourceClaim",
            device,
            "its allocation is unknown",
            "not allocated",
        ),
        (
            "ResourceClaim",
            device,
            "requests of pending claims are unknown",
            "no request of a pending claim",
        ),
        (
            "ResourceClaim",
            "rule/node-10-decommission",
            "allocation unknown",
            "not allocated",
        ),
        (
            "DeviceTaintRule",
            device,
            "outcome unknown",
            "could get the device now",
        ),
    ] {
        let told = explained(missing, what);
        assert!(told.contains(said), "without {missing}: {told}");
        assert!(!told.contains(not_said), "without {missing}: {told}");
    }
}
