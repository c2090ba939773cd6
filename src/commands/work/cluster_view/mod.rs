//! View of a cluster or of saved files, as they were at one moment.
//!
//! Every command that answers or decides does so from a [`ClusterView`]. Its source (a live cluster or
//! files), the objects read, the behavior of that version of Kubernetes and the moment of the question are
//! known here and nowhere else. The facts read of pods are part of its type: a verdict on pods that were not
//! read does not compile.
//!
//! | what | module |
//! |---|---|
//! | The view, and what it answers | `view` |
//! | What may have been read of pods | `read_state` |
//! | Where it comes from: files or a cluster | `open` |
//! | What is read later, since only some questions need it | `reads` |

mod open;
mod read_state;
mod reads;
mod view;

pub(crate) use read_state::{Disruption, Pods, ReadState};
pub(crate) use view::{ClusterView, ViewWarnings};
