//! Properties of unit tests, tried as often as they can be.

use std::process::Command;

/// Those of which the first tier makes a tenth of the tries.
const PROPERTIES: [&str; 3] = [
    "decide::drain::virtual_time_tests::",
    "engine::allocator::room::tests::",
    "engine::expression::tests::",
];

#[test]
fn properties_hold_in_all_their_tries() {
    let status = Command::new(env!("CARGO"))
        .args(["test", "--locked", "--lib", "--"])
        .args(PROPERTIES)
        .env("WHOLE", "1")
        .status();
    assert!(status.expect("cargo runs").success());
}
