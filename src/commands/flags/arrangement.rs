//! In which order, and by what, pods are told.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::report::impact::{Arrangement, Grouping, Order};

/// How a report tells its pods in tables and documents.
#[derive(clap::Args, Debug)]
pub(crate) struct ArrangementArgs {
    /// Which pod comes first: severity, time, namespace or workload
    ///
    /// In tables and documents; JSON and YAML keep their order.
    #[arg(long, hide_possible_values = true, value_parser = orders(), default_value = "severity", hide_default_value = true, value_name = "ORDER", help_heading = "Output")]
    sort_by: Order,

    /// A table for each workload, namespace, node, device or claim
    #[arg(long, hide_possible_values = true, value_parser = groupings(), value_name = "WHAT", help_heading = "Output")]
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

fn orders() -> impl TypedValueParser<Value = Order> {
    let names = Order::ALL.map(|order| PossibleValue::new(order.as_str()));
    PossibleValuesParser::new(names).try_map(|text| {
        let mut orders = Order::ALL.into_iter();
        let found = orders.find(|order| order.as_str() == text);
        found.ok_or("no such order")
    })
}

fn groupings() -> impl TypedValueParser<Value = Grouping> {
    let names = Grouping::ALL.map(|grouping| PossibleValue::new(grouping.as_str()));
    PossibleValuesParser::new(names).try_map(|text| {
        let mut groupings = Grouping::ALL.into_iter();
        let found = groupings.find(|grouping| grouping.as_str() == text);
        found.ok_or("no such group")
    })
}
