//! What the path of a result names: a file to make or replace, or something to write into.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// What is to be written.
pub(super) enum Target {
    /// A file, new or replaced whole; links are followed, so that the link stays and what it leads to is replaced.
    File(PathBuf, Option<Old>),
    /// A device or a pipe, which is written into and never replaced.
    Stream(PathBuf),
}

/// What a file that is replaced hands down.
pub(super) struct Old {
    permissions: Permissions,
    #[cfg(unix)]
    owner: (u32, u32),
}

impl Target {
    pub fn of(path: &Path) -> Result<Self> {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(Error::input(path, "is a folder, but a file is to be written here")),
            Ok(found) if is_stream(&found, path) => Ok(Target::Stream(path.to_path_buf())),
            Ok(found) if found.is_file() => Ok(Target::File(followed(path)?, Some(Old::of(&found)))),
            Ok(_) => {
                let finding = "is neither a file nor a pipe nor a device that takes text; name a file to write";
                Err(Error::input(path, finding))
            }
            // What is wrong with the folder is said where it is looked at.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Target::File(followed(path)?, None))
            }
            Err(error) => Err(Error::io(path, error)),
        }
    }
}

impl Old {
    #[cfg(unix)]
    fn of(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Old { permissions: metadata.permissions(), owner: (metadata.uid(), metadata.gid()) }
    }

    #[cfg(not(unix))]
    fn of(metadata: &std::fs::Metadata) -> Self {
        Old { permissions: metadata.permissions() }
    }

    /// Gives the permissions of what is replaced to what replaces it, so that what was private stays so, and its owner
    /// where that is allowed.
    pub fn hand_down(&self, path: &Path) -> std::io::Result<()> {
        #[cfg(unix)]
        let _ = std::os::unix::fs::chown(path, Some(self.owner.0), Some(self.owner.1));
        std::fs::set_permissions(path, self.permissions.clone())
    }

    /// Of the file or folder at `path`, if there is one.
    pub fn at(path: &Path) -> Option<Self> {
        Some(Old::of(&std::fs::metadata(path).ok()?))
    }
}

/// Links that lead to each other would be followed for ever.
const LINKS: usize = 40;

/// Where a path really leads, also where nothing is there yet.
pub(super) fn followed(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let Ok(link) = std::fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(Error::input(&path, "is a link that leads back to itself; name a file to write"))
}

/// Files that a process has open already, such as `/dev/stdout`, are written into too: whoever opened them wants it there.
#[cfg(unix)]
fn is_stream(found: &std::fs::Metadata, path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = found.file_type();
    let is_open_already = path.starts_with("/proc") || (path.starts_with("/dev") && !path.starts_with("/dev/shm"));
    kind.is_char_device() || kind.is_fifo() || (is_open_already && kind.is_file())
}

#[cfg(not(unix))]
fn is_stream(_: &std::fs::Metadata, _: &Path) -> bool {
    false
}
