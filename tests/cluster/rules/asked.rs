//! Questions on a terminal, and the keys typed there.

use super::support::{KEY, World};
use crate::harness::{CTRL_C, CTRL_D, CTRL_Z, ControlPlane, ENTER, PLUGIN, Terminal, block_on};

impl World<'_> {
    /// The words of a command that is typed.
    pub(super) fn typed(&self, line: &str) -> Vec<String> {
        let mut words = vec![PLUGIN.to_owned()];
        words.extend(self.words(line));
        words
    }

    fn effect(&self, name: &str) -> String {
        let rule = block_on(self.rule(name)).expect("it is there");
        let effect = rule["spec"]["taint"]["effect"].as_str();
        effect.expect("an effect").to_owned()
    }
}

#[test]
fn a_yes_is_needed_and_everything_else_is_a_no() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.pod("train", "gpu-0"));
    let name = world.add(&format!("{KEY}=x"));
    let mut terminal = Terminal::open(world.plane);
    for (keys, code, said) in [
        (["n", ENTER], 4, "not confirmed; nothing was changed"),
        (["", ENTER], 4, "not confirmed; nothing was changed"),
        (["y", CTRL_D], 4, "not confirmed; nothing was changed"),
        // A key alone approves nothing: it may have been meant for something else.
        (["y", CTRL_C], 130, "interrupted; nothing was changed"),
        (["", CTRL_C], 130, "interrupted; nothing was changed"),
    ] {
        terminal.command(&world.typed(&format!("escalate {name} --to NoSchedule")));
        // The cluster is named above the question and in it.
        terminal.until("Cluster: ");
        terminal.until(world.plane.server());
        terminal.until(&format!("Rule {name} "));
        terminal.until("None ");
        terminal.until(" NoSchedule");
        terminal.until(&format!("Give rule {name} effect NoSchedule in "));
        terminal.until("? [y/N]");
        for keys in keys {
            terminal.press(keys);
        }
        let shown = terminal.ended(code);
        assert!(shown.contains(&format!("\nerror: {said}")), "{shown}");
        assert_eq!(world.effect(&name), "None", "{keys:?}");
    }
    terminal.command(&world.typed(&format!("escalate {name} --to NoSchedule")));
    terminal.until(&format!("Give rule {name} effect NoSchedule in "));
    terminal.until("? [y/N]");
    terminal.press("y");
    terminal.press(ENTER);
    let shown = terminal.ended(0);
    assert!(shown.contains("configured"), "{shown}");
    assert_eq!(world.effect(&name), "NoSchedule");
}

#[test]
fn a_question_that_was_suspended_is_asked_again() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        world.pod("train", "gpu-0").await;
        let other = world.plane.namespace().await;
        world.pod_in(&other, "infer", "gpu-0").await;
    });
    let name = world.add(&format!("{KEY}=x"));
    let mut terminal = Terminal::open(world.plane);
    for (effect, prompt, typed) in [
        ("NoSchedule", "? [y/N]: ", "y"),
        ("NoExecute", "evicted: ", "2"),
    ] {
        terminal.command(&world.typed(&format!("escalate {name} --to {effect}")));
        for _ in 0..2 {
            terminal.until(prompt);
            // Keys typed before are forgotten.
            terminal.press("7");
            terminal.press(CTRL_Z);
            terminal.until("Stopped");
            assert_ne!(world.effect(&name), effect);
            terminal.press("fg\r");
        }
        terminal.until(prompt);
        terminal.press(typed);
        terminal.press(ENTER);
        terminal.until("configured");
        assert_eq!(world.effect(&name), effect);
    }
}

#[test]
fn the_number_of_pods_is_typed_where_several_namespaces_are_hit() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        world.pod("train", "gpu-0").await;
        let other = world.plane.namespace().await;
        world.pod_in(&other, "infer", "gpu-0").await;
    });
    let name = world.add(&format!("{KEY}=x"));
    let mut terminal = Terminal::open(world.plane);
    let prompt = "Because pods in 2 namespaces are evicted, confirm with the number of pods that will be evicted";
    for (keys, code, said) in [
        (
            ["3", ENTER],
            4,
            "the answer \"3\" is not 2; nothing was changed",
        ),
        (
            ["y", ENTER],
            4,
            "the answer \"y\" is not 2; nothing was changed",
        ),
        (
            ["2", CTRL_D],
            4,
            "the answer \"\" is not 2; nothing was changed",
        ),
        (["2", CTRL_C], 130, "interrupted; nothing was changed"),
    ] {
        terminal.command(&world.typed(&format!("escalate {name} --to NoExecute")));
        terminal.until(prompt);
        for keys in keys {
            terminal.press(keys);
        }
        let shown = terminal.ended(code);
        assert!(shown.contains(&format!("\nerror: {said}")), "{shown}");
        assert_eq!(world.effect(&name), "None", "{keys:?}");
    }
    terminal.command(&world.typed(&format!("escalate {name} --to NoExecute")));
    terminal.until(prompt);
    for key in ["1", "2", "\u{7f}", "\u{7f}", " ", "2", ENTER] {
        terminal.press(key);
    }
    let shown = terminal.ended(0);
    assert!(shown.contains("configured"), "{shown}");
    block_on(world.until_evicted("train"));
}

#[test]
fn ctrl_c_ends_a_wait_and_says_how_to_go_on() {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(world.tolerant_pod("patient", "gpu-0", 3600));
    let name = world.add(&format!("{KEY}=x"));
    let mut terminal = Terminal::open(world.plane);
    let line = format!("escalate {name} --to NoExecute --yes --wait --timeout 2h");
    terminal.command(&world.typed(&line));
    terminal.until("0 gone, 0 terminating, 1 not yet evicted");
    terminal.press(CTRL_C);
    let shown = terminal.ended(130);
    let (_, last) = shown.split_once("error: interrupted").expect("it is said");
    for said in [
        format!("  changed: {name} configured"),
        "  left: when last observed: 0 gone, 0 terminating, 1 not yet evicted".to_owned(),
        format!("to keep waiting: kubectl devicetaint wait {name} --for evicted"),
        format!("kubectl devicetaint deescalate {name} --to NoSchedule"),
    ] {
        assert!(last.contains(&said), "{said}: {shown}");
    }
    assert_eq!(world.effect(&name), "NoExecute");
}
