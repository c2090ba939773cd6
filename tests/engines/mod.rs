//! The examples for workflow engines: each follows its engine's own schema, or is run by the engine itself,
//! and the shell in its steps is run against a real control plane.
//!
//! What this needs of other languages it gets by itself: Ansible and the schemas of hosted runners from PyPI,
//! into `target/engines`, and the schemas of Argo and Tekton from their Go modules.

mod ansible;
mod argo;
mod hosted;
mod scene;
mod schema;
mod tekton;
mod tools;
