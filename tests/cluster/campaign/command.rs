//! The commands of the campaign, and the goal of each.

use std::sync::LazyLock;

/// Condition that holds when a command ends with 0, beside true output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The answer is the one that is given when nothing goes wrong.
    Answer,
    /// Nothing is changed, whatever it prints.
    Nothing,
    /// Rules of these names have this effect; the names are those of `Lane`.
    Effect(Vec<&'static str>, &'static str),
    /// Rules of these names are gone.
    Gone(Vec<&'static str>),
    /// It never ends with 0, and changes nothing: a guard trips.
    Refused,
    /// The user interrupts it once it has made rules of its own, and it has to list the rules that are left.
    BrokenOff,
}

/// Command lines and their goals. `LANE` is the lane's own name, `KEY` the key of all taints; rules
/// `none-LANE` (effect None, gpu-0), `hold-LANE` (NoSchedule, gpu-1) and `hard-LANE` (NoExecute,
/// gpu-1) are there, and `held-LANE` and `gone-LANE`, which a finalizer holds; the latter is being
/// deleted.
const TABLE: &str = "
preview GPU0 KEY=z:NoExecute -o json | answers
preview GPU0 KEY=z:NoExecute -o json --strict | answers
preview DRIVER KEY=z:NoExecute | answers
preview --rule none-LANE -o json | answers
preview --rule hard-LANE --abort-if devices.selected>0 | is refused
devices DRIVER -o json | answers
devices DRIVER | answers
list none-LANE hold-LANE hard-LANE -o json | answers
list -l lane=LANE | answers
list -l lane=LANE -o name | answers
describe hard-LANE -o json | answers
describe hold-LANE | answers
snapshot | answers
wait hard-LANE --for observed --timeout 5s | answers
wait absent-LANE --for deleted --ignore-not-found --timeout 5s | answers
wait none-LANE hard-LANE --for deleted --timeout 1s | is refused
wait hard-LANE --for evicted --timeout 1s --settle 0s | is refused
add GPU0 GPU1 KEY=new --labels lane=LANE | answers
add GPU0 KEY=new --name new-LANE --reason r --expires 4h | gives new None
add GPU0 KEY=new:NoExecute --yes --name new-LANE | gives new NoExecute
add GPU0 KEY=x:NoSchedule --yes --overwrite --name none-LANE | gives none NoSchedule
add GPU0 KEY=new:NoExecute --yes --abort-if pods.evicted>0 | is refused
add GPU0 KEY=new:NoExecute --yes --dry-run=server | changes nothing
escalate none-LANE --to NoSchedule --yes | gives none NoSchedule
escalate none-LANE hold-LANE --to NoExecute --yes | gives none hold NoExecute
escalate none-LANE --to NoExecute --yes --abort-if pods.evicted>0 | is refused
escalate none-LANE --to NoExecute --yes --dry-run=server | changes nothing
escalate none-LANE --to NoExecute --yes --wait --timeout 1s | is refused
deescalate hold-LANE hard-LANE --to None | gives hold hard None
deescalate hard-LANE --to NoSchedule | gives hard NoSchedule
remove hold-LANE --yes --others | removes hold
remove none-LANE hold-LANE hard-LANE --yes --others | removes none hold hard
remove -l lane=LANE --yes --others | removes none hold hard
remove GPU0 KEY- --yes --others | removes none
remove absent-LANE --ignore-not-found | changes nothing
remove -l lane=LANE --yes --others --dry-run=server | changes nothing
remove none-LANE hold-LANE --yes --others -o json | removes none hold
remove held-LANE --yes --others | removes held
remove held-LANE none-LANE gone-LANE --yes --others -o json | removes held none gone
add GPU0 KEY=new --name new-LANE | gives new None
add GPU0 GPU1 KEY=new | answers
add GPU0 KEY=x --name none-LANE --reason because | gives none None
escalate none-LANE --to NoSchedule --yes -o json | gives none NoSchedule
deescalate hold-LANE hard-LANE --to None -o json | gives hold hard None
preview GPU0 KEY=z:NoExecute --publish --cleanup | is stopped
preview GPU0 GPU1 KEY=z:NoExecute --publish | is stopped
dedicate GPU0 --to default --name new-LANE --yes | answers
";

/// All commands.
pub static COMMANDS: LazyLock<Vec<(&str, Goal)>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter_map(|row| row.split_once(" | "));
    rows.map(|(line, goal)| (line, Goal::parse(goal))).collect()
});

impl Goal {
    fn parse(text: &'static str) -> Self {
        let mut words: Vec<&str> = text.split(' ').collect();
        match words.remove(0) {
            "answers" => Self::Answer,
            "changes" => Self::Nothing,
            "is" if words == ["refused"] => Self::Refused,
            "is" => Self::BrokenOff,
            "removes" => Self::Gone(words),
            _ => {
                let effect = words.pop().expect("an effect");
                Self::Effect(words, effect)
            }
        }
    }
}
