//! What comes next for whoever has looked at it?

use super::parse::{By, Choice};
use crate::model::{DeviceSelector, Effect};
use crate::naming::device;
use crate::naming::shell::word;
use crate::report::life::after_add;

impl Choice {
    /// What to do after a look at this, as a command to paste; absent where that is not clear.
    /// `effect_of` is what the rule of a name does now. Where that evicts, the command agrees to what was
    /// looked at, whose digest is `seen`, and to nothing else.
    #[must_use]
    pub fn next(&self, effect_of: impl Fn(&str) -> Option<Effect>, seen: &str) -> Option<String> {
        let agreed = format!(" --expect {seen}");
        let targets = match (&self.by, &self.taint) {
            (By::Selectors(_), None) | (By::Picked(..), _) => return None,
            (By::Selectors(selectors), Some(taint)) => {
                let devices = selectors.iter().map(named_for_add);
                let devices = devices.collect::<Option<Vec<_>>>()?;
                let evicts = taint.effect == Effect::NoExecute;
                let agreed = if evicts { agreed.as_str() } else { "" };
                format!("{} {}{agreed}", devices.join(" "), word(&taint.to_string()))
            }
            (By::Rules(names), _) => {
                let effects = names.iter().map(|name| effect_of(name));
                let effects = effects.collect::<Option<Vec<_>>>()?;
                let evicting = |effect: &Effect| *effect == Effect::NoExecute;
                let least = effects.iter().find(|effect| !evicting(effect));
                let next = after_add(&names.join(" "), least.unwrap_or(&Effect::NoExecute));
                // What evicts already is not what this agrees to.
                let agreed = if effects.iter().any(evicting) {
                    ""
                } else {
                    agreed.as_str()
                };
                return Some(format!("{next}{agreed}"));
            }
            (By::Manifests(files), _) => {
                let files = files.iter().map(|file| file.display().to_string());
                let files = files.map(|file| format!("-f {}", word(&file)));
                files.collect::<Vec<_>>().join(" ")
            }
        };
        Some(format!("next: kubectl devicetaint add {targets}"))
    }
}

/// The devices as `add` takes them; all devices have no name there.
fn named_for_add(selector: &DeviceSelector) -> Option<String> {
    (*selector != DeviceSelector::default()).then(|| word(&device::format(selector)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::choice::{Purpose, Typed};

    fn typed(arguments: &[&str]) -> Typed {
        Typed {
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            ..Typed::default()
        }
    }

    #[test]
    fn what_comes_next_can_be_pasted() {
        let effect_of = |name: &str| match name {
            "quiet" | "silent" => Some(Effect::None),
            "evicting" => Some(Effect::NoExecute),
            _ => None,
        };
        let rules = |names: &[&str]| Typed {
            rules: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Typed::default()
        };
        for (name, typed, next) in [
            ("no taint was named", typed(&["gpu.example.com"]), None),
            (
                "what was looked at",
                typed(&["gpu.example.com/node-7/*", "a.example.com/k=v:None"]),
                Some("add 'gpu.example.com/node-7/*' a.example.com/k=v:None"),
            ),
            (
                "whom it evicts",
                typed(&["gpu.example.com/node-7/*", "a.example.com/k=v:NoExecute"]),
                Some(
                    "add 'gpu.example.com/node-7/*' a.example.com/k=v:NoExecute --expect sha256:ab",
                ),
            ),
            (
                "rules that do nothing yet",
                rules(&["quiet", "silent"]),
                Some("escalate quiet silent --to NoExecute --wait --expect sha256:ab"),
            ),
            (
                "a rule that does nothing yet",
                rules(&["quiet", "evicting"]),
                Some("escalate quiet evicting --to NoExecute --wait"),
            ),
            (
                "one that evicts",
                rules(&["evicting"]),
                Some("wait evicting --for evicted"),
            ),
            (
                "a file",
                Typed {
                    filenames: vec!["my rule.yaml".into()],
                    ..Typed::default()
                },
                Some("add -f 'my rule.yaml'"),
            ),
        ] {
            let choice = Choice::parse(&typed, Purpose::Look).unwrap();
            let expected = next.map(|next| format!("next: kubectl devicetaint {next}"));
            assert_eq!(choice.next(effect_of, "sha256:ab"), expected, "{name}");
        }
    }
}
