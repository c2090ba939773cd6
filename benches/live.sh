#!/bin/sh
# Measures the released program on 1,000 nodes against curl, and the engine alone; see README.md.
# Takes half an hour, and a machine with nothing else to do.
set -eu
cd "$(dirname "$0")/.."

cargo build --profile dist
cargo test --test full -- --ignored --exact cluster::live::large::measure --nocapture
cargo bench --bench engine
echo "load of the machine at the end: $(cat /proc/loadavg)"
