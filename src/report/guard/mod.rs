//! Guards, as reports write and show them. Their evaluation: [`assess::guard`](crate::assess::guard).

mod result;
mod sections;

pub use result::GuardResult;
pub(in crate::report) use sections::sections;
