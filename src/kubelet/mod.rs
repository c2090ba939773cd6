//! What a kubelet says over the socket on its own node.
//!
//! The API of a cluster says what should be; the kubelet of a node says what is in use there. It is
//! asked with gRPC over a socket that only root of that node can open. Nothing is concluded from silence:
//! what a kubelet cannot say is an error, or marked in what it says.

mod certificate;
mod codec;
mod connection;
mod error;
mod lister;
mod notes;

pub use certificate::certificate_node;
pub use error::KubeletError;
pub use lister::{Lister, SOCKET};
pub use notes::notes_beside;
