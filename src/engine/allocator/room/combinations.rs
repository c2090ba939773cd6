//! Combinations of places, one after the other.

/// All combinations of so many of so many places, each in ascending order.
pub(super) struct Combinations {
    count: usize,
    places: Vec<usize>,
    is_new: bool,
    is_over: bool,
}

impl Combinations {
    pub(super) fn new(count: usize, size: usize) -> Self {
        Self {
            count,
            places: (0..size).collect(),
            is_new: true,
            is_over: size > count,
        }
    }

    /// The next combination; `None` after the last.
    pub(super) fn next(&mut self) -> Option<&[usize]> {
        if self.is_over {
            return None;
        }
        if std::mem::take(&mut self.is_new) {
            return Some(&self.places);
        }
        let size = self.places.len();
        let can_rise = |place: &usize| {
            let last = self.count.saturating_sub(size).saturating_add(*place);
            self.places[*place] < last
        };
        let Some(rising) = (0..size).rev().find(can_rise) else {
            self.is_over = true;
            return None;
        };
        let mut next = self.places[rising];
        for place in &mut self.places[rising..] {
            next = next.saturating_add(1);
            *place = next;
        }
        Some(&self.places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: usize, size: usize) -> Vec<Vec<usize>> {
        let mut combinations = Combinations::new(count, size);
        let mut all = Vec::new();
        while let Some(places) = combinations.next() {
            all.push(places.to_vec());
        }
        all
    }

    #[test]
    fn every_combination_comes_once_and_in_order() {
        assert_eq!(all(3, 2), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(all(2, 2), [[0, 1]]);
        assert_eq!(all(5, 3).len(), 10);
        // There is one way to take nothing, and none to take more than there is.
        assert_eq!(all(0, 0), [Vec::<usize>::new()]);
        assert!(all(2, 3).is_empty());
    }
}
