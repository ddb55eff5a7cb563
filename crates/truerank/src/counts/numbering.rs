//! Collects the ids of a log as codes, and numbers them in their natural order once all are known.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::ids::{Ids, Interner, Texts};
use crate::log::{IdColumn, OTHER, SMALL};

const PAGE: usize = 1 << 16;
const WORDS: usize = PAGE / 64;

/// The ids seen so far: small integers as bits, others in a dictionary. Shared by all threads.
#[derive(Default)]
pub(super) struct SharedIds {
    small: SmallSet,
    others: Mutex<Interner>,
    is_text: AtomicBool,
}

impl SharedIds {
    /// Notes the ids of a column, and turns the codes of its own dictionary into codes of the shared one.
    pub fn absorb(&self, column: &mut IdColumn) {
        if column.is_text {
            self.is_text.store(true, Ordering::Relaxed);
        }
        let others = self.absorb_others(&column.others);
        let mut last = u32::MAX;
        for code in &mut column.codes {
            if *code & OTHER != 0 {
                *code = others[(*code & !OTHER) as usize];
            } else if *code != last {
                self.small.insert(*code);
                last = *code;
            }
        }
    }

    fn absorb_others(&self, others: &Interner) -> Vec<u32> {
        if others.ids().is_empty() {
            return Vec::new();
        }
        let mut shared = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        (0..others.ids().len()).map(|i| OTHER | shared.id(others.ids(), i)).collect()
    }

    /// All ids in their natural order, and the number of each code.
    pub fn into_numbers(self) -> (Ids, Numbers) {
        let others = self.others.into_inner().unwrap_or_else(PoisonError::into_inner).into_ids();
        let small = Ranks::new(self.small);
        if self.is_text.into_inner() { number_texts(small, others) } else { number_integers(small, others) }
    }
}

/// A set of integers below [`SMALL`] that many threads fill.
struct SmallSet {
    pages: Box<[OnceLock<Box<[AtomicU64]>>]>,
}

impl Default for SmallSet {
    fn default() -> Self {
        SmallSet { pages: (0..SMALL as usize / PAGE).map(|_| OnceLock::new()).collect() }
    }
}

impl SmallSet {
    fn insert(&self, value: u32) {
        let value = value as usize;
        let page = self.pages[value / PAGE].get_or_init(|| (0..WORDS).map(|_| AtomicU64::new(0)).collect());
        let word = &page[value % PAGE / 64];
        let bit = 1 << (value % 64);
        // Most ids are known already: looking is cheaper than writing to memory that other threads read.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }
}

/// A set of small integers that tells how many of its members lie below another.
struct Ranks {
    pages: Vec<Vec<Word>>,
    len: u32,
}

#[derive(Clone, Copy)]
struct Word {
    bits: u64,
    before: u32,
}

impl Ranks {
    fn new(set: SmallSet) -> Self {
        let mut len = 0;
        let mut rank = |bits: u64| {
            let before = len;
            len += bits.count_ones();
            Word { bits, before }
        };
        let mut page = |page: OnceLock<Box<[AtomicU64]>>| match page.into_inner() {
            Some(words) => words.into_iter().map(|word| rank(word.into_inner())).collect(),
            None => Vec::new(),
        };
        let pages = set.pages.into_iter().map(&mut page).collect();
        Ranks { pages, len }
    }

    fn rank(&self, value: u32) -> u32 {
        let value = value as usize;
        let word = self.pages[value / PAGE][value % PAGE / 64];
        word.before + (word.bits & ((1 << (value % 64)) - 1)).count_ones()
    }

    fn members(&self) -> impl Iterator<Item = u32> {
        self.pages.iter().enumerate().flat_map(|(p, page)| {
            page.iter().enumerate().flat_map(move |(w, word)| {
                let bits = (0..64).filter(|bit| word.bits >> bit & 1 == 1);
                bits.map(move |bit| (p * PAGE + w * 64 + bit) as u32)
            })
        })
    }
}

/// Turns codes into the numbers of the sorted ids.
pub(super) struct Numbers {
    small: Ranks,
    small_numbers: SmallNumbers,
    others: Vec<u32>,
}

enum SmallNumbers {
    /// In the order of the integers, after so many others.
    From(u32),
    /// The number for each rank.
    Table(Vec<u32>),
}

impl Numbers {
    pub fn of(&self, code: u32) -> u32 {
        if code & OTHER != 0 {
            return self.others[(code & !OTHER) as usize];
        }
        let rank = self.small.rank(code);
        match &self.small_numbers {
            SmallNumbers::From(first) => first + rank,
            SmallNumbers::Table(numbers) => numbers[rank as usize],
        }
    }
}

/// Integers sort by value: the negative others, the small ones, the large others.
fn number_integers(small: Ranks, others: Ids) -> (Ids, Numbers) {
    let Ids::Integers(others) = others else { return number_texts(small, others) };
    let mut order: Vec<usize> = (0..others.len()).collect();
    order.sort_unstable_by_key(|&i| others[i]);
    let negative = order.partition_point(|&i| others[i] < 0);
    let mut numbers = vec![0; others.len()];
    for (new, &old) in order.iter().enumerate() {
        numbers[old] = new as u32 + if new < negative { 0 } else { small.len };
    }
    let low = order[..negative].iter().map(|&i| others[i]);
    let high = order[negative..].iter().map(|&i| others[i]);
    let ids = Ids::Integers(low.chain(small.members().map(i64::from)).chain(high).collect());
    (ids, Numbers { small, small_numbers: SmallNumbers::From(negative as u32), others: numbers })
}

/// Text sorts by its bytes, integers in their decimal form among the rest.
fn number_texts(small: Ranks, mut others: Ids) -> (Ids, Numbers) {
    let mut texts = Texts::default();
    small.members().for_each(|value| texts.push(&value.to_string()));
    others.make_texts().iter().for_each(|text| texts.push(text));
    // The first eight bytes decide most comparisons without a look at the text itself.
    let mut order: Vec<(u64, u32)> = texts.iter().zip(0..).map(|(text, i)| (prefix(text), i)).collect();
    order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| texts.get(a.1 as usize).cmp(texts.get(b.1 as usize))));
    let mut numbers = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&(_, old), new)| numbers[old as usize] = new);
    let ids = Ids::Texts(texts).select(order.iter().map(|&(_, i)| i as usize));
    let others = numbers.split_off(small.len as usize);
    (ids, Numbers { small, small_numbers: SmallNumbers::Table(numbers), others })
}

fn prefix(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let len = text.len().min(8);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(fill: impl Fn(&mut IdColumn)) -> IdColumn {
        let mut column = IdColumn::default();
        fill(&mut column);
        column
    }

    #[test]
    fn integers_are_numbered_by_value() {
        let shared = SharedIds::default();
        let values = [i64::MAX, 5, -3, 70_000, 5, -9, 1 << 28];
        let mut column = column(|c| values.iter().for_each(|&v| c.push_integer(v)));
        shared.absorb(&mut column);
        let (ids, numbers) = shared.into_numbers();
        assert_eq!(ids, Ids::Integers(vec![-9, -3, 5, 70_000, 1 << 28, i64::MAX]));
        let found: Vec<u32> = column.codes.iter().map(|&code| numbers.of(code)).collect();
        assert_eq!(found, [5, 2, 1, 3, 2, 0, 4]);
    }

    #[test]
    fn one_text_makes_all_text() {
        let shared = SharedIds::default();
        let mut integers = column(|c| [10, 9, -1].iter().for_each(|&v| c.push_integer(v)));
        let mut texts = column(|c| {
            let codes = ["9", "a", "-1", "09"].map(|t| c.code_of_text(t));
            c.codes.extend(codes);
        });
        shared.absorb(&mut integers);
        shared.absorb(&mut texts);
        let (ids, numbers) = shared.into_numbers();
        let names: Vec<_> = (0..ids.len()).map(|i| ids.name(i).into_owned()).collect();
        assert_eq!(names, ["-1", "09", "10", "9", "a"]);
        let found = |column: &IdColumn| column.codes.iter().map(|&code| numbers.of(code)).collect::<Vec<u32>>();
        assert_eq!((found(&integers), found(&texts)), (vec![2, 3, 0], vec![3, 4, 0, 1]));
    }
}
