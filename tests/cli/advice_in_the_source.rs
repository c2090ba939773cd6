//! Every command in a text of the program is one that it understands, even if no test has seen that text.

use std::path::Path;

use super::harness::devicetaint;

/// The program's own commands in the texts of `source`, with `x` for placeholders.
fn commands(source: &str) -> Vec<String> {
    let printed = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = printed.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.starts_with("//"));
    let mut commands = Vec::new();
    for line in lines {
        for part in line.split("kubectl devicetaint ").skip(1) {
            let ends = ["\"", "`", " | ", " > ", ")"];
            let end = ends.iter().filter_map(|end| part.find(end)).min();
            let end = end.unwrap_or(part.len());
            let command = part[..end].trim_end_matches('\\');
            commands.push(filled_in(command.trim_end_matches(',')));
        }
    }
    commands
}

fn filled_in(command: &str) -> String {
    let mut parts = command.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('x');
        text.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    // A flag that takes one of a few words gets one that all such flags take.
    text.replace("--to x", "--to NoSchedule")
}

fn sources(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(std::fs::read_to_string(&path).expect("a file"));
        }
    }
    found
}

#[test]
fn every_command_in_a_text_of_the_program_exists_with_its_flags() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut commands: Vec<String> = sources(&folder)
        .iter()
        .flat_map(|text| commands(text))
        .collect();
    commands.sort();
    commands.dedup();
    assert!(commands.len() > 30, "{commands:#?}");
    for command in commands {
        let run = devicetaint(&format!("{command} --help"));
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
    }
}
