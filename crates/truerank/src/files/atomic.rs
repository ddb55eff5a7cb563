//! Writes that leave the old file or the new one, never half of one.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use super::leftovers::{PREFIX, own, remove_leftovers};
use super::steps::step;
use super::target::{Old, Target, followed};
use super::unfinished::Unfinished;
use crate::{Error, Result};

/// A file that appears under its name only when it is complete.
///
/// The bytes go to a temporary file in the same folder, which is flushed to disk and renamed by
/// [`commit`](AtomicFile::commit). Dropping it without a commit removes the temporary file. A file that is replaced hands
/// down its permissions; where the name is a link, what it leads to is replaced. Devices and pipes are written into, all at
/// once when the content is complete.
pub struct AtomicFile {
    /// As it was named.
    name: PathBuf,
    file: BufWriter<Staged>,
}

/// Where bytes wait until all are there.
enum Staged {
    /// Beside the file that they will be.
    Beside { file: tempfile::NamedTempFile, target: PathBuf, _unfinished: Unfinished },
    /// In a file without a name, for a device or a pipe.
    Unnamed { file: File, stream: PathBuf },
}

impl Staged {
    fn file(&self) -> &File {
        match self {
            Staged::Beside { file, .. } => file.as_file(),
            Staged::Unnamed { file, .. } => file,
        }
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file().flush()
    }
}

impl AtomicFile {
    /// Starts writing the file that will be called `name`.
    pub fn create(name: &Path) -> Result<Self> {
        let staged = match Target::of(name)? {
            Target::File(target, old) => stage_beside(target, old)?,
            Target::Stream(stream) => {
                let file = tempfile::tempfile().map_err(|e| not_writable(&std::env::temp_dir(), e))?;
                Staged::Unnamed { file, stream }
            }
        };
        Ok(AtomicFile { name: name.to_path_buf(), file: BufWriter::with_capacity(1 << 18, staged) })
    }

    /// What was written so far, as far as it is flushed.
    pub(super) fn file(&self) -> &File {
        self.file.get_ref().file()
    }

    /// Makes the file appear under its name.
    pub fn commit(self) -> Result<()> {
        let name = self.name;
        let failed = |e| Error::io(&name, e);
        match self.file.into_inner().map_err(|e| failed(e.into_error()))? {
            Staged::Beside { file, target, _unfinished } => {
                step();
                file.as_file().sync_all().map_err(failed)?;
                step();
                file.persist(&target).map_err(|e| failed(e.error))?;
                step();
                Ok(())
            }
            Staged::Unnamed { mut file, stream } => {
                file.rewind().map_err(failed)?;
                // Not from its beginning: a file that is open already may hold what others wrote to it.
                let mut stream = File::options().append(true).open(stream).map_err(failed)?;
                std::io::copy(&mut file, &mut stream).map(drop).map_err(failed)
            }
        }
    }
}

fn stage_beside(target: PathBuf, old: Option<Old>) -> Result<Staged> {
    let folder = existing_folder_of(&target)?;
    remove_leftovers(folder);
    let create = || {
        let mut builder = tempfile::Builder::new();
        let file = again_if_lost(|| {
            let file = builder.prefix(PREFIX).permissions(default_permissions()).tempfile_in(folder)?;
            Ok(own(file.as_file(), file.path()).then_some(file))
        })?;
        if let Some(old) = &old {
            old.hand_down(file.path())?;
        }
        Ok((file.path().to_path_buf(), file))
    };
    let (file, unfinished) = Unfinished::create(create).map_err(|e| not_writable(folder, e))?;
    step();
    Ok(Staged::Beside { file, target, _unfinished: unfinished })
}

/// Makes a temporary file or folder, and makes it again where another run took it for a leftover before it was locked.
fn again_if_lost<T>(mut make: impl FnMut() -> std::io::Result<Option<T>>) -> std::io::Result<T> {
    loop {
        if let Some(made) = make()? {
            return Ok(made);
        }
    }
}

/// Writes a whole file, which appears only when it is complete.
pub fn write_file(target: &Path, content: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(target)?;
    file.write_all(content).map_err(|e| Error::io(target, e))?;
    file.commit()
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
/// Replacing removes all that is in the older folder, so one that holds a name that is not `ours` is refused. Where the name is
/// a link, the folder that it leads to is replaced.
pub fn write_folder<T>(target: &Path, ours: impl Fn(&str) -> bool, fill: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let staged = StagedFolder::create(target, ours)?;
    let filled = fill(staged.path()).map_err(|error| staged.named(error))?;
    staged.commit()?;
    Ok(filled)
}

/// A folder that appears under its name only when it is complete; see [`write_folder`].
pub struct StagedFolder {
    /// As it was named.
    name: PathBuf,
    target: PathBuf,
    content: PathBuf,
    _staging: TemporaryFolder,
}

impl StagedFolder {
    /// Starts the folder that will be called `name`, if it may be written.
    pub fn create(name: &Path, ours: impl Fn(&str) -> bool) -> Result<Self> {
        let (target, staging) = stage_folder(name, ours)?;
        let content = staging.path().join("content");
        std::fs::create_dir(&content).map_err(|e| Error::io(name, e))?;
        Ok(StagedFolder { name: name.to_path_buf(), target, content, _staging: staging })
    }

    /// Where its files are written meanwhile.
    pub fn path(&self) -> &Path {
        &self.content
    }

    /// The error with the names that people know.
    pub fn named(&self, error: Error) -> Error {
        error.moved(&self.content, &self.name)
    }

    /// Makes the folder appear under its name.
    pub fn commit(self) -> Result<()> {
        let failed = |e| Error::io(&self.name, e);
        hand_down(&self.target, &self.content).map_err(failed)?;
        sync_folder(&self.content);
        step();
        replace_folder(&self.content, &self.target).map_err(failed)?;
        step();
        Ok(())
    }
}

/// Gives what replaces a folder the permissions of what was there, name by name.
fn hand_down(old: &Path, new: &Path) -> std::io::Result<()> {
    let Some(found) = Old::at(old) else { return Ok(()) };
    if new.is_dir() {
        for entry in std::fs::read_dir(new)? {
            let name = entry?.file_name();
            hand_down(&old.join(&name), &new.join(&name))?;
        }
    }
    found.hand_down(new)
}

/// The names in a folder reach the disk before the folder is put in its place. Not everywhere can folders be flushed.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Fails where [`write_folder`] would fail, before the work whose result it is to write.
pub fn check_folder(target: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
    stage_folder(target, ours).map(drop)
}

/// A folder for steps of the work, which is removed with all that is in it.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: tempfile::TempDir,
    /// Says that it has an owner, as long as it is open.
    _lock: Option<File>,
    _unfinished: Unfinished,
}

impl TemporaryFolder {
    /// A new one inside of `folder`.
    pub fn create_in(folder: &Path) -> Result<Self> {
        remove_leftovers(folder);
        let create = || {
            let mut builder = tempfile::Builder::new();
            // As open as the umask allows: whoever else takes part in the work writes into it.
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
            let (folder, lock) = again_if_lost(|| {
                let folder = builder.prefix(PREFIX).tempdir_in(folder)?;
                let lock = match File::open(folder.path()) {
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                    // Not everywhere can folders be opened, and nobody takes there what cannot be locked.
                    opened => opened.ok(),
                };
                let is_there = lock.as_ref().is_none_or(|lock| own(lock, folder.path()));
                Ok(is_there.then_some((folder, lock)))
            })?;
            Ok((folder.path().to_path_buf(), (folder, lock)))
        };
        let ((folder, lock), unfinished) = Unfinished::create(create).map_err(|e| not_writable(folder, e))?;
        step();
        Ok(TemporaryFolder { folder, _lock: lock, _unfinished: unfinished })
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

/// Where `name` leads, and a temporary folder beside it, if it may be written.
fn stage_folder(name: &Path, ours: impl Fn(&str) -> bool) -> Result<(PathBuf, TemporaryFolder)> {
    let target = followed(name)?;
    if !can_be_replaced(&target) {
        return Err(Error::input(name, "is where this program runs, so it cannot be replaced; name another folder"));
    }
    if target.is_dir() {
        check_replaceable(name, ours)?;
    } else if target.exists() {
        return Err(Error::input(name, "is a file, but a folder is to be written here"));
    }
    let staging = TemporaryFolder::create_beside(&target)?;
    Ok((target, staging))
}

/// Whether nobody here works in a folder: what is replaced under someone's feet is gone for them.
pub fn can_be_replaced(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return true };
    std::env::current_dir().and_then(|here| here.canonicalize()).is_ok_and(|here| !here.starts_with(folder))
}

fn check_replaceable(folder: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
    let names = loop {
        match names_in(folder) {
            // Another run put its own folder there and removed this one while it was listed.
            Err(error) if error.kind() == ErrorKind::NotFound && folder.is_dir() => {}
            names => break names.map_err(|error| Error::io(folder, error))?,
        }
    };
    match names.into_iter().filter(|name| !ours(name)).min() {
        Some(name) => Err(Error::input(
            folder,
            format!("holds {name}, which replacing the folder would remove; choose a new one"),
        )),
        None => Ok(()),
    }
}

fn names_in(folder: &Path) -> std::io::Result<Vec<String>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Puts `new` in the place of `target`. Where `target` exists, the two change places in one step, and the old one,
/// now inside the staging folder, is removed with it.
fn replace_folder(new: &Path, target: &Path) -> std::io::Result<()> {
    match std::fs::rename(new, target) {
        // Another run may have put its own there since one looked.
        Err(_) if target.exists() => exchange(new, target),
        outcome => outcome,
    }
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
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::files::leftovers::remove_abandoned;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn write(target: &Path, text: &str) -> Result<()> {
        let mut file = AtomicFile::create(target)?;
        file.write_all(text.as_bytes()).unwrap();
        file.commit()
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

    /// Two threads replace a folder again and again, and a third takes for leftovers what it can lock.
    #[test]
    fn runs_that_replace_one_folder_do_not_hinder_each_other() {
        const ROUNDS: usize = 2_000;
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("counts");
        let replace = || {
            for _ in 0..ROUNDS {
                write_folder(&target, |_| true, |new| write(&new.join("cells"), "1")).unwrap();
            }
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let cleaner = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    remove_abandoned(folder.path());
                }
            });
            let outcomes = [scope.spawn(replace), scope.spawn(replace)].map(|run| run.join());
            is_over.store(true, Ordering::Relaxed);
            cleaner.join().unwrap();
            assert!(outcomes.iter().all(|outcome| outcome.is_ok()));
        });
        assert_eq!(names(folder.path()), ["counts"]);
    }

    #[test]
    fn errors_of_a_folder_name_the_folder_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("counts");
        let fill = |folder: &Path| Err::<(), _>(Error::input(&folder.join("cells.parquet"), "is bad"));
        let message = write_folder(&target, |_| true, fill).unwrap_err().to_string();
        assert_eq!(message, format!("{}: is bad", target.join("cells.parquet").display()));
    }

    #[test]
    fn a_folder_with_something_else_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("thesis.tex"), "years").unwrap();
        let message = write_folder(folder.path(), |name| name == "a", |_| Ok(())).unwrap_err().to_string();
        assert!(message.ends_with("holds thesis.tex, which replacing the folder would remove; choose a new one"));
        assert_eq!(names(folder.path()), ["thesis.tex"]);
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("far")).unwrap();
        for (link, target) in [("file", "far/file"), ("new", "far/new"), ("folder", "far/folder")] {
            std::os::unix::fs::symlink(target, path(link)).unwrap();
        }
        std::fs::write(path("far/file"), "old").unwrap();
        std::fs::create_dir(path("far/folder")).unwrap();
        write(&path("file"), "a").unwrap();
        write(&path("new"), "b").unwrap();
        write_folder(&path("folder"), |_| true, |folder| write(&folder.join("c"), "c")).unwrap();
        assert!(["file", "new", "folder"].iter().all(|name| path(name).is_symlink()));
        assert_eq!(names(&path("far")), ["file", "folder", "new"]);
        assert_eq!(std::fs::read_to_string(path("far/file")).unwrap(), "a");
        assert_eq!(names(&path("far/folder")), ["c"]);
        std::os::unix::fs::symlink("ring", path("ring")).unwrap();
        assert!(write(&path("ring"), "").unwrap_err().to_string().contains("link"));
    }

    #[test]
    #[cfg(unix)]
    fn what_was_private_stays_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, inner) = (folder.path().join("file"), folder.path().join("counts"));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let close = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let fill = |folder: &Path| write(&folder.join("cells"), "");
        write(&file, "").unwrap();
        write_folder(&inner, |_| true, fill).unwrap();
        assert_ne!(mode(&file), 0o600);
        close(&file, 0o600);
        close(&inner.join("cells"), 0o640);
        close(&inner, 0o700);
        write(&file, "").unwrap();
        write_folder(&inner, |_| true, fill).unwrap();
        assert_eq!((mode(&file), mode(&inner), mode(&inner.join("cells"))), (0o600, 0o700, 0o640));
    }

    #[test]
    #[cfg(unix)]
    fn devices_and_pipes_are_written_into() {
        use std::io::Read;
        use std::os::unix::fs::FileTypeExt;
        write(Path::new("/dev/null"), "gone").unwrap();
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        };
        write(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(names(folder.path()), ["pipe"]);
    }
}
