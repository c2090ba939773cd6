//! Does the engine say "no replacement" only where the real allocator has none?

mod cluster;
mod compare;
mod random;
mod waiting;

pub use compare::compare;
pub use waiting::wait;
