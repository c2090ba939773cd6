//! The requester with which a drain is restored.

use std::collections::BTreeSet;

use super::prepare::DrainRequest;
use crate::cluster::user_name;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::drain::{requesters, restoring_requester, rules_of};
use crate::error::Failure;

impl DrainRequest {
    /// The requester with which the drain is restored, as far as one is needed.
    pub(crate) async fn restoring_requester(
        &self,
        drain: &str,
        mutation: &MutationContext,
    ) -> Result<Option<String>, Failure> {
        let rules = rules_of(mutation.view.rules()?, drain);
        let recorded: BTreeSet<String> = rules.iter().flat_map(requesters).collect();
        let typed = self.requester.as_deref();
        let user = match typed.is_none() && !recorded.is_empty() {
            true => user_name(&mutation.live.client).await,
            false => None,
        };
        Ok(restoring_requester(typed, &recorded, user.as_deref()))
    }
}
