//! Guards, as reports write and show them. What they are and when they trip: [`assess::guard`](crate::assess::guard).

mod result;
mod sections;

pub use result::GuardResult;
pub(in crate::report) use sections::sections;
