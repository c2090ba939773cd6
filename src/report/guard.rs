//! When is it too much?
//!
//! A guard is `<signal><operator><quantity>`, such as `pods.evicted>20` or `devices.selected>=50%`.
//! It trips when the comparison holds, and when it is not known whether it does.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::count::Count;
use super::impact::Summary;
use super::knowledge::{Knowledge, Subject};

/// A limit that must not be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    expression: String,
    signal: Signal,
    operator: Operator,
    quantity: Quantity,
}

/// What percentages are taken of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wholes {
    /// The pods that use devices of the same drivers as the selected ones.
    pub pods: usize,
    /// The devices of the same drivers as the selected ones.
    pub devices: usize,
}

/// What became of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardResult {
    /// The guard as it was given.
    pub expression: String,
    /// What the signal counts here; null when that is not known.
    pub value: Option<usize>,
    /// What a percentage is taken of; null when the guard names a number, or when it is not known.
    pub whole: Option<usize>,
    /// Whether the comparison holds, or may hold as far as is known, so that nothing may be changed.
    pub tripped: bool,
    /// The lowest value that is possible; only when value is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// The highest value that is possible; only when value is null, and there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
    /// What is missing, so that value or whole is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown_without: Option<String>,
}

impl GuardResult {
    /// What the value is, as far as that is known, with what a percentage is taken of.
    #[must_use]
    pub fn value_in_words(&self) -> String {
        let whole = self
            .whole
            .map_or_else(String::new, |whole| format!(" of {whole}"));
        let known = match (self.value, self.at_least, self.at_most) {
            (Some(value), _, _) if self.unknown_without.is_none() => {
                return format!("the value is {value}{whole}");
            }
            (Some(value), _, _) => format!("the value is {value} of an unknown number"),
            (None, Some(least), Some(most)) => {
                format!("the value is not known, it is {least} to {most}{whole}")
            }
            (None, Some(least), None) if least > 0 => {
                format!("the value is not known, it is at least {least}{whole}")
            }
            (None, _, _) => "the value is not known".to_owned(),
        };
        match &self.unknown_without {
            Some(missing) => format!("{known} (missing: {missing})"),
            None => known,
        }
    }

    /// The guard with why it tripped, where its value does not say so itself.
    pub(super) fn reason(&self) -> String {
        if self.unknown_without.is_some() {
            format!("{}, {}", self.expression, self.value_in_words())
        } else {
            self.expression.clone()
        }
    }
}

impl Guard {
    /// Whether it compares with a share of all pods of the selected devices' drivers.
    #[must_use]
    pub fn needs_whole(&self) -> bool {
        match self.quantity {
            Quantity::Number(_) => false,
            Quantity::Percent { .. } => true,
        }
    }

    /// Compares the guard with what a report counts.
    ///
    /// It trips when the comparison holds, and also when it may hold: a number that is not known is
    /// no reason to go on. What is known of it may settle the comparison all the same.
    #[must_use]
    pub fn evaluate(
        &self,
        summary: &Summary,
        wholes: &Wholes,
        knowledge: &Knowledge<'_>,
    ) -> GuardResult {
        let value = self.signal.value(summary);
        let (whole, answer) = match self.quantity {
            Quantity::Number(limit) => {
                let limit = Range::exactly(limit.into());
                (None, self.operator.holds(Range::of(value, 1), limit))
            }
            // Both sides times one hundred, so that nothing is rounded.
            Quantity::Percent { percent, of } => {
                let whole = knowledge.count(self.signal.subject(), of.value(wholes));
                let limit = Range::of(whole, percent.into());
                (
                    Some(whole),
                    self.operator.holds(Range::of(value, 100), limit),
                )
            }
        };
        let known = value.exact().is_some() && whole.is_none_or(|whole| whole.exact().is_some());
        let bounded = value.exact().is_none();
        GuardResult {
            expression: self.expression.clone(),
            value: value.exact(),
            whole: whole.and_then(Count::exact),
            tripped: answer != Some(false),
            at_least: bounded.then(|| value.least()),
            at_most: value.most().filter(|_| bounded),
            unknown_without: (!known).then(|| knowledge.missing(self.signal.subjects())),
        }
    }
}

impl FromStr for Guard {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<Self, GuardError> {
        let guard = || text.to_owned();
        let at = text
            .find(['<', '>', '=', '!'])
            .ok_or_else(|| GuardError::NoOperator { guard: guard() })?;
        let (signal, rest) = text.split_at(at);
        let (operator, quantity) =
            Operator::strip(rest).ok_or_else(|| GuardError::NoOperator { guard: guard() })?;
        let signal = Signal::from_name(signal.trim())?;
        let quantity = Quantity::parse(quantity.trim(), signal, text)?;
        Ok(Self {
            expression: guard(),
            signal,
            operator,
            quantity,
        })
    }
}

/// Why a guard cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// There is none of the operators in it.
    #[error("guard \"{guard}\" has no operator")]
    NoOperator {
        /// The guard as given.
        guard: String,
    },
    /// Nothing of that name is counted.
    #[error("unknown signal \"{signal}\"")]
    UnknownSignal {
        /// The signal as given.
        signal: String,
    },
    /// The limit is neither a number nor a percentage.
    #[error("guard \"{guard}\" has no number or percentage after the operator")]
    NoQuantity {
        /// The guard as given.
        guard: String,
    },
    /// There is nothing that the percentage could be taken of.
    #[error("guard \"{guard}\" cannot have a percentage")]
    NoWhole {
        /// The guard as given.
        guard: String,
        /// Its signal.
        signal: Signal,
    },
}

impl GuardError {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoOperator { .. } => {
                "write it as <signal><operator><quantity>, such as 'pods.evicted>20'; operators: > >= \
                 < <= == !="
                    .to_owned()
            }
            Self::UnknownSignal { signal } => {
                let known = Signal::ALL.map(Signal::name).join(", ");
                match Signal::nearest(signal) {
                    Some(nearest) => {
                        format!("did you mean {}? known signals: {known}", nearest.name())
                    }
                    None => format!("known signals: {known}"),
                }
            }
            Self::NoQuantity { .. } => {
                "a quantity is a whole number such as 20, or a percentage from 0% to 100%"
                    .to_owned()
            }
            Self::NoWhole { signal, .. } => {
                format!("{signal} is compared with a whole number, such as '{signal}>1'")
            }
        }
    }
}

/// What a guard looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Pods that would be evicted, now or later.
    PodsEvicted,
    /// Pods that would be evicted at once.
    PodsEvictedNow,
    /// Namespaces of the pods that would be evicted.
    NamespacesAffected,
    /// Devices that the taints select.
    DevicesSelected,
}

impl Signal {
    /// Every signal.
    pub const ALL: [Self; 4] = [
        Self::PodsEvicted,
        Self::PodsEvictedNow,
        Self::NamespacesAffected,
        Self::DevicesSelected,
    ];

    /// The signal as it is written in a guard.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PodsEvicted => "pods.evicted",
            Self::PodsEvictedNow => "pods.evicted.now",
            Self::NamespacesAffected => "namespaces.affected",
            Self::DevicesSelected => "devices.selected",
        }
    }

    /// What the signal counts, in one line for `help guards`.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::PodsEvicted => {
                "pods evicted now or later; % of the pods that use devices of the same drivers"
            }
            Self::PodsEvictedNow => "pods evicted at once; % of the same pods",
            Self::NamespacesAffected => "namespaces of the evicted pods",
            Self::DevicesSelected => "devices selected; % of the devices of the same drivers",
        }
    }

    fn from_name(name: &str) -> Result<Self, GuardError> {
        let known = Self::ALL.into_iter().find(|signal| signal.name() == name);
        known.ok_or_else(|| GuardError::UnknownSignal {
            signal: name.to_owned(),
        })
    }

    /// The known signal that `name` resembles most, if it resembles one at all.
    fn nearest(name: &str) -> Option<Self> {
        let similarity = |signal: &Self| strsim::jaro_winkler(signal.name(), name);
        Self::ALL
            .into_iter()
            .filter(|signal| similarity(signal) > 0.7)
            .max_by(|left, right| similarity(left).total_cmp(&similarity(right)))
    }

    fn value(self, summary: &Summary) -> Count {
        match self {
            Self::PodsEvicted => summary.evicted(),
            Self::PodsEvictedNow => summary.evicted_now(),
            Self::NamespacesAffected => summary.affected_namespaces(),
            Self::DevicesSelected => summary.selected_devices(),
        }
    }

    /// What it is counted from.
    fn subjects(self) -> &'static [Subject] {
        match self {
            Self::PodsEvicted | Self::NamespacesAffected => &[Subject::Pods],
            Self::PodsEvictedNow => &[Subject::Pods, Subject::Times],
            Self::DevicesSelected => &[Subject::Selected],
        }
    }

    /// What the whole of its percentages is counted from.
    fn subject(self) -> Subject {
        match self {
            Self::PodsEvicted | Self::NamespacesAffected | Self::PodsEvictedNow => Subject::Pods,
            Self::DevicesSelected => Subject::Selected,
        }
    }

    fn whole(self) -> Option<Whole> {
        match self {
            Self::PodsEvicted | Self::PodsEvictedNow => Some(Whole::Pods),
            Self::DevicesSelected => Some(Whole::Devices),
            Self::NamespacesAffected => None,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
    Unequal,
}

impl Operator {
    // Longer spellings first: `>` is the beginning of `>=`.
    const SPELLINGS: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        (">", Self::Above),
        ("<", Self::Below),
    ];

    fn strip(text: &str) -> Option<(Self, &str)> {
        Self::SPELLINGS
            .into_iter()
            .find_map(|(spelling, operator)| Some((operator, text.strip_prefix(spelling)?)))
    }

    /// Whether the comparison holds for all that the two may be, for none of it, or for some.
    fn holds(self, value: Range, limit: Range) -> Option<bool> {
        match self {
            Self::Above => value.is_above(limit),
            Self::AtLeast => limit.is_above(value).map(std::ops::Not::not),
            Self::Below => limit.is_above(value),
            Self::AtMost => value.is_above(limit).map(std::ops::Not::not),
            Self::Equal => value.equals(limit),
            Self::Unequal => value.equals(limit).map(std::ops::Not::not),
        }
    }
}

/// What a number may be: both ends included, the upper one absent when there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    least: u128,
    most: Option<u128>,
}

impl Range {
    fn exactly(number: u128) -> Self {
        Self {
            least: number,
            most: Some(number),
        }
    }

    /// So many times what the count may be. Counts fit into 64 bits and factors are at most one
    /// hundred, so that nothing overflows.
    fn of(count: Count, factor: u128) -> Self {
        Self {
            least: count.least() as u128 * factor,
            most: count.most().map(|most| most as u128 * factor),
        }
    }

    /// Whether it is greater than the other, if that is settled.
    fn is_above(self, other: Self) -> Option<bool> {
        if other.most.is_some_and(|most| self.least > most) {
            Some(true)
        } else if self.most.is_some_and(|most| most <= other.least) {
            Some(false)
        } else {
            None
        }
    }

    /// Whether both are the same number, if that is settled.
    fn equals(self, other: Self) -> Option<bool> {
        if self.is_above(other) == Some(true) || other.is_above(self) == Some(true) {
            Some(false)
        } else if self == other && self.most == Some(self.least) {
            Some(true)
        } else {
            None
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Number(u64),
    Percent { percent: u64, of: Whole },
}

impl Quantity {
    fn parse(text: &str, signal: Signal, guard: &str) -> Result<Self, GuardError> {
        let no_quantity = || GuardError::NoQuantity {
            guard: guard.to_owned(),
        };
        let Some(percent) = text.strip_suffix('%') else {
            return Ok(Self::Number(whole_number(text).ok_or_else(no_quantity)?));
        };
        let percent = whole_number(percent)
            .filter(|percent| *percent <= 100)
            .ok_or_else(no_quantity)?;
        let of = signal.whole().ok_or_else(|| GuardError::NoWhole {
            guard: guard.to_owned(),
            signal,
        })?;
        Ok(Self::Percent { percent, of })
    }
}

/// A number of decimal digits only; the standard parser would take a sign too.
fn whole_number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Pods,
    Devices,
}

impl Whole {
    fn value(self, wholes: &Wholes) -> usize {
        match self {
            Self::Pods => wholes.pods,
            Self::Devices => wholes.devices,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gap, Kind};
    use crate::report::impact::Limits;
    use crate::report::testing::{self, Example};
    use crate::report::{Basis, ImpactReport};

    fn tripped(guard: &str) -> bool {
        let summary = Summary {
            devices: 5,
            pods: 2,
            pods_now: 1,
            namespaces: 1,
            ..Summary::default()
        };
        let wholes = Wholes {
            pods: 20,
            devices: 8,
        };
        let guard: Guard = guard.parse().unwrap();
        guard.evaluate(&summary, &wholes, &all_known()).tripped
    }

    fn all_known() -> Knowledge<'static> {
        Knowledge::new([], &testing::semantics(37))
    }

    #[test]
    fn a_guard_trips_when_its_comparison_holds() {
        for (guard, expected) in [
            ("pods.evicted>1", true),
            ("pods.evicted>2", false),
            ("pods.evicted>=2", true),
            ("pods.evicted<2", false),
            ("pods.evicted<=2", true),
            ("pods.evicted==2", true),
            ("pods.evicted!=2", false),
            ("pods.evicted.now>0", true),
            ("pods.evicted.now>1", false),
            ("namespaces.affected>=1", true),
            ("devices.selected>4", true),
            ("pods.evicted>10%", false),
            ("pods.evicted>=10%", true),
            ("pods.evicted>9%", true),
            ("pods.evicted.now>=5%", true),
            ("devices.selected>62%", true),
            ("devices.selected>63%", false),
            (" pods.evicted > 1 ", true),
        ] {
            assert_eq!(tripped(guard), expected, "{guard}");
        }
    }

    #[test]
    fn a_result_tells_the_guard_the_value_and_the_whole() {
        let summary = Summary {
            pods: 3,
            ..Summary::default()
        };
        let wholes = Wholes {
            pods: 12,
            devices: 0,
        };
        let guard: Guard = "pods.evicted>25%".parse().unwrap();
        let expected = GuardResult {
            expression: "pods.evicted>25%".to_owned(),
            value: Some(3),
            whole: Some(12),
            tripped: false,
            at_least: None,
            at_most: None,
            unknown_without: None,
        };
        assert_eq!(guard.evaluate(&summary, &wholes, &all_known()), expected);
    }

    #[test]
    fn a_guard_whose_value_is_not_known_trips_unless_what_is_known_settles_it() {
        let no_pods = [missing(Kind::Pod)];
        let no_slices = [missing(Kind::ResourceSlice)];
        let no_rules = [missing(Kind::DeviceTaintRule)];
        let unevaluable = [Gap {
            what: "devices of the considered taint".to_owned(),
            ..missing(Kind::Pod)
        }];
        // 3 pods are evicted as far as is known, 1 of them now; 1 device is selected.
        for (gaps, guard, tripped, said) in [
            (
                &no_pods,
                "pods.evicted>0",
                true,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted>20",
                true,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted<3",
                false,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted==2",
                false,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "pods.evicted!=3",
                true,
                "the value is not known, it is at least 3 (missing: pods)",
            ),
            (
                &no_pods,
                "namespaces.affected>5",
                true,
                "the value is not known, it is at least 2 (missing: pods)",
            ),
            (&no_pods, "devices.selected>1", false, "the value is 1"),
            (&no_pods, "devices.selected>0", true, "the value is 1"),
            (&no_slices, "pods.evicted>3", false, "the value is 3"),
            (
                &no_slices,
                "devices.selected>20",
                true,
                "the value is not known, it is at least 1 (missing: resourceslices)",
            ),
            (
                &no_rules,
                "pods.evicted.now>1",
                true,
                "the value is not known, it is 1 to 3 (missing: devicetaintrules)",
            ),
            (
                &no_rules,
                "pods.evicted.now>3",
                false,
                "the value is not known, it is 1 to 3 (missing: devicetaintrules)",
            ),
            (
                &unevaluable,
                "pods.evicted>3",
                false,
                "the value is not known, it is 0 to 3 (missing: devices of the considered taint)",
            ),
            (
                &unevaluable,
                "pods.evicted>2",
                true,
                "the value is not known, it is 0 to 3 (missing: devices of the considered taint)",
            ),
        ] {
            let result = result_of(guard, gaps);
            assert_eq!(result.tripped, tripped, "{guard} without {}", gaps[0].what);
            assert_eq!(result.value_in_words(), said, "{guard}");
        }
    }

    #[test]
    fn a_guard_about_nothing_that_could_be_read_says_so() {
        let mut example = Example::new();
        example.reading.gaps = vec![missing(Kind::Pod)];
        let guards = ["pods.evicted>0".parse().unwrap()];
        let limits = Limits {
            guards: &guards,
            ..Limits::default()
        };
        let mut impact = example.impact();
        impact.pods.clear();
        let semantics = testing::semantics(37);
        let basis = Basis {
            reading: &example.reading,
            semantics: &semantics,
            now: testing::now(),
        };
        let report = ImpactReport::new(&impact, &basis, &limits);
        let result = &report.guards[0];
        assert_eq!((result.value, result.at_least), (None, Some(0)));
        assert_eq!(
            report.refusal().as_deref(),
            Some("guard tripped: pods.evicted>0, the value is not known (missing: pods)")
        );
    }

    #[test]
    fn a_share_of_an_unknown_whole_is_not_known() {
        let pods = missing(Kind::Pod);
        let result = result_of("pods.evicted>50%", &[pods]);
        assert!(result.tripped);
        assert_eq!((result.value, result.whole), (None, None));
        let slices = result_of("devices.selected>=50%", &[missing(Kind::ResourceSlice)]);
        assert!(slices.tripped, "{slices:?}");
    }

    fn missing(kind: Kind) -> Gap {
        Gap {
            what: kind.plural().to_owned(),
            why: "denied".to_owned(),
            affects: kind.affects(),
        }
    }

    fn result_of(guard: &str, gaps: &[Gap; 1]) -> GuardResult {
        let mut example = Example::new();
        example.reading.gaps = gaps.to_vec();
        let guards = [guard.parse().unwrap()];
        let limits = Limits {
            guards: &guards,
            wholes: Wholes {
                pods: 6,
                devices: 1,
            },
        };
        let mut report = example.report_within(&limits);
        report.guards.remove(0)
    }

    #[test]
    fn what_is_no_guard_is_told_with_what_to_write_instead() {
        for (guard, message, hint) in [
            (
                "pods.evicted",
                r#"guard "pods.evicted" has no operator"#,
                "<signal><operator><quantity>",
            ),
            (
                "pods.evicted=2",
                r#"guard "pods.evicted=2" has no operator"#,
                "> >= < <= == !=",
            ),
            ("", r#"guard "" has no operator"#, "'pods.evicted>20'"),
            (
                "pod.evicted>2",
                r#"unknown signal "pod.evicted""#,
                "did you mean pods.evicted? known signals: pods.evicted, pods.evicted.now, namespaces.affected, devices.selected",
            ),
            (
                "device.selected>2",
                r#"unknown signal "device.selected""#,
                "did you mean devices.selected?",
            ),
            (
                "x>2",
                r#"unknown signal "x""#,
                "known signals: pods.evicted,",
            ),
            (">2", r#"unknown signal """#, "known signals:"),
            (
                "pods.evicted>",
                r#"guard "pods.evicted>" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>-1",
                r#"guard "pods.evicted>-1" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>+1",
                r#"guard "pods.evicted>+1" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>1.5",
                r#"guard "pods.evicted>1.5" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>>1",
                r#"guard "pods.evicted>>1" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>101%",
                r#"guard "pods.evicted>101%" has no number or percentage after the operator"#,
                "0% to 100%",
            ),
            (
                "pods.evicted>99999999999999999999",
                r#"guard "pods.evicted>99999999999999999999" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "namespaces.affected>50%",
                r#"guard "namespaces.affected>50%" cannot have a percentage"#,
                "'namespaces.affected>1'",
            ),
        ] {
            let error = guard.parse::<Guard>().unwrap_err();
            assert_eq!(error.to_string(), message);
            assert!(error.hint().contains(hint), "{guard}: {}", error.hint());
        }
    }
}
