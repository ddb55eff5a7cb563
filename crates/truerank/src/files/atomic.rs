//! Writes that leave the old file or the new one, never half of one.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A file that appears under its name only when it is complete.
///
/// The bytes go to a temporary file in the same folder, which is flushed to disk and renamed by
/// [`commit`](AtomicFile::commit). Dropping it without a commit removes the temporary file.
pub struct AtomicFile {
    target: PathBuf,
    file: BufWriter<tempfile::NamedTempFile>,
}

impl AtomicFile {
    /// Starts writing the file that will be called `target`.
    pub fn create(target: &Path) -> Result<Self> {
        if target.is_dir() {
            return Err(Error::input(target, "is a folder, but a file is to be written here"));
        }
        let file = tempfile::Builder::new()
            .prefix(".truerank-")
            .permissions(default_permissions())
            .tempfile_in(folder_of(target))
            .map_err(|e| Error::io(folder_of(target), e))?;
        Ok(AtomicFile { target: target.to_path_buf(), file: BufWriter::with_capacity(1 << 18, file) })
    }

    /// Makes the file appear under its name.
    pub fn commit(self) -> Result<()> {
        let target = self.target;
        let file = self.file.into_inner().map_err(|e| Error::io(&target, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Error::io(&target, e))?;
        file.persist(&target).map_err(|e| Error::io(&target, e.error))?;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Fills a folder that appears under its name only when `fill` succeeded; replaces an older one whole.
pub fn write_folder(target: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if target.exists() && !target.is_dir() {
        return Err(Error::input(target, "is a file, but a folder is to be written here"));
    }
    let staging = tempfile::Builder::new()
        .prefix(".truerank-")
        .tempdir_in(folder_of(target))
        .map_err(|e| Error::io(folder_of(target), e))?;
    let content = staging.path().join("content");
    std::fs::create_dir(&content).map_err(|e| Error::io(&content, e))?;
    fill(&content)?;
    replace_folder(&content, target).map_err(|e| Error::io(target, e))
}

/// Puts `new` in the place of `target`. Where `target` exists, the two change places in one step, and the old one,
/// now inside the staging folder, is removed with it.
fn replace_folder(new: &Path, target: &Path) -> std::io::Result<()> {
    if !target.exists() {
        return std::fs::rename(new, target);
    }
    exchange(new, target)
}

#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(new: &Path, target: &Path) -> std::io::Result<()> {
    let old = new.with_file_name("old");
    std::fs::rename(target, &old)?;
    std::fs::rename(new, target)
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn default_permissions() -> std::fs::Permissions {
    // Temporary files are private by default; results should be as readable as any other file, less the umask.
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

#[cfg(not(unix))]
fn default_permissions() -> std::fs::Permissions {
    std::fs::metadata(".").map(|m| m.permissions()).expect("the current folder has permissions")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_dropped_file_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        std::fs::write(&target, "old").unwrap();
        let mut file = AtomicFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "old");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_folder_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("counts");
        write_folder(&target, |f| std::fs::write(f.join("old"), "1").map_err(|e| Error::io(f, e))).unwrap();
        write_folder(&target, |_| Err(Error::parameter("no"))).unwrap_err();
        assert_eq!(names(&target), ["old"]);
        write_folder(&target, |f| std::fs::write(f.join("new"), "2").map_err(|e| Error::io(f, e))).unwrap();
        assert_eq!(names(&target), ["new"]);
        assert_eq!(names(folder.path()), ["counts"]);
    }
}
