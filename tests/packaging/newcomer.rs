//! A newcomer with nothing but kubectl: an empty home, and `PATH`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::support::{own_target, pack, root, succeeded, text};
use crate::debian;
use crate::harness::{PLUGIN, build_program};

/// Commands of the manual page's programs, with Debian's package of each.
const READERS: [(&str, &str); 2] = [("man", "man-db"), ("groff", "groff")];

/// An empty home on a machine with kubectl.
struct Newcomer {
    home: TempDir,
}

impl Newcomer {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let machine = home.path().join("machine");
        fs::create_dir(&machine).unwrap();
        std::os::unix::fs::symlink(kubectl(), machine.join("kubectl")).unwrap();
        Self { home }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    /// Runs shell commands, in which kubectl and the programs in `bin` can be called.
    fn run(&self, bin: &Path, commands: &str) -> Output {
        let path = format!(
            "{}:{}:/usr/bin:/bin",
            bin.display(),
            self.path("machine").display()
        );
        Command::new("bash")
            .args(["-euo", "pipefail", "-c", commands])
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", path)
            .current_dir(self.home.path())
            .output()
            .unwrap()
    }

    /// Asserts that kubectl lists the plugin's path, and no warnings.
    fn assert_plugins_clean(&self, bin: &Path) {
        let output = self.run(bin, "kubectl plugin list");
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{stdout}\n{stderr}");
        let listed: Vec<&str> = stdout
            .lines()
            .filter(|line| line.starts_with('/'))
            .collect();
        let plugin = bin.join("kubectl-devicetaint");
        assert_eq!(listed, [plugin.to_str().unwrap()], "{stdout}");
        let said = format!("{stdout}{stderr}").to_lowercase();
        assert!(
            !said.contains("warning") && !said.contains("error"),
            "{said}"
        );
    }
}

/// The real kubectl: that of `KUBEBUILDER_ASSETS`, or the one that the control plane is built with,
/// which answers by the name that it is called by.
fn kubectl() -> PathBuf {
    let assets =
        std::env::var_os("KUBEBUILDER_ASSETS").map(|folder| Path::new(&folder).join("kubectl"));
    let given = assets.filter(|kubectl| kubectl.is_file());
    given.unwrap_or_else(|| build_program().unwrap_or_else(|reason| panic!("{reason}")))
}

/// The program under test without debugging information, which would take long to pack.
fn program(newcomer: &Newcomer) -> String {
    let program = newcomer.path("stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&program).arg(PLUGIN);
    succeeded(&strip.output().expect("strip comes with the linker"));
    program.to_str().unwrap().to_owned()
}

/// The commands that the documentation tells people to type, below a heading.
fn documented(heading: &str) -> String {
    let page = fs::read_to_string(root().join("docs/src/install.md")).unwrap();
    let (_, section) = page.split_once(&format!("## {heading}\n")).unwrap();
    let (_, commands) = section.split_once("```sh\n").unwrap();
    commands.split_once("```").unwrap().0.to_owned()
}

#[test]
fn an_archive_installs_as_documented_and_everything_works() {
    for (command, package) in READERS {
        debian::packaged(command, package);
    }
    let newcomer = Newcomer::new();
    let home = newcomer.path("");
    let (program, into) = (program(&newcomer), home.to_str().unwrap());
    succeeded(&pack(root(), &["archive", &own_target(), &program, into]));
    let bin = newcomer.path(".local/bin");

    let output = newcomer.run(&bin, &documented("From an archive"));
    let said = text(&output.stderr);
    assert!(!said.contains("is not in PATH"), "{said}");
    let printed = succeeded(&output);
    assert!(
        printed.contains("evicts 3 of 6 pods in 2 namespaces: 2 now, the last at +5m"),
        "{printed}"
    );
    newcomer.assert_plugins_clean(&bin);

    // As a shell asks kubectl on TAB.
    let example = "~/.local/share/kubectl-devicetaint/examples/cluster.yaml";
    for (words, expected) in [
        (
            format!("devices --from {example} --node node-1"),
            "node-1\nnode-10\n:4\n",
        ),
        ("prev".to_owned(), "preview"),
    ] {
        let completed = newcomer.run(&bin, &format!("kubectl __complete devicetaint {words}"));
        assert!(
            !text(&completed.stderr).to_lowercase().contains("error"),
            "{completed:?}"
        );
        let candidates = succeeded(&completed);
        assert!(candidates.starts_with(expected), "{words}: {candidates}");
    }

    // By its name, from the folder that belongs to the one in PATH.
    let page = newcomer.run(
        &bin,
        "MANPAGER=cat MANWIDTH=80 man kubectl-devicetaint-preview",
    );
    let page = succeeded(&page);
    assert!(
        page.contains("SYNOPSIS") && page.contains("--abort-if"),
        "{page}"
    );
}

#[test]
fn every_manual_page_renders_without_a_warning() {
    for (command, package) in READERS {
        debian::packaged(command, package);
    }
    for page in fs::read_dir(root().join("man")).unwrap() {
        let page = page.unwrap().path();
        let output = Command::new("man")
            .args(["--warnings", "--encoding=UTF-8", "--local-file"])
            .arg(&page)
            .env("LC_ALL", "C.UTF-8")
            .env("MANWIDTH", "80")
            .env("MANROFFOPT", "-ww")
            .output()
            .unwrap();
        assert_eq!(text(&output.stderr), "", "{}", page.display());
        assert!(succeeded(&output).contains("NAME"), "{}", page.display());
    }
}
