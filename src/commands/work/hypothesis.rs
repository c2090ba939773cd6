//! The taints that a read-only command assesses, and the cluster data for them.

use super::cluster_view::ClusterView;
use crate::commands::context::Context;
use crate::decide::choice::{Choice, NumberUse, ResolvedChoice, refuse_wide, unknown_on_node};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::DeviceTaintRule;

/// The taints that are assessed, with the data that this needs.
pub(crate) struct Hypothesis {
    /// What was looked at, and what there is to say of the choice.
    pub(crate) view: ClusterView,
    /// The taints that it comes to.
    pub(crate) proposed: Vec<ProposedTaint>,
}

impl Hypothesis {
    /// What `choice` comes to in what was looked at, for which these manifests were read.
    pub(crate) async fn new(
        view: ClusterView,
        choice: &Choice,
        manifests: &[DeviceTaintRule],
        context: &Context,
    ) -> Result<Self, Failure> {
        let (view, typed) = Box::pin(view.with_numbers_of(choice.clone())).await?;
        let mut view = view.with_attributes_for(typed.filter()).await?;
        refuse_wide(manifests)?;
        let ResolvedChoice { choice, notes } =
            typed.resolved(&view.reading, &view.semantics, NumberUse::Read)?;
        for note in notes {
            context.printer.note(&note);
        }
        let rule = |name: &str| view.rule(name);
        let proposed = choice.proposed(manifests, rule, view.snapshot(), view.now)?;
        view.reading.warnings.extend(choice.warning());
        let unknown = typed
            .filter()
            .and_then(|filter| unknown_on_node(filter, &choice, &view.snapshot().slices));
        view.reading.warnings.extend(unknown);
        Ok(Self { view, proposed })
    }
}
