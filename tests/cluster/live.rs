//! The plugin against real API servers: what users see, and that saved is the same as live.

mod connecting;
mod equal;
mod generate;
mod scene;
mod served;
mod snapshot;
