//! Relevance as a table of labels, for whoever has the features elsewhere, such as on a cluster: weights enter, a row for each
//! weighed document leaves: `query`, `doc`, `label`, `weight` (how much the label is to count), `impressions`, `clicks`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Float64Array, Int64Array};
use arrow_schema::{DataType, Field};

use super::Export;
use super::labels::{LabelSummary, Labels, reliability, write_text};
use crate::Result;
use crate::files::table::{FileType, TableWriter, ids_array, ids_field};
use crate::log::push_field;
use crate::relevance::{Relevance, Weight};

const LABELS: FileType = FileType { name: "truerank/labels", version: 1 };

/// How many rows are made into columns at a time.
const ROWS: usize = 1 << 16;

/// As CSV.
pub(super) fn write_csv(relevance: &Relevance, options: &Export, path: &Path) -> Result<LabelSummary> {
    let labels = options.labels_of_table()?;
    let mut text = b"query,doc,label,weight,impressions,clicks\n".to_vec();
    let learned = labels.learned(relevance);
    for (found, &learned) in relevance.weights.iter().zip(&learned) {
        push_field(&mut text, &relevance.queries.name(found.query as usize), b',');
        text.push(b',');
        push_field(&mut text, &relevance.docs.name(found.doc as usize), b',');
        let (label, weight) = (labels.label(learned), reliability(found));
        text.extend_from_slice(format!(",{label},{weight},{},{}\n", found.impressions, found.clicks).as_bytes());
    }
    write_text(path, std::str::from_utf8(&text).unwrap_or_default())?;
    Ok(summary(&labels, relevance, &learned))
}

/// As Parquet, with ids of the type that the log has.
pub(super) fn write_parquet(relevance: &Relevance, options: &Export, path: &Path) -> Result<LabelSummary> {
    let labels = options.labels_of_table()?;
    let field = |name: &str, data_type| Field::new(name, data_type, false);
    let fields = vec![
        ids_field("query", &relevance.queries),
        ids_field("doc", &relevance.docs),
        field("label", DataType::Float64),
        field("weight", DataType::Float64),
        field("impressions", DataType::Int64),
        field("clicks", DataType::Int64),
    ];
    let mut table = TableWriter::create(path, LABELS, fields, &[])?;
    let learned = labels.learned(relevance);
    for (some, learned) in relevance.weights.chunks(ROWS).zip(learned.chunks(ROWS)) {
        let counts = |count: fn(&Weight) -> u64| {
            Arc::new(Int64Array::from_iter_values(some.iter().map(|found| count(found) as i64)))
        };
        table.write(vec![
            ids_array(&relevance.queries, some.iter().map(|found| found.query as usize)),
            ids_array(&relevance.docs, some.iter().map(|found| found.doc as usize)),
            Arc::new(Float64Array::from_iter_values(learned.iter().map(|learned| labels.label(*learned)))),
            Arc::new(Float64Array::from_iter_values(some.iter().map(reliability))),
            counts(|found| found.impressions),
            counts(|found| found.clicks),
        ])?;
    }
    table.finish()?;
    Ok(summary(&labels, relevance, &learned))
}

fn summary(labels: &Labels, relevance: &Relevance, learned: &[f64]) -> LabelSummary {
    let queries = relevance.weights.chunk_by(|a, b| a.query == b.query).count();
    let cut = labels.cut(learned.iter().copied());
    LabelSummary { queries, documents: relevance.weights.len(), cut, ..LabelSummary::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::table::TableReader;
    use crate::ids::Ids;
    use crate::relevance::{Correction, PriorKind};

    /// Two documents, the first of which was clicked; half of what is believed of them is a prior.
    fn relevance() -> Relevance {
        let weight = |doc, weight, clicks| {
            let (impressions, exposure, divisor, variance) = (8, 5.0, 10.0, 0.1);
            Weight { query: 0, doc, weight, impressions, clicks, exposure, divisor, variance }
        };
        Relevance {
            queries: Ids::Integers(vec![7]),
            docs: Ids::Integers(vec![3, 4]),
            weights: vec![weight(0, 0.6, 4), weight(1, 0.2, 0)],
            correction: Correction { prior: PriorKind::Model, shrink: Some(5.0), ..Correction::default() },
            ..Relevance::default()
        }
    }

    #[test]
    fn csv_and_parquet_are_the_same_table() {
        let folder = tempfile::tempdir().unwrap();
        let (csv, parquet) = (folder.path().join("labels.csv"), folder.path().join("labels.parquet"));
        let summary = write_csv(&relevance(), &Export::new(), &csv).unwrap();
        assert_eq!(summary, write_parquet(&relevance(), &Export::new(), &parquet).unwrap());
        assert_eq!((summary.queries, summary.documents), (1, 2));
        let text = std::fs::read_to_string(&csv).unwrap();
        assert_eq!(text, "query,doc,label,weight,impressions,clicks\n7,3,0.6,0.5,8,4\n7,4,0.2,0.5,8,0\n");
        let read = |columns: &crate::files::table::Columns<'_>| {
            assert_eq!((columns.integers("query")?, columns.integers("doc")?), (vec![7, 7], vec![3, 4]));
            assert_eq!((columns.floats("label")?, columns.floats("weight")?), (vec![0.6, 0.2], vec![0.5, 0.5]));
            assert_eq!((columns.counts("impressions")?, columns.counts("clicks")?), (vec![8, 8], vec![4, 0]));
            Ok(())
        };
        TableReader::open_as(&parquet, LABELS).unwrap().for_each(read).unwrap();
    }

    #[test]
    fn features_say_how_much_of_the_prior_labels_have() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        write_csv(&relevance(), &Export::new().features(136), &path).unwrap();
        let expected = relevance().for_ranker(136);
        assert!(expected[0] < 0.6 && expected[1] < 0.2);
        let text = std::fs::read_to_string(&path).unwrap();
        let label = |line: usize| text.lines().nth(line).unwrap().split(',').nth(2).unwrap().parse::<f64>().unwrap();
        assert_eq!([label(1), label(2)], [expected[0], expected[1]]);
    }
}
