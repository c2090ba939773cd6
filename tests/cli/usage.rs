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
