//! Random expressions as selectors use them, mostly well-typed; some use parts that this plugin does not evaluate.

use crate::harness::Random;

/// A kind and a form of it in each line; forms with others in them are compound: `$b` is a truth value, `$i` a number,
/// `$d` a double, `$s` a text, `$v` a version, `$q` a quantity, `$I` numbers, `$S` texts, `$o` and `$O` optional
/// ones, `$x` anything, `$y` something of the same kind as the last `$x`.
const FORMS: &str = include_str!("../../../crates/engine/tests/data/cel/grammar.txt");
const KINDS: &[u8] = b"bidsvqISoO";

/// An expression of a kind, made of others up to `depth`; now and then it is of another kind.
pub fn expression(random: &mut Random, kind: u8, depth: usize) -> String {
    let kind = if random.below(40) == 0 {
        random.pick(KINDS)
    } else {
        kind
    };
    let is_leaf = depth == 0 || random.below(4) == 0;
    let forms = FORMS.lines().filter_map(|line| line.split_once(' '));
    let forms = forms.filter(|(of, form)| of.as_bytes() == [kind] && form.contains('$') != is_leaf);
    let forms: Vec<&str> = forms.map(|(_, form)| form).collect();
    let form = random.pick(&forms);
    filled(random, form, depth)
}

fn filled(random: &mut Random, form: &str, depth: usize) -> String {
    let mut parts = form.split('$');
    let mut result = parts.next().unwrap_or_default().to_owned();
    let mut any = b'i';
    for part in parts {
        let kind = match part.as_bytes()[0] {
            b'y' => any,
            b'x' => {
                any = random.pick(KINDS);
                any
            }
            kind => kind,
        };
        result.push_str(&expression(random, kind, depth - 1));
        result.push_str(&part[1..]);
    }
    result
}
