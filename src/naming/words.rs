//! Names of commands in other tools.

/// Words of other programs, and the commands that do here what they do there.
const MEANT: [(&[&str], &[&str]); 15] = [
    (&["taint", "apply"], &["add"]),
    (&["cordon"], &["add DEVICE KEY:NoSchedule"]),
    (&["uncordon", "undrain"], &["restore", "remove"]),
    (&["untaint", "rm", "del", "clear", "destroy"], &["remove"]),
    (
        &["edit", "patch", "replace", "set"],
        &["escalate", "deescalate"],
    ),
    (
        &["evict", "kick", "execute", "enforce"],
        &["drain", "escalate"],
    ),
    (&["simulate", "impact", "who", "diff"], &["preview"]),
    (&["check"], &["preview", "podresources check"]),
    (
        &["show", "status", "explain", "info", "inspect", "events"],
        &["describe", "list"],
    ),
    (&["ls", "rules"], &["list"]),
    (&["dump", "save", "export", "backup"], &["snapshot"]),
    (
        &["stop", "undo", "rollback", "revert", "abort"],
        &["deescalate"],
    ),
    (&["watch", "until", "rollout"], &["wait", "list"]),
    (&["gpus", "nodes", "inventory"], &["devices"]),
    (
        &["pull", "verify", "unplug", "eject", "kubelet"],
        &["podresources check"],
    ),
];

/// Flags of kubectl that no command has here, and what to do instead.
const FLAGS: [(&[&str], &str); 4] = [
    (&["--disable-eviction"], "use `drain --force`"),
    (&["--grace-period", "--pod-selector"], "omit the flag"),
    (&["--skip-wait-for-delete-timeout"], "use --timeout"),
    (
        &["--watch", "-w"],
        "use `wait`, or `kubectl get devicetaintrules --watch`",
    ),
];

/// Types of kubectl that stand for no devices.
const TYPES: &str =
    "deploy deployment ds daemonset sts statefulset rs replicaset job ns namespace resourceslice";

/// Whether `text` is TYPE/NAME of a type that stands for no devices.
pub fn is_type(text: &str) -> bool {
    let kind = text.split('/').next().unwrap_or_default();
    let kind = kind.split('.').next().unwrap_or_default();
    let is_known = |known: &str| kind == known || kind.strip_suffix('s') == Some(known);
    TYPES.split(' ').any(is_known)
}

/// What to do instead of the kubectl flag, with its dashes.
pub fn flag_advice(flag: &str) -> Option<&'static str> {
    let found = FLAGS.iter().find(|(flags, _)| flags.contains(&flag));
    found.map(|(_, advice)| *advice)
}

/// The commands that were probably meant by `word`, the first the likeliest; none for a
/// word that other programs do not use.
pub fn meant_by(word: &str) -> &'static [&'static str] {
    let word = word.to_lowercase();
    let found = MEANT.iter().find(|(words, _)| words.contains(&&*word));
    found.map_or(&[], |(_, commands)| commands)
}

/// Advice for a user who typed `word` as a command, if another tool has it.
pub fn advice(word: &str) -> Option<String> {
    match meant_by(word) {
        [] => None,
        [only] => Some(format!("use `{only}`")),
        [first, rest @ ..] => Some(format!("use `{first}` or `{}`", rest.join("` or `"))),
    }
}
