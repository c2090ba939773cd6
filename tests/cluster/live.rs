//! The plugin against real API servers: its output, and that saved is the same as live.

mod connecting;
mod equal;
mod scene;
mod served;
