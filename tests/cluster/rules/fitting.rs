//! Questions on a terminal of 24 lines.

use super::support::{KEY, World};
use crate::harness::{ControlPlane, ENTER, Terminal, block_on};

#[test]
fn a_question_about_fifteen_pods_fits_a_terminal_with_their_number_in_its_last_line() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        for number in 0..15 {
            world.pod(&format!("train-{number}"), "gpu-0").await;
        }
    });
    let name = world.add(&format!("{KEY}=x"));
    let mut terminal = Terminal::open(world.plane);
    let narrow = ["stty", "rows", "24", "cols", "80"].map(str::to_owned);
    terminal.command(&narrow);
    terminal.ended(0);
    terminal.command(&world.typed(&format!("escalate {name} --to NoExecute")));
    terminal.until("[y/N]");
    terminal.press(ENTER);
    let shown = terminal.ended(4);
    let lines: Vec<&str> = shown.lines().collect();
    let question = lines.iter().position(|line| line.contains("[y/N]"));
    let question = question.expect("a question");
    // The first line is the command that was typed.
    assert!(question <= 24, "{shown}");
    let last = lines[question.saturating_sub(1)..=question].join(" ");
    assert!(last.contains("evict 15 pods"), "{shown}");
}

#[test]
fn who_adds_or_escalates_is_told_how_many_claims_can_be_placed_together() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        for number in 0..3 {
            world.pod(&format!("train-{number}"), "gpu-0").await;
        }
    });
    let told = "at most 1 of the 3 claims can be reallocated";
    let added = format!("add GPU0 {KEY}=x:NoExecute --yes --dry-run=server");
    let run = world.run(&added).ended(0);
    assert!(run.stderr.contains(told), "{run:#?}");
    let run = world
        .run(&format!("{added} --abort-if claims.unplaceable.together>1"))
        .ended(4);
    assert!(
        run.stderr.contains("claims.unplaceable.together"),
        "{run:#?}"
    );
    let name = world.add(&format!("{KEY}=x"));
    let escalated = format!("escalate {name} --to NoExecute --yes --dry-run=server");
    let run = world.run(&escalated).ended(0);
    assert!(run.stderr.contains(told), "{run:#?}");
}
