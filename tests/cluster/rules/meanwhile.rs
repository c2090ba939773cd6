//! Changes of other clients between a command's reads and its write.

use serde_json::json;

use super::harm::Proxy;
use super::support::{KEY, World};
use crate::harness::{At, ControlPlane, Reference, Variant, block_on, objects::rule};

/// Effect before, command, act of the other client, exit code, taint after, exit code of the same command again.
const ROWS: &str = "
NoSchedule | escalate NAME --to NoExecute --yes | sets value | 75 | theirs:NoSchedule | 0
NoSchedule | add GPU0 KEY=new:NoSchedule --name NAME --overwrite --yes | sets value | 75 | theirs:NoSchedule | 0
NoSchedule | remove NAME --yes | sets value | 75 | theirs:NoSchedule | 4
None | escalate NAME --to NoSchedule --yes | widens selector | 75 | ours:None | 0
NoExecute | deescalate NAME --to NoSchedule | sets value | 0 | theirs:NoSchedule | 0
None | escalate NAME --to NoSchedule --yes | deletes | 1 | nothing | 1
None | remove NAME | deletes | 0 | nothing | 1
None | remove NAME | recreates | 0 | :NoSchedule | 4
nothing | add GPU0 KEY=ours --name NAME | creates ours | 0 | ours:None | 0
nothing | add GPU0 KEY=ours --name NAME | creates theirs | 1 | theirs:None | 1
";

#[test]
fn change_of_another_client_is_kept() {
    let plane = ControlPlane::of(&Variant::idle());
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
    for row in ROWS.lines().filter(|row| !row.is_empty()) {
        let [before, line, other, code, after, again] = row.split(" | ").collect::<Vec<_>>()[..]
        else {
            panic!("six cells: {row}");
        };
        let number = |code: &str| code.parse::<i32>().expect("a code");
        let (code, again) = (number(code), number(again));
        let line = line.replace("NAME", &name).replace("KEY", KEY);
        clear();
        if before != "nothing" {
            add("ours", before);
        }
        let reference = Reference::rule(&name);
        let run = proxy.run_while(&world, &line, At::Change(1), || match other {
            "sets value" => block_on(async {
                plane
                    .patch(&reference, &json!({"spec": {"taint": {"value": "theirs"}}}))
                    .await;
            }),
            "widens selector" => block_on(async {
                let wide = json!({"spec": {"deviceSelector": {"pool": null, "device": null}}});
                plane.patch(&reference, &wide).await;
            }),
            "deletes" => block_on(plane.delete(&reference)),
            "recreates" => block_on(async {
                plane.delete(&reference).await;
                plane
                    .create(&[rule(&name, &world.driver, "NoSchedule")])
                    .await;
            }),
            creates => add(creates.trim_start_matches("creates "), "None"),
        });
        let what = format!("{row}: {run:#?}");
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
        assert_eq!(taint.as_deref().unwrap_or("nothing"), after, "{what}");
        if code == 75 {
            run.saying("was changed by another client")
                .saying("run the same command again");
        }
        let run = world.run(&line);
        assert_eq!(run.code, again, "{what}\n{run:#?}");
    }
}
