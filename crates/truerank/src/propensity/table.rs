//! Propensities as Parquet, for logs of many users: one row per user, and in the metadata all that is not a user's.
//!
//! Columns are `user`, `cluster` (from 1), `propensity`, `standard_errors`, `impressions` and `clicks`, the last four being lists with a value
//! for each position; where it is not known, a column is left out. Without `propensity`, users have that of their cluster: the
//! compact form. Rows are written and read in blocks.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field};

use super::{Evidence, Propensities};
use crate::files::table::{Columns, FileType, TableReader, TableWriter, floats, ids_array, ids_field, integers};
use crate::ids::Interner;
use crate::{Error, Result};

const FILE_TYPE: FileType = FileType { name: "truerank/propensities", version: 1 };

/// The key of what is not a user's, as JSON.
const HEAD: &str = "propensities";

/// Rows that are handed on at once.
const ROWS: usize = 1 << 13;

/// Rows of a row group: about 20 MB with ten positions.
const GROUP: usize = 1 << 17;

/// Users of a file, and what stands behind them.
#[derive(Default)]
pub(super) struct Users {
    ids: Interner,
    pub by_user: Vec<f64>,
    pub evidence: Evidence,
    pub clusters: Vec<u32>,
}

/// What rows are checked against.
pub(super) struct Head<'h> {
    pub positions: usize,
    /// θ of the clusters, one row of positions after another.
    pub clusters: &'h [f64],
}

impl Propensities {
    /// Writes users as rows; `head` is what is not theirs.
    pub(super) fn write_table(&self, path: &Path, head: String) -> Result<()> {
        let mut table = TableWriter::create(path, FILE_TYPE, self.fields(), &[(HEAD, head)])?;
        let users = self.users.len();
        for start in (0..users).step_by(ROWS) {
            let end = users.min(start + ROWS);
            table.write(self.columns(start, end))?;
            if end.is_multiple_of(GROUP) {
                table.end_group()?;
            }
        }
        table.finish()
    }

    fn fields(&self) -> Vec<Field> {
        let evidence = &self.details.by_user;
        let mut fields = vec![ids_field("user", &self.users)];
        fields.extend(self.details.clusters.iter().map(|_| Field::new("cluster", DataType::UInt32, false)));
        fields.push(list_field("propensity", DataType::Float64));
        let known = [
            ("standard_errors", DataType::Float64, evidence.standard_errors.is_empty()),
            ("impressions", DataType::UInt64, evidence.impressions.is_empty()),
            ("clicks", DataType::UInt64, evidence.clicks.is_empty()),
        ];
        fields.extend(known.into_iter().filter(|known| !known.2).map(|(name, of, _)| list_field(name, of)));
        fields
    }

    /// The columns of users from `start` to `end`.
    fn columns(&self, start: usize, end: usize) -> Vec<ArrayRef> {
        let (positions, evidence) = (self.positions(), &self.details.by_user);
        let slots = start * positions..end * positions;
        let mut columns = vec![ids_array(&self.users, start..end)];
        columns.extend(self.details.clusters.iter().map(|clusters| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(clusters.of_user[start..end].iter().map(|cluster| cluster + 1)))
        }));
        columns.push(lists::<Float64Type>(&self.by_user[slots.clone()], positions));
        let part = |values: &[u64]| values.get(slots.clone()).map(|values| lists::<UInt64Type>(values, positions));
        let errors = evidence.standard_errors.get(slots.clone());
        columns.extend(errors.map(|errors| lists::<Float64Type>(errors, positions)));
        columns.extend(part(&evidence.impressions));
        columns.extend(part(&evidence.clicks));
        columns
    }
}

fn item(of: DataType) -> Field {
    Field::new("item", of, false)
}

/// A column of lists.
pub(crate) fn list_field(name: &str, of: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(item(of))), false)
}

/// Lists of so many values each.
pub(crate) fn lists<T: ArrowPrimitiveType>(values: &[T::Native], length: usize) -> ArrayRef {
    let values_of = PrimitiveBuilder::<T>::with_capacity(values.len());
    let mut builder = ListBuilder::new(values_of).with_field(item(T::DATA_TYPE));
    for row in values.chunks_exact(length.max(1)) {
        builder.values().append_slice(row);
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// Opens a file; returns what is not a user's, as JSON.
pub(super) fn open(path: &Path) -> Result<(TableReader, String)> {
    let table = TableReader::open_as(path, FILE_TYPE)?;
    let head = table.note(HEAD).ok_or_else(|| {
        Error::input(path, "has no probabilities of the population in its metadata; estimate propensities again")
    })?;
    Ok((table, head))
}

impl Users {
    pub fn read(table: TableReader, head: &Head<'_>) -> Result<Self> {
        let mut users = Users::default();
        table.for_each(|columns| users.add(columns, head))?;
        Ok(users)
    }

    pub fn into_ids(self) -> crate::ids::Ids {
        self.ids.into_ids()
    }

    fn add(&mut self, columns: &Columns<'_>, head: &Head<'_>) -> Result<()> {
        let before = self.ids.ids().len();
        for (row, number) in columns.ids("user", &mut self.ids)?.into_iter().enumerate() {
            if number as usize != before + row {
                let finding = format!(
                    "user '{}' has propensities twice, but needs them once",
                    self.ids.ids().name(number as usize)
                );
                return Err(columns.place(row).error(finding));
            }
        }
        let clusters = self.add_clusters(columns, head)?;
        match list(columns, "propensity", head.positions)? {
            Some(values) => self.by_user.extend(numbers(columns, "propensity", &values)?),
            None if clusters.is_empty() => return columns.get("propensity").map(drop),
            None => {
                let row = |cluster: &u32| &head.clusters[*cluster as usize * head.positions..][..head.positions];
                self.by_user.extend(clusters.iter().flat_map(row));
            }
        }
        self.clusters.extend(clusters);
        self.add_evidence(columns, head.positions)
    }

    /// The clusters of a block, from 0; none where there are none.
    fn add_clusters(&self, columns: &Columns<'_>, head: &Head<'_>) -> Result<Vec<u32>> {
        let known = head.clusters.len() / head.positions.max(1);
        if known == 0 {
            return Ok(Vec::new());
        }
        let cluster = |(row, cluster): (usize, i64)| match usize::try_from(cluster) {
            Ok(number) if (1..=known).contains(&number) => Ok(number as u32 - 1),
            _ => {
                let finding = format!("cluster is {cluster}, but should be between 1 and {known}");
                Err(columns.place(row).error(finding))
            }
        };
        columns.integers("cluster")?.into_iter().enumerate().map(cluster).collect()
    }

    fn add_evidence(&mut self, columns: &Columns<'_>, positions: usize) -> Result<()> {
        if let Some(values) = list(columns, "standard_errors", positions)? {
            self.evidence.standard_errors.extend(numbers(columns, "standard_errors", &values)?);
        }
        for (name, counts) in [("impressions", &mut self.evidence.impressions), ("clicks", &mut self.evidence.clicks)] {
            let Some(values) = list(columns, name, positions)? else { continue };
            let found = integers(&values).ok_or_else(|| not_a_list(columns, name, "whole numbers"))?;
            for value in found {
                counts.push(u64::try_from(value).map_err(|_| not_a_list(columns, name, "whole numbers from 0"))?);
            }
        }
        Ok(())
    }
}

fn numbers(columns: &Columns<'_>, name: &str, values: &ArrayRef) -> Result<Vec<f64>> {
    floats(values).ok_or_else(|| not_a_list(columns, name, "numbers"))
}

fn not_a_list(columns: &Columns<'_>, name: &str, of: &str) -> Error {
    columns.place(0).error(format!("{name} is not a list of {of}, but should have one for each position"))
}

/// The values of all lists in a column, each of which has `length`; nothing where there is no such column.
fn list(columns: &Columns<'_>, name: &str, length: usize) -> Result<Option<ArrayRef>> {
    if !columns.has(name) {
        return Ok(None);
    }
    let Some(lists) = columns.get(name)?.as_list_opt::<i32>() else {
        return Err(not_a_list(columns, name, "numbers"));
    };
    let lengths = lists.offsets().windows(2).map(|ends| (ends[1] - ends[0]) as usize);
    if let Some((row, found)) = lengths.enumerate().find(|(_, found)| *found != length) {
        let finding = format!("{name} has {found} values, but positions is {length}");
        return Err(columns.place(row).error(finding));
    }
    let first = lists.offsets()[0] as usize;
    let values = lists.values().slice(first, lists.len() * length);
    match values.null_count() {
        0 => Ok(Some(values)),
        _ => Err(not_a_list(columns, name, "numbers, none of them missing")),
    }
}
