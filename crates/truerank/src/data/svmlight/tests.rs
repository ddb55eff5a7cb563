//! Whole files in and out.

use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::ids::{Ids, Texts};

fn write_text(text: impl AsRef<[u8]>) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_ref()).unwrap();
    file
}

fn read(text: impl AsRef<[u8]>) -> Result<Dataset> {
    read_svmlight(write_text(text).path(), &ReadOptions::new())
}

#[test]
fn windows_text_with_a_byte_order_mark_reads_like_any_other() {
    let plain = read("1 qid:1 1:1\n0 qid:2 2:0.5\n").unwrap();
    assert_eq!(read("\u{feff}1 qid:1 1:1\r\n\r\n0 qid:2 2:0.5\r\n").unwrap(), plain);
    assert_eq!(read("1.0\tqid:1\t1:1e0 \n0 qid:2 1:0 2:.5").unwrap(), plain);
}

#[test]
fn features_that_are_zero_everywhere_need_the_count() {
    let file = write_text("1 qid:1 2:1\n");
    assert_eq!(read_svmlight(file.path(), &ReadOptions::new()).unwrap().feature_count(), 2);
    let wide = read_svmlight(file.path(), &ReadOptions::new().feature_count(4)).unwrap();
    assert_eq!(wide.row(0), [0.0, 1.0, 0.0, 0.0]);
    let zero_based = read_svmlight(file.path(), &ReadOptions::new().zero_based(true)).unwrap();
    assert_eq!(zero_based.row(0), [0.0, 0.0, 1.0]);
    assert!(read("1 qid:1\n").unwrap_err().to_string().ends_with("holds no features, but a ranker needs some"));
}

#[test]
fn group_sizes_stand_in_for_queries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rank.train");
    std::fs::write(&path, "1 1:1\n0 1:2\n2 1:3\n").unwrap();
    std::fs::write(folder.path().join("rank.train.query"), "2\n1\n").unwrap();
    let (data, named) = load(&path, &ReadOptions::new()).unwrap();
    assert!(!named);
    assert_eq!(data.queries(), &Ids::numbered(2));
    assert_eq!(data.lists().collect::<Vec<_>>(), [0..2, 2..3]);
    assert_eq!(data.docs(), &Ids::Integers(vec![1, 2, 1]));
}

#[test]
fn compressed_text_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let data = read("1 qid:1 1:1 # x\n0 qid:2 2:0.5 # y\n").unwrap();
    for (name, magic) in [("a.txt.gz", &b"\x1f\x8b"[..]), ("a.zst", b"\x28\xb5\x2f\xfd"), ("a.txt", b"1 qid")] {
        let path = folder.path().join(name);
        write_svmlight(&data, &path).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(magic));
        assert_eq!(read_svmlight(&path, &ReadOptions::new()).unwrap(), data);
    }
}

#[test]
fn ids_that_text_cannot_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for id in ["", "a b", "a#b", "a\nb", "a\u{a0}b"] {
        let mut docs = Ids::default();
        docs.push_text(id);
        let data = DatasetBuilder {
            features: vec![1.0],
            feature_count: 1,
            grades: Some(vec![0]),
            queries: Ids::numbered(1),
            query_ends: vec![1],
            docs: Some(docs),
        };
        let error = write_svmlight(&data.build().unwrap(), &folder.path().join("a.txt")).unwrap_err();
        assert!(error.to_string().ends_with("which SVMlight text cannot hold; write Parquet"), "{error}");
    }
}

/// Data sets with 1–6 queries of 1–5 documents, odd values, and all kinds of ids.
pub fn datasets() -> impl Strategy<Value = Dataset> {
    let sizes = proptest::collection::vec(1usize..6, 1..7);
    (sizes, 1usize..6, 0u8..4).prop_flat_map(|(sizes, width, ids)| {
        let rows: usize = sizes.iter().sum();
        let value = prop_oneof![
            2 => Just(0.0f32),
            1 => Just(-0.0f32),
            1 => Just(f32::NAN),
            5 => any::<f32>().prop_filter("finite", |value| value.is_finite()),
        ];
        let features = proptest::collection::vec(value, rows * width);
        let grades = proptest::collection::vec(0u8..=4, rows);
        (features, grades).prop_map(move |(features, grades)| {
            let query_ends = sizes.iter().scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            DatasetBuilder {
                features,
                feature_count: width,
                grades: Some(grades),
                queries: if ids % 2 == 0 { Ids::numbered(sizes.len()) } else { texts("q", sizes.len()) },
                query_ends: query_ends.collect(),
                docs: match ids {
                    0 => None,
                    1 => Some(texts("docid", rows)),
                    2 => Some(texts("docid=é", rows)),
                    _ => Some(Ids::Integers((0..rows as i64).map(|row| -7 * row).collect())),
                },
            }
            .build()
            .unwrap()
        })
    })
}

fn texts(prefix: &str, count: usize) -> Ids {
    let mut texts = Texts::default();
    (0..count).for_each(|number| texts.push(&format!("{prefix}{number}")));
    Ids::Texts(texts)
}

fn bits(data: &Dataset) -> Vec<u32> {
    data.features().iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #[test]
    fn what_is_written_reads_back_bit_for_bit(data in datasets(), chunk_bytes in 1usize..200) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.txt");
        write_svmlight(&data, &path).unwrap();
        let options = ReadOptions::new().feature_count(data.feature_count());
        let (back, named) = load_in_chunks(&path, &options, chunk_bytes).unwrap();
        prop_assert!(named);
        prop_assert_eq!(bits(&back), bits(&data));
        prop_assert_eq!(back, data);
    }
}
