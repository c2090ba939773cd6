//! Units that are drained a few at a time, in their order.

use futures::stream::{FuturesUnordered, StreamExt};

/// Starts `items` in order, at most `parallel` at a time. Each returns whether others may start after it.
///
/// Returns the first error. After it, and after an item that does not let others start, no further item is started;
/// those that were started are completed.
pub(super) async fn few_at_a_time<'a, T, E, F>(
    items: &'a [T],
    parallel: usize,
    start: impl Fn(usize, &'a T) -> F,
) -> Option<E>
where
    F: Future<Output = Result<bool, E>>,
{
    let mut first_error = None;
    let mut next = items.iter().enumerate();
    let mut running = FuturesUnordered::new();
    let mut may_start = true;
    loop {
        while may_start
            && running.len() < parallel
            && let Some((place, item)) = next.next()
        {
            running.push(start(place, item));
        }
        match running.next().await {
            None => return first_error,
            Some(Ok(may_others_start)) => may_start = may_start && may_others_start,
            Some(Err(error)) => {
                may_start = false;
                first_error.get_or_insert(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A unit: how often it waits, and its result.
    type Work = (usize, Result<bool, &'static str>);

    /// The order in which units start (`+`) and end (`-`), and the error.
    fn order(units: &[Work], parallel: usize) -> (String, Option<&'static str>) {
        let log = RefCell::new(String::new());
        let write = |sign: char, place: usize| {
            let mut log = log.borrow_mut();
            log.push(sign);
            log.push_str(&place.to_string());
        };
        let run = few_at_a_time(units, parallel, |place, &(waits, result)| {
            write('+', place);
            async move {
                for _ in 0..waits {
                    tokio::task::yield_now().await;
                }
                write('-', place);
                result
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let error = runtime.expect("a runtime").block_on(run);
        (log.into_inner(), error)
    }

    #[test]
    fn units_start_in_order_and_no_more_at_a_time_than_is_allowed() {
        let units = [(1, Ok(true)), (4, Ok(true)), (9, Ok(true))];
        assert_eq!(order(&units, 1), ("+0-0+1-1+2-2".to_owned(), None));
        assert_eq!(order(&units, 2), ("+0+1-0+2-1-2".to_owned(), None));
        assert_eq!(order(&units, 5).0[..6], *"+0+1+2");
        assert_eq!(order(&[], 1), (String::new(), None));
    }

    #[test]
    fn after_a_unit_that_lets_no_other_start_those_that_were_started_are_completed() {
        let units = [(1, Ok(false)), (9, Ok(true)), (1, Ok(true))];
        assert_eq!(order(&units, 2), ("+0+1-0-1".to_owned(), None));
        assert_eq!(order(&units, 1), ("+0-0".to_owned(), None));
    }

    #[test]
    fn after_an_error_nothing_starts_and_the_first_error_is_returned() {
        let units = [(1, Err("first")), (9, Err("second")), (1, Ok(true))];
        assert_eq!(order(&units, 2), ("+0+1-0-1".to_owned(), Some("first")));
        assert_eq!(order(&units, 1), ("+0-0".to_owned(), Some("first")));
    }
}
