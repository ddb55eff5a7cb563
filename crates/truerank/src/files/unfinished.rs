//! Which temporary files and folders there are, for a program that is asked to stop and cannot wait for them to be dropped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// State of the whole process, since a signal is one too.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary file or folder that is to be removed if the program stops now.
#[derive(Debug)]
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    /// Notes what `create` makes, and where; nothing can be made while [`remove_unfinished`] works.
    pub fn create<T>(create: impl FnOnce() -> std::io::Result<(PathBuf, T)>) -> std::io::Result<(T, Self)> {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, made) = create()?;
        unfinished.insert(path.clone());
        Ok((made, Unfinished(path)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Removes all temporary files and folders of the process, and calls `stop`, which should end it: until then nobody can make
/// new ones. For handlers of Ctrl-C; targets stay as they are.
pub fn remove_unfinished(stop: impl FnOnce()) {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.iter().for_each(|path| remove(path));
    stop();
}

/// Another thread may be writing into a folder while it is removed: then it is tried again.
fn remove(path: &Path) {
    const TRIES: usize = 20;
    for _ in 0..TRIES {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        if !path.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
