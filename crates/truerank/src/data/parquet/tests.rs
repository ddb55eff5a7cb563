//! Tables out and in, ours and foreign ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, LargeListBuilder, ListBuilder};
use arrow_array::types::{Float32Type, Int16Type};
use arrow_array::{
    ArrayRef, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray,
};
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::Result;
use crate::data::svmlight::datasets;
use crate::data::{Dataset, DatasetBuilder, ReadOptions};
use crate::ids::Ids;

/// A table as any other tool may write it: no type, no version.
fn foreign(columns: Vec<(&str, ArrayRef)>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    (folder, path)
}

fn read(columns: Vec<(&str, ArrayRef)>) -> Result<Dataset> {
    let (_folder, path) = foreign(columns);
    read_parquet(&path, &ReadOptions::new())
}

fn finding(columns: Vec<(&str, ArrayRef)>) -> String {
    let error = read(columns).unwrap_err().to_string();
    error.split_once("a.parquet: ").expect("starts with the file").1.to_string()
}

fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn lists(rows: &[&[Option<f64>]]) -> ArrayRef {
    let mut builder = ListBuilder::new(Float64Builder::new());
    rows.iter().for_each(|row| builder.append_value(row.iter().copied()));
    Arc::new(builder.finish())
}

#[test]
fn foreign_tables_need_only_queries_and_features() {
    let data = read(vec![
        ("f2", integers(&[1, 2])),
        ("extra", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("query", Arc::new(StringArray::from(vec!["x", "x"]))),
        ("f1", floats(&[0.5, 0.25])),
    ])
    .unwrap();
    assert_eq!(data.features(), [0.5, 1.0, 0.25, 2.0]);
    assert_eq!(data.grades(), None);
    assert_eq!(data.docs(), &Ids::numbered(2));
    assert_eq!(data.queries().name(0), "x");
}

#[test]
fn lists_of_any_kind_hold_features() {
    let rows: [&[Option<f64>]; 2] = [&[Some(1.0), Some(2.0)], &[Some(3.0), Some(4.0)]];
    let mut large = LargeListBuilder::new(Float64Builder::new());
    rows.iter().for_each(|row| large.append_value(row.iter().copied()));
    let fixed = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        [[1.0, 2.0], [3.0, 4.0]].map(|row| Some(row.map(Some))),
        2,
    );
    for column in [lists(&rows), Arc::new(large.finish()) as ArrayRef, Arc::new(fixed)] {
        let grades: ArrayRef = Arc::new(Int32Array::from(vec![0, 4]));
        let data = read(vec![("query", integers(&[5, 6])), ("grade", grades), ("features", column)]).unwrap();
        assert_eq!(data.features(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(data.grades(), Some(&[0, 4][..]));
        assert_eq!(data.lists().collect::<Vec<_>>(), [0..1, 1..2]);
    }
}

#[test]
fn nulls_and_nan_are_missing_features() {
    let query = || ("query", integers(&[1, 1, 1]));
    let lacking = |features: Vec<f32>| {
        let (queries, query_ends) = (Ids::Integers(vec![1]), vec![3]);
        DatasetBuilder { features, feature_count: 2, queries, query_ends, ..Default::default() }.build().unwrap()
    };
    let expected = lacking(vec![1.0, f32::NAN, f32::NAN, 5.0, 3.0, f32::NAN]);
    let whole: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(5), None]));
    let single: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.0), None, Some(3.0)]));
    let data = read(vec![query(), ("f1", single), ("f2", whole)]).unwrap();
    assert_eq!(data, expected);
    assert!(data.features().iter().all(|value| !value.is_nan() || value.to_bits() == f32::NAN.to_bits()));
    let double = floats(&[f64::NAN, 5.0, -f64::NAN]);
    assert_eq!(read(vec![query(), ("f1", floats(&[1.0, f64::NAN, 3.0])), ("f2", double)]).unwrap(), expected);
    let rows = lists(&[&[Some(1.0), None], &[Some(f64::NAN), Some(5.0)], &[Some(3.0), None]]);
    assert_eq!(read(vec![query(), ("features", rows)]).unwrap(), expected);
}

#[test]
fn categories_read_as_text() {
    let docs: DictionaryArray<Int16Type> = ["a", "b", "a"].into_iter().collect();
    let data =
        read(vec![("query", integers(&[1, 1, 2])), ("doc", Arc::new(docs)), ("f1", floats(&[1.0, 2.0, 3.0]))]).unwrap();
    assert_eq!([0, 1, 2].map(|row| data.docs().name(row).into_owned()), ["a", "b", "a"]);
}

#[test]
fn bad_tables_are_refused_with_their_row() {
    let query = || ("query", integers(&[1, 2, 1]));
    let one = || ("query", integers(&[1, 1, 1]));
    let f1 = || ("f1", floats(&[1.0, 2.0, 3.0]));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(2)]));
    let cases = [
        (vec![f1()], "has no column 'query', but needs one; it has f1"),
        (vec![one()], "has no features, but needs columns f1, f2, … or a list column 'features'; it has query"),
        (
            vec![one(), f1(), ("f3", floats(&[0.0; 3]))],
            "has column f3, but no f2; feature columns need consecutive numbers",
        ),
        (
            vec![one(), ("f0", floats(&[0.0; 3]))],
            "feature index is 0, but indices start at 1; pass `zero_based` if this file counts from 0",
        ),
        (
            vec![query(), f1()],
            "row 3: query 1 started at row 1 and comes again here after other queries; sort by query",
        ),
        (
            vec![one(), ("doc", integers(&[7, 8, 7])), f1()],
            "row 3: document 7 has been in this query before, but a query has each document once",
        ),
        (
            vec![one(), ("grade", integers(&[0, 5, 0])), f1()],
            "row 2: grade is 5, but grades go from 0 to 4; pass `max_grade` 5 if that is right",
        ),
        (
            vec![one(), ("grade", floats(&[0.0, 0.5, 0.0])), f1()],
            "row 2: grade is 0.5, but grades are whole numbers from 0 to 4",
        ),
        (
            vec![one(), ("f1", floats(&[0.0, 1e300, 0.0]))],
            "row 2: feature 1 is inf, but features must be finite numbers of 32 bits, or nan where one is missing",
        ),
        (vec![("query", nulls), f1()], "row 2: query is missing, but every row needs one"),
        (
            vec![one(), ("features", floats(&[0.0; 3]))],
            "column 'features' has type Float64, but needs lists of numbers",
        ),
        (
            vec![one(), ("f1", Arc::new(StringArray::from(vec!["a"; 3])))],
            "column 'f1' has type Utf8, but needs numbers",
        ),
        (
            vec![one(), ("features", lists(&[&[Some(1.0)], &[Some(1.0), Some(2.0)], &[]]))],
            "row 2: features has 2 values, but the rows before have 1",
        ),
        (vec![one(), ("features", lists(&[&[], &[], &[]]))], "row 1: features is empty, but a ranker needs features"),
        (vec![("query", integers(&[])), ("f1", floats(&[]))], "holds no documents"),
    ];
    for (columns, expected) in cases {
        assert_eq!(finding(columns), expected);
    }
}

#[test]
fn a_file_of_another_type_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cells.parquet");
    let cells = FileType { name: "truerank/cells", version: 1 };
    let field = arrow_schema::Field::new("query", arrow_schema::DataType::Int64, false);
    crate::files::table::TableWriter::create(&path, cells, vec![field], &[]).unwrap().finish().unwrap();
    let error = read_parquet(&path, &ReadOptions::new()).unwrap_err().to_string();
    assert!(error.ends_with("is a truerank/cells file, but a truerank/dataset file is expected"), "{error}");
}

fn round_trip(data: &Dataset, path: &Path) -> Dataset {
    write_parquet(data, path).unwrap();
    read_parquet(path, &ReadOptions::new()).unwrap()
}

#[test]
fn wide_data_goes_through_one_list_column() {
    let folder = tempfile::tempdir().unwrap();
    let data = DatasetBuilder {
        features: (0..600).map(|value| value as f32).collect(),
        feature_count: 300,
        queries: Ids::numbered(1),
        query_ends: vec![2],
        ..Default::default()
    };
    let data = data.build().unwrap();
    assert_eq!(round_trip(&data, &folder.path().join("wide.parquet")), data);
}

proptest! {
    #[test]
    fn what_is_written_reads_back_bit_for_bit(data in datasets()) {
        let folder = tempfile::tempdir().unwrap();
        let back = round_trip(&data, &folder.path().join("data.parquet"));
        let bits = |data: &Dataset| data.features().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&back), bits(&data));
        prop_assert_eq!(back, data);
    }
}
