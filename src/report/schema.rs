//! How are reports described to machines?
//!
//! The schemas are made from the types, so that neither can be wrong without the other; the files
//! in `schemas/` are what [`files`] returns.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::{DeviceReport, ImpactReport};

/// Every schema with the name of the file that it is shipped in.
#[must_use]
pub fn files() -> [(&'static str, Schema); 2] {
    [
        (
            "impact-report.v1alpha1.schema.json",
            schema_of::<ImpactReport>(),
        ),
        (
            "device-list.v1alpha1.schema.json",
            schema_of::<DeviceReport>(),
        ),
    ]
}

/// The schema of what is written: a field that is always there is required, also when it may be
/// null.
fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}
