//! `undedicate`: end a dedication, the other way round than it was made.

use serde_json::Value;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::profile::{CommandProfile, NamespaceFilter, OF_A_DEDICATION};
use super::remove::{self, RemoveArgs};
use super::work::connect::{connect, failed};
use super::work::consent::{ask, introduce};
use super::work::policies::PolicyObjects;
use super::work::policy_changer::{ChangeLines, PolicyChanger};
use super::work::stopped::stopped;
use crate::cluster::{Purpose, WriteMode};
use crate::decide::Question;
use crate::decide::choice::no_such_dedication;
use crate::decide::dedication::{
    PolicyKind, Terms, is_our_rule, members_of_rules, object_name, removable,
};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::phrase::counted;

/// End a dedication: remove its taint, then its admission policies
///
/// A dedication consists of rules and admission policies that `dedicate` creates, so that only claims of some
/// namespaces can use the devices. Removes only rules and admission policies that `dedicate` created and that still
/// have its label, also if others changed them since. Claims keep the toleration that the admission policy has added to
/// them. If the command is interrupted, run it again: it removes what is left.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct UndedicateArgs {
    /// Name of the dedication
    #[arg(value_name = "NAME")]
    name: String,

    /// Do not ask for confirmation
    ///
    /// If stdin is not a terminal, required for everything that needs confirmation.
    #[arg(short, long, help_heading = "Safety")]
    yes: bool,

    #[command(flatten)]
    change: ChangeArgs,
}

const EXAMPLES: &str = "\
Examples:
  # What would be removed
  kubectl devicetaint undedicate research --dry-run

  # End the dedication
  kubectl devicetaint undedicate research";

impl UndedicateArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Undedicate)
            .with_namespace(NamespaceFilter::Meaningless(OF_A_DEDICATION))
    }
}

pub(super) async fn run(args: UndedicateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    Terms::check_name(&args.name)?;
    let live = connect(context).await?;
    let objects = PolicyObjects::of(&live).await?;
    let policies = args.policies(&objects).await?;
    let listed = live.rules()?.list().await.map_err(failed)?;
    // One that cannot be understood may be of the dedication.
    if let Some(odd) = listed.odd.into_iter().next() {
        return Err(failed(odd).detail("nothing was changed"));
    }
    let rules: Vec<DeviceTaintRule> = listed
        .objects
        .into_iter()
        .map(|stored| stored.fact)
        .collect();
    let (ours, left): (Vec<&DeviceTaintRule>, Vec<&DeviceTaintRule>) =
        members_of_rules(&args.name, &rules).partition(|rule| is_our_rule(rule));
    for rule in left {
        let line = format!("rule {} was not created by `dedicate` and stays", rule.name);
        context.printer.note(&line);
    }
    if ours.is_empty() && policies.is_empty() {
        let known = rules.iter().filter_map(|rule| rule.taint.dedication());
        return Err(no_such_dedication(&args.name, known.map(str::to_owned)));
    }
    args.agree(&ours, &policies, context)?;
    args.try_removal(&objects, &policies).await?;
    let rules: Vec<String> = ours.iter().map(|rule| rule.name.to_string()).collect();
    args.remove(rules, &objects, &policies, context).await
}

impl UndedicateArgs {
    /// The policies that were made for the dedication, in the order in which they are removed.
    async fn policies(&self, objects: &PolicyObjects) -> Result<Vec<(PolicyKind, Value)>, Failure> {
        let mut found = Vec::new();
        for kind in PolicyKind::ALL {
            match objects.get(kind, &object_name(&self.name)).await {
                Ok(object) => found.extend(object.map(|object| (kind, object))),
                // Without the API there are none.
                Err(crate::cluster::ClusterError::NotServed { .. }) => {}
                Err(error) => return Err(failed(error).detail("nothing was changed")),
            }
        }
        Ok(removable(&found, &self.name))
    }

    fn agree(
        &self,
        rules: &[&DeviceTaintRule],
        policies: &[(PolicyKind, Value)],
        context: &Context,
    ) -> Result<(), Failure> {
        let name = &self.name;
        let action = format!(
            "End dedication {name}: remove {} and {}",
            counted(rules.len(), "rule"),
            counted(policies.len(), "admission object"),
        );
        if self.yes {
            context.printer.note(&action);
            return Ok(());
        }
        let named = policies.iter().map(|(kind, object)| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            format!("  {}", kind.full_name(name))
        });
        let rules = rules.iter().map(|rule| format!("  rule {}", rule.name));
        introduce(&rules.chain(named).collect::<Vec<_>>(), context);
        ask(
            &Question::Yes { action },
            self.change.change().dry_run,
            context,
        )
        .map(drop)
    }

    /// What the server would refuse halfway, it refuses before anything is removed.
    async fn try_removal(
        &self,
        objects: &PolicyObjects,
        policies: &[(PolicyKind, Value)],
    ) -> Result<(), Failure> {
        if self.change.change().mode() != Some(WriteMode::Store) {
            return Ok(());
        }
        // A dry run finds what would stop the removal halfway, such as a missing permission.
        for (kind, found) in policies {
            let tried = objects
                .delete(*kind, found, &self.name, WriteMode::DryRun)
                .await;
            tried.map_err(|failure| failure.detail("nothing was changed"))?;
        }
        Ok(())
    }

    async fn remove(
        self,
        rules: Vec<String>,
        objects: &PolicyObjects,
        policies: &[(PolicyKind, Value)],
        context: &Context,
    ) -> Result<ExitStatus, Failure> {
        let change = self.change.change();
        // Rules go first. A tainted device without its policies would be open to any claim that tolerates the
        // taint.
        if !rules.is_empty() {
            let args = RemoveArgs::agreed(rules, true, self.change);
            Box::pin(remove::run(args, context)).await?;
        }
        let changer = PolicyChanger {
            objects,
            dedication: &self.name,
            change,
            told: ChangeLines::Lines,
            context,
        };
        let removed = changer.remove(policies).await;
        removed.map_err(|failure| stopped(failure, context))?;
        Ok(ExitStatus::Success)
    }
}
