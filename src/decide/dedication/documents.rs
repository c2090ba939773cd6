//! Tolerations as documents.

use serde_json::{Value, json};

use crate::decide::choice::{not_found, wrong_name, wrong_name_or_taint};
use crate::engine::{self, Semantics};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, Snapshot, Taint};
use crate::naming::{device, taint};

/// The taint that was typed: what has `=` or `:` in it is one.
///
/// # Errors
///
/// A taint that can be none, without an effect, or with effect None; what is a part of a device at most.
pub fn typed_taint(text: &str) -> Result<Option<Taint>, Failure> {
    if !text.contains(['=', ':']) {
        return Ok(None);
    }
    if !text.contains(':') {
        return Err(
            Failure::usage(format!("taint {text} needs an effect")).hint(format!(
                "add an effect: {text}:NoSchedule or {text}:NoExecute"
            )),
        );
    }
    let taint = taint::parse(text).map_err(wrong_name)?;
    if taint.effect == Effect::None {
        return Err(needs_none(text, [&taint]));
    }
    Ok(Some(taint))
}

/// The taints of the rule or the device that was typed; such with effect None need no toleration.
///
/// # Errors
///
/// The text names neither an existing rule nor an existing device, or one without taint.
pub fn taints_meant(
    text: &str,
    rules: &[DeviceTaintRule],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<Vec<Taint>, Failure> {
    // The name of a rule has no slash, and the full name of a device has two or more.
    let taints = if text.contains('/') {
        of_device(text, snapshot, semantics)?
    } else {
        let rule = rules.iter().find(|rule| rule.name.as_str() == text);
        let names = rules.iter().map(|rule| rule.name.to_string());
        let rule = rule.ok_or_else(|| not_found("rule", text, names))?;
        vec![rule.taint.clone()]
    };
    let mut meant: Vec<Taint> = Vec::new();
    for taint in taints.iter().cloned() {
        // Rules made at different times give the same taint, and one toleration covers it.
        let taint = Taint {
            time_added: None,
            ..taint
        };
        if taint.effect != Effect::None && !meant.contains(&taint) {
            meant.push(taint);
        }
    }
    if meant.is_empty() {
        return Err(needs_none(text, &taints));
    }
    Ok(meant)
}

/// The failure for something that has none but these taints, which have effect None.
fn needs_none<'t>(text: &str, taints: impl IntoIterator<Item = &'t Taint>) -> Failure {
    let Some(taint) = taints.into_iter().next() else {
        return Failure::usage(format!("{text} needs no toleration: it has no taint"));
    };
    let evicting = Taint {
        effect: Effect::NoExecute,
        ..taint.clone()
    };
    Failure::usage(format!("{text} needs no toleration: it has effect None")).hint(format!(
        "for effect NoExecute: `kubectl devicetaint tolerations {evicting}`"
    ))
}

fn of_device(
    text: &str,
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<Vec<Taint>, Failure> {
    let selector =
        device::parse(text).map_err(|error| wrong_name_or_taint(error, &Effect::NoSchedule))?;
    let states = engine::devices(snapshot, semantics);
    let found: Vec<_> = states
        .iter()
        .filter(|state| device::names(&selector, &state.id))
        .collect();
    if found.is_empty() {
        let names = states.iter().map(|state| state.id.to_string());
        return Err(not_found("device", text, names));
    }
    let taints = found.iter().flat_map(|state| &state.taints);
    Ok(taints.map(|taint| taint.taint.clone()).collect())
}

/// The document that tolerates these taints: the list of tolerations of a request.
pub fn toleration_document(taints: &[Taint]) -> Value {
    json!({"tolerations": snippet(taints)})
}

fn snippet(taints: &[Taint]) -> Vec<Value> {
    let tolerations = taints.iter().map(|taint| {
        if taint.value.is_empty() {
            json!({"key": taint.key, "operator": "Exists", "effect": taint.effect.as_str()})
        } else {
            json!({
                "key": taint.key, "operator": "Equal", "value": taint.value,
                "effect": taint.effect.as_str(),
            })
        }
    });
    tolerations.collect()
}

/// Pitfalls of these lines.
pub fn traps(taints: &[Taint]) -> Vec<String> {
    let evicts = taints.iter().any(|taint| taint.effect.evicts());
    let mut lines = vec![
        "add the lines under `exactly` of each request, or to each entry of its `firstAvailable`"
            .to_owned(),
    ];
    if evicts {
        lines.push(
            "keep `effect: NoExecute`: the eviction controller ignores device tolerations without an \
             effect, so each replacement pod would be scheduled to the device and evicted again"
                .to_owned(),
        );
    } else {
        lines.push(
            "a toleration with effect NoSchedule does not tolerate effect NoExecute: if the taint \
             is escalated, pods of claims with this toleration are evicted"
                .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint_of(text: &str) -> Taint {
        typed_taint(text).unwrap().unwrap()
    }

    #[test]
    fn a_word_is_a_taint_if_it_has_a_value_or_an_effect() {
        assert_eq!(taint_of("a=b:NoSchedule").to_string(), "a=b:NoSchedule");
        assert_eq!(typed_taint("drain-node-7").unwrap(), None);
        assert_eq!(typed_taint("node-7/gpu-0").unwrap(), None);
        assert_eq!(typed_taint("gpu.example.com/node-7/gpu-0").unwrap(), None);
        assert!(typed_taint("a=b").is_err());
        assert!(typed_taint("a=b:None").is_err());
    }

    #[test]
    fn lines_have_the_effect_and_tolerate_exactly_the_taint() {
        let lines = toleration_document(&[taint_of("a=b:NoExecute"), taint_of("c:NoSchedule")]);
        assert_eq!(
            lines,
            json!({"tolerations": [
                {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute"},
                {"key": "c", "operator": "Exists", "effect": "NoSchedule"},
            ]})
        );
    }

    #[test]
    fn the_trap_is_told_for_the_effect_that_the_taint_has() {
        assert!(traps(&[taint_of("a:NoExecute")])[1].contains("keep `effect: NoExecute`"));
        assert!(traps(&[taint_of("a:NoSchedule")])[1].contains("escalated"));
    }
}
