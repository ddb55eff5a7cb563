//! Logs with one row per result page: lists of documents, clicks and positions, and what their values mean.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use super::bad_rows::{BadKind, Fault};
use super::build::{check_id, click_of, number_of, position_of};
use super::columns::Field;
use super::events::Kind;
use super::format::parse_list;
use super::guess::is_plural;
use super::layout::Layout;
use super::options::{ClickList, ReadOptions};
use super::record::{Record, Value};
use crate::{Error, Result};

/// How the lists of a file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Between the parts of a list that is text.
    pub separator: Option<char>,
    pub clicks: ClickList,
}

/// Separators that are looked for where none is said, in this order.
const SEPARATORS: [char; 4] = ['|', ';', ',', ' '];

/// A result page.
pub(super) struct Page<'a> {
    pub docs: Vec<Value<'a>>,
    pub positions: Vec<u32>,
    pub clicks: Vec<bool>,
    /// Further numbers, document after document.
    pub numbers: Vec<f64>,
}

impl<'a> Page<'a> {
    pub fn read(layout: &Layout, lists: &Lists, record: &'a impl Record) -> Result<Self, Fault> {
        let docs = list(record.value(layout.doc), lists.separator);
        if docs.is_empty() {
            return Err(bad("the list of documents is empty, but a result page shows one at least"));
        }
        docs.iter().try_for_each(|doc| check_id(doc, Field::Doc))?;
        let positions = match layout.position {
            Some(column) => positions(&list(record.value(column), lists.separator), docs.len())?,
            None => (1..=docs.len() as u32).collect(),
        };
        let clicks = clicks(layout, lists, record, &docs, &positions)?;
        let numbers = numbers(layout, lists, record, docs.len())?;
        Ok(Page { docs, positions, clicks, numbers })
    }
}

fn bad(finding: impl Into<String>) -> Fault {
    Fault::new(BadKind::List, finding)
}

fn positions(values: &[Value<'_>], docs: usize) -> Result<Vec<u32>, Fault> {
    same_length("positions", values.len(), docs)?;
    values.iter().map(position_of).collect()
}

fn same_length(what: &str, found: usize, docs: usize) -> Result<(), Fault> {
    match found == docs {
        true => Ok(()),
        false => Err(bad(format!("has {docs} documents and {found} {what}, but each document needs one"))),
    }
}

/// Which documents were clicked; clicks of events are records of their own.
fn clicks(
    layout: &Layout,
    lists: &Lists,
    record: &impl Record,
    docs: &[Value<'_>],
    positions: &[u32],
) -> Result<Vec<bool>, Fault> {
    if layout.events.is_some() {
        return Ok(vec![false; docs.len()]);
    }
    let clicks = list(record.value(layout.click), lists.separator);
    match &layout.click_when {
        None => clicks_of(lists.clicks, &clicks, docs, positions),
        // A page without any value has no clicks.
        Some(_) if clicks.is_empty() => Ok(vec![false; docs.len()]),
        Some(when) => {
            same_length("values that make a click", clicks.len(), docs.len())?;
            clicks.iter().map(|value| when.holds(value)).collect()
        }
    }
}

fn clicks_of(kind: ClickList, clicks: &[Value<'_>], docs: &[Value<'_>], positions: &[u32]) -> Result<Vec<bool>, Fault> {
    match kind {
        ClickList::Flags => {
            same_length("clicks", clicks.len(), docs.len())?;
            clicks.iter().map(click_of).collect()
        }
        ClickList::Docs => {
            let names: Vec<_> = docs.iter().map(Value::id_text).collect();
            mark(clicks, docs.len(), |click| names.iter().position(|name| name.is_some() && *name == click.id_text()))
        }
        ClickList::Positions => mark(clicks, docs.len(), |click| {
            let position = position_of(click).ok()?;
            positions.iter().position(|&p| p == position)
        }),
    }
}

/// Which documents the clicks are about.
fn mark(clicks: &[Value<'_>], docs: usize, find: impl Fn(&Value<'_>) -> Option<usize>) -> Result<Vec<bool>, Fault> {
    let mut marked = vec![false; docs];
    for click in clicks {
        let at = find(click).ok_or_else(|| {
            bad(format!(
                "{} was clicked, but the page does not show it; are these lists of what `clicks` says?",
                click.shown()
            ))
        })?;
        marked[at] = true;
    }
    Ok(marked)
}

/// Numbers of each document: from a list, or one for the whole page.
fn numbers(layout: &Layout, lists: &Lists, record: &impl Record, docs: usize) -> Result<Vec<f64>, Fault> {
    let width = layout.numbers.len();
    let mut numbers = vec![0.0; docs * width];
    for (i, (&column, name)) in layout.numbers.iter().zip(&layout.number_names).enumerate() {
        let values = list(record.value(column), lists.separator);
        let single = values.len() == 1;
        same_length("numbers", if single { docs } else { values.len() }, docs)?;
        for doc in 0..docs {
            numbers[doc * width + i] = number_of(&values[if single { 0 } else { doc }], name)?;
        }
    }
    Ok(numbers)
}

/// The parts of a list: of one already, of a JSON array in a text, or of a text with separators.
fn list(value: Value<'_>, separator: Option<char>) -> Vec<Value<'_>> {
    match value {
        Value::Missing => Vec::new(),
        Value::List(values) => values,
        Value::Text(text) => match parse_list(&text) {
            Some(values) => values,
            None => split(text, separator),
        },
        other => vec![other],
    }
}

fn split(text: Cow<'_, str>, separator: Option<char>) -> Vec<Value<'_>> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let Some(separator) = separator else { return vec![Value::Text(text)] };
    let part = |part: &str| Value::Text(Cow::Owned(part.trim().to_string()));
    match separator {
        // Any run of spaces is one.
        ' ' => text.split_whitespace().map(part).collect(),
        other => text.split(other).map(part).collect(),
    }
}

/// How the lists of a file are to be read, if it has one row per result page, by its first records.
pub(super) fn find_lists(
    path: &Path,
    layout: &Layout,
    doc_column: &str,
    options: &ReadOptions,
    sample: &[impl Record],
) -> Result<Option<(Lists, String)>> {
    let is_shown = |record: &&_| layout.events.as_ref().is_none_or(|events| events.kind(*record) == Ok(Kind::Shown));
    let docs: Vec<Value<'_>> = sample.iter().filter(is_shown).map(|record| record.value(layout.doc)).collect();
    let is_text = !docs.iter().any(|doc| matches!(doc, Value::List(_)));
    let is_json = |doc: &Value<'_>| matches!(doc, Value::Text(text) if parse_list(text).is_some());
    let is_said = options.list_separator.is_some() || options.clicks.is_some() || is_plural(doc_column);
    if is_text && !is_said && !docs.first().is_some_and(is_json) {
        return Ok(None);
    }
    let texts = docs.iter().filter(|doc| !is_json(doc));
    let separator = options.list_separator.or_else(|| guess_separator(texts));
    let has_clicks = layout.click_when.is_none() && layout.events.is_none();
    let clicks = match options.clicks {
        Some(clicks) => clicks,
        None if has_clicks => guess_clicks(path, layout, separator, sample)?,
        None => ClickList::Flags,
    };
    let between = separator.map_or(String::new(), |separator| format!(" separated by '{separator}'"));
    let meaning = match (clicks, &layout.click_when, &layout.events) {
        (.., Some(_)) => "clicks are events of their own".to_string(),
        (_, Some(when), _) => format!("a document is clicked when {when}"),
        (ClickList::Flags, ..) => "clicks are 0 or 1 for each document".to_string(),
        (ClickList::Docs, ..) => "clicks are the documents that were clicked".to_string(),
        (ClickList::Positions, ..) => "clicks are the positions that were clicked".to_string(),
    };
    let note = format!("each row is a result page: {doc_column} holds lists{between}; {meaning}");
    Ok(Some((Lists { separator, clicks }, note)))
}

fn guess_separator<'a>(docs: impl Iterator<Item = &'a Value<'a>> + Clone) -> Option<char> {
    let has = |doc: &Value<'_>, separator| matches!(doc, Value::Text(text) if text.trim().contains(separator));
    SEPARATORS.into_iter().find(|&separator| docs.clone().any(|doc| has(doc, separator)))
}

/// What clicks can only be: the one meaning under which most of the first records make sense.
fn guess_clicks(path: &Path, layout: &Layout, separator: Option<char>, sample: &[impl Record]) -> Result<ClickList> {
    let mut fits = ClickList::ALL.map(|kind| (0u64, kind));
    for record in sample {
        let docs = list(record.value(layout.doc), separator);
        let clicks = list(record.value(layout.click), separator);
        let is_flags = clicks.iter().any(|click| matches!(click, Value::Bool(_)));
        let positions = layout.position.map_or_else(
            || Ok((1..=docs.len() as u32).collect()),
            |column| positions(&list(record.value(column), separator), docs.len()),
        );
        let Ok(positions) = positions else { continue };
        // A page without clicks says nothing about ids and positions.
        for (count, kind) in fits.iter_mut().filter(|(_, kind)| *kind == ClickList::Flags || !clicks.is_empty()) {
            let can_be = (!is_flags || *kind == ClickList::Flags) && has_no_repeats(*kind, &clicks);
            *count += u64::from(can_be && clicks_of(*kind, &clicks, &docs, &positions).is_ok());
        }
    }
    let most = fits.iter().map(|&(count, _)| count).max().unwrap_or(0);
    let best: Vec<ClickList> = fits.iter().filter(|&&(count, _)| count == most).map(|&(_, kind)| kind).collect();
    match best[..] {
        [kind] => Ok(kind),
        _ => Err(Error::input(
            path,
            format!(
                "holds lists of clicks that could be {}; say which with `clicks` flags, `clicks` docs or `clicks` positions",
                best.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
            ),
        )),
    }
}

/// A list of what was clicked has nothing twice, unlike one of flags.
fn has_no_repeats(kind: ClickList, clicks: &[Value<'_>]) -> bool {
    let mut seen = HashSet::new();
    kind == ClickList::Flags || clicks.iter().all(|click| click.id_text().is_none_or(|text| seen.insert(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Texts(Vec<&'static str>);

    impl Record for Texts {
        fn value(&self, column: usize) -> Value<'_> {
            Value::Text(self.0[column].into())
        }
        fn place(&self) -> u64 {
            1
        }
        fn raw(&self) -> String {
            self.0.join(",")
        }
    }

    fn layout(position: Option<usize>) -> Layout {
        Layout { doc: 0, click: 1, position, ..Layout::default() }
    }

    fn decide(rows: &[[&'static str; 2]]) -> Result<Option<Lists>> {
        let sample: Vec<Texts> = rows.iter().map(|row| Texts(row.to_vec())).collect();
        let found = find_lists(Path::new("c.csv"), &layout(None), "docs", &ReadOptions::new(), &sample)?;
        Ok(found.map(|(lists, _)| lists))
    }

    #[test]
    fn meanings_of_clicks_are_found_where_only_one_is_possible() {
        let found = |rows: &[[&'static str; 2]]| decide(rows).unwrap().unwrap();
        assert_eq!(found(&[["a|b|c", "0|1|0"]]), Lists { separator: Some('|'), clicks: ClickList::Flags });
        assert_eq!(found(&[["a b", "b"], ["a b", ""]]).clicks, ClickList::Docs);
        assert_eq!(found(&[["a;b;c", "3"]]).clicks, ClickList::Positions);
        assert_eq!(found(&[["[\"a\",\"b\"]", "[2]"]]), Lists { separator: None, clicks: ClickList::Positions });
        assert_eq!(found(&[["7,8", "8"]]).clicks, ClickList::Docs);
        let error = decide(&[["2|1|3", "3|2"]]).unwrap_err().to_string();
        assert!(error.contains("could be docs or positions; say which with `clicks`"), "{error}");
    }

    #[test]
    fn one_document_per_row_is_no_list() {
        let sample = [Texts(vec!["a|b", "1"])];
        let found = find_lists(Path::new("c.csv"), &layout(None), "doc", &ReadOptions::new(), &sample).unwrap();
        assert_eq!(found, None);
    }

    #[test]
    fn lists_that_do_not_fit_are_faults() {
        let lists = Lists { separator: Some('|'), clicks: ClickList::Flags };
        let fault = |record: Texts, clicks, position| {
            let outcome = Page::read(&layout(position), &Lists { clicks, ..lists }, &record);
            outcome.err().map(|fault| fault.finding).unwrap_or_default()
        };
        let flags = ClickList::Flags;
        assert!(fault(Texts(vec!["a|b", "0"]), flags, None).starts_with("has 2 documents and 1 clicks"));
        assert!(fault(Texts(vec!["a|b", "0|1", "1"]), flags, Some(2)).starts_with("has 2 documents and 1 positions"));
        assert!(fault(Texts(vec!["", ""]), flags, None).starts_with("the list of documents is empty"));
        assert!(fault(Texts(vec!["a|", "0|1"]), flags, None).starts_with("doc is empty"));
        assert!(
            fault(Texts(vec!["a|b", "c"]), ClickList::Docs, None).starts_with("c was clicked, but the page does not")
        );
        assert_eq!(fault(Texts(vec!["a|b", "b|a"]), ClickList::Docs, None), "");
    }
}
