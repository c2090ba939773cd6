//! The life of a rule on the real control plane, through the program itself.

mod adding;
mod agreed;
#[cfg(unix)]
mod asked;
mod bad_input;
mod changing;
#[cfg(unix)]
pub mod harm;
mod meanwhile;
mod policy;
mod races;
mod runbook;
pub mod support;
#[cfg(unix)]
mod versions;
