//! Lengths of time, as kubectl writes ages.

use jiff::SignedDuration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// A unit of an age.
struct Unit {
    seconds: u64,
    letter: char,
}

const SECONDS: Unit = Unit {
    seconds: 1,
    letter: 's',
};
const MINUTES: Unit = Unit {
    seconds: MINUTE,
    letter: 'm',
};
const HOURS: Unit = Unit {
    seconds: HOUR,
    letter: 'h',
};
const DAYS: Unit = Unit {
    seconds: DAY,
    letter: 'd',
};
const YEARS: Unit = Unit {
    seconds: YEAR,
    letter: 'y',
};

/// A length of time as kubectl writes ages: `90s`, `5m`, `2h30m`, `3d`; never more than two units.
///
/// Rounded down to what is shown; its sign does not matter.
///
/// Upstream: `k8s.io/apimachinery/pkg/util/duration.HumanDuration`.
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().unsigned_abs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two_units(seconds, &MINUTES, &SECONDS),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two_units(seconds, &HOURS, &MINUTES),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two_units(seconds, &DAYS, &HOURS),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two_units(seconds, &YEARS, &DAYS),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// A length of time in all its units: `10m30s`, `1d2h`, `0s`; its sign does not matter.
pub fn exact_duration(duration: SignedDuration) -> String {
    let mut left = duration.as_secs().unsigned_abs();
    let mut text = String::new();
    for unit in [DAYS, HOURS, MINUTES, SECONDS] {
        let number = left.checked_div(unit.seconds).unwrap_or_default();
        left = left.checked_rem(unit.seconds).unwrap_or_default();
        if number > 0 || (text.is_empty() && unit.letter == 's') {
            text.push_str(&format!("{number}{}", unit.letter));
        }
    }
    text
}

fn two_units(seconds: u64, large: &Unit, small: &Unit) -> String {
    let part = |seconds: u64, unit: u64| seconds.checked_div(unit).unwrap_or_default();
    let whole = format!("{}{}", part(seconds, large.seconds), large.letter);
    let rest = seconds.checked_rem(large.seconds).unwrap_or_default();
    match part(rest, small.seconds) {
        0 => whole,
        rest => format!("{whole}{rest}{}", small.letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_duration_has_all_units_that_are_not_zero() {
        for (seconds, text) in [(0, "0s"), (630, "10m30s"), (300, "5m"), (93_601, "1d2h1s")] {
            assert_eq!(exact_duration(SignedDuration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn durations_are_written_as_kubectl_writes_ages() {
        for (seconds, shown) in [
            (0, "0s"),
            (-30, "30s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (9_000, "150m"),
            (10_800, "3h"),
            (12_600, "3h30m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (315_360_000, "10y"),
            (i64::MAX, "292471208677y"),
        ] {
            let duration = SignedDuration::from_secs(seconds);
            assert_eq!(human_duration(duration), shown, "{seconds}");
        }
    }
}
