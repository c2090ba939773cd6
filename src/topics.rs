//! Topics of `help`, and their texts: exit codes, guards, hazards and selectors.

use crate::assess::{Hazard, Signal};
use crate::error::ExitStatus;

/// Width of these texts, for terminals as narrow as most begin.
const WIDTH: usize = 80;

/// A term and what it means, in as many lines as that takes.
fn explained(term: &str, meaning: &str) -> String {
    // Lines after the first hang below the meaning, so that terms can be found by eye.
    let indent = " ".repeat(textwrap::core::display_width(term).saturating_add(2));
    let options = textwrap::Options::new(WIDTH).subsequent_indent(&indent);
    textwrap::fill(&format!("{term}  {meaning}"), options) + "\n"
}

/// Something that is explained, and is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Exit codes of the program.
    ExitCodes,
    /// Values of `--abort-if`.
    Guards,
    /// Codes in the reports' column RISKS.
    Hazards,
    /// Names of devices, taints and rules.
    Selectors,
}

impl Topic {
    /// Every topic, by name.
    pub const ALL: [Self; 4] = [
        Self::ExitCodes,
        Self::Guards,
        Self::Hazards,
        Self::Selectors,
    ];

    /// The word by which it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExitCodes => "exit-codes",
            Self::Guards => "guards",
            Self::Hazards => "hazards",
            Self::Selectors => "selectors",
        }
    }

    /// The topic of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }

    /// The explanation, in lines that fit a terminal of 80 columns.
    pub fn text(self) -> String {
        match self {
            Self::ExitCodes => exit_codes(),
            Self::Guards => guards(),
            Self::Hazards => hazards(),
            Self::Selectors => SELECTORS.to_owned(),
        }
    }
}

fn exit_codes() -> String {
    let line = |status: ExitStatus| explained(&format!("{:>3}", status.code()), status.meaning());
    ExitStatus::ALL.into_iter().map(line).collect()
}

fn hazards() -> String {
    let width = Hazard::ALL
        .iter()
        .map(|hazard| hazard.code().len())
        .max()
        .unwrap_or_default();
    let line = |hazard: Hazard| {
        let (code, severity) = (hazard.code(), hazard.severity().as_str());
        explained(&format!("{code:width$}  {severity:7}"), hazard.meaning())
    };
    let hazards: String = Hazard::ALL.into_iter().map(line).collect();
    format!(
        "What may go wrong if a pod is evicted, or if it stays. The second column is the\nseverity: danger, warning or notice (from worst to least). The severity of a pod\nis that of its worst hazard.\n\n{hazards}\nJSON and YAML write these codes in PascalCase: PdbViolated for pdb-violated.\n"
    )
}

fn guards() -> String {
    let signals: String = Signal::ALL
        .into_iter()
        .map(|signal| explained(&format!("  {:20}", signal.name()), signal.meaning()))
        .collect();
    format!(
        "A guard is SIGNAL OPERATOR QUANTITY, such as 'pods.evicted>20' or\n\
         'devices.selected>=50%'. QUANTITY is a whole number, or a percentage if the\nsignal has \
         a % in the list. A guard trips if the comparison is true, or may be\ntrue because \
         the value is unknown.\n\nIf a guard of --abort-if trips, the command \
         changes nothing and\nexits with code 4.\n\nSignals:\n{signals}\nOperators: > >= < <= == !=\n"
    )
}

const SELECTORS: &str = "\
A DEVICE is DRIVER/POOL/DEVICE, as Kubernetes prints it. Pool names may contain
slashes: the first part is the driver, the last the device. `*` matches any
driver, pool or device. The name of a driver selects all its devices:

  gpu.example.com/node-7/gpu-0   one device
  'gpu.example.com/node-7/*'     all devices of a pool
  '*/node-7/*'                   all devices of all pools named node-7
  gpu.example.com                all devices of a driver

A DEVICE can also be a hardware ID that the driver publishes: a UUID, a PCI
address, or an attribute such as serial with its value:

  GPU-18dbab44-5c1c-4fd4-8f0f-61c1ba1e2f0a
  0000:17:00.0
  serial=1423022041312

Several names and hardware IDs select every device that matches one of them.
--where and --node then keep only the devices that match all of these flags.

--all-devices selects every device. Quote arguments that contain `*`.

A TAINT is KEY[=VALUE][:EFFECT], where EFFECT is None, NoSchedule or NoExecute
(default: None; the command `tolerations` requires an effect):

  example.com/maintenance=firmware:NoExecute

A RULE is the name of a DeviceTaintRule, with or without
devicetaintrule.resource.k8s.io/ before it. Commands whose usage shows
RULE|DEVICE KEY, such as `escalate`, `list` and `wait`, also accept:

  DEVICE KEY      rules that taint exactly DEVICE with a taint of this KEY;
                  a final `-`, as in `kubectl taint`, is ignored

In these commands, -l selects rules by labels.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_found_by_its_name() {
        for topic in Topic::ALL {
            assert_eq!(Topic::named(topic.name()), Some(topic));
        }
        assert_eq!(Topic::named("preview"), None);
    }
}
