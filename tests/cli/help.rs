//! Help: every spelling gives the same text, and a misspelt word gets the nearest.

use super::harness::{assert_refused, devicetaint};
use crate::screen::assert_screen;

#[test]
fn help_of_the_program() {
    assert_snapshot!(devicetaint("--help").shown(), @r"
    Taint DRA devices safely: preview which pods are evicted, when, and at what risk

    DRA (Dynamic Resource Allocation) is the Kubernetes API for devices such as GPUs. A DeviceTaintRule
    with effect NoExecute evicts each pod that uses a device selected by the rule, unless the pod
    tolerates the rule's taint. These evictions ignore PodDisruptionBudgets, and are immediate unless a
    matching toleration has tolerationSeconds. This plugin shows the affected pods in advance, with the
    same logic as the device-taint-eviction controller of Kubernetes.

    kubectl accepts flags only after the plugin's name: `kubectl devicetaint --context prod devices`.

    Usage: kubectl devicetaint <COMMAND>

    Commands:
      preview       Show which pods a taint would evict, and when
      plan          Find the devices or nodes that cost least to drain
      add           Create rules that taint devices
      escalate      Raise a rule's effect: block new pods, or evict running ones
      deescalate    Lower a rule's effect immediately, without preview, guards or confirmation
      remove        Delete rules, and show which devices become schedulable again
      list          List rules with their devices, pods and creators
      describe      Show rules, their conditions, and what delays each eviction
      explain       Explain why a pod is evicted or pending, what uses a device, or what a rule selects
      wait          Wait for evictions or idle devices
      devices       List devices with their taints, claims and pods
      drain         Drain devices or nodes one by one, within PodDisruptionBudgets
      restore       Undo a drain: make its devices schedulable again
      make-room     Evict pods so that a pending pod gets their devices
      dedicate      Dedicate devices to the claims of some namespaces
      undedicate    End a dedication: remove its taint, then its admission policies
      tolerations   Print the toleration for a taint, or the claims that tolerate it
      podresources  Query the kubelet of this node for devices in use
      snapshot      Save the objects that a preview needs, for use with --from
      completion    Print the completion script of a shell
      version       Show the versions of the plugin and the server
      options       List the global flags
      help          Show help for a command, or for a topic such as exit-codes

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Examples:
      # Which pods would be evicted if this device had a NoExecute taint?
      kubectl devicetaint preview gpu.example.com/node-7/gpu-0

      # The same from a snapshot, as JSON
      kubectl devicetaint snapshot -o cluster.json.gz
      kubectl devicetaint preview gpu.example.com/node-7/gpu-0 \
        --from cluster.json.gz -o json

      # Which devices exist, and which pods use them?
      kubectl devicetaint devices --node node-7

    Use `kubectl devicetaint options` for the global flags.
    [exit status: 0]
    ");
}

#[test]
fn short_help_of_preview() {
    assert_snapshot!(devicetaint("preview -h").shown(), @r"
    Show which pods a taint would evict, and when

    Usage: kubectl devicetaint preview [OPTIONS] [DEVICE|TAINT]...

    Arguments:
      [DEVICE|TAINT]...  DRIVER/POOL/DEVICE, UUID, serial number or PCI address, and a taint
                         KEY[=VALUE][:EFFECT]

    Options:
      -h, --help  Print help (see more with '--help')

    Devices:
          --where <CEL>          Devices for which this CEL expression is true
          --node <NODE>          Devices that are local to this node
          --all-devices          Every device of every driver
          --rule <NAME>          Existing rule, by name; repeatable
      -f, --filename <FILENAME>  Manifest of rules; `-` reads stdin; repeatable

    Guards:
          --abort-if <GUARD>   Exit with code 4 if this is true: 'pods.evicted>20'
          --policy <FILENAME>  Exit with code 4 if this policy forbids the taint

    Controller:
          --publish  Create rules with effect None; compare the controller's count

    Source:
          --from <FILENAME>  Read saved objects: a file, a directory or `-`

    Output:
          --by-workload      Group pods by workload; the default for more than 30 pods
      -o, --output <FORMAT>  Output format: table, wide, json, yaml, markdown, html or name [default:
                             table]
          --strict           Exit with code 6 when the report is incomplete

    Examples:
      # Which pods would be evicted if this device had a NoExecute taint?
      kubectl devicetaint preview gpu.example.com/node-7/gpu-0

      # A taint with a key that some pods tolerate, on all devices of a node's pool
      kubectl devicetaint preview 'gpu.example.com/node-7/*' \
        example.com/maintenance=firmware:NoExecute

      # The same, compared with the controller's own count; leaves no objects behind
      kubectl devicetaint preview 'gpu.example.com/node-7/*' \
        example.com/maintenance=firmware:NoExecute --publish --cleanup

    Use `kubectl devicetaint options` for the global flags.
    [exit status: 0]
    ");
}

#[test]
fn short_help_has_the_flags_that_choose_devices() {
    for command in ["preview", "add", "devices"] {
        let help = devicetaint(&format!("{command} -h")).stdout;
        for flag in ["--node <NODE>", "--where <CEL>"] {
            assert!(help.contains(flag), "{command}: {flag}");
        }
    }
}

#[test]
fn options_list_every_flag_that_kubectl_has_too() {
    let options = devicetaint("options").stdout;
    assert!(options.contains("-A, --all-namespaces"), "{options}");
}

#[test]
fn short_help_of_devices_ends_with_examples() {
    let run = devicetaint("devices -h");
    let (_, examples) = run.stdout.split_once("Examples:").expect("examples");
    assert_snapshot!(examples, @r"
      # All devices of a node
      kubectl devicetaint devices --node node-7

      # How many are free on each node
      kubectl devicetaint devices --summary

      # Free devices (pods with adminAccess: true may still use them)
      kubectl devicetaint devices gpu.example.com --free -o name

    Use `kubectl devicetaint options` for the global flags.
    ");
}

#[test]
fn nothing_to_do_shows_the_help_as_a_mistake() {
    let run = devicetaint("");
    assert_eq!(run.code, 2);
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, devicetaint("-h").stdout);
}

#[test]
fn help_of_a_command_is_the_same_in_every_spelling() {
    for command in ["preview", "devices", "drain status"] {
        let flag = devicetaint(&format!("{command} --help"));
        let word = devicetaint(&format!("help {command}"));
        assert_eq!((flag.code, word.code), (0, 0));
        assert_eq!(flag.stdout, word.stdout, "{command}");
    }
    assert_eq!(devicetaint("help").stdout, devicetaint("--help").stdout);
    let options = devicetaint("options").stdout;
    assert!(options.contains("-A, --all-namespaces"), "{options}");
}

#[test]
fn exit_codes_are_explained() {
    assert_snapshot!(devicetaint("help exit-codes").shown(), @"
      0  success, or nothing to do
      1  error, such as a missing permission or object; the same command would
         usually fail again
      2  usage: the command line is invalid
      3  nothing was changed, and --error-unchanged was given
      4  refused, and nothing was changed: for example, a guard tripped, a
         confirmation is missing, the impact does not match --expect, no plan meets
         the limits, or a device cannot be removed from the machine safely
      5  the wait ended before its condition was met: for example, it timed out, a
         drain is unfinished, another pod got the devices, or the release of a device
         is not confirmed; the changes of the command stay, unless make-room removed
         its rules
      6  the report is incomplete (with --strict or -o name), `plan` cannot compare
         costs, or the eviction controller expects another number of evictions than
         `preview --publish`, or does not respond
     75  temporary error: the network, a busy or failing server, or a concurrent
         change; run the same command again: it completes what is missing
    130  interrupted (SIGINT)
    143  terminated (SIGTERM)
    [exit status: 0]
    ");
}

#[test]
fn hazards_are_explained() {
    assert_snapshot!(devicetaint("help hazards").shown(), @"
    What may go wrong if a pod is evicted, or if it stays. The second column is the
    severity: danger, warning or notice (from worst to least). The severity of a pod
    is that of its worst hazard.

    pdb-violated             danger   its eviction violates a PodDisruptionBudget;
                                      taint evictions ignore budgets
    pdb-ambiguous            danger   two or more PodDisruptionBudgets match it, so
                                      the Eviction API refuses to evict it
    last-replica             danger   its workload would have no ready pod left
    gang                     danger   its pod group stops working without it, or
                                      restarts as a whole
    no-replacement           warning  one of its claims cannot be reallocated: too
                                      few other devices are available to the claim
    job-fails                danger   the eviction makes its Job fail permanently:
                                      nothing recreates the pod
    job-restart              warning  its Job may recreate it, count the eviction as
                                      a failure, or fail
    do-not-disrupt           warning  an annotation forbids its disruption
    node-not-ready           warning  its node is not ready or does not exist: the
                                      pod would hang in Terminating
    driver-down              warning  the driver of its device is not running: the
                                      pod would hang in Terminating
    node-maintenance         notice   its node is cordoned or under maintenance
    unmanaged                warning  has no controller, or its controller was
                                      deleted: nothing recreates it
    daemonset                notice   its DaemonSet recreates it on the same node
    critical                 danger   is system-critical (priority 2000000000 or
                                      more, or
                                      scheduler.alpha.kubernetes.io/critical-pod)
    local-data               notice   has emptyDir volumes, whose data is deleted
                                      with it
    long-grace               notice   has a grace period of more than 10s, and may
                                      keep the device that long
    extended-resource        notice   uses the device through an extended resource;
                                      Kubernetes up to 1.37.1 does not evict such
                                      pods
    sibling-in-use           notice   other pods keep using the same hardware,
                                      through partitions, shares or other drivers
    terminal-still-reserved  notice   has ended, but is evicted like a running pod
                                      while its claim holds the device
    tolerates-schedule-only  warning  replacements can get tainted devices, because
                                      their tolerations allow it, and are then
                                      evicted, too
    claim-stays-allocated    warning  replacements are evicted again: they use the
                                      same claim, which stays allocated
    foreign-taint            notice   is also evicted by an existing rule or by a
                                      driver's taint

    JSON and YAML write these codes in PascalCase: PdbViolated for pdb-violated.
    [exit status: 0]
    ");
}

#[test]
fn subcommands_are_explained() {
    let told = devicetaint("help drain status");
    assert_eq!(told.stdout, devicetaint("drain status --help").stdout);
    assert_snapshot!(devicetaint("help drain nothing").shown(), @r#"
    [stderr]
    error: drain has no subcommand "nothing"
    hint: to list the subcommands: kubectl devicetaint help drain
    [exit status: 2]
    "#);
}

#[test]
fn guards_are_explained() {
    assert_snapshot!(devicetaint("help guards").shown(), @"
    A guard is SIGNAL OPERATOR QUANTITY, such as 'pods.evicted>20' or
    'devices.selected>=50%'. QUANTITY is a whole number, or a percentage if the
    signal has a % in the list. A guard trips if the comparison is true, or may be
    true because the value is unknown.

    If a guard of --abort-if or of a policy trips, the command changes nothing and
    exits with code 4. If it trips during a drain, the drain starts no further
    unit (device, node or pool), and exits with code 5.

    Signals:
      pods.evicted          pods evicted now or later; % of all non-terminating pods
                            that use the drivers of the selected devices
      pods.evicted.now      pods evicted now; % of all non-terminating pods that use
                            the drivers of the selected devices
      pods.critical         evicted system-critical pods; % of all non-terminating
                            pods that use the drivers of the selected devices
      pods.unmanaged        evicted pods without a controller, or whose controller
                            was deleted; % of all non-terminating pods that use the
                            drivers of the selected devices
      jobs.failed           Jobs that fail permanently because their pods are
                            evicted
      pods.severity.danger  evicted pods whose worst hazard has severity danger (see
                            `help hazards`); % of all non-terminating pods that use
                            the drivers of the selected devices
      workloads.affected    workloads of the evicted pods; a pod without an owner
                            counts as a workload
      workloads.down        workloads left without a ready pod
      workloads.recovering  workloads that lose pods and already lack ready pods
      namespaces.affected   namespaces of the evicted pods
      devices.selected      selected devices; % of all devices of their drivers
      budgets.violated      PodDisruptionBudgets that the evictions would violate
      claims.unplaceable    claims that cannot be reallocated when their pods are
                            evicted; each claim is checked as if it were the only
                            one
      claims.unplaceable.together  smallest number of claims that stay without
                                   devices when the claims of all evicted pods are
                                   reallocated together; for example, 1 if two
                                   claims compete for the last device
      devices.available     devices that stay available in the DeviceClasses of the
                            selected devices; available means: free or with capacity
                            left, and without a NoSchedule or NoExecute taint; % of
                            all devices of these classes

    Operators: > >= < <= == !=
    [exit status: 0]
    ");
}

#[test]
fn unknown_topic_gets_the_nearest_or_all() {
    assert_snapshot!(devicetaint("help exitcodes").shown(), @r#"
    [stderr]
    error: no help topic "exitcodes"
    hint: did you mean exit-codes?
    [exit status: 2]
    "#);
    assert_snapshot!(devicetaint("help me").shown(), @r#"
    [stderr]
    error: no help topic "me"
    hint: choose a topic: preview, plan, add, escalate, deescalate, remove, list, describe, explain, wait, devices, drain, restore, make-room, dedicate, undedicate, tolerations, podresources, snapshot, completion, version, options, help, exit-codes, guards, hazards, selectors, versions
    [exit status: 2]
    "#);
}

#[test]
fn misspelt_command_gets_the_nearest() {
    assert_snapshot!(devicetaint("previw").shown(), @r"
    [stderr]
    error: unrecognized subcommand 'previw'

    hint: did you mean 'preview'?

    Usage: kubectl devicetaint <COMMAND>

    For more information, try '--help'.
    [exit status: 2]
    ");
}

#[test]
fn misspelt_flag_gets_the_nearest() {
    assert_snapshot!(devicetaint("devices --form examples/cluster.yaml").shown(), @r"
    [stderr]
    error: unexpected argument '--form' found

    hint: did you mean '--from'?

    Usage: kubectl devicetaint devices --from <FILENAME> [DEVICE]...

    For more information, try '--help'.
    [exit status: 2]
    ");
}

#[test]
fn a_flag_of_other_commands_is_told_with_these() {
    let shown =
        devicetaint("add gpu.example.com a.example.com/k:None --from examples/cluster.yaml");
    let hint = shown.stderr.lines().find(|line| line.starts_with("hint: "));
    let hint = hint.expect("a hint");
    assert!(hint.starts_with("hint: commands with this flag"), "{hint}");
    assert!(hint.contains("preview"), "{hint}");
    assert_eq!(shown.code, 2);
}

/// The house's rule for every line of help: upper case first, and no period at the end.
#[test]
fn every_flag_is_explained_in_the_same_manner() {
    for command in ["preview -h", "devices -h", "-h"] {
        let help = devicetaint(command).stdout;
        let joined = help.replace("\n                         ", " ");
        for line in joined
            .lines()
            .filter(|line| line.trim_start().starts_with('-'))
        {
            let Some((_, text)) = line.trim_start().split_once("  ") else {
                continue;
            };
            let text = text.trim();
            let first = text.chars().next().expect("a text");
            assert!(first.is_uppercase(), "{command}: {line}");
            assert!(!text.ends_with('.'), "{command}: {line}");
        }
    }
}

#[test]
fn a_word_from_elsewhere_is_told_what_it_is_here() {
    assert_snapshot!(devicetaint("taint gpu.example.com").shown(), @r"
    [stderr]
    error: unrecognized subcommand 'taint'

    hint: use `add`

    Usage: kubectl devicetaint <COMMAND>

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(devicetaint("help evict").shown(), @r#"
    [stderr]
    error: no help topic "evict"
    hint: use `drain` or `escalate`
    [exit status: 2]
    "#);
}

#[test]
fn a_namespace_where_it_narrows_nothing_is_refused() {
    let run = devicetaint("preview gpu.example.com -n serving --from examples/cluster.yaml");
    assert_snapshot!(run.shown(), @"
    [stderr]
    error: --namespace applies only to `devices`, `explain`, `make-room` and `podresources list`
    hint: taints affect pods in every namespace; to filter by namespace: -o json, field affectedPods[].namespace
    hint: omit --namespace
    [exit status: 2]
    ");
    let run = devicetaint("preview gpu.example.com -n serving -A --from examples/cluster.yaml");
    assert_eq!(run.code, 0, "{}", run.shown());
}
