//! Disjoint sets: pairs of numbers enter, which numbers hang together leaves.

/// Sets of the numbers `0..len`, at first each alone. Near linear in the number of unions.
#[derive(Debug, Clone)]
pub(super) struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    pub fn new(len: usize) -> Self {
        UnionFind { parent: (0..len as u32).collect() }
    }

    /// The smallest number of the set that `item` is in.
    pub fn find(&mut self, item: u32) -> u32 {
        let mut item = item;
        while self.parent[item as usize] != item {
            // Halves the path on the way up.
            let above = self.parent[self.parent[item as usize] as usize];
            self.parent[item as usize] = above;
            item = above;
        }
        item
    }

    /// Puts the sets of `a` and `b` together; the smaller root stays, so roots do not depend on the order of unions.
    pub fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    /// Whether `a` and `b` are in one set.
    pub fn together(&mut self, a: u32, b: u32) -> bool {
        self.find(a) == self.find(b)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The smallest number that can be reached from `start`, by walking every pair until nothing changes.
    fn smallest_reachable(start: u32, pairs: &[(u32, u32)]) -> u32 {
        let mut reached = vec![start];
        loop {
            let before = reached.len();
            for &(a, b) in pairs {
                for (from, to) in [(a, b), (b, a)] {
                    if reached.contains(&from) && !reached.contains(&to) {
                        reached.push(to);
                    }
                }
            }
            if reached.len() == before {
                return *reached.iter().min().expect("the start itself");
            }
        }
    }

    proptest! {
        #[test]
        fn sets_are_what_a_walk_over_all_pairs_reaches(pairs in prop::collection::vec((0u32..12, 0u32..12), 0..14)) {
            let mut sets = UnionFind::new(12);
            pairs.iter().for_each(|&(a, b)| sets.unite(a, b));
            for item in 0..12 {
                prop_assert_eq!(sets.find(item), smallest_reachable(item, &pairs));
            }
        }
    }
}
