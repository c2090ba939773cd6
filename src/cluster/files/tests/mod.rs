//! Reading saved state, as users meet it.

mod bad_input;
mod optional;
mod real_cluster;
mod support;
