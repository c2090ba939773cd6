//! `drain`, `drain status` and `restore` on the real control plane, with its own controllers of workloads and budgets.

mod refused;
mod runbook;
mod stage;
mod units;
