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

/// A rule without effect for a device of pods in two namespaces.
fn two_namespaces() -> (World<'static>, String) {
    let world = block_on(World::new(ControlPlane::shared()));
    block_on(async {
        world.pod("train", "gpu-0").await;
        let other = world.plane.namespace().await;
        world.pod_in(&other, "infer", "gpu-0").await;
    });
    let name = world.add(&format!("{KEY}=x"));
    (world, name)
}

/// The prompts of `escalate` to each effect: evictions in several namespaces are confirmed by the number of pods.
const PROMPTS: [(&str, &str); 2] = [
    ("NoSchedule", "? [y/N]"),
    (
        "NoExecute",
        "Because pods in 2 namespaces are evicted, confirm with the number of pods that will be evicted",
    ),
];

#[test]
fn a_question_is_agreed_to_by_its_own_answer_alone() {
    let (world, name) = two_namespaces();
    let mut terminal = Terminal::open(world.plane);
    let no = "not confirmed; nothing was changed";
    let interrupted = "interrupted; nothing was changed";
    // A key alone approves nothing: it may be for something else.
    let to_yes: &[(&[&str], i32, &str)] = &[
        (&["n", ENTER], 4, no),
        (&["", ENTER], 4, no),
        (&["y", CTRL_D], 4, no),
        (&["y", CTRL_C], 130, interrupted),
        (&["", CTRL_C], 130, interrupted),
        (&["y", ENTER], 0, "configured"),
    ];
    let of_number = |answer: &str| format!("the answer \"{answer}\" is not 2; nothing was changed");
    let [three, yes, empty] = ["3", "y", ""].map(of_number);
    let to_number: &[(&[&str], i32, &str)] = &[
        (&["3", ENTER], 4, &three),
        (&["y", ENTER], 4, &yes),
        (&["2", CTRL_D], 4, &empty),
        (&["2", CTRL_C], 130, interrupted),
        (
            &["1", "2", "\u{7f}", "\u{7f}", " ", "2", ENTER],
            0,
            "configured",
        ),
    ];
    for ((effect, prompt), tries) in PROMPTS.into_iter().zip([to_yes, to_number]) {
        let before = world.effect(&name);
        for (keys, code, said) in tries {
            terminal.command(&world.typed(&format!("escalate {name} --to {effect}")));
            // The cluster is named above the question.
            terminal.until("Cluster: ");
            terminal.until(world.plane.server());
            terminal.until(prompt);
            for keys in *keys {
                terminal.press(keys);
            }
            let shown = terminal.ended(*code);
            let begin = if *code == 0 { "" } else { "\nerror: " };
            assert!(shown.contains(&format!("{begin}{said}")), "{shown}");
            let expected = if *code == 0 { effect } else { &before };
            assert_eq!(world.effect(&name), *expected, "{keys:?}");
        }
    }
    block_on(world.until_evicted("train"));
}

#[test]
fn a_question_that_was_suspended_is_asked_again() {
    let (world, name) = two_namespaces();
    let mut terminal = Terminal::open(world.plane);
    for ((effect, prompt), typed) in PROMPTS.into_iter().zip(["y", "2"]) {
        terminal.command(&world.typed(&format!("escalate {name} --to {effect}")));
        for _ in 0..2 {
            terminal.until(prompt);
            terminal.until(": ");
            // Keys typed before are forgotten.
            terminal.press("7");
            terminal.press(CTRL_Z);
            terminal.until("Stopped");
            assert_ne!(world.effect(&name), effect);
            terminal.press("fg\r");
        }
        terminal.until(prompt);
        terminal.until(": ");
        terminal.press(typed);
        terminal.press(ENTER);
        terminal.until("configured");
        assert_eq!(world.effect(&name), effect);
    }
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
    let (_, last) = shown.split_once("error: interrupted").expect("an error");
    for said in [
        format!("  changed: {name} configured"),
        format!("to keep waiting: kubectl devicetaint wait {name} --for evicted"),
        format!("kubectl devicetaint deescalate {name} --to NoSchedule"),
    ] {
        assert!(last.contains(&said), "{said}: {shown}");
    }
    assert_eq!(world.effect(&name), "NoExecute");
}
