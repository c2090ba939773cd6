//! The domain of the program's own names.

/// A name in the domain that the project owns: the version of its documents, and the keys of the labels,
/// annotations and taints that it writes. A macro, so that constants can be made of it.
#[macro_export]
macro_rules! in_group {
    ($name:literal) => {
        concat!("devicetaint.dev/", $name)
    };
}

pub use in_group;

/// Version of every document that this program writes or reads; within it, fields and enumeration values are only added.
pub const API_VERSION: &str = in_group!("v1alpha1");
