//! What the cases of one subject share: a witness, proxies that lead to it, and certificates.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    ways::Way,
    witness::{Authority, NAME, Visitor, Witness},
};
use crate::harness::{ControlPlane, PLUGIN, random_suffix};

/// Which of the two is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Kubectl,
    Plugin,
}

pub struct Stage {
    pub plane: &'static ControlPlane,
    pub witness: Witness,
    /// A witness at an IPv6 address.
    pub witness_6: Witness,
    /// A witness without TLS.
    pub open: Witness,
    pub tunnel: Way,
    pub socks: Way,
    pub authority: Authority,
    /// The certificate to trust.
    pub authority_file: String,
    /// Another one.
    pub stranger_file: String,
    folder: PathBuf,
    cases: AtomicUsize,
}

impl Stage {
    pub fn new() -> Self {
        let plane = ControlPlane::shared();
        let folder = plane.folder().join(format!("parity-{}", random_suffix()));
        fs::create_dir_all(&folder).expect("a folder");
        let (authority, stranger) = (Authority::new(), Authority::new());
        let write = |name: &str, pem: String| {
            let path = folder.join(name);
            fs::write(&path, pem).expect("a file");
            path.display().to_string()
        };
        let witness = Witness::start(plane, "127.0.0.1:0", Some(&authority));
        Self {
            tunnel: Way::tunnel(witness.address),
            socks: Way::socks(witness.address),
            witness_6: Witness::start(plane, "[::1]:0", Some(&authority)),
            open: Witness::start(plane, "127.0.0.1:0", None),
            witness,
            authority_file: write("authority.pem", authority.pem()),
            stranger_file: write("stranger.pem", stranger.pem()),
            authority,
            plane,
            folder,
            cases: AtomicUsize::new(0),
        }
    }

    /// A folder for one case.
    pub fn folder(&self) -> PathBuf {
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Where the witness is.
    pub fn url(&self) -> String {
        format!("https://{}", self.witness.address)
    }

    /// The witness under a name that only proxies know.
    pub fn name(&self) -> String {
        format!("https://{NAME}:{}", self.witness.address.port())
    }

    pub fn path_of(&self, program: Program) -> PathBuf {
        match program {
            Program::Kubectl => self.plane.kubectl_path(),
            Program::Plugin => PathBuf::from(PLUGIN),
        }
    }

    /// Something to ask for that everybody has.
    pub fn words_of(&self, program: Program) -> &'static [&'static str] {
        match program {
            Program::Kubectl => &["get", "--raw", "/version"],
            Program::Plugin => &["devices", "-o", "name"],
        }
    }

    /// A text in which no port of this run is left.
    pub fn without_ports(&self, text: &str) -> String {
        let ports = [
            (&self.witness, "PORT"),
            (&self.witness_6, "PORT-6"),
            (&self.open, "PORT-OPEN"),
        ];
        let ports = ports.map(|(witness, name)| (witness.address.port().to_string(), name));
        ports.iter().fold(text.to_owned(), |text, (port, name)| {
            text.replace(port, name)
        })
    }

    /// Forgets what was seen.
    pub fn forget(&self) {
        self.seen();
    }

    /// Who came since the last time, each once, and what proxies were asked for.
    pub fn seen(&self) -> (Vec<Visitor>, Vec<String>) {
        let all = [&self.witness, &self.witness_6, &self.open];
        let visitors = all.into_iter().flat_map(Witness::take);
        let mut visitors: Vec<Visitor> = visitors.collect();
        visitors.sort();
        visitors.dedup();
        let ways = [&self.tunnel, &self.socks];
        let ways = ways.into_iter().flat_map(Way::take).collect();
        (visitors, ways)
    }
}
