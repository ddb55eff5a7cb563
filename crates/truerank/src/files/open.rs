//! Reads whole files, decompressing by their first bytes.

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
            _ => FileFormat::Text,
        }
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The content of a file, decompressed if it is gzip (of any number of members) or zstd.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(Error::input(path, "is a folder, but a file is expected here"));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    if bytes.starts_with(GZIP) {
        decompress(path, "gzip", flate2::read::MultiGzDecoder::new(&bytes[..]), bytes.len())
    } else if bytes.starts_with(ZSTD) {
        let decoder = zstd::Decoder::new(&bytes[..]).map_err(|e| Error::io(path, e))?;
        decompress(path, "zstd", decoder, bytes.len())
    } else {
        Ok(bytes)
    }
}

fn decompress(path: &Path, kind: &str, mut decoder: impl Read, compressed: usize) -> Result<Vec<u8>> {
    let mut content = Vec::with_capacity(compressed.saturating_mul(4));
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
