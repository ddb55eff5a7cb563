//! What a few bytes of input ask for is bounded: bombs as any input, logs with long ids, huge pages.

mod common;

use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use common::Sandbox;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

const MIB: u64 = 1 << 20;

/// The one line with which a run fails, and the most memory it held, where the system tells (Linux).
fn fail(sandbox: &Sandbox, arguments: &str) -> (String, u64) {
    let mut command = sandbox.command(&format!("{arguments} --quiet"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(held(&child));
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(status.code(), Some(2), "truerank {arguments}: {stderr}");
    let line = stderr.strip_prefix("error: ").and_then(|line| line.strip_suffix('\n'));
    (line.unwrap_or_else(|| panic!("truerank {arguments}: {stderr}")).to_string(), peak)
}

/// The most resident memory of a process so far.
fn held(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

/// A gibibyte of zeros in a few kilobytes.
fn bomb() -> Vec<u8> {
    let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
    std::io::copy(&mut std::io::repeat(0).take(1 << 30), &mut bomb).unwrap();
    bomb.finish().unwrap()
}

#[test]
fn a_bomb_is_refused_as_any_input_before_it_is_held() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 500 -o clicks.parquet");
    sandbox.run("count clicks.parquet -o counts");
    let bomb = bomb();
    assert!(bomb.len() < 100_000);
    for name in ["bomb.safetensors", "bomb.json", "bomb.toml", "bomb.txt", "bomb.csv", "q.train.query"] {
        sandbox.write(name, &bomb);
    }
    sandbox.write("q.train", "0 1:1\n");
    sandbox.write("ultra/settings.json", &bomb);
    for part in ["train", "valid", "test"] {
        sandbox.write(&format!("ultra/{part}/{part}.feature"), "");
    }
    for name in ["cells.parquet", "sessions.parquet", "pages.parquet"] {
        sandbox.write(&format!("damaged/{name}"), sandbox.read(&format!("counts/{name}")));
    }
    sandbox.write("damaged/meta.json", &bomb);
    let small = "holds more than 4MiB, but files of this kind are smaller; is it the right file?";
    let ranker = "holds more than 256MiB, but rankers are smaller; is it the right file?";
    let data =
        "holds more than 256MiB, over 250 times the size of the zstd data; decompress it first, if that is right";
    let cases = [
        ("score data/test.txt --ranker bomb.safetensors -o o.trec", "bomb.safetensors", ranker),
        ("relevance counts --propensities bomb.json -o o.parquet", "bomb.json", data),
        ("relevance damaged --propensities clicks.propensities.json -o o.parquet", "damaged/meta.json", small),
        ("experiment --config bomb.toml -o o", "bomb.toml", small),
        ("train ultra -o o.st", "ultra/settings.json", small),
        ("convert bomb.txt -o o.parquet", "bomb.txt", data),
        ("convert q.train -o o.parquet", "q.train.query", data),
        ("propensity counts --method cpbm --user-features bomb.csv -o o.json", "bomb.csv", data),
        ("count bomb.csv -o o", "bomb.csv:1", "has no end of line in its first 16 MiB"),
    ];
    for (arguments, place, finding) in cases {
        let (line, peak) = fail(&sandbox, arguments);
        assert_eq!(line, format!("{place}: {finding}"), "{arguments}");
        assert!(peak < 400 * MIB, "{arguments} held {} MiB", peak / MIB);
    }
}

/// A log in Parquet of one row group, `session, user, query, doc, position, click` being functions of the row.
fn write_log(
    sandbox: &Sandbox,
    name: &str,
    rows: i64,
    row: fn(i64) -> [i64; 5],
    doc: Option<fn(i64) -> String>,
    properties: WriterPropertiesBuilder,
) {
    const BATCH: i64 = 1000;
    let properties = properties.set_compression(Compression::ZSTD(Default::default()));
    let mut writer = None;
    for first in (0..rows).step_by(BATCH as usize) {
        let numbers: Vec<i64> = (first..rows.min(first + BATCH)).collect();
        let column =
            |at: usize| Arc::new(Int64Array::from_iter_values(numbers.iter().map(|&n| row(n)[at]))) as ArrayRef;
        let docs = match doc {
            Some(doc) => Arc::new(StringArray::from_iter_values(numbers.iter().map(|&n| doc(n)))) as ArrayRef,
            None => column(2),
        };
        let columns = [
            ("session", column(0)),
            ("user", column(0)),
            ("query", column(1)),
            ("doc", docs),
            ("position", column(3)),
            ("click", column(4)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let writer = writer.get_or_insert_with(|| {
            let file = std::fs::File::create(sandbox.path(name)).unwrap();
            ArrowWriter::try_new(file, batch.schema(), Some(properties.clone().build())).unwrap()
        });
        writer.write(&batch).unwrap();
    }
    writer.unwrap().close().unwrap();
}

#[test]
fn long_ids_are_read_a_few_at_a_time() {
    let sandbox = Sandbox::new();
    let doc = |n| format!("{}{n:07}", "x".repeat(8000));
    let row = |n| [n / 10, n % 50, 0, n % 10 + 1, n % 2];
    write_log(&sandbox, "log.parquet", 30_000, row, Some(doc), WriterProperties::builder());
    assert!(sandbox.read("log.parquet").len() < 700_000);
    let (line, peak) = fail(&sandbox, "count log.parquet --memory 64MiB -o o");
    assert!(
        line.starts_with("the ids of this log take ") && line.contains(", but --memory 64MiB leaves 40MiB"),
        "{line}"
    );
    assert!(peak < 200 * MIB, "{} MiB", peak / MIB);
}

#[test]
fn a_result_page_that_does_not_fit_is_refused() {
    let sandbox = Sandbox::new();
    let row = |n| [1, 1, n, n % 100_000 + 1, n % 2];
    write_log(&sandbox, "log.parquet", 400_000, row, None, WriterProperties::builder());
    let (line, peak) = fail(&sandbox, "count log.parquet --memory 8MiB -o o");
    assert_eq!(
        line,
        "a result page of query '1' has 400000 rows, which take 24.4MiB to count, but --memory is 8MiB; raise it, or is the \
         column of sessions right?"
    );
    assert!(peak < 150 * MIB, "{} MiB", peak / MIB);
    sandbox.run("count log.parquet --memory 64MiB -o o");
}

#[test]
fn huge_pages_of_parquet_are_refused() {
    let sandbox = Sandbox::new();
    let row = |n| [n / 10, 1, n % 10, n % 10 + 1, n % 2];
    let one_page = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(usize::MAX)
        .set_data_page_row_count_limit(usize::MAX)
        .set_max_row_group_row_count(None);
    write_log(&sandbox, "log.parquet", 3_000_000, row, None, one_page);
    let (line, peak) = fail(&sandbox, "count log.parquet --memory 64MiB -o o");
    let end = "but pages are read whole, and 128MiB of them at most; write it with smaller pages";
    assert!(line.starts_with("log.parquet: row group 1 has pages of 137.") && line.ends_with(end), "{line}");
    assert!(peak < 100 * MIB, "{} MiB", peak / MIB);
}

#[test]
fn the_floor_of_memory_is_what_the_help_says() {
    let sandbox = Sandbox::new();
    let help = sandbox.run("count --help");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The program and its buffers come on top: about 128MiB, and 4MiB per thread"), "{help}");
    let row = |n| [n / 10, n % 999 / 10, n % 10, n % 10 + 1, n % 7 / 6];
    write_log(&sandbox, "log.parquet", 1_000_000, row, None, WriterProperties::builder());
    let mut child =
        sandbox.command("count log.parquet --memory 16MiB --threads 2 -o o -q").stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(held(&child));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    assert!(peak < (16 + 128 + 2 * 4) * MIB, "{} MiB", peak / MIB);
}
