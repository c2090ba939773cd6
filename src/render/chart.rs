//! Chart of evictions: a line of time, and below it a bar for each moment.

use super::markup::text;
use crate::report::table::{Chart, Moment};

/// Height of the line of time, with its labels.
const STRIP: usize = 48;
/// Height of a bar, with the space below it.
const ROW: usize = 26;

/// The chart as a picture that is as wide as there is room, with letters of their own size.
pub(super) fn svg(chart: &Chart) -> String {
    let most = chart.moments.iter().map(|moment| moment.number).max();
    // Bars and dots are shares of it, so that it must not be zero.
    let most = most.unwrap_or_default().max(1);
    let strip = strip(chart, most);
    let top = if strip.is_empty() { 0 } else { STRIP };
    let mut middle = top.saturating_add(ROW / 2);
    let mut bars = String::new();
    for moment in &chart.moments {
        bars.push_str(&bar(moment, middle, most));
        middle = middle.saturating_add(ROW);
    }
    let height = middle.saturating_sub(ROW / 2);
    let label = label(chart);
    let note = if chart.note.is_empty() {
        String::new()
    } else {
        format!("<p>{}</p>", text(&chart.note))
    };
    format!(
        "{note}<svg role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"{height}\">\
         {strip}{bars}</svg>"
    )
}

/// The moments as dots where they are in time; nothing where there is but one moment in all.
fn strip(chart: &Chart, most: usize) -> String {
    let last = chart.moments.iter().map(|moment| moment.seconds);
    let end = chart.end.iter().map(|(seconds, _)| *seconds);
    let span = last.chain(end).max().unwrap_or_default();
    // A single moment needs no line of time: its bar shows all of it.
    if span == 0 {
        return String::new();
    }
    let place = |seconds| percent(2, u128::from(seconds), u128::from(span), 96);
    let dots = chart.moments.iter().map(|moment| {
        // Few sizes, since more of them could not be told apart.
        let share = moment.number.saturating_mul(6).div_ceil(most);
        let (x, radius) = (place(moment.seconds), share.saturating_add(3));
        format!("<circle cx=\"{x}\" cy=\"14\" r=\"{radius}\"/>")
    });
    let dots: String = dots.collect();
    let end = chart.end.iter().map(|(seconds, what)| {
        let x = place(*seconds);
        format!(
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"4\" y2=\"24\"/>\
             <text x=\"98%\" y=\"38\" text-anchor=\"end\">{}</text>",
            text(what)
        )
    });
    let end: String = end.collect();
    format!(
        "<line x1=\"2%\" x2=\"98%\" y1=\"14\" y2=\"14\"/>\
         <text x=\"2%\" y=\"38\">now</text>{dots}{end}"
    )
}

fn bar(moment: &Moment, middle: usize, most: usize) -> String {
    let number = u128::try_from(moment.number).unwrap_or(u128::MAX);
    let most = u128::try_from(most).unwrap_or(u128::MAX);
    let width = percent(0, number, most, 50);
    let end = percent(22, number, most, 50);
    let (when, what) = (text(&moment.when), text(&moment.what));
    let top = middle.saturating_sub(8);
    format!(
        "<text x=\"2%\" y=\"{middle}\" dy=\".35em\">{when}</text>\
         <rect x=\"22%\" y=\"{top}\" width=\"{width}\" height=\"16\" rx=\"2\"/>\
         <text x=\"{end}\" y=\"{middle}\" dx=\"6\" dy=\".35em\">{what}</text>"
    )
}

/// `part` of `whole`, where the whole is `room` percent behind the first `from`, to a tenth.
fn percent(from: u128, part: u128, whole: u128, room: u128) -> String {
    // In integers: the same page on every machine.
    let tenths = part
        .saturating_mul(room)
        .saturating_mul(10)
        .checked_div(whole)
        .unwrap_or_default()
        .saturating_add(from.saturating_mul(10));
    format!("{}.{}%", tenths / 10, tenths % 10)
}

/// Description of the picture for screen readers.
fn label(chart: &Chart) -> String {
    let moments = chart
        .moments
        .iter()
        .map(|moment| format!("{}: {}", moment.when, moment.what));
    let end = chart.end.iter().map(|(_, what)| what.clone());
    let all: Vec<String> = moments.chain(end).collect();
    text(&all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(moments: &[(u64, usize)], end: Option<u64>) -> String {
        let moment = |(seconds, number): &(u64, usize)| Moment {
            seconds: *seconds,
            when: format!("+{seconds}s"),
            number: *number,
            what: format!("{number} pods"),
        };
        svg(&Chart {
            note: String::new(),
            moments: moments.iter().map(moment).collect(),
            end: end.map(|seconds| (seconds, "gone".to_owned())),
        })
    }

    #[test]
    fn moments_stand_where_they_are_in_time_and_bars_are_as_long_as_much_happens() {
        let svg = chart(&[(0, 4), (60, 2)], Some(120));
        for part in [
            "aria-label=\"+0s: 4 pods; +60s: 2 pods; gone\"",
            "<circle cx=\"2.0%\" cy=\"14\" r=\"9\"/>",
            "<circle cx=\"50.0%\" cy=\"14\" r=\"6\"/>",
            "<line x1=\"98.0%\" x2=\"98.0%\"",
            "width=\"50.0%\"",
            "width=\"25.0%\"",
            "height=\"100\"",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }
}
