//! A credential plugin that asks a question, at a terminal.

use std::fs;

use serde_json::json;

use super::{
    plugins::{answer, exec},
    stage::{Program, Stage},
};
use crate::harness::{ENTER, Terminal};

#[test]
fn plugin_that_asks_is_answered_at_the_terminal() {
    let stage = Stage::new();
    let script = answer("client.authentication.k8s.io/v1", &json!({"token": "$pin"}));
    let script = format!(
        "printf 'PIN: ' >&2\nread pin\n{}",
        script.replace("'END'", "END")
    );
    for mode in ["Always", "IfAvailable"] {
        let mut visitors = Vec::new();
        for program in [Program::Kubectl, Program::Plugin] {
            let folder = stage.folder();
            let login = folder.join("login");
            fs::write(&login, format!("#!/bin/sh\n{script}\n")).expect("a file");
            let mut user = exec("sh");
            user["exec"]["args"] = json!([login]);
            user["exec"]["interactiveMode"] = json!(mode);
            let config = json!({
                "apiVersion": "v1", "kind": "Config", "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {
                    "server": stage.url(), "certificate-authority": stage.authority_file,
                }}],
                "users": [{"name": "u", "user": user}],
            });
            let file = folder.join("config");
            fs::write(&file, config.to_string()).expect("a file");
            stage.forget();
            let mut terminal = Terminal::open(stage.plane);
            let mut words = vec![stage.path_of(program).display().to_string()];
            words.extend(stage.words_of(program).iter().map(|&word| word.to_owned()));
            words.push(format!("--kubeconfig={}", file.display()));
            terminal.command(&words);
            terminal.until("PIN: ");
            terminal.press(&format!("1234{ENTER}"));
            terminal.ended(0);
            visitors.push(stage.seen());
        }
        let (seen, _) = &visitors[1];
        assert_eq!(visitors[0], visitors[1], "{mode}");
        assert_eq!(seen[0].authorization, "Bearer 1234", "{mode}");
    }
}
