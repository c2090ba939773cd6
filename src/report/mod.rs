//! What do people and scripts get to see?
//!
//! Takes verdicts of the engine and gives views: serialisable, versioned values whose schema only
//! grows, and sections of plain text and tables that every format for people is made from. Decides
//! nothing about pods, prints nothing, knows no format.
//!
//! | question | module |
//! |---|---|
//! | Whom would a taint hit, and when? | [`impact`] |
//! | What is read and answered for it? | `question` |
//! | Why is it so? | [`explain`] |
//! | Which devices are there? | [`devices`] |
//! | How many are there, and in which state? | [`device_counts`] |
//! | What has changed about them? | [`device_changes`] |
//! | What are they, as their drivers say? | [`attributes`] |
//! | What is there to say of one of them? | [`device_row`] |
//! | What do they look like in a table? | `device_table` |
//! | Which rules are there? | [`rules`] |
//! | What is there to say about one rule? | [`description`] |
//! | Where is a rule in its life? | [`life`] |
//! | What does a release do wrong, in words? | [`defects`] |
//! | What became of guards? | [`guard`] |
//! | What may a team's rules never do? | [`policy`] |
//! | Who has dedicated devices, and are others kept out? | [`dedications`] |
//! | Who tolerates a taint? | [`tolerations`] |
//! | How is a number written that is not known? | [`bounds`] |
//! | What does every answer say beside its subject? | [`answer`] |
//! | What became of the rules that a command changes? | [`change`] |
//! | What do several clusters answer? | [`clusters`] |
//! | What is there to say about a snapshot? | [`snapshot`] |
//! | How did a wait end? | [`wait`] |
//! | What happens while a command goes on? | [`happening`] |
//! | How far is a wait? | [`progress`] |
//! | What was reported about a rule and its pods? | [`events`] |
//! | Who is still there, and why? | [`remaining`] |
//! | When does what fall, as a picture? | `moments` |
//! | What does a kubelet say is in use? | [`in_use`] |
//! | May devices be pulled? | [`pulling`] |
//! | What is this program, and what has the server? | [`version`] |
//! | What does a report look like? | [`table`] |
//! | How is it described to machines? | [`schema`] |

pub mod answer;
pub mod attributes;
pub mod bounds;
pub mod card;
pub mod change;
pub mod clusters;
pub mod command_event;
pub mod dedications;
pub mod defects;
pub mod description;
pub mod descriptions;
pub mod device_changes;
pub mod device_counts;
pub mod device_removal;
pub mod device_row;
mod device_summary;
mod device_table;
pub mod devices;
mod event_chart;
pub mod events;
pub mod evicted;
pub mod explain;
pub mod guard;
pub mod history;
pub mod impact;
pub mod in_use;
pub mod metadata;
pub mod policy;
mod question;
pub mod remaining_pods;
pub mod rule_lifecycle;
pub mod rules;
pub mod schema;
pub mod snapshot;
pub mod table;
pub mod taint;
pub mod time;
pub mod tolerations;
pub mod unevicted_pods;
pub mod version;
pub mod wait;
pub mod wait_progress;

#[cfg(test)]
pub(crate) mod testing;

pub use answer::Answer;
pub use attributes::AttributeColumns;
pub use change::ChangeReport;
pub use dedications::DedicationList;
pub use description::RuleDescription;
pub use descriptions::RuleDescriptions;
pub use device_removal::DeviceRemovalReport;
pub use devices::{DeviceLines, DeviceReport};
pub use explain::Explanation;
pub use impact::ImpactReport;
pub use in_use::PodResourcesReport;
pub use rules::RuleList;
pub use table::View;
pub use tolerations::TolerationReport;
pub use version::VersionReport;
pub use wait::WaitReport;
