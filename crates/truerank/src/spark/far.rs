//! What lies where only a cluster sees it, by what the cluster says of it.

use std::path::Path;

use super::cluster::Cluster;
use super::paths::{file_url, is_far};
use crate::counts::Meta;
use crate::log::{ColumnKind, LogShape, ReadOptions};
use crate::{Error, Result};

/// Names that no log has.
const PROBE: &str = "truerank_far";

/// What a folder of counts says of itself, if it is here.
pub(super) fn near_meta(counts: &Path) -> Result<Option<Meta>> {
    if is_far(counts) { Ok(None) } else { Meta::read(counts).map(Some) }
}

/// The same by the cluster.
pub(super) fn far_meta(cluster: &Cluster, counts: &Path) -> Result<Meta> {
    let path = counts.join("meta.json");
    cluster.files(PROBE, "text", &file_url(&path)?, "", &[("wholetext", "true")])?;
    let rows = cluster.rows(&format!("SELECT value FROM {PROBE}"))?;
    let text = rows.first().and_then(|row| row.get(0)?.as_str()).unwrap_or_default();
    Meta::parse(&path, text)
}

/// Adds Parquet files to a log, by the columns that the cluster finds in them.
pub(super) fn add_files(cluster: &Cluster, log: &mut LogShape, path: &Path, options: &ReadOptions) -> Result<()> {
    cluster.parquet(PROBE, path)?;
    let mut columns = Vec::new();
    for row in cluster.rows(&format!("DESCRIBE TABLE {PROBE}"))? {
        let text = |at: usize| row.get(at).and_then(|value| value.as_str()).unwrap_or_default().to_string();
        // What follows tells of partitions, whose columns were named already.
        if text(0).is_empty() || text(0).starts_with('#') {
            break;
        }
        columns.push((text(0), kind_of(&text(1))));
    }
    match columns.is_empty() {
        true => Err(Error::input(path, "has no columns; name Parquet files, or folders of them")),
        false => log.add_far(path, columns, options),
    }
}

/// What a column holds, by Spark's name of its type.
fn kind_of(name: &str) -> ColumnKind {
    match name {
        "tinyint" | "smallint" | "int" | "bigint" => ColumnKind::Integer,
        // Whole numbers of 64 bits without a sign.
        "decimal(20,0)" => ColumnKind::Unsigned,
        "float" | "double" => ColumnKind::Float,
        "date" | "timestamp" | "timestamp_ntz" => ColumnKind::Time,
        _ => ColumnKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogFormat;

    #[test]
    fn columns_are_found_by_their_names_and_types() {
        let names = [("session", "bigint"), ("user", "string"), ("query", "string"), ("doc", "decimal(20,0)")];
        let columns = names.into_iter().chain([("rank", "int"), ("click", "boolean")]);
        let columns: Vec<_> = columns.map(|(name, kind)| (name.to_string(), kind_of(kind))).collect();
        let (mut log, path) = (LogShape::default(), Path::new("s3a://bucket/log/"));
        log.add_far(path, columns, &ReadOptions::new()).unwrap();
        let file = &log.files[0];
        assert_eq!((file.format, log.paths.len(), log.anonymous), (LogFormat::Parquet, 1, false));
        assert_eq!(file.columns[file.layout.doc], ("doc".to_string(), ColumnKind::Unsigned));
        assert_eq!(file.layout.position, Some(4));
        let csv = LogShape::check_far(Path::new("s3a://b/log.csv"), &ReadOptions::new()).unwrap_err().to_string();
        assert!(csv.starts_with("s3a://b/log.csv: lies where only the cluster sees it"), "{csv}");
        let lacking = vec![("session".to_string(), ColumnKind::Text)];
        assert!(
            log.add_far(path, lacking, &ReadOptions::new()).unwrap_err().to_string().starts_with("s3a://bucket/log/:")
        );
    }
}
