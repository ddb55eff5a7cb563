//! Relevance weights as Parquet: what other trainers read.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, UInt64Array};
use arrow_schema::{DataType, Field};

use super::{Clipped, Correction, Relevance, Weight};
use crate::files::table::{FileType, TableReader, TableWriter, ids_array, ids_field};
use crate::ids::{Ids, Interner};
use crate::{Error, Result};

const FILE_TYPE: FileType = FileType { name: "truerank/relevance", version: 1 };

/// The estimator of a file that does not name it.
const UNKNOWN: &str = "unknown";

/// Rows that are made into columns at a time.
const ROWS: usize = 1 << 16;

impl Relevance {
    /// Writes the columns `query, doc, weight, impressions, clicks, exposure, divisor, variance`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let field = |name: &str, data_type| Field::new(name, data_type, false);
        let fields = vec![
            ids_field("query", &self.queries),
            ids_field("doc", &self.docs),
            field("weight", DataType::Float64),
            field("impressions", DataType::UInt64),
            field("clicks", DataType::UInt64),
            field("exposure", DataType::Float64),
            field("divisor", DataType::Float64),
            field("variance", DataType::Float64),
        ];
        let mut notes = vec![("estimator", self.estimator.clone())];
        notes.extend(self.beta.map(|beta| ("beta", beta.to_string())));
        notes.extend(self.correction.notes());
        if !self.by_position.is_empty() {
            notes.push(("prior_by_position", join(&self.by_position)));
        }
        let mut table = TableWriter::create(path, FILE_TYPE, fields, &notes)?;
        self.weights.chunks(ROWS).try_for_each(|weights| table.write(self.columns(weights)))?;
        table.finish()
    }

    fn columns(&self, weights: &[Weight]) -> Vec<ArrayRef> {
        let floats = |value: fn(&Weight) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(weights.iter().map(value)))
        };
        let counts = |value: fn(&Weight) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(weights.iter().map(value)))
        };
        vec![
            ids_array(&self.queries, weights.iter().map(|w| w.query as usize)),
            ids_array(&self.docs, weights.iter().map(|w| w.doc as usize)),
            floats(|w| w.weight),
            counts(|w| w.impressions),
            counts(|w| w.clicks),
            floats(|w| w.exposure),
            floats(|w| w.divisor),
            floats(|w| w.variance),
        ]
    }

    /// Reads what [`write`](Relevance::write) wrote, or what another program made of it: metadata may be missing, and with it
    /// what is known of the estimator. Columns may not.
    pub fn read(path: &Path) -> Result<Self> {
        let table = TableReader::open_as_or_plain(path, FILE_TYPE)?;
        let estimator = table.note("estimator").unwrap_or_else(|| UNKNOWN.to_string());
        let beta = table.note("beta").and_then(|text| text.parse().ok());
        let correction = Correction::from_notes(|key| table.note(key));
        let by_position = split(&table.note("prior_by_position").unwrap_or_default()).ok_or_else(|| {
            let rule = "but has a value for each position, between 0 and 1; estimate relevance again";
            Error::input(path, format!("its prior by position is damaged, {rule}"))
        })?;
        let (mut queries, mut docs, mut weights) = (Interner::default(), Interner::default(), Vec::new());
        table.for_each(|columns| {
            let query = columns.ids("query", &mut queries)?;
            let doc = columns.ids("doc", &mut docs)?;
            let (weight, exposure, variance) =
                (columns.floats("weight")?, columns.floats("exposure")?, columns.floats("variance")?);
            let divisor = columns.optional_floats("divisor")?;
            let (impressions, clicks) = (columns.counts_or_floats("impressions")?, columns.counts_or_floats("clicks")?);
            for i in 0..columns.len() {
                if !(weight[i].is_finite() && weight[i] >= 0.0) {
                    let finding = format!("weight is {}, but weights are finite and not negative", weight[i]);
                    return Err(columns.place(i).error(finding));
                }
                weights.push(Weight {
                    query: query[i],
                    doc: doc[i],
                    weight: weight[i],
                    impressions: impressions[i],
                    clicks: clicks[i],
                    exposure: exposure[i],
                    divisor: divisor.as_ref().map_or(f64::NAN, |divisor| divisor[i]),
                    variance: variance[i],
                });
            }
            Ok(())
        })?;
        let (queries, docs, weights) = sorted(path, queries, docs, weights)?;
        Ok(Relevance { estimator, beta, correction, queries, docs, by_position, weights })
    }
}

impl Correction {
    /// What the file's metadata says; nothing about weights that were not corrected.
    fn notes(&self) -> Vec<(&'static str, String)> {
        if *self == Correction::default() {
            return Vec::new();
        }
        let mut notes = vec![("prior", self.prior.to_string()), ("unpredicted", self.unpredicted.to_string())];
        notes.extend(self.mean.map(|mean| ("prior_mean", mean.to_string())));
        notes.extend(self.shrink.map(|shrink| ("shrink", shrink.to_string())));
        if let Some(clip) = self.clip {
            notes.push(("clip", clip.to_string()));
            notes.push(("clipped_documents", self.clipped.documents.to_string()));
            notes.push(("clipped_clicks", self.clipped.clicks.to_string()));
            notes.push(("clipped_exposure", self.clipped.exposure.to_string()));
        }
        notes
    }

    fn from_notes(note: impl Fn(&str) -> Option<String>) -> Self {
        let number = |key: &str| note(key).and_then(|text| text.parse::<f64>().ok());
        let count = |key: &str| note(key).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        Correction {
            prior: note("prior").and_then(|text| text.parse().ok()).unwrap_or_default(),
            mean: number("prior_mean"),
            unpredicted: count("unpredicted"),
            clip: number("clip"),
            shrink: number("shrink"),
            clipped: Clipped {
                documents: count("clipped_documents"),
                clicks: number("clipped_clicks").unwrap_or(0.0),
                exposure: number("clipped_exposure").unwrap_or(0.0),
            },
        }
    }
}

/// Numbers as one text, and back.
fn join(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

/// None where one of them is no share: those after it would move to other positions.
fn split(text: &str) -> Option<Vec<f64>> {
    let value = |text: &str| text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    text.split(' ').filter(|text| !text.is_empty()).map(value).collect()
}

/// Ids in their natural order, and weights in that of their ids.
fn sorted(path: &Path, queries: Interner, docs: Interner, mut weights: Vec<Weight>) -> Result<(Ids, Ids, Vec<Weight>)> {
    let ((queries, query_number), (docs, doc_number)) = (queries.into_sorted(), docs.into_sorted());
    for weight in &mut weights {
        weight.query = query_number[weight.query as usize];
        weight.doc = doc_number[weight.doc as usize];
    }
    // Ours are sorted already, and sorting takes room.
    if !weights.is_sorted_by_key(|weight| (weight.query, weight.doc)) {
        weights.sort_by_key(|weight| (weight.query, weight.doc));
    }
    let twice = weights.windows(2).find(|pair| (pair[0].query, pair[0].doc) == (pair[1].query, pair[1].doc));
    if let Some(pair) = twice {
        let (query, doc) = (queries.name(pair[0].query as usize), docs.name(pair[0].doc as usize));
        return Err(Error::input(path, format!("document {doc} of query {query} has two weights, but needs one")));
    }
    Ok((queries, docs, weights))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Texts;
    use crate::relevance::PriorKind;

    #[test]
    fn what_is_written_is_read_back() {
        let mut queries = Texts::default();
        ["a b", "Ä,\"x\""].into_iter().for_each(|t| queries.push(t));
        let weight = |query, doc| Weight {
            query,
            doc,
            weight: 0.1 + 0.2,
            impressions: 3,
            clicks: 1,
            exposure: 1.5,
            divisor: 2.5,
            variance: 0.25,
        };
        let relevance = Relevance {
            estimator: "user-aware-smoothed".into(),
            beta: Some(3.3),
            correction: Correction {
                prior: PriorKind::Model,
                mean: Some(0.1),
                unpredicted: 2,
                clip: Some(0.05),
                shrink: Some(1.0 / 3.0),
                clipped: Clipped { documents: 7, clicks: 0.2, exposure: 0.01 },
            },
            queries: Ids::Texts(queries),
            docs: Ids::Integers(vec![-1, 2, 30]),
            by_position: vec![0.5, 1.0 / 3.0],
            weights: vec![weight(0, 1), weight(0, 2), weight(1, 0)],
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.parquet");
        relevance.write(&path).unwrap();
        assert_eq!(Relevance::read(&path).unwrap(), relevance);
        let damaged = Relevance { by_position: vec![0.5, f64::NAN, 0.2], ..relevance };
        damaged.write(&path).unwrap();
        let message = Relevance::read(&path).unwrap_err().to_string();
        assert!(message.contains("its prior by position is damaged"), "{message}");
    }

    #[test]
    fn tables_of_other_programs_need_no_metadata_but_all_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edited.parquet");
        let texts = |values: [&str; 2]| Arc::new(arrow_array::LargeStringArray::from(values.to_vec())) as ArrayRef;
        let floats = |values: [f64; 2]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
        let write = |columns: &[(&str, ArrayRef)]| {
            let batch = arrow_array::RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
            let file = std::fs::File::create(&path).unwrap();
            let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            Relevance::read(&path)
        };
        let mut columns = vec![
            ("query", texts(["q", "q"])),
            ("doc", texts(["b", "a"])),
            ("weight", floats([0.5, 0.25])),
            ("impressions", floats([4.0, 2.0])),
            ("clicks", floats([1.0, 0.0])),
            ("exposure", floats([2.0, 1.0])),
            ("variance", floats([0.1, 0.1])),
        ];
        let relevance = write(&columns).unwrap();
        assert_eq!((relevance.estimator.as_str(), relevance.beta), (UNKNOWN, None));
        assert_eq!(
            relevance.weights.iter().map(|w| (w.weight, w.impressions)).collect::<Vec<_>>(),
            [(0.25, 2), (0.5, 4)]
        );
        columns[3].1 = floats([4.5, 2.0]);
        assert!(
            write(&columns)
                .unwrap_err()
                .to_string()
                .ends_with("impressions is 4.5, but counts are whole numbers from 0")
        );
        columns.remove(3);
        assert!(write(&columns).unwrap_err().to_string().contains("has no column 'impressions'"));
        let other = FileType { name: "truerank/cells", version: 1 };
        let fields = vec![Field::new("weight", DataType::Float64, false)];
        TableWriter::create(&path, other, fields, &[]).unwrap().finish().unwrap();
        assert!(Relevance::read(&path).unwrap_err().to_string().contains("is a truerank/cells file"));
    }
}
