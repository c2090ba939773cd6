//! Does the engine say "no replacement" only where the real allocator has none?

pub mod cluster;
mod compare;
mod room;
mod waiting;

pub use compare::compare;
pub use room::make_room;
pub use waiting::wait;
