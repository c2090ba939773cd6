//! `drain`, `drain status` and `restore` with workloads, budgets and monitors.

mod interrupted;
mod refused;
mod restarts;
pub mod stage;
mod whole;
