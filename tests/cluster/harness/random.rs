//! Chance that can be repeated.

use std::{
    env,
    hash::{BuildHasher, RandomState},
    ops::Range,
};

/// Numbers that follow from a seed (splitmix64): good enough to choose by, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed alone.
    pub fn of_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers that belong to a seed and a part of a run, so that each part can be repeated alone.
    pub fn new(seed: u64, part: usize) -> Self {
        let mut random = Self(seed ^ (part as u64).wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a small number");
        usize::try_from(self.next() % end).expect("a small number")
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// One of several.
    pub fn pick<T: Clone>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())].clone()
    }

    /// True so often in a hundred times.
    pub fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }
}

/// The number in an environment variable, if it is set.
pub fn number_in(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable} is no number: {text:?}")))
}

/// The numbers of the tries: the one in `TRY`, or as many as in `TRIES`, or `usual` ones.
pub fn tries(usual: u64) -> Range<u64> {
    match number_in("TRY") {
        Some(number) => number..number + 1,
        None => 0..number_in("TRIES").unwrap_or(usual),
    }
}

/// A new seed, or the one in `SEED`.
pub fn fresh_seed() -> u64 {
    number_in("SEED").unwrap_or_else(|| RandomState::new().hash_one("seed"))
}
