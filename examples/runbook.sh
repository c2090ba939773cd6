#!/usr/bin/env bash
# Takes a device out of service and back into service: preview, guard, add, escalate, wait, remove.
#
#   examples/runbook.sh gpu.example.com/node-7/gpu-0 example.com/maintenance=firmware
#
# These variables can be set: GUARD, TIMEOUT (default: the duration in the report, and two minutes),
# SETTLE, MAINTENANCE (the command that does the work meanwhile), and RUN (the name of the rule).
# Each run has a rule of its own. With the same RUN, every step can be run again: completed steps
# change nothing.
set -euo pipefail

device=$1
taint=$2
guard=${GUARD:-pods.evicted>20}
settle=${SETTLE:-10s}
rule=${RUN:-runbook-$(date -u +%Y%m%d-%H%M%S)-$$}

plugin() {
    kubectl devicetaint "$@"
}

report=$(mktemp)
trap 'rm -f "$report"' EXIT

# Which pods would be evicted? 4: more than the guard allows; 6: the report is incomplete.
status=0
plugin preview "$device" "$taint:NoExecute" --abort-if "$guard" --strict -o json > "$report" || status=$?
case $status in
    0) ;;
    4) echo "runbook: too many pods would be evicted; nothing was changed" >&2; exit 4 ;;
    6) echo "runbook: not everything can be read; nothing was changed" >&2; exit 6 ;;
    *) echo "runbook: the preview failed with $status" >&2; exit "$status" ;;
esac

# The largest number of seconds in the report for a field; 0 if it has none.
longest() {
    grep -o "\"$1\": *[0-9]*" "$report" | grep -o '[0-9]*$' | sort -n | tail -n 1 | grep . || echo 0
}

# The last eviction, the longest grace period after it, and a margin of two minutes.
timeout=${TIMEOUT:-$(($(longest evictInSeconds) + $(longest gracePeriodSeconds) + 120))s}

# Announce it, unless an earlier run with this name did: its effect may be higher by now.
plugin describe "$rule" -o name > /dev/null 2>&1 ||
    plugin add "$device" "$taint" --name "$rule" --reason runbook --expires 4h

# Evict only the pods of the report, and wait. 4: also if TIMEOUT ends before the last eviction is
# due; 5: the pods are not gone in time.
status=0
plugin escalate "$rule" --to NoExecute --yes --expect "$report" --abort-if "$guard" \
    --wait --timeout "$timeout" || status=$?
case $status in
    0) ;;
    1)
        echo "runbook: the rule is gone or belongs to another user, or a permission is missing" >&2
        exit 1
        ;;
    75)
        echo "runbook: the server was busy or unreachable: run it again with RUN=$rule" >&2
        exit 75
        ;;
    4)
        echo "runbook: the impact is larger than in the report, or TIMEOUT is too short; no pod was evicted" >&2
        exit 4
        ;;
    5)
        echo "runbook: some pods are left; new pods are blocked, the rest may stay" >&2
        plugin deescalate "$rule" --to NoSchedule
        exit 5
        ;;
    130 | 143)
        echo "runbook: interrupted, lowering the effect" >&2
        plugin deescalate "$rule" --to None
        exit "$status"
        ;;
    *) exit "$status" ;;
esac

# Idle is more than evicted: pods that tolerate the taint, and monitors with admin access, hold the
# device too.
status=0
plugin wait "$rule" --for idle --timeout "$timeout" --settle "$settle" || status=$?
if [ "$status" != 0 ]; then
    echo "runbook: a pod still holds the device; new pods are blocked" >&2
    plugin deescalate "$rule" --to NoSchedule
    exit "$status"
fi

# No claim holds the device.
${MAINTENANCE:-true} || {
    echo "runbook: the work failed; rule $rule still blocks new pods: run it again with RUN=$rule" >&2
    exit 1
}

plugin remove "$rule" --yes --ignore-not-found
