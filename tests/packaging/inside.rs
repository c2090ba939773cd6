//! The list of what the program is made of, inside it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use flate2::read::ZlibDecoder;
use serde_json::Value;

use super::materials::{bill, listed, text};
use super::program::programs;

/// `NAME VERSION` of what cargo-auditable wrote into the program, in the ELF section `.dep-v0`.
fn inside() -> BTreeSet<String> {
    let bytes = fs::read(&programs().one).unwrap();
    let number = |at: usize, length: usize| {
        let digits = bytes[at..at + length].iter().rev();
        digits.fold(0_usize, |value, &byte| value << 8 | usize::from(byte))
    };
    let (table, entry, count, names) = (
        number(0x28, 8),
        number(0x3a, 2),
        number(0x3c, 2),
        number(0x3e, 2),
    );
    let section = |index: usize| {
        let header = table + index * entry;
        (
            number(header, 4),
            number(header + 0x18, 8),
            number(header + 0x20, 8),
        )
    };
    let (_, strings, _) = section(names);
    let (_, offset, length) = (0..count)
        .map(section)
        .find(|(name, ..)| bytes[strings + name..].starts_with(b".dep-v0\0"))
        .expect("the program has a list of its materials");
    let mut json = String::new();
    ZlibDecoder::new(&bytes[offset..offset + length])
        .read_to_string(&mut json)
        .unwrap();
    let list: Value = serde_json::from_str(&json).unwrap();
    let packages = list["packages"].as_array().unwrap().iter();
    let others = packages.filter(|package| package["root"] != Value::Bool(true));
    others
        .map(|package| format!("{} {}", text(&package["name"]), text(&package["version"])))
        .collect()
}

#[test]
fn what_is_in_the_program_is_on_the_list_beside_it() {
    let (inside, beside) = (inside(), listed(&bill()));
    assert!(inside.len() > 100, "{inside:?}");
    let missing: Vec<_> = inside.difference(&beside).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // Beside it is what other platforms need, and that is not much.
    let others: Vec<_> = beside.difference(&inside).collect();
    assert!(others.len() * 5 < inside.len(), "{others:?}");
}
