//! `make-room` on the real control plane, with its own scheduler, eviction controller and budgets.

mod interrupted;
mod scene;
mod tiers;
