//! Parsing of policy files.

use super::Policy;
use super::document::{DeviceTaintPolicy, Protected, Requirement};
use crate::assess::Guard;
use crate::error::Failure;
use crate::model::{API_VERSION, Content, Field, SourceNode};
use crate::naming::device;
use crate::naming::nearest::nearest;

/// What a policy calls itself.
const KIND: &str = "DeviceTaintPolicy";
/// The fields of a policy.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "guards", "require", "neverTaint"];
/// The fields of devices that are not to be tainted.
const OF_PROTECTED: [&str; 2] = ["device", "message"];

/// What is wrong with a file, and where.
struct Problem {
    line: u64,
    message: String,
    hint: Option<String>,
}

impl Problem {
    fn at(line: u64, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
            hint: None,
        }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// The policy that is `written` in the file called `name`.
///
/// # Errors
///
/// All that is no policy, by file and line.
pub fn policy(name: &str, written: &SourceNode) -> Result<Policy, Failure> {
    let terms = terms(written).map_err(|problem| {
        let failure = unreadable(name, &format!("line {}: {}", problem.line, problem.message));
        problem.hint.into_iter().fold(failure, Failure::hint)
    })?;
    Ok(Policy {
        name: name.to_owned(),
        terms,
    })
}

/// The file called `name` is no YAML, or no policy.
#[must_use]
pub fn unreadable(name: &str, problem: &str) -> Failure {
    Failure::usage(format!("error parsing {name}: {problem}"))
}

fn terms(written: &SourceNode) -> Result<DeviceTaintPolicy, Problem> {
    let fields = fields(written, "a policy", &FIELDS)?;
    let needed = |name: &str| {
        let found = fields.iter().find(|field| field.name == name);
        found.ok_or_else(|| {
            Problem::at(written.line, format!("a policy needs {name}")).hint(format!(
                "begin with apiVersion: {API_VERSION} and kind: {KIND}"
            ))
        })
    };
    one_of(needed("apiVersion")?, API_VERSION)?;
    one_of(needed("kind")?, KIND)?;
    Ok(DeviceTaintPolicy {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        guards: each(fields, "guards", guard)?,
        require: each(fields, "require", requirement)?,
        never_taint: each(fields, "neverTaint", protected)?,
    })
}

/// The fields of `written`, none of which is another than those that are `known`.
fn fields<'a>(written: &'a SourceNode, what: &str, known: &[&str]) -> Result<&'a [Field], Problem> {
    let all = || format!("fields: {}", known.join(", "));
    let Content::Fields(fields) = &written.content else {
        return Err(Problem::at(written.line, format!("{what} must be a mapping")).hint(all()));
    };
    // A misspelt field would be a limit that nobody checks.
    match fields
        .iter()
        .find(|field| !known.contains(&field.name.as_str()))
    {
        None => Ok(fields),
        Some(Field { line, name, .. }) => {
            let problem = Problem::at(*line, format!("unknown field {name:?}"));
            Err(problem.hint(did_you_mean(name, known)))
        }
    }
}

fn did_you_mean(name: &str, known: &[&str]) -> String {
    let names = known.iter().map(|known| (*known).to_owned());
    let all = known.join(", ");
    match nearest(name, names).first() {
        Some(nearest) => format!("did you mean {nearest}? known: {all}"),
        None => format!("known: {all}"),
    }
}

fn one_of(field: &Field, only: &str) -> Result<(), Problem> {
    let name = &field.name;
    match text(&field.value, name)? {
        found if found == only => Ok(()),
        found => Err(Problem::at(
            field.value.line,
            format!("{name} is {found:?}, which is unknown"),
        )
        .hint(format!("use {only}"))),
    }
}

fn text<'a>(written: &'a SourceNode, what: &str) -> Result<&'a str, Problem> {
    match &written.content {
        Content::Text(text) => Ok(text),
        Content::List(_) | Content::Fields(_) | Content::Other => Err(Problem::at(
            written.line,
            format!("{what} must be a string"),
        )),
    }
}

/// What `read` makes of each part of the list in the field of that name; nothing where there is none.
fn each<T>(
    fields: &[Field],
    name: &str,
    read: impl Fn(&SourceNode) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    let Some(field) = fields.iter().find(|field| field.name == name) else {
        return Ok(Vec::new());
    };
    match &field.value.content {
        Content::List(parts) => parts.iter().map(read).collect(),
        Content::Text(_) | Content::Fields(_) | Content::Other => {
            Err(Problem::at(field.line, format!("{name} must be a list")))
        }
    }
}

fn guard(written: &SourceNode) -> Result<Guard, Problem> {
    let parsed = text(written, "a guard")?.parse::<Guard>();
    parsed.map_err(|error| Problem::at(written.line, error.to_string()).hint(error.hint()))
}

fn requirement(written: &SourceNode) -> Result<Requirement, Problem> {
    let name = text(written, "an entry of require")?;
    let mut all = Requirement::ALL.into_iter();
    all.find(|known| known.name() == name).ok_or_else(|| {
        let known = Requirement::ALL.map(Requirement::name);
        Problem::at(written.line, format!("{name:?} cannot be required"))
            .hint(did_you_mean(name, &known))
    })
}

fn protected(written: &SourceNode) -> Result<Protected, Problem> {
    let fields = fields(written, "an entry of neverTaint", &OF_PROTECTED)?;
    let named = |name: &str| fields.iter().find(|field| field.name == name);
    let Some(field) = named("device") else {
        return Err(Problem::at(
            written.line,
            "an entry of neverTaint needs the field `device`",
        ));
    };
    let parsed = device::parse(text(&field.value, "device")?);
    let message = named("message").map(|field| text(&field.value, "message"));
    Ok(Protected {
        device: parsed.map_err(|error| {
            let known = "use DRIVER/POOL/DEVICE with * for any, or the name of a driver";
            Problem::at(field.value.line, error.to_string()).hint(known)
        })?,
        message: message.transpose()?.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ExitStatus;
    use crate::report::schema;
    use crate::wire::parse_with_positions;

    const HEAD: &str = "apiVersion: devicetaint.dev/v1alpha1\nkind: DeviceTaintPolicy\n";

    fn read(rest: &str) -> Result<Policy, Failure> {
        policy(
            "team.yaml",
            &parse_with_positions(&format!("{HEAD}{rest}")).unwrap(),
        )
    }

    #[test]
    fn a_policy_is_what_its_file_says() {
        let found = read(
            "guards:\n- pods.evicted>20\n- 'pods.critical>0'\nrequire: [Reason, Ticket]\nneverTaint:\n- device: gpu.example.com/login-1/*\n  message: its screen\n- device: net.example.com\n",
        );
        let terms = found.unwrap().terms;
        assert_eq!(terms.guards.len(), 2);
        assert_eq!(terms.require, [Requirement::Reason, Requirement::Ticket]);
        assert_eq!(terms.never_taint[0].message.as_deref(), Some("its screen"));
        let named = device::format(&terms.never_taint[1].device);
        assert_eq!(named, "net.example.com/*/*");
    }

    #[test]
    fn what_is_wrong_is_told_by_file_and_line_with_the_way_out() {
        for (rest, message, hint) in [
            (
                "gaurds:\n- pods.evicted>1\n",
                "line 3: unknown field \"gaurds\"",
                "did you mean guards?",
            ),
            (
                "guards:\n- pods.evicted>1\n- pod.evicted>2\n",
                "line 5: unknown signal \"pod.evicted\"",
                "did you mean pods.evicted?",
            ),
            (
                "guards:\n- pods.evicted\n",
                "line 4: guard \"pods.evicted\" has no operator",
                "pods.evicted>20",
            ),
            (
                "guards: pods.evicted>1\n",
                "line 3: guards must be a list",
                "",
            ),
            ("guards:\n", "line 3: guards must be a list", ""),
            ("guards:\n- 5\n", "line 4: a guard must be a string", ""),
            (
                "require: [Reson]\n",
                "line 3: \"Reson\" cannot be required",
                "did you mean Reason?",
            ),
            (
                "neverTaint:\n- device: a/b\n",
                "line 4: device \"a/b\" has two segments",
                "DRIVER/POOL/DEVICE",
            ),
            (
                "neverTaint:\n- device: '*/*/*'\n",
                "line 4: \"*/*/*\" is not allowed: it selects every device",
                "DRIVER/POOL/DEVICE",
            ),
            (
                "neverTaint:\n- message: x\n",
                "line 4: an entry of neverTaint needs the field `device`",
                "",
            ),
            (
                "neverTaint:\n- device: a\n  mesage: x\n",
                "line 5: unknown field \"mesage\"",
                "did you mean message?",
            ),
            (
                "neverTaint:\n- gpu.example.com\n",
                "line 4: an entry of neverTaint must be a mapping",
                "device, message",
            ),
            (
                "allow: []\n",
                "line 3: unknown field \"allow\"",
                "known: apiVersion",
            ),
        ] {
            let failure = read(rest).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Usage, "{rest}");
            let told = failure.to_string();
            assert!(
                told.starts_with(&format!("error parsing team.yaml: {message}")),
                "{told}"
            );
            assert!(
                failure.hints().join(" ").contains(hint),
                "{:?}",
                failure.hints()
            );
        }
    }

    #[test]
    fn what_is_no_policy_of_this_version_is_refused() {
        for (text, message) in [
            (
                "kind: DeviceTaintPolicy\n",
                "line 1: a policy needs apiVersion",
            ),
            ("", "line"),
            ("- a\n", "line 1: a policy must be a mapping"),
            (
                "apiVersion: devicetaint.dev/v2\nkind: DeviceTaintPolicy\n",
                "line 1: apiVersion is \"devicetaint.dev/v2\"",
            ),
            (
                "apiVersion: devicetaint.dev/v1alpha1\nkind: Policy\n",
                "line 2: kind is \"Policy\"",
            ),
        ] {
            let failure = policy("p", &parse_with_positions(text).unwrap()).unwrap_err();
            let told = failure.to_string();
            assert!(told.contains(message), "{text:?}: {told}");
        }
    }

    /// The schema is for editors; what is refused here and there may not part.
    #[test]
    fn the_schema_has_the_fields_and_words_that_are_read() {
        let [(_, schema)] = schema::inputs();
        let schema = schema.to_value();
        let names = |object: &serde_json::Value| {
            let fields = object["properties"].as_object().unwrap();
            fields
                .keys()
                .cloned()
                .collect::<std::collections::BTreeSet<_>>()
        };
        let set = |known: &[&str]| known.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names(&schema), set(&FIELDS));
        assert_eq!(names(&schema["$defs"]["Protected"]), set(&OF_PROTECTED));
        let validator = jsonschema::validator_for(&schema).unwrap();
        let value = |rest: &str| serde_yaml::from_str(&format!("{HEAD}{rest}")).unwrap();
        for requirement in Requirement::ALL {
            let required = value(&format!("require: [{}]\n", requirement.name()));
            assert!(validator.is_valid(&required), "{required}");
        }
        assert!(validator.is_valid(&value("neverTaint:\n- device: a\n")));
        for wrong in [
            "gaurds: []\n",
            "require: [Reson]\n",
            "neverTaint:\n- message: x\n",
            "guards: 5\n",
        ] {
            assert!(!validator.is_valid(&value(wrong)), "{wrong}");
        }
    }

    #[test]
    fn the_example_is_a_policy() {
        let text = include_str!("../../../examples/policy.yaml");
        let found = policy("examples/policy.yaml", &parse_with_positions(text).unwrap()).unwrap();
        assert!(!found.terms.guards.is_empty() && !found.terms.never_taint.is_empty());
    }
}
