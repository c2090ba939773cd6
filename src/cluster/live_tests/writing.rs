//! Changes whose response cannot be trusted are looked up.

use super::server::{Answer, RULES, Server};
use crate::cluster::{
    ChangeResult, ClusterError, ConflictAction, ObjectChange, ObjectVersion, Removal, Rules,
    WriteMode, discover,
};
use crate::decide::{RuleDraft, RulePatch};
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, Taint};

const RULE: &str = "/apis/resource.k8s.io/v1/devicetaintrules/r";

fn rule(uid: &str, effect: &str) -> Answer {
    Answer::json(&format!(
        r#"{{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1",
            "metadata":{{"name":"r","uid":"{uid}","resourceVersion":"5","generation":1}},
            "spec":{{"deviceSelector":{{}},"taint":{{"key":"k","effect":"{effect}","timeAdded":"2026-11-21T04:43:27Z"}}}}}}"#
    ))
}

fn absent() -> Answer {
    Answer::absent("devicetaintrules", "r")
}

fn draft() -> RuleDraft {
    RuleDraft {
        name: "r".to_owned(),
        selector: DeviceSelector::default(),
        taint: Taint {
            key: "k".into(),
            effect: Effect::NoExecute,
            ..Taint::default()
        },
        labels: Default::default(),
        annotations: Default::default(),
        manifest: None,
    }
}

async fn rules(server: &Server) -> (Rules, DeviceTaintRule) {
    let (client, _) = server.client().await;
    let served = discover(&client).await.expect("discovery");
    let rules = Rules::new(&client, &served).expect("rules");
    server.answer(RULE, [rule("u", "NoExecute")]);
    let stored = rules.get("r").await.expect("an answer").expect("a rule");
    (rules, stored.fact)
}

fn state(rule: &DeviceTaintRule) -> ObjectVersion {
    ObjectVersion {
        uid: rule.uid.to_string(),
        resource_version: rule.resource_version.clone(),
    }
}

/// Makes a change; who is overtaken gives up.
async fn change(rules: &Rules, change: ObjectChange) -> Result<(), ClusterError> {
    let overtaken = |_: Option<&_>| ConflictAction::End(());
    match rules
        .change("r", change, WriteMode::Store, overtaken)
        .await?
    {
        ChangeResult::Done(_) => Ok(()),
        ChangeResult::Removed(removal) => {
            assert_ne!(removal, Removal::Requested, "it was read");
            Ok(())
        }
        ChangeResult::Ended((), _) => panic!("no concurrent change"),
    }
}

async fn delete(rules: &Rules, found: &DeviceTaintRule) -> Result<(), ClusterError> {
    change(rules, ObjectChange::Delete { on: state(found) }).await
}

async fn create(rules: &Rules) -> Result<(), ClusterError> {
    let object = draft().object(rules.api_version());
    change(rules, ObjectChange::Create { object }).await
}

async fn patch(rules: &Rules, found: &DeviceTaintRule) -> Result<(), ClusterError> {
    let patch = RulePatch {
        effect: Some(Effect::NoSchedule),
        ..RulePatch::default()
    };
    let (on, patch) = (state(found), patch.body());
    change(rules, ObjectChange::Patch { on, patch }).await
}

/// Responses after which the outcome of a change is unknown.
fn lost() -> Vec<Answer> {
    vec![
        Answer::page(404),
        Answer::page(401),
        Answer::page(403),
        Answer::page(409),
        Answer::page(422),
        Answer::page(408),
        Answer::page(302),
        Answer::page(502),
        Answer::page(200),
        Answer::refused(400, "bad request"),
        Answer::status(413, "RequestEntityTooLarge", "too large"),
        Answer::status(422, "Invalid", "no"),
        Answer::json(r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#),
        Answer::json(
            r#"{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"r","uid":"v"}}"#,
        ),
        Answer::busy(429, 0),
        Answer::busy(503, 0),
        Answer::status(500, "InternalError", "etcd is slow"),
        Answer::status(504, "Timeout", "may still be processing"),
        Answer::json("{}"),
        Answer::json("null"),
        Answer::json(r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":409}"#),
        Answer::Resets,
        Answer::Breaks(200, b"{\"kind\":\"Status\"}".to_vec(), 5),
        Answer::half_absent("devicetaintrules", "r"),
    ]
}

#[tokio::test]
async fn deletion_whose_answer_cannot_be_believed_is_looked_up() {
    let server = Server::start().await;
    let (rules, found) = rules(&server).await;
    for answer in lost() {
        server.answer(&format!("DELETE {RULE}"), [answer.clone()]);
        server.answer(RULE, [rule("u", "NoExecute")]);
        let deleted = delete(&rules, &found).await;
        assert!(deleted.is_err(), "it stands: {answer:?}");
        server.answer(RULE, [absent()]);
        let deleted = delete(&rules, &found).await;
        assert!(deleted.is_ok(), "it is gone: {answer:?}: {deleted:?}");
        server.answer(RULE, [Answer::page(404)]);
        let deleted = delete(&rules, &found).await;
        assert!(
            matches!(deleted, Err(ClusterError::Unresolved { .. })),
            "unknown: {answer:?}: {deleted:?}"
        );
    }
}

#[tokio::test]
async fn creation_whose_answer_cannot_be_believed_is_looked_up() {
    let server = Server::start().await;
    let (rules, _) = rules(&server).await;
    for answer in lost() {
        server.answer(&format!("POST {RULES}"), [answer.clone()]);
        server.answer(RULE, [rule("u", "NoExecute")]);
        let made = create(&rules).await;
        assert!(made.is_ok(), "it is there: {answer:?}: {made:?}");
        server.answer(RULE, [absent()]);
        let made = create(&rules).await;
        assert!(made.is_err(), "it is not: {answer:?}");
    }
}

#[tokio::test]
async fn patch_whose_answer_cannot_be_believed_is_looked_up() {
    let server = Server::start().await;
    let (rules, found) = rules(&server).await;
    for answer in lost() {
        server.answer(&format!("PATCH {RULE}"), [answer.clone()]);
        server.answer(RULE, [rule("u", "NoSchedule")]);
        let patched = patch(&rules, &found).await;
        assert!(patched.is_ok(), "it is changed: {answer:?}: {patched:?}");
        server.answer(RULE, [rule("u", "NoExecute")]);
        let patched = patch(&rules, &found).await;
        assert!(patched.is_err(), "it is not: {answer:?}");
    }
}

#[tokio::test]
async fn change_that_a_busy_server_has_not_looked_at_is_sent_again() {
    let server = Server::start().await;
    let (rules, found) = rules(&server).await;
    let text = vec![
        "Content-Type: text/plain; charset=utf-8".to_owned(),
        "Retry-After: 0".to_owned(),
    ];
    let words = b"Too many requests, please try again later.\n".to_vec();
    let done = r#"{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"r","uid":"u"}}"#;
    server.answer(
        &format!("DELETE {RULE}"),
        [
            Answer::Whole(429, text, words),
            Answer::status(429, "TooManyRequests", "later"),
            Answer::json(done),
        ],
    );
    server.answer(RULE, [absent()]);
    delete(&rules, &found).await.expect("deleted");
}
