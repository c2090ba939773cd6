//! `preview`: who would be hit, when, and how badly.

use std::path::PathBuf;

use super::context::Context;
use super::flags::devices::{SelectorArgs, wrong_name};
use super::flags::guards;
use super::flags::output::OutputArgs;
use super::flags::publish::PublishArgs;
use super::flags::source::SourceArgs;
use super::signal::Signals;
use super::work::choice::{refuse_missing, wide};
use super::work::look::Look;
use super::work::publish::{self, Publication};
use super::work::source;
use crate::engine::{ConsideredTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceSelector, DeviceTaintRule, Taint, Warning};
use crate::naming::{Argument, taint};
use crate::render::{Page, render, unsaid};
use crate::report::{Guard, ImpactReport};

/// Show which pods a taint would evict, and when
///
/// Reads only, except with --publish. The taint is either one that does not exist yet (DEVICE and TAINT), or that of a rule
/// (--rule, -f). Its effect is taken as NoExecute unless it says NoSchedule, as the controller does
/// when it previews a rule with effect None.
///
/// DEVICE is DRIVER/POOL/DEVICE with * for any, or the name of a driver. TAINT is
/// KEY[=VALUE]:EFFECT; an argument with = or : is a taint.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct PreviewArgs {
    /// Devices, as DRIVER/POOL/DEVICE with * for any; and at most one taint, as KEY[=VALUE]:EFFECT
    #[arg(value_name = "DEVICE|TAINT")]
    targets: Vec<String>,

    #[command(flatten)]
    selector: SelectorArgs,

    /// Every device of every driver
    #[arg(long, help_heading = "Devices")]
    all_devices: bool,

    /// Rule that exists, by name; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Devices")]
    rule: Vec<String>,

    /// DeviceTaintRule manifest, as YAML or JSON; `-` reads stdin; repeatable
    #[arg(short, long, value_name = "FILENAME", help_heading = "Devices")]
    filename: Vec<PathBuf>,

    /// Accept names that match no device
    #[arg(long, help_heading = "Devices")]
    allow_missing: bool,

    /// Exit with code 4 when this holds, such as 'pods.evicted>20'; repeatable; see `help guards`
    #[arg(long, value_name = "GUARD", help_heading = "Guards")]
    abort_if: Vec<String>,

    #[command(flatten)]
    publish: PublishArgs,

    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const EXAMPLES: &str = "\
Examples:
  # Who would be evicted if this device were tainted NoExecute?
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0

  # A named taint, which some pods may tolerate, on all devices of a node's pool
  kubectl devicetaint preview 'gpu.example.com/node-7/*' \\
    example.com/maintenance=firmware:NoExecute

  # The same, and what the controller itself says; nothing stays behind
  kubectl devicetaint preview 'gpu.example.com/node-7/*' \\
    example.com/maintenance:NoExecute --publish --cleanup

  # The pods that would be evicted, as kubectl takes them
  kubectl devicetaint preview gpu.example.com/node-7/gpu-0 -o name \\
    | xargs -L1 kubectl get

  # What if this existing rule were escalated? Stop a script above 20 pods
  kubectl devicetaint preview --rule drain-node-7 --abort-if 'pods.evicted>20'";

/// The key of a taint that nobody has named.
const DEFAULT_TAINT: &str = "kubectl-devicetaint/preview:NoExecute";

/// What a preview is asked about, before anything was read.
#[derive(Debug)]
struct Request {
    selectors: Vec<DeviceSelector>,
    taint: Option<Taint>,
    rules: Vec<String>,
    manifests: Vec<DeviceTaintRule>,
}

/// What was asked, what was found, and the answer.
struct Answer {
    look: Look,
    considered: Vec<ConsideredTaint>,
    report: ImpactReport,
}

pub(super) async fn run(args: PreviewArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let request = args.request()?;
    let guards = guards::parse(&args.abort_if)?;
    let answer = look(&request, &args, &guards, context).await?;
    // A tripped guard changes nothing.
    let Some(live) = answer
        .look
        .live()
        .filter(|_| args.publish.publish && !answer.report.is_refused())
    else {
        let Answer { look, report, .. } = answer;
        look.tell(&context.printer);
        // Nobody needs both a large cluster and a long text about it in memory.
        drop(look);
        return present(&report, &args.output, context);
    };

    let publication = Publication::new(live, &answer.considered, &answer.look.semantics)?;
    let signals = Signals::listen();
    let compared = tokio::select! {
        compared = compare(&publication, answer, || look(&request, &args, &guards, context)) => compared,
        status = signals.received() => Err(publish::interrupted(status)),
    };
    let left = if args.publish.cleanup {
        publication.clean_up().await
    } else {
        publication.tell_what_stays(&context.printer);
        Ok(())
    };
    let answer = compared?;
    answer.look.tell(&context.printer);
    let status = present(&answer.report, &args.output, context)?;
    left?;
    publish::check(&answer.report)?;
    Ok(status)
}

/// The answer with what the controller says.
///
/// The controller previews a rule once, perhaps before it has seen the newest pods and claims, and
/// the cluster may have changed since it was read. So what differs is asked for anew, once.
async fn compare(
    publication: &Publication,
    first: Answer,
    look: impl AsyncFn() -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let mut answer = first;
    answer.report.published = publication.ask(&answer.report).await?;
    if answer
        .report
        .published
        .iter()
        .any(|rule| rule.agrees == Some(false))
    {
        publication.clean_up().await?;
        answer = look().await?;
        answer.report.published = publication.ask(&answer.report).await?;
    }
    Ok(answer)
}

/// Reads what the question needs, and answers it.
async fn look(
    request: &Request,
    args: &PreviewArgs,
    guards: &[Guard],
    context: &Context,
) -> Result<Answer, Failure> {
    let mut look = Look::open(&args.source.source(), context).await?;
    request.refuse_wide_manifests(&look.semantics)?;
    let considered = request.considered(&look)?;
    if !args.allow_missing {
        refuse_missing(&considered, &look)?;
    }
    look.reading.warnings.extend(request.warning());
    let look = look.with_pods_for(&considered, guards).await?;
    let report = look.report(&considered, guards);
    Ok(Answer {
        look,
        considered,
        report,
    })
}

fn present(
    report: &ImpactReport,
    output: &OutputArgs,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    for warning in &report.warnings {
        context.printer.warn(&warning.line());
    }
    let page = Page {
        format: output.output,
        width: context.width,
    };
    context.printer.emit(&render(report, page)?)?;
    if let Some(refusal) = report.refusal() {
        return Err(Failure::refused(refusal));
    }
    output.accept(&report.incomplete, &unsaid(report, output.output))
}

impl PreviewArgs {
    /// Whether rules are created, so that somebody has to remove them again.
    pub(super) fn publishes(&self) -> bool {
        self.publish.publish
    }

    /// What is asked; everything that can be wrong without reading a cluster is found here.
    fn request(&self) -> Result<Request, Failure> {
        let mut selectors = Vec::new();
        let mut taints = Vec::new();
        for target in &self.targets {
            match Argument::parse(target).map_err(wrong_name)? {
                Argument::Devices(selector) if !selectors.contains(&selector) => {
                    selectors.push(selector)
                }
                Argument::Devices(_) => {}
                Argument::Taint(taint) => taints.push(taint),
            }
        }
        if taints.len() > 1 {
            return Err(Failure::usage(format!(
                "more than one taint: {} and {}",
                taints[0], taints[1]
            )));
        }
        let mut ways = Vec::new();
        if !selectors.is_empty() {
            ways.push("DEVICE");
        }
        if let Some(selector) = self.selector.selector()? {
            selectors.push(selector);
            ways.push("--driver, --pool, --device");
        }
        if self.all_devices {
            selectors.push(DeviceSelector::default());
            ways.push("--all-devices");
        }
        if !self.rule.is_empty() {
            ways.push("--rule");
        }
        if !self.filename.is_empty() {
            ways.push("--filename");
        }
        check_ways(&ways)?;
        if selectors.is_empty() && !taints.is_empty() {
            return Err(Failure::usage(format!(
                "a taint cannot be given beside {}, which has its own",
                ways[0]
            )));
        }
        Ok(Request {
            selectors,
            taint: taints.pop(),
            rules: self.rule.clone(),
            manifests: source::rules(&self.filename)?,
        })
    }
}

fn check_ways(ways: &[&str]) -> Result<(), Failure> {
    match ways {
        [] => Err(Failure::usage("no devices: whom would it hit?")
            .hint("name devices as DRIVER/POOL/DEVICE, or a rule with --rule or --filename")
            .hint("list what there is with `kubectl devicetaint devices`")),
        [_] => Ok(()),
        [first, second, ..] => Err(Failure::usage(format!(
            "{first} cannot be used together with {second}"
        ))),
    }
}

impl Request {
    fn considered(&self, look: &Look) -> Result<Vec<ConsideredTaint>, Failure> {
        let hypothetical = self.taint()?;
        let mut considered: Vec<ConsideredTaint> = self
            .selectors
            .iter()
            .map(|selector| {
                ConsideredTaint::hypothetical(selector.clone(), hypothetical.clone(), look.now)
            })
            .collect();
        for name in &self.rules {
            considered.push(ConsideredTaint::of_rule(look.rule(name)?, look.now));
        }
        for manifest in &self.manifests {
            let snapshot = look.snapshot();
            considered.push(ConsideredTaint::of_manifest(manifest, snapshot, look.now));
        }
        Ok(considered)
    }

    fn taint(&self) -> Result<Taint, Failure> {
        match &self.taint {
            Some(taint) => Ok(taint.clone()),
            None => taint::parse(DEFAULT_TAINT).map_err(wrong_name),
        }
    }

    /// Nobody has named the taint, so that only blanket tolerations can cover it.
    fn warning(&self) -> Option<Warning> {
        (self.taint.is_none() && !self.selectors.is_empty()).then(|| Warning {
            code: "unnamed-taint",
            message: "no taint was given: only tolerations of every key tolerate this one"
                .to_owned(),
            fix: Some("name the taint, which may spare more pods".to_owned()),
        })
    }

    /// A manifest that taints every device, or would on a server that drops fields it does not know.
    fn refuse_wide_manifests(&self, semantics: &Semantics) -> Result<(), Failure> {
        for manifest in &self.manifests {
            let Some(selector) = &manifest.selector else {
                return Err(wide(manifest, "has no spec.deviceSelector"));
            };
            let by_name =
                selector.driver.is_some() || selector.pool.is_some() || selector.device.is_some();
            let narrowed = selector.device_class.is_some() || !selector.expressions.is_empty();
            if by_name || (narrowed && semantics.selects_by_expression) {
                continue;
            }
            return Err(wide(
                manifest,
                if narrowed {
                    "selects only by deviceClassName or selectors, which Kubernetes 1.35 and later drop: it would taint every device"
                } else {
                    "has an empty spec.deviceSelector: it would taint every device"
                },
            ));
        }
        Ok(())
    }
}
