//! The grammar, compared with that of the crate `cel`, which is generated from cel-go's.

use cel_interpreter::parser::Parser;
use proptest::prelude::*;
use proptest::sample::select;

use super::device::DeviceExpression;
use super::error::Wrong;
use super::parser::parse;

const WORDS: &[&str] = &["a", "device", "1", "2u", "1.5", "'s'", "true", "null"];

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in",
];

/// An expression of words that the lexer of the crate reads as Kubernetes does, with a blank between any two.
fn expression() -> impl Strategy<Value = String> {
    let leaf = select(WORDS).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |part| {
        let (one, two) = (part.clone(), (part.clone(), part.clone()));
        let three = (part.clone(), part.clone(), part.clone());
        prop_oneof![
            4 => (part.clone(), select(OPERATORS), part)
                .prop_map(|(left, sign, right)| format!("{left} {sign} {right}")),
            1 => (select(&["(", "!", "-"][..]), one.clone()).prop_map(|(sign, one)| match sign {
                "(" => format!("( {one} )"),
                sign => format!("{sign} {one}"),
            }),
            1 => three.clone().prop_map(|(one, two, three)| format!("{one} ? {two} : {three}")),
            1 => three.prop_map(|(one, two, three)| format!("{one} . f ( {two} , {three} )")),
            2 => (one, select(&[". f", ". ? f", ". f ( )", "[ ? 1 ]"][..]))
                .prop_map(|(one, link)| format!("{one} {link}")),
            1 => two.clone().prop_map(|(one, two)| format!("{one} [ {two} ]")),
            1 => two.clone().prop_map(|(one, two)| format!("f ( {one} , {two} )")),
            1 => two.clone().prop_map(|(one, two)| format!("[ ? {one} , {two} , ]")),
            1 => two.prop_map(|(one, two)| format!("{{ {one} : {two} , ? 1 : a }}")),
        ]
    })
}

/// The expression with one word left out, doubled, or before another.
fn spoiled(text: &str, place: usize, how: u8) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let place = place % words.len();
    match how {
        0 => {}
        1 => {
            words.remove(place);
        }
        2 => words.insert(place, words[place]),
        _ => words.swap(place, 0),
    }
    words.join(" ")
}

/// Whether the text is an expression, whatever is evaluated of it.
fn is_read(text: &str) -> bool {
    matches!(parse(text), Ok(_) | Err(Wrong::Unsupported(_)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_an_expression_is_one_for_the_crate_too(
        text in expression(),
        place in any::<usize>(),
        how in 0_u8..4,
    ) {
        let text = spoiled(&text, place, how);
        let parser = Parser::default().enable_optional_syntax(true);
        prop_assert_eq!(is_read(&text), parser.parse(&text).is_ok(), "{}", text);
    }
}

#[test]
fn signs_stand_in_front_of_something_and_are_not_mixed() {
    for text in [
        "[ - - ]", "a ! !", "! - a", "- ! a", "! - - a", "! - - 1", "a !",
    ] {
        assert!(!is_read(text), "{text}");
    }
    for text in ["! ! a", "- - a", "! - 1", "a - - 1", "- - 1", "- - - 1"] {
        assert!(is_read(text), "{text}");
    }
}

#[test]
fn a_leading_dot_is_for_names_that_no_macro_binds() {
    let compiled = |text: &str| DeviceExpression::compile(text).map(drop);
    let driver = ".device.driver == 'gpu.example.com'";
    assert_eq!(compiled(driver), Ok(()));
    assert_eq!(compiled(&format!("[1].all(device, {driver})")), Ok(()));
    assert!(compiled("[1].all(device, device.driver == 'a')").is_err());
    assert!(compiled("[1].all(x, .x == 1)").is_err());
}
