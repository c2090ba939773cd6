//! Reports: documents for scripts, and sections for people.
//!
//! Takes verdicts of the engine and gives views: serialisable, versioned values whose schema only
//! grows, and sections of plain text and tables that every format for people is made from. Decides
//! nothing about pods, prints nothing, knows no format.

pub mod blocker;
pub mod change;
pub mod description;
pub mod device_row;
pub mod devices;
pub mod drains;
pub mod explain;
pub mod impact;
pub mod metadata;
pub mod pod_resources;
pub mod remaining_pods;
pub mod rule_lifecycle;
pub mod rules;
pub mod schema;
pub mod table;
pub mod taint;
pub mod tolerations;
pub mod version;
pub mod wait;

#[cfg(test)]
pub(crate) mod testing;

pub use change::ChangeReport;
pub use description::RuleDescription;
pub use devices::{DeviceLines, DeviceReport};
pub use drains::{DrainList, PlanReport};
pub use explain::Explanation;
pub use impact::ImpactReport;
pub use pod_resources::PodResourcesReport;
pub use rules::RuleDescriptions;
pub use rules::RuleList;
pub use table::View;
pub use tolerations::TolerationReport;
pub use version::VersionReport;
pub use wait::WaitReport;
