//! Reading saved state, as users meet it.

mod real_cluster;
mod support;
