//! Sums by query and document: a folder that Spark wrote enters, rows in the order of their ids leave.

use std::path::Path;

use super::copy::for_each_batch;
use crate::files::table::Columns;
use crate::ids::{Ids, Interner};
use crate::{Error, Result};

/// Rows by document, sorted by the numbers of query and document.
pub(super) struct ByDocument<T> {
    pub queries: Ids,
    pub docs: Ids,
    pub rows: Vec<(u32, u32, T)>,
}

/// Reads what Spark wrote, a row for each query, document and `position` of a value, in any order.
pub(super) fn by_document<T>(
    folder: &Path,
    values: impl Fn(&Columns<'_>) -> Result<Vec<T>>,
    position: impl Fn(&T) -> u32,
) -> Result<ByDocument<T>> {
    let (mut queries, mut docs, mut rows) = (Interner::default(), Interner::default(), Vec::new());
    for_each_batch(folder, |columns| {
        let (query, doc) = (columns.ids("query", &mut queries)?, columns.ids("doc", &mut docs)?);
        rows.extend(query.into_iter().zip(doc).zip(values(columns)?).map(|((query, doc), value)| (query, doc, value)));
        Ok(())
    })?;
    let ((queries, query_number), (docs, doc_number)) = (queries.into_sorted(), docs.into_sorted());
    for (query, doc, _) in &mut rows {
        (*query, *doc) = (query_number[*query as usize], doc_number[*doc as usize]);
    }
    let key = |(query, doc, value): &(u32, u32, T)| (*query, *doc, position(value));
    rows.sort_unstable_by_key(key);
    match rows.windows(2).any(|two| key(&two[0]) == key(&two[1])) {
        true => Err(Error::input(folder, "has a document of a query twice, but Spark was asked to sum them")),
        false => Ok(ByDocument { queries, docs, rows }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::table::{FileType, TableWriter, ids_array, ids_field};

    #[test]
    fn rows_are_sorted_by_the_order_of_their_ids() {
        let folder = tempfile::tempdir().unwrap();
        let kind = FileType { name: "other", version: 1 };
        let ids = |values: &[i64]| Ids::Integers(values.to_vec());
        let (queries, docs) = (ids(&[10, 9]), ids(&[3, 20]));
        let write = |part: &str, rows: [(usize, usize); 2]| {
            let fields = vec![ids_field("query", &queries), ids_field("doc", &docs)];
            let mut writer = TableWriter::create(&folder.path().join(part), kind, fields, &[]).unwrap();
            let columns =
                vec![ids_array(&queries, rows.iter().map(|row| row.0)), ids_array(&docs, rows.iter().map(|row| row.1))];
            writer.write(columns).unwrap();
            writer.finish().unwrap();
        };
        let read = || by_document(folder.path(), |columns| Ok(vec![(); columns.len()]), |_| 0);
        write("part-0-a", [(0, 0), (0, 1)]);
        write("part-1-a", [(1, 1), (1, 0)]);
        let found = read().unwrap();
        assert_eq!((found.queries, found.docs), (ids(&[9, 10]), ids(&[3, 20])));
        assert_eq!(found.rows, [(0, 0, ()), (0, 1, ()), (1, 0, ()), (1, 1, ())]);
        write("part-2-a", [(0, 0), (1, 0)]);
        assert!(read().err().unwrap().to_string().contains("has a document of a query twice"));
    }
}
