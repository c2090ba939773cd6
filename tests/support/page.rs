//! Pages of documentation: their commands are run, and the outputs are compared.
//!
//! A block marked `console` holds commands, each behind `$ `, and their output, standard error too:
//!
//! ````text
//! ```console
//! $ kubectl devicetaint list --from examples/cluster.yaml
//! NAME                   TAINT …
//! ⋮
//! ```
//! ````
//!
//! - `⋮` alone in a line replaces left-out lines; as many lines as there are around it stay.
//! - The blocks of a page are run one after the other in a folder of its own, with `examples` in it.
//! - `console,live` is run on a control plane: a command must fail where the page shows a line that begins with `error: `,
//!   and only there; what it prints is not compared.
//! - With `UPDATE_GENERATED=1` the page is written again where it differs.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Mark of lines that a page leaves out.
const LEFT_OUT: &str = "⋮";

/// Where the commands of a block are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Without a cluster.
    Offline,
    /// With a control plane.
    Live,
}

/// A page, as it is in the repository.
pub struct Page {
    path: PathBuf,
    text: String,
}

/// A block of commands: which bytes of the page they are, and where they are run.
struct Block {
    content: Range<usize>,
    setting: Setting,
}

/// A command as it is shown, with its `$ `, and the lines that follow it.
struct Step<'a> {
    shown: Vec<&'a str>,
    output: Vec<&'a str>,
}

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Options of reading Markdown everywhere in these tests, as the book reads it.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH
}

impl Page {
    /// The page at this path of the repository.
    pub fn read(path: &str) -> Self {
        let path = root().join(path);
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    /// Number of commands that it shows in this setting.
    pub fn commands(&self, setting: Setting) -> usize {
        let blocks = self.blocks().into_iter();
        blocks
            .filter(|block| block.setting == setting)
            .map(|block| steps(&self.text[block.content]).len())
            .sum()
    }

    /// The commands of the page that are not run, one a line.
    pub fn mentioned(&self) -> Vec<String> {
        let code = code_blocks(&self.text);
        let shell = code.into_iter().filter(|(info, _)| info == "sh");
        let texts = shell.map(|(_, content)| self.text[content].replace("\\\n", " "));
        let commands = texts.flat_map(|text| {
            let lines = text.lines().map(str::trim).map(str::to_owned);
            lines.collect::<Vec<_>>()
        });
        commands
            .filter(|line| line.starts_with("kubectl devicetaint "))
            .collect()
    }

    /// Runs the blocks of this `setting` in shells, and compares their output, or in a live setting their
    /// exit status.
    ///
    /// # Panics
    ///
    /// When the page differs from the commands.
    pub fn check(&self, setting: Setting, shell: impl Fn() -> Command) {
        let folder = tempfile::tempdir().expect("a folder");
        link(&root().join("examples"), &folder.path().join("examples"));
        let mut text = self.text.clone();
        let mut status = 0;
        let mut moved: isize = 0;
        let is_update = env::var_os("UPDATE_GENERATED").is_some();
        for block in self.blocks() {
            if block.setting != setting {
                continue;
            }
            let mut lines: Vec<String> = Vec::new();
            for step in steps(&self.text[block.content.clone()]) {
                let printed;
                (printed, status) = run(&mut shell(), &step, status, folder.path());
                if setting == Setting::Live && !is_update {
                    let is_failure = step.output.iter().any(|line| {
                        line.starts_with("error: ") || line.starts_with("Error from server")
                    });
                    assert_eq!(status != 0, is_failure, "{:?}: {printed}", step.shown);
                }
                lines.extend(step.shown.iter().map(|line| (*line).to_owned()));
                lines.extend(kept(&step.output, &printed));
            }
            let anew = lines.join("\n") + "\n";
            let at = |place: usize| place.saturating_add_signed(moved);
            text.replace_range(at(block.content.start)..at(block.content.end), &anew);
            moved += anew.len().cast_signed() - block.content.len().cast_signed();
        }
        if is_update {
            fs::write(&self.path, &text).expect("the page can be written");
        }
        if is_update || setting == Setting::Live {
            return;
        }
        for (number, (written, printed)) in self.text.lines().zip(text.lines()).enumerate() {
            assert!(
                written == printed,
                "{}:{}: the page says\n  {written}\nand the program\n  {printed}\n\
                 write it anew: UPDATE_GENERATED=1 cargo test --test all docs",
                self.path.display(),
                number + 1,
            );
        }
        assert_eq!(self.text, text, "{}", self.path.display());
    }

    fn blocks(&self) -> Vec<Block> {
        let code = code_blocks(&self.text).into_iter();
        code.filter_map(|(info, content)| {
            let setting = match info.as_str() {
                "console" => Setting::Offline,
                "console,live" => Setting::Live,
                _ => return None,
            };
            Some(Block { content, setting })
        })
        .collect()
    }
}

/// The fenced blocks of a page: their marks, and the ranges of their content.
pub fn code_blocks(text: &str) -> Vec<(String, Range<usize>)> {
    let mut found: Vec<(String, Range<usize>)> = Vec::new();
    let mut open: Option<(String, Option<Range<usize>>)> = None;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                open = Some((info.to_string(), None));
            }
            Event::Text(_) => {
                if let Some((_, content)) = &mut open {
                    let start = content
                        .as_ref()
                        .map_or(range.start, |content| content.start);
                    *content = Some(start..range.end);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((info, Some(content))) = open.take() {
                    found.push((info, content));
                }
            }
            _ => {}
        }
    }
    found
}

/// The commands of a block with the output of each.
fn steps(content: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut goes_on = false;
    for line in content.lines() {
        if line.starts_with("$ ") {
            steps.push(Step {
                shown: vec![line],
                output: Vec::new(),
            });
        } else {
            let step = steps.last_mut().expect("a block begins with a command");
            if goes_on {
                step.shown.push(line);
            } else {
                step.output.push(line);
                continue;
            }
        }
        goes_on = line.ends_with('\\');
    }
    steps
}

/// Output of a command, on both streams as they come, and its exit status.
fn run(shell: &mut Command, step: &Step<'_>, status: i32, folder: &Path) -> (String, i32) {
    let typed = step.shown.join("\n");
    let command = typed.strip_prefix("$ ").unwrap_or(&typed);
    let output = shell
        .args(["-c", &format!("exec 2>&1\n(exit {status})\n{command}")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the shell can be run");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    (printed, output.status.code().unwrap_or(-1))
}

/// Lines of `printed` that the page has to show, where it showed `before`: as many at the beginning and the end.
fn kept(before: &[&str], printed: &str) -> Vec<String> {
    let lines: Vec<&str> = printed.lines().collect();
    let lines = match before.iter().position(|line| *line == LEFT_OUT) {
        // Nothing may be left out in this run: progress lines depend on time.
        Some(head) if lines.len() >= before.len() - 1 => {
            let tail = lines.len() - (before.len() - head - 1);
            [&lines[..head], &[LEFT_OUT], &lines[tail..]].concat()
        }
        _ => lines,
    };
    lines.into_iter().map(str::to_owned).collect()
}

fn link(original: &Path, link: &Path) {
    std::os::unix::fs::symlink(original, link).expect("a link can be made");
}
