//! The kubelet of this node: its podresources API, and files in its root directory.
//!
//! The API of a cluster has the desired state; the kubelet of a node has the devices in use there. Requests are gRPC over
//! a socket that only root of the node can open. What a kubelet cannot report is an error, never an empty list.

mod files;
mod lister;

pub use files::{certificate_node, notes_beside};
pub use lister::{KubeletError, Lister, SOCKET};
