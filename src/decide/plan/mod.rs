//! What a plan is asked for, the units that it chooses among, and the limits of a choice.
//!
//! | what | module |
//! |---|---|
//! | What is asked for: how many units of which kind, and what has to hold | [`mod@request`] |
//! | The units: devices, or whole nodes, without what was excluded | `units` |
//! | Limits of a set: pools, zones, nodes, and devices that stay allocatable | `limits` |
//! | Why there is no such set | `refusal` |

mod limits;
mod refusal;
pub mod request;
mod units;

pub use limits::{PlanSpace, plan_space};
pub use refusal::no_set;
pub use request::{PlanRequest, PlanSize, Spread};
pub use units::{devices_of, plan_units};
