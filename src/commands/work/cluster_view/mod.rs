//! View of a cluster or of saved files, as they were at one moment.
//!
//! Every command that answers or decides does so from a [`ClusterView`]. Its source (a live cluster or
//! files), the objects read, the behavior of that version of Kubernetes and the moment of the question are
//! known here and nowhere else. The facts read of pods are part of its type: a verdict on pods that were not
//! read does not compile.
//!
//! | what | module |
//! |---|---|
//! | The view, and its answers | `view` |
//! | Facts that may have been read of pods | `read_state` |
//! | Where it comes from: files or a cluster | `open` |
//! | Later reads, since only some requests need them | `reads` |

mod open;
mod read_state;
mod reads;
mod view;

pub(crate) use read_state::{Disruption, Pods, ReadState};
pub(crate) use view::{ClusterView, ViewWarnings};
