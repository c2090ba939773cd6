//! `dedicate list` and `dedicate describe`: who has what, and whether others are kept out.

use super::context::Context;
use super::flags::output::PageArgs;
use super::work::cluster_view::ClusterView;
use super::work::connect::connect;
use super::work::policies::PolicyObjects;
use super::work::present::present;
use crate::cluster::Detail;
use crate::decide::choice::no_such_dedication;
use crate::decide::dedication::{
    KnownNamespaces, Policies, members_of_rules, names, state, unreadable,
};
use crate::error::{ExitStatus, Failure};
use crate::model::{Gap, Kind};
use crate::naming::phrase::few;
use crate::report::dedication_state::reported;
use crate::report::dedications::{DedicationList, Extent};
use crate::report::metadata::{Affects, Incomplete, Metadata, Warning};

/// List dedications, and whether they are enforced
///
/// A dedication reserves devices for the claims of some namespaces (see `dedicate`). OTHERS counts devices of the
/// dedication that are still allocated to claims in other namespaces.
///
/// ENFORCED has one of these values:
///
/// `yes`: all admission policies of the dedication and their bindings exist and are unmodified, and all
/// DeviceTaintRules of the dedication have the effect that `dedicate` set.
///
/// `taint-only`: the dedication has DeviceTaintRules, but no admission policies.
///
/// `unknown`: an admission policy or binding could not be read.
///
/// `no`: none of the above.
#[derive(clap::Args, Debug)]
pub(super) struct ListArgs {
    #[command(flatten)]
    output: PageArgs,
}

/// Show dedications with their admission policies, devices and claims
///
/// A dedication consists of rules that taint devices and, by default, of admission policies that allow only the claims
/// of some namespaces to tolerate this taint. The command also shows:
///
/// - whether the admission policies were modified, and which of their fields differ
///
/// - claims that do not tolerate the taint, although they are in the namespaces of the dedication: for example, claims
///   that were created before the admission policies, which add the toleration to new claims
///
/// - claims in other namespaces that tolerate the taint
#[derive(clap::Args, Debug)]
pub(super) struct DescribeArgs {
    /// Names of dedications
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    #[command(flatten)]
    output: PageArgs,
}

/// What there is.
struct DedicationView {
    view: ClusterView,
    policies: Policies,
    namespaces: KnownNamespaces,
}

pub(super) async fn list(args: ListArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let view = Box::pin(DedicationView::open(context)).await?;
    let names: Vec<String> = view.names()?;
    let answer = view.answer(&names, Extent::Row)?;
    present(
        &answer,
        view.view.view_warnings(),
        args.output.wanted(),
        context,
    )
}

pub(super) async fn describe(args: DescribeArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let view = Box::pin(DedicationView::open(context)).await?;
    let known = view.names()?;
    if let Some(name) = args.names.iter().find(|name| !known.contains(name)) {
        let failure = no_such_dedication(name, known.iter().cloned());
        // One of which nothing could be read may be there.
        return Err(view
            .policies
            .unread()
            .fold(failure, |failure, (kind, why)| {
                failure.detail(format!("{} could not be read: {why}", kind.plural()))
            }));
    }
    let answer = view.answer(&args.names, Extent::Whole)?;
    present(
        &answer,
        view.view.view_warnings(),
        args.output.wanted(),
        context,
    )
}

impl DedicationView {
    async fn open(context: &Context) -> Result<Self, Failure> {
        let live = connect(context).await?;
        let view = ClusterView::of(live.clone(), Detail::Terms).await?;
        let view = view.with_templates().await?;
        let objects = PolicyObjects::of(&live).await?;
        let policies = objects.all().await?;
        let namespaces = objects.namespaces().await?;
        Ok(Self {
            view,
            policies,
            namespaces,
        })
    }

    fn names(&self) -> Result<Vec<String>, Failure> {
        Ok(names(self.view.rules()?, &self.policies)
            .into_iter()
            .collect())
    }

    fn answer(&self, names: &[String], extent: Extent) -> Result<DedicationList, Failure> {
        let basis = self.view.device_basis();
        let rules = self.view.rules()?;
        let mut warnings: Vec<Warning> = Vec::new();
        let dedications = names.iter().map(|name| {
            let of_dedication: Vec<_> = members_of_rules(name, rules).cloned().collect();
            warnings.extend(
                self.view
                    .identity_warnings(&of_dedication)
                    .iter()
                    .map(Warning::from),
            );
            reported(&state(name, &basis, &self.policies, &self.namespaces))
        });
        let dedications = dedications.collect();
        let list = DedicationList::new(dedications, Metadata::new(&basis), extent);
        Ok(list.with(warnings, self.incomplete()))
    }

    /// What could not be read, and what could not be understood.
    fn incomplete(&self) -> Vec<Incomplete> {
        let detail = |what: &str, why: String| Incomplete {
            missing: what.to_owned(),
            message: why,
            affects: Affects::Details,
        };
        let gap = |gap: &Gap| detail(&gap.what, gap.why.clone());
        let reading = &self.view.reading;
        let mut incomplete: Vec<Incomplete> = reading.gaps.iter().map(gap).collect();
        let policies = self.policies.unread();
        incomplete.extend(
            policies.map(|(kind, why)| detail(kind.plural(), format!("{why}: {}", kind.without()))),
        );
        if let KnownNamespaces::Unread(why) = &self.namespaces {
            let kind = Kind::NamespaceObject;
            incomplete.push(detail(kind.plural(), format!("{why}: {}", kind.without())));
        }
        incomplete.extend(not_understood(reading));
        incomplete
    }
}

/// The claims and templates of which it is not known what they tolerate, as a part of an answer that is
/// missing.
pub(super) fn not_understood(reading: &crate::model::Reading) -> Option<Incomplete> {
    let unknown: Vec<String> = unreadable(&reading.snapshot)
        .iter()
        .map(ToString::to_string)
        .collect();
    (!unknown.is_empty()).then(|| Incomplete {
        missing: "tolerations".to_owned(),
        message: format!(
            "the tolerations of some claims or templates are unknown: {}",
            few(&unknown)
        ),
        affects: Affects::Details,
    })
}
