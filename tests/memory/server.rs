//! An API server that answers one question without an end, and all others briefly.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// The answer that does not end.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// One header behind the other.
    Headers,
    /// A text in a document.
    Text,
    /// Trailers after the body.
    Trailers,
    /// A refusal.
    Refusal,
    /// Zeros, packed.
    Packed,
    /// An object of a list in protobuf.
    Object,
    /// One object of a list in protobuf, again and again.
    Objects,
    /// Pages of a list, each as the first.
    Pages,
    /// A line of a watch.
    Line,
    /// An event of a watch in protobuf.
    Event,
    /// Events of a watch, of the same object.
    Events,
}

/// Where the answer is given, and of which run.
pub struct Question {
    pub answer: Answer,
    /// The first path that begins so.
    pub path: &'static str,
    pub line: &'static str,
}

const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules";
const RULE: &str = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"r","uid":"u","resourceVersion":"6","generation":1},"spec":{"deviceSelector":{"driver":"d"},"taint":{"key":"k/k","effect":"NoExecute"}}}"#;
const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
const CLAIMS: &str = "/apis/resource.k8s.io/v1/resourceclaims";
const DEVICES: &str = "devices";
const WAIT: &str = "wait r --for evicted --timeout 8s";

impl Question {
    pub const ALL: [Self; 16] = [
        Self::new(Answer::Headers, "/version", DEVICES),
        Self::new(Answer::Text, "/version", DEVICES),
        Self::new(Answer::Refusal, "/version", DEVICES),
        Self::new(Answer::Packed, "/version", DEVICES),
        Self::new(Answer::Trailers, RULES, DEVICES),
        Self::new(Answer::Text, RULES, DEVICES),
        Self::new(Answer::Pages, RULES, DEVICES),
        Self::new(Answer::Packed, RULES, DEVICES),
        Self::new(Answer::Refusal, CLAIMS, DEVICES),
        Self::new(Answer::Object, SLICES, DEVICES),
        Self::new(Answer::Objects, CLAIMS, DEVICES),
        Self::new(
            Answer::Text,
            "/apis/resource.k8s.io/v1/devicetaintrules/r",
            "remove r --yes --others",
        ),
        Self::new(Answer::Text, SLICES, "snapshot"),
        Self::new(Answer::Line, WATCHED, WAIT),
        Self::new(
            Answer::Event,
            "/apis/resource.k8s.io/v1/resourceclaims?watch",
            WAIT,
        ),
        Self::new(Answer::Events, WATCHED, WAIT),
    ];

    const fn new(answer: Answer, path: &'static str, line: &'static str) -> Self {
        Self { answer, path, line }
    }
}

/// Where rules are watched.
const WATCHED: &str = "/apis/resource.k8s.io/v1/devicetaintrules?watch";

/// The address of a server that gives this answer there.
pub fn serve(question: &'static Question) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that hangs up has heard enough.
            thread::spawn(move || Peer(stream).serve(question));
        }
    });
    format!("http://{address}")
}

struct Peer(TcpStream);

impl Peer {
    fn serve(mut self, question: &Question) -> io::Result<()> {
        let mut reader = BufReader::new(self.0.try_clone()?);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some(path) = line.split(' ').nth(1).map(str::to_owned) else {
                return Ok(());
            };
            while line.trim_end() != "" {
                line.clear();
                reader.read_line(&mut line)?;
            }
            if path.starts_with(question.path) {
                self.pour(question.answer, &path)?;
            } else {
                self.brief(&path)?;
            }
        }
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(text.as_bytes())
    }

    /// Sends it again and again.
    fn pour_on(&mut self, what: &[u8]) -> io::Result<()> {
        let portion = what.repeat((1 << 16) / what.len());
        loop {
            self.0.write_all(&portion)?;
        }
    }

    fn whole(&mut self, head: &str, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        self.say(&format!(
            "HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n"
        ))?;
        self.0.write_all(body)
    }

    fn brief(&mut self, path: &str) -> io::Result<()> {
        let (kind, items) = match path.split('?').next().unwrap_or_default() {
            "/version" => return self.whole("200 OK", br#"{"gitVersion":"v1.37.0"}"#),
            "/apis/resource.k8s.io" => {
                let group =
                    r#"{"kind":"APIGroup","versions":[{"groupVersion":"resource.k8s.io/v1"}]}"#;
                return self.whole("200 OK", group.as_bytes());
            }
            "/apis/resource.k8s.io/v1" => {
                let names = [
                    "resourceslices",
                    "resourceclaims",
                    "devicetaintrules",
                    "deviceclasses",
                ];
                let names =
                    names.map(|name| format!(r#"{{"name":"{name}","verbs":["get","list"]}}"#));
                let all = names.join(",");
                let all = format!(r#"{{"kind":"APIResourceList","resources":[{all}]}}"#);
                return self.whole("200 OK", all.as_bytes());
            }
            _ if path.contains("watch=") => {
                self.say("HTTP/1.1 200 OK\r\n\r\n")?;
                loop {
                    thread::park();
                }
            }
            SLICES => ("ResourceSlice", ""),
            CLAIMS => ("ResourceClaim", ""),
            RULES => ("DeviceTaintRule", RULE),
            other if other.ends_with("/r") => return self.whole("200 OK", RULE.as_bytes()),
            _ => {
                let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#;
                return self.whole("404 Not Found", status.as_bytes());
            }
        };
        if path.starts_with(RULES) {
            let list = list_of(items, "");
            self.whole("200 OK", list.as_bytes())
        } else {
            let metadata = field(1, &field(2, b"6"));
            let length = u64::try_from(metadata.len()).expect("small");
            self.whole("200 OK", &[begun(kind, length), metadata].concat())
        }
    }

    fn pour(&mut self, answer: Answer, path: &str) -> io::Result<()> {
        const BEGUN: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        const LIST: &str = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{"resourceVersion":"6"},"items":["#;
        match answer {
            Answer::Headers => {
                self.say(BEGUN)?;
                return self.pour_on(b"a: b\r\n");
            }
            Answer::Text if path == "/version" => self.say(&format!("{BEGUN}\r\n{{\"a\":\""))?,
            Answer::Text => self.say(&format!("{BEGUN}\r\n{LIST}{{\"a\":\""))?,
            Answer::Trailers => {
                let list = list_of("", "");
                let length = list.len();
                let head = "Transfer-Encoding: chunked\r\n\r\n";
                self.say(&format!("{BEGUN}{head}{length:x}\r\n{list}\r\n0\r\n"))?;
                return self.pour_on(b"a: b\r\n");
            }
            Answer::Refusal => {
                let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":""#;
                self.say(&format!("HTTP/1.1 500 X\r\n\r\n{status}"))?;
            }
            Answer::Packed => {
                self.say(&format!("{BEGUN}Content-Encoding: gzip\r\n\r\n"))?;
                return self.pour_on(&crate::packed(64));
            }
            Answer::Object => {
                self.say("HTTP/1.1 200 OK\r\n\r\n")?;
                self.0.write_all(&begun("ResourceSlice", 1 << 50))?;
                self.0.write_all(b"\x12")?;
                self.0.write_all(&number(16 << 20))?;
            }
            Answer::Objects => {
                self.say("HTTP/1.1 200 OK\r\n\r\n")?;
                self.0.write_all(&begun("ResourceClaim", 1 << 50))?;
                let metadata = [field(1, b"a"), field(3, b"ml"), field(5, b"u")].concat();
                return self.pour_on(&field(2, &field(1, &metadata)));
            }
            Answer::Pages => {
                let next = path
                    .rsplit("continue=")
                    .next()
                    .and_then(|it| it.parse().ok());
                let next: u64 = next.unwrap_or_default();
                let items = [RULE; 1000].join(",");
                return self.whole(
                    "200 OK",
                    list_of(&items, &(next + 1).to_string()).as_bytes(),
                );
            }
            Answer::Line => self.say("HTTP/1.1 200 OK\r\n\r\n{\"type\":\"")?,
            Answer::Event => {
                self.say("HTTP/1.1 200 OK\r\n\r\n")?;
                self.0.write_all(&(16_u32 << 20).to_be_bytes())?;
            }
            Answer::Events => {
                self.say("HTTP/1.1 200 OK\r\n\r\n")?;
                let event = format!("{{\"type\":\"MODIFIED\",\"object\":{RULE}}}\n");
                return self.pour_on(event.as_bytes());
            }
        }
        self.pour_on(b"x")
    }
}

fn list_of(items: &str, next: &str) -> String {
    format!(
        r#"{{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{{"resourceVersion":"6","continue":"{next}"}},"items":[{items}]}}"#
    )
}

/// A list in protobuf up to its bytes, of which there are so many.
fn begun(kind: &str, length: u64) -> Vec<u8> {
    let list = format!("{kind}List");
    let what = [field(1, b"resource.k8s.io/v1"), field(2, list.as_bytes())].concat();
    [
        b"k8s\0".to_vec(),
        field(1, &what),
        vec![0x12],
        number(length),
    ]
    .concat()
}

fn field(key: u8, bytes: &[u8]) -> Vec<u8> {
    let length = number(u64::try_from(bytes.len()).expect("small"));
    [vec![key << 3 | 2], length, bytes.to_vec()].concat()
}

fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).expect("seven bits") | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).expect("seven bits"));
    bytes
}
