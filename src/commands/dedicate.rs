//! `dedicate`: devices for the claims of some namespaces, and for no others.

use std::collections::BTreeSet;

use serde_json::Value;

use super::add::AddArgs;
use super::context::Context;
use super::flags::change::ChangeArgs;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::printed::Printed;
use super::flags::safety::SafetyArgs;
use super::profile::{CommandProfile, NamespaceFilter, OF_A_DEDICATION};
use super::work::add_hooks::AddHooks;
use super::work::connect::failed;
use super::work::dry_run::WriteRequest;
use super::work::mutation_context::MutationContext;
use super::work::policies::PolicyObjects;
use super::work::policy_changer::{ChangeLines, PolicyChanger};
use super::work::stopped::stopped;
use crate::cluster::{Purpose, WriteMode};
use crate::completion::Values;
use crate::decide::AddStep;
use crate::decide::dedication::{
    Members, PolicyStep, Terms, objects, plan, refuse_namespaces, refuse_overlap,
};
use crate::decide::identity::refuse_replaced;
use crate::decide::proposal::NamedOwners;
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;
use crate::naming::labels::LabelSelector;
use crate::render::{Format, Page, render};
use crate::report::rules::ObjectList;

/// Dedicate devices to the claims of some namespaces
///
/// Creates these objects, in this order:
///
/// 1. A MutatingAdmissionPolicy that adds a toleration of the taint dedicated=NAME to every new claim in the
///    namespaces of --to or --namespace-selector.
///
/// 2. A ValidatingAdmissionPolicy that rejects this toleration, and wildcard tolerations (without a key), in all
///    other namespaces except those of --allow.
///
/// 3. The rules that taint the devices. The taint has effect NoSchedule: claims keep the devices that they hold.
///
/// If the command is interrupted, run it again: it creates what is missing.
///
/// `--dry-run -o yaml` prints the objects in this order, for `kubectl diff -f -` or `kubectl apply -f -`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DedicateArgs {
    /// DRIVER, DRIVER/POOL/DEVICE, UUID, serial number or PCI address
    ///
    /// DRIVER selects all devices of the driver. `*` as driver, pool or device matches any.
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    targets: Vec<String>,

    /// Also dedicate devices that use the same counter sets, such as the partitions of a GPU
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    with_partitions: bool,

    /// Namespaces that may use the devices, comma-separated
    ///
    /// Their new claims get the toleration. Repeatable.
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        help_heading = "Dedication",
        add = Values::Namespaces
    )]
    to: Vec<String>,

    /// Namespaces that may use the devices, by labels; not with --to
    ///
    /// If the labels of a namespace change, the change applies to new claims only.
    #[arg(long, value_name = "SELECTOR", help_heading = "Dedication")]
    namespace_selector: Option<LabelSelector>,

    /// Name of the dedication; default: the namespace of a single --to
    ///
    /// The name is the value of the taint, and part of the names of the admission policies.
    #[arg(long, help_heading = "Dedication", hide_short_help = true)]
    name: Option<String>,

    /// Other namespaces in which claims with the toleration are accepted, such as monitoring
    ///
    /// The toleration is not added to claims in these namespaces.
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_delimiter = ',',
        help_heading = "Dedication",
        hide_short_help = true,
        add = Values::Namespaces
    )]
    allow: Vec<String>,

    /// Why the devices are dedicated
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    reason: Option<String>,

    /// Print the objects: json, yaml or name
    ///
    /// Default: a line for each change.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = ["json", "yaml", "name"], help_heading = "Change")]
    output: Option<String>,

    #[command(flatten)]
    change: ChangeArgs,

    /// Do not ask for confirmation
    #[arg(short, long, help_heading = "Change")]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  # One GPU for the claims of namespace research
  kubectl devicetaint dedicate gpu.example.com/node-8/gpu-2 --to research

  # All devices of a driver, as manifests, for example for Git
  kubectl devicetaint dedicate gpu.example.com --to research --dry-run -o yaml";

impl DedicateArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::of(Purpose::Dedicate)
            .with_namespace(NamespaceFilter::Meaningless(OF_A_DEDICATION))
    }
}

pub(super) async fn run(args: DedicateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    args.dedicate(context).await
}

impl DedicateArgs {
    async fn dedicate(self, context: &Context) -> Result<ExitStatus, Failure> {
        let terms = self.terms()?;
        let format = self.output.as_deref().map(str::parse::<Format>);
        let mut making = DedicationPolicies {
            format: format.transpose()?,
            change: self.change.change(),
            context,
            policies: None,
            terms,
        };
        let mut targets = self.targets;
        // As if it had been typed, so that `add` checks it as any other.
        targets.push(making.terms.taint().to_string());
        let members = making.terms.members_line();
        let add = AddArgs {
            targets,
            filters: DeviceFilterArgs::default(),
            with_partitions: self.with_partitions,
            all_devices: false,
            filename: Vec::new(),
            allow_missing: false,
            name: None,
            reason: self.reason.or(Some(format!("dedicated to {members}"))),
            expires: None,
            labels: vec![making.terms.label()],
            overwrite: false,
            output: making.format.map(|_| Printed::Manifest),
            change: self.change,
            safety: SafetyArgs::without_limits(self.yes),
        };
        Box::pin(add.add(context, &mut making)).await
    }

    fn terms(&self) -> Result<Terms, Failure> {
        let members = match (&self.to[..], &self.namespace_selector) {
            ([], None) => {
                return Err(Failure::usage("no namespaces specified")
                    .hint("add --to NAMESPACE, or --namespace-selector SELECTOR"));
            }
            ([], Some(selector)) => Members::Selected(selector.clone()),
            (names, None) => Members::Namespaces(names.iter().cloned().collect()),
            (_, Some(_)) => {
                return Err(Failure::usage(
                    "--to and --namespace-selector cannot be used together",
                ));
            }
        };
        let name = match (&self.name, &self.to[..]) {
            (Some(name), _) => name.clone(),
            (None, [only]) => only.clone(),
            (None, _) => {
                return Err(
                    Failure::usage("without --name, exactly one --to NAMESPACE is needed")
                        .hint("add --name NAME"),
                );
            }
        };
        Terms::check_name(&name)?;
        Ok(Terms {
            name,
            members,
            allowed: self.allow.iter().cloned().collect::<BTreeSet<String>>(),
        })
    }
}

/// What is made beside the rules.
struct DedicationPolicies<'a> {
    terms: Terms,
    format: Option<Format>,
    change: WriteRequest,
    context: &'a Context,
    /// What is done about the policies, once that is known.
    policies: Option<(PolicyObjects, Vec<PolicyStep>)>,
}

impl AddHooks for DedicationPolicies<'_> {
    async fn check(
        &mut self,
        steps: &[AddStep],
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let objects = PolicyObjects::of(&mutation.live).await?;
        refuse_namespaces(&self.terms, &objects.namespaces().await?)?;
        let selectors: Vec<_> = steps
            .iter()
            .map(|step| step.draft().selector.clone())
            .collect();
        // Rules that cannot be read may be those of another dedication.
        let rules = mutation.view.rules()?;
        refuse_overlap(&self.terms.name, &selectors, rules)?;
        let existing: Vec<DeviceTaintRule> = steps
            .iter()
            .filter_map(|step| step.existing().cloned())
            .collect();
        // The devices of rules that are there may be other hardware by now than what was dedicated.
        let view = mutation.view.clone().with_identities_of(&existing).await?;
        refuse_replaced(&existing, &view.reading, &view.semantics)?;
        let policy_steps = self.policy_steps(&objects).await?;
        self.policies = Some((objects, policy_steps));
        Ok(())
    }

    async fn before(&mut self, _: &MutationContext) -> Result<(), Failure> {
        let Some((objects, steps)) = &self.policies else {
            return Ok(());
        };
        let told = match self.format {
            Some(_) => ChangeLines::Nothing,
            None => ChangeLines::Lines,
        };
        let changer = PolicyChanger {
            objects,
            dedication: &self.terms.name,
            change: self.change,
            told,
            context: self.context,
        };
        let made = changer.make(steps).await;
        made.map_err(|failure| stopped(failure, self.context))
    }

    fn printed(&self, rules: &[Value]) -> Option<Result<String, Failure>> {
        self.format.map(|format| self.rendered(rules, format))
    }

    fn named_owners(&self) -> NamedOwners {
        // Its policies follow the rules, unlike after a change by `add`.
        NamedOwners::Programs
    }
}

impl DedicationPolicies<'_> {
    /// Whether the objects are only printed: for a comparison, whatever exists.
    fn is_only_printed(&self) -> bool {
        self.format.is_some() && self.change.mode().is_none()
    }

    /// What is done about each policy; before any of it is, the server has to take all of it.
    async fn policy_steps(&self, objects: &PolicyObjects) -> Result<Vec<PolicyStep>, Failure> {
        let version = objects.mutating_version();
        if self.is_only_printed() {
            let wanted = self::objects(&self.terms, version.ok());
            return Ok(wanted.into_iter().map(PolicyStep::Keep).collect());
        }
        let version = version.map_err(|why| {
            Failure::new(
                ExitStatus::Failed,
                format!(
                    "the admission policies cannot be created in this cluster: {why}; nothing \
                     was changed"
                ),
            )
        })?;
        let name = &self.terms.name;
        let mut steps = Vec::new();
        for wanted in self::objects(&self.terms, Some(version)) {
            // An object that could not be read may belong to another user or program.
            let found = objects.get(wanted.kind, &wanted.name).await;
            let found = found.map_err(|error| failed(error).detail("nothing was changed"))?;
            steps.push(plan(wanted, found.as_ref(), name)?);
        }
        // What the server would refuse halfway, it refuses here.
        if self.change.mode() == Some(WriteMode::Store) {
            for step in &steps {
                let tried = objects.take(step, name, WriteMode::DryRun).await;
                tried.map_err(|failure| failure.detail("nothing was changed"))?;
            }
        }
        Ok(steps)
    }

    /// All objects as text, in the order in which they have to be made.
    fn rendered(&self, rules: &[Value], format: Format) -> Result<String, Failure> {
        let steps = self.policies.iter().flat_map(|(_, steps)| steps);
        let policies = steps.map(|step| step.wanted().object.clone());
        let page = Page {
            format,
            width: None,
            height: None,
        };
        let all = ObjectList(policies.chain(rules.iter().cloned()).collect());
        Ok(render(&all, page)?)
    }
}
