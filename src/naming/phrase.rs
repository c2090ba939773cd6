//! Words around numbers and lists, similar names, and words of other tools, as messages have them.

use std::collections::BTreeSet;
use std::fmt::Display;

/// The items without repetitions, in their order.
pub fn each_once(items: impl Iterator<Item = String>) -> Vec<String> {
    items.fold(Vec::new(), |mut seen, item| {
        if !seen.contains(&item) {
            seen.push(item);
        }
        seen
    })
}

/// A number with its noun: `1 pod`, `2 pods`, `0 pods`.
pub fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// The first five items, and how many more there are.
pub fn few(items: impl IntoIterator<Item: Display>) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

/// The taints of a node, by their keys.
pub fn node_taints(keys: &BTreeSet<String>) -> String {
    let noun = if keys.len() == 1 { "taint" } else { "taints" };
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    format!("node {noun} {}", keys.join(", "))
}

/// Minimum similarity of a misspelling.
const CORRECTION: f64 = 0.8;

/// Maximum difference in similarity from the best name.
const TOLERANCE: f64 = 0.25;

/// At most three of `known` that look like `wanted`, the most similar first.
///
/// Similarity is Damerau–Levenshtein distance, normalised by length; what shares less than half is
/// left out, and what is far less similar than the best.
pub fn nearest(wanted: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut scored: Vec<(f64, String)> = known
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(wanted, &name), name))
        .filter(|(score, _)| *score >= 0.5)
        .collect();
    scored.sort_by(|(score, name), (other, second)| {
        other.total_cmp(score).then_with(|| name.cmp(second))
    });
    // Equal names are equally similar, so that they stand together by now.
    scored.dedup_by(|left, right| left.1 == right.1);
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    scored.retain(|(score, _)| *score >= best - TOLERANCE);
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// At most three of `known` of which `wanted` is a misspelling by a few letters, without those that differ only in their
/// numbers, such as the name of a rule for another node: such a correction would change something else.
pub fn corrections(wanted: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let is_same_text = |name: &String| without_digits(name) == without_digits(wanted);
    let is_near = |name: &String| {
        strsim::normalized_damerau_levenshtein(wanted, name) >= CORRECTION && !is_same_text(name)
    };
    nearest(wanted, known.into_iter().filter(is_near))
}

/// The name without its decimal digits.
fn without_digits(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Hint where there is no `noun` of the name `wanted`: those of `known` that look like it, or all that there are.
pub fn hint_for(noun: &str, wanted: &str, known: &[String]) -> String {
    match nearest(wanted, known.to_vec()).as_slice() {
        [] => format!("{noun}s: {}", few(known)),
        [only] => format!("did you mean {only}?"),
        several => format!("did you mean one of {}?", several.join(", ")),
    }
}

/// Words of other programs, and the commands that do here what they do there.
const WORDS: [(&str, &str); 15] = [
    ("taint apply", "use `add`"),
    ("cordon", "use `add DEVICE KEY:NoSchedule`"),
    ("uncordon undrain", "use `restore` or `remove`"),
    ("untaint rm del clear destroy", "use `remove`"),
    ("edit patch replace set", "use `escalate` or `deescalate`"),
    ("evict kick execute enforce", "use `drain` or `escalate`"),
    ("simulate impact who diff", "use `preview`"),
    ("check", "use `preview` or `podresources check`"),
    (
        "show status explain info inspect events",
        "use `describe` or `list`",
    ),
    ("ls rules", "use `list`"),
    ("dump save export backup", "use `snapshot`"),
    ("stop undo rollback revert abort", "use `deescalate`"),
    ("watch until rollout", "use `wait` or `list`"),
    ("gpus nodes inventory", "use `devices`"),
    (
        "pull verify unplug eject kubelet",
        "use `podresources check`",
    ),
];

/// Flags that no command has here, or only one, and what to do instead.
const FLAGS: [(&str, &str); 5] = [
    ("--all", "only `remove` has --all"),
    ("--disable-eviction", "use `drain --force`"),
    ("--grace-period --pod-selector", "omit the flag"),
    ("--skip-wait-for-delete-timeout", "use --timeout"),
    (
        "--watch -w",
        "use `wait`, or `kubectl get devicetaintrules --watch`",
    ),
];

/// Types of kubectl that stand for no devices.
const TYPES: &str =
    "deploy deployment ds daemonset sts statefulset rs replicaset job ns namespace resourceslice";

/// True if `text` is TYPE/NAME of a type that stands for no devices.
pub fn is_other_type(text: &str) -> bool {
    let kind = text.split('/').next().unwrap_or_default();
    let kind = kind.split('.').next().unwrap_or_default();
    let is_known = |known: &str| kind == known || kind.strip_suffix('s') == Some(known);
    TYPES.split(' ').any(is_known)
}

/// What to do instead of the kubectl flag, with its dashes.
pub fn flag_advice(flag: &str) -> Option<&'static str> {
    let found = FLAGS
        .iter()
        .find(|(flags, _)| flags.split(' ').any(|known| known == flag));
    found.map(|(_, advice)| *advice)
}

/// Advice for a user who typed `word` as a command, if another tool has it.
pub fn advice(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let mut known = WORDS.iter();
    let found = known.find(|(words, _)| words.split(' ').any(|known| known == word));
    found.map(|(_, advice)| (*advice).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_cut() {
        let names: Vec<String> = (0..7).map(|number| format!("gpu-{number}")).collect();
        assert_eq!(few(&names), "gpu-0, gpu-1, gpu-2, gpu-3, gpu-4 and 2 more");
        assert_eq!(few(&names[..2]), "gpu-0, gpu-1");
    }

    #[test]
    fn what_differs_only_in_its_number_is_something_else() {
        let known = ["node-6-firmware", "node-6-firmwar"].map(str::to_owned);
        assert_eq!(corrections("node-3-firmware", known), ["node-6-firmwar"]);
    }
}
