//! Builds for the script `up`.

use crate::harness::{PLUGIN, build_program};

/// Not a test: builds the program of the script `up` beside this file, and prints its path.
#[test]
#[ignore = "checks nothing"]
fn build() {
    let program = build_program().unwrap_or_else(|reason| panic!("{reason}"));
    println!("\nprogram: {}\nplugin: {PLUGIN}", program.display());
}
