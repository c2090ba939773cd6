//! Random expressions as selectors use them, mostly well-typed; some use parts that this plugin does not evaluate.

use super::random::Random;

/// Intended type of an expression; now and then it gives another one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    Double,
    Text,
    Version,
    Quantity,
    Numbers,
    Texts,
    OptionalInt,
    OptionalText,
}

const KINDS: &[Kind] = &[
    Kind::Bool,
    Kind::Int,
    Kind::Double,
    Kind::Text,
    Kind::Version,
    Kind::Quantity,
    Kind::Numbers,
    Kind::Texts,
    Kind::OptionalInt,
    Kind::OptionalText,
];

/// For each kind its forms without others, and its compound forms: `$b` is a truth value, `$i` a number, `$d`
/// a double, `$s` a text, `$v` a version, `$q` a quantity, `$I` numbers, `$S` texts, `$o` and `$O` optional
/// ones, `$x` anything, `$y` something of the same kind as the last `$x`.
const RULES: &[(Kind, &[&str], &[&str])] = &[
    (
        Kind::Bool,
        &[
            "true",
            "false",
            "device.allowMultipleAllocations",
            "device.attributes[\"gpu.example.com\"].healthy",
            "device.attributes[\"dra.net\"].rdma",
            "has(device.attributes[\"gpu.example.com\"].model)",
            "has(device.capacity[\"gpu.example.com\"].memory)",
            "\"gpu.example.com\" in device.attributes",
            "\"model\" in device.attributes[\"gpu.example.com\"]",
            "device.attributes[\"nobody\"].x",
        ],
        &[
            "($b && $b)",
            "($b || $b)",
            "!$b",
            "($b ? $b : $b)",
            "$x == $y",
            "$x != $y",
            "$x == $x",
            "$i < $i",
            "$i <= $d",
            "$s < $s",
            "$s.contains($s)",
            "$s.startsWith($s)",
            "$s.endsWith($s)",
            "$s.matches(\"^[a-z]+-?[0-9]*\")",
            "$s.matches(\"(?i)h100|a100\")",
            "$s.matches(\"\\\\d+\\\\.\\\\d\")",
            "$v.isGreaterThan($v)",
            "$v.isLessThan($v)",
            "isSemver($s)",
            "isSemver($s, $b)",
            "$q.isGreaterThan($q)",
            "$q.isLessThan($q)",
            "$q.isInteger()",
            "isIP($s)",
            "format.dns1123Label().validate($s).hasValue()",
            "$i in $I",
            "$s in $S",
            "$s in [\"a100\", \"h100\"]",
            "$I.exists(x, x > $i)",
            "$I.all(x, x > $i)",
            "$S.exists(x, x.startsWith($s))",
            "$I.exists(i, x, x > i)",
            "$I.all(i, x, x > i)",
            "$I.includes($i)",
            "$S.includes($s)",
            "$s.includes($s)",
            "device.attributes[\"list.example.com\"].models.includes($s)",
            "sets.contains($I, $I)",
            "sets.intersects($I, $I)",
            "$o.hasValue()",
            "$O.hasValue()",
            "cel.bind(x, $i, x > $i && x < $i)",
            "cel.bind(x, $s, x == $s || x.size() > $i)",
            "dyn($x) == $x",
            "dyn($b)",
            "($i / $i == $i || $b)",
            "device.attributes[\"gpu.example.com\"].exists(k, k == $s)",
            "device.capacity[\"gpu.example.com\"].all(k, v, v.isLessThan($q))",
        ],
    ),
    (
        Kind::Int,
        &[
            "0",
            "1",
            "-3",
            "7",
            "108",
            "9223372036854775807",
            "device.attributes[\"gpu.example.com\"].index",
            "device.attributes[\"gpu.example.com\"].cores",
            "device.attributes[\"dra.net\"].mtu",
            "device.attributes[\"gpu.example.com\"].model",
        ],
        &[
            "($i + $i)",
            "($i - $i)",
            "($i * $i)",
            "($i / $i)",
            "($i % $i)",
            "-$i",
            "$s.size()",
            "size($I)",
            "$v.major()",
            "$v.minor()",
            "$v.patch()",
            "$v.compareTo($v)",
            "$q.compareTo($q)",
            "$q.asInteger()",
            "sign($q)",
            "$I.max()",
            "$I[0]",
            "$I[$i]",
            "$o.orValue($i)",
            "$o.value()",
            "int($s)",
            "int($d)",
            "($b ? $i : $i)",
            "device.attributes[\"gpu.example.com\"].?cores.orValue($i)",
        ],
    ),
    (
        Kind::Double,
        &["0.0", "1.5", "-2.25", "108.0"],
        &["($d + $d)", "($d - $d)", "($d * $d)", "($d / $d)", "-$d"],
    ),
    (
        Kind::Text,
        &[
            "\"\"",
            "\"a\"",
            "\"h100\"",
            "\"1.2.3\"",
            "\"10.0.3.7\"",
            "\"pci0000:00\"",
            "'é-x'",
            "\"12\"",
            "device.driver",
            "device.attributes[\"gpu.example.com\"].model",
            "device.attributes[\"gpu.example.com\"].uuid",
            "device.attributes[\"vendor.example.com\"].family",
            "device.attributes[\"net.example.com\"].ipv4",
            "device.attributes[\"dra.net\"].ifName",
        ],
        &[
            "($s + $s)",
            "$s.lowerAscii()",
            "$s.upperAscii()",
            "$s.trim()",
            "$s.replace($s, $s)",
            "$s.substring(1)",
            "$s.substring(0, $i)",
            "$s.find(\"[0-9]+\")",
            "$S[0]",
            "string($i)",
            "string($b)",
            "$O.orValue($s)",
            "($b ? $s : $s)",
            "device.attributes[\"gpu.example.com\"].?model.orValue($s)",
            "$s.split(\".\")[0]",
        ],
    ),
    (
        Kind::Version,
        &[
            "semver(\"1.2.3\")",
            "semver(\"550.54.15\")",
            "semver(\"1.2.3-rc.1+b\")",
            "device.attributes[\"gpu.example.com\"].driverVersion",
            "device.attributes[\"vendor.example.com\"].firmware",
        ],
        &["semver($s)", "semver($s, true)", "($b ? $v : $v)"],
    ),
    (
        Kind::Quantity,
        &[
            "quantity(\"40Gi\")",
            "quantity(\"1500m\")",
            "quantity(\"7\")",
            "device.capacity[\"gpu.example.com\"].memory",
            "device.capacity[\"gpu.example.com\"].bandwidth",
            "device.capacity[\"vendor.example.com\"].slots",
        ],
        &["quantity($s)", "($b ? $q : $q)"],
    ),
    (
        Kind::Numbers,
        &[
            "[1, 2, 3]",
            "[3, 1, 2, 1]",
            "[0]",
            "device.attributes[\"list.example.com\"].sizes",
        ],
        &[
            "[$i, $i]",
            "($I + $I)",
            "$I.map(x, x * $i)",
            "$I.map(x, x > $i, x)",
            "$I.filter(x, x != $i)",
        ],
    ),
    (
        Kind::Texts,
        &[
            "[\"a\", \"h100\"]",
            "[\"x\"]",
            "device.attributes[\"list.example.com\"].models",
        ],
        &[
            "[$s, $s]",
            "$s.split(\".\")",
            "$S.map(x, x + $s)",
            "$S.filter(x, x.size() > $i)",
        ],
    ),
    (
        Kind::OptionalInt,
        &[
            "device.attributes[\"gpu.example.com\"].?cores",
            "device.attributes[\"gpu.example.com\"][?\"index\"]",
        ],
        &["$I[?$i]"],
    ),
    (
        Kind::OptionalText,
        &[
            "device.attributes[\"gpu.example.com\"].?model",
            "device.attributes[?\"gpu.example.com\"].uuid",
        ],
        &["$S[?$i]"],
    ),
];

/// An expression, made of others up to `depth`.
pub fn expression(random: &mut Random, kind: Kind, depth: usize) -> String {
    // Now and then another kind is there.
    let kind = if random.below(40) == 0 {
        KINDS[random.below(KINDS.len())]
    } else {
        kind
    };
    let (_, leaves, branches) = RULES.iter().find(|(of, ..)| *of == kind).expect("a rule");
    if depth == 0 || random.below(4) == 0 {
        return random.of(leaves).to_owned();
    }
    filled(random, branches, depth)
}

fn filled(random: &mut Random, branches: &[&str], depth: usize) -> String {
    let pattern = random.of(branches);
    let mut result = String::new();
    let mut characters = pattern.chars();
    let mut any = Kind::Int;
    while let Some(character) = characters.next() {
        if character != '$' {
            result.push(character);
            continue;
        }
        let code = characters.clone().next();
        let kind = match code {
            Some('b') => Kind::Bool,
            Some('i') => Kind::Int,
            Some('d') => Kind::Double,
            Some('s') => Kind::Text,
            Some('v') => Kind::Version,
            Some('q') => Kind::Quantity,
            Some('I') => Kind::Numbers,
            Some('S') => Kind::Texts,
            Some('o') => Kind::OptionalInt,
            Some('O') => Kind::OptionalText,
            Some('y') => any,
            Some('x') => {
                any = KINDS[random.below(KINDS.len())];
                any
            }
            _ => {
                result.push('$');
                continue;
            }
        };
        characters.next();
        result.push_str(&expression(random, kind, depth - 1));
    }
    result
}
