//! Command-line flags that several commands share, and the parsers of their values.
//!
//! Knows no cluster; flags become the plain values that `work` takes.

pub(crate) mod change;
pub(crate) mod connection;
pub(crate) mod device_filters;
pub(crate) mod examples;
pub(crate) mod guards;
pub(crate) mod output;
pub(crate) mod publish;
pub(crate) mod repeated;
pub(crate) mod rules;
pub(crate) mod safety;
pub(crate) mod source;
pub(crate) mod waiting;
