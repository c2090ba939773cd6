//! Changes of other clients between a command's reads and its write.

use serde_json::json;

use super::harm::Proxy;
use super::support::{KEY, World};
use crate::harness::{At, ControlPlane, Reference, Variant, block_on, objects::rule};

/// Act of the other client.
#[derive(Clone, Copy, Debug)]
enum Other {
    SetsValue,
    WidensSelector,
    Deletes,
    Recreates,
    Creates(&'static str),
}
use Other::{Creates, Deletes, Recreates, SetsValue, WidensSelector};

#[test]
fn change_of_another_client_is_kept() {
    let plane = ControlPlane::of(&Variant::default().without_controllers().without_scheduler());
    let world = block_on(World::new(plane));
    let proxy = Proxy::start(&world);
    let name = format!("meanwhile-{}", world.driver);
    let add = |value: &str, effect: &str| {
        let line = format!("add GPU0 {KEY}={value}:{effect} --name {name} --yes");
        world.run(&line).ended(0);
    };
    let clear = || {
        let line = format!("remove {name} --ignore-not-found --others --yes");
        world.run(&line).ended(0);
    };
    // Effect before, command, the other client, exit code, taint after, exit code of the same command again.
    let escalate = "escalate NAME --to NoSchedule --yes";
    let lower = "deescalate NAME --to NoSchedule";
    let add_ours = "add GPU0 KEY=ours --name NAME";
    let (harmless, evicts) = (Some("None"), Some("NoExecute"));
    for (before, line, other, code, after, again) in [
        (
            Some("NoSchedule"),
            "escalate NAME --to NoExecute --yes",
            SetsValue,
            75,
            Some("theirs:NoSchedule"),
            0,
        ),
        (
            Some("NoSchedule"),
            "add GPU0 KEY=new:NoSchedule --name NAME --overwrite --yes",
            SetsValue,
            75,
            Some("theirs:NoSchedule"),
            0,
        ),
        (
            Some("NoSchedule"),
            "remove NAME --yes",
            SetsValue,
            75,
            Some("theirs:NoSchedule"),
            4,
        ),
        (harmless, escalate, WidensSelector, 75, Some("ours:None"), 0),
        // Lowering is made again on the changed rule.
        (evicts, lower, SetsValue, 0, Some("theirs:NoSchedule"), 0),
        (harmless, escalate, Deletes, 1, None, 1),
        (harmless, "remove NAME", Deletes, 0, None, 1),
        (
            harmless,
            "remove NAME",
            Recreates,
            0,
            Some(":NoSchedule"),
            4,
        ),
        (None, add_ours, Creates("ours"), 0, Some("ours:None"), 0),
        (None, add_ours, Creates("theirs"), 1, Some("theirs:None"), 1),
    ] {
        let line = line.replace("NAME", &name).replace("KEY", KEY);
        clear();
        if let Some(effect) = before {
            add("ours", effect);
        }
        let reference = Reference::rule(&name);
        let run = proxy.run_while(&world, &line, At::Change(1), || match other {
            SetsValue => block_on(async {
                plane
                    .patch(&reference, &json!({"spec": {"taint": {"value": "theirs"}}}))
                    .await;
            }),
            WidensSelector => block_on(async {
                let wide = json!({"spec": {"deviceSelector": {"pool": null, "device": null}}});
                plane.patch(&reference, &wide).await;
            }),
            Deletes => block_on(plane.delete(&reference)),
            Recreates => block_on(async {
                plane.delete(&reference).await;
                plane
                    .create(&[rule(&name, &world.driver, "NoSchedule")])
                    .await;
            }),
            Creates(value) => add(value, "None"),
        });
        let what = format!("{line}, {other:?}: {run:#?}");
        assert_eq!(run.code, code, "{what}");
        let taint = block_on(world.rule(&name)).map(|rule| {
            let text = |field: &str| {
                rule["spec"]["taint"][field]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            format!("{}:{}", text("value"), text("effect"))
        });
        assert_eq!(taint.as_deref(), after, "{what}");
        if code == 75 {
            run.saying("was changed by another client")
                .saying("run the same command again");
        }
        let run = world.run(&line);
        assert_eq!(run.code, again, "{what}\n{run:#?}");
    }
}
