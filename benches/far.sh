#!/bin/sh
# Measures the plugin over 50 ms each way and 20 Mbit/s against curl and kubectl; see README.md. Takes some minutes.
set -eu
cd "$(dirname "$0")/.."

cargo build --profile dist
exec cargo test --test full -- --ignored --exact cluster::far::measure::measure --nocapture
