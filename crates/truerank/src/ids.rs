//! Names of queries, documents and users: kept as they came, numbered from 0 for the inner loops.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A column of ids: all integers or all text, as in the file they came from.
///
/// Two ids are the same when their text is the same, so the integer `17` of a Parquet log
/// meets the `qid:17` of a LETOR file. `007` is text and stays `007`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ids {
    /// Ids from an integer column.
    Integers(Vec<i64>),
    /// Ids from a text column or a text file.
    Texts(Texts),
}

impl Default for Ids {
    /// No ids yet; integers until the first text arrives.
    fn default() -> Self {
        Ids::Integers(Vec::new())
    }
}

impl Ids {
    /// The integers `1..=count`.
    pub fn numbered(count: usize) -> Self {
        Ids::Integers((1..=count as i64).collect())
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        match self {
            Ids::Integers(values) => values.len(),
            Ids::Texts(texts) => texts.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of id number `index`.
    pub fn name(&self, index: usize) -> Cow<'_, str> {
        match self {
            Ids::Integers(values) => Cow::Owned(values[index].to_string()),
            Ids::Texts(texts) => Cow::Borrowed(texts.get(index)),
        }
    }

    /// The ids' natural order: integers by value, text by its bytes.
    pub fn compare(&self, a: usize, b: usize) -> Ordering {
        match self {
            Ids::Integers(values) => values[a].cmp(&values[b]),
            Ids::Texts(texts) => texts.get(a).cmp(texts.get(b)),
        }
    }

    /// Appends an integer; becomes its text where the column is text.
    pub fn push_integer(&mut self, value: i64) {
        match self {
            Ids::Integers(values) => values.push(value),
            Ids::Texts(texts) => texts.push(&value.to_string()),
        }
    }

    /// Appends a text; turns a column of integers into text.
    pub fn push_text(&mut self, text: &str) {
        self.make_texts().push(text);
    }

    /// Turns the column into text in place and returns it.
    pub fn make_texts(&mut self) -> &mut Texts {
        if let Ids::Integers(values) = self {
            let mut texts = Texts::default();
            values.iter().for_each(|value| texts.push(&value.to_string()));
            *self = Ids::Texts(texts);
        }
        match self {
            Ids::Texts(texts) => texts,
            Ids::Integers(_) => unreachable!("turned into text above"),
        }
    }

    /// The column as text.
    pub(crate) fn into_texts(mut self) -> Texts {
        std::mem::take(self.make_texts())
    }

    /// Text ids that all are integers in their usual spelling (`17`, not `017` or `+17`) as an integer column.
    ///
    /// For formats whose ids are integers by definition, such as the `qid` of SVMlight text.
    pub fn into_integers_if_all(self) -> Self {
        let Ids::Texts(texts) = &self else { return self };
        match texts.iter().map(canonical_integer).collect::<Option<Vec<i64>>>() {
            Some(values) => Ids::Integers(values),
            None => self,
        }
    }

    /// The ids at `order`, in that order.
    pub fn select(&self, order: impl IntoIterator<Item = usize>) -> Self {
        match self {
            Ids::Integers(values) => Ids::Integers(order.into_iter().map(|i| values[i]).collect()),
            Ids::Texts(texts) => {
                let mut selected = Texts::default();
                order.into_iter().for_each(|i| selected.push(texts.get(i)));
                Ids::Texts(selected)
            }
        }
    }

    /// For each of these (distinct) ids, its number in `other`.
    pub fn numbers_in(&self, other: &Ids) -> Vec<Option<u32>> {
        if self == other {
            return (0..self.len() as u32).map(Some).collect();
        }
        let index = IdIndex::new(other);
        (0..self.len()).map(|i| index.find(&self.name(i))).collect()
    }
}

fn canonical_integer(text: &str) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

/// Texts one after another in one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

impl Texts {
    /// None yet, with room for `count` of them with `bytes` in all.
    pub(crate) fn with_capacity(count: usize, bytes: usize) -> Self {
        Texts { bytes: String::with_capacity(bytes), ends: Vec::with_capacity(count) }
    }

    /// How many bytes they have in all.
    pub(crate) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Text number `index`.
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Appends a text.
    pub fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
    }

    /// All texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// Finds the number of an id by its text.
pub struct IdIndex<'a> {
    ids: &'a Ids,
    table: HashTable<u32>,
}

const HASHER: FixedState = FixedState::with_seed(0);

impl<'a> IdIndex<'a> {
    /// Indexes `ids`; where an id stands twice, its first number is found.
    pub fn new(ids: &'a Ids) -> Self {
        let mut table = HashTable::with_capacity(ids.len());
        for i in 0..ids.len() {
            let name = ids.name(i);
            table
                .entry(
                    HASHER.hash_one(&*name),
                    |&j: &u32| ids.name(j as usize) == name,
                    |&j| HASHER.hash_one(&*ids.name(j as usize)),
                )
                .or_insert(i as u32);
        }
        IdIndex { ids, table }
    }

    /// The number of the id whose text is `name`.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.table.find(HASHER.hash_one(name), |&i| self.ids.name(i as usize) == name).copied()
    }
}

/// Numbers ids in order of first appearance.
#[derive(Debug, Default, Clone)]
pub struct Interner {
    ids: Ids,
    table: HashTable<u32>,
}

impl Interner {
    /// The number of an integer id, new or known.
    pub fn integer(&mut self, value: i64) -> u32 {
        let Ids::Integers(values) = &mut self.ids else { return self.text(&value.to_string()) };
        let entry = self.table.entry(
            HASHER.hash_one(value),
            |&i| values[i as usize] == value,
            |&i| HASHER.hash_one(values[i as usize]),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(known) => *known.get(),
            hashbrown::hash_table::Entry::Vacant(new) => {
                let number = values.len() as u32;
                new.insert(number);
                values.push(value);
                number
            }
        }
    }

    /// The number of a text id, new or known. The first text turns all integers seen so far into text.
    pub fn text(&mut self, text: &str) -> u32 {
        if matches!(self.ids, Ids::Integers(_)) {
            self.rehash_as_text();
        }
        let texts = self.ids.make_texts();
        let found = self.table.entry(
            HASHER.hash_one(text),
            |&i| texts.get(i as usize) == text,
            |&i| HASHER.hash_one(texts.get(i as usize)),
        );
        match found {
            hashbrown::hash_table::Entry::Occupied(known) => *known.get(),
            hashbrown::hash_table::Entry::Vacant(new) => {
                let number = texts.len() as u32;
                new.insert(number);
                texts.push(text);
                number
            }
        }
    }

    fn rehash_as_text(&mut self) {
        let texts = self.ids.make_texts();
        self.table.clear();
        for i in 0..texts.len() {
            self.table
                .insert_unique(HASHER.hash_one(texts.get(i)), i as u32, |&j| HASHER.hash_one(texts.get(j as usize)));
        }
    }

    /// The number of id `index` of `other`, new or known here.
    pub fn id(&mut self, other: &Ids, index: usize) -> u32 {
        match other {
            Ids::Integers(values) => self.integer(values[index]),
            Ids::Texts(texts) => self.text(texts.get(index)),
        }
    }

    /// How much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let ids = match &self.ids {
            Ids::Integers(values) => values.capacity() * size_of::<i64>(),
            Ids::Texts(texts) => texts.bytes.capacity() + texts.ends.capacity() * size_of::<usize>(),
        };
        ids + self.table.allocation_size()
    }

    /// The ids numbered so far.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The ids in order of first appearance.
    pub fn into_ids(self) -> Ids {
        self.ids
    }

    /// The ids in their natural order, and for each old number its new one.
    pub fn into_sorted(self) -> (Ids, Vec<u32>) {
        let ids = self.ids;
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by(|&a, &b| ids.compare(a, b));
        let mut new_number = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            new_number[old] = new as u32;
        }
        (ids.select(order), new_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_integers_until_a_text_arrives() {
        let mut interner = Interner::default();
        assert_eq!([interner.integer(7), interner.integer(9), interner.integer(7)], [0, 1, 0]);
        assert_eq!([interner.text("9"), interner.text("x"), interner.integer(7)], [1, 2, 0]);
        assert!(matches!(interner.ids(), Ids::Texts(_)));
    }

    #[test]
    fn sorting_orders_integers_by_value_and_text_by_bytes() {
        let mut integers = Interner::default();
        [10, 9, -1].into_iter().for_each(|v| _ = integers.integer(v));
        assert_eq!(integers.into_sorted(), (Ids::Integers(vec![-1, 9, 10]), vec![2, 1, 0]));
        let mut texts = Interner::default();
        ["10", "9", "a"].into_iter().for_each(|t| _ = texts.text(t));
        assert_eq!(texts.into_sorted().1, [0, 1, 2]);
    }

    #[test]
    fn ids_meet_by_their_text() {
        let mut texts = Texts::default();
        ["17", "017", "x"].into_iter().for_each(|t| texts.push(t));
        let integers = Ids::Integers(vec![3, 17]);
        assert_eq!(Ids::Texts(texts).numbers_in(&integers), [Some(1), None, None]);
    }

    #[test]
    fn only_the_usual_spelling_is_an_integer() {
        let column = |values: &[&str]| {
            let mut texts = Texts::default();
            values.iter().for_each(|t| texts.push(t));
            Ids::Texts(texts).into_integers_if_all()
        };
        assert_eq!(column(&["1", "-2"]), Ids::Integers(vec![1, -2]));
        assert!(matches!(column(&["1", "02"]), Ids::Texts(_)));
    }
}
