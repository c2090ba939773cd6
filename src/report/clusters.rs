//! Reports of several clusters, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::{Answer, beside};
use super::devices::DeviceReport;
use super::guard::{self, GuardResult};
use super::impact::ImpactReport;
use super::metadata::{API_VERSION, Affects, Incomplete, Metadata, Warning};
use super::rule_summary::RuleSummary;
use super::table::{
    Body, Chart, Column, Folding, Group, Grouped, Heading, Section, Shown, Table, Tone, View,
};
use crate::assess::{Guard, GuardOutcome};
use crate::naming::shell::word;

/// Report of `preview`, `devices` or `list` for several clusters: the report of each cluster.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClusterReportList")]
pub struct ClusterReports<A> {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "ClusterReportList"))]
    pub kind: String,
    /// Metadata of the list: `context`, `server` and `serverVersion` are null. Each ImpactReport or DeviceList in
    /// `items` has the metadata of its cluster.
    pub metadata: Metadata,
    /// The clusters, in the order of the --context flags or, with --contexts, of the kubeconfig.
    pub items: Vec<ClusterReport<A>>,
    /// The guards for all clusters together, and whether each tripped. The guards for a single cluster are in
    /// the report of that cluster.
    pub guard_results: Vec<GuardResult>,
    /// Warnings that do not prevent the report. Each `message` begins with the kubeconfig context of the cluster.
    pub warnings: Vec<Warning>,
    /// Data that could not be read or evaluated. In the entry for a cluster without a report, `missing` is `cluster of
    /// context CONTEXT`. In all other entries, `missing` begins with the kubeconfig context of the cluster.
    pub incomplete: Vec<Incomplete>,
    /// What became of the limits, for words and decisions.
    #[serde(skip)]
    together: Vec<GuardOutcome>,
}

/// The result of one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReport<A> {
    /// Name of the cluster's kubeconfig context.
    pub context: String,
    /// The report of the cluster, as printed for a single cluster; null if `error` is set.
    pub report: Option<A>,
    /// Why there is no report of the cluster, as text; null if there is one.
    pub error: Option<String>,
}

/// The report of one cluster: an ImpactReport (`preview`), a DeviceList (`devices`), or a List of rules with
/// ruleSummaries (`list`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AnyReport {
    /// Of `preview`.
    Impact(Box<ImpactReport>),
    /// Of `devices`.
    Devices(Box<DeviceReport>),
    /// Of `list`: the rules as they are served.
    Rules(ObjectsAsServed),
}

/// The rules, as `kubectl get -o json` prints them, with their counts in ruleSummaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectsAsServed {
    /// Always `v1`.
    #[schemars(extend("const" = "v1"))]
    pub api_version: String,
    /// Always `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: String,
    /// The rules, with all their fields.
    pub items: Vec<Value>,
    /// Device counts, pod counts and eviction status of each rule, in the order of `items`.
    #[serde(default)]
    pub rule_summaries: Vec<RuleSummary>,
}

impl<A: Answer> ClusterReports<A> {
    /// The answers of these clusters.
    #[must_use]
    pub fn new(clusters: Vec<ClusterReport<A>>) -> Self {
        let warnings = clusters.iter().flat_map(ClusterReport::warnings).collect();
        let incomplete = clusters.iter().flat_map(ClusterReport::incomplete);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ClusterReportList".to_owned(),
            metadata: Metadata::default(),
            incomplete: incomplete.collect(),
            items: clusters,
            guard_results: Vec::new(),
            together: Vec::new(),
            warnings,
        }
    }

    /// The answers with what becomes of the guards for all clusters together; `of` finds what became of
    /// them in one.
    #[must_use]
    pub fn with_guards(self, guards: &[Guard], of: impl Fn(&A) -> &[GuardOutcome]) -> Self {
        let together = guards.iter().enumerate().map(|(place, guard)| {
            // A cluster without a report counts as unknown: left out, it would add nothing, and trip no guard.
            let parts = self.items.iter().map(|cluster| {
                let results = cluster.report.as_ref().map(&of);
                let result = results.and_then(|results| results.get(place));
                (cluster.context.as_str(), result)
            });
            guard.together(&parts.collect::<Vec<_>>())
        });
        let together: Vec<GuardOutcome> = together.collect();
        Self {
            guard_results: together.iter().map(GuardResult::from).collect(),
            together,
            ..self
        }
    }

    fn reports(&self) -> impl Iterator<Item = (&str, &A)> {
        let clusters = self.items.iter();
        clusters.filter_map(|cluster| Some((cluster.context.as_str(), cluster.report.as_ref()?)))
    }
}

impl<A: Answer> ClusterReport<A> {
    fn warnings(&self) -> Vec<Warning> {
        let warnings = self.report.iter().flat_map(|report| report.warnings());
        warnings
            .map(|warning| Warning {
                message: format!("{}: {}", self.context, warning.message),
                ..warning.clone()
            })
            .collect()
    }

    fn incomplete(&self) -> Vec<Incomplete> {
        let gaps = self
            .report
            .iter()
            .flat_map(|report| report.incomplete())
            .map(|gap| Incomplete {
                missing: format!("{}: {}", self.context, gap.missing),
                ..gap.clone()
            });
        gaps.chain(self.absence()).collect()
    }

    /// That there is no answer at all.
    fn absence(&self) -> Option<Incomplete> {
        let error = self.error.as_ref()?;
        Some(Incomplete {
            missing: format!("cluster of context {}", self.context),
            message: error.clone(),
            // Everything is missing of that cluster, and so also who is evicted there.
            affects: Affects::Evictions,
        })
    }
}

impl<A: Answer> Answer for ClusterReports<A> {
    fn unanswered(&self) -> Vec<&str> {
        let clusters = self.items.iter();
        let silent = clusters.filter(|cluster| cluster.report.is_none());
        silent.map(|cluster| cluster.context.as_str()).collect()
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn says_what_is_not_known(&self) -> bool {
        self.reports()
            .all(|(_, report)| report.says_what_is_not_known())
    }

    /// A guard that trips in one cluster, or for all of them together.
    fn refusal(&self) -> Option<String> {
        let alone = self
            .reports()
            .filter_map(|(context, report)| Some(format!("{context}: {}", report.refusal()?)));
        let together: Vec<String> = self
            .together
            .iter()
            .filter(|guard| guard.tripped)
            .map(GuardOutcome::reason)
            .collect();
        let together = (!together.is_empty()).then(|| {
            format!(
                "guard tripped for the total of all clusters: {}",
                together.join("; ")
            )
        });
        let reasons: Vec<String> = alone.chain(together).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn is_empty(&self) -> bool {
        // A cluster that gave no answer is not empty: "No resources found" would be untrue of it.
        let mut clusters = self.items.iter();
        clusters.all(|cluster| cluster.report.as_ref().is_some_and(Answer::is_empty))
    }

    fn empty_contexts(&self) -> Vec<&str> {
        let clusters = self.items.iter();
        let empty =
            clusters.filter(|cluster| cluster.report.as_ref().is_some_and(Answer::is_empty));
        empty.map(|cluster| cluster.context.as_str()).collect()
    }
}

impl<A: Answer> View for ClusterReports<A> {
    /// The sections of all reports, each together with its like, and the context before every row and
    /// every line.
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for (context, report) in self.reports() {
            for section in report.sections() {
                let section = of_context(context, section);
                match sections.iter_mut().find(|other| is_like(other, &section)) {
                    Some(like) => append(like, section),
                    None => sections.push(section),
                }
            }
        }
        let mut add =
            |section: Section| match sections.iter_mut().find(|other| is_like(other, &section)) {
                Some(like) => append(like, section),
                None => sections.push(section),
            };
        for section in guard::sections(&self.together) {
            add(of_context("total of all clusters", section));
        }
        let absent: Vec<Incomplete> = self
            .items
            .iter()
            .filter_map(ClusterReport::absence)
            .collect();
        if self.says_what_is_not_known() {
            add(
                Section::list("Incomplete", absent.iter().map(Incomplete::line).collect())
                    .shown(Shown::Unpaged),
            );
        }
        // A cluster that gave no answer comes first, lest the others are taken for the whole.
        let [_, missing] = beside(&[], &absent);
        if !absent.is_empty() {
            sections.insert(0, missing);
        }
        sections
    }

    /// Names as they are printed of one cluster, with the context as kubectl takes it.
    fn names(&self) -> Vec<String> {
        let names = self.reports().flat_map(|(context, report)| {
            let names = report.names().into_iter();
            names.map(move |name| format!("{name} --context {}", word(context)))
        });
        names.collect()
    }

    fn heading(&self) -> Heading {
        let headings: Vec<(&str, Heading)> = self
            .reports()
            .map(|(context, report)| (context, report.heading()))
            .collect();
        let title = headings.first();
        let title = title.map_or("No cluster responded", |(_, heading)| {
            heading.title.as_str()
        });
        let origin = headings.iter().flat_map(|(context, heading)| {
            let facts = heading.origin.iter();
            facts.map(move |fact| format!("{context}: {fact}"))
        });
        Heading {
            title: title.to_owned(),
            origin: origin.collect(),
        }
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        let first = self.reports().next();
        first.map_or(&[], |(_, report)| report.tones())
    }

    fn missing_from_names(&self) -> Vec<String> {
        let missing = self.reports().flat_map(|(context, report)| {
            let missing = report.missing_from_names().into_iter();
            missing.map(move |line| format!("{context}: {line}"))
        });
        let absent = self.items.iter().filter_map(ClusterReport::absence);
        missing.chain(absent.map(|gap| gap.line())).collect()
    }
}

/// The section with the context before each of its rows or lines.
fn of_context(context: &str, section: Section) -> Section {
    let marked = |lines: Vec<String>| {
        let lines = lines.into_iter();
        lines.map(|line| format!("{context}: {line}")).collect()
    };
    let body = match section.body {
        Body::Sentences(lines) => Body::Sentences(marked(lines)),
        Body::List(lines) => Body::List(marked(lines)),
        Body::Table(table) => Body::Table(with_column(context, table)),
        Body::Chain(mut lines) => {
            // The lines below follow from this one, and are of the same cluster.
            for line in lines.iter_mut().filter(|line| line.depth == 0) {
                line.text = format!("{context}: {}", line.text);
            }
            Body::Chain(lines)
        }
        Body::Grouped(grouped) => Body::Grouped(Grouped {
            table: with_column(context, grouped.table),
            groups: grouped
                .groups
                .into_iter()
                .map(|group| Group {
                    title: format!("{context}: {}", group.title),
                    ..group
                })
                .collect(),
            head: behind_the_context(&grouped.head),
            // The context has become the first column, which moves all places by one.
            by: grouped.by.saturating_add(1),
        }),
        Body::Folding(folding) => Body::Folding(Folding {
            table: with_column(context, folding.table),
            head: behind_the_context(&folding.head),
        }),
        // One picture is of one cluster.
        Body::Charts(charts) => Body::Charts(
            charts
                .into_iter()
                .map(|chart| Chart {
                    note: format!("{context}: {}", chart.note),
                    ..chart
                })
                .collect(),
        ),
        Body::Facts(facts) => Body::Table(with_column(context, as_row(facts))),
    };
    Section { body, ..section }
}

/// These places, behind the column that stands before all, which is one of them.
fn behind_the_context(head: &[usize]) -> Vec<usize> {
    let places = head.iter().map(|place| place.saturating_add(1));
    [0].into_iter().chain(places).collect()
}

/// The facts as the only row of a table, to stand below those of other clusters.
fn as_row(facts: Vec<(&'static str, String)>) -> Table {
    let (names, row): (Vec<_>, Vec<_>) = facts.into_iter().unzip();
    Table {
        columns: names.into_iter().map(Column::text).collect(),
        rows: vec![row],
    }
}

fn with_column(context: &str, table: Table) -> Table {
    let has_headers = table.columns.iter().any(|column| !column.header.is_empty());
    // With --no-headers every header is empty; one alone would bring back the line that scripts did not ask for.
    let header = if has_headers { "CONTEXT" } else { "" };
    let mut columns = vec![Column::text(header)];
    columns.extend(table.columns);
    let rows = table.rows.into_iter().map(|row| {
        let mut cells = vec![context.to_owned()];
        cells.extend(row);
        cells
    });
    Table {
        columns,
        rows: rows.collect(),
    }
}

/// Whether two sections say the same of different clusters.
fn is_like(one: &Section, other: &Section) -> bool {
    let same_body = match (&one.body, &other.body) {
        (Body::Sentences(_), Body::Sentences(_))
        | (Body::List(_), Body::List(_))
        | (Body::Chain(_), Body::Chain(_))
        | (Body::Charts(_), Body::Charts(_)) => true,
        // Some columns are there only if there is something in them, and rows of one table need the same cells.
        (Body::Table(one), Body::Table(other)) => one.columns == other.columns,
        (Body::Grouped(one), Body::Grouped(other)) => one.table.columns == other.table.columns,
        (Body::Folding(one), Body::Folding(other)) => one.table.columns == other.table.columns,
        (
            Body::Sentences(_)
            | Body::List(_)
            | Body::Table(_)
            | Body::Grouped(_)
            | Body::Folding(_)
            | Body::Chain(_)
            | Body::Facts(_)
            | Body::Charts(_),
            _,
        ) => false,
    };
    one.title == other.title && one.shown == other.shown && same_body
}

/// Adds what another cluster says; what is worse stands out.
fn append(section: &mut Section, more: Section) {
    section.tone = section.tone.max(more.tone);
    match (&mut section.body, more.body) {
        (Body::Sentences(lines), Body::Sentences(more)) | (Body::List(lines), Body::List(more)) => {
            lines.extend(more)
        }
        (Body::Chain(lines), Body::Chain(more)) => lines.extend(more),
        (Body::Table(table), Body::Table(more)) => table.rows.extend(more.rows),
        (Body::Grouped(grouped), Body::Grouped(more)) => {
            grouped.table.rows.extend(more.table.rows);
            grouped.groups.extend(more.groups);
        }
        (Body::Folding(folding), Body::Folding(more)) => folding.table.rows.extend(more.table.rows),
        (Body::Charts(charts), Body::Charts(more)) => charts.extend(more),
        (
            Body::Sentences(_)
            | Body::List(_)
            | Body::Table(_)
            | Body::Grouped(_)
            | Body::Folding(_)
            | Body::Chain(_)
            | Body::Facts(_)
            | Body::Charts(_),
            _,
        ) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Limits;
    use crate::render::{Format, Page, render};
    use crate::report::testing::Example;

    fn of(context: &str, report: Option<ImpactReport>) -> ClusterReport<ImpactReport> {
        let error = report.is_none().then(|| "cannot reach it".to_owned());
        ClusterReport {
            context: context.to_owned(),
            report,
            error,
        }
    }

    fn shown(reports: &ClusterReports<ImpactReport>, format: Format) -> String {
        let page = Page {
            format,
            width: None,
            height: None,
        };
        render(reports, page).unwrap()
    }

    #[test]
    fn a_page_begins_with_the_clusters_that_gave_no_answer() {
        let report = Example::new().report();
        let reports = ClusterReports::new(vec![of("east", Some(report)), of("west", None)]);
        let page = shown(&reports, Format::Html);
        let (_, first) = page.split_once("<main>").unwrap();
        let place = first.find("cluster of context west");
        assert!(place.is_some() && place < first.find("3 pods in"), "{page}");
        let nobody = ClusterReports::<ImpactReport>::new(vec![of("west", None)]);
        assert!(shown(&nobody, Format::Html).contains("<h1>No cluster responded</h1>"));
    }

    #[test]
    fn every_row_and_every_name_says_where_it_is_from() {
        let report = Example::new().report();
        let names = report.names();
        let both = [Some(report.clone()), Some(report)];
        let both = ["east", "we st"].into_iter().zip(both);
        let reports = ClusterReports::new(both.map(|(name, report)| of(name, report)).collect());
        let table = shown(&reports, Format::Table);
        let lines: Vec<&str> = table.lines().collect();
        assert!(
            lines.iter().any(|line| line.starts_with("CONTEXT")),
            "{table}"
        );
        let of_east = lines.iter().filter(|line| line.starts_with("east")).count();
        let of_west = lines
            .iter()
            .filter(|line| line.starts_with("we st"))
            .count();
        assert!(of_east > 1 && of_east == of_west, "{table}");
        assert!(shown(&reports, Format::Markdown).contains("| CONTEXT"));
        let page = shown(&reports, Format::Html);
        for part in [
            "<td>east</td>",
            "<td>we st</td>",
            "<p>we st: </p><svg",
            "<p>we st: 3 pods",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<h2>Summary</h2>").count(), 1);
        let expected: Vec<String> = [("east", &names), ("'we st'", &names)]
            .into_iter()
            .flat_map(|(context, names)| {
                let names = names.iter();
                names.map(move |name| format!("{name} --context {context}"))
            })
            .collect();
        assert_eq!(reports.names(), expected);
        assert!(reports.refusal().is_none() && !reports.is_empty());
    }

    #[test]
    fn a_cluster_without_an_answer_is_named_and_trips_guards() {
        let guards = ["pods.evicted>1000".parse().unwrap()];
        let limits = Limits {
            guards: &guards,
            ..Limits::default()
        };
        let report = Example::new().report_within(&limits);
        assert!(!report.is_refused());
        let clusters = vec![of("east", Some(report.clone())), of("west", None)];
        let reports =
            ClusterReports::new(clusters).with_guards(&guards, |report| &report.assessment.guards);
        assert_eq!(reports.incomplete.len(), 1);
        assert_eq!(
            reports.incomplete[0].line(),
            "cluster of context west: cannot reach it"
        );
        let refusal = reports.refusal().unwrap();
        assert!(refusal.contains("west: everything"), "{refusal}");
        for format in [Format::Table, Format::Markdown, Format::Json, Format::Yaml] {
            let text = shown(&reports, format);
            assert!(text.contains("cannot reach it"), "{text}");
        }
        let missing = reports.missing_from_names();
        assert_eq!(missing, ["cluster of context west: cannot reach it"]);

        let both = vec![of("east", Some(report.clone())), of("west", Some(report))];
        let reports =
            ClusterReports::new(both).with_guards(&guards, |report| &report.assessment.guards);
        assert_eq!(reports.refusal(), None);
        assert!(!reports.guard_results[0].tripped);
    }
}
