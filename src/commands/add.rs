//! `add`: make the rules that a command describes, as far as they are not there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;

use super::context::Context;
use super::flags::change::ChangeArgs;
use super::flags::devices::SelectorArgs;
use super::flags::printed::Printed;
use super::flags::safety::SafetyArgs;
use super::flags::source::VersionArgs;
use super::work::changer::{Changer, Lines, stopped};
use super::work::choice::{refuse_missing, wide, wrong_name};
use super::work::connect::failed;
use super::work::consent::Safety;
use super::work::dry_run::DryRun;
use super::work::meant::by_name;
use super::work::scene::Scene;
use super::work::source;
use crate::cluster::user_name;
use crate::decide::broad::{foreign, set_back};
use crate::decide::{Existing, RuleDraft, Step, Terms, Wish, add};
use crate::engine::ConsideredTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, RuleMetadata, Taint};
use crate::naming::labels::parse_label;
use crate::naming::taint::TaintPattern;
use crate::naming::{Expiry, NamingError, Targets, rule, validate};
use crate::render::{Page, render};
use crate::report::life::after_add;
use crate::report::rules::ObjectList;
use crate::report::table::counted;

/// Create rules that taint devices
///
/// Makes it so: a rule that is there already is left as it is, and the same command run again
/// completes what an interrupted one began. Another effect or value on a rule of the same name needs
/// --overwrite. Without an effect, the taint has effect None: it does nothing, and the controller
/// says in the rule's status whom it would hit.
///
/// DEVICE is DRIVER/POOL/DEVICE with * for any, or the name of a driver. TAINT is
/// KEY[=VALUE][:EFFECT]; an argument with = or : is a taint.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct AddArgs {
    /// Devices, as DRIVER/POOL/DEVICE with * for any, one rule each; and one taint, as KEY[=VALUE][:EFFECT]
    #[arg(value_name = "DEVICE|TAINT")]
    targets: Vec<String>,

    #[command(flatten)]
    selector: SelectorArgs,

    /// Every device of every driver
    #[arg(long, help_heading = "Devices")]
    all_devices: bool,

    /// DeviceTaintRule manifest, as YAML or JSON; `-` reads stdin; repeatable
    #[arg(short, long, value_name = "FILENAME", help_heading = "Devices")]
    filename: Vec<PathBuf>,

    /// Accept names that match no device
    #[arg(long, help_heading = "Devices")]
    allow_missing: bool,

    /// Name of the rule; default: made from key, driver, pool and device
    #[arg(long, help_heading = "Rule")]
    name: Option<String>,

    /// Why the devices are tainted
    #[arg(long, value_name = "TEXT", help_heading = "Rule")]
    reason: Option<String>,

    /// Where it is talked about
    #[arg(long, value_name = "TEXT", help_heading = "Rule")]
    ticket: Option<String>,

    /// When `remove --expired` takes the rule away: after a time such as 4h, 2d or 1w, or at one such as 2026-12-01 or 2026-12-01T18:00:00Z; a rule that has such a time keeps it, unless --overwrite
    #[arg(long, value_name = "DURATION|TIME", help_heading = "Rule")]
    expires: Option<Expiry>,

    /// Labels of the rule
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label, value_delimiter = ',', help_heading = "Rule")]
    labels: Vec<(String, String)>,

    /// Change effect and value of a rule that is there already
    #[arg(long, help_heading = "Change")]
    overwrite: bool,

    /// json and yaml print what was done as a ChangeReport, name the names of the rules, manifest the rules themselves
    #[arg(
        short,
        long,
        value_enum,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    output: Option<Printed>,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    safety: SafetyArgs,

    #[command(flatten)]
    version: VersionArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Announce maintenance: nothing happens yet but a count of whom it would hit
  kubectl devicetaint add gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance=firmware --reason 'firmware update' --expires 4h

  # Keep new pods off all devices of a pool
  kubectl devicetaint add 'gpu.example.com/node-7/*' \\
    example.com/maintenance:NoSchedule

  # As a manifest, to be kept with others
  kubectl devicetaint add gpu.example.com/node-7/gpu-0 \\
    example.com/maintenance:NoSchedule --dry-run -o manifest > rule.yaml

  # Evict at once, in a script, if it hits at most what the report says
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0 \\
    example.com/broken:NoExecute -o json > report.json
  kubectl devicetaint add gpu.example.com/node-7/gpu-0 \\
    example.com/broken:NoExecute --yes --expect report.json";

pub(super) async fn run(args: AddArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let drafts = args.drafts().await?;
    let safety = args.safety.prepare()?;
    let change = args.change.change();

    let scene = Scene::open(args.version.version(), context).await?;
    let look = &scene.look;
    let drafts = args.with_expiry(drafts, look.now)?;
    if !args.allow_missing {
        refuse_unknown_devices(&drafts, &scene)?;
    }
    let terms = Terms {
        existing: args.existing(),
        semantics: &look.semantics,
        now: look.now,
    };
    let steps = add(drafts.clone(), &existing(&drafts, &scene).await?, &terms)?;
    for note in steps.iter().flat_map(Step::notes) {
        context.printer.note(&note);
    }
    let lines = match args.output {
        Some(_) => Lines::Left,
        None => Lines::Printed,
    };
    let mut changer = Changer::new(&scene.rules, change, context).with_lines(lines);
    let done = match agree(&steps, &safety, &scene, context, change.dry_run).await {
        Ok(()) => args.carry_out(&steps, &terms, &mut changer, &scene).await,
        Err(failure) => {
            for step in steps.iter().filter(|step| step.is_open()) {
                changer.refuse(&step.draft().name, &failure);
            }
            Err(failure)
        }
    };
    let status = changer.status();
    changer.present(args.output.and_then(Printed::report))?;
    look.tell(&context.printer);
    if done.is_ok() && change.dry_run.is_real() && args.output.is_none() {
        context.printer.note(&next_line(&steps));
    }
    done.map(|()| status)
}

/// What comes next in the life of the rules.
fn next_line(steps: &[Step]) -> String {
    let names = steps.iter().map(|step| step.draft().name.as_str());
    let batch = steps.first().and_then(|step| {
        let key = RuleMetadata::BATCH;
        let value = step.draft().labels.get(key)?;
        Some(format!("-l {key}={value}"))
    });
    // A rule that was there may be in another batch.
    let are_new = steps.iter().all(|step| step.existing().is_none());
    let rules = match (steps, batch) {
        ([_, _, ..], Some(batch)) if are_new => batch,
        _ => names.collect::<Vec<_>>().join(" "),
    };
    let effect = steps.first().map(|step| &step.draft().taint.effect);
    after_add(&rules, effect.unwrap_or(&Effect::None))
}

/// The rules that are there under the names of the drafts. Who may not list rules can still look at
/// each.
async fn existing(drafts: &[RuleDraft], scene: &Scene) -> Result<Vec<DeviceTaintRule>, Failure> {
    match scene.look.rules() {
        Ok(rules) => Ok(rules.to_vec()),
        Err(_) => {
            let names: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
            by_name(&names, &scene.rules).await.map_err(failed)
        }
    }
}

/// Shows whom it hits and asks, if it can hit anybody.
async fn agree(
    steps: &[Step],
    safety: &Safety,
    scene: &Scene,
    context: &Context,
    dry_run: DryRun,
) -> Result<(), Failure> {
    let open: Vec<&Step> = steps.iter().filter(|step| step.is_open()).collect();
    let asks = open.iter().any(|step| step.does_something()) || !safety.guards.is_empty();
    if open.is_empty() || !asks {
        return Ok(());
    }
    let considered = steps.iter().map(|step| step.considered(scene.look.now));
    let considered: Vec<ConsideredTaint> = considered.collect();
    let report = scene.report(&considered, &safety.guards).await?;
    let done = steps.iter().filter(|step| !step.is_open());
    let done: Vec<String> = done.map(|step| step.draft().name.clone()).collect();
    let changed = open.iter().filter_map(|step| step.existing().cloned());
    let changed: Vec<DeviceTaintRule> = changed.collect();
    let mut concerns = foreign(&changed);
    concerns.extend(set_back(&changed));
    let wish = Wish {
        report: &report,
        deed: &deed(&open),
        done: &done,
        concerns: &concerns,
        considered: &considered,
    };
    safety.check(&wish, dry_run, context)
}

/// What is done, as the beginning of a question.
fn deed(open: &[&Step]) -> String {
    let Some(first) = open.first().map(|step| step.draft()) else {
        return "Go on".to_owned();
    };
    let (name, taint) = (&first.name, &first.taint);
    match (open, open.first().and_then(|step| step.existing())) {
        ([_], Some(_)) => format!("Change rule {name} to {taint}"),
        ([_], None) => format!("Add rule {name} with {taint}"),
        _ => format!("Add or change {} with {taint}", counted(open.len(), "rule")),
    }
}

fn refuse_unknown_devices(drafts: &[RuleDraft], scene: &Scene) -> Result<(), Failure> {
    let considered: Vec<ConsideredTaint> = drafts
        .iter()
        .map(|draft| {
            ConsideredTaint::hypothetical(
                draft.selector.clone(),
                draft.taint.clone(),
                scene.look.now,
            )
        })
        .collect();
    refuse_missing(&considered, &scene.look)
}

impl AddArgs {
    async fn carry_out(
        &self,
        steps: &[Step],
        terms: &Terms<'_>,
        changer: &mut Changer<'_>,
        scene: &Scene,
    ) -> Result<(), Failure> {
        if self.change.change().dry_run.mode().is_some() {
            changer.set_user(user_name(&scene.live.client).await);
        }
        if steps.len() > 1 {
            let rules = counted(steps.len(), "rule");
            changer
                .context()
                .printer
                .note(&format!("{rules}, one for each device or selector"));
        }
        let open = steps.iter().filter(|step| step.is_open());
        changer.plan(open.map(|step| step.draft().name.clone()));
        let mut objects = Vec::new();
        for step in steps {
            match changer.take(step, terms).await {
                Ok(object) => {
                    changer.is_now(&object);
                    objects.push(object);
                }
                Err(failure) => {
                    let (names, taint) = ([step.draft().name.clone()], &step.draft().taint);
                    let failure = match step.existing() {
                        Some(_) => scene.told_of_hits(failure, &names, &taint.effect).await,
                        None => failure,
                    };
                    return Err(stopped(failure, changer.context()));
                }
            }
        }
        if let Some(format) = self.output.and_then(Printed::rules) {
            let page = Page {
                format,
                width: None,
            };
            let rules = render(&ObjectList(objects), page)?;
            changer.context().printer.emit(&rules)?;
        }
        Ok(())
    }

    fn existing(&self) -> Existing {
        if self.overwrite {
            Existing::Overwritten
        } else {
            Existing::Kept
        }
    }

    /// The rules that are asked for; everything that can be wrong without a cluster is found here.
    async fn drafts(&self) -> Result<Vec<RuleDraft>, Failure> {
        let (selectors, taint) = self.targets()?;
        let drafts = if self.filename.is_empty() {
            let taint = taint.ok_or_else(|| {
                Failure::usage("no taint: with which are the devices tainted?").hint(
                    "write it as KEY[=VALUE][:EFFECT], such as example.com/maintenance=firmware",
                )
            })?;
            self.by_selectors(&selectors, &taint)?
        } else {
            if !selectors.is_empty() || taint.is_some() {
                return Err(Failure::usage(
                    "devices and taints cannot be used together with --filename",
                ));
            }
            self.by_manifests().await?
        };
        let names: BTreeSet<&str> = drafts.iter().map(|draft| draft.name.as_str()).collect();
        if names.len() < drafts.len() {
            return Err(Failure::usage("two rules have the same name"));
        }
        Ok(drafts)
    }

    fn targets(&self) -> Result<(Vec<DeviceSelector>, Option<Taint>), Failure> {
        if let Some(target) = self
            .targets
            .iter()
            .find(|target| TaintPattern::parse(target).is_some())
        {
            return Err(Failure::usage(format!("{target:?} takes a taint away"))
                .hint("that is what `kubectl devicetaint remove` does"));
        }
        let named: Vec<DeviceSelector> = self.selector.selector()?.into_iter().collect();
        let Targets {
            mut selectors,
            mut taints,
        } = self.read_targets(&named)?;
        if let [first, second, ..] = taints.as_slice() {
            return Err(Failure::usage(format!(
                "more than one taint: {first} and {second}"
            )));
        }
        selectors.extend(named);
        if self.all_devices {
            if !selectors.is_empty() {
                return Err(Failure::usage("--all-devices leaves nothing to be named"));
            }
            selectors.push(DeviceSelector::default());
        }
        let mut seen = Vec::new();
        selectors.retain(|selector| {
            let news = !seen.contains(selector);
            seen.push(selector.clone());
            news
        });
        Ok((selectors, taints.pop()))
    }

    fn read_targets(&self, named: &[DeviceSelector]) -> Result<Targets, Failure> {
        let mut beside = named.to_vec();
        beside.extend(self.all_devices.then(DeviceSelector::default));
        Targets::parse(&self.targets, &beside, &Effect::None)
            .map_err(|error| self.not_a_device(error))
    }

    fn not_a_device(&self, error: NamingError) -> Failure {
        let hint = match &error {
            NamingError::TwoSegments { argument, .. } => {
                Some(format!("a taint without value is written {argument}:None"))
            }
            NamingError::EmptySegment { .. }
            | NamingError::Everything { .. }
            | NamingError::Invalid { .. }
            | NamingError::NoEffect { .. }
            | NamingError::UnknownEffect { .. } => None,
        };
        let failure = wrong_name(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    fn by_selectors(
        &self,
        selectors: &[DeviceSelector],
        taint: &Taint,
    ) -> Result<Vec<RuleDraft>, Failure> {
        if selectors.is_empty() {
            return Err(Failure::usage("no devices: which are tainted?")
                .hint("name devices as DRIVER/POOL/DEVICE, or list them with `kubectl devicetaint devices`"));
        }
        if self.name.is_some() && selectors.len() > 1 {
            return Err(Failure::usage(
                "--name is for one rule, and these would be several",
            ));
        }
        if let Some(name) = &self.name {
            validate::rule(name).map_err(wrong_name)?;
        }
        let batch = rule::batch(selectors, taint);
        let drafts = selectors.iter().map(|selector| RuleDraft {
            name: self
                .name
                .clone()
                .unwrap_or_else(|| rule::name(selector, &taint.key)),
            selector: selector.clone(),
            taint: taint.clone(),
            labels: self.all_labels(&batch),
            annotations: self.annotations(),
            manifest: None,
        });
        Ok(drafts.collect())
    }

    async fn by_manifests(&self) -> Result<Vec<RuleDraft>, Failure> {
        let manifests = source::manifests(&self.filename).await?;
        if self.name.is_some() {
            return Err(Failure::usage(
                "--name cannot be used together with --filename, which names its rules",
            ));
        }
        let mut drafts = Vec::new();
        for (manifest, written) in manifests {
            let Some(selector) = manifest.selector.clone() else {
                return Err(wide(&manifest, "has no spec.deviceSelector"));
            };
            if selector == DeviceSelector::default() {
                return Err(wide(
                    &manifest,
                    "has an empty spec.deviceSelector: it would taint every device",
                ));
            }
            let batch = rule::batch(std::slice::from_ref(&selector), &manifest.taint);
            let mut labels = manifest.metadata.labels.clone();
            labels.extend(self.all_labels(&batch));
            let mut annotations = manifest.metadata.annotations.clone();
            annotations.extend(self.annotations());
            drafts.push(RuleDraft {
                name: manifest.name.to_string(),
                selector,
                taint: manifest.taint,
                labels,
                annotations,
                manifest: Some(written),
            });
        }
        Ok(drafts)
    }

    fn all_labels(&self, batch: &str) -> BTreeMap<String, String> {
        let mut labels: BTreeMap<String, String> = self.labels.iter().cloned().collect();
        labels.insert(
            RuleMetadata::MANAGED_BY.to_owned(),
            RuleMetadata::THIS_PROGRAM.to_owned(),
        );
        labels.insert(RuleMetadata::BATCH.to_owned(), batch.to_owned());
        labels
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let given = [
            (RuleMetadata::REASON, &self.reason),
            (RuleMetadata::TICKET, &self.ticket),
        ];
        given
            .into_iter()
            .filter_map(|(key, text)| Some((key.to_owned(), text.clone()?)))
            .collect()
    }

    /// The drafts with the time when they should be gone, by the server's clock.
    fn with_expiry(
        &self,
        drafts: Vec<RuleDraft>,
        now: Timestamp,
    ) -> Result<Vec<RuleDraft>, Failure> {
        let Some(expiry) = &self.expires else {
            return Ok(drafts);
        };
        let at = expiry.resolve(now).map_err(wrong_name)?;
        let dated = |mut draft: RuleDraft| {
            let key = RuleMetadata::EXPIRES.to_owned();
            draft.annotations.insert(key, at.to_string());
            draft
        };
        Ok(drafts.into_iter().map(dated).collect())
    }
}
