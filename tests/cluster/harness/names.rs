//! Names that no other test uses.

use std::{
    hash::{BuildHasher, RandomState},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::json;

use super::ControlPlane;

/// Eight lower-case hexadecimal digits, different at every call.
pub fn random_suffix() -> String {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    // The standard library's only source of randomness.
    let random = RandomState::new().hash_one((process::id(), call));
    format!("{:08x}", random & u64::from(u32::MAX))
}

/// A driver name of a test's own. Slices, rules and classes belong to no namespace, so tests tell
/// theirs apart by the driver.
pub fn driver_name() -> String {
    format!("t-{}.example.com", random_suffix())
}

impl ControlPlane {
    /// Makes a namespace of a test's own. It is never deleted: no namespace controller runs.
    pub async fn namespace(&self) -> String {
        let name = format!("t-{}", random_suffix());
        self.create(&[
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        ])
        .await;
        name
    }
}
