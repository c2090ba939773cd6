//! The taints that a read-only command assesses, and the cluster data for them.

use super::cluster_view::ClusterView;
use crate::commands::context::Context;
use crate::decide::choice::{Choice, refuse_wide, unknown_on_node};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::DeviceTaintRule;

/// The taints that are assessed, with the data that this needs.
pub(crate) struct Hypothesis {
    /// View of the cluster, and warnings about the selection.
    pub(crate) view: ClusterView,
    /// The proposed taints.
    pub(crate) proposed: Vec<ProposedTaint>,
}

impl Hypothesis {
    /// Taints that `choice` proposes in the view, for which these manifests were read.
    pub(crate) async fn new(
        view: ClusterView,
        choice: &Choice,
        manifests: &[DeviceTaintRule],
        context: &Context,
    ) -> Result<Self, Failure> {
        refuse_wide(manifests)?;
        let filter = choice.filter.as_ref();
        let (mut view, choice) = Box::pin(view.resolved(choice, context)).await?;
        let rule = |name: &str| view.rule(name);
        let proposed = choice.proposed(manifests, rule, view.snapshot(), view.now)?;
        let warning = choice.warning(manifests, view.snapshot());
        view.reading.warnings.extend(warning);
        let unknown = unknown_on_node(filter, &choice, &view.snapshot().slices);
        view.reading.warnings.extend(unknown);
        Ok(Self { view, proposed })
    }
}
