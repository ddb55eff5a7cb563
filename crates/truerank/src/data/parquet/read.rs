//! Reads a Parquet table of documents into a data set.

use std::collections::HashSet;
use std::path::Path;

use super::features::FeatureColumns;
use super::{DATASET, DOC, GRADE, QUERY};
use crate::data::{Dataset, DatasetBuilder, ReadOptions};
use crate::files::table::{Columns, TableReader};
use crate::ids::Interner;
use crate::{Error, Result};

/// Reads a Parquet table with a row per document.
///
/// - `query`: whole numbers or text; rows of a query are consecutive.
/// - `doc`: whole numbers or text, unique within a query; without this column documents are numbered from 1 within
///   their query.
/// - `grade`: whole numbers from 0 to [`ReadOptions::max_grade`]; without this column the data set has no grades.
/// - `f1`, `f2`, … with numbers, or one column `features` with lists of numbers, all of the same length; null and NaN are missing.
///
/// Other columns are ignored, and the file may come from any tool.
pub fn read_parquet(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    options.check()?;
    let table = TableReader::open(path)?;
    if let Some(name) = table.note("type") {
        DATASET.check(path, Some(&name), table.note("version").and_then(|version| version.parse().ok()))?;
    }
    let columns = FeatureColumns::find(path, table.schema(), options)?;
    let has = |name: &str| table.schema().column_with_name(name).is_some();
    let mut rows = Rows::new(path, options, columns, has(DOC), has(GRADE));
    table.for_each(|batch| rows.take(batch))?;
    rows.finish()
}

/// What has been read so far.
struct Rows<'a> {
    path: &'a Path,
    options: &'a ReadOptions,
    columns: FeatureColumns,
    features: Vec<f32>,
    width: Option<usize>,
    grades: Option<Vec<u8>>,
    queries: Interner,
    query_starts: Vec<usize>,
    docs: Option<(Interner, Vec<u32>)>,
    docs_of_query: HashSet<u32>,
    row_count: usize,
}

impl<'a> Rows<'a> {
    fn new(path: &'a Path, options: &'a ReadOptions, columns: FeatureColumns, docs: bool, grades: bool) -> Self {
        Rows {
            path,
            options,
            columns,
            features: Vec::new(),
            width: None,
            grades: grades.then(Vec::new),
            queries: Interner::default(),
            query_starts: Vec::new(),
            docs: docs.then(Default::default),
            docs_of_query: HashSet::new(),
            row_count: 0,
        }
    }

    fn take(&mut self, batch: &Columns<'_>) -> Result<()> {
        let queries = batch.ids(QUERY, &mut self.queries)?;
        let docs = match &mut self.docs {
            Some((interner, _)) => Some(batch.ids(DOC, interner)?),
            None => None,
        };
        for (row, &query) in queries.iter().enumerate() {
            let is_new = self.take_query(batch, row, query)?;
            if let Some(docs) = &docs {
                self.take_doc(batch, row, docs[row], is_new)?;
            }
        }
        self.take_grades(batch)?;
        self.columns.append(self.path, batch, &mut self.width, &mut self.features)?;
        self.row_count += batch.len();
        Ok(())
    }

    /// Whether the row starts a query. Queries are numbered in order of appearance, so a row belongs to the last
    /// query or to the next one.
    fn take_query(&mut self, batch: &Columns<'_>, row: usize, query: u32) -> Result<bool> {
        let query = query as usize;
        if query == self.query_starts.len() {
            self.query_starts.push(self.row_count + row);
            return Ok(true);
        }
        if query + 1 == self.query_starts.len() {
            return Ok(false);
        }
        let (name, start) = (self.queries.ids().name(query), self.query_starts[query] + 1);
        let finding =
            format!("query {name} started at row {start} and comes again here after other queries; sort by query");
        Err(batch.place(row).error(finding))
    }

    fn take_doc(&mut self, batch: &Columns<'_>, row: usize, doc: u32, starts_query: bool) -> Result<()> {
        let Some((interner, numbers)) = &mut self.docs else { return Ok(()) };
        if starts_query {
            self.docs_of_query.clear();
        }
        if !self.docs_of_query.insert(doc) {
            let name = interner.ids().name(doc as usize);
            let finding = format!("document {name} has been in this query before, but a query has each document once");
            return Err(batch.place(row).error(finding));
        }
        numbers.push(doc);
        Ok(())
    }

    fn take_grades(&mut self, batch: &Columns<'_>) -> Result<()> {
        let Some(grades) = &mut self.grades else { return Ok(()) };
        for (row, value) in batch.floats(GRADE)?.into_iter().enumerate() {
            grades.push(self.options.grade(value).map_err(|finding| batch.place(row).error(finding))?);
        }
        Ok(())
    }

    fn finish(self) -> Result<Dataset> {
        if self.row_count == 0 {
            return Err(Error::input(self.path, "holds no documents"));
        }
        let width = self.width.unwrap_or(0);
        self.options.check_width(width).map_err(|finding| Error::input(self.path, finding))?;
        let data = DatasetBuilder {
            features: self.features,
            feature_count: width,
            grades: self.grades,
            queries: self.queries.into_ids(),
            query_ends: self.query_starts.iter().skip(1).copied().chain([self.row_count]).collect(),
            docs: self.docs.map(|(interner, numbers)| interner.ids().select(numbers.iter().map(|&n| n as usize))),
        };
        Ok(data.build()?.widen(self.options.width(width)))
    }
}
