//! A file as Parquet's decoder reads its pages: the end of the file is an end, and no page is longer than the file.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A Parquet file to read pages from.
///
/// The decoder skips what it does not know in the head of a page, and takes the end of the file for skipped bytes: a damaged
/// list of billions of values would be skipped one by one. Whoever reads at the end a second time gets an error instead.
#[derive(Debug)]
pub(crate) struct Pages(pub File);

impl Length for Pages {
    fn len(&self) -> u64 {
        Length::len(&self.0)
    }
}

impl ChunkReader for Pages {
    type T = BufReader<Ending>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut file = self.0.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(Ending { file, is_over: false }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Before room is made for them.
        match start.checked_add(length as u64) {
            Some(end) if end <= Length::len(self) => self.0.get_bytes(start, length),
            _ => Err(ParquetError::EOF(format!("a page of {length} bytes goes past the end"))),
        }
    }
}

/// A file whose end is met once.
#[derive(Debug)]
pub(crate) struct Ending {
    file: File,
    is_over: bool,
}

impl Read for Ending {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            if self.is_over {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.is_over = true;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn pages(content: &[u8]) -> Pages {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        Pages(file)
    }

    #[test]
    fn the_end_is_met_once() {
        let mut reader = pages(b"abc").get_read(1).unwrap();
        let mut rest = Vec::new();
        assert_eq!(reader.read_to_end(&mut rest).unwrap(), 2);
        assert_eq!(rest, b"bc");
        assert_eq!(reader.read(&mut [0; 4]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn no_page_is_longer_than_the_file() {
        let pages = pages(b"abcdef");
        assert_eq!(pages.get_bytes(2, 3).unwrap(), b"cde".as_slice());
        assert!(pages.get_bytes(2, 5).is_err());
        assert!(pages.get_bytes(u64::MAX, usize::MAX).is_err());
    }
}
