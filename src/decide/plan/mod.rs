//! Request, candidate units and limits of a plan.
//!
//! | what | module |
//! |---|---|
//! | Request: number and kind of units, and conditions | [`mod@request`] |
//! | Candidate units: devices, or complete nodes, without excluded ones | `units` |
//! | Limits of a set: pools, zones, nodes, and devices that stay allocatable | `limits` |
//! | Why no set meets the limits | `refusal` |

mod limits;
mod refusal;
pub mod request;
mod units;

pub use limits::{PlanSpace, plan_space};
pub use refusal::{no_set, refuse_unread};
pub use request::{PlanRequest, PlanSize, Spread};
pub use units::{devices_of, drain_command, plan_units, shared_hardware_last};
