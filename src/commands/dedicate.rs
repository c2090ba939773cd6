//! `dedicate`: devices for the claims of some namespaces, and for no others.

use std::collections::BTreeSet;

use clap::{Subcommand, ValueEnum};
use serde_json::Value;

use super::add::AddArgs;
use super::context::Context;
use super::dedications::{self, DescribeArgs, ListArgs};
use super::flags::change::ChangeArgs;
use super::flags::device_filters::DeviceFilterArgs;
use super::flags::devices::SelectorArgs;
use super::flags::printed::Printed;
use super::flags::safety::SafetyArgs;
use super::flags::waiting::WaitingArgs;
use super::profile::{CommandProfile, NamespaceFilter, OF_A_DEDICATION};
use super::work::add_hooks::AddHooks;
use super::work::connect::failed;
use super::work::dry_run::WriteRequest;
use super::work::mutation_context::MutationContext;
use super::work::policies::PolicyObjects;
use super::work::policy_changer::{ChangeLines, PolicyChanger};
use super::work::stopped::stopped;
use crate::cluster::{ClusterError, Purpose, WriteMode};
use crate::completion::Values;
use crate::decide::AddStep;
use crate::decide::dedication::{
    AdminAccess, KnownNamespaces, Members, Missing, Overwrite, PolicyStep, Terms, notes, objects,
    overlaps, plan, refuse_namespaces, refuse_overlaps, replaced, snippet,
};
use crate::decide::identity::refuse_replaced;
use crate::decide::proposal::{NamedOwners, ProposedRule};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect};
use crate::naming::labels::LabelSelector;
use crate::render::{Format, Page, render, yaml};
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
/// 3. The rules that taint the devices. The taint has effect NoSchedule: claims keep the devices that they hold. With
///    --evict, the taint has effect NoExecute.
///
/// If the command is interrupted, run it again: it creates what is missing.
///
/// The subcommands `dedicate list` and `dedicate describe` show dedications.
#[derive(clap::Args, Debug)]
#[command(subcommand_value_name = "SUBCOMMAND", after_help = EXAMPLES)]
pub(super) struct DedicateArgs {
    #[command(subcommand)]
    view: Option<ViewedCluster>,

    /// DRIVER, DRIVER/POOL/DEVICE, UUID, serial number or PCI address
    ///
    /// DRIVER selects all devices of the driver. `*` as driver, pool or device matches any.
    #[arg(value_name = "DEVICE", add = Values::Devices)]
    targets: Vec<String>,

    #[command(flatten)]
    selector: SelectorArgs,

    #[command(flatten)]
    filters: DeviceFilterArgs,

    /// Accept devices and namespaces that do not exist
    #[arg(long, help_heading = "Devices", hide_short_help = true)]
    allow_missing: bool,

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

    /// Evict pods of other namespaces immediately
    ///
    /// Shows the impact and asks for confirmation, like `add`. Pods in the namespaces of --to or
    /// --namespace-selector are evicted too if their claims are older than the admission policies and lack the
    /// toleration.
    #[arg(long, help_heading = "Dedication")]
    evict: bool,

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

    /// Let requests with admin access tolerate the taint in every namespace
    ///
    /// Such requests are for monitoring: they get devices that are allocated to other claims. The server
    /// accepts them only in namespaces labelled for admin access.
    #[arg(long, help_heading = "Dedication", hide_short_help = true)]
    allow_admin_access: bool,

    /// Create only the rules
    ///
    /// Claims then need a toleration of their own, and claims in every namespace may have one.
    #[arg(long, help_heading = "Dedication", hide_short_help = true)]
    no_admission_policies: bool,

    /// Change existing admission policies and rules of the dedication
    #[arg(long, help_heading = "Change", hide_short_help = true)]
    overwrite: bool,

    /// Create the objects (enforce), or print them (advise)
    ///
    /// `enforce` (the default) creates the rules and admission policies. `advise` changes nothing: it prints
    /// these objects, and the toleration that claims need if the admission policies are not created.
    #[arg(
        long,
        value_enum,
        default_value = "enforce",
        hide_default_value = true,
        hide_possible_values = true,
        value_name = "MODE",
        help_heading = "Change"
    )]
    mode: Mode,

    /// Why the devices are dedicated
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    reason: Option<String>,

    /// Ticket reference
    #[arg(
        long,
        value_name = "TEXT",
        help_heading = "Rule",
        hide_short_help = true
    )]
    ticket: Option<String>,

    /// Print the objects: json, yaml or name
    ///
    /// Default: a line for each change, or YAML with --mode advise.
    #[arg(short, long, hide_possible_values = true, value_name = "FORMAT", value_parser = ["json", "yaml", "name"], help_heading = "Change")]
    output: Option<String>,

    #[command(flatten)]
    waiting: WaitingArgs,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    safety: SafetyArgs,
}

/// What is looked at.
#[derive(Debug, Subcommand)]
enum ViewedCluster {
    List(ListArgs),
    Describe(DescribeArgs),
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Rules and policies are created
    Enforce,
    /// They are printed
    Advise,
}

const EXAMPLES: &str = "\
Examples:
  # One GPU for the claims of namespace research
  kubectl devicetaint dedicate gpu.example.com/node-8/gpu-2 --to research

  # All devices of a driver, as manifests, for example for Git
  kubectl devicetaint dedicate gpu.example.com --to research --mode advise";

impl DedicateArgs {
    /// What it does with clusters, and who stops it.
    pub(super) fn profile(&self) -> CommandProfile {
        CommandProfile::changing(match self.view {
            Some(ViewedCluster::List(_) | ViewedCluster::Describe(_)) => Purpose::Dedications,
            None => Purpose::Dedicate,
        })
        .with_namespace(NamespaceFilter::Meaningless(OF_A_DEDICATION))
    }
}

pub(super) async fn run(args: DedicateArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let is_making = !args.targets.is_empty()
        || !args.to.is_empty()
        || args.namespace_selector.is_some()
        || args.name.is_some()
        || args.evict;
    match args.view {
        Some(_) if is_making => Err(Failure::usage(
            "`dedicate list` and `dedicate describe` only show dedications: omit devices, --to, --namespace-selector, --name and --evict",
        )),
        Some(ViewedCluster::List(args)) => dedications::list(args, context).await,
        Some(ViewedCluster::Describe(args)) => dedications::describe(args, context).await,
        None => args.dedicate(context).await,
    }
}

impl DedicateArgs {
    async fn dedicate(mut self, context: &Context) -> Result<ExitStatus, Failure> {
        let terms = self.terms()?;
        // Before files with policies are read, among which `none` stands for no admission policies, too.
        let is_taint_alone = self.safety.take_no_policy() || self.no_admission_policies;
        let is_advice = self.mode == Mode::Advise;
        let format = self.output.as_deref().map(str::parse::<Format>);
        let mut making = DedicationPolicies {
            missing: if self.allow_missing {
                Missing::Allowed
            } else {
                Missing::Refused
            },
            overwrite: if self.overwrite {
                Overwrite::Change
            } else {
                Overwrite::Refuse
            },
            mode: self.mode,
            is_taint_alone,
            format: format.transpose()?,
            change: self.change.change(),
            context,
            policies: None,
            has_changed: false,
            terms,
        };
        // Advice goes the way of a dry run, so that it refuses what the real run would.
        let change = if is_advice {
            self.change.pretending()
        } else {
            self.change
        };
        let mut targets = self.targets;
        // As if it had been typed, so that `add` checks it as any other.
        targets.push(making.terms.taint().to_string());
        let is_printed = is_advice || making.format.is_some();
        let members = making.terms.members_line();
        let add = AddArgs {
            targets,
            selector: self.selector,
            filters: self.filters,
            all_devices: false,
            filename: Vec::new(),
            allow_missing: self.allow_missing,
            collapse: false,
            name: None,
            batch: Some(making.terms.object_name()),
            reason: self.reason.or(Some(format!("dedicated to {members}"))),
            ticket: self.ticket,
            expires: None,
            labels: vec![making.terms.label()],
            overwrite: self.overwrite,
            output: is_printed.then_some(Printed::Manifest),
            waiting: self.waiting,
            change,
            safety: self.safety,
        };
        let status = Box::pin(add.add(context, &mut making)).await?;
        // Rules alone know nothing of policies.
        let is_changed = status == ExitStatus::Unchanged && making.has_changed;
        Ok(if is_changed {
            ExitStatus::Success
        } else {
            status
        })
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
            admin_access: if self.allow_admin_access {
                AdminAccess::Allowed
            } else {
                AdminAccess::Refused
            },
            effect: if self.evict {
                Effect::NoExecute
            } else {
                Effect::NoSchedule
            },
        })
    }
}

/// What is made beside the rules.
struct DedicationPolicies<'a> {
    terms: Terms,
    mode: Mode,
    is_taint_alone: bool,
    missing: Missing,
    overwrite: Overwrite,
    format: Option<Format>,
    change: WriteRequest,
    context: &'a Context,
    /// What is done about the policies, once that is known.
    policies: Option<(PolicyObjects, Vec<PolicyStep>)>,
    has_changed: bool,
}

impl AddHooks for DedicationPolicies<'_> {
    async fn check(
        &mut self,
        steps: &[AddStep],
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let objects = PolicyObjects::of(&mutation.live).await?;
        let namespaces = objects.namespaces().await?;
        refuse_namespaces(&self.terms, &namespaces, self.missing)?;
        let selectors: Vec<_> = steps
            .iter()
            .map(|step| step.draft().selector.clone())
            .collect();
        // Rules that cannot be read may be those of another dedication.
        let rules = mutation.view.rules()?;
        refuse_overlaps(&overlaps(&self.terms.name, &selectors, rules))?;
        let existing: Vec<DeviceTaintRule> = steps
            .iter()
            .filter_map(|step| step.existing().cloned())
            .collect();
        // The devices of rules that are there may be other hardware by now than what was dedicated.
        let view = mutation.view.clone().with_identities_of(&existing).await?;
        refuse_replaced(&existing, &view.reading, &view.semantics)?;
        self.tell(steps, &namespaces, mutation);
        if self.is_taint_alone {
            self.context.printer.warn(&format!(
                "without admission policies, claims in every namespace may tolerate the taint {}, \
                 and claims in {} need a toleration of their own",
                self.terms.taint(),
                self.terms.members_line()
            ));
            return Ok(());
        }
        let policy_steps = self.policy_steps(&objects, steps, mutation).await?;
        if let Some(line) = replaced(&policy_steps) {
            self.context.printer.note(&line);
        }
        self.policies = Some((objects, policy_steps));
        Ok(())
    }

    async fn before(&mut self, _: &MutationContext) -> Result<(), Failure> {
        let Some((objects, steps)) = &self.policies else {
            return Ok(());
        };
        if self.mode == Mode::Advise {
            return Ok(());
        }
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
        let made = made.map_err(|failure| stopped(failure, self.context));
        self.has_changed = made?;
        Ok(())
    }

    fn printed(&self, rules: &[Value]) -> Option<Result<String, Failure>> {
        match (self.mode, self.format) {
            (Mode::Enforce, None) => None,
            (Mode::Enforce, Some(format)) => Some(self.rendered(rules, format)),
            (Mode::Advise, Some(Format::Json)) => Some(self.rendered(rules, Format::Json)),
            (Mode::Advise, Some(Format::Name)) => Some(self.rendered(rules, Format::Name)),
            (Mode::Advise, _) => Some(self.advice(rules)),
        }
    }

    fn named_owners(&self) -> NamedOwners {
        // Its policies follow the rules, unlike after a change by `add`.
        NamedOwners::Programs
    }
}

impl DedicationPolicies<'_> {
    /// Says who has the devices, and who could use them all the same.
    fn tell(&self, steps: &[AddStep], namespaces: &KnownNamespaces, mutation: &MutationContext) {
        let proposed: Vec<_> = steps
            .iter()
            .map(|step| ProposedRule::from(step).proposed(mutation.view.now))
            .collect();
        let devices = mutation.view.selected(&proposed).devices;
        let notes = notes(
            &self.terms,
            &devices,
            namespaces,
            &mutation.view.device_basis(),
        );
        for note in notes {
            self.context.printer.note(&note);
        }
    }

    /// What is done about each policy; before any of it is, the server has to take all of it.
    async fn policy_steps(
        &self,
        objects: &PolicyObjects,
        rules: &[AddStep],
        mutation: &MutationContext,
    ) -> Result<Vec<PolicyStep>, Failure> {
        let version = match (objects.mutating_version(), self.mode) {
            (Ok(version), _) => Some(version),
            (Err(why), Mode::Advise) => {
                self.context.printer.warn(&format!(
                    "the printed admission policies cannot be created in this cluster: {why}"
                ));
                None
            }
            (Err(why), Mode::Enforce) => return Err(self.only_advised(&why, rules, mutation)),
        };
        let mut steps = Vec::new();
        for wanted in self::objects(&self.terms, version) {
            let found = match (objects.get(wanted.kind, &wanted.name).await, self.mode) {
                (Ok(found), _) => found,
                // What would be made can be shown to those who may not make it.
                (
                    Err(ClusterError::NotServed { .. } | ClusterError::Forbidden { .. }),
                    Mode::Advise,
                ) => None,
                // An object that could not be read may belong to another user or program.
                (Err(error), _) => {
                    let failure = failed(error);
                    return Err(failure.detail("nothing was changed"));
                }
            };
            let name = &self.terms.name;
            steps.push(match self.mode {
                Mode::Enforce => plan(wanted, found.as_ref(), name, self.overwrite)?,
                Mode::Advise => PolicyStep::Keep(wanted),
            });
        }
        // What the server would refuse halfway, it refuses here.
        if self.mode == Mode::Enforce && self.change.mode() == Some(WriteMode::Store) {
            for step in &steps {
                let tried = objects
                    .take(step, &self.terms.name, WriteMode::DryRun)
                    .await;
                tried.map_err(|failure| failure.detail("nothing was changed"))?;
            }
        }
        Ok(steps)
    }

    /// The failure of a command that can only say what it would make.
    fn only_advised(&self, why: &str, rules: &[AddStep], mutation: &MutationContext) -> Failure {
        let version = mutation.rules.api_version();
        let rules: Vec<Value> = rules
            .iter()
            .map(|step| step.draft().object(version))
            .collect();
        let printed = self.advice(&rules);
        match printed.map(|text| self.context.printer.emit(&text)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error.into(),
            Err(failure) => return failure,
        }
        Failure::new(
            ExitStatus::Failed,
            format!(
                "the admission policies cannot be created in this cluster: {why}; nothing was \
                 changed"
            ),
        )
        .detail("the printed objects are those that would be created")
        .hint("to taint the devices without admission policies: --no-admission-policies")
    }

    /// All objects, in the order in which they have to be made.
    fn all(&self, rules: &[Value]) -> Vec<Value> {
        let policies = match (&self.policies, self.is_taint_alone) {
            (_, true) => Vec::new(),
            (Some((_, steps)), false) => steps
                .iter()
                .map(|step| step.wanted().object.clone())
                .collect(),
            (None, false) => self::objects(&self.terms, None)
                .into_iter()
                .map(|wanted| wanted.object)
                .collect(),
        };
        policies.into_iter().chain(rules.iter().cloned()).collect()
    }

    fn rendered(&self, rules: &[Value], format: Format) -> Result<String, Failure> {
        let page = Page {
            format,
            width: None,
            height: None,
        };
        Ok(render(&ObjectList(self.all(rules)), page)?)
    }

    /// The objects with what to do with them, as YAML.
    fn advice(&self, rules: &[Value]) -> Result<String, Failure> {
        let lines = yaml::render(&snippet(&self.terms.tolerated()))?;
        let mut text = format!(
            "# Dedication {}: {}. Nothing was changed.\n# kubectl apply -f FILE creates the \
             objects in this order: policies first, then the taint.\n# To tolerate the taint \
             without the policies, add these lines to each request of a claim: under `exactly`, or under \
             each entry of `firstAvailable`.\n#   tolerations:\n",
            self.terms.name,
            self.terms.members_line()
        );
        for line in lines.lines() {
            text.push_str(&format!("#   {line}\n"));
        }
        text.push_str(&self.rendered(rules, Format::Yaml)?);
        Ok(text)
    }
}
