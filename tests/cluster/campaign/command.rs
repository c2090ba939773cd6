//! The commands of the campaign, and the goal of each.

/// Condition that holds when a command ends with 0, beside true output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The answer is the one that is given when nothing goes wrong.
    Answer,
    /// Nothing is changed, whatever it prints.
    Nothing,
    /// Rules of these names have this effect; the names are those of `Lane`.
    Effect(&'static [&'static str], &'static str),
    /// Rules of these names are gone.
    Gone(&'static [&'static str]),
    /// It never ends with 0, and changes nothing: a guard trips.
    Refused,
    /// The user interrupts it once it has made rules of its own, and it has to list the rules that are left.
    BrokenOff,
}

/// A command line and its goal. `LANE` is the lane's own name, `KEY` the key of all taints; rules
/// `none-LANE` (effect None, gpu-0), `hold-LANE` (NoSchedule, gpu-1) and `hard-LANE` (NoExecute,
/// gpu-1) are there, and `held-LANE` and `gone-LANE`, which a finalizer holds; the latter is being
/// deleted.
pub const COMMANDS: [(&str, Goal); 47] = [
    ("preview GPU0 KEY=z:NoExecute -o json", Goal::Answer),
    (
        "preview GPU0 KEY=z:NoExecute -o json --strict",
        Goal::Answer,
    ),
    ("preview DRIVER KEY=z:NoExecute", Goal::Answer),
    ("preview --rule none-LANE -o json", Goal::Answer),
    (
        "preview --rule hard-LANE --abort-if devices.selected>0",
        Goal::Refused,
    ),
    ("devices DRIVER -o json", Goal::Answer),
    ("devices DRIVER", Goal::Answer),
    ("list none-LANE hold-LANE hard-LANE -o json", Goal::Answer),
    ("list -l lane=LANE", Goal::Answer),
    ("list -l lane=LANE -o name", Goal::Answer),
    ("describe hard-LANE -o json", Goal::Answer),
    ("describe hold-LANE", Goal::Answer),
    ("snapshot", Goal::Answer),
    ("wait hard-LANE --for observed --timeout 5s", Goal::Answer),
    (
        "wait nobody-LANE --for deleted --ignore-not-found --timeout 5s",
        Goal::Answer,
    ),
    (
        "wait none-LANE hard-LANE --for deleted --timeout 1s",
        Goal::Refused,
    ),
    (
        "wait hard-LANE --for evicted --timeout 1s --settle 0s",
        Goal::Refused,
    ),
    ("add GPU0 GPU1 KEY=new --labels lane=LANE", Goal::Answer),
    (
        "add GPU0 KEY=new --name new-LANE --reason r --expires 4h",
        Goal::Effect(&["new"], "None"),
    ),
    (
        "add GPU0 KEY=new:NoExecute --yes --name new-LANE",
        Goal::Effect(&["new"], "NoExecute"),
    ),
    (
        "add GPU0 KEY=x:NoSchedule --yes --overwrite --name none-LANE",
        Goal::Effect(&["none"], "NoSchedule"),
    ),
    (
        "add GPU0 KEY=new:NoExecute --yes --abort-if pods.evicted>0",
        Goal::Refused,
    ),
    (
        "add GPU0 KEY=new:NoExecute --yes --dry-run=server",
        Goal::Nothing,
    ),
    (
        "escalate none-LANE --to NoSchedule --yes",
        Goal::Effect(&["none"], "NoSchedule"),
    ),
    (
        "escalate none-LANE hold-LANE --to NoExecute --yes",
        Goal::Effect(&["none", "hold"], "NoExecute"),
    ),
    (
        "escalate none-LANE --to NoExecute --yes --abort-if pods.evicted>0",
        Goal::Refused,
    ),
    (
        "escalate none-LANE --to NoExecute --yes --dry-run=server",
        Goal::Nothing,
    ),
    (
        "escalate none-LANE --to NoExecute --yes --wait --timeout 1s",
        Goal::Refused,
    ),
    (
        "deescalate hold-LANE hard-LANE --to None",
        Goal::Effect(&["hold", "hard"], "None"),
    ),
    (
        "deescalate hard-LANE --to NoSchedule",
        Goal::Effect(&["hard"], "NoSchedule"),
    ),
    ("remove hold-LANE --yes --others", Goal::Gone(&["hold"])),
    (
        "remove none-LANE hold-LANE hard-LANE --yes --others",
        Goal::Gone(&["none", "hold", "hard"]),
    ),
    (
        "remove -l lane=LANE --yes --others",
        Goal::Gone(&["none", "hold", "hard"]),
    ),
    ("remove GPU0 KEY- --yes --others", Goal::Gone(&["none"])),
    ("remove nobody-LANE --ignore-not-found", Goal::Nothing),
    (
        "remove -l lane=LANE --yes --others --dry-run=server",
        Goal::Nothing,
    ),
    (
        "remove none-LANE hold-LANE --yes --others -o json",
        Goal::Gone(&["none", "hold"]),
    ),
    ("remove held-LANE --yes --others", Goal::Gone(&["held"])),
    (
        "remove held-LANE none-LANE gone-LANE --yes --others -o json",
        Goal::Gone(&["held", "none", "gone"]),
    ),
    (
        "add GPU0 KEY=new --name new-LANE",
        Goal::Effect(&["new"], "None"),
    ),
    ("add GPU0 GPU1 KEY=new", Goal::Answer),
    (
        "add GPU0 KEY=x --name none-LANE --reason because",
        Goal::Effect(&["none"], "None"),
    ),
    (
        "escalate none-LANE --to NoSchedule --yes -o json",
        Goal::Effect(&["none"], "NoSchedule"),
    ),
    (
        "deescalate hold-LANE hard-LANE --to None -o json",
        Goal::Effect(&["hold", "hard"], "None"),
    ),
    (
        "preview GPU0 KEY=z:NoExecute --publish --cleanup",
        Goal::BrokenOff,
    ),
    (
        "preview GPU0 GPU1 KEY=z:NoExecute --publish",
        Goal::BrokenOff,
    ),
    (
        "dedicate GPU0 --to default --name new-LANE --yes",
        Goal::Answer,
    ),
];
