//! placeholder
pub mod engine;
pub mod error;
pub mod model;
pub mod output;
pub mod render;
pub mod report;
