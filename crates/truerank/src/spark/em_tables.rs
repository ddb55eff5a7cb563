//! The tables of EM on a cluster: each step reads Parquet that the step before wrote, so that plans do not grow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cluster::{Cluster, Row};
use super::statements::{double, number};
use super::users::{LogUsers, SCRATCH};
use crate::files::table::TableWriter;
use crate::ids::Ids;
use crate::propensity::Evidence;
use crate::propensity::em::MARGIN;
use crate::{Error, Result};
use arrow_array::{Float64Array, Int64Array};
use arrow_schema::{DataType, Field};

const SQL: &str = include_str!("em.sql");
/// The columns of θ and γ.
const THETA: &str = "slot BIGINT, theta DOUBLE, clicks DOUBLE";
const GAMMA: &str = "document BIGINT, clicks DOUBLE, shown DOUBLE, gamma DOUBLE, last DOUBLE, second_last DOUBLE";
/// No step reads a table that is older by so many: a cycle of SQUAREM makes seven.
const KEPT: u64 = 12;

/// The sums of each slot that no iteration changes.
pub(super) struct Slots {
    pub positions: usize,
    pub shown: Vec<f64>,
    pub clicks: Vec<f64>,
}

impl Slots {
    pub fn impressions(&self) -> f64 {
        self.shown.iter().sum()
    }

    pub fn evidence(&self) -> Evidence {
        let whole = |values: &[f64]| values.iter().map(|value| *value as u64).collect();
        Evidence { impressions: whole(&self.shown), clicks: whole(&self.clicks), standard_errors: Vec::new() }
    }

    pub fn evidence_of_positions(&self) -> Evidence {
        let sum = |values: &[f64]| {
            let mut sums = vec![0; self.positions];
            values.iter().enumerate().for_each(|(slot, value)| sums[slot % self.positions] += *value as u64);
            sums
        };
        Evidence { impressions: sum(&self.shown), clicks: sum(&self.clicks), standard_errors: Vec::new() }
    }
}

/// The tables of one estimation.
pub(super) struct Tables<'a> {
    cluster: &'a Cluster,
    scratch: &'a Path,
    positions: usize,
    /// The users, sorted.
    pub users: Ids,
    /// n(u) of each.
    pub sessions: Vec<f64>,
    /// The number of the last table.
    last: u64,
}

impl<'a> Tables<'a> {
    /// Prepares the cells of a folder of counts.
    pub fn make(cluster: &'a Cluster, counts: &Path, scratch: &'a Path, positions: usize) -> Result<Self> {
        cluster.parquet("em_cells", &counts.join("cells.parquet"))?;
        let LogUsers { ids: users, sessions } = LogUsers::read_and_number(cluster, counts, scratch, "em_users")?;
        let sessions = sessions.into_iter().map(|sessions| sessions as f64).collect();
        let tables = Tables { cluster, scratch, positions, users, sessions, last: 0 };
        tables.materialise("documents", &statement("documents", &[]))?;
        tables.materialise("entries", &statement("entries", &[("positions", positions.to_string())]))?;
        Ok(tables)
    }

    /// The sums of the slots.
    pub fn slots(&self) -> Result<Slots> {
        let count = self.users.len() * self.positions;
        let mut slots = Slots { positions: self.positions, shown: vec![0.0; count], clicks: vec![0.0; count] };
        for row in self.cluster.rows(&statement("slots", &[]))? {
            let slot = self.slot(&row, count)?;
            let (clicks, misses) = (number(&row, 1)?, number(&row, 2)?);
            slots.clicks[slot] = clicks;
            slots.shown[slot] = clicks + misses;
        }
        Ok(slots)
    }

    fn slot(&self, row: &Row, count: usize) -> Result<usize> {
        let slot = row.get(0).and_then(|value| value.as_i64()).and_then(|slot| usize::try_from(slot).ok());
        slot.filter(|slot| *slot < count).ok_or_else(|| Error::parameter("Spark gave a slot that there is not"))
    }

    /// Pairs of slots that a clicked document compares.
    pub fn links(&mut self, slots: &Slots) -> Result<Vec<(u32, u32)>> {
        self.set_theta(&vec![1.0; slots.shown.len()], slots)?;
        let rows = self.cluster.rows(&statement("links", &[]))?;
        let slot = |row: &Row, at: usize| row.get(at).and_then(|v| v.as_i64()).map_or(0, |slot| slot as u32);
        Ok(rows.iter().map(|row| (slot(row, 0), slot(row, 1))).collect())
    }

    /// Makes the first table of γ.
    pub fn start(&mut self, gamma: f64) -> Result<u64> {
        self.write_gamma(&statement("start", &[("gamma", double(gamma))]))
    }

    /// Gives θ to the cluster.
    pub fn set_theta(&mut self, theta: &[f64], slots: &Slots) -> Result<()> {
        self.last += 1;
        let path = self.scratch.join(format!("theta-{}.parquet", self.last));
        let fields = vec![
            Field::new("slot", DataType::Int64, false),
            Field::new("theta", DataType::Float64, false),
            Field::new("clicks", DataType::Float64, false),
        ];
        let mut writer = TableWriter::create(&path, SCRATCH, fields, &[])?;
        writer.write(vec![
            Arc::new(Int64Array::from_iter_values(0..theta.len() as i64)),
            Arc::new(Float64Array::from_iter_values(theta.iter().copied())),
            Arc::new(Float64Array::from_iter_values(slots.clicks.iter().copied())),
        ])?;
        writer.finish()?;
        self.forget();
        self.cluster.parquet_as("em_theta", &path, THETA)
    }

    /// Expected examinations of each slot without a click, and the log-likelihood without the part of θ alone.
    pub fn expected(&self, gamma: u64, slots: &Slots) -> Result<(Vec<f64>, f64)> {
        self.use_gamma(gamma)?;
        let mut examined = vec![0.0; slots.shown.len()];
        let mut parts: Vec<(i64, f64)> = Vec::new();
        for row in self.cluster.rows(&statement("expected", &[("tiny", double(f64::MIN_POSITIVE))]))? {
            let at = row.get(0).and_then(|value| value.as_i64()).unwrap_or(-1);
            parts.push((at, number(&row, 2)?));
            if at >= 0 {
                examined[self.slot(&row, slots.shown.len())?] = number(&row, 1)?;
            }
        }
        // Rows come in any order; sums are taken in one.
        parts.sort_by_key(|(slot, _)| *slot);
        Ok((examined, parts.iter().map(|(_, part)| part).sum()))
    }

    /// The table of γ after a step from `gamma`.
    pub fn relevance(&mut self, gamma: u64) -> Result<u64> {
        self.use_gamma(gamma)?;
        self.write_gamma(&statement("relevance", &[("tiny", double(f64::MIN_POSITIVE))]))
    }

    /// ‖r‖² and ‖v‖² of γ, for the table two steps after x₀.
    pub fn squared_lengths(&self, gamma: u64) -> Result<(f64, f64)> {
        self.use_gamma(gamma)?;
        let rows = self.cluster.rows(&statement("lengths", &[]))?;
        let row = rows.first().ok_or_else(|| Error::parameter("Spark gave no sums"))?;
        Ok((number(row, 0)?, number(row, 1)?))
    }

    /// The table of γ after a jump, from the table two steps after x₀.
    pub fn jump(&mut self, gamma: u64, length: f64) -> Result<u64> {
        self.use_gamma(gamma)?;
        self.write_gamma(&statement("jump", &[("length", double(length)), ("margin", double(MARGIN))]))
    }

    fn write_gamma(&mut self, query: &str) -> Result<u64> {
        self.last += 1;
        self.cluster.save(query, &self.gamma_path(self.last))?;
        self.forget();
        Ok(self.last)
    }

    fn use_gamma(&self, gamma: u64) -> Result<()> {
        self.cluster.parquet_as("em_gamma", &self.gamma_path(gamma), GAMMA)
    }

    fn gamma_path(&self, number: u64) -> PathBuf {
        self.scratch.join(format!("gamma-{number}"))
    }

    /// Removes tables that no step reads again. What cannot be removed now is removed with the folder.
    fn forget(&self) {
        if let Some(old) = self.last.checked_sub(KEPT) {
            let _ = std::fs::remove_dir_all(self.gamma_path(old));
            let _ = std::fs::remove_file(self.scratch.join(format!("theta-{old}.parquet")));
        }
    }

    fn materialise(&self, name: &str, query: &str) -> Result<()> {
        let folder = self.scratch.join(name);
        self.cluster.save(query, &folder)?;
        self.cluster.parquet(&format!("em_{name}"), &folder)
    }
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
        let values = ["gamma", "tiny", "margin", "length", "positions"].map(|name| (name, "7".to_string()));
        let names = ["documents", "entries", "slots", "links", "start"];
        for name in names.into_iter().chain(["expected", "relevance", "lengths", "jump"]) {
            let query = statement(name, &values);
            assert!(query.contains("SELECT") && !query.contains(['{', '}', '@']), "{name}: {query}");
        }
    }
}
