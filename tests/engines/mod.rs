//! The examples for workflow engines: each follows its engine's own schema, or is run by the engine itself,
//! and the shell in its steps is run against a real control plane.
//!
//! What this needs of other languages it gets by itself: Ansible and the schemas of hosted runners from PyPI,
//! into `target/engines`, and the schema of Argo from its Go module.

mod ansible;
mod argo;
mod hosted;
mod scene;
mod schema;
mod tools;
