//! Commands against a server of a few lines.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::cli::run_in;
use super::context::Context;
use crate::cluster::live_tests::server::{Answer, RULES, Server, TEMPLATES, resources, templates};
use crate::error::{ExitStatus, Failure};
use crate::output::Printer;

/// Written text.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Heard {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A command, and its output.
struct Run {
    context: Context,
    stdout: Heard,
    stderr: Heard,
}

impl Run {
    fn on(server: &Server) -> Self {
        let (stdout, stderr) = (Heard::default(), Heard::default());
        let printer = Printer::plain(stdout.clone(), stderr.clone());
        Self {
            context: Context::plain(printer, server.options()),
            stdout,
            stderr,
        }
    }

    async fn of(&self, line: &str) -> Result<ExitStatus, Failure> {
        let words: Vec<&str> = line.split(' ').collect();
        run_in(&words, &self.context).await
    }
}

/// The document that a command prints.
async fn document(server: &Server, line: &str) -> serde_json::Value {
    let run = Run::on(server);
    let outcome = run.of(line).await;
    assert!(outcome.is_ok(), "{line}: {outcome:?} {}", run.stderr.text());
    serde_json::from_str(&run.stdout.text()).unwrap()
}

async fn failure(server: &Server, line: &str) -> Failure {
    let run = Run::on(server);
    let outcome = run.of(line).await;
    outcome.expect_err(&format!(
        "{line}: {}{}",
        run.stdout.text(),
        run.stderr.text()
    ))
}

const READING_RULES: [&str; 3] = ["list", "describe drain", "preview --rule drain"];

#[tokio::test]
async fn a_server_without_rules_is_told_apart_from_one_that_has_none() {
    let server = Server::start().await;
    let devices = ["resourceslices", "resourceclaims", "deviceclasses"];
    server.answer("/apis/resource.k8s.io/v1", [resources(&devices)]);
    server.answer("/version", [Answer::json(r#"{"gitVersion":"v1.36.2"}"#)]);
    for line in READING_RULES {
        let failure = failure(&server, line).await;
        assert_eq!(failure.status(), ExitStatus::Failed, "{line}");
        let hints = failure.hints().join(" ");
        assert!(
            hints.contains("DRADeviceTaintRules"),
            "{line}: {failure} {hints}"
        );
    }
    // Devices have taints of their drivers all the same.
    assert!(Run::on(&server).of("devices").await.is_ok());
}

#[tokio::test]
async fn a_server_that_does_not_tell_the_time_is_answered_by_this_clock_and_that_is_said() {
    let server = Server::start().await;
    server.forget_the_time();
    for line in ["list", "devices", "preview gpu.example.com/node-1/gpu-1"] {
        let run = Run::on(&server);
        assert!(run.of(line).await.is_ok(), "{line}");
        let told = run.stderr.text();
        assert!(told.contains("clock of this machine"), "{line}: {told}");
    }
    let report = document(&server, "preview gpu.example.com/node-1/gpu-1 -o json").await;
    let mut codes = report["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["reason"]);
    assert!(codes.any(|code| code == "ClockOfThisMachine"), "{report}");
}

#[tokio::test]
async fn what_is_odd_about_events_is_passed_on() {
    let server = server_with_a_rule(NEWEST).await;
    let event = r#"{"metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"DeviceTaintRule","name":"drain"},"type":"Normal","reason":"Seen","message":"by somebody"}"#;
    server.answer(
        "/api/v1/events?fieldSelector=involvedObject.kind%3DDeviceTaintRule%2CinvolvedObject.name%3Ddrain&limit=1000",
        [Answer::json(&format!(
            r#"{{"apiVersion":"v1","kind":"EventList","metadata":{{}},"items":[{event},{event}]}}"#
        ))],
    );
    let told = document(&server, "describe drain -o json")
        .await
        .to_string();
    assert!(told.contains("DuplicateObject"), "{told}");
}

#[tokio::test]
async fn rules_that_are_printed_as_they_are_are_listed_once() {
    let server = Server::start().await;
    document(&server, "list -o json").await;
    assert_eq!(server.count(RULES), 1, "{:?}", server.requests());
}

/// A server of that release, with one rule.
async fn server_with_a_rule(version: &str) -> Server {
    let server = Server::start().await;
    server.answer("/version", [Answer::json(version)]);
    let rule = r#"{"kind":"DeviceTaintRule","apiVersion":"resource.k8s.io/v1","metadata":{"name":"drain","uid":"u","resourceVersion":"8"},"spec":{"deviceSelector":{"pool":"node-9"},"taint":{"key":"a","effect":"None"}}}"#;
    let list = format!(
        r#"{{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{{"resourceVersion":"8"}},"items":[{rule}]}}"#
    );
    server.answer(RULES, [Answer::json(&list)]);
    server
}

const NEWEST: &str = r#"{"gitVersion":"v1.37.0"}"#;

#[tokio::test]
async fn what_needs_an_answer_is_refused_where_nobody_can_be_asked_and_nothing_is_sent() {
    let server = server_with_a_rule(NEWEST).await;
    for line in [
        "add gpu.example.com/node-1/gpu-1 a.example.com/k:NoExecute",
        "escalate drain --to NoExecute",
        // Another program has made the rule.
        "remove drain",
        "remove --all --yes",
    ] {
        let refused = failure(&server, line).await;
        assert_eq!(refused.status(), ExitStatus::Refused, "{line}: {refused}");
        let heads = server.heads();
        assert!(heads.iter().all(|head| head.starts_with("get ")), "{line}");
    }
}

const BROKEN: &str = r#"{"gitVersion":"v1.36.2-gke.1"}"#;

#[tokio::test]
async fn a_release_whose_scheduler_any_rule_can_break_needs_a_guard_beside_yes() {
    let server = server_with_a_rule(BROKEN).await;
    let guard = "--abort-if pods.evicted>9";
    for (line, way_out) in [
        (
            "add gpu.example.com/node-1/gpu-1 a.example.com/k:None",
            "--yes --abort-if",
        ),
        (
            "add gpu.example.com/node-1/gpu-1 a.example.com/k:NoExecute --yes",
            "",
        ),
        ("escalate drain --to NoSchedule --yes", ""),
        (
            "preview gpu.example.com/node-1/gpu-1 a.example.com/k:NoExecute --publish",
            "",
        ),
    ] {
        let run = Run::on(&server);
        let refused = run.of(line).await.unwrap_err();
        assert_eq!(refused.status(), ExitStatus::Refused, "{line}: {refused}");
        assert!(refused.to_string().contains(way_out), "{line}: {refused}");
        let reason = format!("{refused} {}", refused.details().join(" "));
        assert!(reason.contains("kubernetes#139651"), "{line}: {reason}");
        let heads = server.heads();
        let changes = |head: &&String| !head.starts_with("get ");
        assert_eq!(heads.iter().find(changes), None, "{line}");
    }
    for line in [
        format!("add gpu.example.com/node-1/gpu-1 a.example.com/k:None --yes --dry-run {guard}"),
        format!("escalate drain --to NoSchedule --yes --dry-run {guard}"),
    ] {
        let run = Run::on(&server);
        let outcome = run.of(&line).await;
        let stderr = run.stderr.text();
        assert!(outcome.is_ok(), "{line}: {outcome:?} {stderr}");
        assert!(stderr.contains("kubernetes#139651"), "{line}: {stderr}");
    }
}

#[tokio::test]
async fn whoever_looks_at_rules_that_can_break_the_scheduler_is_told_so() {
    let server = server_with_a_rule(BROKEN).await;
    for line in ["list", "describe drain", "devices", "version"] {
        let run = Run::on(&server);
        let outcome = run.of(line).await;
        let told = run.stderr.text();
        assert!(
            told.contains("kubernetes#139651"),
            "{line}: {outcome:?} {told}"
        );
    }
    let report = document(&server, "preview gpu.example.com/node-1/gpu-1 -o json").await;
    let warnings = report["warnings"].as_array().unwrap().iter();
    let codes: Vec<_> = warnings.map(|found| &found["reason"]).collect();
    let times = codes
        .iter()
        .filter(|code| **code == "SchedulerBreaks")
        .count();
    assert_eq!(times, 1, "{codes:?}");
    let report = document(&server, "version -o json").await;
    let defect = &report["knownDefects"][0];
    assert_eq!(defect["present"], true, "{report}");
    assert_eq!(defect["releases"], "1.36.0 to 1.36.2");
}

#[tokio::test]
async fn replacements_are_judged_by_the_template_that_they_will_come_from() {
    for (answer, expected) in [
        (templates(Some(1)), "true"),
        (templates(Some(4)), "false"),
        (templates(None), "true"),
        (Answer::forbidden("eve"), "null"),
    ] {
        let server = Server::start().await;
        server.answer_generated();
        server.answer(TEMPLATES, [answer]);
        let preview = "preview gpu.example.com/node-1/gpu-0 a.example.com/k:NoExecute -o json";
        let report = document(&server, preview).await;
        let found = &report["replacements"]["claimReplacements"][0]["placeable"];
        assert_eq!(found.to_string(), expected, "{report:#}");
        let gaps = report["incomplete"].to_string();
        let is_told = gaps.contains("cannot list resourceclaimtemplates");
        assert_eq!(is_told, expected == "null", "{gaps}");
    }
}
