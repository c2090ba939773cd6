//! Evictions, restarts and effects of a unit.

use std::collections::{BTreeMap, BTreeSet};

use super::units::UnitDrain;
use crate::cluster::{ObjectVersion, WriteAnswer, WriteMode, evict, restart};
use crate::commands::work::changer::Changer;
use crate::commands::work::connect::failed;
use crate::decide::RulePatch;
use crate::decide::drain::{
    DrainRun, RestartState, UnitFacts, UnitPod, refusal_line, tainted_since,
};
use crate::decide::effect::escalates_again;
use crate::decide::refused_evictions::EvictionReply;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, NamespacedName, Uid};

/// Lines about pods that were printed.
#[derive(Default)]
pub(super) struct PodLines {
    /// Pods whose eviction was announced.
    begun: BTreeSet<Uid>,
    /// The refusal of each pod.
    refused: BTreeMap<Uid, String>,
    /// Pods that were evicted and were not gone yet.
    leaving: BTreeMap<Uid, NamespacedName>,
}

impl UnitDrain<'_> {
    /// Evicts a pod; a refusal that stays the same is printed once.
    pub(super) async fn evict(
        &self,
        pod: &UnitPod,
        lines: &mut PodLines,
    ) -> Result<EvictionReply, Failure> {
        let printer = &self.context.printer;
        let name = &pod.name;
        if lines.begun.insert(pod.uid.clone()) {
            printer.note(&format!("evicting pod {name}"));
        }
        let answer = evict(
            &self.mutation.live()?.client,
            name,
            &pod.uid,
            None,
            WriteMode::Store,
        )
        .await;
        Ok(match answer.map_err(failed)? {
            WriteAnswer::Accepted => {
                lines.leaving.insert(pod.uid.clone(), name.clone());
                EvictionReply::Accepted
            }
            WriteAnswer::Outdated => EvictionReply::Gone,
            WriteAnswer::Refused(message) => {
                let line = refusal_line(pod, &message);
                if lines.refused.get(&pod.uid) != Some(&line) {
                    printer.note(&format!("{line}, trying again"));
                    lines.refused.insert(pod.uid.clone(), line);
                }
                EvictionReply::Refused(message)
            }
            WriteAnswer::Unknown(error) => {
                printer.warn(&format!(
                    "cannot tell whether pod {name} was evicted: {error}; checking again"
                ));
                EvictionReply::Unknown
            }
        })
    }

    /// Restarts a Deployment, or notes that it cannot be.
    pub(super) async fn restart(
        &self,
        owner: &Uid,
        facts: &UnitFacts,
        rules: &[DeviceTaintRule],
        run: &mut DrainRun,
    ) -> Result<(), Failure> {
        let (client, printer) = (&self.mutation.live()?.client, &self.context.printer);
        let Some(state) = facts.restarts.get(owner) else {
            return Ok(());
        };
        let name = state.describe();
        // Later looks recognize the restart by this time: it must not be before the taints.
        let Some(at) = client.server_time().max(tainted_since(rules)) else {
            printer.warn(&format!("{name} is not restarted: the time is unknown"));
            run.cannot_restart(owner);
            return Ok(());
        };
        let on = object_version(owner, state);
        let answer = restart(client, &state.owner, &on, at, WriteMode::Store).await;
        match answer.map_err(failed)? {
            WriteAnswer::Accepted => printer.note(&format!("restarted {name}")),
            // It is read again before the next try.
            WriteAnswer::Outdated => return Ok(()),
            WriteAnswer::Refused(message) => {
                printer.warn(&format!("{name} cannot be restarted: {message}"));
                run.cannot_restart(owner);
                return Ok(());
            }
            WriteAnswer::Unknown(error) => printer.warn(&format!(
                "cannot tell whether {name} was restarted: {error}; checking again"
            )),
        }
        run.restarted(owner, self.began.elapsed());
        Ok(())
    }

    /// Gives the rules effect NoExecute, which was approved before the drain began.
    pub(super) async fn raise(
        &self,
        rules: &mut [DeviceTaintRule],
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        let to = Effect::NoExecute;
        for rule in rules.iter_mut().filter(|rule| rule.taint.effect != to) {
            let now = self.mutation.live()?.client.server_time();
            let patch = RulePatch::effect(&to, &self.mutation.view.semantics, now);
            let again = |found: Option<&DeviceTaintRule>| escalates_again(found, &to);
            if let Some(stored) = changer.patch(rule, &patch, again).await? {
                *rule = stored.fact;
            }
        }
        Ok(())
    }

    /// Prints which evicted pods are gone.
    pub(super) fn show_evicted(&self, facts: &UnitFacts, lines: &mut PodLines) {
        let there: BTreeSet<&Uid> = facts.pods.iter().map(|pod| &pod.uid).collect();
        lines.leaving.retain(|uid, name| {
            let is_there = there.contains(uid);
            if !is_there {
                // As `kubectl drain` prints it.
                let line = format!("pod/{} evicted", name.name);
                self.context.printer.note(&line);
            }
            is_there
        });
    }
}

/// The version of the Deployment that was decided on.
pub(super) fn object_version(uid: &Uid, state: &RestartState) -> ObjectVersion {
    ObjectVersion {
        uid: uid.to_string(),
        resource_version: state.resource_version.clone(),
    }
}
