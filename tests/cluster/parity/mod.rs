//! Connections as kubectl makes them: a kubeconfig, flags and an environment lead to the same server, as the same
//! user, over the same route.
//!
//! ```text
//! Case ─▶ Setup (kubeconfig, flags, variables) ─┬─▶ plugin ──────────────────┬─▶ Tunnel ─▶ Witness ─▶ API server
//!                                               └─▶ kubectl (second tier) ───┘
//! ```
//!
//! A row of [`cases`] has the witness's view of kubectl. The first tier compares the plugin with it, the
//! second tier kubectl itself.

mod cases;
mod secrets;
mod setup;
mod witness;
