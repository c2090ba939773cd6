//! Every command that the documentation shows is run.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::files::every_page;
use crate::advice;
use crate::page::{Page, Setting, root};

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-devicetaint");

/// Programs of a reader who has the source, cargo and kubectl: `cargo run` runs the plugin, `cargo install` installs it,
/// and kubectl finds plugins in `PATH`.
const PROGRAMS: [(&str, &str); 2] = [
    (
        "cargo",
        "#!/bin/sh\ncase $1 in\n\
         run) while [ \"$1\" != -- ]; do shift; done; shift; exec \"$PLUGIN\" \"$@\" ;;\n\
         test) ;;\n\
         install) ln -s \"$PLUGIN\" \"$BIN/kubectl-devicetaint\" ;;\n\
         *) exit 98 ;;\nesac\n",
    ),
    (
        "kubectl",
        "#!/bin/sh\n[ \"$1\" = devicetaint ] || exit 98\nshift\ncommand -v kubectl-devicetaint >/dev/null || exit 99\nexec kubectl-devicetaint \"$@\"\n",
    ),
];

/// A folder of these programs.
fn programs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in PROGRAMS {
        let file = folder.path().join(name);
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }
    folder
}

/// A shell that finds these programs, without the environment of the user who runs the tests.
fn shell(programs: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        // A home that does not exist, so that its name is the same everywhere.
        .env("HOME", "/home/you")
        .env("TERM", "dumb")
        .env("PLUGIN", PLUGIN)
        .env("BIN", programs);
    shell
}

#[test]
fn commands_print_what_the_documentation_says() {
    let programs = programs();
    symlink(PLUGIN, programs.path().join("kubectl-devicetaint")).unwrap();
    let mut run = 0;
    for path in every_page() {
        let page = Page::read(&path);
        let commands = page.commands(Setting::Offline);
        if commands > 0 {
            page.check(Setting::Offline, || shell(programs.path()));
        }
        run += commands;
    }
    assert!(run > 30, "only {run} commands");
}

/// The commands of a block, those that go on in the next line in one.
fn typed(info: &str, content: &str) -> Vec<String> {
    let joined = content.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    let commands = lines.filter_map(|line| match info {
        "console" => line.strip_prefix("$ "),
        "sh" => (!line.is_empty()).then_some(line),
        _ => None,
    });
    commands.map(str::to_owned).collect()
}

/// Text typed first has to be there: the plugin is installed before it is called.
#[test]
fn blocks_of_the_readme_work_in_their_order() {
    let bin = programs();
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut run = 0;
    for (info, content) in crate::page::code_blocks(&text) {
        for command in typed(&info, &text[content]) {
            let output = shell(bin.path())
                .args(["-c", &command])
                .current_dir(root())
                .output()
                .unwrap();
            let missing = [98, 99, 126, 127];
            let code = output.status.code().unwrap();
            assert!(!missing.contains(&code), "{command} ends with {code}");
            run += 1;
        }
    }
    assert!(run > 8, "only {run} commands");
}

/// The page that the book shows is the one that the program makes.
#[test]
fn the_page_of_the_book_is_made_by_the_program() {
    let output = Command::new(PLUGIN)
        .args(["preview", "gpu.example.com/node-3/*"])
        .args(["example.com/maintenance=firmware:NoExecute"])
        .args(["--abort-if", "pods.evicted>3"])
        .args(["--from", "examples/cluster.yaml", "-o", "html"])
        .current_dir(root())
        .output()
        .unwrap();
    let made = String::from_utf8(output.stdout).unwrap();
    let file = root().join("docs/src/guides/review.html");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "write it anew: UPDATE_GENERATED=1 cargo test --test all docs"
    );
}

/// The command without the shell's parts: a pipe, a redirection, another command.
fn own_words(command: &str) -> &str {
    let mut is_quoted = false;
    let end = command.find(|it: char| {
        is_quoted ^= it == '\'';
        !is_quoted && "|;>#&".contains(it)
    });
    command[..end.unwrap_or(command.len())].trim()
}

#[test]
fn commands_that_are_only_mentioned_are_understood() {
    let program = Path::new(PLUGIN);
    let mut mentioned = 0;
    for path in every_page() {
        for command in Page::read(&path).mentioned() {
            advice::check(program, &[], &format!("`{}`", own_words(&command)));
            mentioned += 1;
        }
    }
    assert!(mentioned > 20, "only {mentioned} commands");
}
