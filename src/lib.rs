//! placeholder
pub mod cluster;
pub mod engine;
pub mod model;
pub mod naming;
pub mod wire;
