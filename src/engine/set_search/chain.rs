//! Chosen units, as chains that share their beginnings.
//!
//! A search remembers for each of many partial sets what was taken. Kept as a tree that only grows, a step costs the
//! same however long the set before it is.

/// What was taken, as a place in [`Chains`]; nothing at the beginning.
pub(super) type Chain = Option<usize>;

/// One step of a chain.
#[derive(Clone, Copy, Debug)]
enum Link {
    /// So many units of a class, after what was taken before.
    Take {
        before: Chain,
        class: usize,
        taken: usize,
    },
    /// Both of these.
    Join(usize, usize),
}

/// All chains of a search.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains(Vec<Link>);

impl Chains {
    /// What was taken before, and so many units of a class.
    pub(super) fn take(&mut self, before: Chain, class: usize, taken: usize) -> Chain {
        if taken == 0 {
            return before;
        }
        self.add(Link::Take {
            before,
            class,
            taken,
        })
    }

    /// What was taken in one and in the other.
    pub(super) fn join(&mut self, left: Chain, right: Chain) -> Chain {
        match (left, right) {
            (Some(left), Some(right)) => self.add(Link::Join(left, right)),
            (only, None) | (None, only) => only,
        }
    }

    /// How many units of which classes are taken, in no order.
    pub(super) fn taken(&self, chain: Chain) -> Vec<(usize, usize)> {
        let mut taken_of = Vec::new();
        let mut open: Vec<usize> = chain.into_iter().collect();
        while let Some(link) = open.pop().and_then(|place| self.0.get(place)) {
            match *link {
                Link::Take {
                    before,
                    class,
                    taken,
                } => {
                    taken_of.push((class, taken));
                    open.extend(before);
                }
                Link::Join(left, right) => open.extend([left, right]),
            }
        }
        taken_of
    }

    fn add(&mut self, link: Link) -> Chain {
        let place = self.0.len();
        self.0.push(link);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_share_their_beginnings_and_are_joined() {
        let mut chains = Chains::default();
        let one = chains.take(None, 1, 2);
        let more = chains.take(one, 2, 1);
        let other = chains.take(None, 3, 4);
        assert_eq!(chains.take(one, 9, 0), one);
        assert_eq!(chains.join(one, None), one);
        assert_eq!(chains.join(None, one), one);
        let all = chains.join(more, other);
        let mut taken = chains.taken(all);
        taken.sort_unstable();
        assert_eq!(taken, [(1, 2), (2, 1), (3, 4)]);
        assert_eq!(chains.taken(one), [(1, 2)]);
        assert_eq!(chains.taken(None), []);
    }
}
