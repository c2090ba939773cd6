//! A cluster whose rules are about to be changed.

use super::connect::{Live, connect};
use super::look::Look;
use super::source::Version;
use crate::cluster::Rules;
use crate::commands::context::Context;
use crate::engine::ConsideredTaint;
use crate::error::Failure;
use crate::report::{Guard, ImpactReport};

/// The cluster as it was when it was looked at, and its rules to be changed.
pub(crate) struct Scene {
    pub(crate) live: Live,
    pub(crate) rules: Rules,
    /// Everything but the pods.
    pub(crate) look: Look,
}

impl Scene {
    /// Connects and reads devices, claims and rules.
    pub(crate) async fn open(version: Version, context: &Context) -> Result<Self, Failure> {
        Self::of(connect(context).await?, version).await
    }

    /// As [`Scene::open`] on a connection that is there already.
    pub(crate) async fn of(live: Live, version: Version) -> Result<Self, Failure> {
        let rules = live.rules()?;
        let look = Look::of(live.clone(), version).await?;
        Ok(Self { live, rules, look })
    }

    /// Looks at the cluster again.
    pub(crate) async fn again(&self) -> Result<Self, Failure> {
        Ok(Self {
            live: self.live.clone(),
            rules: self.rules.clone(),
            look: self.look.again().await?,
        })
    }

    /// Whom the considered taints hit.
    pub(crate) async fn report(
        &self,
        considered: &[ConsideredTaint],
        guards: &[Guard],
    ) -> Result<ImpactReport, Failure> {
        let look = self.look.clone().with_pods_for(considered, guards).await?;
        Ok(look.report(considered, guards))
    }
}
