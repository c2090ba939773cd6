//! Does the engine say "no replacement" only where the real allocator has none?

mod cluster;
mod compare;
mod random;
mod room;
mod waiting;

pub use compare::compare;
pub use room::make_room;
pub use waiting::wait;
