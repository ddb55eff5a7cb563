//! What an estimation here asks of cells on a cluster: a folder of counts enters; what all users did together leaves, and sums over
//! what each of them did.

use std::cell::Cell as Counter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use arrow_schema::Field;

use super::by_document::by_document;
use super::cluster::Cluster;
use super::copy::for_each_batch;
use super::users::{LogUsers, SCRATCH};
use crate::counts::{Cell, Counts, SessionCount};
use crate::files::table::{Columns, TableWriter, ids_array, ids_field};
use crate::ids::{Ids, Interner};
use crate::propensity::{CellsElsewhere, Evidence};
use crate::{Error, Result};

const SQL: &str = include_str!("user_sums.sql");

/// What all users together saw and clicked, as if they were one.
pub(super) fn read_together(cluster: &Cluster, counts: &Path, scratch: &Path) -> Result<Counts> {
    cluster.parquet("sums_cells", &counts.join("cells.parquet"))?;
    cluster.parquet("sums_sessions", &counts.join("sessions.parquet"))?;
    let summed = scratch.join("together");
    cluster.save(&statement("together", &[]), &summed)?;
    let found = by_document(&summed, positions, |(position, ..)| *position)?;
    let (queries, number, sessions) = read_sessions(cluster, scratch, &found.queries)?;
    let cell = |(query, doc, (position, impressions, clicks)): (u32, u32, (u32, u64, u64))| Cell {
        query: number[query as usize],
        doc,
        position,
        user: 0,
        impressions,
        clicks,
    };
    let cells = found.rows.into_iter().map(cell).collect();
    Ok(Counts { queries, docs: found.docs, users: Ids::numbered(1), cells, sessions, ..Counts::default() })
}

/// Position, impressions and clicks of rows.
fn positions(columns: &Columns<'_>) -> Result<Vec<(u32, u64, u64)>> {
    let counts = columns.counts("impressions")?.into_iter().zip(columns.counts("clicks")?);
    let rows = columns.positions("position")?.into_iter().zip(counts);
    Ok(rows.map(|(position, (impressions, clicks))| (position, impressions, clicks)).collect())
}

/// All queries, the number there of each that has cells, and n(q). Thinned counts may have sessions without cells.
fn read_sessions(cluster: &Cluster, scratch: &Path, queries: &Ids) -> Result<(Ids, Vec<u32>, Vec<SessionCount>)> {
    let summed = scratch.join("sessions-of-queries");
    cluster.save(&statement("sessions", &[]), &summed)?;
    let (mut ids, mut found) = (Interner::default(), Vec::new());
    (0..queries.len()).for_each(|query| _ = ids.id(queries, query));
    for_each_batch(&summed, |columns| {
        found.extend(columns.ids("query", &mut ids)?.into_iter().zip(columns.counts("sessions")?));
        Ok(())
    })?;
    let (ids, number) = ids.into_sorted();
    let count = |(query, sessions): (u32, u64)| SessionCount { query: number[query as usize], user: 0, sessions };
    let mut sessions: Vec<SessionCount> = found.into_iter().map(count).collect();
    sessions.sort_unstable();
    Ok((ids, number, sessions))
}

/// The users of a log whose cells are on a cluster.
///
/// Questions go there as tables of numbers, answers come back as such, and both are removed once they were read.
pub(super) struct UserSums<'a> {
    cluster: &'a Cluster,
    scratch: &'a Path,
    users: LogUsers,
    /// (query, document) of each number.
    docs: Vec<(u32, u32)>,
    positions: usize,
    cells: u64,
    /// How many tables there were.
    tables: Counter<u64>,
}

impl<'a> UserSums<'a> {
    /// Numbers the cells of a folder of counts by document, user and position. `together` is what [`read_together`] read of it.
    pub fn make(cluster: &'a Cluster, counts: &Path, scratch: &'a Path, together: &Counts) -> Result<Self> {
        let pair = |of_doc: &[Cell]| (of_doc[0].query, of_doc[0].doc);
        let docs = together.cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc)).map(pair).collect();
        let users = LogUsers::read_and_number(cluster, counts, scratch, "sums_users")?;
        let positions = together.max_position() as usize;
        let mut sums = UserSums { cluster, scratch, users, docs, positions, cells: 0, tables: Counter::new(0) };
        sums.write_documents(together)?;
        let entries = scratch.join("entries");
        cluster.save(&sums.statement("entries", "sums_cells"), &entries)?;
        cluster.parquet("sums_entries", &entries)?;
        let rows = cluster.rows(&statement("count", &[]))?;
        let count = rows.first().and_then(|row| row.get(0)?.as_i64());
        sums.cells = count.ok_or_else(|| Error::parameter("Spark did not say how many cells there are"))? as u64;
        Ok(sums)
    }

    fn write_documents(&self, together: &Counts) -> Result<()> {
        let path = self.scratch.join("documents.parquet");
        let number = Field::new("document", arrow_schema::DataType::Int64, false);
        let fields = vec![number, ids_field("query", &together.queries), ids_field("doc", &together.docs)];
        let mut writer = TableWriter::create(&path, SCRATCH, fields, &[])?;
        writer.write(vec![
            Arc::new(Int64Array::from_iter_values(0..self.docs.len() as i64)),
            ids_array(&together.queries, self.docs.iter().map(|(query, _)| *query as usize)),
            ids_array(&together.docs, self.docs.iter().map(|(_, doc)| *doc as usize)),
        ])?;
        writer.finish()?;
        self.cluster.parquet("sums_documents", &path)
    }

    fn statement(&self, name: &str, entries: &str) -> String {
        statement(name, &[("positions", self.positions.to_string()), ("entries", entries.to_string())])
    }

    /// The name of the entries of these documents.
    fn entries_of(&self, docs: Option<&[bool]>) -> Result<(&'static str, Option<Removed>)> {
        let Some(keep) = docs else { return Ok(("sums_entries", None)) };
        let kept = (0..).zip(keep).filter(|(_, keep)| **keep).map(|(number, _)| number);
        let given = self.give("sums_documents_kept", kept.collect(), None)?;
        self.cluster.view("sums_entries_kept", &self.statement("kept", "sums_entries"))?;
        Ok(("sums_entries_kept", Some(given)))
    }

    /// Gives numbers, and values beside them, to the cluster under this name.
    fn give(&self, name: &str, numbers: Vec<i64>, values: Option<ArrayRef>) -> Result<Removed> {
        let path = Removed(self.next_table());
        let columns = [("number", Arc::new(Int64Array::from(numbers)) as ArrayRef)].into_iter();
        let (names, arrays): (Vec<&str>, Vec<ArrayRef>) = columns.chain(values.map(|values| ("value", values))).unzip();
        let fields = names.iter().zip(&arrays).map(|(name, array)| Field::new(*name, array.data_type().clone(), false));
        let mut writer = TableWriter::create(&path.0, SCRATCH, fields.collect(), &[])?;
        writer.write(arrays)?;
        writer.finish()?;
        self.cluster.parquet(name, &path.0)?;
        Ok(path)
    }

    /// Hands over what a query gives.
    fn ask(&self, query: &str, take: impl FnMut(&Columns<'_>) -> Result<()>) -> Result<()> {
        let answer = Removed(self.next_table());
        self.cluster.save(query, &answer.0)?;
        for_each_batch(&answer.0, take)
    }

    fn next_table(&self) -> PathBuf {
        self.tables.set(self.tables.get() + 1);
        self.scratch.join(format!("table-{}", self.tables.get()))
    }

    /// The answer of so many numbers to a question by numbers.
    fn sums(&self, (question, name): (&str, &str), by: &[f64], count: usize) -> Result<Vec<f64>> {
        let values = Arc::new(Float64Array::from(by.to_vec()));
        let _given = self.give(name, (0..by.len() as i64).collect(), Some(values))?;
        let mut sums = vec![0.0; count];
        self.ask(&self.statement(question, "sums_entries"), |columns| {
            for (number, value) in columns.integers("number")?.into_iter().zip(columns.floats("value")?) {
                sums[checked(number, count)?] = value;
            }
            Ok(())
        })?;
        Ok(sums)
    }

    fn slot_count(&self) -> usize {
        self.users.ids.len() * self.positions
    }
}

impl CellsElsewhere for UserSums<'_> {
    fn users(&self) -> &Ids {
        &self.users.ids
    }

    fn sessions(&self) -> &[u64] {
        &self.users.sessions
    }

    fn positions(&self) -> usize {
        self.positions
    }

    fn count(&self) -> u64 {
        self.cells
    }

    fn grouped(&self, group_of_user: &[Option<u32>], docs: Option<&[bool]>) -> Result<Vec<Cell>> {
        let (entries, _kept) = self.entries_of(docs)?;
        let (numbers, groups): (Vec<i64>, Vec<i64>) =
            (0..).zip(group_of_user).filter_map(|(user, group)| Some((user, i64::from((*group)?)))).unzip();
        let _given = self.give("sums_groups", numbers, Some(Arc::new(Int64Array::from(groups))))?;
        let mut cells = Vec::new();
        self.ask(&self.statement("grouped", entries), |columns| {
            let places = columns.integers("document")?.into_iter().zip(columns.integers("slot")?);
            let counts = columns.counts("impressions")?.into_iter().zip(columns.counts("clicks")?);
            for ((document, slot), (impressions, clicks)) in places.zip(counts) {
                let (query, doc) = self.docs[checked(document, self.docs.len())?];
                let slot = checked(slot, self.slot_count())?;
                let (user, position) = ((slot / self.positions) as u32, (slot % self.positions) as u32 + 1);
                cells.push(Cell { query, doc, position, user, impressions, clicks });
            }
            Ok(())
        })?;
        cells.sort_unstable();
        Ok(cells)
    }

    fn slots(&self, docs: Option<&[bool]>) -> Result<Evidence> {
        let (entries, _kept) = self.entries_of(docs)?;
        let count = self.slot_count();
        let (mut impressions, mut clicks) = (vec![0; count], vec![0; count]);
        self.ask(&self.statement("slots", entries), |columns| {
            let counts = columns.counts("impressions")?.into_iter().zip(columns.counts("clicks")?);
            for (slot, (shown, clicked)) in columns.integers("slot")?.into_iter().zip(counts) {
                let slot = checked(slot, count)?;
                (impressions[slot], clicks[slot]) = (shown, clicked);
            }
            Ok(())
        })?;
        Ok(Evidence { impressions, clicks, standard_errors: Vec::new() })
    }

    fn exposed(&self, relevance: &[f64]) -> Result<Vec<f64>> {
        self.sums(("exposed", "sums_relevance"), relevance, self.slot_count())
    }

    fn exposure(&self, theta: &[f64]) -> Result<Vec<f64>> {
        self.sums(("exposure", "sums_theta"), theta, self.docs.len())
    }

    fn for_each_shown(&self, take: &mut dyn FnMut(u32, u32)) -> Result<()> {
        let (docs, slots) = (self.docs.len(), self.slot_count());
        for_each_batch(&self.scratch.join("entries"), |columns| {
            let places = columns.integers("document")?.into_iter().zip(columns.integers("slot")?);
            for ((document, slot), shown) in places.zip(columns.counts("impressions")?) {
                if shown > 0 {
                    take(checked(document, docs)? as u32, checked(slot, slots)? as u32);
                }
            }
            Ok(())
        })
    }
}

/// A table that is removed when it was read. What cannot be removed now is removed with the folder that it is in.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = if self.0.is_dir() { std::fs::remove_dir_all(&self.0) } else { std::fs::remove_file(&self.0) };
    }
}

/// A number of so many.
fn checked(number: i64, count: usize) -> Result<usize> {
    let found = usize::try_from(number).ok().filter(|number| *number < count);
    found.ok_or_else(|| Error::parameter("Spark gave a number that there is not; were the counts changed?"))
}

/// A statement of the file, with values for its placeholders.
fn statement(name: &str, values: &[(&str, String)]) -> String {
    super::statements::statement(SQL, name, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_and_filled_in() {
        let values = ["positions", "entries"].map(|name| (name, "7".to_string()));
        let names = ["together", "sessions", "count", "entries", "kept", "grouped", "slots", "exposed", "exposure"];
        for name in names {
            let query = statement(name, &values);
            assert!(query.contains("SELECT") && !query.contains(['{', '}', '@']), "{name}: {query}");
        }
    }

    #[test]
    fn numbers_that_there_are_not_are_refused() {
        assert_eq!(checked(3, 4).unwrap(), 3);
        assert!(checked(4, 4).is_err() && checked(-1, 4).is_err());
    }
}
