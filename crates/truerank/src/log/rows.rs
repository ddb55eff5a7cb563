//! Rows as readers give them to the counter: ids as codes that need no hashing where they are small integers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::values::canonical_integer;
use crate::ids::Interner;

/// Integers from 0 up to here are their own code.
pub(crate) const SMALL: u32 = 1 << 28;
/// Marks the code of any other id; the bits below are its number in a dictionary.
pub(crate) const OTHER: u32 = 1 << 31;

/// Some rows of a log, in columns of equal length.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub sessions: Vec<u64>,
    pub users: IdColumn,
    pub queries: IdColumn,
    pub docs: IdColumn,
    pub positions: Vec<u32>,
    pub clicks: Vec<bool>,
    /// Milliseconds since 1970 began; empty where times are not read.
    pub times: Vec<i64>,
    /// What pages were shown in; without codes where that is not read.
    pub contexts: IdColumn,
    /// Further numbers, row after row; empty where none are read.
    pub numbers: Vec<f64>,
    /// Where the rows stand; empty where that is not asked for.
    pub traces: Vec<Trace>,
    /// What each row is, in a log of events; empty otherwise.
    pub parts: Vec<Part>,
    /// How often there were which other events.
    pub others: BTreeMap<String, u64>,
}

/// More names than this are not names of events, and counting them would cost memory.
const MOST_NAMES: usize = 1000;

/// What a row of a log of events is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A document of a page that stands in one record, by the record's number.
    Page(u64),
    /// A document that was shown, in a record of its own.
    Shown,
    /// A click; its user is not looked at, and its query only where it says one.
    Click { has_query: bool },
}

/// Where a row stands and what it looks like there.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    /// Its line, or its row in a table.
    pub place: u64,
    /// The text of its session.
    pub session: String,
    /// The record it comes from.
    pub raw: String,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Memory of ids that are no small integers.
    pub fn id_bytes(&self) -> usize {
        [&self.users, &self.queries, &self.docs, &self.contexts].map(|column| column.others.bytes()).into_iter().sum()
    }

    /// Counts an event of another kind.
    pub fn count_other(&mut self, name: String) {
        if self.others.len() < MOST_NAMES || self.others.contains_key(&name) {
            *self.others.entry(name).or_default() += 1;
        }
    }
}

/// A column of ids as codes: most logs number their users, queries and documents, and those numbers are used as they
/// are, from an integer column or from text. Other ids go through a dictionary of the column.
#[derive(Debug, Default)]
pub(crate) struct IdColumn {
    pub codes: Vec<u32>,
    pub others: Interner,
    /// Whether the ids are text, even those that look like integers.
    pub is_text: bool,
}

impl IdColumn {
    pub fn push_integer(&mut self, value: i64) {
        let code = self.code_of_integer(value);
        self.codes.push(code);
    }

    /// Appends an unsigned integer; one too large for an integer column is text.
    pub fn push_unsigned(&mut self, value: u64) {
        match i64::try_from(value) {
            Ok(value) => self.push_integer(value),
            Err(_) => {
                let code = self.code_of_text(&value.to_string());
                self.codes.push(code);
            }
        }
    }

    pub fn code_of_integer(&mut self, value: i64) -> u32 {
        match u32::try_from(value) {
            Ok(small) if small < SMALL => small,
            _ => OTHER | self.others.integer(value),
        }
    }

    pub fn code_of_text(&mut self, text: &str) -> u32 {
        self.is_text = true;
        match canonical_integer(text).and_then(|value| u32::try_from(value).ok()) {
            Some(small) if small < SMALL => small,
            _ => OTHER | self.others.text(text),
        }
    }

    /// The id that `code` stands for, as text.
    pub fn name(&self, code: u32) -> Cow<'_, str> {
        if code & OTHER == 0 { Cow::Owned(code.to_string()) } else { self.others.ids().name((code & !OTHER) as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_are_their_own_code_as_text_too() {
        let mut column = IdColumn::default();
        assert_eq!([column.code_of_integer(17), column.code_of_text("17"), column.code_of_text("0")], [17, 17, 0]);
        assert_eq!([column.code_of_text("017"), column.code_of_integer(-1)], [OTHER, OTHER | 1]);
        assert_eq!([column.code_of_text("-1"), column.code_of_integer(1 << 28)], [OTHER | 1, OTHER | 2]);
        assert_eq!(column.name(OTHER | 2), (1u32 << 28).to_string());
        assert_eq!(column.name(17), "17");
    }
}
