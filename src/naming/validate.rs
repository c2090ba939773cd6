//! Validation of names, keys and values as in the API server.
//!
//! Upstream: `pkg/apis/resource/validation/validation.go` and `apimachinery`'s
//! `util/validation/validation.go`, whose wording the messages follow.

use super::error::NamingError;

const MAX_DRIVER: usize = 63;
const MAX_POOL: usize = 253;
const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const VALUE: &str = "a value must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const QUALIFIED: &str = "the name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Checks the name of a driver. Upper case is accepted, as upstream.
///
/// # Errors
///
/// Too long, or no DNS subdomain.
pub fn driver(value: &str) -> Result<(), NamingError> {
    check(
        "driver",
        value,
        MAX_DRIVER,
        |value| is_subdomain(&value.to_lowercase()),
        SUBDOMAIN,
    )
}

/// Checks the name of a pool: DNS subdomains with `/` between them.
///
/// # Errors
///
/// Too long, or a part that is no DNS subdomain.
pub fn pool(value: &str) -> Result<(), NamingError> {
    check(
        "pool",
        value,
        MAX_POOL,
        |value| value.split('/').all(is_subdomain),
        SUBDOMAIN,
    )
}

/// Checks the name of a device.
///
/// # Errors
///
/// Too long, or no DNS label.
pub fn device(value: &str) -> Result<(), NamingError> {
    check("device", value, MAX_LABEL, is_label, LABEL)
}

/// Checks the name of a rule: that of any object without special rules.
///
/// # Errors
///
/// Too long, or no DNS subdomain.
pub fn rule(value: &str) -> Result<(), NamingError> {
    check("rule", value, MAX_SUBDOMAIN, is_subdomain, SUBDOMAIN)
}

/// Checks the key of a taint: a label key.
///
/// # Errors
///
/// A prefix that is no DNS subdomain, or a name that is no label name.
pub fn taint_key(value: &str) -> Result<(), NamingError> {
    let field = "taint key";
    let name = match value.split_once('/') {
        Some((prefix, name)) => {
            let problem = format!("the prefix part: {SUBDOMAIN}");
            check(field, prefix, MAX_SUBDOMAIN, is_subdomain, &problem)
                .map_err(|error| of_the_whole(error, value))?;
            name
        }
        None => value,
    };
    check(field, name, MAX_LABEL, is_qualified, QUALIFIED)
        .map_err(|error| of_the_whole(error, value))
}

/// Checks the value of a taint: a label value, which may be empty.
///
/// # Errors
///
/// Too long, or characters that a label value cannot have.
pub fn taint_value(value: &str) -> Result<(), NamingError> {
    if value.is_empty() {
        return Ok(());
    }
    check("taint value", value, MAX_LABEL, is_qualified, VALUE)
}

fn check(
    field: &'static str,
    value: &str,
    longest: usize,
    is_valid: impl Fn(&str) -> bool,
    problem: &str,
) -> Result<(), NamingError> {
    let problem = if value.is_empty() {
        "must not be empty".to_owned()
    } else if value.len() > longest {
        format!("may not be more than {longest} bytes")
    } else if is_valid(value) {
        return Ok(());
    } else {
        problem.to_owned()
    };
    Err(NamingError::Invalid {
        field,
        value: value.to_owned(),
        problem,
    })
}

fn of_the_whole(error: NamingError, whole: &str) -> NamingError {
    match error {
        NamingError::Invalid { field, problem, .. } => NamingError::Invalid {
            field,
            value: whole.to_owned(),
            problem,
        },
        other @ (NamingError::TwoSegments { .. }
        | NamingError::EmptySegment { .. }
        | NamingError::Everything { .. }
        | NamingError::NoEffect { .. }
        | NamingError::UnknownEffect { .. }) => other,
    }
}

fn is_label(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    has_shape(text, lower, |byte| lower(byte) || byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    // `is_label` asks for no length: upstream limits a subdomain as a whole, and not its parts.
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_label)
}

fn is_qualified(text: &str) -> bool {
    has_shape(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
    )
}

/// True if `text` starts and ends with an `edge` character and has only `inner` ones between.
fn has_shape(text: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    // Bytes will do: what is not ASCII is allowed nowhere.
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            edge(*first) && edge(*last) && bytes.iter().all(|byte| inner(*byte))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_accepted_as_the_api_server_accepts_them() {
        type Row = (
            &'static str,
            fn(&str) -> Result<(), NamingError>,
            &'static str,
            bool,
        );
        let rows: [Row; 19] = [
            ("driver", driver, "gpu.example.com", true),
            ("driver in upper case", driver, "GPU.Example.com", true),
            ("driver with underscore", driver, "gpu_x", false),
            ("driver with empty part", driver, "gpu..com", false),
            ("pool of several parts", pool, "rack-1/node.a", true),
            ("pool with empty part", pool, "rack-1//a", false),
            ("pool in upper case", pool, "Rack", false),
            ("rule", rule, "drain-node-7.gpu", true),
            ("rule in upper case", rule, "Drain", false),
            ("rule with a space", rule, "drain node", false),
            ("device", device, "gpu-0", true),
            ("device with dot", device, "gpu.0", false),
            ("device that ends with a dash", device, "gpu-", false),
            ("prefix", taint_key, "example.com/Main_tenance.x", true),
            ("key with two slashes", taint_key, "a/b/c", false),
            ("prefix in upper case", taint_key, "Example.com/a", false),
            ("value", taint_value, "v1.2_x", true),
            ("no value", taint_value, "", true),
            ("value that starts with a dot", taint_value, ".x", false),
        ];
        for (name, accepts, value, valid) in rows {
            assert_eq!(accepts(value).is_ok(), valid, "{name}");
        }
    }

    #[test]
    fn length_limits_are_those_of_the_api() {
        assert!(driver(&"x".repeat(63)).is_ok() && driver(&"x".repeat(64)).is_err());
        assert!(device(&"x".repeat(63)).is_ok() && device(&"x".repeat(64)).is_err());
        assert!(pool(&"x".repeat(253)).is_ok() && pool(&"x".repeat(254)).is_err());
        assert!(taint_key(&format!("{}/x", "p".repeat(253))).is_ok());
        assert!(taint_key(&format!("{}/x", "p".repeat(254))).is_err());
    }
}
