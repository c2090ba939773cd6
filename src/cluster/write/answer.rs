//! Checks that responses to writes are about the object that was changed.

use serde_json::Value;

use super::stored::{Known, Stored};
use crate::wire::{Documents, Version};

/// Reply of a server to a deletion.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// The server deletes the object of that UID, at once or as soon as nothing holds it.
    Accepted,
    /// It was refused: the server's code and words.
    Refused(u16, String),
}

/// The object that a body is.
///
/// # Errors
///
/// If it is not one of this version's kind: the reason.
pub(super) fn object<T: Known>(version: &Version, body: &[u8]) -> Result<Stored<T>, String> {
    let object: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let kind = object["kind"].as_str().unwrap_or_default();
    if kind != version.kind.as_str() {
        return Err(match kind {
            "" => "it has no kind".to_owned(),
            kind => format!("it is a {kind}, not a {}", version.kind),
        });
    }
    let mut documents = Documents::new();
    let decoded = documents.decode_json(&object.to_string());
    decoded.map_err(|error| error.to_string())?;
    let item = documents.finish().items.pop();
    match item.and_then(|item| T::known(item.object)) {
        Some(fact) => Ok(Stored { object, fact }),
        None => Err(format!("it is not a {}", version.kind)),
    }
}

/// The object of that name that a body is.
///
/// # Errors
///
/// If it is not: the reason.
pub(super) fn named<T: Known>(
    version: &Version,
    name: &str,
    body: &[u8],
) -> Result<Stored<T>, String> {
    let stored = object(version, body)?;
    let found = stored.object["metadata"]["name"].as_str();
    if found == Some(name) {
        return Ok(stored);
    }
    let found = found.unwrap_or_default();
    Err(format!("its name is {found:?}, not {name:?}"))
}

/// Reply in a body to the deletion of the object of that name and UID. Servers send the object, or a
/// `Status`, which may be of a failure; a success without the UID may be one of anything.
///
/// Upstream: `DeleteResource` in `apiserver/pkg/endpoints/handlers/delete.go`.
///
/// # Errors
///
/// If it says nothing about the deletion: the reason.
pub(super) fn deletion<T: Known>(
    version: &Version,
    name: &str,
    uid: &str,
    body: &[u8],
) -> Result<Deletion, String> {
    let answer: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let accepted = |about: &Value| match about["uid"].as_str() {
        // By UID: an object that was recreated has the same name.
        Some(found) if found == uid => Ok(Deletion::Accepted),
        Some(_) => Err(format!(
            "the server replied with another object of the name {name:?}"
        )),
        None => Err("it does not name the deleted object".to_owned()),
    };
    // Versions before v1 reply with the deleted object. Upstream: `returnDeletedObject` in the storage of
    // rules.
    if answer["kind"].as_str() != Some("Status") {
        named::<T>(version, name, body)?;
        return accepted(&answer["metadata"]);
    }
    match answer["status"].as_str() {
        Some("Success") => accepted(&answer["details"]),
        Some("Failure") => {
            let code = answer["code"]
                .as_u64()
                .and_then(|code| code.try_into().ok());
            let message = answer["message"].as_str().unwrap_or("no reason given");
            Ok(Deletion::Refused(
                code.unwrap_or_default(),
                message.to_owned(),
            ))
        }
        Some(_) | None => Err("it is a Status that is neither Success nor Failure".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceTaintRule, Kind};
    use crate::wire::versions_of;

    const RULE: &str = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"drain","uid":"u"},"spec":{"taint":{"key":"a","effect":"None"}}}"#;

    fn version() -> &'static Version {
        versions_of(Kind::DeviceTaintRule).next().unwrap()
    }

    fn deleted(body: &str) -> Result<Deletion, String> {
        deletion::<DeviceTaintRule>(version(), "drain", "u", body.as_bytes())
    }

    #[test]
    fn only_the_object_that_was_asked_about_is_an_answer() {
        let read = |name, body: &str| named::<DeviceTaintRule>(version(), name, body.as_bytes());
        let stored = read("drain", RULE).unwrap();
        assert_eq!(stored.fact.uid.as_str(), "u");
        for (name, body, said) in [
            ("other", RULE, r#"its name is "drain", not "other""#),
            ("drain", "{}", "it has no kind"),
            ("drain", "null", "it has no kind"),
            (
                "drain",
                r#"{"kind":"Status","status":"Success"}"#,
                "it is a Status, not a DeviceTaintRule",
            ),
            (
                "drain",
                r#"{"kind":"PodList","items":[]}"#,
                "it is a PodList, not a DeviceTaintRule",
            ),
            ("drain", "<html>", "expected value"),
        ] {
            let reason = read(name, body).unwrap_err();
            assert!(reason.contains(said), "{body}: {reason}");
        }
    }

    #[test]
    fn a_failed_deletion_is_a_failure_and_what_is_no_answer_is_none() {
        assert_eq!(deleted(RULE), Ok(Deletion::Accepted));
        assert_eq!(
            deleted(r#"{"kind":"Status","status":"Success","details":{"name":"drain","uid":"u"}}"#),
            Ok(Deletion::Accepted)
        );
        let failure = r#"{"kind":"Status","status":"Failure","code":409,"message":"held"}"#;
        assert_eq!(
            deleted(failure),
            Ok(Deletion::Refused(409, "held".to_owned()))
        );
        for body in [
            "{}",
            "null",
            "[]",
            r#"{"kind":"Status"}"#,
            r#"{"kind":"Status","status":"Success"}"#,
            r#"{"kind":"Status","status":"Success","details":{"name":"drain","uid":"v"}}"#,
            &RULE.replace("drain", "other"),
            &RULE.replace(r#""uid":"u""#, r#""uid":"v""#),
        ] {
            assert!(deleted(body).is_err(), "{body}");
        }
    }
}
