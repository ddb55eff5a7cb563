//! Seals: a fingerprint that a file carries of itself, so that damage is noticed when the file is read.
//!
//! A seal stands where the form of the file has room for it, as the value of [`SEAL_KEY`] in a JSON object, in the metadata of
//! safetensors or of Parquet, and covers every byte but its own digits. A single changed byte always changes the
//! fingerprint. A file without a seal is read as it is: other programs make and change such files too.
//!
//! Tables are sealed in parts. Each row group has a fingerprint, which whoever reads the group checks; the seal covers what
//! comes after the last group, and with it these fingerprints.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memmem;
use parquet::file::metadata::{KeyValue, ParquetMetaData, RowGroupMetaData};

use super::fingerprint::Fingerprint;
use super::open::{Limit, read_text};
use super::spool::{read_at, write_at};
use crate::{Error, Result};

/// The key of a seal.
pub const SEAL_KEY: &str = "truerank.seal";
/// The key of the fingerprints of row groups.
const GROUPS_KEY: &str = "truerank.groups";
/// The value of a seal begins so.
const MARK: &str = "seal:";
/// Digits of a fingerprint.
const DIGITS: usize = 16;
/// Between the key and its value are quotes, a colon, or lengths.
const BETWEEN: usize = 8;
const BLANK: &str = "seal:0000000000000000";

/// A JSON object of several lines, with a seal as its last field.
pub fn seal_json(text: &str) -> Vec<u8> {
    let text = text.trim_end();
    let fields = text.strip_suffix('}').unwrap_or(text).trim_end();
    let mut bytes = format!("{fields},\n  \"{SEAL_KEY}\": \"{BLANK}\"\n}}\n").into_bytes();
    seal(&mut bytes);
    bytes
}

/// A JSON object of one line, with a seal that [`seal`] is to fill in as its last field.
pub fn with_blank_seal(text: &str) -> String {
    format!("{},\"{SEAL_KEY}\":\"{BLANK}\"}}", text.strip_suffix('}').unwrap_or(text))
}

/// Fills in the seal of a file that has a blank one.
pub fn seal(bytes: &mut [u8]) {
    if let Found::Digits(at) = find(bytes) {
        let digits = fingerprint_around(bytes, at);
        bytes[at..at + DIGITS].copy_from_slice(digits.as_bytes());
    }
}

/// Says what is wrong with a file whose seal does not fit what it holds.
pub fn check_seal(bytes: &[u8]) -> Result<(), String> {
    let fits = match find(bytes) {
        Found::Nothing => true,
        Found::Broken => false,
        Found::Digits(at) => bytes[at..at + DIGITS] == *fingerprint_around(bytes, at).as_bytes(),
    };
    match fits {
        true => Ok(()),
        false => Err(format!(
            "was damaged or changed since it was written: its seal does not fit; fetch or make it again, or take out \
             {SEAL_KEY} where the change was meant"
        )),
    }
}

/// The content of a text file that may have a seal, which must fit it.
pub fn read_sealed_text(path: &Path, limit: Limit) -> Result<String> {
    let text = read_text(path, limit)?;
    check_seal(text.as_bytes()).map_err(|finding| Error::input(path, finding))?;
    Ok(text)
}

enum Found {
    Nothing,
    /// A key or a value, but not both.
    Broken,
    /// Where the digits are.
    Digits(usize),
}

/// Where the last seal is: ids may look like one, and come before it.
fn find(bytes: &[u8]) -> Found {
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit();
    let digits = |at: usize| bytes.get(at..at + DIGITS).is_some_and(|digits| digits.iter().all(is_digit));
    let Some(key) = memmem::rfind(bytes, SEAL_KEY.as_bytes()) else {
        // A damaged key: what follows tells.
        let mark = memmem::rfind(bytes, MARK.as_bytes()).filter(|&mark| digits(mark + MARK.len()));
        return if mark.is_some() { Found::Broken } else { Found::Nothing };
    };
    let value = key + SEAL_KEY.len();
    let near = &bytes[value..bytes.len().min(value + BETWEEN + MARK.len())];
    match memmem::find(near, MARK.as_bytes()).map(|mark| value + mark + MARK.len()) {
        Some(at) if bytes.len() >= at + DIGITS => Found::Digits(at),
        _ => Found::Broken,
    }
}

fn fingerprint_around(bytes: &[u8], at: usize) -> String {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add_bytes(&bytes[..at]);
    fingerprint.add_bytes(&bytes[at + DIGITS..]);
    fingerprint.digits()
}

/// The keys that seal a table whose groups are written: their fingerprints, and a blank seal.
pub(super) fn group_notes(groups: &[RowGroupMetaData], file: &File) -> std::io::Result<[KeyValue; 2]> {
    let mut digits = String::new();
    for range in ranges(groups) {
        digits += &fingerprint_of(file, range)?;
    }
    Ok([KeyValue::new(GROUPS_KEY.into(), digits), KeyValue::new(SEAL_KEY.into(), BLANK.to_string())])
}

/// Fills in the seal of a table that is complete otherwise.
pub(super) fn seal_table(groups: &[RowGroupMetaData], file: &File) -> std::io::Result<()> {
    let footer = Footer::read(file)?;
    if let Found::Digits(at) = find(&footer.bytes) {
        let digits = footer.fingerprint(file, end_of(groups), at)?;
        write_at(file, digits.as_bytes(), footer.start + at as u64)?;
    }
    Ok(())
}

/// The fingerprints of a table's row groups.
pub struct GroupSeals {
    path: PathBuf,
    ranges: Vec<Range<u64>>,
    /// None where the file has no seal.
    digits: Option<String>,
}

impl GroupSeals {
    /// Checks the seal of a table whose metadata points into the file, and keeps what tells of its groups.
    pub fn open(path: &Path, file: &File, metadata: &ParquetMetaData) -> Result<Self> {
        let failed = |e| Error::io(path, e);
        let groups = metadata.row_groups();
        let seals = GroupSeals { path: path.to_path_buf(), ranges: ranges(groups).collect(), digits: None };
        let footer = Footer::read(file).map_err(failed)?;
        if is_of_others(&footer.bytes, metadata.file_metadata().created_by()) {
            return Ok(seals);
        }
        let at = match find(&footer.bytes) {
            Found::Nothing => return Ok(seals),
            Found::Broken => return Err(damaged_table(path)),
            Found::Digits(at) => at,
        };
        let end = end_of(groups);
        let fits =
            end <= footer.start && footer.digits(at) == footer.fingerprint(file, end, at).map_err(failed)?.as_bytes();
        let notes = metadata.file_metadata().key_value_metadata();
        let digits = notes.and_then(|notes| notes.iter().find(|note| note.key == GROUPS_KEY)?.value.clone());
        match digits.filter(|digits| fits && digits.len() == DIGITS * groups.len() && digits.is_ascii()) {
            Some(digits) => Ok(GroupSeals { digits: Some(digits), ..seals }),
            None => Err(damaged_table(path)),
        }
    }

    /// Refuses a row group that is not what was written.
    pub fn check(&self, file: &File, group: usize) -> Result<()> {
        let Some(digits) = &self.digits else { return Ok(()) };
        let found = fingerprint_of(file, self.ranges[group].clone()).map_err(|e| Error::io(&self.path, e))?;
        match digits[DIGITS * group..][..DIGITS] == found {
            true => Ok(()),
            false => Err(damaged_table(&self.path)),
        }
    }
}

/// Whether another program wrote the file: some carry over the metadata, and with them the seal, of what they have changed.
/// Neither a damaged letter of our name nor a damaged length makes it another's.
fn is_of_others(footer: &[u8], writer: Option<&str>) -> bool {
    const OURS: &str = "parquet-rs";
    let differences = |writer: &str| OURS.bytes().zip(writer.bytes()).filter(|(ours, other)| ours != other).count();
    let is_other = writer.is_some_and(|writer| writer.len() < OURS.len() || differences(writer) > 1);
    is_other && memmem::find(footer, OURS.as_bytes()).is_none()
}

fn damaged_table(path: &Path) -> Error {
    Error::input(path, "was damaged since it was written: its seal does not fit; fetch or make it again")
}

/// The bytes of each group, and what comes before it.
fn ranges(groups: &[RowGroupMetaData]) -> impl Iterator<Item = Range<u64>> {
    (0..groups.len()).map(|group| end_of(&groups[..group])..end_of(&groups[..=group]))
}

/// Where the last of some groups ends.
fn end_of(groups: &[RowGroupMetaData]) -> u64 {
    let columns = groups.last().map_or(&[][..], |group| group.columns());
    let ends = columns.iter().map(|column| {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        start.saturating_add(column.compressed_size()).max(0) as u64
    });
    ends.max().unwrap_or(0)
}

/// The part at the end of a table that says where everything is.
struct Footer {
    start: u64,
    bytes: Vec<u8>,
}

impl Footer {
    /// The length of the footer, and the letters of the format.
    const END: u64 = 8;

    fn read(file: &File) -> std::io::Result<Self> {
        let size = file.metadata()?.len();
        let mut end = [0; Footer::END as usize];
        read_at(file, &mut end, size.saturating_sub(Footer::END))?;
        let length = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
        let start = size.saturating_sub(Footer::END + length);
        let mut bytes = vec![0; (size - start) as usize];
        read_at(file, &mut bytes, start)?;
        Ok(Footer { start, bytes })
    }

    fn digits(&self, at: usize) -> &[u8] {
        &self.bytes[at..at + DIGITS]
    }

    /// Of all that comes after the last group, but for the digits themselves.
    fn fingerprint(&self, file: &File, groups_end: u64, at: usize) -> std::io::Result<String> {
        let between = fingerprint_of(file, groups_end..self.start)?;
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_bytes(between.as_bytes());
        fingerprint.add_bytes(&self.bytes[..at]);
        fingerprint.add_bytes(&self.bytes[at + DIGITS..]);
        Ok(fingerprint.digits())
    }
}

fn fingerprint_of(file: &File, range: Range<u64>) -> std::io::Result<String> {
    // Small enough to stay in the processor's cache between reading and adding.
    const PIECE: u64 = 1 << 18;
    let mut fingerprint = Fingerprint::default();
    let mut room = vec![0; range.end.saturating_sub(range.start).min(PIECE) as usize];
    let mut start = range.start;
    while start < range.end {
        let piece = &mut room[..(range.end - start).min(PIECE) as usize];
        read_at(file, piece, start)?;
        fingerprint.add_long(piece);
        start += piece.len() as u64;
    }
    Ok(fingerprint.digits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_of_a_sealed_object_is_noticed() {
        let sealed =
            seal_json("{\n  \"type\": \"a\",\n  \"users\": [\"truerank.seal\", \"seal:0123456789abcdef\"]\n}\n");
        check_seal(&sealed).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&sealed).unwrap();
        assert_eq!(value["users"][0], "truerank.seal");
        for bit in 0..8 * sealed.len() {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(check_seal(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn objects_without_a_seal_are_as_they_are() {
        check_seal(b"{\"type\": \"a\"}").unwrap();
        check_seal(b"").unwrap();
    }
}
