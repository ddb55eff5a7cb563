//! The users of a log: a folder of counts enters, their ids and sessions leave.

use std::path::Path;

use super::cluster::Cluster;
use super::copy::for_each_batch;
use crate::Result;
use crate::files::table::FileType;
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
}
