//! What stands on terminals of different widths.

use std::collections::BTreeSet;
use std::process::Command;

use insta::assert_snapshot;
use rexpect::session::spawn_command;

use super::harness::{EXAMPLE, PROGRAM};

/// The lines on a terminal of so many columns, and of fifty lines.
fn lines(line: &str, columns: usize) -> Vec<String> {
    lines_of(line, columns, 50)
}

fn lines_of(line: &str, columns: usize, rows: usize) -> Vec<String> {
    let script = format!("stty rows {rows} cols {columns}; exec \"$0\" {line} --from {EXAMPLE}");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &script, PROGRAM])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .env("NO_COLOR", "1");
    let mut session = spawn_command(command, Some(30_000)).expect("a terminal can be had");
    let shown = session.exp_eof().expect("it ends");
    // It is given a character for each byte.
    let bytes: Vec<u8> = shown
        .chars()
        .filter_map(|byte| u8::try_from(byte).ok())
        .collect();
    let shown = String::from_utf8(bytes).expect("UTF-8");
    shown.lines().map(str::to_owned).collect()
}

/// All that is said, whatever lines it stands in.
fn words(lines: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = lines
        .iter()
        .flat_map(|line| line.split_whitespace())
        .collect();
    words.sort_unstable();
    words
}

const COMMANDS: [&str; 6] = [
    "preview 'gpu.example.com/node-7/*' example.com/maintenance:NoExecute",
    "preview --rule node-6-firmware",
    "preview --rule node-6-firmware -o wide",
    "list -o wide",
    "describe node-6-firmware",
    "devices -o wide",
];

#[test]
fn the_same_is_said_on_terminals_of_every_width() {
    for command in COMMANDS {
        let wide = lines_of(command, 400, 500);
        assert!(wide.len() > 2, "{command}: {wide:#?}");
        for columns in [60, 80, 120, 200] {
            let narrow = lines_of(command, columns, 500);
            // What leaves a table is of less importance than who, when and why, or which rule does what.
            let stay: &[&str] = if command.ends_with("wide") {
                &[]
            } else if command.starts_with("preview") {
                &["SEVERITY", "WHEN", "POD", "RISKS"]
            } else {
                &[]
            };
            if let [first, ..] = stay {
                let mut rest = words(&wide);
                for word in words(&narrow).iter().filter(|word| !word.contains('…')) {
                    let place = rest.iter().position(|other| other == word);
                    let place = place.unwrap_or_else(|| panic!("{command} at {columns}: {word}"));
                    rest.remove(place);
                }
                let headers = narrow.iter().find(|line| line.starts_with(first));
                let headers = headers.expect("a table");
                for header in stay {
                    assert!(
                        headers.contains(header),
                        "{command} at {columns}: {headers}"
                    );
                }
            } else {
                assert_eq!(words(&narrow), words(&wide), "{command} at {columns}");
            }
        }
    }
}

#[test]
fn rules_are_folded_on_a_narrow_terminal_and_nothing_of_them_is_shortened() {
    let wide = lines("list", 400);
    for columns in [60, 80, 100] {
        let narrow = lines("list", columns);
        assert!(
            narrow.iter().all(|line| line.chars().count() <= columns),
            "{narrow:#?}"
        );
        let said = words(&narrow);
        for word in words(&wide[1..]) {
            assert!(said.contains(&word), "{word} at {columns}: {narrow:#?}");
        }
    }
    assert_snapshot!(lines("list", 80)[..7].join("\n"), @r"
    NAME                   EFFECT                 PODS   EVICTING
    node-10-decommission   NoExecute                 1   yes
      taint    example.com/decommission
      driver   gpu.example.com
      pool     node-10
      device   *
      devices  4
    ");
}

#[test]
fn devices_are_summed_up_where_a_terminal_has_too_few_lines() {
    let shown = lines("devices", 200);
    assert!(shown.len() < 50, "{shown:#?}");
    assert!(shown[0].starts_with("NODE "), "{shown:#?}");
    let node = shown.iter().find(|line| line.starts_with("node-9 "));
    let cells: Vec<&str> = node.expect("a line").split_whitespace().collect();
    assert_eq!(cells, ["node-9", "4", "3", "1", "1"]);
    assert!(shown.join("\n").contains("--summary=false`"), "{shown:#?}");
    let few = lines("devices --node node-9", 200);
    assert!(few[0].starts_with("  DEVICE "), "{few:#?}");
    let all = lines("devices --summary=false", 200);
    assert!(all.len() > 50, "{all:#?}");
    let columns = lines("devices --show-attributes", 400);
    assert!(columns.len() > 50, "asked for: {columns:#?}");
    let asked = lines("devices --node node-9 --summary", 200);
    assert!(asked[0].starts_with("NODE "), "{asked:#?}");
}

#[test]
fn a_report_fits_a_terminal_of_80_columns_and_shows_more_where_there_is_room() {
    let command = "preview gpu.example.com/node-7/gpu-0 example.com/maintenance=firmware:NoExecute";
    let rows = |columns| {
        let shown = lines(command, columns);
        for line in &shown {
            assert!(line.chars().count() <= columns, "at {columns}: {line}");
        }
        shown.join("\n")
    };
    assert_snapshot!(rows(80), @"
    gpu.example.com/node-7/gpu-0   taint example.com/maintenance=firmware:NoExecute

    Top risks:
      danger    Deployment/rerank of serving: PodDisruptionBudget rerank allows 0
        disruptions, 1 needed; Deployment rerank has 1 ready pod and would have none
        left; replacements can get tainted devices, because their tolerations allow
        it, and are then evicted, too
      warning   research/notebook-anna: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                              RISKS
    danger     +5m    serving/rerank-6b4d9f8c5-wxh7f   pdb-violated, last-replica
                                                       (+3)
    warning    now    research/notebook-anna           unmanaged, local-data (+2)
    notice     now    serving/embed-5f6b8c9d77-mdd2q   long-grace, sibling-in-use

    Timeline:
    FROM   EVICTED   CHART
    now     2 pods   ██████████████████████████████
    +5m      1 pod   ███████████████

    Not evicted:
      serving/thumbnails-75c8f4b69d-5bvwl: uses an extended resource; this version
        of Kubernetes does not evict such pods
      research/evals-98wpf: tolerates the taint
      research/notebook-ben: terminating, its grace period ended 10s ago

    Message that the controller would report for effect None:
      1 published device selected. 5 allocated devices selected. 3 pods would be
        evicted in 2 different namespaces if the effect was NoExecute. This
        information will not be updated again. Recreate the DeviceTaintRule to
        trigger an update.

    Hardware that stays in use:
      gpu.example.com/node-7/gpu-0 is shared, and stays in use by pod
        research/evals-98wpf and 1 more

    3 pods in 2 namespaces would be evicted: 2 now, 1 later (last in 5m at
    2026-11-20T10:20:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore
    PodDisruptionBudgets.
    3 more pods use a selected device: 1 tolerating the taint, 1 already
    terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 5m30s (at full grace period;
    replacements may be evicted again); the device is not free then: not all of its
    pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    ");
    assert_snapshot!(rows(120), @"
    gpu.example.com/node-7/gpu-0   taint example.com/maintenance=firmware:NoExecute

    Top risks:
      danger    Deployment/rerank of serving: PodDisruptionBudget rerank allows 0 disruptions, 1 needed; Deployment rerank
        has 1 ready pod and would have none left; replacements can get tainted devices, because their tolerations allow it,
        and are then evicted, too
      warning   research/notebook-anna: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                              WORKLOAD            RISKS
    danger     +5m    serving/rerank-6b4d9f8c5-wxh7f   Deployment/rerank   pdb-violated, last-replica (+3)
    warning    now    research/notebook-anna           <none>              unmanaged, local-data (+2)
    notice     now    serving/embed-5f6b8c9d77-mdd2q   Deployment/embed    long-grace, sibling-in-use

    Timeline:
    FROM   EVICTED   CHART
    now     2 pods   ██████████████████████████████
    +5m      1 pod   ███████████████

    Not evicted:
      serving/thumbnails-75c8f4b69d-5bvwl: uses an extended resource; this version of Kubernetes does not evict such pods
      research/evals-98wpf: tolerates the taint
      research/notebook-ben: terminating, its grace period ended 10s ago

    Message that the controller would report for effect None:
      1 published device selected. 5 allocated devices selected. 3 pods would be evicted in 2 different namespaces if the
        effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.

    Hardware that stays in use:
      gpu.example.com/node-7/gpu-0 is shared, and stays in use by pod research/evals-98wpf and 1 more

    3 pods in 2 namespaces would be evicted: 2 now, 1 later (last in 5m at 2026-11-20T10:20:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 5m30s (at full grace period; replacements may be evicted again); the device is
    not free then: not all of its pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    ");
    assert_snapshot!(rows(200), @"
    gpu.example.com/node-7/gpu-0   taint example.com/maintenance=firmware:NoExecute

    Top risks:
      danger    Deployment/rerank of serving: PodDisruptionBudget rerank allows 0 disruptions, 1 needed; Deployment rerank has 1 ready pod and would have none left; replacements can get tainted devices,
        because their tolerations allow it, and are then evicted, too
      warning   research/notebook-anna: has no controller: nothing recreates it

    SEVERITY   WHEN   POD                              WORKLOAD            RISKS
    danger     +5m    serving/rerank-6b4d9f8c5-wxh7f   Deployment/rerank   pdb-violated, last-replica (+3)
    warning    now    research/notebook-anna           <none>              unmanaged, local-data (+2)
    notice     now    serving/embed-5f6b8c9d77-mdd2q   Deployment/embed    long-grace, sibling-in-use

    Timeline:
    FROM   EVICTED   CHART
    now     2 pods   ██████████████████████████████
    +5m      1 pod   ███████████████

    Not evicted:
      serving/thumbnails-75c8f4b69d-5bvwl: uses an extended resource; this version of Kubernetes does not evict such pods
      research/evals-98wpf: tolerates the taint
      research/notebook-ben: terminating, its grace period ended 10s ago

    Message that the controller would report for effect None:
      1 published device selected. 5 allocated devices selected. 3 pods would be evicted in 2 different namespaces if the effect was NoExecute. This information will not be updated again. Recreate the
        DeviceTaintRule to trigger an update.

    Hardware that stays in use:
      gpu.example.com/node-7/gpu-0 is shared, and stays in use by pod research/evals-98wpf and 1 more

    3 pods in 2 namespaces would be evicted: 2 now, 1 later (last in 5m at 2026-11-20T10:20:00Z).
    1 PodDisruptionBudget would be violated; taint evictions ignore PodDisruptionBudgets.
    3 more pods use a selected device: 1 tolerating the taint, 1 already terminating, 1 staying for other reasons.
    The last evicted pod is gone after about 5m30s (at full grace period; replacements may be evicted again); the device is not free then: not all of its pods are evicted.
    All evicted pods are on node-7, and use gpu.example.com/node-7/gpu-0.
    ");
    for command in [
        "preview 'gpu.example.com/node-3/*' example.com/maintenance=firmware:NoExecute",
        "preview gpu.example.com/node-3/gpu-0 gpu.example.com/node-7/gpu-0 example.com/maintenance=firmware:NoExecute",
        "list",
    ] {
        for line in lines(command, 80) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// Reports and errors as text, without `-o wide`, whose rows are as long as they have to be.
const TEXTS: [&str; 19] = [
    "preview gpu.example.com a:NoExecute",
    "preview 'gpu.example.com/node-7/*' example.com/maintenance:NoExecute",
    "preview --all-devices a:NoExecute --by node",
    "preview --rule node-6-firmware",
    "preview gpu.example.com a:NoExecute --abort-if 'pods.evicted>3'",
    "preview gpu.example.com/node-7/gpu-9",
    "list",
    "describe node-6-firmware",
    "describe node-10-decommission --history",
    "devices",
    "devices --summary=false",
    "devices --where 'device.attributes[\"gpu.example.com\"].nope == 1'",
    "explain pod/llm-2 -n training",
    "explain pod/fold-jsg5p -n research -o wide",
    "explain device/gpu.example.com/node-7/gpu-0",
    "explain rule/node-10-decommission",
    "plan gpu.example.com --count 2",
    "tolerations node-10-decommission",
    "tolerations node-10-decommission --who",
];

/// Whether a line is a command to be pasted, which is never broken.
fn is_command(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['`', '(']);
    let line = line.strip_prefix("next: ").unwrap_or(line);
    line.starts_with("kubectl ")
}

#[test]
fn no_line_is_wider_than_the_terminal_and_none_is_broken_inside_a_word() {
    for command in TEXTS {
        let whole: BTreeSet<String> = words(&lines_of(command, 1_000, 500))
            .into_iter()
            .map(str::to_lowercase)
            .collect();
        for columns in [80, 100, 120, 200] {
            let shown = lines_of(command, columns, 500);
            assert!(shown.len() > 1, "{command} at {columns}: {shown:#?}");
            for line in &shown {
                let fits = line.chars().count() <= columns;
                assert!(fits || is_command(line), "{command} at {columns}: {line}");
            }
            // A name that is cut has an ellipsis, and headers of columns become labels of cells.
            let broken = words(&shown)
                .into_iter()
                .find(|word| !word.contains('…') && !whole.contains(&word.to_lowercase()));
            assert_eq!(broken, None, "{command} at {columns}: {shown:#?}");
        }
    }
}

#[test]
fn only_rows_of_names_are_wider_than_the_terminal_with_wide() {
    for command in COMMANDS {
        for columns in [80, 100, 120, 200] {
            for line in lines(command, columns) {
                // Cells stand three columns apart.
                let is_row = line.trim().contains("   ");
                let fits = line.chars().count() <= columns;
                assert!(
                    fits || is_row || is_command(&line),
                    "{command} at {columns}: {line}"
                );
            }
        }
    }
}

/// On a terminal of 80 columns, every device stands below its node with what there is to say of it, and can be copied.
#[test]
fn devices_fit_a_terminal_of_80_columns() {
    let narrow = lines("devices --summary=false", 80);
    assert!(
        narrow.iter().all(|line| line.chars().count() <= 80),
        "{narrow:#?}"
    );
    for expected in [
        "node-9: 4 devices, 3 allocated, 1 tainted",
        "  gpu.example.com/node-9/gpu-1         yes",
        "    taints  gpu.example.com/unhealthy=xid-79:NoExecute (driver)",
        "    claims  research/xid-triage",
    ] {
        assert!(
            narrow.iter().any(|line| line == expected),
            "{expected}: {narrow:#?}"
        );
    }
    let wide = words(&lines("devices --summary=false", 400)).join(" ");
    for word in words(&narrow) {
        assert!(wide.to_lowercase().contains(&word.to_lowercase()), "{word}");
    }
}
