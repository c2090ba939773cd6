//! `react` on a control plane: signals become taints, and are taken back.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::rules::support::{Run, World};
use crate::harness::{
    ControlPlane, DEADLINE, PLUGIN, Reference, Variant, block_on, random_suffix, text, wait_for,
};

const KEY: &str = "example.com/unhealthy";

/// A world with a policy of its own.
struct Policed<'a> {
    world: World<'a>,
    name: String,
    folder: tempfile::TempDir,
}

impl<'a> Policed<'a> {
    /// A policy for this driver's devices, with these fields beside.
    fn new(plane: &'a ControlPlane, fields: &str) -> Self {
        let policed = Self {
            world: block_on(World::new(plane)),
            name: format!("policy-{}", random_suffix()),
            folder: tempfile::tempdir().expect("a folder"),
        };
        let (name, driver) = (&policed.name, &policed.world.driver);
        let text = format!(
            "{{apiVersion: devicetaint.dev/v1alpha1, kind: TaintPolicy, metadata: {{name: {name}}}, spec: {{devices: device.driver == '{driver}', taint: {{key: {KEY}}}, {fields}}}}}"
        );
        std::fs::write(policed.file(), text).expect("a file");
        policed
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("policy.yaml")
    }

    fn words(&self, flags: &str) -> Vec<String> {
        let file = self.file().display().to_string();
        let line = format!("react -f {file} {flags}");
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// Decides once.
    fn once(&self, flags: &str) -> Run {
        let words = self.words(&format!("--once {flags}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.world.plane.plugin(&words).into()
    }

    /// Begins to decide.
    fn start(&self, flags: &str) -> Child {
        let mut command = self.world.plane.command(PLUGIN);
        command.args(self.words(flags));
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    }

    /// Has the driver publish `gpu-0` with a taint without effect; without a value, with none.
    fn publish(&self, value: Option<&str>) {
        self.publish_all([value, None]);
    }

    /// Has the driver publish both devices, each with a taint without effect or with none.
    fn publish_all(&self, values: [Option<&str>; 2]) {
        let taint = |value| json!({"key": "example.com/xid", "value": value, "effect": "None"});
        let devices = ["gpu-0", "gpu-1"].into_iter().zip(values);
        let devices = devices.map(|(name, value)| {
            let taints: Vec<Value> = value.into_iter().map(taint).collect();
            json!({"name": name, "taints": taints})
        });
        let devices: Vec<Value> = devices.collect();
        let World { node, driver, .. } = &self.world;
        let name = format!("{node}-{driver}");
        let slice = Reference::cluster("resource.k8s.io/v1", "ResourceSlice", &name);
        let patch = json!({"spec": {"devices": devices}});
        block_on(self.world.plane.patch(&slice, &patch));
    }

    /// Waits until the rules of the policy have these effects.
    fn until(&self, effects: &[&str]) -> Vec<Value> {
        block_on(wait_for("the effects of the rules", DEADLINE, async || {
            let rules = self.world.rules().await;
            let found: Vec<&Value> = rules
                .iter()
                .map(|rule| &rule["spec"]["taint"]["effect"])
                .collect();
            (found == effects).then_some(rules)
        }))
    }
}

/// The time since when the signal is as it is.
fn since(rule: &Value) -> String {
    let note = rule["metadata"]["annotations"]["devicetaint.dev/since"].as_str();
    note.expect("a note")
        .split(' ')
        .next()
        .expect("a time")
        .to_owned()
}

fn terminate(child: Child) -> Run {
    let pid = child.id().to_string();
    let sent = std::process::Command::new("kill").arg(&pid).status();
    assert!(sent.expect("kill can be run").success());
    child.wait_with_output().expect("it ends").into()
}

const SOFT_AND_HARD: &str = "soft: {signal: taint example.com/xid, for: 4s, effect: NoSchedule}, hard: {signal: taint example.com/xid=79, effect: NoExecute}, recover: {for: 3s}";

#[test]
fn a_taint_of_the_driver_becomes_effects_and_is_taken_back() {
    let policed = Policed::new(ControlPlane::shared(), SOFT_AND_HARD);
    block_on(policed.world.pod("train", "gpu-0"));
    let child = policed.start("--interval 1s");
    policed.publish(Some("48"));
    let first = policed.until(&["None"]);
    assert_eq!(
        first[0]["metadata"]["labels"]["devicetaint.dev/policy"],
        policed.name
    );
    assert_eq!(first[0]["spec"]["taint"]["value"], policed.name);
    policed.until(&["NoSchedule"]);
    policed.publish(Some("79"));
    policed.until(&["NoExecute"]);
    block_on(policed.world.until_evicted("train"));
    policed.publish(None);
    policed.until(&[]);
    let run = terminate(child).ended(0);
    let told = [
        "rule created, effect None: taint example.com/xid",
        "effect NoSchedule: ",
        "effect NoExecute: taint example.com/xid=79",
        "signal gone: ",
        "rule removed: ",
    ];
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), told.len(), "{run:#?}");
    for (line, told) in lines.iter().zip(told) {
        assert!(line.contains(told), "{run:#?}");
    }
}

#[test]
fn a_program_that_was_killed_goes_on_where_it_was() {
    let policed = Policed::new(ControlPlane::shared(), SOFT_AND_HARD);
    policed.publish(Some("48"));
    let mut child = policed.start("--interval 1s");
    let before = since(&policed.until(&["None"])[0]);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    thread::sleep(Duration::from_secs(4));
    // The grace period is over for a program that begins only now.
    policed.once("").ended(0);
    assert_eq!(since(&policed.until(&["NoSchedule"])[0]), before);
}

#[test]
fn two_programs_make_one_rule() {
    let policed = Policed::new(ControlPlane::shared(), SOFT_AND_HARD);
    policed.publish(Some("79"));
    let runs = [policed.start("--once"), policed.start("--once")];
    let runs = runs.map(|child| Run::from(child.wait_with_output().expect("it ends")));
    assert!(runs.iter().all(|run| run.code == 0), "{runs:#?}");
    policed.until(&["NoExecute"]);
}

#[test]
fn rule_that_an_administrator_changed_stays_as_it_is() {
    let policed = Policed::new(ControlPlane::shared(), SOFT_AND_HARD);
    policed.publish(Some("48"));
    policed.once("").ended(0);
    let rules = policed.until(&["None"]);
    let name = rules[0]["metadata"]["name"].as_str().expect("a name");
    let patch = r#"{"spec": {"taint": {"effect": "NoSchedule"}}}"#;
    text(&policed.world.plane.kubectl(&[
        "patch",
        "devicetaintrule",
        name,
        "--type=merge",
        "-p",
        patch,
    ]));
    for value in [Some("79"), None] {
        policed.publish(value);
        let run = policed.once("").ended(0);
        assert!(run.stdout.contains("left alone: "), "{run:#?}");
        policed.until(&["NoSchedule"]);
    }
}

#[test]
fn limits_hold_and_a_dry_run_changes_nothing() {
    let fields = format!("{SOFT_AND_HARD}, limits: {{abortIf: ['pods.evicted>0']}}");
    let policed = Policed::new(ControlPlane::shared(), &fields);
    block_on(policed.world.pod("train", "gpu-0"));
    policed.publish(Some("79"));
    let run = policed.once("--dry-run").ended(4);
    assert!(
        run.stdout.contains("(dry run)") && run.stdout.contains("pods.evicted>0"),
        "{run:#?}"
    );
    policed.until(&[]);
    let run = policed.once("").ended(4);
    assert!(
        run.stdout
            .contains("held, no NoExecute: guard tripped: pods.evicted>0"),
        "{run:#?}"
    );
    policed.until(&["None"]);
}

#[test]
fn guards_add_up_the_pods_of_all_devices() {
    let fields = format!("{SOFT_AND_HARD}, limits: {{devices: 9, abortIf: ['pods.evicted>1']}}");
    let policed = Policed::new(ControlPlane::shared(), &fields);
    block_on(policed.world.pod("train", "gpu-0"));
    block_on(policed.world.pod("serve", "gpu-1"));
    policed.publish_all([Some("79"), Some("79")]);
    for flags in ["--dry-run", ""] {
        let run = policed.once(flags).ended(4);
        assert!(
            run.stdout.contains("guard tripped: pods.evicted>1"),
            "{run:#?}"
        );
    }
    policed.until(&["NoExecute", "None"]);
}

#[test]
fn health_in_the_status_of_a_pod_is_a_signal() {
    let fields = "signal: health=Unhealthy, hard: {effect: NoSchedule}, recover: {for: 1s}";
    let policed = Policed::new(ControlPlane::shared(), fields);
    let World {
        namespace, plane, ..
    } = &policed.world;
    block_on(policed.world.pod("train", "gpu-0"));
    let report = |health: &str| {
        let resources = json!([{"resourceID": "example.com/gpu=0", "health": health}]);
        let status = json!({"containerStatuses": [{
            "name": "main", "image": "none", "imageID": "none", "ready": true, "restartCount": 0,
            "allocatedResourcesStatus": [{"name": "claim:device", "resources": resources}],
        }]});
        block_on(plane.patch_status(&Reference::pod(namespace, "train"), &status));
    };
    report("Healthy");
    policed.once("").ended(0);
    policed.until(&[]);
    report("Unhealthy");
    policed.once("").ended(0);
    policed.until(&["NoSchedule"]);
    report("Unknown");
    policed.once("").ended(6);
    policed.until(&["NoSchedule"]);
}

#[test]
fn the_role_of_the_manifest_is_enough_and_less_is_named() {
    let plane = ControlPlane::start(&Variant::default());
    let policed = Policed::new(&plane, SOFT_AND_HARD);
    policed.publish(Some("79"));
    let refused = policed.once("--as=anna").ended(1);
    assert!(
        refused.stderr.contains("error: cannot list "),
        "{refused:#?}"
    );
    let root = env!("CARGO_MANIFEST_DIR");
    for manifest in ["reader", "react", "react"] {
        let file = format!("{root}/manifests/{manifest}.yaml");
        text(&plane.kubectl(&["apply", "--server-side", "-f", &file]));
    }
    let role = "--clusterrole=kubectl-devicetaint-reader";
    text(&plane.kubectl(&["create", "clusterrolebinding", "anna", role, "--user=anna"]));
    let denied = policed.once("--as=anna").ended(1);
    assert!(
        denied
            .stderr
            .contains("cannot create devicetaintrules.resource.k8s.io"),
        "{denied:#?}"
    );
    let account = "--as=system:serviceaccount:devicetaint:react";
    policed.once(account).ended(0);
    policed.until(&["NoExecute"]);
    policed.publish(None);
    policed.once(account).ended(0);
    thread::sleep(Duration::from_secs(4));
    policed.once(account).ended(0);
    policed.until(&[]);
}
