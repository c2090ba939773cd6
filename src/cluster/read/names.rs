//! One kind alone, for the names of its objects.

use super::kinds::{Outcome, Reader};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::wire::{Detail, Fact};

/// Reads all facts of one kind; none where the server does not have it, or the user may not read it.
///
/// For proposals only: an answer has to tell what is not known from what is not there.
///
/// # Errors
///
/// When the list cannot be read completely, unless permission is missing.
pub async fn read_names<T: Fact>(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<Vec<T>, ClusterError> {
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    Ok(match reader.all::<T>().await? {
        Outcome::Read(list) => list.items,
        Outcome::Absent | Outcome::Denied(_) => Vec::new(),
    })
}
