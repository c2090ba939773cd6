#!/bin/sh
# Measures what a wait for all pods of a driver reads on 1,000 nodes; see README.md. Takes some minutes.
set -eu
cd "$(dirname "$0")/.."

cargo build --profile dist
exec cargo test --test full -- --ignored --exact cluster::live::waiting::measure --nocapture
