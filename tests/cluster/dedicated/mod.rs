//! Dedications on a real control plane: policies, taints, and changed claims.
//!
//! They have a control plane of their own: a dedication refuses tolerations in every namespace but its own.

mod applied;
mod described;
mod enforced;
mod refused;
pub mod stage;
