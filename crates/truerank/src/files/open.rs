//! Opens files and reads them whole, decompressing by their first bytes.

use std::fmt;
use std::io::Read;
use std::path::Path;

use crate::error::Place;
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

impl FileFormat {
    /// The form that `path`'s ending names: `clicks.csv.gz` is CSV.
    pub fn of(path: &Path) -> Self {
        let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
        let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        match name.rsplit('.').next() {
            Some("parquet" | "pq") => FileFormat::Parquet,
            Some("csv") => FileFormat::Csv,
            Some("tsv") => FileFormat::Tsv,
            Some("json") => FileFormat::Json,
            Some("jsonl" | "ndjson") => FileFormat::JsonLines,
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

/// The content of a file, decompressed if it is gzip (of any number of members) or zstd.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(Error::input(path, "is a folder, but a file is expected here"));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let Some(kind) = Compression::of(&bytes) else { return Ok(bytes) };
    let mut content = Vec::with_capacity(bytes.len().saturating_mul(4));
    let mut decoder = decoder(Some(kind), &bytes[..]).map_err(|e| Error::io(path, e))?;
    decoder.read_to_end(&mut content).map_err(|e| {
        let good = content.len();
        Error::input(
            path,
            format!(
                "the {kind} data is truncated or damaged after {good} good bytes ({e}); fetch or compress it again"
            ),
        )
    })?;
    Ok(content)
}

/// The content of a text file, decompressed; it must be UTF-8. A byte-order mark is dropped.
pub fn read_text(path: &Path) -> Result<String> {
    let bytes = read_bytes(path)?;
    if bytes.starts_with(b"PAR1") {
        return Err(Error::input(path, "is a Parquet file, but text is expected here"));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let start = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..start].iter().filter(|&&b| b == b'\n').count();
        let byte = e.as_bytes()[start];
        Place::line(path, line as u64).error(format!("byte 0x{byte:02x} is not UTF-8 text; convert the file to UTF-8"))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_string(),
        None => text,
    })
}
