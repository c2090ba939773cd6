//! History of rules by the server itself, in its order: the judge of the output.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use super::{ControlPlane, DEADLINE, Reference, objects, random_suffix, wait};

/// Change of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Created,
    Configured,
    /// A client deleted it, and a finalizer holds it.
    DeletionRequested,
    Deleted,
}

/// One entry of the history.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The driver that the rule selects.
    pub driver: String,
    pub name: String,
    pub deed: Deed,
    /// The version of the rule, which is one of the whole server.
    pub version: String,
}

/// All that has become of rules since it was started; it ends with the test binary.
#[derive(Clone)]
pub struct History {
    seen: Arc<Mutex<Vec<Entry>>>,
    marker: String,
}

impl History {
    /// Watches the rules of the whole server.
    pub async fn start(plane: &ControlPlane) -> Self {
        let marker = format!("marker-{}", random_suffix());
        plane
            .create(&[objects::rule(&marker, "marker.example.com", "None")])
            .await;
        let path = plane.path(&Reference::rule("x")).await;
        let path = path.trim_end_matches("/x").to_owned();
        let list = plane.request(Method::GET, &path, None).await;
        let list = list.expect("an answer").success().expect("a list");
        let terminating = list["items"].as_array().cloned().unwrap_or_default();
        let terminating = terminating.iter().filter(|rule| is_leaving(rule));
        let watch = Watch {
            client: plane.client.kube(),
            path,
            version: version_of(&list),
            leaving: terminating.map(uid_of).collect(),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&watch.seen);
        wait::runtime().spawn(watch.forever());
        Self { seen, marker }
    }

    /// Number of entries once everything has arrived that the server had done by now.
    pub async fn now(&self, plane: &ControlPlane) -> usize {
        let patch = json!({"metadata": {"labels": {"mark": random_suffix()}}});
        let marked = plane.patch(&Reference::rule(&self.marker), &patch).await;
        let version = version_of(&marked);
        let end = Instant::now() + DEADLINE;
        loop {
            let is_mark = |entry: &Entry| entry.name == self.marker && entry.version == version;
            if let Some(place) = self.entries().iter().rposition(is_mark) {
                return place;
            }
            assert!(Instant::now() < end, "the history has stopped");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.seen.lock().expect("no panic")
    }

    /// Changes from one time to another of rules that select the driver.
    pub fn between(&self, from: usize, to: usize, driver: &str) -> Vec<Entry> {
        let all = self.entries();
        let entries = all[from..to].iter().cloned();
        entries.filter(|entry| entry.driver == driver).collect()
    }
}

fn uid_of(rule: &Value) -> String {
    rule["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn is_leaving(rule: &Value) -> bool {
    rule["metadata"]["deletionTimestamp"].is_string()
}

fn version_of(object: &Value) -> String {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.expect("text").to_owned()
}

/// The watch, which servers end now and then.
struct Watch {
    client: kube::Client,
    path: String,
    version: String,
    /// The UIDs of rules that are being deleted.
    leaving: Vec<String>,
    seen: Arc<Mutex<Vec<Entry>>>,
}

impl Watch {
    async fn forever(mut self) {
        loop {
            let path = format!("{}?watch=true&resourceVersion={}", self.path, self.version);
            let request = Request::get(path).body(Body::empty()).expect("a request");
            // The server is stopped at the end of a test.
            let Ok(response) = self.client.send(request).await else {
                return;
            };
            let mut body = response.into_body();
            let mut rest = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend(frame.into_data().unwrap_or_default());
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    self.take(&serde_json::from_slice(&line).expect("an event"));
                }
            }
        }
    }

    fn take(&mut self, event: &Value) {
        let rule = &event["object"];
        let deed = match event["type"].as_str() {
            Some("ADDED") => Deed::Created,
            Some("DELETED") => Deed::Deleted,
            Some("MODIFIED") if is_leaving(rule) && !self.leaving.contains(&uid_of(rule)) => {
                self.leaving.push(uid_of(rule));
                Deed::DeletionRequested
            }
            Some("MODIFIED") => Deed::Configured,
            other => panic!("the watch of the history says {other:?}: {event}"),
        };
        self.version = version_of(rule);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let entry = Entry {
            driver: text(&rule["spec"]["deviceSelector"]["driver"]),
            name: text(&rule["metadata"]["name"]),
            version: self.version.clone(),
            deed,
        };
        self.seen.lock().expect("no panic").push(entry);
    }
}
