//! What several commands do: connect, look, choose, agree, change, and wait.
//!
//! Knows no clap: everything comes as plain values.

pub(crate) mod accounts;
pub(crate) mod around;
pub(crate) mod candidates;
pub(crate) mod changer;
pub(crate) mod clock;
pub(crate) mod clusters;
pub(crate) mod connect;
pub(crate) mod consent;
pub(crate) mod debug_pod;
pub(crate) mod deletion;
pub(crate) mod dry_run;
pub(crate) mod events;
pub(crate) mod eyes;
pub(crate) mod follow;
pub(crate) mod history;
pub(crate) mod kubelet;
pub(crate) mod kubelet_node;
pub(crate) mod look;
pub(crate) mod meant;
pub(crate) mod nodes;
pub(crate) mod pipeline;
pub(crate) mod policies;
pub(crate) mod policy;
pub(crate) mod policy_changer;
pub(crate) mod present;
pub(crate) mod publish;
pub(crate) mod recover;
pub(crate) mod released;
pub(crate) mod role;
pub(crate) mod rules_on;
pub(crate) mod scene;
pub(crate) mod source;
mod spectator;
pub(crate) mod supposed;
pub(crate) mod wait;
pub(crate) mod wanted;
