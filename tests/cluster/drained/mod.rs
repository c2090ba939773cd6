//! `drain`, `drain status` and `restore` on the real control plane, with its own controllers of workloads and budgets.

mod interrupted;
mod people;
mod refused;
mod restarts;
pub mod stage;
mod units;
mod whole;
