//! Temporary data on disk, in a file without a name: it vanishes however the process ends.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// A temporary file that many threads append to and read from.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    file: File,
    end: AtomicU64,
}

impl Spool {
    /// A new one on the disk of `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|cause| failed(folder, cause))?;
        Ok(Spool { folder: folder.to_path_buf(), file, end: AtomicU64::new(0) })
    }

    /// Appends `bytes` and says where they start.
    pub fn append(&self, bytes: &[u8]) -> Result<u64> {
        let start = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        write_at(&self.file, bytes, start).map_err(|cause| failed(&self.folder, cause))?;
        Ok(start)
    }

    /// Fills `bytes` with what starts at `start`.
    pub fn read(&self, start: u64, bytes: &mut [u8]) -> Result<()> {
        read_at(&self.file, bytes, start).map_err(|cause| failed(&self.folder, cause))
    }

    /// Appends `bytes` and says where they are.
    pub fn append_range(&self, bytes: &[u8]) -> Result<Range<u64>> {
        let start = self.append(bytes)?;
        Ok(start..start + bytes.len() as u64)
    }

    /// The bytes of a range.
    pub fn range(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.read(range.start, &mut bytes)?;
        Ok(bytes)
    }

    /// The error for bytes that are not what was appended.
    pub fn damaged(&self) -> Error {
        Error::input(&self.folder, "a temporary file here does not hold what was written to it; is the disk in order?")
    }

    /// How many bytes were appended.
    pub fn size(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

fn failed(folder: &Path, cause: std::io::Error) -> Error {
    let finding = match cause.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "the disk is full of what does not fit into memory; raise `memory`, or name a folder on \
             another disk with `temporary`"
                .to_string()
        }
        std::io::ErrorKind::NotFound => "no such folder for temporary files; create it first".to_string(),
        _ => format!("temporary files cannot be kept here ({cause}); name another folder with `temporary`"),
    };
    Error::input(folder, finding)
}

#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], start: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, start)
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], start: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
pub(super) fn write_at(file: &File, mut bytes: &[u8], mut start: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, start)?;
        (bytes, start) = (&bytes[written..], start + written as u64);
    }
    Ok(())
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, start)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        (bytes, start) = (&mut bytes[read..], start + read as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_read_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::create(folder.path()).unwrap();
        let starts = ["one", "", "three"].map(|text| spool.append(text.as_bytes()).unwrap());
        assert_eq!((starts, spool.size()), ([0, 3, 3], 8));
        let mut bytes = [0; 5];
        spool.read(3, &mut bytes).unwrap();
        assert_eq!(&bytes, b"three");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_folder_and_a_short_file_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let message = Spool::create(&missing).unwrap_err().to_string();
        assert_eq!(message, format!("{}: no such folder for temporary files; create it first", missing.display()));
        let spool = Spool::create(folder.path()).unwrap();
        assert!(spool.read(0, &mut [0]).unwrap_err().to_string().contains("name another folder with `temporary`"));
    }
}
