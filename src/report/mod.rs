//! Reports: documents for scripts, and sections for people.
//!
//! Takes verdicts of the engine and gives views: serialisable, versioned values whose schema only
//! grows, and sections of plain text and tables that every format for people is made from. Decides
//! nothing about pods, prints nothing, knows no format.
//!
//! | what | module |
//! |---|---|
//! | Impact report: the pods a taint evicts, and when | [`impact`] |
//! | Plan: the devices or nodes that cost least to drain | [`plan`] |
//! | Previews of proposed taints on a reading: selected devices, impact and report | `question` |
//! | Explanations of pods, devices and rules, link by link | [`explain`] |
//! | Report of devices and their users | [`devices`] |
//! | Counts of devices by node and driver | [`device_counts`] |
//! | Attributes of devices | [`attributes`] |
//! | A device as a row | [`device_row`] |
//! | References to pods, claims and workloads | [`mod@reference`] |
//! | The controller's condition | [`condition`] |
//! | Codes as text and as JSON write them | [`casing`] |
//! | Table of devices | `device_table` |
//! | List of rules | [`rules`] |
//! | Description of one rule | [`description`] |
//! | Pending evictions and releases of a rule, in words | [`rule_lifecycle`] |
//! | Known defects of Kubernetes releases, in words | [`defects`] |
//! | Guards, as reports write and show them | [`guard`] |
//! | The drains of a cluster: the stages of their units | [`drains`] |
//! | A toleration | [`toleration`] |
//! | The lines that tolerate taints, and who has them | [`tolerations`] |
//! | Text of a count whose number is not known | [`bounds`] |
//! | Parts of every report beside its subject: warnings, gaps, and the refusal | [`answer`] |
//! | Report of a command that changed rules | [`change`] |
//! | Warnings and gaps of a saved snapshot | [`snapshot`] |
//! | Result of a wait | [`wait`] |
//! | Blockers of a wait | [`blocker`] |
//! | Progress of a wait | [`wait_progress`] |
//! | Kubernetes events about a rule and the pods it evicts | [`events`] |
//! | Remaining pods, and their blockers | [`remaining_pods`] |
//! | Devices in use on a node, and whether they are safe to pull | [`pod_resources`] |
//! | Versions of the program, of the Kubernetes behaviour it knows, and of the server | [`version`] |
//! | Tables and sections, before they are rendered | [`table`] |
//! | JSON schemas of reports | [`schema`] |

pub mod answer;
pub mod attributes;
pub mod blocker;
pub mod bounds;
pub mod casing;
pub mod change;
pub mod condition;
pub mod defects;
pub mod description;
pub mod descriptions;
pub mod device_counts;
pub mod device_row;
mod device_table;
pub mod devices;
pub mod drains;
pub mod events;
pub mod explain;
pub mod guard;
pub mod impact;
pub mod metadata;
pub mod plan;
pub mod pod_resources;
mod question;
pub mod reference;
pub mod remaining_pods;
pub mod rule_lifecycle;
pub mod rules;
pub mod schema;
pub mod snapshot;
pub mod table;
pub mod taint;
pub mod time;
pub mod toleration;
pub mod tolerations;
pub mod unevicted_pods;
pub mod version;
pub mod wait;
pub mod wait_progress;

#[cfg(test)]
pub(crate) mod testing;

pub use answer::Answer;
pub use change::ChangeReport;
pub use description::RuleDescription;
pub use descriptions::RuleDescriptions;
pub use devices::{DeviceLines, DeviceReport};
pub use drains::DrainList;
pub use explain::Explanation;
pub use impact::ImpactReport;
pub use plan::PlanReport;
pub use pod_resources::PodResourcesReport;
pub use rules::RuleList;
pub use table::View;
pub use tolerations::TolerationReport;
pub use version::VersionReport;
pub use wait::WaitReport;
