//! Parsing of guards.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use super::evaluation::Operator;
use crate::assess::completeness::CountSubject;
use crate::assess::totals::{Tally, Totals};
use crate::model::Count;

/// A limit that must not be exceeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Guard {
    /// The guard, as given.
    pub expression: String,
    #[serde(skip)]
    pub(super) signal: Signal,
    #[serde(skip)]
    pub(super) operator: Operator,
    #[serde(skip)]
    pub(super) quantity: Quantity,
}

impl Guard {
    /// True if it compares with a share of all pods of the selected devices' drivers.
    pub fn needs_whole(&self) -> bool {
        match self.quantity {
            Quantity::Number(_) => false,
            Quantity::Percent { .. } => true,
        }
    }
}

impl FromStr for Guard {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<Self, GuardError> {
        let no_operator = || {
            GuardError {
            message: format!("guard \"{text}\" has no operator"),
            hint: "write it as <signal><operator><quantity>, such as 'pods.evicted>20'; operators: > >= < <= == !="
                .to_owned(),
        }
        };
        let at = text.find(['<', '>', '=', '!']).ok_or_else(no_operator)?;
        let (signal, rest) = text.split_at(at);
        let (operator, quantity) = Operator::strip(rest).ok_or_else(no_operator)?;
        let signal = known_signal(signal.trim())?;
        let quantity = Quantity::parse(quantity.trim(), signal, text)?;
        Ok(Self {
            expression: text.to_owned(),
            signal,
            operator,
            quantity,
        })
    }
}

fn known_signal(name: &str) -> Result<Signal, GuardError> {
    Signal::from_name(name).ok_or_else(|| {
        let known = format!(
            "known signals: {}",
            Signal::ALL.map(Signal::name).join(", ")
        );
        GuardError {
            message: format!("unknown signal \"{name}\""),
            hint: match Signal::nearest(name) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => known,
            },
        }
    })
}

/// Right side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Number(usize),
    Percent { percent: usize, of: Whole },
}

impl Quantity {
    fn parse(text: &str, signal: Signal, guard: &str) -> Result<Self, GuardError> {
        let no_quantity = || GuardError {
            message: match text {
                "" => format!("guard \"{guard}\" has no number or percentage after the operator"),
                _ => format!(
                    "guard \"{guard}\": \"{text}\" is not a whole number or a percentage from 0% to 100%"
                ),
            },
            hint: "use a whole number such as 20, or a percentage from 0% to 100%".to_owned(),
        };
        let Some(percent) = text.strip_suffix('%') else {
            return Ok(Self::Number(whole_number(text).ok_or_else(no_quantity)?));
        };
        let percent = whole_number(percent)
            .filter(|percent| *percent <= 100)
            .ok_or_else(no_quantity)?;
        let of = signal.whole().ok_or_else(|| GuardError {
            message: format!("guard \"{guard}\" cannot have a percentage"),
            hint: format!("use a whole number, such as '{signal}>1'"),
        })?;
        Ok(Self::Percent { percent, of })
    }
}

/// A number of decimal digits only; the standard parser would take a sign too.
fn whole_number(text: &str) -> Option<usize> {
    // `parse` alone would accept a sign, as in `+5`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A guard that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {hint}")]
pub struct GuardError {
    message: String,
    /// Text to write instead.
    pub hint: String,
}

/// Base of a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// The pods that use the drivers of the selected devices.
    Pods,
    /// The devices of the same drivers.
    Devices,
    /// The devices of the same classes.
    Class,
}

/// Facts about a signal.
struct Row {
    name: &'static str,
    /// Base of its percentages; absent where it has none.
    whole: Option<Whole>,
    /// Subjects that it is counted from; the one of the base of its percentages comes first.
    reads: &'static [CountSubject],
    /// Data that is missing where all of that was read, and its value is not known all the same.
    unsaid: &'static str,
    meaning: &'static str,
    count: fn(&Tally<'_, '_>, &Totals) -> Count,
}

/// The enum of all signals, and the row of each.
macro_rules! signals {
    ($(
        $(#[$doc:meta])*
        $signal:ident {
            name: $name:literal,
            whole: $whole:expr,
            reads: [$($subject:ident),+],
            unsaid: $unsaid:literal,
            meaning: $meaning:literal,
            count: $count:expr,
        }
    )+) => {
        /// Signal that a guard compares.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Signal {
            $($(#[$doc])* $signal,)+
        }

        impl Signal {
            /// Every signal.
            pub const ALL: [Self; [$(stringify!($signal)),+].len()] = [$(Self::$signal),+];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$signal => &Row {
                        name: $name,
                        whole: $whole,
                        reads: &[$(CountSubject::$subject),+],
                        unsaid: $unsaid,
                        meaning: $meaning,
                        count: $count,
                    },)+
                }
            }
        }
    };
}

signals! {
    /// Pods that would be evicted, now or later.
    PodsEvicted {
        name: "pods.evicted",
        whole: Some(Whole::Pods),
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "pods evicted now or later; % of all non-terminating pods that use the drivers of the selected devices",
        count: |_, totals| totals.evicted_pod_count.0,
    }
    /// Pods that would be evicted at once.
    PodsEvictedNow {
        name: "pods.evicted.now",
        whole: Some(Whole::Pods),
        reads: [Pods, Times],
        unsaid: "part of the data",
        meaning: "pods evicted now; % of all non-terminating pods that use the drivers of the selected devices",
        count: |_, totals| totals.evicted_now_pod_count.0,
    }
    /// Pods that would be evicted, and that the system needs.
    PodsCritical {
        name: "pods.critical",
        whole: Some(Whole::Pods),
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "evicted system-critical pods; % of all non-terminating pods that use the drivers of the selected devices",
        count: |_, totals| totals.critical_pod_count.0,
    }
    /// Pods that would be evicted, and that nothing creates again.
    PodsUnmanaged {
        name: "pods.unmanaged",
        whole: Some(Whole::Pods),
        reads: [Pods, Workloads],
        unsaid: "part of the data",
        meaning: "evicted pods without a controller, or whose controller was deleted; % of all non-terminating pods \
            that use the drivers of the selected devices",
        count: |_, totals| totals.unmanaged_pod_count.0,
    }
    /// Jobs that fail for good since pods of them would be evicted.
    JobsFailed {
        name: "jobs.failed",
        whole: None,
        reads: [Workloads],
        unsaid: "how Jobs react to lost pods",
        meaning: "Jobs that fail permanently because their pods are evicted",
        count: |tally, _| tally.jobs_failed(),
    }
    /// Pods that would be evicted, and whose eviction breaks something for others.
    PodsSeverityDanger {
        name: "pods.severity.danger",
        whole: Some(Whole::Pods),
        reads: [Pods, Budgets, Workloads],
        unsaid: "part of the data",
        meaning: "evicted pods whose worst hazard has severity danger (see `help hazards`); % of all non-terminating \
            pods that use the drivers of the selected devices",
        count: |_, totals| totals.severities.danger_pod_count.0,
    }
    /// Owners of the pods that would be evicted.
    WorkloadsAffected {
        name: "workloads.affected",
        whole: None,
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "workloads of the evicted pods; a pod without an owner counts as a workload",
        count: |_, totals| totals.workload_count.0,
    }
    /// Workloads of which no ready pod would be left.
    WorkloadsDown {
        name: "workloads.down",
        whole: None,
        reads: [Workloads],
        unsaid: "replicas of workloads",
        meaning: "workloads left without a ready pod",
        count: |_, totals| totals.down_workload_count.0,
    }
    /// Workloads that would lose pods while they recover.
    WorkloadsRecovering {
        name: "workloads.recovering",
        whole: None,
        reads: [Workloads],
        unsaid: "replicas of workloads",
        meaning: "workloads that lose pods and already lack ready pods",
        count: |tally, _| tally.workloads_recovering(),
    }
    /// Namespaces of the pods that would be evicted.
    NamespacesAffected {
        name: "namespaces.affected",
        whole: None,
        reads: [Pods],
        unsaid: "part of the data",
        meaning: "namespaces of the evicted pods",
        count: |_, totals| totals.namespace_count.0,
    }
    /// Devices that the taints select.
    DevicesSelected {
        name: "devices.selected",
        whole: Some(Whole::Devices),
        reads: [Selected],
        unsaid: "part of the data",
        meaning: "selected devices; % of all devices of their drivers",
        count: |_, totals| totals.device_count.0,
    }
    /// Disruption budgets that the evictions would overdraw.
    BudgetsViolated {
        name: "budgets.violated",
        whole: None,
        reads: [Budgets],
        unsaid: "part of the data",
        meaning: "PodDisruptionBudgets that the evictions would violate",
        count: |_, totals| totals.violated_budget_count.0,
    }
    /// Claims that cannot be reallocated.
    ClaimsUnplaceable {
        name: "claims.unplaceable",
        whole: None,
        reads: [Pods, Replacements],
        unsaid: "device classes, nodes, or results of expressions",
        meaning: "claims that cannot be reallocated when their pods are evicted; each claim is checked by itself",
        count: |_, totals| totals.unplaceable_claim_count.0,
    }
    /// Devices of the same classes that stay allocatable.
    DevicesAvailable {
        name: "devices.available",
        whole: Some(Whole::Class),
        reads: [Replacements],
        unsaid: "device classes, nodes, or results of expressions",
        meaning: "devices that stay available in the DeviceClasses of the selected devices; available means: free or \
            with capacity left, and without a NoSchedule or NoExecute taint; % of all devices of these classes",
        count: |_, totals| totals.available_device_count.0,
    }
}

impl Signal {
    /// The signal as it is written in a guard.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Meaning in one line, for `help guards`.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// Count of the signal.
    pub fn count(self, tally: &Tally<'_, '_>, totals: &Totals) -> Count {
        (self.row().count)(tally, totals)
    }

    /// The signal of that name, if there is one.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name)
    }

    /// The known signal that `name` resembles most, if it resembles one at all.
    pub(super) fn nearest(name: &str) -> Option<Self> {
        let similarity = |signal: &Self| strsim::jaro_winkler(signal.name(), name);
        Self::ALL
            .into_iter()
            .filter(|signal| similarity(signal) > 0.7)
            .max_by(|left, right| similarity(left).total_cmp(&similarity(right)))
    }

    /// Subjects that it is counted from.
    pub(super) const fn reads(self) -> &'static [CountSubject] {
        self.row().reads
    }

    /// Data that is missing where everything was read that it is counted from, and its value is not known all
    /// the same.
    pub(super) const fn unsaid(self) -> &'static str {
        self.row().unsaid
    }

    /// Base of its percentages; absent where it has none.
    pub(super) const fn whole(self) -> Option<Whole> {
        self.row().whole
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_share_needs_the_whole() {
        let needs = |text: &str| text.parse::<Guard>().map(|guard| guard.needs_whole());
        assert_eq!(needs("pods.evicted>20"), Ok(false));
        assert_eq!(needs("pods.evicted>20%"), Ok(true));
        assert_eq!(needs("devices.selected>=100%"), Ok(true));
    }

    #[test]
    fn what_is_no_guard_is_told_with_what_to_write_instead() {
        for (guard, message, hint) in [
            ("pods.evicted", "no operator", "<signal><operator>"),
            ("pods.evicted=2", "no operator", "> >= < <= == !="),
            ("", "no operator", "'pods.evicted>20'"),
            ("pod.evicted>2", "signal", "did you mean pods.evicted?"),
            ("x>2", "unknown signal", "known signals: pods.evicted,"),
            (">2", "unknown signal", "known signals:"),
            ("pods.evicted>", "no number", "whole number"),
            ("pods.evicted>-1", r#""-1" is not"#, "whole number"),
            ("pods.evicted>+1", r#""+1" is not"#, "whole number"),
            ("pods.evicted>1.5", r#""1.5" is not"#, "whole number"),
            ("pods.evicted>>1", r#"">1" is not"#, "whole number"),
            ("pods.evicted>101%", r#""101%" is not"#, "0% to 100%"),
            ("pods.evicted>99999999999999999999", "not", "number"),
            ("namespaces.affected>50%", "percentage", "affected>1'"),
        ] {
            let error = guard.parse::<Guard>().unwrap_err();
            assert!(error.to_string().contains(message), "{guard}: {error}");
            assert!(error.hint.contains(hint), "{guard}: {}", error.hint);
        }
    }
}
