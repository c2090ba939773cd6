//! Detection of lists whose pages repeat.
//!
//! An endless list is refused, however long it is, as soon as it repeats itself. One object
//! is remembered, a later one each time that their number has doubled, so that a circle of any length is found
//! after a few rounds (Brent).

/// A list has so many copies of an object only when it goes in a circle.
const ROUNDS: u32 = 10;

/// Objects of a list that are remembered.
#[derive(Debug, Default)]
pub(super) struct RepeatDetector {
    known: Vec<u8>,
    taken: usize,
    rounds: u32,
}

impl RepeatDetector {
    /// Takes the next object; whether they have come again too often.
    pub(super) fn goes_on(&mut self, object: &[u8]) -> bool {
        self.taken = self.taken.saturating_add(1);
        if self.known == object {
            self.rounds = self.rounds.saturating_add(1);
        } else if self.taken.is_power_of_two() {
            self.known.clear();
            self.known.extend_from_slice(object);
            self.rounds = 0;
        }
        self.rounds >= ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many objects a circle is found in what is made of their numbers.
    fn found(object: impl Fn(usize) -> usize) -> Option<usize> {
        let mut circle = RepeatDetector::default();
        (1..=100_000).find(|number| circle.goes_on(object(*number).to_string().as_bytes()))
    }

    #[test]
    fn circle_is_found_however_long_it_is_and_whatever_comes_before() {
        assert_eq!(found(|_| 1), Some(11));
        for length in [2, 3, 7, 1000] {
            let at = found(|number| number % length).expect("a circle");
            assert!(at <= 30 * length, "{length}: {at}");
            let late = |number: usize| number.min(500 + number % length);
            assert!(found(late).is_some(), "{length}");
        }
    }

    #[test]
    fn objects_that_come_twice_are_no_circle() {
        assert_eq!(found(|number| number), None);
        assert_eq!(found(|number| number / 2), None);
    }
}
