//! Mistakes in command lines: the exit code, and the word that is wrong or missing.

use super::harness::{EXAMPLE, assert_refused, devicetaint};

/// Command, exit code, and words of the error. `FROM` is the example cluster.
const REFUSED: &str = "
add | 2 | no taint
add a=b | 2 | no devices
add node-7/gpu-0 a=b | 2 | \"node-7/gpu-0\"
add gpu.example.com a=b c=d | 2 | more than one taint
add gpu.example.com a=b:noexecute | 2 | NoExecute
add gpu.example.com a- | 2 | remove
add gpu.example.com nic.example.com a=b --name x | 2 | --name
add gpu.example.com a=b --all-devices | 2 | --all-devices
add gpu.example.com a=b --expires soon | 2 | soon
add gpu.example.com a=b --labels x | 2 | KEY=VALUE
add gpu.example.com a=b --dry-run=maybe | 2 | maybe
add gpu.example.com a=b -f rule.yaml | 2 | --filename
escalate --to NoExecute | 2 | no rules
escalate a/b/c --to NoExecute | 2 | a/b/c
escalate a | 2 | --to
escalate a --to None | 2 | None
escalate a --to NoExecute --expect /no/such/file | 2 | /no/such/file
deescalate a --to NoExecute | 2 | NoExecute
remove a --all | 2 | --all
remove --expired -l a=b | 2 | --expired
remove -l a>b | 2 | label selector
wait a | 2 | --for
wait a --for ever | 2 | ever
wait a --for deleted --timeout ever | 2 | ever
preview FROM a:NoExecute | 2 | a:NoExecute
preview FROM */*/* | 2 | --all-devices
preview FROM --rule node-6-firmware a:NoExecute | 2 | --rule
preview FROM gpu_x/node-7/gpu-0 | 2 | gpu_x
preview FROM gpu.example.com 'a b:NoExecute' | 2 | a b
preview FROM gpu.example.com --abort-if load>1 | 2 | load
preview FROM gpu.example.com --abort-if pods.evicted>many | 2 | many
preview FROM gpu.example.com --abort-if pods.evictd>1 | 2 | did you mean pods.evicted?
preview FROM gpu.example.com --kubernetes 1.33 | 2 | 1.33
preview FROM gpu.example.com --now yesterday | 2 | yesterday
preview gpu.example.com --now 2026-11-21T00:00:00Z | 2 | --from
preview FROM --rule node-6-firmwar | 1 | did you mean node-6-firmware?
preview FROM gpu.exmple.com/node-7/gpu-0 | 1 | did you mean gpu.example.com/node-7/gpu-0?
preview FROM node-7 | 1 | */node-7/*
devices FROM --node nod-7 | 1 | no device is local to node nod-7
devices FROM UUID=GPU-1 | 1 | uuid=GPU-1
devices FROM --columns modle | 1 | did you mean model?
devices FROM --where device.drver==1 | 2 | drver
explain FROM | 2 | nothing to explain
explain FROM gpu.example.com/node-7/* | 2 | node-7
explain FROM rule/node-10-decommission | 2 | describe
explain FROM node/node-7 | 2 | devices --from examples/cluster.yaml --node node-7
explain FROM pod/coredns -n kube-system | 1 | uses no devices
preview FROM node/node-7 gpu.example.com | 2 | node/NAME
preview FROM node/node-7 node/node-8 | 2 | node-7 and node-8
preview FROM pod/x | 2 | explain
preview FROM claim x a/b:NoExecute | 2 | explain
preview FROM deployment/x | 2 | three: DRIVER/POOL/DEVICE
add node/node-7 a/b- | 2 | remove RULE
add rule/x a/b:None | 2 | describe x
add --all a/b:None | 2 | --all-devices
describe FROM node/node-7 | 2 | devices --from
describe FROM pod x | 2 | explain
tolerations FROM node/node-7 | 2 | --node node-7
cordon node-7 | 2 | KEY:NoSchedule
uncordon node-7 | 2 | `restore` or `remove`
taint nodes node-7 a=b:NoExecute | 2 | use `add`
evict pod/x | 2 | use `drain`
drain --all | 2 | remove
drain --node a --disable-eviction | 2 | drain --force
drain --node a --grace-period=30 | 2 | omit the flag
list --watch | 2 | use `wait`
explain FROM pod/a/b/c | 2 | pod/a/b/c
plan FROM gpu.example.com | 2 | --count
plan FROM gpu.example.com --count 41 | 2 | 40 devices
drain | 2 | no devices
drain --node a --include pets | 2 | pets
drain --node a --unit rack | 2 | rack
restore | 2 | DRAIN
make-room | 2 | <POD>
make-room node/a | 2 | node/a
make-room pod/a --abort-if weather>3 | 2 | weather
dedicate d/p/x | 2 | --namespace-selector
dedicate d/p/x --to a --to b | 2 | --name
dedicate d/p/x --to a --name Research | 2 | Research
tolerations a=b | 2 | effect
tolerations FROM example.com/a | 2 | example.com/a:NoSchedule
tolerations example.com/a=b:None | 2 | needs no toleration
undedicate Research | 2 | Research
";

/// Lines with a type before a name as kubectl takes it, and lines that are the same without.
const SAME: &str = "
preview FROM node/node-7 a/b:NoExecute | preview FROM --node node-7 a/b:NoExecute
preview FROM nodes node-7 | preview FROM --node node-7
preview FROM rule/node-6-firmware | preview FROM --rule node-6-firmware
preview FROM device/gpu.example.com/node-7/gpu-0 | preview FROM gpu.example.com/node-7/gpu-0
devices FROM no/node-7 | devices FROM --node node-7
plan FROM node/node-7 --count 1 | plan FROM --node node-7 --count 1
add FROM node node-7 a/b:None --dry-run=client | add FROM --node node-7 a/b:None --dry-run=client
drain FROM node/node-7 nodes/node-8 --dry-run=client | drain FROM --node node-7 --node node-8 --dry-run=client
describe FROM rule node-8-power | describe FROM node-8-power
describe FROM devicetaintrules/node-8-power | describe FROM node-8-power
list FROM rule/node-8-power | list FROM node-8-power
list FROM devicetaintrules | list FROM
drain FROM --node node-7 --dry-run=client --ignore-daemonsets --delete-local-data | drain FROM --node node-7 --dry-run=client
";

#[test]
fn types_before_names_are_understood() {
    let from = format!("--from {EXAMPLE}");
    for row in SAME.lines().filter(|row| !row.is_empty()) {
        let (typed, meant) = row.split_once(" | ").expect("two lines");
        let run = |line: &str| devicetaint(&format!("{} -o json", line.replace("FROM", &from)));
        let (typed, meant) = (run(typed), run(meant));
        assert!([0, 4].contains(&typed.code), "{row}: {}", typed.stderr);
        assert_eq!(typed.shown(), meant.shown(), "{row}");
    }
}

#[test]
fn mistakes_are_refused_by_name() {
    let from = format!("--from {EXAMPLE}");
    for row in REFUSED.lines().filter(|row| !row.is_empty()) {
        let [line, code, named] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("a row of three: {row}");
        };
        let line = line.replace("FROM", &from);
        assert_refused(
            devicetaint,
            &[(&line, code.parse().expect("a code"), named)],
        );
    }
}
