//! `drain`, `drain status` and `restore` with workloads, budgets and monitors.

mod interrupted;
mod restarts;
pub mod stage;
mod whole;
