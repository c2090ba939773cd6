//! Values of expressions.

use super::error::Fault;
use regex::{Regex, RegexBuilder};
use std::cmp::Ordering;
use std::sync::Arc;

/// Value, or the fault that prevents one.
pub(super) type Outcome = Result<Value, Fault>;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Arc<str>),
    Semver(Arc<Version>),
    Quantity(Quantity),
    List(Arc<[Value]>),
    Map(Arc<Map>),
    Optional(Option<Arc<Value>>),
}

/// Values by key, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Map {
    pub(super) entries: Vec<(Value, Value)>,
    /// True if it holds the domains of a device: a domain that is missing is an empty map.
    pub(super) of_domains: bool,
}

impl Map {
    /// The value at `key`; numbers of different types can be the same key.
    pub(super) fn find(&self, key: &Value) -> Option<&Value> {
        let entry = self
            .entries
            .iter()
            .find(|(other, _)| matches!(equal(key, other), Ok(true)));
        entry.map(|(_, value)| value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// A list, unless it would take too much memory.
pub(super) fn list(values: Vec<Value>) -> Outcome {
    const MAXIMUM: usize = 20_000;
    if values.len() > MAXIMUM {
        return Err(Fault::unsupported("a list this long"));
    }
    Ok(Value::List(values.into()))
}

/// A text, unless it would take too much memory.
pub(super) fn text(text: impl Into<Arc<str>>) -> Outcome {
    const MAXIMUM: usize = 100_000;
    let text = text.into();
    if text.len() > MAXIMUM {
        return Err(Fault::unsupported("a string this long"));
    }
    Ok(Value::Text(text))
}

/// True if two values are the same; of numbers, the types do not matter.
///
/// Fails where upstream does: for a version or a quantity on the left of anything else.
///
/// Upstream: `types.Equal`.
pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, Fault> {
    if let Some(order) = numeric_order(left, right) {
        return Ok(order == Some(Ordering::Equal));
    }
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Text(left), Value::Text(right)) => Ok(left == right),
        (Value::Semver(left), Value::Semver(right)) => Ok(left.order(right).is_eq()),
        (Value::Quantity(left), Value::Quantity(right)) => Ok(left.nanos == right.nanos),
        (Value::List(left), Value::List(right)) => same_lists(left, right),
        (Value::Map(_), Value::Map(_)) => Err(Fault::unsupported("a comparison of maps")),
        (Value::Optional(Some(left)), Value::Optional(Some(right))) => equal(left, right),
        (Value::Optional(left), Value::Optional(right)) => Ok(left.is_none() && right.is_none()),
        (Value::Semver(_) | Value::Quantity(_), _) => Err(Fault::overload()),
        _ => Ok(false),
    }
}

/// True if two lists are the same; as upstream, elements whose comparison fails count as the same.
fn same_lists(left: &[Value], right: &[Value]) -> Result<bool, Fault> {
    for (left, right) in left.iter().zip(right) {
        if lenient(equal(left, right))? == Some(false) {
            return Ok(false);
        }
    }
    Ok(left.len() == right.len())
}

/// The verdict; absent where the comparison fails in Kubernetes just as here.
pub(super) fn lenient(verdict: Result<bool, Fault>) -> Result<Option<bool>, Fault> {
    match verdict {
        Ok(verdict) => Ok(Some(verdict)),
        Err(Fault::Runtime(_)) => Ok(None),
        Err(fault @ (Fault::Panic(_) | Fault::Unpublished | Fault::Unsupported(_))) => Err(fault),
    }
}

/// True if `list` has `value`.
///
/// Upstream: `baseList.Contains`.
pub(super) fn contains(list: &[Value], value: &Value) -> Result<bool, Fault> {
    for element in list {
        if lenient(equal(value, element))? == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Order of two numbers: `None` if a value is no number, and `Some(None)` if one is NaN.
#[allow(clippy::cast_precision_loss, reason = "upstream rounds just so")]
pub(super) fn numeric_order(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(Some(left.cmp(right))),
        (Value::Double(left), Value::Double(right)) => Some(left.partial_cmp(right)),
        (Value::Int(left), Value::Double(right)) => Some((*left as f64).partial_cmp(right)),
        (Value::Double(left), Value::Int(right)) => Some(left.partial_cmp(&(*right as f64))),
        _ => None,
    }
}

/// Order of two values of a type that has one.
pub(super) fn order(left: &Value, right: &Value) -> Result<Ordering, Fault> {
    if let Some(order) = numeric_order(left, right) {
        return order.ok_or_else(|| Fault::runtime("NaN values cannot be ordered"));
    }
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Ok(left.cmp(right)),
        _ => Err(Fault::overload()),
    }
}

/// A quantity, exactly.
///
/// Upstream: `k8s.io/apimachinery/pkg/api/resource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quantity {
    /// In billionths.
    pub(super) nanos: i128,
    /// The whole number, where upstream takes it for one: not with a fraction or too many digits.
    ///
    /// Upstream: `AsInt64`.
    pub(super) whole: Option<i64>,
}

const NANOS: i128 = 1_000_000_000;
/// The largest magnitude before upstream's own limits set in.
const MAXIMUM: i128 = 9_000_000_000_000_000_000 * NANOS;

/// Suffixes with their factor in billionths, and the most digits before them on the fast path of upstream's
/// `ParseQuantity`: 18, or before a binary suffix 14 less three for each ten bits.
const SUFFIXES: &[(&str, i128, usize)] = &[
    ("n", 1, 18),
    ("u", 1_000, 18),
    ("m", 1_000_000, 18),
    ("", NANOS, 18),
    ("k", NANOS * 1_000, 18),
    ("M", NANOS * 1_000_000, 18),
    ("G", NANOS * NANOS, 18),
    ("T", NANOS * NANOS * 1_000, 18),
    ("P", NANOS * NANOS * 1_000_000, 18),
    ("E", NANOS * NANOS * NANOS, 18),
    ("Ki", NANOS << 10, 11),
    ("Mi", NANOS << 20, 8),
    ("Gi", NANOS << 30, 5),
    ("Ti", NANOS << 40, 2),
    ("Pi", NANOS << 50, 0),
    ("Ei", NANOS << 60, 0),
];

impl Quantity {
    /// Reads a quantity; nothing if it is none.
    ///
    /// Refuses exponents, and numbers that upstream rounds or cuts.
    ///
    /// Upstream: `ParseQuantity`.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Fault> {
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = unsigned
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let refused = || Fault::unsupported(format!("the quantity {text}"));
        let known = SUFFIXES.iter().find(|(known, ..)| *known == suffix);
        let Some((_, factor, most_digits)) = known else {
            return match suffix.starts_with(['e', 'E']) {
                true => Err(refused()),
                false => Ok(None),
            };
        };
        if fraction.contains('.') || text.is_empty() {
            return Ok(None);
        }
        let exact = || {
            let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
            let scaled = digits.checked_mul(*factor)?;
            let is_exact = scaled.checked_rem(scale)? == 0;
            let nanos = scaled.checked_div(scale)?.checked_mul(sign)?;
            (is_exact && nanos.abs() <= MAXIMUM).then_some((scale, nanos))
        };
        let (scale, nanos) = exact().ok_or_else(refused)?;
        let digits = whole.len().saturating_add(fraction.len());
        let is_short = digits <= *most_digits && (*most_digits == 18 || fraction.is_empty());
        // Upstream takes `1.0` and `1000m` for no whole numbers.
        let is_whole = is_short && *factor >= NANOS.saturating_mul(scale);
        let whole = i64::try_from(nanos / NANOS).ok().filter(|_| is_whole);
        Ok(Some(Self { nanos, whole }))
    }
}

/// A semantic version; what follows `+` does not count in comparisons.
///
/// Upstream: `github.com/blang/semver/v4`.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// Major, minor, patch.
    pub(super) numbers: [u64; 3],
    pre: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    // Numbers come before names.
    Number(u64),
    Name(String),
}

impl Version {
    /// Reads a version strictly; nothing if it is none.
    ///
    /// Upstream: `semver.Parse`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, pre) = match rest.split_once('-') {
            Some((patch, pre)) => (patch, Some(pre)),
            None => (rest, None),
        };
        let mut build = build.into_iter().flat_map(|build| build.split('.'));
        if !build.all(is_identifier) {
            return None;
        }
        let pre = pre.into_iter().flat_map(|pre| pre.split('.')).map(part);
        Some(Self {
            numbers: [number(major)?, number(minor)?, number(patch)?],
            pre: pre.collect::<Option<_>>()?,
        })
    }

    /// Reads a version that may begin with `v`, have zeros before its numbers, or lack numbers at the end.
    ///
    /// Upstream: `normalizeAndParse`.
    pub(super) fn parse_loosely(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        // Upstream takes no short version with a pre-release or a build.
        if parts.len() < 3 && parts.last()?.contains(['+', '-']) {
            return None;
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }

    /// Order of two versions. Upstream: `Version.Compare`.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.cmp(&other.numbers);
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            // Vectors compare as versions ask: part by part, and the shorter one first.
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}

fn without_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|first: char| first.is_ascii_digit()) {
        rest.to_owned()
    } else {
        format!("0{rest}")
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = digits && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn part(text: &str) -> Option<Part> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Part::Number);
    }
    is_identifier(text).then(|| Part::Name(text.to_owned()))
}

fn is_identifier(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

/// The longest pattern that is compiled, in bytes.
const MAXIMUM_LENGTH: usize = 512;

/// A regular expression.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern; `None` for one that RE2 and the crate `regex` may understand differently.
    pub(super) fn compile(pattern: &str) -> Option<Self> {
        if pattern.len() > MAXIMUM_LENGTH {
            return None;
        }
        let regex = RegexBuilder::new(&translated(pattern)?)
            .size_limit(2 << 20)
            .dfa_size_limit(2 << 20)
            .build();
        // A refusal may come from a limit of the crate, and says nothing about RE2.
        regex.map(Self).ok()
    }

    /// Steps of a search, as cel-go counts the lengths of both, or more.
    pub(super) fn steps(&self, text: &str) -> usize {
        let of_pattern = (self.0.as_str().len() / 40).saturating_add(1);
        text.len().saturating_mul(of_pattern)
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The first match; empty if there is none.
    pub(super) fn find<'a>(&self, text: &'a str) -> &'a str {
        self.0.find(text).map_or("", |found| found.as_str())
    }
}

/// The pattern as the crate `regex` understands it; `None` if it uses what RE2 may understand differently.
fn translated(pattern: &str) -> Option<String> {
    let mut result = String::new();
    let mut rest = pattern;
    let mut in_class = false;
    let mut operators = 0_usize;
    while let Some(character) = rest.chars().next() {
        rest = rest.get(character.len_utf8()..)?;
        // RE2 refuses one operator of repetition after another, but for a `?` that makes the first lazy.
        let is_operator = !in_class && "*+?{".contains(character);
        operators = if is_operator {
            operators.saturating_add(1)
        } else {
            0
        };
        if operators > 2 || (operators == 2 && character != '?') {
            return None;
        }
        let taken = match character {
            '\\' => {
                let next = rest.chars().next()?;
                result.push_str(&escape(next, in_class)?);
                rest = rest.get(next.len_utf8()..)?;
                continue;
            }
            // Classes within classes, and the operators below, are the crate's alone; to RE2 they are plain
            // characters.
            '[' if in_class => return None,
            '[' => {
                in_class = true;
                let negated = usize::from(rest.starts_with('^'));
                (!rest.get(negated..)?.starts_with(']')).then_some(negated)?
            }
            ']' if in_class => {
                in_class = false;
                0
            }
            '&' | '~' | '-' if in_class && rest.starts_with(character) => return None,
            '(' if !in_class && rest.starts_with('?') => ["?:", "?i)", "?s)", "?i:"]
                .into_iter()
                .find(|flag| rest.starts_with(flag))?
                .len(),
            '{' if !in_class => repetition(rest)?,
            '}' | ']' if !in_class => return None,
            _ => 0,
        };
        result.push(character);
        result.push_str(rest.get(..taken)?);
        rest = rest.get(taken..)?;
    }
    (!in_class).then_some(result)
}

/// Meaning of an escape to the crate, or `None` if it is not a common one.
fn escape(next: char, in_class: bool) -> Option<String> {
    let (inner, negated) = match next {
        'd' => ("0-9", false),
        'D' => ("0-9", true),
        'w' => ("0-9A-Za-z_", false),
        'W' => ("0-9A-Za-z_", true),
        's' => ("\\t\\n\\f\\r ", false),
        'S' => ("\\t\\n\\f\\r ", true),
        'b' if !in_class => return Some("(?-u:\\b)".to_owned()),
        'n' | 't' | 'r' => return Some(format!("\\{next}")),
        _ => {
            // `\<` and `\>` are edges of words to the crate, and plain characters to RE2.
            let plain = next.is_ascii_punctuation() && !"<>".contains(next);
            return plain.then(|| format!("\\{next}"));
        }
    };
    match (in_class, negated) {
        (true, false) => Some(inner.to_owned()),
        (false, false) => Some(format!("[{inner}]")),
        (_, true) => Some(format!("[^{inner}]")),
    }
}

/// Length of the count at the start of `rest`, such as `2}` or `2,3}`.
fn repetition(rest: &str) -> Option<usize> {
    let end = rest.find('}')?;
    let (least, most) = rest[..end].split_once(',').unwrap_or((&rest[..end], "1"));
    let is_count = |text: &str| {
        // RE2 takes up to 1,000 repetitions; three digits are below that.
        !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    (is_count(least) && (most.is_empty() || is_count(most))).then_some(end.saturating_add(1))
}
