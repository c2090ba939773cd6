//! Faults of one try.

use std::time::Duration;

use crate::harness::{Another, At, Fault, Random, Reply, Twin};

/// Longer than any client waits for an answer.
const LONG: Duration = Duration::from_millis(1500);

/// Faults at one or two of the requests of a run that sends `requests` without faults, of which some are
/// `changes`, by their numbers: those get faults more often, and the read after one too.
pub fn misfortune(random: &mut Random, requests: usize, changes: &[usize]) -> Vec<(At, Fault)> {
    let number = 1 + random.below(requests);
    if !changes.is_empty() && random.percent(50) {
        let change = random.pick(changes);
        let mut faults = vec![(At::Number(change), after_a_change(random))];
        if random.percent(30) {
            faults.push((At::Number(change + 1), fault(random)));
        }
        return faults;
    }
    match random.below(100) {
        0..=14 => vec![(At::From(number), fault(random))],
        15..=29 => {
            let other = 1 + random.below(requests);
            vec![
                (At::Number(number), fault(random)),
                (At::Number(other), fault(random)),
            ]
        }
        _ => vec![(At::Number(number), fault(random))],
    }
}

/// True if it certainly passes by itself: the network, or a server that announces it.
pub fn passes(fault: &Fault) -> bool {
    match fault {
        Fault::Passed
        | Fault::Reset
        | Fault::Silence
        | Fault::Late(_)
        | Fault::Hangs(_)
        | Fault::Tardy(_)
        | Fault::Lost => true,
        Fault::Answer(reply) | Fault::Replaced(reply) => {
            let passing = ["408", "429", "500", "502", "503", "504"];
            passing.contains(&&reply.status[..3])
        }
        Fault::Spoiled(spoiled) => spoiled.breaks,
        Fault::Doubled(_)
        | Fault::Another(_)
        | Fault::Garbled
        | Fault::HeldBefore(..)
        | Fault::HeldAfter(_) => false,
    }
}

/// The server makes the change, and the client gets another reply.
fn after_a_change(random: &mut Random) -> Fault {
    match random.below(16) {
        0..=3 => Fault::Replaced(refusal(random)),
        4 | 5 => Fault::Doubled(random.pick(&[Twin::First, Twin::Second])),
        6 | 7 => Fault::Another(random.pick(&[
            Another::Uid,
            Another::Name,
            Another::Stored,
            Another::Leaving,
        ])),
        8 => Fault::Replaced(success(random)),
        9 => Fault::Hangs(random.below(1000)),
        // All of the body, and no end of it.
        10 => Fault::Hangs(1000),
        11 => Fault::Late(LONG),
        12 => Fault::Tardy(LONG),
        13 => Fault::Replaced(reply(random)),
        _ => Fault::Lost,
    }
}

/// A success of something else, or another place to ask.
fn success(random: &mut Random) -> Reply {
    match random.below(5) {
        0 => Reply::success(""),
        1 => Reply::success(
            r#","details":{"name":"other","group":"resource.k8s.io","kind":"devicetaintrules","uid":"1"}"#,
        ),
        2 => Reply::success(r#","details":{"name":"other","kind":"configmaps","uid":"1"}"#),
        3 => Reply::bare("307 Temporary Redirect", &["Location: http://127.0.0.1:1/"]),
        _ => Reply::bare("302 Found", &["Location: /"]),
    }
}

/// Reply of an API server that has not made a change.
fn refusal(random: &mut Random) -> Reply {
    let (status, reason) = random.pick(&[
        ("400 Bad Request", "BadRequest"),
        ("413 Request Entity Too Large", "RequestEntityTooLarge"),
        ("422 Unprocessable Entity", "Invalid"),
        ("429 Too Many Requests", "TooManyRequests"),
        ("500 Internal Server Error", "InternalError"),
        ("504 Gateway Timeout", "Timeout"),
    ]);
    Reply::refusal(status, reason)
}

fn fault(random: &mut Random) -> Fault {
    match random.below(20) {
        0 => Fault::Reset,
        1 => Fault::Lost,
        2 => Fault::Garbled,
        3 => Fault::Silence,
        4 => Fault::Late(Duration::from_millis(200)),
        5 => Fault::ends(random.below(1000)),
        6 => Fault::breaks(random.below(1000)),
        7 => Fault::appended(random.pick(&[&b"\0"[..], &b"\n"[..], &b"{}"[..], &b"k8s\0"[..]])),
        8 => Fault::undated(),
        9 => Fault::Late(LONG),
        10..=14 => Fault::Replaced(reply(random)),
        _ => Fault::Answer(reply(random)),
    }
}

/// Reply that the API server itself would not send about the request.
fn reply(random: &mut Random) -> Reply {
    const STATUSES: [&str; 14] = [
        "301 Moved Permanently",
        "307 Temporary Redirect",
        "400 Bad Request",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "405 Method Not Allowed",
        "408 Request Timeout",
        "409 Conflict",
        "410 Gone",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ];
    match random.below(6) {
        0 | 1 => Reply::html(random.pick(&STATUSES)),
        2 => Reply::bare(random.pick(&STATUSES), &["Location: http://127.0.0.1:1/"]),
        3 => {
            let after = random.pick(&["0", "1", "18446744073709551615", "-1", "soon"]);
            let status = random.pick(&["429 Too Many Requests", "503 Service Unavailable"]);
            Reply::bare(status, &[&format!("Retry-After: {after}")])
        }
        4 => Reply::json("404 Not Found", status("NotFound", 404)),
        _ => Reply::json(
            "200 OK",
            random.pick(&[
                "",
                "{}",
                "null",
                "[]",
                "true",
                r#"{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[]}"#,
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}"#,
                r#"{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","message":"no","reason":"InternalError","code":500}"#,
            ]),
        ),
    }
}

/// The word of a server about something else.
fn status(reason: &str, code: u16) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"configmaps \"other\" not found","reason":"{reason}","details":{{"name":"other","kind":"configmaps"}},"code":{code}}}"#
    )
}
