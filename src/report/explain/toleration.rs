//! Match of a toleration with a taint, in words.

use crate::engine::tolerate::TolerationMismatch;
use crate::model::{Effect, Toleration};

/// A toleration beside the taint, and if it does not cover it, which field differs.
pub(super) fn describe(
    toleration: &Toleration,
    differences: &[TolerationMismatch],
    decides: bool,
) -> String {
    if differences.is_empty() {
        let decides = match (decides, toleration.seconds) {
            (false, _) => "",
            (true, None) => ", so the taint does not evict",
            (true, Some(_)) => ", and determines when the taint evicts",
        };
        return format!("toleration {toleration} matches{decides}");
    }
    let fields: Vec<String> = differences
        .iter()
        .map(|difference| different(*difference, toleration))
        .collect();
    format!(
        "toleration {toleration} does not match: {}",
        fields.join(", ")
    )
}

fn different(difference: TolerationMismatch, toleration: &Toleration) -> String {
    match difference {
        TolerationMismatch::Key => format!("its key is {}", toleration.key),
        // In quotation marks, since the value may be empty.
        TolerationMismatch::Value => format!("its value is {:?}", toleration.value),
        TolerationMismatch::Operator => format!("its operator is {}", toleration.operator.as_str()),
        TolerationMismatch::Effect => {
            let effect = toleration.effect.as_ref().map_or("", Effect::as_str);
            format!("its effect is {effect}")
        }
        TolerationMismatch::NoEffect => {
            "its effect is not set, which tolerates NoExecute since Kubernetes 1.38".to_owned()
        }
    }
}
