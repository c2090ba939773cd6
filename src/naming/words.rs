//! Names of commands in other tools.

/// Words of other programs, and the commands that do here what they do there.
const MEANT: [(&[&str], &[&str]); 12] = [
    (&["taint", "cordon", "apply"], &["add"]),
    (
        &["untaint", "uncordon", "rm", "del", "clear", "destroy"],
        &["remove"],
    ),
    (
        &["evict", "kick", "execute", "enforce"],
        &["drain", "escalate"],
    ),
    (&["simulate", "impact", "who", "diff"], &["preview"]),
    (&["check"], &["preview", "podresources check"]),
    (
        &["show", "status", "explain", "info", "inspect"],
        &["describe", "list"],
    ),
    (&["ls", "rules"], &["list"]),
    (&["dump", "save", "export", "backup"], &["snapshot"]),
    (
        &["stop", "undo", "rollback", "revert", "abort"],
        &["deescalate"],
    ),
    (&["watch", "until"], &["wait", "list"]),
    (&["gpus", "nodes", "inventory"], &["devices"]),
    (
        &["pull", "verify", "unplug", "eject", "kubelet"],
        &["podresources check"],
    ),
];

/// The commands that were probably meant by `word`, the first the likeliest; none for a
/// word that other programs do not use.
#[must_use]
pub fn meant_by(word: &str) -> &'static [&'static str] {
    let word = word.to_lowercase();
    let found = MEANT.iter().find(|(words, _)| words.contains(&&*word));
    found.map_or(&[], |(_, commands)| commands)
}

/// Advice for a user who typed `word` as a command, if another tool has it.
#[must_use]
pub fn advice(word: &str) -> Option<String> {
    match meant_by(word) {
        [] => None,
        [only] => Some(format!("use `{only}`")),
        [first, rest @ ..] => Some(format!("use `{first}` or `{}`", rest.join("` or `"))),
    }
}
