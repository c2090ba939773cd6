//! Candidate units of a plan, and the command that drains the chosen ones.

mod units;

pub use units::{
    PlanSize, devices_of, drain_command, plan_units, refuse_unread, shared_hardware_last,
};
