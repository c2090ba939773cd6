#!/bin/sh
# Measures the plugin on a cluster of 1,000 nodes against curl; see README.md. Takes some minutes.
set -eu
cd "$(dirname "$0")/.."

cargo build --release
exec cargo test --test full -- --ignored --exact cluster::live::large::measure --nocapture
