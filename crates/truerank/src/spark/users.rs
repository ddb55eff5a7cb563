//! The users of a log: a folder of counts enters, their ids and sessions leave.

use std::path::Path;
use std::sync::Arc;

use arrow_array::Int64Array;
use arrow_schema::{DataType, Field};

use super::cluster::Cluster;
use super::copy::for_each_batch;
use crate::Result;
use crate::files::table::{FileType, TableWriter, ids_array, ids_field};
use crate::ids::{Ids, Interner};

/// What is written for the cluster to read, and removed in the end.
pub(super) const SCRATCH: FileType = FileType { name: "truerank/scratch", version: 1 };

/// Users, sorted, with n(u) of each.
pub(super) struct LogUsers {
    pub ids: Ids,
    pub sessions: Vec<u64>,
}

impl LogUsers {
    /// Has the cluster sum the sessions of a folder of counts.
    pub fn read(cluster: &Cluster, counts: &Path, scratch: &Path) -> Result<Self> {
        cluster.parquet("truerank_counted_sessions", &counts.join("sessions.parquet"))?;
        let counted = scratch.join("sessions");
        let query = "SELECT `user`, SUM(sessions) AS sessions FROM truerank_counted_sessions GROUP BY `user`";
        cluster.save(query, &counted)?;
        let (mut users, mut found) = (Interner::default(), Vec::new());
        for_each_batch(&counted, |columns| {
            columns.ids("user", &mut users)?;
            found.extend(columns.counts("sessions")?);
            Ok(())
        })?;
        let (ids, numbers) = users.into_sorted();
        let mut sessions = vec![0; ids.len()];
        numbers.iter().zip(found).for_each(|(number, count)| sessions[*number as usize] = count);
        Ok(LogUsers { ids, sessions })
    }

    /// The same, and gives their numbers to the cluster, as the columns `user` and `number` of this name.
    pub fn read_and_number(cluster: &Cluster, counts: &Path, scratch: &Path, name: &str) -> Result<Self> {
        let users = Self::read(cluster, counts, scratch)?;
        let path = scratch.join("users.parquet");
        let fields = vec![ids_field("user", &users.ids), Field::new("number", DataType::Int64, false)];
        let mut writer = TableWriter::create(&path, SCRATCH, fields, &[])?;
        let numbers = Int64Array::from_iter_values(0..users.ids.len() as i64);
        writer.write(vec![ids_array(&users.ids, 0..users.ids.len()), Arc::new(numbers)])?;
        writer.finish()?;
        cluster.parquet(name, &path)?;
        Ok(users)
    }
}
