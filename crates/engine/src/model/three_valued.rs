//! Conjunction and disjunction of answers of which some are unknown.

/// True if all are true; false if one is false, whatever the unknown ones are; otherwise unknown.
pub fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.into_iter().map(|answer| answer.map(|it| !it))).map(|it| !it)
}

/// True if one is true, whatever the unknown ones are; unknown if none is true, and one is unknown.
pub fn any(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            Some(false) => {}
            None => known = None,
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_decides_only_where_nothing_else_does() {
        let (yes, no) = (Some(true), Some(false));
        for (answers, every, one) in [
            (&[][..], yes, no),
            (&[yes, yes], yes, yes),
            (&[yes, no], no, yes),
            (&[None, yes], None, yes),
            (&[None, no], no, None),
            (&[None], None, None),
        ] {
            assert_eq!(all(answers.iter().copied()), every, "{answers:?}");
            assert_eq!(any(answers.iter().copied()), one, "{answers:?}");
        }
    }
}
