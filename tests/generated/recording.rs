//! A short recording of the program as a picture that moves: `docs/src/recording.svg`.
//!
//! Commands are run with colours, and each becomes a scene that is shown for some seconds. The picture moves
//! by style sheet alone, so that it does so wherever pictures are shown; where it cannot, or must not, the
//! scene in the middle is still.

use std::path::Path;
use std::process::Command;

/// Typed commands, and how many seconds each answer is shown.
const SCENES: [(&str, f64); 3] = [
    (
        "devices --tainted --node node-9 --from examples/cluster.yaml",
        5.0,
    ),
    (
        "preview gpu.example.com/node-7/gpu-0 example.com/maintenance=firmware:NoExecute --from examples/cluster.yaml",
        9.0,
    ),
    (
        "preview gpu.example.com example.com/maintenance:NoExecute --abort-if 'pods.evicted>14' --from examples/cluster.yaml -o name",
        7.0,
    ),
];

/// Width of the terminal; it is as high as the longest scene.
const COLUMNS: usize = 132;
/// Size of a character; its width is that of most fixed fonts at this size.
const WIDTH: f64 = 7.8;
const HEIGHT: f64 = 17.0;
const FONT: f64 = 13.0;
/// Between the border and the text.
const MARGIN: f64 = 14.0;
/// Seconds from one typed word to the next, and to the answer.
const WORD: f64 = 0.25;

/// The recording.
pub fn made(program: &Path) -> String {
    let total: f64 = SCENES
        .iter()
        .map(|(line, seconds)| typing(line) + seconds)
        .sum();
    let (mut style, mut body, mut start, mut rows) = (String::new(), String::new(), 0.0, 0);
    for (number, (line, seconds)) in SCENES.iter().enumerate() {
        let stands_still = number == SCENES.len() / 2;
        let end = start + typing(line) + seconds;
        let mut scene = Scene {
            total,
            end,
            name: format!("s{number}"),
            stands_still,
            style: &mut style,
            body: &mut body,
        };
        let words = words(line);
        let mut column = 0;
        for (index, word) in words.iter().enumerate() {
            let begin = start + WORD * index as f64;
            scene.part(index, begin, &[(0, column, Piece::bold(word))]);
            column += word.chars().count() + 1;
        }
        let answer = on_screen(&printed(program, line), column.div_ceil(COLUMNS).max(1));
        let last = answer.iter().map(|(row, _, _)| row + 1).max();
        rows = rows.max(last.unwrap_or_default());
        scene.part(words.len(), start + typing(line), &answer);
        start = end;
    }
    picture(rows, &style, &body)
}

fn typing(line: &str) -> f64 {
    WORD * (words(line).len() + 1) as f64
}

/// The words of the command as they are typed.
fn words(line: &str) -> Vec<String> {
    let typed = format!("$ kubectl devicetaint {line}");
    typed.split(' ').map(str::to_owned).collect()
}

/// Output of the command, and its exit status where it failed.
fn printed(program: &Path, line: &str) -> String {
    let arguments = line.split(' ').map(|word| word.trim_matches('\''));
    let output = Command::new(program)
        .args(arguments)
        .env_clear()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    if let Some(code) = output.status.code().filter(|code| *code != 0) {
        text.push_str(&format!("\u{1b}[1m$ echo $?\u{1b}[0m\n{code}\n"));
    }
    text
}

/// Characters of one kind, beside each other.
#[derive(Clone)]
struct Piece {
    text: String,
    class: &'static str,
}

impl Piece {
    fn bold(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            class: "b",
        }
    }
}

/// Pieces with their rows and columns, beginning at row `first`, as many as the screen holds.
fn on_screen(text: &str, first: usize) -> Vec<(usize, usize, Piece)> {
    let (mut row, mut column) = (first, 0);
    let (mut found, mut class) = (Vec::new(), "");
    for line in text.lines() {
        for (number, part) in line.split("\u{1b}[").enumerate() {
            let mut rest = part;
            if number > 0 {
                let (code, after) = part.split_once('m').unwrap();
                class = class_of(code);
                rest = after;
            }
            let mut characters: Vec<char> = rest.chars().collect();
            while !characters.is_empty() {
                if column == COLUMNS {
                    (row, column) = (row + 1, 0);
                }
                let fit = characters.len().min(COLUMNS - column);
                let text: String = characters.drain(..fit).collect();
                let width = text.chars().count();
                found.push((row, column, Piece { text, class }));
                column += width;
            }
        }
        (row, column) = (row + 1, 0);
    }
    found
}

/// The class of a colour that the program uses.
fn class_of(code: &str) -> &'static str {
    match code {
        "0" => "",
        "1" => "b",
        "31" => "r",
        "32" => "g",
        "33" => "y",
        "36" => "c",
        "1;31" => "r b",
        "1;32" => "g b",
        "1;33" => "y b",
        "1;36" => "c b",
        other => panic!("no class for the colour {other}"),
    }
}

struct Scene<'a> {
    total: f64,
    end: f64,
    name: String,
    stands_still: bool,
    style: &'a mut String,
    body: &'a mut String,
}

impl Scene<'_> {
    /// Something that is seen from `begin` to the end of the scene.
    fn part(&mut self, number: usize, begin: f64, pieces: &[(usize, usize, Piece)]) {
        let name = format!("{}p{number}", self.name);
        let share = |time: f64| 100.0 * time / self.total;
        self.style.push_str(&format!(
            ".{name}{{opacity:{};animation:{name} {:.2}s step-end infinite}}\n\
             @keyframes {name}{{0%{{opacity:0}}{:.3}%{{opacity:1}}{:.3}%{{opacity:0}}}}\n",
            u8::from(self.stands_still),
            self.total,
            share(begin).max(0.001),
            share(self.end).min(99.999),
        ));
        self.body.push_str(&format!("<g class=\"{name}\">\n"));
        for (row, column, piece) in pieces {
            let text = piece.text.trim_end();
            if text.trim().is_empty() {
                continue;
            }
            let blank = text.len() - text.trim_start().len();
            let text = text.trim_start();
            let class = match piece.class {
                "" => String::new(),
                class => format!(" class=\"{class}\""),
            };
            self.body.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" textLength=\"{:.1}\"{class}>{}</text>\n",
                MARGIN + WIDTH * (column + blank) as f64,
                MARGIN + HEIGHT * (*row as f64 + 1.0),
                WIDTH * text.chars().count() as f64,
                escaped(text),
            ));
        }
        self.body.push_str("</g>\n");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn picture(rows: usize, style: &str, body: &str) -> String {
    let width = 2.0 * MARGIN + WIDTH * COLUMNS as f64;
    let height = 2.0 * MARGIN + HEIGHT * (rows as f64 + 0.5);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"title\">\n\
         <title id=\"title\">kubectl devicetaint in a terminal: devices with taints, a preview of an eviction, and a guard that stops it</title>\n\
         <style>\n\
         text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d4d7dd;white-space:pre}}\n\
         .b{{font-weight:bold}}.r{{fill:#ff7b72}}.g{{fill:#7ee787}}.y{{fill:#e3b341}}.c{{fill:#76e3ea}}\n\
         {style}\
         @media (prefers-reduced-motion:reduce){{g{{animation:none!important}}}}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n\
         {body}</svg>\n"
    )
}
