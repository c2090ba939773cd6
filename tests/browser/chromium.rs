//! Chromium without a window, driven over a pipe.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use base64::Engine;
use serde_json::{Value, json};

use crate::debian;

/// Time limit for an answer, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one tab.
pub struct Chromium {
    child: Child,
    requests: File,
    answers: Receiver<Value>,
    session: Option<String>,
    number: u64,
    /// Events in the tab since the last read.
    events: Vec<Value>,
    _folder: tempfile::TempDir,
}

/// Settings for viewing a page.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Pixels from the left to the right.
    pub width: u32,
    /// `light` or `dark`.
    pub scheme: &'static str,
    /// `screen` or `print`.
    pub medium: &'static str,
    /// True if scripts are allowed.
    pub scripts: bool,
}

impl Chromium {
    /// Starts it, with nothing of this machine's user.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [requests, answers] = ["requests", "answers"].map(|name| folder.path().join(name));
        for pipe in [&requests, &answers] {
            let made = Command::new("mkfifo").arg(pipe).status().unwrap();
            assert!(made.success());
        }
        // It reads from descriptor 3 and writes to descriptor 4.
        let child = Command::new("sh")
            .args(["-c", r#"exec 3<"$1" 4>"$2"; shift 2; exec "$@""#, "sh"])
            .args([&requests, &answers])
            .arg(debian::program("chromium"))
            .args([
                "--headless=new",
                "--no-sandbox",
                "--no-first-run",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("user").display()
            ))
            .arg("about:blank")
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.path().join("said")).unwrap())
            .spawn()
            .unwrap();
        let requests = OpenOptions::new().write(true).open(requests).unwrap();
        let answers = BufReader::new(File::open(answers).unwrap());
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let messages = answers.split(0).map_while(Result::ok);
            for message in messages {
                let message = serde_json::from_slice(&message).expect("JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            requests,
            answers: receiver,
            session: None,
            number: 0,
            events: Vec::new(),
            _folder: folder,
        };
        let tab = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let attached = json!({"targetId": tab["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", &attached);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Result of the call.
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let mut request = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        write!(self.requests, "{request}\0").unwrap();
        loop {
            let message = self.heard();
            if message["id"] != json!(self.number) {
                self.events.push(message);
                continue;
            }
            assert!(message["error"].is_null(), "{method}: {message}");
            return message["result"].clone();
        }
    }

    fn heard(&self) -> Value {
        let heard = self.answers.recv_timeout(PATIENCE);
        heard.unwrap_or_else(|error| panic!("chromium says nothing: {error}"))
    }

    /// Opens a file with these settings, and waits until it is loaded.
    pub fn open(&mut self, file: &Path, look: Look) {
        let size =
            json!({"width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({"media": look.medium,
            "features": [{"name": "prefers-color-scheme", "value": look.scheme}]});
        self.ask("Emulation.setEmulatedMedia", &scheme);
        let scripts = json!({"value": !look.scripts});
        self.ask("Emulation.setScriptExecutionDisabled", &scripts);
        self.events.clear();
        let address = format!("file://{}", file.display());
        self.ask("Page.navigate", &json!({"url": address}));
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let event = self.heard();
            self.events.push(event);
        }
    }

    /// Value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.ask("Runtime.evaluate", &asked);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Messages of the page to the console, and of the browser about it.
    pub fn said(&self) -> Vec<&Value> {
        let loud = [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ];
        let said = self.events.iter();
        said.filter(|event| loud.contains(&event["method"].as_str().unwrap_or_default()))
            .collect()
    }

    /// URLs that the page requested, its own too.
    pub fn requested(&self) -> Vec<&str> {
        let events = self.events.iter();
        let requests = events.filter(|event| event["method"] == "Network.requestWillBeSent");
        requests
            .filter_map(|event| event["params"]["request"]["url"].as_str())
            .collect()
    }

    /// Takes a picture of the page, from top to bottom.
    pub fn photograph(&mut self, file: &Path) {
        let asked = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.ask("Page.captureScreenshot", &asked);
        let picture = picture["data"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(picture);
        fs::write(file, bytes.unwrap()).unwrap();
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = write!(
            self.requests,
            "{}\0",
            json!({"id": 0, "method": "Browser.close"})
        );
        let _ = self.child.wait();
    }
}
