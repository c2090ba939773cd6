//! `make-room` on the real control plane, with its own scheduler, eviction controller and budgets.

mod competitors;
mod interrupted;
mod scene;
mod shapes;
mod tiers;
