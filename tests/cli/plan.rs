//! `plan`: which devices or nodes hurt least.

use insta::assert_snapshot;

use super::harness::{EXAMPLE, Run, devicetaint};

fn plan(flags: &str) -> Run {
    devicetaint(&format!("plan --from {EXAMPLE} {flags}"))
}
