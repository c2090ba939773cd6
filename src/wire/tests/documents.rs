//! Text of every shape that kubectl, servers and people give it.

use crate::wire::{DecodeError, Decoded, Documents};

const POD: &str = r#""metadata":{"name":"train-0","namespace":"ml","uid":"1"},"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"gpu"}]}"#;

fn json(text: &str) -> Result<Decoded, DecodeError> {
    let mut documents = Documents::new();
    documents.decode_json(text)?;
    Ok(documents.finish())
}

fn yaml(text: &str) -> Result<Decoded, DecodeError> {
    let mut documents = Documents::new();
    documents.decode_yaml(text)?;
    Ok(documents.finish())
}

fn names(decoded: &Decoded) -> Vec<String> {
    decoded
        .items
        .iter()
        .map(|item| item.object.name())
        .collect()
}

#[test]
fn every_shape_of_a_list_gives_its_objects() {
    let typed = format!(r#"{{"apiVersion":"v1","kind":"Pod",{POD}}}"#);
    let late = format!(r#"{{{POD},"kind":"Pod","apiVersion":"v1"}}"#);
    for (name, text) in [
        ("object", typed.clone()),
        ("object that says at its end what it is", late.clone()),
        (
            "list as kubectl prints it",
            format!(
                r#"{{"apiVersion":"v1","items":[{typed}],"kind":"List","metadata":{{"resourceVersion":""}}}}"#
            ),
        ),
        (
            "list as a server sends it",
            format!(
                r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[{{{POD}}}]}}"#
            ),
        ),
        (
            "typed list that says at its end what it is",
            format!(
                r#"{{"items":[{{{POD}}}],"metadata":{{}},"apiVersion":"v1","kind":"PodList"}}"#
            ),
        ),
        (
            "list within a list",
            format!(
                r#"{{"kind":"List","apiVersion":"v1","items":[{{"kind":"List","apiVersion":"v1","items":[{late}]}}]}}"#
            ),
        ),
        (
            "list and other kinds",
            format!(
                r#"{{"kind":"List","apiVersion":"v1","items":[{{"kind":"Secret","apiVersion":"v1","spec":{{}}}},{typed}]}}"#
            ),
        ),
    ] {
        assert_eq!(names(&json(&text).expect(name)), ["ml/train-0"], "{name}");
        assert_eq!(
            names(&yaml(&text).expect(name)),
            ["ml/train-0"],
            "{name} as YAML"
        );
    }
}

#[test]
fn a_kind_that_only_ends_in_list_is_an_object() {
    let list =
        r#"{"apiVersion":"example.com/v1","kind":"AllowList","metadata":{"name":"a"},"spec":{}}"#;
    let empty = r#"{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"7"}}"#;
    let decoded = json(&format!("{list}\n{empty}")).expect("JSON");
    let lists = decoded.lists.iter().map(|list| &*list.type_meta.kind);
    assert_eq!(lists.collect::<Vec<_>>(), ["PodList"]);
    let found = decoded.found.iter();
    let found = found.map(|(of, count)| (of.kind.as_str(), *count));
    assert_eq!(found.collect::<Vec<_>>(), [("AllowList", 1)]);
}

#[test]
fn deletions_show_when_the_objects_were_read() {
    let with = |times: &str| {
        let text = format!(r#"{{"apiVersion":"v1","kind":"Pod",{POD}}}"#);
        let text = text.replace(r#""uid":"1""#, &format!(r#""uid":"1",{times}"#));
        json(&text)
            .expect("a pod")
            .newest
            .map(|time| time.to_string())
    };
    for (times, newest) in [
        (r#""creationTimestamp":"2026-01-01T00:00:00Z""#, None),
        (
            // Deleted at noon with an hour to go.
            r#""creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T13:00:00Z","deletionGracePeriodSeconds":3600"#,
            Some("2026-01-01T12:00:00Z"),
        ),
    ] {
        assert_eq!(with(times).as_deref(), newest, "{times}");
    }
}

#[test]
fn a_key_that_occurs_twice_is_an_error() {
    let of = |fields: &str| format!(r#"{{"apiVersion":"v1",{fields}}}"#);
    let pod = of(&format!(r#""kind":"Pod",{POD}"#));
    let twice = POD.replace(r#""uid":"1""#, r#""uid":"1","uid":"2""#);
    let label = r#""uid":"1","labels":{"a":"1","a":"2"}"#;
    for (name, text) in [
        (
            "items",
            format!(r#""kind":"List","items":[],"items":[{pod}]"#),
        ),
        (
            "items of a typed list, which says late what it is",
            format!(r#""items":[{{{POD}}}],"items":[],"kind":"PodList""#),
        ),
        ("kind", format!(r#""kind":"Secret","kind":"Pod",{POD}"#)),
        (
            "far apart",
            format!(r#""kind":"Secret",{POD},"kind":"Pod""#),
        ),
        ("at the end", format!(r#""kind":"Pod",{POD},"kind":"Pod""#)),
        (
            "kind of a list",
            format!(r#""kind":"List","items":[{pod}],"kind":"PodList""#),
        ),
        (
            "metadata of a list",
            r#""kind":"PodList","metadata":{},"items":[],"metadata":{}"#.to_owned(),
        ),
        ("field", format!(r#""kind":"Pod",{twice}"#)),
        ("field before the kind", format!(r#"{twice},"kind":"Pod""#)),
        (
            "label",
            format!(r#""kind":"Pod",{}"#, POD.replace(r#""uid":"1""#, label)),
        ),
    ] {
        let text = of(&text);
        for (format, read) in [("JSON", json(&text)), ("YAML", yaml(&text))] {
            let error = read.expect_err(name).to_string();
            let told = error.contains("occurs twice") || error.contains("duplicate field");
            assert!(told, "{name} as {format}: {error}");
        }
    }
}

/// Decoding while reading skips the other fields.
#[test]
fn fields_that_nothing_reads_are_not_looked_at() {
    let odd = r#""managedFields":[{"f":1,"f":2,"time":"never"}],"uid":"1""#;
    let pod = POD.replace(r#""uid":"1""#, odd);
    let read = json(&format!(r#"{{"apiVersion":"v1","kind":"Pod",{pod}}}"#));
    assert_eq!(names(&read.expect("a pod")), ["ml/train-0"]);
    let late = json(&format!(r#"{{{pod},"apiVersion":"v1","kind":"Pod"}}"#));
    let error = late.expect_err("not known to be a pod in time");
    assert!(error.to_string().contains("occurs twice"), "{error}");
}

#[test]
fn what_needs_quotes_to_be_a_text_must_have_them() {
    for word in ["yes", "No", "on", "true", "12", "1e3", "0x1f", ".5"] {
        let pod = POD.replace(r#""name":"train-0""#, &format!("\"name\": {word}"));
        let error = yaml(&format!(r#"{{"apiVersion": "v1", "kind": "Pod", {pod}}}"#));
        let error = error.expect_err(word).to_string();
        assert!(error.contains("metadata.name: "), "{word}: {error}");
    }
}

/// Lists as kubectl prints them, with what else may be in such a file.
fn long_lists() -> Vec<String> {
    let pod = format!(r#"{{"apiVersion":"v1","kind":"Pod",{POD}}}"#);
    let other = pod.replace("train-0", "träin-1 \u{1f980}");
    let secret = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"x","items":[1]}}"#;
    let list = format!(
        r#"{{"apiVersion":"v1","items":[{pod},{secret},{other}],"kind":"List","metadata":{{"resourceVersion":"7"}}}}"#
    );
    let noted = format!(
        r#"{{"kind":"List","metadata":{{"annotations":{{"a":"\"items\":[{{"}}}},"apiVersion":"v1","items":[{pod}]}}"#
    );
    vec![
        list.replace(',', " ,\n\t").replace(']', "\r\n ]"),
        format!("{noted}\n{pod}\n"),
        format!(" {list}\n"),
        noted,
        list,
    ]
}

#[test]
fn a_list_that_is_read_by_portions_gives_what_it_gives_as_a_whole() {
    for text in long_lists() {
        let whole = json(&text).expect(&text);
        for portion in [1, 2, 3, 7, 64, 1 << 20] {
            let documents = Documents::list_by_portions(text.as_bytes(), portion);
            let decoded = documents.expect(&text).finish();
            assert_eq!(
                format!("{decoded:?}"),
                format!("{whole:?}"),
                "{portion}: {text}"
            );
        }
    }
}

#[test]
fn a_list_with_anything_odd_is_left_to_be_read_as_a_whole() {
    let lists = long_lists();
    let [.., list] = lists.as_slice() else {
        panic!("a list");
    };
    let with = |from: &str, to: &str| list.replace(from, to);
    let nameless = list.replacen(r#""kind":"Pod","#, "", 1);
    let (pod, later) = (r#""v1","kind":"Pod""#, r#""v9","kind":"Pod""#);
    for (name, text) in [
        ("nothing", String::new()),
        ("a word", "kind".to_owned()),
        ("no list", with(r#""items""#, r#""others""#)),
        (
            "not a list",
            with(r#""v1","items""#, r#""v1","kind":"Pod","items""#),
        ),
        (
            "no objects",
            r#"{"apiVersion":"v1","kind":"List","items":[]}"#.to_owned(),
        ),
        ("null among the objects", with("[{", "[null,{")),
        (
            "two lists",
            with(r#""kind":"List""#, r#""kind":"List","items":[]"#),
        ),
        ("no comma", with("},{", "} {")),
        ("a comma too many", with("}],\"kind\"", "},],\"kind\"")),
        ("no kind of the list", with(r#","kind":"List""#, "")),
        ("no kind", nameless.clone()),
        (
            "a kind at the end",
            nameless.replacen(r#""}]}},"#, r#""}]},"kind":"Pod"},"#, 1),
        ),
        (
            "a list within the list",
            format!(r#"{{"apiVersion":"v1","items":[{list}],"kind":"List"}}"#),
        ),
        ("wrong type", with(r#""name":"gpu""#, r#""name":5"#)),
        ("an unknown version", with(pod, later)),
        ("text behind it", format!("{list} x")),
    ] {
        assert_ne!(&text, list, "{name}");
        assert!(
            Documents::list_by_portions(text.as_bytes(), 1 << 20).is_none(),
            "{name}"
        );
    }
    for end in 0..list.len() {
        let cut = &list.as_bytes()[..end];
        assert!(Documents::list_by_portions(cut, 1 << 20).is_none(), "{end}");
    }
    let mut noise = list.clone().into_bytes();
    noise.extend(b" \xff");
    assert!(Documents::list_by_portions(&*noise, 1 << 20).is_none());
}
