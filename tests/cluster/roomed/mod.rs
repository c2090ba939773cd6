//! `make-room` on the real control plane, with its own scheduler, eviction controller and budgets.

mod competitors;
mod interrupted;
mod scene;
mod scheduler;
mod shapes;
mod tiers;
