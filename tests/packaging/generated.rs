//! Files that package managers read, compared with what is written now.

use std::env;

use super::support::{pack, root, succeeded};

#[test]
fn what_package_managers_read_is_current() {
    if env::var_os("UPDATE_GENERATED").is_some() {
        succeeded(&pack(root(), &["generate"]));
    }
    succeeded(&pack(root(), &["generate", "--check"]));
}

#[test]
fn a_change_of_what_they_are_written_from_is_noticed() {
    let copy = super::support::addressed();
    let output = pack(copy.path(), &["generate", "--check"]);
    assert!(!output.status.success(), "it names another address");
    let message = String::from_utf8(output.stderr).unwrap();
    for file in [
        "krew-manifest.yaml",
        "plugins/devicetaint.yaml",
        "Formula/",
        "flake.nix",
    ] {
        assert!(message.contains(file), "{message}");
    }
    succeeded(&pack(copy.path(), &["generate"]));
    succeeded(&pack(copy.path(), &["generate", "--check"]));
}
