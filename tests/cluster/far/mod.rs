//! Servers that are far away: how often the plugin waits for them, and how long.
//!
//! `rounds` counts, so that it holds on every machine; `measure` takes times, by `benches/far.sh`.

mod measure;
mod road;
mod rounds;
