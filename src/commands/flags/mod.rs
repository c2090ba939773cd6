//! Command-line flags that several commands share, and the parsers of their values.
//!
//! Knows no cluster; flags become the plain values that `work` takes.

pub(crate) mod change;
pub(crate) mod connection;
pub(crate) mod selection;
