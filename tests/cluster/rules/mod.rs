//! The life of a rule on the real control plane, through the program itself.

#[cfg(unix)]
mod asked;
#[cfg(unix)]
pub mod harm;
#[cfg(unix)]
mod life;
mod meanwhile;
mod races;
mod runbook;
pub mod support;
