//! A taint that is asked about, in what was looked at.

use super::look::Look;
use crate::commands::context::Context;
use crate::decide::Absent;
use crate::decide::choice::{Choice, refuse_wide};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::DeviceTaintRule;

/// A look with what the question needs, and what was chosen in it.
pub(crate) struct Supposed {
    /// What was looked at, and what there is to say of the choice.
    pub(crate) look: Look,
    /// The choice as it was typed, with words that are numbers of hardware as that.
    pub(crate) typed: Choice,
    /// The choice, with devices by their names.
    pub(crate) choice: Choice,
    /// The taints that it comes to.
    pub(crate) proposed: Vec<ProposedTaint>,
}

impl Supposed {
    /// What `choice` comes to in what was looked at, for which these manifests were read.
    pub(crate) async fn new(
        look: Look,
        choice: &Choice,
        manifests: &[DeviceTaintRule],
        absent: Absent,
        context: &Context,
    ) -> Result<Self, Failure> {
        let (look, typed) = Box::pin(look.with_numbers_of(choice.clone())).await?;
        let mut look = look.with_attributes_for(typed.picker()).await?;
        refuse_wide(manifests, &look.semantics)?;
        let (choice, notes) = typed.resolved(&look.reading, &look.semantics)?;
        for note in notes {
            context.printer.note(&note);
        }
        let rule = |name: &str| look.rule(name);
        let proposed = choice.proposed(manifests, rule, look.snapshot(), look.now)?;
        if absent == Absent::Refused {
            look.refuse_missing(&proposed)?;
        }
        look.reading.warnings.extend(choice.warning());
        Ok(Self {
            look,
            typed,
            choice,
            proposed,
        })
    }
}
