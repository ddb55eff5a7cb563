//! Writes that leave the old file or the new one, never half of one.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::unfinished::Unfinished;
use crate::{Error, Result};

/// A file that appears under its name only when it is complete.
///
/// The bytes go to a temporary file in the same folder, which is flushed to disk and renamed by
/// [`commit`](AtomicFile::commit). Dropping it without a commit removes the temporary file.
pub struct AtomicFile {
    target: PathBuf,
    file: BufWriter<tempfile::NamedTempFile>,
    unfinished: Unfinished,
}

/// How the names of unfinished files begin.
const TEMPORARY: &str = ".truerank-";

/// Whether a file is one that was never finished, by its name.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY))
}

impl AtomicFile {
    /// Starts writing the file that will be called `target`.
    pub fn create(target: &Path) -> Result<Self> {
        if target.is_dir() {
            return Err(Error::input(target, "is a folder, but a file is to be written here"));
        }
        let folder = existing_folder_of(target)?;
        let create = || {
            let mut builder = tempfile::Builder::new();
            let file = builder.prefix(TEMPORARY).permissions(default_permissions()).tempfile_in(folder)?;
            Ok((file.path().to_path_buf(), file))
        };
        let (file, unfinished) = Unfinished::create(create).map_err(|e| not_writable(folder, e))?;
        Ok(AtomicFile { target: target.to_path_buf(), file: BufWriter::with_capacity(1 << 18, file), unfinished })
    }

    /// Makes the file appear under its name.
    pub fn commit(self) -> Result<()> {
        let target = self.target;
        let file = self.file.into_inner().map_err(|e| Error::io(&target, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Error::io(&target, e))?;
        file.persist(&target).map_err(|e| Error::io(&target, e.error))?;
        drop(self.unfinished);
        Ok(())
    }
}

/// Fails where writing `target` would fail, before the work whose result it is to hold.
pub fn check_file(target: &Path) -> Result<()> {
    AtomicFile::create(target).map(drop)
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
///
/// Replacing removes all that is in the older folder, so one that holds a name that is not `ours` is refused.
pub fn write_folder<T>(target: &Path, ours: impl Fn(&str) -> bool, fill: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let staging = stage_folder(target, ours)?;
    let content = staging.path().join("content");
    std::fs::create_dir(&content).map_err(|e| Error::io(&content, e))?;
    let filled = fill(&content)?;
    replace_folder(&content, target).map_err(|e| Error::io(target, e))?;
    Ok(filled)
}

/// Fails where [`write_folder`] would fail, before the work whose result it is to write.
pub fn check_folder(target: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
    stage_folder(target, ours).map(drop)
}

/// A folder for steps of the work, which is removed with all that is in it.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: tempfile::TempDir,
    _unfinished: Unfinished,
}

impl TemporaryFolder {
    /// A new one inside of `folder`.
    pub fn create_in(folder: &Path) -> Result<Self> {
        let create = || {
            let mut builder = tempfile::Builder::new();
            // As open as the umask allows: whoever else takes part in the work writes into it.
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
            let folder = builder.prefix(TEMPORARY).tempdir_in(folder)?;
            Ok((folder.path().to_path_buf(), folder))
        };
        let (folder, unfinished) = Unfinished::create(create).map_err(|e| not_writable(folder, e))?;
        Ok(TemporaryFolder { folder, _unfinished: unfinished })
    }

    /// A new one beside `target`.
    pub fn create_beside(target: &Path) -> Result<Self> {
        Self::create_in(existing_folder_of(target)?)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A temporary folder beside `target`, if that may be written.
fn stage_folder(target: &Path, ours: impl Fn(&str) -> bool) -> Result<TemporaryFolder> {
    if target.is_dir() {
        check_replaceable(target, ours)?;
    } else if target.exists() {
        return Err(Error::input(target, "is a file, but a folder is to be written here"));
    }
    TemporaryFolder::create_beside(target)
}

fn check_replaceable(folder: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
    let failed = |e| Error::io(folder, e);
    let mut others = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if !ours(&name) {
            others.push(name);
        }
    }
    match others.into_iter().min() {
        Some(name) => Err(Error::input(
            folder,
            format!("holds {name}, which replacing the folder would remove; choose a new one"),
        )),
        None => Ok(()),
    }
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

/// The folder that `target` is to stand in, which must be there.
fn existing_folder_of(target: &Path) -> Result<&Path> {
    let folder = folder_of(target);
    match folder.is_dir() {
        true => Ok(folder),
        false if folder.exists() => Err(Error::input(folder, "is a file, but a folder is needed to write into")),
        false => Err(Error::input(folder, "no such folder to write into; create it first")),
    }
}

/// The error without the temporary file's name, which tells nobody anything.
fn not_writable(folder: &Path, cause: std::io::Error) -> Error {
    Error::io(folder, cause.kind().into())
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
        let put = |name: &'static str| {
            move |folder: &Path| std::fs::write(folder.join(name), "1").map_err(|e| Error::io(folder, e))
        };
        write_folder(&target, |_| true, put("old")).unwrap();
        write_folder(&target, |_| true, |_| Err::<(), _>(Error::parameter("no"))).unwrap_err();
        assert_eq!(names(&target), ["old"]);
        write_folder(&target, |name| name == "old", put("new")).unwrap();
        assert_eq!(names(&target), ["new"]);
        assert_eq!(names(folder.path()), ["counts"]);
    }

    #[test]
    fn a_folder_with_something_else_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("thesis.tex"), "years").unwrap();
        let message = write_folder(folder.path(), |name| name == "a", |_| Ok(())).unwrap_err().to_string();
        assert!(message.ends_with("holds thesis.tex, which replacing the folder would remove; choose a new one"));
        assert_eq!(names(folder.path()), ["thesis.tex"]);
    }
}
