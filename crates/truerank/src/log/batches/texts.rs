//! Columns of text, whatever their form: plain, as views, or through a dictionary.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray};
use arrow_schema::DataType;

/// Texts one after another.
#[derive(Clone, Copy)]
pub(super) enum Texts<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    /// The texts of a column; none if it holds something else.
    pub fn of(column: &'a ArrayRef) -> Option<Self> {
        Some(match column.data_type() {
            DataType::Utf8 => Texts::Small(column.as_string()),
            DataType::LargeUtf8 => Texts::Large(column.as_string()),
            DataType::Utf8View => Texts::View(column.as_string_view()),
            _ => return None,
        })
    }

    pub fn len(self) -> usize {
        match self {
            Texts::Small(texts) => texts.len(),
            Texts::Large(texts) => texts.len(),
            Texts::View(texts) => texts.len(),
        }
    }

    #[inline]
    pub fn value(self, at: usize) -> &'a str {
        match self {
            Texts::Small(texts) => texts.value(at),
            Texts::Large(texts) => texts.value(at),
            Texts::View(texts) => texts.value(at),
        }
    }
}

/// So many texts of a dictionary are passed over in the time of hashing one.
const SHARED: usize = 8;

/// A column of text without missing values.
pub(super) struct TextColumn<'a> {
    texts: Texts<'a>,
    /// Which text each row has; none where it is that of the row's own number.
    keys: Option<Vec<usize>>,
}

impl<'a> TextColumn<'a> {
    /// The column as text; none if it holds something else.
    pub fn of(column: &'a ArrayRef) -> Option<Self> {
        match column.as_any_dictionary_opt() {
            None => Some(TextColumn { texts: Texts::of(column)?, keys: None }),
            Some(dictionary) => {
                let texts = Texts::of(dictionary.values())?;
                // Where there are no texts, there are no rows: none is missing.
                let keys = if texts.len() == 0 { Vec::new() } else { dictionary.normalized_keys() };
                Some(TextColumn { texts, keys: Some(keys) })
            }
        }
    }

    /// Whether a row's text is empty.
    pub fn has_empty(&self) -> bool {
        let is_empty = |at: usize| self.texts.value(at).is_empty();
        match &self.keys {
            None => (0..self.texts.len()).any(is_empty),
            Some(_) if self.is_shared() && !(0..self.texts.len()).any(is_empty) => false,
            Some(keys) => keys.iter().any(|&key| is_empty(key)),
        }
    }

    /// Whether looking at every text of the dictionary costs less than hashing that of every row.
    fn is_shared(&self) -> bool {
        self.keys.as_ref().is_some_and(|keys| self.texts.len() <= SHARED * keys.len())
    }

    /// Appends a value for each row; `value` is asked once for each text of a dictionary, or for a run of equal texts.
    pub fn push<T: Copy>(&self, values: &mut Vec<T>, value: impl FnMut(&str) -> Option<T>) -> Option<()> {
        match &self.keys {
            Some(keys) if self.is_shared() => self.push_shared(keys, values, value),
            Some(keys) => self.push_each(keys.iter().copied(), values, value),
            None => self.push_each(0..self.texts.len(), values, value),
        }
    }

    fn push_shared<T: Copy>(
        &self,
        keys: &[usize],
        values: &mut Vec<T>,
        mut value: impl FnMut(&str) -> Option<T>,
    ) -> Option<()> {
        let mut known: Vec<Option<T>> = vec![None; self.texts.len()];
        for &key in keys {
            let known = &mut known[key];
            if known.is_none() {
                *known = Some(value(self.texts.value(key))?);
            }
            values.extend(*known);
        }
        Some(())
    }

    fn push_each<T: Copy>(
        &self,
        keys: impl Iterator<Item = usize>,
        values: &mut Vec<T>,
        mut value: impl FnMut(&str) -> Option<T>,
    ) -> Option<()> {
        // Rows of one result page mostly follow each other.
        let mut last: Option<(&str, T)> = None;
        for key in keys {
            let text = self.texts.value(key);
            let known = match last {
                Some((known, value)) if known == text => value,
                _ => value(text)?,
            };
            last = Some((text, known));
            values.push(known);
        }
        Some(())
    }
}
