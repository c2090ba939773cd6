//! JSON schemas of reports.
//!
//! The schemas are made from the types, so that neither can be wrong without the other; the files
//! in `schemas/` are what [`files`] returns.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::decide::react::TaintPolicy;

use super::{
    ChangeReport, DeviceReport, DrainList, Explanation, ImpactReport, PlanReport,
    PodResourcesReport, RuleDescriptions, TolerationReport, VersionReport, WaitReport,
};

/// Every schema with the name of the file that it is shipped in.
pub fn files() -> [(String, Schema); 12] {
    let schemas = [
        ("impact-report", schema_of::<ImpactReport>()),
        ("device-list", schema_of::<DeviceReport>()),
        ("rule-description-list", schema_of::<RuleDescriptions>()),
        ("change-report", schema_of::<ChangeReport>()),
        ("wait-report", schema_of::<WaitReport>()),
        ("version-report", schema_of::<VersionReport>()),
        ("pod-resources-list", schema_of::<PodResourcesReport>()),
        ("explanation-list", schema_of::<Explanation>()),
        ("drain-list", schema_of::<DrainList>()),
        ("toleration-list", schema_of::<TolerationReport>()),
        ("plan-report", schema_of::<PlanReport>()),
        ("taint-policy", input_schema()),
    ];
    schemas.map(|(name, schema)| (format!("{name}.v1alpha1.schema.json"), schema))
}

/// The schema of policies, which users write: a field with a default is not required.
fn input_schema() -> Schema {
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(join_lines))
        .into_generator()
        .into_root_schema_for::<TaintPolicy>()
}

/// The schema of the written document: a field that is always there is required, also when it may be null.
fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(join_lines))
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Descriptions are wrapped where the source is; only empty lines part paragraphs.
fn join_lines(schema: &mut Schema) {
    let Some(Value::String(description)) = schema.get_mut("description") else {
        return;
    };
    let paragraphs: Vec<_> = description
        .split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "))
        .collect();
    *description = paragraphs.join("\n\n");
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;
    use crate::report::testing::Example;

    fn errors<T: JsonSchema>(report: &impl Serialize) -> Vec<String> {
        let schema = schema_of::<T>().to_value();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let report = serde_json::to_value(report).unwrap();
        validator
            .iter_errors(&report)
            .map(|error| error.to_string())
            .collect()
    }

    #[test]
    fn a_report_without_a_field_or_of_another_kind_is_refused() {
        let report = serde_json::to_value(Example::new().report()).unwrap();
        for (name, pointer) in [
            ("nullable", "/affectedPods/0/workload"),
            ("metadata", "/metadata/server"),
            ("summary", "/summary/evictedNowPodCount"),
        ] {
            let mut broken = report.clone();
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            let parent = broken.pointer_mut(parent).unwrap();
            assert!(parent.as_object_mut().unwrap().remove(field).is_some());
            assert!(!errors::<ImpactReport>(&broken).is_empty(), "{name}");
        }
        let mut broken = report;
        broken["kind"] = "DeviceList".into();
        assert!(!errors::<ImpactReport>(&broken).is_empty());
    }

    #[test]
    fn a_report_with_fields_and_codes_of_a_later_version_follows_the_schema() {
        let mut json = serde_json::to_value(Example::new().report()).unwrap();
        json["affectedPods"][0]["hazards"] = serde_json::json!(["FromTheFuture"]);
        json["affectedPods"][0]["fromTheFuture"] = true.into();
        assert!(errors::<ImpactReport>(&json).is_empty());
    }
}
