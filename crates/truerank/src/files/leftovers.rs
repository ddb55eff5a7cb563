//! Temporary files and folders: who owns them, and what runs left that were killed.
//!
//! Whoever makes one holds a lock on it. The system lets go of locks however a process ends, so what can be locked has no
//! owner any more and is removed. Numbers of processes would not tell: they are used again, and differ between containers.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How the names of temporary files and folders begin.
pub(super) const PREFIX: &str = ".truerank-";

/// Whether a file or folder is a temporary one, by its name.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Folders that were looked at by this process: once is enough, and folders may be large.
static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes from `folder` what killed runs left. Where that fails nothing is lost but room.
pub(crate) fn remove_leftovers(folder: &Path) {
    let Ok(folder) = folder.canonicalize() else { return };
    if !SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone()) {
        return;
    }
    remove_abandoned(&folder);
}

/// Removes from `folder` what nobody holds a lock on.
pub(super) fn remove_abandoned(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    entries.flatten().map(|entry| entry.path()).filter(|path| is_temporary(path)).for_each(|path| remove(&path));
}

fn remove(path: &Path) {
    // A link is none of ours, and leads elsewhere.
    let Ok(kind) = path.symlink_metadata().map(|found| found.file_type()) else { return };
    if !(kind.is_file() || kind.is_dir()) {
        return;
    }
    let Ok(file) = File::open(path) else { return };
    // The lock is held while it is removed: an owner that was about to take it sees afterwards that it is gone.
    if file.try_lock().is_ok() {
        let _ = if kind.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

/// Takes the lock of a temporary file or folder that was just made. Whether it is still there: someone may have taken it for
/// a leftover before.
pub(super) fn own(file: &File, path: &Path) -> bool {
    // Where locks cannot be had, nobody can take it for a leftover either.
    let _ = file.lock();
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path(".truerank-dead/content")).unwrap();
        std::fs::create_dir(path(".truerank-alive")).unwrap();
        for name in [".truerank-dead/content/a", ".truerank-old", ".truerank-new", "other"] {
            std::fs::write(path(name), "").unwrap();
        }
        let held = [".truerank-alive", ".truerank-new"].map(|name| File::open(path(name)).unwrap());
        assert!(own(&held[0], &path(".truerank-alive")) && own(&held[1], &path(".truerank-new")));
        remove_leftovers(folder.path());
        let left = |name: &str| path(name).exists();
        assert!(left("other") && left(".truerank-alive") && left(".truerank-new"));
        assert!(!left(".truerank-dead") && !left(".truerank-old"));
        assert!(!own(&held[0], &path(".truerank-dead")));
    }
}
