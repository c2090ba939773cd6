//! One clear line with file, object and field.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::support::{data, in_one_line, read_content, read_files};
use crate::cluster::{FileSource, Limits, read, read_manifests};

/// A pod that uses a claim.
const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"train-0","namespace":"ml","uid":"1"},"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"gpu"}]}}"#;
/// A slice with one device.
const SLICE: &str = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"slice"},"spec":{"driver":"gpu.example.com","pool":{"name":"node-1"},"nodeName":"node-1","devices":[{"name":"gpu-0","taints":[{"key":"a","effect":"NoSchedule"}]}]}}"#;

fn list(items: &[&str]) -> String {
    format!(
        r#"{{"apiVersion":"v1","items":[{}],"kind":"List"}}"#,
        items.join(",")
    )
}

/// The line that a file of this name and content leads to, within a second.
fn error(name: &str, content: impl AsRef<[u8]>) -> String {
    let begun = Instant::now();
    let line = match read_content(name, content) {
        Ok(_) => panic!("{name} was read"),
        Err(error) => in_one_line(&error),
    };
    // A debug build is slow, and so are machines that build it.
    assert!(begun.elapsed() < Duration::from_secs(10), "{line}");
    assert!(!line.contains('\n'), "{line}");
    line
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn rule_of_a_manifest_that_no_server_would_accept_is_an_error_with_its_place() {
    let rule = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"t1"},"spec":{"deviceSelector":{"pool":"n"},"taint":{"key":"a","effect":"NoExecute"}}}"#;
    let read = |text: &str| {
        let mut stdin = text.as_bytes();
        read_manifests(&[FileSource::Stdin], &mut stdin, &Limits::default())
    };
    let found = read(&list(&[POD, rule])).expect("a rule");
    assert_eq!((found.rules.len(), found.skipped.len()), (1, 1));
    for (text, place) in [
        (
            rule.replace("pool", "poool"),
            "t1: spec.deviceSelector.poool: unknown field",
        ),
        (
            rule.replace("\"metadata\"", "\"specs\":{},\"metadata\""),
            "t1: specs: unknown field",
        ),
        (
            rule.replace("\"key\"", "\"x\":1,\"key\""),
            "t1: spec.taint.x: unknown field",
        ),
        (
            rule.replace("NoExecute", "noexecute"),
            "t1: spec.taint.effect: \"noexecute\" is not",
        ),
        (POD.to_owned(), "no DeviceTaintRule in stdin"),
    ] {
        let error = in_one_line(&read(&text).expect_err(place));
        assert!(error.contains(place), "{error}");
    }
}

#[test]
fn malformed_field_is_named_with_its_object() {
    for (name, good, bad, expected) in [
        (
            "wrong type",
            r#""name":"gpu","#,
            r#""name":5,"#,
            "Pod ml/train-0: spec.resourceClaims[0].name: invalid type: integer `5`, expected a string",
        ),
        (
            "no name",
            r#""name":"train-0","#,
            "",
            "Pod at items[1]: metadata.name: is missing",
        ),
        (
            "bad time",
            r#""uid":"1""#,
            r#""uid":"1","creationTimestamp":"today""#,
            "Pod ml/train-0: metadata.creationTimestamp: `today` is not a time",
        ),
        (
            "bad number",
            r#"{"resourceClaims""#,
            r#"{"priority":"high","resourceClaims""#,
            "Pod ml/train-0: spec.priority: invalid type: string",
        ),
    ] {
        assert!(POD.contains(good), "{name}");
        let text = list(&[SLICE, &POD.replace(good, bad)]);
        let line = error("input.json", &text);
        assert!(
            line.starts_with(&format!("cannot read input.json: {expected}")),
            "{name}: {line}"
        );
        if name == "wrong type" {
            continue; // YAML does not tell 5 from "5" where a text is expected.
        }
        let line = error("input.yaml", format!("# {name}\n{text}"));
        let short = expected.split(": invalid").next().unwrap_or_default();
        assert!(
            line.starts_with(&format!("cannot read input.yaml: {short}")),
            "{name}: {line}"
        );
    }
}

#[test]
fn text_that_is_cut_off_is_an_error_wherever_it_is_cut() {
    let text = list(&[SLICE, POD]);
    for cut in 1..text.len() {
        let line = error("input.json", &text[..cut]);
        assert!(
            line.starts_with("cannot read input.json: not valid JSON: EOF"),
            "{cut}: {line}"
        );
    }
}

#[test]
fn yaml_as_kubectl_prints_it_is_an_error_wherever_it_is_cut() {
    let text = std::fs::read_to_string(data("real-cluster/cluster-v1.yaml")).expect("a file");
    // A part of the list is a list: to decode more of it takes long and shows nothing else.
    let (items, _) = text.split_at(text[16_000..].find("\n- ").expect("an item") + 16_000);
    let end = items.len();
    let text = format!(
        "{items}{}",
        &text[text.rfind("\nkind: List").expect("the end")..]
    );
    for cut in (1..end).step_by(1_601).chain([end]) {
        let line = error("input.yaml", &text[..cut]);
        assert!(
            line.starts_with("cannot read input.yaml: ") || line.contains("no objects"),
            "{cut}: {line}"
        );
    }
}

#[test]
fn text_that_is_neither_json_nor_yaml_is_an_error() {
    for content in [
        "Hello, world",
        "NAME   READY\npod-1  1/1",
        "a:\n\t- b",
        "{\"a\": [}",
        "[1, 2]",
        &format!("{POD} x"),
        "metadata: {name: a}",
        &list(&[r#"{"metadata":{}}"#]),
    ] {
        let line = error("input.txt", content);
        assert!(line.starts_with("cannot read input.txt: "), "{line}");
    }
}

#[test]
fn noise_is_an_error() {
    let noise: Vec<u8> = (0..100_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    assert!(error("input.json", noise).contains("it is not text"));
    assert!(
        error("input.json", b"k8s\0\x0a\x0b").contains("it is not text: byte 0x00 at offset 3")
    );
}

#[test]
fn missing_file_is_named() {
    let error = read_files(&["/nowhere/input.json".into()]).expect_err("no file");
    assert!(in_one_line(&error).starts_with("cannot read /nowhere/input.json: No such file"));
}

#[test]
fn directory_without_files_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("notes.txt"), POD).expect("a file");
    let error = read_files(&[directory.path().to_owned()]).expect_err("nothing to read");
    assert!(in_one_line(&error).ends_with("contains no *.json, *.yaml, *.yml or *.gz file"));
    assert!(error.hint().is_some());
}

#[test]
fn list_of_other_kinds_says_what_was_found() {
    let nodes = list(&[r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}"#; 2]);
    for (content, found) in [
        (nodes.as_str(), "only 2 × Node"),
        (
            r#"{"apiVersion":"v1","kind":"List","items":[]}"#,
            "no objects",
        ),
        ("", "no objects"),
        ("---\n# nothing\n---\n", "no objects"),
        (
            r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}"#,
            "only 1 × Table",
        ),
    ] {
        let line = error("input.yaml", content);
        assert_eq!(
            line,
            format!("input.yaml contains nothing that this command uses: {found}")
        );
    }
}

#[test]
fn failure_of_the_server_is_told() {
    let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"Forbidden","code":403}"#;
    assert_eq!(
        error("input.json", status),
        "cannot read input.json: the server reports 403 Forbidden: no"
    );
}

#[test]
fn deep_nesting_is_an_error() {
    const DEPTH: usize = 200_000;
    let brackets = "[".repeat(DEPTH);
    let braces = r#"{"a":"#.repeat(DEPTH);
    let spaces: String = (0..2_000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    for (name, content) in [
        (
            "brackets.json",
            format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":{brackets}"#),
        ),
        ("braces.json", braces.clone()),
        (
            "braces in spec.json",
            POD.replace(r#""spec":{"#, &format!(r#""spec":{{"x":{braces}"#)),
        ),
        ("brackets.yaml", brackets.clone()),
        (
            "brackets within.yaml",
            format!("apiVersion: v1\nkind: Pod\nmetadata: {brackets}"),
        ),
        ("braces.yaml", format!("a: {}", "{a: ".repeat(DEPTH))),
        ("dashes.yaml", "- ".repeat(DEPTH)),
        ("questions.yaml", "? ".repeat(DEPTH)),
        ("spaces.yaml", spaces),
    ] {
        let line = error("input.txt", content);
        assert!(
            line.starts_with("cannot read input.txt: "),
            "{name}: {line}"
        );
    }
}

#[test]
fn alias_bomb_is_an_error() {
    let mut bomb = String::from(
        "apiVersion: v1\nkind: Pod\nx:\n- &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n",
    );
    for level in 1..10 {
        let previous = format!("*a{}, ", level - 1).repeat(9);
        bomb.push_str(&format!("- &a{level} [{previous}]\n"));
    }
    for (name, content) in [
        ("bomb", bomb.as_str()),
        ("self", "apiVersion: v1\nkind: Pod\nmetadata: &a\n  x: *a\n"),
        ("unknown", "apiVersion: v1\nkind: Pod\nmetadata: *a\n"),
    ] {
        let line = error("input.yaml", content);
        assert!(
            line.starts_with("cannot read input.yaml: not valid YAML"),
            "{name}: {line}"
        );
    }
}

#[test]
fn gzip_that_is_cut_off_or_damaged_is_an_error() {
    let packed = gzip(list(&[SLICE, POD]).as_bytes());
    for cut in 2..packed.len() {
        let line = error("input.json.gz", &packed[..cut]);
        assert!(
            line.starts_with("cannot read input.json.gz: "),
            "{cut}: {line}"
        );
    }
    let mut damaged = packed.clone();
    damaged[packed.len() / 2] ^= 0x55;
    assert!(error("input.json.gz", damaged).starts_with("cannot read input.json.gz: "));
}

#[test]
fn folder_of_a_program_is_read_whatever_else_it_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    };
    let gather = "must-gather.local.1/image-sha256-1";
    put(
        &format!("{gather}/namespaces/ml/core/pods.yaml"),
        list(&[POD]).as_bytes(),
    );
    put(
        &format!("{gather}/namespaces/ml/pods/train-0/train-0.yaml"),
        POD.as_bytes(),
    );
    put(
        &format!("{gather}/cluster-scoped-resources/resource.k8s.io/resourceslices/slice.json"),
        SLICE.as_bytes(),
    );
    put(&format!("{gather}/event-filter.json"), b"[1, 2]");
    put(&format!("{gather}/values.yaml"), b"replicas: 3\n");
    put(&format!("{gather}/empty.yaml"), b"");
    put(&format!("{gather}/audit_logs/x.gz"), &gzip(&[0; 512]));
    put(
        &format!("{gather}/audit_logs/node.log.gz"),
        &gzip(b"no: [YAML"),
    );
    put(&format!("{gather}/timestamp"), b"now");
    let reading = read_files(&[folder.path().to_owned()]).expect("a folder");
    assert_eq!(reading.snapshot.pods.len(), 1);
    assert_eq!(reading.snapshot.slices.len(), 1);
    let warnings: Vec<_> = reading
        .warnings
        .iter()
        .map(|found| &*found.message)
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("ignored files without Kubernetes objects: 4 (first: "),
        "{warnings:?}"
    );
    // A truncated file may have held objects.
    put(
        &format!("{gather}/namespaces/ml/core/pods/cut.json"),
        &list(&[POD]).as_bytes()[..40],
    );
    let error = in_one_line(&read_files(&[folder.path().to_owned()]).expect_err("cut off"));
    assert!(error.contains("cut.json: not valid JSON: EOF"), "{error}");
}

/// The header of a tar archive's first file, with nothing but what makes it one.
fn tar() -> Vec<u8> {
    let mut header = vec![0; 1_024];
    header[..9].copy_from_slice(b"pods.yaml");
    header[257..262].copy_from_slice(b"ustar");
    header
}

#[test]
fn archive_is_told_as_one_with_the_way_out() {
    for (name, content) in [
        ("input.tar", tar()),
        ("input.tar.gz", gzip(&tar())),
        ("input.tgz", gzip(&tar())),
    ] {
        let error = read_content(name, content).expect_err("an archive");
        assert_eq!(
            in_one_line(&error),
            format!("cannot read {name}: it is a tar archive")
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("unpack it")));
    }
}

#[test]
fn long_json_is_decoded_while_it_is_unpacked() {
    let mut text = String::from(r#"{"apiVersion":"v1","kind":"List","items":["#);
    for number in 0..1_000 {
        text.push_str(&POD.replace("train-0", &format!("train-{number}")));
        text.push(',');
    }
    text.push_str(SLICE);
    text.push_str("]}");
    let limits = Limits {
        held: 1 << 16,
        ..Limits::default()
    };
    let packed = gzip(text.as_bytes());
    let read_all = |packed: &[u8]| read(&[FileSource::Stdin], &mut { packed }, &limits);
    let reading = read_all(&packed).expect("a dump");
    assert_eq!(reading.snapshot.pods.len(), 1_000);
    assert_eq!(reading.snapshot.slices.len(), 1);
    let error = read_all(&packed[..packed.len() - 20]).expect_err("cut off");
    assert!(in_one_line(&error).starts_with("cannot read stdin: "));
    let broken = gzip(text.replace("train-999\"", "\"").as_bytes());
    let error = read_all(&broken).expect_err("no name");
    assert_eq!(
        in_one_line(&error),
        "cannot read stdin: Pod at items[999]: metadata.name: is missing"
    );
}

#[test]
fn pods_of_some_namespaces_alone_are_not_all_pods() {
    let claim = |pod: &str, uid: &str| {
        format!(
            r#"{{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"name":"{pod}","namespace":"ml","uid":"claim-{uid}"}},
            "status":{{"reservedFor":[{{"resource":"pods","name":"{pod}","uid":"{uid}"}}]}}}}"#
        )
    };
    let (there, gone, other) = (
        claim("train-0", "1"),
        claim("gone", "8"),
        claim("other", "9"),
    );
    let lacks = |items: &[&str]| -> Option<String> {
        let reading = read_content("pods.json", list(items)).expect("a dump");
        let mut gaps = reading.gaps.into_iter();
        gaps.find(|gap| gap.what == "pods").map(|gap| gap.why)
    };
    assert_eq!(lacks(&[SLICE, &there, POD]), None);
    let one = lacks(&[SLICE, &there, &gone, POD]).expect("a gap");
    assert!(
        one.contains("claims are reserved: 1 (first: ml/gone): "),
        "{one}"
    );
    let two = lacks(&[SLICE, &there, &gone, &other, POD]).expect("a gap");
    assert!(
        two.contains("claims are reserved: 2 (first: ml/gone): "),
        "{two}"
    );
}

#[test]
fn saved_list_that_lacks_the_pods_is_incomplete_whatever_it_says() {
    let claim = r#"{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"gpu","namespace":"ml","uid":"2"},
        "status":{"reservedFor":[{"resource":"pods","name":"train-0","uid":"1"}]}}"#;
    let kinds = "ResourceSlice,ResourceClaim,DeviceTaintRule,DeviceClass";
    for (name, kinds, items, missing) in [
        ("not said", kinds.to_owned(), &[SLICE, claim][..], true),
        (
            "said, and lost",
            format!("{kinds},Pod"),
            &[SLICE, claim],
            true,
        ),
        (
            "said, and there",
            format!("{kinds},Pod"),
            &[SLICE, claim, POD],
            false,
        ),
        (
            "said, and none needed",
            format!("{kinds},Pod"),
            &[SLICE],
            false,
        ),
    ] {
        let text = list(items).replace(
            r#""kind":"List""#,
            &format!(r#""kind":"List","metadata":{{"annotations":{{"devicetaint.dev/kinds":"{kinds}"}}}}"#),
        );
        let gaps = read_content("input.json", text).expect("a list").gaps;
        let told = gaps.iter().any(|gap| gap.what == "pods");
        assert_eq!(told, missing, "{name}: {gaps:?}");
    }
}

#[test]
fn yaml_list_that_is_cut_off_between_objects_is_an_error() {
    let line = error(
        "input.yaml",
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Secret\n",
    );
    assert_eq!(
        line,
        "cannot read input.yaml: document 1: it has items, but its apiVersion or kind is \
         missing: it may be cut off"
    );
}

#[test]
fn bad_note_of_a_saved_list_is_an_error() {
    let text = r#"{"apiVersion":"v1","kind":"PodList","metadata":{"annotations":{"devicetaint.dev/observed-at":"now"}}}"#;
    assert_eq!(
        error("input.json", text),
        "cannot read input.json: annotation devicetaint.dev/observed-at: `now` is not a time"
    );
}
