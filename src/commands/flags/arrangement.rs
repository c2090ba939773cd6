//! In which order, and by what, pods are told.

use super::words::one_of;
use crate::report::impact::{Arrangement, Grouping, Order};

/// How a report tells its pods in tables and documents.
#[derive(clap::Args, Debug)]
pub(crate) struct ArrangementArgs {
    /// Sort pods by severity, time, namespace or workload
    ///
    /// Default: severity. The severity of a pod is that of its worst hazard (see `help hazards`). Applies to
    /// table, wide, markdown and html. The order in json and yaml is always the same.
    #[arg(long, hide_possible_values = true, value_parser = one_of(&Order::ALL), default_value = "severity", hide_default_value = true, value_name = "ORDER", help_heading = "Output")]
    sort_by: Order,

    /// Group pods by workload, namespace, node, device or claim; `pod`: one row for each pod
    ///
    /// Each group is a separate table, with one row for each of its pods. Without this flag, there is one
    /// table: with one row for each pod, or, if there are more than 30 pods, for each workload.
    #[arg(long, hide_possible_values = true, value_parser = one_of(&Grouping::ALL), value_name = "WHAT", help_heading = "Output")]
    by: Option<Grouping>,
}

impl ArrangementArgs {
    /// What was typed.
    pub(crate) fn arrangement(&self) -> Arrangement {
        Arrangement {
            order: self.sort_by,
            by: self.by,
        }
    }
}
