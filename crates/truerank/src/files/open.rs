//! Opens files and reads them whole, decompressing by their first bytes.

use std::borrow::Borrow;
use std::fmt;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Place;
use crate::memory::Memory;
use crate::{Error, Result};

/// What a file's name says about its form, whatever its compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// JSON.
    Json,
    /// JSON, one value per line.
    JsonLines,
    /// Any other text, such as LETOR/SVMlight.
    Text,
}

/// How a file's name ends, whatever its compression, in small letters: `csv` of `clicks.CSV.gz`.
pub(crate) fn ending(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.rsplit('.').next().unwrap_or_default().to_string()
}

impl FileFormat {
    /// The form that `path`'s ending names: `clicks.csv.gz` is CSV.
    pub fn of(path: &Path) -> Self {
        match ending(path).as_str() {
            "parquet" | "pq" => FileFormat::Parquet,
            "csv" => FileFormat::Csv,
            "tsv" => FileFormat::Tsv,
            "json" => FileFormat::Json,
            "jsonl" | "ndjson" => FileFormat::JsonLines,
            _ => FileFormat::Text,
        }
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, of any number of members.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// The compression that a file's first bytes show, if any.
    pub fn of(first: &[u8]) -> Option<Self> {
        match first {
            _ if first.starts_with(GZIP) => Some(Compression::Gzip),
            _ if first.starts_with(ZSTD) => Some(Compression::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        })
    }
}

/// What `source` holds, decompressed.
pub fn decoder<'a>(
    compression: Option<Compression>,
    source: impl Read + Send + 'a,
) -> std::io::Result<Box<dyn Read + Send + 'a>> {
    Ok(match compression {
        None => Box::new(source),
        Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(source)),
        Some(Compression::Zstd) => Box::new(zstd::Decoder::new(source)?),
    })
}

/// How much a file may hold, once it is decompressed: a few bytes of a compressed file can stand for all memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// What people write, or what says a few numbers of something else: settings, names, `meta.json`. 4 MiB.
    Description,
    /// Rankers: 256 MiB, which are 64 million weights.
    Ranker,
    /// What grows with the data: half of the memory that is free, since what is read is more than a copy of the text.
    Data,
}

/// A compressed file may hold so many times its own size: text of features shrinks to a fifth, dense zeros to a hundredth.
const EXPANSION: u64 = 250;
/// Whatever their size, compressed files may hold so much: a few hundred megabytes hurt nobody.
const ALWAYS: u64 = 256 << 20;
/// Bytes that are read before it is asked again whether they are too many.
const STEP: u64 = 4 << 20;

impl Limit {
    /// The most bytes, and what is said of more.
    fn most(self) -> (u64, String) {
        let more = |bytes: u64, why: &str| (bytes, format!("holds more than {}, {why}", Memory::new(bytes)));
        match self {
            Limit::Description => more(4 << 20, "but files of this kind are smaller; is it the right file?"),
            Limit::Ranker => more(256 << 20, "but rankers are smaller; is it the right file?"),
            Limit::Data => {
                more(Memory::half_of_free().bytes(), "half of the memory that is free; free some, or give a part of it")
            }
        }
    }
}

/// The content of a file, decompressed if it is gzip (of any number of members) or zstd. More than `limit` is refused before
/// it is held.
pub fn read_bytes(path: &Path, limit: Limit) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(Error::input(path, "is a folder, but a file is expected here"));
    }
    let failed = |e| Error::io(path, e);
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let (most, too_much) = limit.most();
    let mut first = Vec::new();
    file.by_ref().take(4).read_to_end(&mut first).map_err(failed)?;
    let Some(kind) = Compression::of(&first) else {
        let mut content = Vec::with_capacity(size.min(most) as usize + 1);
        content.append(&mut first);
        file.take(most.saturating_sub(3)).read_to_end(&mut content).map_err(failed)?;
        return if content.len() as u64 > most { Err(Error::input(path, too_much)) } else { Ok(content) };
    };
    let source = Cursor::new(first).chain(file);
    decompress(kind, source, most).map_err(|fault| match fault {
        TooMuch::ForAll => Error::input(path, too_much),
        TooMuch::ForItsSize(bytes) => Error::input(
            path,
            format!(
                "holds more than {}, over {EXPANSION} times the size of the {kind} data; decompress it first, if that is right",
                Memory::new(bytes)
            ),
        ),
        TooMuch::Damaged(good, cause) => Error::input(
            path,
            format!(
                "the {kind} data is truncated or damaged after {good} good bytes ({cause}); fetch or compress it again"
            ),
        ),
    })
}

/// Why compressed data are not read to their end.
enum TooMuch {
    ForAll,
    ForItsSize(u64),
    Damaged(usize, std::io::Error),
}

fn decompress(kind: Compression, source: impl Read + Send, most: u64) -> Result<Vec<u8>, TooMuch> {
    let read = AtomicU64::new(0);
    let mut content = Vec::new();
    let counted = Counted { inner: source, read: &read };
    let mut decoder = decoder(Some(kind), counted).map_err(|e| TooMuch::Damaged(0, e))?;
    loop {
        match decoder.by_ref().take(STEP).read_to_end(&mut content) {
            Ok(0) => return Ok(content),
            Ok(_) => {}
            Err(cause) => return Err(TooMuch::Damaged(content.len(), cause)),
        }
        let (length, by_size) = (content.len() as u64, EXPANSION * read.load(Ordering::Relaxed));
        match length {
            _ if length > most => return Err(TooMuch::ForAll),
            _ if length > ALWAYS.max(by_size) => return Err(TooMuch::ForItsSize(ALWAYS.max(by_size))),
            _ => {}
        }
    }
}

/// Counts the bytes that pass, where whoever asks can see it meanwhile.
pub(crate) struct Counted<R, C> {
    pub inner: R,
    pub read: C,
}

impl<R: Read, C: Borrow<AtomicU64>> Read for Counted<R, C> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.read.borrow().fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The content of a text file, decompressed; it must be UTF-8. A byte-order mark is dropped. More than `limit` is refused.
pub fn read_text(path: &Path, limit: Limit) -> Result<String> {
    let bytes = read_bytes(path, limit)?;
    if bytes.starts_with(b"PAR1") {
        return Err(Error::input(path, "is a Parquet file, but text is expected here"));
    }
    let mut text = String::from_utf8(bytes).map_err(|e| {
        let start = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..start].iter().filter(|&&b| b == b'\n').count();
        let byte = e.as_bytes()[start];
        Place::line(path, line as u64).error(format!("byte 0x{byte:02x} is not UTF-8 text; convert the file to UTF-8"))
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &[u8], limit: Limit) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let message = |e: Error| e.to_string().rsplit('/').next().unwrap_or_default().to_string();
        read_bytes(&path, limit).map_err(message)
    }

    #[test]
    fn descriptions_may_hold_four_mebibytes_compressed_or_not() {
        let full = vec![b'x'; 4 << 20];
        let over = vec![b'x'; (4 << 20) + 1];
        let finding = "holds more than 4MiB, but files of this kind are smaller; is it the right file?";
        for compress in [|bytes: &[u8]| bytes.to_vec(), |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap()] {
            assert!(read("a.toml", &compress(&full), Limit::Description).unwrap() == full);
            assert_eq!(read("a.toml", &compress(&over), Limit::Description).unwrap_err(), format!("a.toml: {finding}"));
        }
    }

    #[test]
    fn a_bomb_is_no_data_set() {
        let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
        std::io::copy(&mut std::io::repeat(0).take(ALWAYS + STEP + 1), &mut bomb).unwrap();
        let bomb = bomb.finish().unwrap();
        let finding =
            "holds more than 256MiB, over 250 times the size of the zstd data; decompress it first, if that is right";
        assert_eq!(read("t.zst", &bomb, Limit::Data).unwrap_err(), format!("t.zst: {finding}"));
    }

    #[test]
    fn short_and_broken_files_are_read_to_where_they_end() {
        for content in [&b""[..], b"ab", b"abcdef"] {
            assert_eq!(read("a", content, Limit::Description).unwrap(), content);
            let packed = zstd::encode_all(content, 1).unwrap();
            assert_eq!(read("a", &packed, Limit::Description).unwrap(), content);
            assert!(read("a", &packed[..packed.len() - 1], Limit::Description).unwrap_err().contains("truncated"));
        }
    }
}
