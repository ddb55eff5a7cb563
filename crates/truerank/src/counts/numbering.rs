//! Collects the ids of a log as codes, and numbers them in their natural order once all are known.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::tables::NumberedIds;
use crate::ids::{Ids, Interner, Texts};
use crate::log::{IdColumn, OTHER, SMALL};
use crate::{Error, Result};

const PAGE: usize = 1 << 16;
const WORDS: usize = PAGE / 64;

/// Dictionaries that other ids are spread over, so that threads seldom wait for each other.
const SHARDS: usize = 16;
/// Bits of a code that are a number in a dictionary.
const NUMBER: u32 = 26;
/// Ids in a dictionary at most, less what one block can add.
const FULL: usize = (1 << NUMBER) - (1 << 23);
/// Marks the code of an integer that is not small; other codes with [`OTHER`] are of text.
const INTEGER: u32 = 1 << 30;

/// The ids seen so far: small integers as bits, others in dictionaries. Shared by all threads.
#[derive(Default)]
pub(super) struct SharedIds {
    small: SmallSet,
    integers: Shards,
    texts: Shards,
    is_text: AtomicBool,
}

impl SharedIds {
    /// Notes the ids of a column, and turns the codes of its own dictionary into codes of the shared ones.
    pub fn absorb(&self, column: &mut IdColumn) {
        if column.is_text {
            self.is_text.store(true, Ordering::Relaxed);
        }
        let others = match column.others.ids() {
            Ids::Integers(_) => self.integers.absorb(column.others.ids(), OTHER | INTEGER),
            Ids::Texts(_) => self.texts.absorb(column.others.ids(), OTHER),
        };
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

    /// How much memory the ids take, and will take while they are sorted.
    pub fn bytes(&self) -> u64 {
        self.small.bytes.load(Ordering::Relaxed) + 2 * (self.integers.bytes() + self.texts.bytes())
    }

    /// Whether there is no room for another block's ids.
    pub fn is_full(&self) -> bool {
        [&self.integers, &self.texts].iter().any(|shards| shards.is_full.load(Ordering::Relaxed))
    }

    /// All ids in their natural order, and the number of each code.
    pub fn into_numbers(self) -> (Ids, Numbers) {
        let small = Ranks::new(self.small);
        let (integers, texts) = (self.integers.into_lists(), self.texts.into_lists());
        if self.is_text.into_inner() { number_texts(small, integers, texts) } else { number_integers(small, integers) }
    }
}

/// Dictionaries by the hash of ids.
#[derive(Default)]
struct Shards {
    shards: [Mutex<Interner>; SHARDS],
    bytes: [AtomicU64; SHARDS],
    is_full: AtomicBool,
}

impl Shards {
    /// The codes of `ids`: `mark`, then the shard, then the number in it.
    fn absorb(&self, ids: &Ids, mark: u32) -> Vec<u32> {
        let mut of_shard: [Vec<u32>; SHARDS] = Default::default();
        (0..ids.len()).for_each(|i| of_shard[shard_of(ids, i)].push(i as u32));
        let mut codes = vec![0; ids.len()];
        // Threads begin at different shards.
        let first = rayon::current_thread_index().unwrap_or(0) * SHARDS / rayon::current_num_threads().max(1);
        for shard in (0..SHARDS).map(|shard| (first + shard) % SHARDS).filter(|&shard| !of_shard[shard].is_empty()) {
            let mut known = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
            for &i in &of_shard[shard] {
                codes[i as usize] = mark | (shard as u32) << NUMBER | known.id(ids, i as usize);
            }
            self.bytes[shard].store(known.bytes() as u64, Ordering::Relaxed);
            self.is_full.fetch_or(known.ids().len() > FULL, Ordering::Relaxed);
        }
        codes
    }

    fn bytes(&self) -> u64 {
        self.bytes.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum()
    }

    fn into_lists(self) -> Vec<Ids> {
        self.shards.into_iter().map(|s| s.into_inner().unwrap_or_else(PoisonError::into_inner).into_ids()).collect()
    }
}

fn shard_of(ids: &Ids, index: usize) -> usize {
    let hash = match ids {
        Ids::Integers(values) => SHARD_HASHER.hash_one(values[index]),
        Ids::Texts(texts) => SHARD_HASHER.hash_one(texts.get(index)),
    };
    hash as usize % SHARDS
}

/// Another seed than that of the dictionaries: within a shard their hashes must stay spread.
const SHARD_HASHER: FixedState = FixedState::with_seed(1);

/// The ids of a log.
#[derive(Default)]
pub(super) struct AllIds {
    pub users: SharedIds,
    pub contexts: SharedIds,
    pub queries: SharedIds,
    pub docs: SharedIds,
}

/// The numbers of all ids.
pub(super) struct AllNumbers {
    pub users: Numbers,
    pub contexts: Numbers,
    pub queries: Numbers,
    pub docs: Numbers,
}

impl AllIds {
    /// How much memory the ids take, and will take while they are sorted.
    pub fn bytes(&self) -> u64 {
        self.users.bytes() + self.queries.bytes() + self.docs.bytes() + self.contexts.bytes()
    }

    /// Fails where there is no room for another block's ids.
    pub fn check_room(&self) -> Result<()> {
        match [&self.users, &self.queries, &self.docs, &self.contexts].iter().any(|ids| ids.is_full()) {
            true => {
                Err(Error::parameter("the log has about a thousand million different ids, but no more can be counted"))
            }
            false => Ok(()),
        }
    }

    pub fn into_numbers(self) -> (NumberedIds, AllNumbers) {
        let ((users, of_users), ((queries, of_queries), (docs, of_docs))) = rayon::join(
            || self.users.into_numbers(),
            || rayon::join(|| self.queries.into_numbers(), || self.docs.into_numbers()),
        );
        let (contexts, of_contexts) = self.contexts.into_numbers();
        let numbers = AllNumbers { users: of_users, queries: of_queries, docs: of_docs, contexts: of_contexts };
        (NumberedIds { users, queries, docs, contexts }, numbers)
    }
}

/// A set of integers below [`SMALL`] that many threads fill.
struct SmallSet {
    pages: Box<[OnceLock<Box<[AtomicU64]>>]>,
    /// Memory of the pages, and of their ranks later.
    bytes: AtomicU64,
}

impl Default for SmallSet {
    fn default() -> Self {
        SmallSet { pages: (0..SMALL as usize / PAGE).map(|_| OnceLock::new()).collect(), bytes: AtomicU64::new(0) }
    }
}

impl SmallSet {
    fn insert(&self, value: u32) {
        let value = value as usize;
        let page = self.pages[value / PAGE].get_or_init(|| {
            self.bytes.fetch_add((WORDS * 3 * size_of::<u64>()) as u64, Ordering::Relaxed);
            (0..WORDS).map(|_| AtomicU64::new(0)).collect()
        });
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
    /// By shard.
    integers: Vec<Vec<u32>>,
    texts: Vec<Vec<u32>>,
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
            let family = if code & INTEGER != 0 { &self.integers } else { &self.texts };
            return family[(code >> NUMBER) as usize % SHARDS][(code & ((1 << NUMBER) - 1)) as usize];
        }
        let rank = self.small.rank(code);
        match &self.small_numbers {
            SmallNumbers::From(first) => first + rank,
            SmallNumbers::Table(numbers) => numbers[rank as usize],
        }
    }
}

/// Integers sort by value: the negative others, the small ones, the large others.
fn number_integers(small: Ranks, lists: Vec<Ids>) -> (Ids, Numbers) {
    let lists: Vec<Vec<i64>> =
        lists.into_iter().map(|ids| if let Ids::Integers(values) = ids { values } else { Vec::new() }).collect();
    let mut order: Vec<(i64, u32, u32)> = Vec::with_capacity(lists.iter().map(Vec::len).sum());
    for (shard, values) in (0..).zip(&lists) {
        order.extend(values.iter().zip(0..).map(|(&value, i)| (value, shard, i)));
    }
    order.par_sort_unstable();
    let negative = order.partition_point(|&(value, ..)| value < 0);
    let mut numbers = zeros(lists.iter().map(Vec::len));
    for (&(_, shard, i), new) in order.iter().zip(0..) {
        numbers[shard as usize][i as usize] = new + if (new as usize) < negative { 0 } else { small.len };
    }
    let (low, high) = order.split_at(negative);
    let value = |&(value, ..): &(i64, u32, u32)| value;
    let ids = low.iter().map(value).chain(small.members().map(i64::from)).chain(high.iter().map(value)).collect();
    let small_numbers = SmallNumbers::From(negative as u32);
    (Ids::Integers(ids), Numbers { small, small_numbers, integers: numbers, texts: Vec::new() })
}

/// Text sorts by its bytes, integers in their decimal form among the rest.
fn number_texts(small: Ranks, integers: Vec<Ids>, texts: Vec<Ids>) -> (Ids, Numbers) {
    let mut lists = vec![Texts::default()];
    small.members().for_each(|value| lists[0].push(&value.to_string()));
    lists.extend(integers.into_iter().chain(texts).map(Ids::into_texts));
    let mut numbers = zeros(lists.iter().map(Texts::len));
    let sorted = number_lists(&lists, &mut numbers);
    let texts = numbers.split_off(1 + SHARDS);
    let integers = numbers.split_off(1);
    let small_numbers = SmallNumbers::Table(numbers.swap_remove(0));
    (Ids::Texts(sorted), Numbers { small, small_numbers, integers, texts })
}

/// All texts in order, each once, and their numbers: an integer of one file may be a text of another.
fn number_lists(lists: &[Texts], numbers: &mut [Vec<u32>]) -> Texts {
    let text = |list: u8, i: u32| lists[list as usize].get(i as usize);
    // The first eight bytes decide most comparisons without a look at the text itself.
    let mut order: Vec<(u64, u32, u8)> = Vec::with_capacity(lists.iter().map(Texts::len).sum());
    for (texts, list) in lists.iter().zip(0..) {
        order.extend(texts.iter().zip(0..).map(|(text, i)| (prefix(text), i, list)));
    }
    order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| text(a.2, a.1).cmp(text(b.2, b.1))));
    let mut sorted = Texts::with_capacity(order.len(), lists.iter().map(Texts::byte_count).sum());
    for &(_, i, list) in &order {
        if sorted.is_empty() || sorted.get(sorted.len() - 1) != text(list, i) {
            sorted.push(text(list, i));
        }
        numbers[list as usize][i as usize] = sorted.len() as u32 - 1;
    }
    sorted
}

fn zeros(lengths: impl Iterator<Item = usize>) -> Vec<Vec<u32>> {
    lengths.map(|len| vec![0; len]).collect()
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

    #[test]
    fn many_ids_of_all_kinds_keep_their_names() {
        let shared = SharedIds::default();
        let names: Vec<String> = (0..3000i64).map(|i| (i * i * i * 7919 - 1_000_000).to_string()).collect();
        let mut texts = column(|c| {
            let codes: Vec<u32> = names.iter().map(|name| c.code_of_text(name)).collect();
            c.codes = codes;
        });
        let mut integers = column(|c| names.iter().rev().for_each(|name| c.push_integer(name.parse().unwrap())));
        shared.absorb(&mut texts);
        shared.absorb(&mut integers);
        let (ids, numbers) = shared.into_numbers();
        assert_eq!(ids.len(), names.len());
        assert!((1..ids.len()).all(|i| ids.name(i - 1) < ids.name(i)));
        for (i, name) in names.iter().enumerate() {
            let codes = [texts.codes[i], integers.codes[names.len() - 1 - i]];
            codes.iter().for_each(|&code| assert_eq!(ids.name(numbers.of(code) as usize), *name));
        }
    }
}
