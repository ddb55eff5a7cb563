//! Lines of a text file, one at a time, decompressed by the file's first bytes.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use crate::error::Place;
use crate::files::{Compression, decoder};
use crate::{Error, Result};

/// No query or event is longer; a longer line is a file of another kind.
const LONGEST_LINE: u64 = 64 << 20;

/// Calls `take` for each line that is not blank, with its place.
pub(super) fn for_each_line(path: &Path, mut take: impl FnMut(Place, &[u8]) -> Result<()>) -> Result<()> {
    let mut reader = open(path)?;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read =
            reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|e| damaged(path, number, &e))?;
        let place = Place::line(path, number);
        match read as u64 {
            0 => break,
            LONGEST_LINE => return Err(place.error("is longer than 64 MiB, but a line holds one query or event")),
            _ => {}
        }
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line).trim_ascii();
        if !text.is_empty() {
            take(place, text)?;
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<BufReader<Box<dyn Read + Send>>> {
    if path.is_dir() {
        return Err(Error::input(path, "is a folder, but a file is expected here"));
    }
    let failed = |e| Error::io(path, e);
    let mut file = File::open(path).map_err(failed)?;
    let mut first = Vec::new();
    file.by_ref().take(4).read_to_end(&mut first).map_err(failed)?;
    let compression = Compression::of(&first);
    let text = decoder(compression, Cursor::new(first).chain(file)).map_err(failed)?;
    Ok(BufReader::with_capacity(1 << 18, text))
}

fn damaged(path: &Path, line: u64, cause: &std::io::Error) -> Error {
    Place::line(path, line).error(format!("cannot be read ({cause}); fetch or compress the file again"))
}
