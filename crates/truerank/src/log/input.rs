//! Opens text logs as streams of bytes: files or standard input, decompressed by their first bytes.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::expand::STDIN;
use crate::files::{Compression, Counted, decoder};
use crate::{Error, Result};

/// The bytes of a text log.
pub(super) struct Input {
    reader: Box<dyn Read + Send>,
    compression: Option<Compression>,
    /// Bytes that came out so far.
    good: u64,
    /// Bytes that were read from the file so far, before decompression.
    read: Arc<AtomicU64>,
}

/// Why no more bytes come.
pub(super) enum ReadFault {
    /// The operating system refused.
    Failed(Error),
    /// Compressed data break off or are damaged.
    Damaged(String),
}

impl Input {
    /// Opens a file, or standard input where the path is `-`.
    pub fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == STDIN {
            return Self::over(path, std::io::stdin());
        }
        if path.is_dir() {
            return Err(Error::input(path, "is a folder, but a file is expected here"));
        }
        Self::over(path, File::open(path).map_err(|e| Error::io(path, e))?)
    }

    /// Reads from anything.
    pub fn over(path: &Path, mut source: impl Read + Send + 'static) -> Result<Self> {
        let mut first = Vec::new();
        source.by_ref().take(4).read_to_end(&mut first).map_err(|e| Error::io(path, e))?;
        if first == b"PAR1" {
            return Err(Error::input(path, not_text(path)));
        }
        let compression = Compression::of(&first);
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: Cursor::new(first).chain(source), read: read.clone() };
        let reader = decoder(compression, counted).map_err(|e| Error::io(path, e))?;
        Ok(Input { reader, compression, good: 0, read })
    }

    /// How many bytes of the file were read so far.
    pub fn read_count(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Appends up to `count` bytes; fewer only at the end.
    pub fn fill(&mut self, path: &Path, buffer: &mut Vec<u8>, count: usize) -> Result<(), ReadFault> {
        buffer.reserve(count);
        let before = buffer.len();
        let outcome = self.reader.by_ref().take(count as u64).read_to_end(buffer);
        self.good += (buffer.len() - before) as u64;
        match (outcome, self.compression) {
            (Ok(_), _) => Ok(()),
            (Err(cause), None) => Err(ReadFault::Failed(Error::io(path, cause))),
            (Err(cause), Some(kind)) => Err(ReadFault::Damaged(format!(
                "the {kind} data is truncated or damaged after {} good bytes ({cause}); fetch or compress it again",
                self.good
            ))),
        }
    }
}

fn not_text(path: &Path) -> &'static str {
    match path.as_os_str() == STDIN {
        true => "is Parquet, which cannot be read from standard input: its directory stands at its end; give the file",
        false => "is a Parquet file, but its name or `format` says that it is text",
    }
}
