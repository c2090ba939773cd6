//! Why no set meets the limits.

use super::limits::PlanSpace;
use super::request::PlanRequest;
use crate::engine::set_search::SearchResult;
use crate::error::Failure;
use crate::naming::phrase::{counted, few};

/// The failure for a search that found no set; says whether none exists.
#[must_use]
pub fn no_set(request: &PlanRequest, space: &PlanSpace, result: &SearchResult) -> Failure {
    let units = counted(space.limits.count, request.size.noun());
    let Some((floor, found)) = request.keeps.as_ref().zip(space.allocatable.as_ref()) else {
        return Failure::refused(format!("found no set of {units} within the search limit"));
    };
    let (expression, now) = (floor.expression(), counted(found.devices.len(), "device"));
    let classes = few(&found.classes);
    // With a lower bound, the search ended early: a set may exist.
    let verb = match result.lower_bound {
        Some(_) => "found no set",
        None => "there is no set",
    };
    Failure::refused(format!(
        "{verb} of {units} that meets {expression:?}: {now} of class {classes} can be allocated now"
    ))
    .hint("choose fewer, or lower --keep-available")
}
