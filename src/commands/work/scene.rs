//! A cluster whose rules are about to be changed.

use super::connect::{Live, connect, failed};
use super::look::Look;
use super::meant::by_name;
use super::rules_on::chosen_in;
use crate::assess::Guard;
use crate::cluster::{Detail, Rules};
use crate::commands::context::Context;
use crate::decide::choice::{Choice, Picker};
use crate::decide::{Chooser, Meant, RulesTyped, Version};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect};
use crate::report::ImpactReport;

/// The cluster as it was when it was looked at, and its rules to be changed.
pub(crate) struct Scene {
    pub(crate) live: Live,
    pub(crate) rules: Rules,
    /// Everything but the pods.
    pub(crate) look: Look,
}

impl Scene {
    /// Connects and reads devices, claims and rules, with what a report about them needs.
    pub(crate) async fn open(version: Version, context: &Context) -> Result<Self, Failure> {
        let live = connect(context).await?;
        let rules = live.rules()?;
        let look = Look::of_for(live.clone(), version, Detail::Terms).await?;
        Ok(Self { live, rules, look })
    }

    /// As [`Scene::open`] on a connection that is there already, for whoever reports nothing.
    pub(crate) async fn of(live: Live, version: Version) -> Result<Self, Failure> {
        let rules = live.rules()?;
        let look = Look::of(live.clone(), version).await?;
        Ok(Self { live, rules, look })
    }

    /// With what devices are beside their names, as far as `picker` asks for it.
    pub(crate) async fn with_attributes_for(
        self,
        picker: Option<&Picker>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            look: self.look.with_attributes_for(picker).await?,
            ..self
        })
    }

    /// The choice with its words that are numbers of hardware as such, where `more` attributes identify hardware
    /// beside those that are known; with what it takes to know that.
    pub(crate) async fn with_numbers_of(
        self,
        choice: Choice,
        more: &[String],
    ) -> Result<(Self, Choice), Failure> {
        let look = self.look.identifying(more);
        let (look, choice) = Box::pin(look.with_numbers_of(choice)).await?;
        Ok((Self { look, ..self }, choice))
    }

    /// With what devices are beside their names.
    pub(crate) async fn with_attributes(self) -> Result<Self, Failure> {
        Ok(Self {
            look: self.look.with_attributes(&[]).await?,
            ..self
        })
    }

    /// With what devices are beside their names, if one of `rules` notes what its device was.
    pub(crate) async fn with_identities_of(
        self,
        rules: &[DeviceTaintRule],
    ) -> Result<Self, Failure> {
        Ok(Self {
            look: self.look.with_identities_of(rules).await?,
            ..self
        })
    }

    /// Which rules are meant, with what it takes to know that.
    pub(crate) async fn chosen(
        self,
        typed: &RulesTyped<'_>,
        context: &Context,
    ) -> Result<(Self, Chooser), Failure> {
        let (look, chooser) = Box::pin(chosen_in(typed, self.look, context)).await?;
        Ok((Self { look, ..self }, chooser))
    }

    /// Looks at the cluster again.
    pub(crate) async fn again(&self) -> Result<Self, Failure> {
        Ok(Self {
            live: self.live.clone(),
            rules: self.rules.clone(),
            look: self.look.again().await?,
        })
    }

    /// The rules that are meant. Who may not list rules can still name some: those are read one by
    /// one.
    pub(crate) async fn meant(&self, chooser: &Chooser) -> Result<Meant, Failure> {
        let now = self.look.now;
        let unlisted = match self.look.rules() {
            Ok(rules) => return Ok(chooser.meant(rules, now)),
            Err(failure) => failure,
        };
        match chooser {
            Chooser::Names(names) => {
                let found = by_name(names, &self.rules).await.map_err(failed)?;
                Ok(chooser.meant(&found, now))
            }
            Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired | Chooser::All => {
                Err(unlisted)
            }
        }
    }

    /// The failure of a change with whom it would hit now, as far as that can be found out: the rules
    /// called `names`, as they are by now, with effect `to`.
    pub(crate) async fn told_of_hits(
        &self,
        failure: Failure,
        names: &[String],
        to: &Effect,
    ) -> Failure {
        let Ok(scene) = self.again().await else {
            return failure;
        };
        let rules = names.iter().filter_map(|name| scene.look.rule(name).ok());
        let proposed: Vec<ProposedTaint> = rules
            .map(|rule| ProposedTaint::of_changed_rule(rule, to, scene.look.now))
            .collect();
        if proposed.is_empty() {
            return failure;
        }
        match scene.report(&proposed, &[]).await {
            Ok(report) => report
                .summary_lines()
                .into_iter()
                .fold(failure, |failure, line| {
                    failure.detail(format!("with {to} now: {line}"))
                }),
            Err(_) => failure,
        }
    }

    /// Whom the considered taints hit.
    pub(crate) async fn report(
        &self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> Result<ImpactReport, Failure> {
        // On the heap: it reads many lists, more than once in what some commands do.
        let look = Box::pin(self.look.clone().with_pods_for(proposed, guards)).await?;
        Ok(look.report(proposed, guards))
    }
}
