//! Features from the log itself: columns of numbers become a data set with a row for each document of a query.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::load::number;
use super::options::ReadOptions;
use super::part::LogPart;
use super::read::{Piece, for_each_rows};
use super::values::shown;
use crate::data::{Dataset, DatasetBuilder};
use crate::ids::Interner;
use crate::progress::Silent;
use crate::{Error, Result};

/// So many more features are named in a note.
const SHOWN: usize = 3;

/// Reads the columns `features` of a log as the features of its documents; see [`LogSource::features`](crate::counts::LogSource::features).
pub(crate) fn read_features(
    parts: &[LogPart],
    options: &ReadOptions,
    features: &[String],
    grade: Option<&str>,
    max_grade: u8,
) -> Result<(Dataset, Vec<String>)> {
    if features.is_empty() {
        return Err(Error::parameter("no feature is named, but a data set needs one at least"));
    }
    let mut numbers = features.to_vec();
    numbers.extend(grade.map(String::from));
    let options = options.with_numbers(numbers);
    let table = Mutex::new(Table::default());
    let reading = for_each_rows(parts, &options, &Silent, |piece| {
        table.lock().unwrap_or_else(PoisonError::into_inner).add(&piece, &options);
        Ok(())
    })?;
    reading.bad.finish()?;
    let table = table.into_inner().unwrap_or_else(PoisonError::into_inner);
    let note = table.differences(features);
    Ok((table.build(features.len(), grade, max_grade)?, Vec::from_iter(note)))
}

/// The numbers seen for each document of a query.
#[derive(Default)]
struct Table {
    queries: Interner,
    docs: Interner,
    rows: HashMap<(u32, u32), Vec<Distinct>>,
}

/// Distinct values and how often each was seen, sorted: sums in this order do not depend on that of the log.
#[derive(Default, Clone)]
struct Distinct(Vec<(f64, u64)>);

impl Distinct {
    fn add(&mut self, value: f64) {
        match self.0.binary_search_by(|(known, _)| known.total_cmp(&value)) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (value, 1)),
        }
    }

    fn mean(&self) -> f64 {
        // A value that never varies stays as it is, to the last bit.
        if let [(value, _)] = self.0[..] {
            return value;
        }
        let (sum, count) =
            self.0.iter().fold((0.0, 0), |(sum, n), &(value, count)| (sum + value * count as f64, n + count));
        sum / count as f64
    }

    fn largest(&self) -> f64 {
        self.0.last().map_or(0.0, |&(value, _)| value)
    }
}

impl Table {
    fn add(&mut self, piece: &Piece, options: &ReadOptions) {
        let rows = &piece.rows;
        let width = options.more.numbers.len();
        for row in 0..rows.len() {
            if rows.times.get(row).is_some_and(|&time| !options.is_in_range(time)) {
                continue;
            }
            let query = number(&rows.queries, row, &mut self.queries);
            let doc = number(&rows.docs, row, &mut self.docs);
            let values = self.rows.entry((query, doc)).or_insert_with(|| vec![Distinct::default(); width]);
            values.iter_mut().zip(&rows.numbers[row * width..]).for_each(|(distinct, &value)| distinct.add(value));
        }
    }

    /// Which features differ between rows of the same document and query, if any do, with an example of the first.
    fn differences(&self, features: &[String]) -> Option<String> {
        let differs = |column: usize| self.rows.iter().filter(move |(_, values)| values[column].0.len() > 1);
        let found: Vec<(usize, usize)> = (0..features.len())
            .map(|column| (column, differs(column).count()))
            .filter(|&(_, count)| count > 0)
            .collect();
        let &[(first, count), ref others @ ..] = &found[..] else { return None };
        let by_name = |&(a, _): &(&(u32, u32), _), &(b, _): &(&(u32, u32), _)| {
            let (queries, docs) = (self.queries.ids(), self.docs.ids());
            let query = queries.compare(a.0 as usize, b.0 as usize);
            query.then_with(|| docs.compare(a.1 as usize, b.1 as usize))
        };
        let (&(query, doc), values) = differs(first).min_by(by_name)?;
        let more: Vec<String> = others
            .iter()
            .take(SHOWN)
            .map(|&(column, count)| format!(", {} for {count}", shown(&features[column])))
            .collect();
        let rest = others.len().saturating_sub(SHOWN);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        Some(format!(
            "features differ between rows of the same document and query, and their means are used: {} for {count} of {} \
             documents ({} to {} for doc {} of query {}){}{rest}; what differs by user or time is no feature of a document",
            shown(&features[first]),
            self.rows.len(),
            values[first].0[0].0,
            values[first].largest(),
            shown(&self.docs.ids().name(doc as usize)),
            shown(&self.queries.ids().name(query as usize)),
            more.concat()
        ))
    }

    fn build(self, features: usize, grade: Option<&str>, max_grade: u8) -> Result<Dataset> {
        let (queries, query_numbers) = self.queries.into_sorted();
        let (docs, doc_numbers) = self.docs.into_sorted();
        let mut rows: Vec<(u32, u32, Vec<Distinct>)> = self
            .rows
            .into_iter()
            .map(|((query, doc), values)| (query_numbers[query as usize], doc_numbers[doc as usize], values))
            .collect();
        rows.sort_unstable_by_key(|&(query, doc, _)| (query, doc));
        let grades = match grade {
            Some(name) => Some(
                rows.iter()
                    .map(|(.., values)| grade_of(name, values[features].largest(), max_grade))
                    .collect::<Result<_>>()?,
            ),
            None => None,
        };
        let query_ends = rows.chunk_by(|a, b| a.0 == b.0).scan(0, |end, rows| {
            *end += rows.len();
            Some(*end)
        });
        let builder = DatasetBuilder {
            features: rows.iter().flat_map(|(.., values)| &values[..features]).map(|d| d.mean() as f32).collect(),
            feature_count: features,
            grades,
            queries,
            query_ends: query_ends.collect(),
            docs: Some(docs.select(rows.iter().map(|&(_, doc, _)| doc as usize))),
        };
        builder.build()
    }
}

fn grade_of(name: &str, value: f64, max_grade: u8) -> Result<u8> {
    let is_grade = value.fract() == 0.0 && (0.0..=f64::from(max_grade)).contains(&value);
    match is_grade {
        true => Ok(value as u8),
        false => Err(Error::parameter(format!(
            "{name} is {value}, but grades are whole numbers from 0 to {max_grade}; is it the right column?"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Ids;
    use crate::log::OnBadRow;

    fn read(rows: &[&str], grade: Option<&str>, on_bad_row: OnBadRow) -> Result<(Dataset, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.csv");
        std::fs::write(&path, format!("session,user,query,doc,position,click,score,age,label\n{}\n", rows.join("\n")))
            .unwrap();
        let options = ReadOptions::new().on_bad_row(on_bad_row);
        read_features(&[path.into()], &options, &["score".into(), "age".into()], grade, 4)
    }

    const ROWS: [&str; 5] = [
        "1,u,q,b,1,0,0.1,7,0",
        "2,u,q,b,1,0,0.2,7,1",
        "3,u,q,b,1,0,0.7,7,0",
        "1,u,q,a,2,1,5,8,2",
        "4,u,p,a,1,0,-1,9,true",
    ];

    #[test]
    fn means_and_largest_grades_do_not_depend_on_the_order_of_rows() {
        let (data, notes) = read(&ROWS, Some("label"), OnBadRow::Error).unwrap();
        let names = |ids: &Ids| (0..ids.len()).map(|i| ids.name(i).into_owned()).collect::<Vec<_>>();
        assert_eq!(
            (names(data.queries()), names(data.docs())),
            (vec!["p".into(), "q".into()], vec!["a".into(), "a".into(), "b".into()])
        );
        assert_eq!(data.features(), [-1.0, 9.0, 5.0, 8.0, ((0.1 + 0.2 + 0.7) / 3.0) as f32, 7.0]);
        assert_eq!(data.grades(), Some(&[1, 2, 1][..]));
        let mut rows = ROWS;
        rows.reverse();
        assert_eq!(read(&rows, Some("label"), OnBadRow::Error).unwrap(), (data, notes));
        assert_eq!(read(&rows, None, OnBadRow::Error).unwrap().0.grades(), None);
    }

    #[test]
    fn features_that_differ_for_a_document_are_noted() {
        let notes = |rows: &[&str]| read(rows, None, OnBadRow::Error).unwrap().1;
        let expected = "features differ between rows of the same document and query, and their means are used: score for 1 of \
                        3 documents (0.1 to 0.7 for doc b of query q); what differs by user or time is no feature of a document";
        assert_eq!(notes(&ROWS), [expected]);
        assert!(notes(&[&ROWS[..1], &ROWS[3..]].concat()).is_empty());
        let both = notes(&[&ROWS[..], &["5,v,p,a,1,0,-1,8,0"]].concat());
        assert!(both[0].contains("(0.1 to 0.7 for doc b of query q), age for 1; what"), "{both:?}");
    }

    #[test]
    fn missing_numbers_and_wrong_grades_are_named() {
        let error =
            |row: &str| read(&["1,u,q,a,1,0,1,1,1", row], Some("label"), OnBadRow::Error).unwrap_err().to_string();
        assert!(error("1,u,q,b,2,0,,1,1").ends_with("c.csv:3: score is empty, but should be a finite number"));
        assert!(error("1,u,q,b,2,0,1,NaN,1").ends_with("c.csv:3: age is NaN, but should be a finite number"));
        assert!(error("1,u,q,b,2,0,1,1,7").starts_with("label is 7, but grades are whole numbers from 0 to 4"));
        let (data, _) = read(&["1,u,q,a,1,0,1,1,1", "1,u,q,b,2,0,,1,1"], None, OnBadRow::Skip).unwrap();
        assert_eq!(data.len(), 1);
    }
}
