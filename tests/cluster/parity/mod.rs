//! What works with kubectl works here: the same kubeconfig, flags and environment for both, and the
//! same happens.
//!
//! ```text
//! Case ─▶ Stage (kubeconfig, folder, proxies) ─┬─▶ kubectl ─┐
//!                                              └─▶ plugin ──┴─▶ Witness (who, which way) ─▶ API server
//! ```
//!
//! A [`Case`](case::Case) is a line of a table and of `docs/src/connection.md`. The witness is a server
//! with TLS that writes down who comes with what, and answers as the real API server does. Both have to
//! come as the same user, over the same way, or both have to stay away. The first tier of the tests takes
//! what kubectl did from a [`record`], which the second makes again and compares.

mod case;
mod credentials;
mod files;
mod page;
mod plugins;
mod preferences;
mod proxies;
mod record;
mod secrets;
mod servers;
mod stage;
mod terminal;
mod ways;
mod witness;
