//! Cuts a stream of text into blocks that end where records end, so that they can be parsed independently.

use std::path::{Path, PathBuf};

use memchr::{memchr, memchr_iter};

use super::bad_rows::{BadKind, Fault};
use super::input::{Input, ReadFault};
use crate::Result;

/// About how many bytes are parsed at a time: large enough that a block's dictionaries pay.
pub(super) const BLOCK: usize = 4 << 20;

/// A longer record is a mistake: it is not held.
pub(super) const MAX_RECORD: usize = 16 << 20;

/// Some whole records.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub bytes: Vec<u8>,
    /// The line of the file that it starts at.
    pub line: u64,
    /// What lies before it.
    pub after: After,
    /// Whether nothing follows in a file that is whole.
    pub is_last: bool,
    /// What is wrong after these records, and its line; without one it is about the whole file.
    pub fault: Option<(Option<u64>, Fault)>,
}

/// What lies before a place between records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum After {
    /// Nothing but what opens the file.
    #[default]
    Start,
    Record,
    /// A record that was too long to be held, or a part of it.
    Gap,
    /// What closes all records, where the form has such a thing.
    End,
}

/// Where the last whole record of some bytes ends, 0 if none does, and what lies before the rest. The bytes may end
/// anywhere; what lies before them is told.
pub(super) type Cut = Box<dyn Fn(&[u8], After) -> (usize, After) + Send>;

/// The blocks of a file, in order.
pub(super) struct Blocks {
    path: PathBuf,
    input: Input,
    buffer: Vec<u8>,
    line: u64,
    after: After,
    size: usize,
    is_end: bool,
    damage: Option<String>,
}

impl Blocks {
    pub fn new(path: &Path, input: Input, size: usize) -> Self {
        let (buffer, line, after, is_end, damage) = (Vec::new(), 1, After::Start, false, None);
        Blocks { path: path.to_path_buf(), input, buffer, line, after, size, is_end, damage }
    }

    /// The bytes that come next, about a block of them, or `least`.
    pub fn head(&mut self, least: usize) -> Result<&[u8]> {
        self.fill_to(self.size.max(least))?;
        Ok(&self.buffer)
    }

    /// Whether the file holds no more than [`head`](Self::head) returned.
    pub fn is_end(&self) -> bool {
        self.is_end
    }

    /// What is wrong with the file after its head, if that is known already.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Leaves out the next bytes.
    pub fn skip(&mut self, count: usize) {
        self.line += line_count(&self.buffer[..count]);
        self.buffer.drain(..count);
    }

    /// How many bytes of the file were read so far.
    pub fn read_count(&self) -> u64 {
        self.input.read_count()
    }

    /// The next block; none at the end.
    pub fn next(&mut self, cut: &Cut) -> Result<Option<Block>> {
        let mut want = self.size;
        loop {
            self.fill_to(want)?;
            if self.buffer.is_empty() {
                return Ok(self.damage.take().map(|finding| self.damaged(finding)));
            }
            let is_whole = self.is_end && self.damage.is_none();
            let (end, after) = match is_whole {
                true => (self.buffer.len(), After::Record),
                false => cut(&self.buffer, self.after),
            };
            if end > 0 {
                return Ok(Some(Block { is_last: is_whole, ..self.split(end, after) }));
            }
            if self.is_end {
                // The record at which the data break off is lost with them.
                self.buffer.clear();
            } else if self.buffer.len() > MAX_RECORD {
                return self.too_long().map(Some);
            } else {
                want = (2 * self.buffer.len()).min(MAX_RECORD + 1);
            }
        }
    }

    fn fill_to(&mut self, length: usize) -> Result<()> {
        let missing = length.saturating_sub(self.buffer.len());
        if missing == 0 || self.is_end {
            return Ok(());
        }
        match self.input.fill(&self.path, &mut self.buffer, missing) {
            Ok(()) => self.is_end = self.buffer.len() < length,
            Err(ReadFault::Failed(error)) => return Err(error),
            Err(ReadFault::Damaged(finding)) => (self.is_end, self.damage) = (true, Some(finding)),
        }
        Ok(())
    }

    fn split(&mut self, end: usize, after: After) -> Block {
        let mut rest = Vec::with_capacity(self.size + self.buffer.len() - end);
        rest.extend_from_slice(&self.buffer[end..]);
        let mut bytes = std::mem::replace(&mut self.buffer, rest);
        bytes.truncate(end);
        let line = self.line;
        self.line += line_count(&bytes);
        Block { bytes, line, after: std::mem::replace(&mut self.after, after), ..Block::default() }
    }

    fn damaged(&self, finding: String) -> Block {
        let fault = Some((None, Fault::new(BadKind::Damage, finding)));
        Block { line: self.line, after: self.after, fault, ..Block::default() }
    }

    /// Reads on to the end of the line without holding it.
    fn too_long(&mut self) -> Result<Block> {
        let line = self.line;
        let mut from = MAX_RECORD;
        let end = loop {
            match memchr(b'\n', &self.buffer[from..]) {
                Some(newline) => break from + newline + 1,
                None if self.is_end => break self.buffer.len(),
                None => {
                    self.line += line_count(&self.buffer);
                    self.buffer.clear();
                    from = 0;
                    self.fill_to(BLOCK)?;
                }
            }
        };
        self.skip(end);
        let most = MAX_RECORD >> 20;
        let finding = match self.after {
            After::End => format!("more than {most} MiB follow the end of all records; does the file hold one array?"),
            _ => format!("is longer than {most} MiB, but no record is; is a quote open?"),
        };
        let fault = Some((Some(line), Fault::new(BadKind::TooLong, finding)));
        let after = if self.after == After::End { After::End } else { After::Gap };
        Ok(Block { line, after: std::mem::replace(&mut self.after, after), fault, ..Block::default() })
    }
}

pub(super) fn line_count(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// Tells the lines of places in a block, which are asked for in order.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
}

impl<'a> Lines<'a> {
    pub fn new(block: &'a Block) -> Self {
        Lines { bytes: &block.bytes, at: 0, line: block.line }
    }

    pub fn line(&mut self, offset: usize) -> u64 {
        if offset < self.at {
            return self.line - line_count(&self.bytes[offset..self.at]);
        }
        self.line += line_count(&self.bytes[self.at..offset]);
        self.at = offset;
        self.line
    }
}

/// Cuts at the ends of lines.
pub(super) fn cut_at_lines() -> Cut {
    Box::new(|bytes, _| (lines_end(bytes), After::Record))
}

/// Where the last whole line ends.
pub(super) fn lines_end(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |newline| newline + 1)
}

/// What makes a record no text, if anything does.
pub(super) fn damage(record: &[u8]) -> Option<Fault> {
    if memchr(0, record).is_some() {
        let finding = "holds a NUL byte; is it text, and was it written to the end?";
        return Some(Fault::new(BadKind::Damage, finding));
    }
    let at = std::str::from_utf8(record).err()?.valid_up_to();
    let finding = format!("byte 0x{:02x} is not UTF-8 text; convert the file to UTF-8", record[at]);
    Some(Fault::new(BadKind::Damage, finding))
}

/// Whether all of a block is text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(content: Vec<u8>, size: usize) -> Blocks {
        let path = Path::new("c.txt");
        Blocks::new(path, Input::over(path, std::io::Cursor::new(content)).map_err(|e| e.to_string()).unwrap(), size)
    }

    fn all(content: &[u8], size: usize) -> Vec<Block> {
        let mut blocks = blocks(content.to_vec(), size);
        let cut = cut_at_lines();
        std::iter::from_fn(|| blocks.next(&cut).unwrap()).collect()
    }

    #[test]
    fn blocks_end_at_lines_and_know_theirs() {
        let content = b"a\nbb\n\nccc\ndd";
        for size in 1..20 {
            let blocks = all(content, size);
            assert_eq!(blocks.iter().flat_map(|block| block.bytes.clone()).collect::<Vec<u8>>(), content);
            let mut line = 1;
            for block in &blocks {
                assert_eq!(block.line, line);
                line += line_count(&block.bytes);
            }
            assert!(blocks[..blocks.len() - 1].iter().all(|block| block.bytes.ends_with(b"\n")));
        }
    }

    #[test]
    fn a_line_that_never_ends_is_left_out_without_being_held() {
        let content = [b"a\n".to_vec(), vec![b'x'; 3 * MAX_RECORD], b"\nb\n".to_vec()].concat();
        let mut blocks = blocks(content, 1 << 20);
        let cut = cut_at_lines();
        let mut found = Vec::new();
        while let Some(block) = blocks.next(&cut).unwrap() {
            assert!(blocks.buffer.capacity() <= 2 * MAX_RECORD + BLOCK);
            found.push((block.line, block.bytes.len(), block.fault.map(|(line, _)| line)));
        }
        assert_eq!(found, [(1, 2, None), (2, 0, Some(Some(2))), (3, 2, None)]);
    }
}
