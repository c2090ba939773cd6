//! Names of devices and taints on a command line.
//!
//! Takes the text of an argument and gives a selector or a taint, or says what is wrong with it and
//! what it should look like. Knows what the API server accepts, and nothing about any cluster.
//!
//! | text | is |
//! |---|---|
//! | `gpu.example.com/node-7/gpu-0`, `*/node-7/*`, `gpu.example.com` | devices: [`device`] |
//! | `example.com/maintenance=firmware:NoExecute` | a taint: [`device::parse_taint`] |
//! | `app.kubernetes.io/managed-by=kubectl-devicetaint` | rules: [`labels`] |
//! | `4h`, `2d`, `2026-12-01` | when a rule should be gone: [`Expiry`] |
//! | `30s`, `1h30m` | how long something may take: [`duration`] |
//! | `drain-node-7`, `devicetaintrule.resource.k8s.io/drain-node-7` | a rule: [`rule`] |
//!
//! And the other way round: [`rule`] generates names of rules, [`shell`] quotes arguments, [`duration`] and [`phrase`]
//! write lengths of time and numbers with their nouns, for all messages. [`keys`] has the keys of labels and annotations.

pub mod device;
pub mod duration;
pub mod keys;
pub mod labels;
pub mod phrase;
pub mod rule;
pub mod shell;

pub use device::{Hardware, NamingError, TaintPattern, Targets, suggest};
pub use duration::Expiry;
pub use rule::Subject;
