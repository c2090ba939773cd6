//! Why there is no plan: no set meets the limits, or the cost of sets is unknown.

use super::limits::{PlanSpace, classes_line};
use super::request::PlanRequest;
use crate::engine::set_search::SearchResult;
use crate::error::{ExitStatus, Failure};
use crate::model::{Kind, Reading};
use crate::naming::phrase::counted;

/// The failure for a search that found no set; says whether none exists.
#[must_use]
pub fn no_set(request: &PlanRequest, space: &PlanSpace, result: &SearchResult) -> Failure {
    let units = counted(space.limits.count, request.size.noun());
    let Some((floor, found)) = request.keeps.as_ref().zip(space.allocatable.as_ref()) else {
        let text =
            format!("found no set of {units}: the search ended before all sets were compared");
        return Failure::refused(text).hint(format!(
            "select fewer devices, or use a smaller number for {}",
            request.size.flag()
        ));
    };
    let (expression, now) = (floor.expression(), counted(found.devices.len(), "device"));
    let classes = classes_line(&found.classes);
    // With a lower bound, the search ended early: a set may exist.
    let verb = match result.lower_bound {
        Some(_) => "found no set",
        None => "there is no set",
    };
    Failure::refused(format!(
        "{verb} of {units} that leaves enough devices for --keep-available {expression:?}: {now} of \
         {classes} can be allocated before the drain"
    ))
    .hint(format!(
        "use a smaller number for {}, or lower --keep-available",
        request.size.flag()
    ))
}

/// Refuses a plan whose costs are unknown: without claims and pods every device looks unused, and without slices devices
/// are missing.
///
/// # Errors
///
/// One of these lists could not be read, or the input does not have it.
pub fn refuse_unread(reading: &Reading) -> Result<(), Failure> {
    let needed = [Kind::ResourceSlice, Kind::ResourceClaim, Kind::Pod];
    let gaps = reading.gaps.iter();
    let missing: Vec<String> = gaps
        .filter(|gap| gap.kind().is_some_and(|kind| needed.contains(&kind)))
        .map(|gap| format!("{}: {}", gap.what, gap.why))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(
        ExitStatus::Incomplete,
        "cannot compare the devices for a plan, because some objects could not be read",
    );
    Err(missing.into_iter().fold(failure, Failure::detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gap;
    use crate::report::testing::reading;

    #[test]
    fn without_slices_claims_or_pods_there_is_no_plan() {
        assert!(refuse_unread(&reading()).is_ok());
        for (kind, refused) in [
            (Kind::ResourceSlice, true),
            (Kind::ResourceClaim, true),
            (Kind::Pod, true),
            (Kind::Node, false),
        ] {
            let mut reading = reading();
            reading.gaps = vec![Gap::of(kind, "denied")];
            let found = refuse_unread(&reading);
            assert_eq!(found.is_err(), refused, "{kind}");
            if let Err(failure) = found {
                assert_eq!(failure.status(), ExitStatus::Incomplete);
                assert_eq!(failure.details().len(), 1);
            }
        }
    }
}
