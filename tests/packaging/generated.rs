//! Files that package managers read, compared with the present output.

use std::env;

use super::support::{pack, root, succeeded};

#[test]
fn what_package_managers_read_is_current() {
    if env::var_os("UPDATE_GENERATED").is_some() {
        succeeded(&pack(root(), &["generate"]));
    }
    succeeded(&pack(root(), &["generate", "--check"]));
}
