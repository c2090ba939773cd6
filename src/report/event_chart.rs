//! Charts of upcoming evictions and expiries.

use jiff::{SignedDuration, Timestamp};

use super::table::{Chart, Moment};
use crate::naming::age::human_duration;
use crate::naming::phrase::counted;

/// More moments than these are told in spans of equal length.
pub(super) const MOMENTS: usize = 8;

/// What is told of a picture that may not be all.
pub(super) const PARTIAL: &str = "The report is incomplete: events may be missing.";

/// What falls when, from `now` on: what is overdue falls at once. Absent where nothing does.
pub(super) fn picture(
    falling: &[Timestamp],
    noun: &str,
    note: &str,
    now: Timestamp,
) -> Option<Chart> {
    let mut seconds: Vec<i64> = falling
        .iter()
        .map(|at| at.duration_since(now).as_secs().max(0))
        .collect();
    seconds.sort_unstable();
    let moments: Vec<Moment> = alike(moments(&seconds))
        .into_iter()
        .map(|(seconds, number)| moment(seconds, number, noun))
        .collect();
    (!moments.is_empty()).then_some(Chart {
        note: note.to_owned(),
        moments,
        end: None,
    })
}

/// So many of them at that moment.
pub(super) fn moment(seconds: i64, number: usize, noun: &str) -> Moment {
    Moment {
        seconds: seconds.unsigned_abs(),
        when: when(seconds),
        number,
        what: counted(number, noun),
    }
}

/// The moment in words.
pub(super) fn when(seconds: i64) -> String {
    match seconds {
        0 => "now".to_owned(),
        later => format!("+{}", human_duration(SignedDuration::from_secs(later))),
    }
}

/// The moments, which are in order, with those that have the same words as one: `+20m` is every second of a minute.
pub(super) fn alike(moments: impl IntoIterator<Item = (i64, usize)>) -> Vec<(i64, usize)> {
    let mut alike: Vec<(i64, usize)> = Vec::new();
    for (seconds, number) in moments {
        match alike.last_mut() {
            Some((known, sum)) if when(*known) == when(seconds) => {
                *sum = sum.saturating_add(number);
            }
            _ => alike.push((seconds, number)),
        }
    }
    alike
}

/// How many of the seconds, which are in order, are the same; of many that differ, how many are in spans of
/// equal length.
pub(super) fn moments(seconds: &[i64]) -> Vec<(i64, usize)> {
    let mut moments: Vec<(i64, usize)> = Vec::new();
    for second in seconds {
        add(&mut moments, *second);
    }
    if moments.len() <= MOMENTS {
        return moments;
    }
    let last = moments.last().map_or(0, |(seconds, _)| *seconds);
    let spans = i64::try_from(MOMENTS).unwrap_or(i64::MAX);
    // One second longer, so that the last moment falls into the last span and not behind it.
    let span = last.checked_div(spans).unwrap_or(0).saturating_add(1);
    let mut in_spans: Vec<(i64, usize)> = Vec::new();
    for second in seconds {
        let begins = second.checked_div(span).unwrap_or(0);
        add(&mut in_spans, begins.saturating_mul(span));
    }
    in_spans
}

fn add(moments: &mut Vec<(i64, usize)>, seconds: i64) {
    match moments.last_mut() {
        Some((known, number)) if *known == seconds => *number = number.saturating_add(1),
        _ => moments.push((seconds, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    #[test]
    fn what_is_overdue_falls_now_and_what_falls_together_is_counted() {
        let at = [600, -30, 0, 600].map(testing::after);
        let chart = picture(&at, "pod", "", testing::now()).expect("a picture");
        let moments = chart.moments.iter();
        let moments = moments.map(|it| (it.seconds, &*it.when, it.number, &*it.what));
        let expected = [(0, "now", 2, "2 pods"), (600, "+10m", 2, "2 pods")];
        assert_eq!(moments.collect::<Vec<_>>(), expected);
        assert_eq!(chart.end, None);
        assert_eq!(picture(&[], "pod", "", testing::now()), None);
    }

    #[test]
    fn moments_with_the_same_words_are_one() {
        let at = [1_200, 1_201, 1_260].map(testing::after);
        let chart = picture(&at, "pod", "", testing::now()).expect("a picture");
        let moments = chart.moments.iter().map(|it| (&*it.when, &*it.what));
        let expected = [("+20m", "2 pods"), ("+21m", "1 pod")];
        assert_eq!(moments.collect::<Vec<_>>(), expected);
    }
}
