//! The examples for workflow engines: each is run by the engine itself, or the shell in its steps is, against a real
//! control plane.
//!
//! Ansible comes from PyPI, into `target/engines`.

mod ansible;
mod argo;
mod examples;
mod hosted;
mod scene;
mod tools;
