#!/usr/bin/env bash
# Takes a device out of service and back into service: preview, guard, add, escalate, wait, remove.
#
#   examples/runbook.sh gpu.example.com/node-7/gpu-0 example.com/maintenance=firmware
#
# These variables can be set: GUARD, TIMEOUT (default: the duration in the report, and two minutes), SETTLE, POLICY (the policy file of a team) and
# MAINTENANCE (the command that does the work meanwhile).
# Every step can be run again with the same RUN: completed steps change nothing, and rules of other runs are not changed.
set -euo pipefail

device=$1
taint=$2
guard=${GUARD:-pods.evicted>20}
settle=${SETTLE:-10s}
# The name of this run, which distinguishes its rule from those of other runs.
run=${RUN:-runbook-$(date -u +%Y%m%dT%H%M%SZ)-$$}

# Empty without a policy.
forbids=(${POLICY:+--policy "$POLICY"})

plugin() {
    kubectl devicetaint "$@"
}

report=$(mktemp)
trap 'rm -f "$report"' EXIT

# Which pods would it evict? 4: more than the guard allows; 6: the report is incomplete.
status=0
plugin preview "$device" "$taint:NoExecute" --abort-if "$guard" ${forbids[@]+"${forbids[@]}"} --strict -o json > "$report" || status=$?
case $status in
    0) ;;
    4) echo "runbook: too many pods would be evicted, or the policy forbids it; nothing was changed" >&2; exit 4 ;;
    6) echo "runbook: not everything can be read, nothing was changed" >&2; exit 6 ;;
    *) echo "runbook: the preview failed with $status" >&2; exit "$status" ;;
esac

# The largest number of seconds in the report for a field; 0 if it has none.
longest() {
    grep -o "\"$1\": *[0-9]*" "$report" | grep -o '[0-9]*$' | sort -n | tail -n 1 | grep . || echo 0
}

# The last eviction, the longest grace period after it, and a margin of two minutes.
timeout=${TIMEOUT:-$(($(longest evictInSeconds) + $(longest gracePeriodSeconds) + 120))s}

# Announce it, unless an earlier run has already escalated the rule: `add` would lower the effect again.
own() {
    plugin describe -l "devicetaint.dev/batch=$run" -o name 2>/dev/null
}
rule=$(own) || rule=
if [ -z "$rule" ]; then
    # 1 also means that another rule of that name with another taint exists.
    found=$(plugin add "$device" "$taint" --batch "$run" --reason runbook --expires 4h ${forbids[@]+"${forbids[@]}"} -o name)
    rule=$(own)
    # An existing rule stays in its batch: another run is using it.
    if [ -z "$rule" ]; then
        echo "runbook: ${found#*/} is a rule of another run; wait for that one, or go on with it: RUN=ITS-BATCH" >&2
        plugin describe "${found#*/}" >&2 || true
        exit 4
    fi
    echo "rule ${rule#*/} created by run $run"
fi
rule=${rule#*/}

# Evict only the pods of the report, and wait. 3: it was escalated before; 4: also if TIMEOUT ends before the last eviction
# is due; 5: the pods are not gone in time.
status=0
plugin escalate "$rule" --to NoExecute --yes --expect "$report" --abort-if "$guard" ${forbids[@]+"${forbids[@]}"} --error-unchanged \
    --wait --timeout "$timeout" --settle "$settle" || status=$?
case $status in
    0 | 3) ;;
    1)
        echo "runbook: the rule is gone or belongs to another user, or a permission is missing" >&2
        exit 1
        ;;
    75)
        echo "runbook: the server was busy or unreachable, or a concurrent change happened: run it again" >&2
        exit 75
        ;;
    4)
        echo "runbook: the impact is larger than in the report, or TIMEOUT is too short; no pod was evicted, and the rule is unchanged" >&2
        exit 4
        ;;
    5)
        echo "runbook: some pods are left; new pods are blocked, the rest may stay" >&2
        plugin deescalate "$rule" --to NoSchedule
        exit 5
        ;;
    130 | 143)
        echo "runbook: interrupted, taking it back" >&2
        plugin deescalate "$rule" --to None
        exit "$status"
        ;;
    *) exit "$status" ;;
esac

status=0
# Idle is more than evicted: pods that tolerate the taint, and monitors with admin access, hold the device too.
plugin wait "$rule" --for idle --timeout "$timeout" --settle "$settle" || status=$?
case $status in
    0) ;;
    5)
        echo "runbook: a pod still holds the device, or its node was not seen to release it; new pods are kept off" >&2
        plugin deescalate "$rule" --to NoSchedule
        exit 5
        ;;
    *)
        plugin deescalate "$rule" --to NoSchedule
        exit "$status"
        ;;
esac

# No claim holds the device, nor any part of its hardware.
${MAINTENANCE:-true} || {
    echo "runbook: the work failed; rule $rule still blocks new pods: run it again, or remove the rule" >&2
    exit 1
}

plugin remove "$rule" --batch "$run" --ignore-not-found --wait --timeout "$timeout"
