#!/usr/bin/env bash
# New firmware for six nodes, while their workloads stay available: plan, drain, update, restore.
#
#   UPDATE=./flash.sh examples/firmware-update.sh gpu.example.com
#
# NODES (default 6), DRAIN (the drain's name, default firmware), PLAN (the file with the plan) and UPDATE (the command that updates the
# nodes; its argument is that file) can be set. Further arguments are those of `drain`: without a terminal --yes, and --include-jobs and the like where pods need it.
#
# Every step can be run again: the plan is made once, `drain` continues where it stopped, and the devices stay drained until the update has
# succeeded. Code 4: refused, nothing was changed; 5: some pods cannot leave, and are named; 75: a network or
# server error, or a concurrent change, interrupted the drain: run the same command again.
set -euo pipefail
plan=${PLAN:-${DRAIN:-firmware}.plan}

[ -s "$plan" ] || kubectl devicetaint plan "$1" --nodes "${NODES:-6}" -o name > "$plan"
kubectl devicetaint drain $(< "$plan") --unit node --name "${DRAIN:-firmware}" "${@:2}"
${UPDATE:-true} "$plan"
kubectl devicetaint restore "${DRAIN:-firmware}" --yes
rm "$plan"
