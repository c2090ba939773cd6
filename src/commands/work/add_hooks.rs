//! What a command does around the rules that it lets `add` make.

use serde_json::Value;

use super::mutation_context::MutationContext;
use crate::decide::AddStep;
use crate::decide::proposal::NamedOwners;
use crate::error::Failure;

/// What another command does around the rules that it lets this one make.
pub(crate) trait AddHooks {
    /// Finds what is wrong about the rules that would be made or are there already, before anything else.
    async fn check(&mut self, steps: &[AddStep], mutation: &MutationContext)
    -> Result<(), Failure>;

    /// Makes what has to be there before the rules; all that has to be agreed to is.
    async fn before(&mut self, mutation: &MutationContext) -> Result<(), Failure>;

    /// The rules as they are printed, with what belongs to them; absent where nothing but rules is.
    fn printed(&self, rules: &[Value]) -> Option<Result<String, Failure>>;

    /// Whose rules are named before a question about them.
    fn named_owners(&self) -> NamedOwners;
}

/// Nothing around the rules.
pub(crate) struct NoHooks;

impl AddHooks for NoHooks {
    async fn check(&mut self, _: &[AddStep], _: &MutationContext) -> Result<(), Failure> {
        Ok(())
    }

    async fn before(&mut self, _: &MutationContext) -> Result<(), Failure> {
        Ok(())
    }

    fn printed(&self, _: &[Value]) -> Option<Result<String, Failure>> {
        None
    }

    fn named_owners(&self) -> NamedOwners {
        NamedOwners::All
    }
}
