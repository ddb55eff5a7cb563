//! Two files of one run that appear one after the other: the second says which first one it belongs to.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use crate::{Error, Result};

/// The file that another one was written beside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Beside {
    file: String,
    fingerprint: String,
}

impl Beside {
    /// The file at `path`, or the folder of counts.
    pub fn of(path: &Path) -> Result<Self> {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Beside { file, fingerprint: Fingerprint::of_ends(&content(path))? })
    }

    /// Refuses the file at `path` where a file of that name is beside it, but of another run. Where there is none,
    /// nothing can be mixed up.
    pub fn check(&self, path: &Path) -> Result<()> {
        let Some(name) = Path::new(&self.file).file_name() else { return Ok(()) };
        let other = path.with_file_name(name);
        match Fingerprint::of_ends(&content(&other)) {
            Ok(found) if found != self.fingerprint => {
                let finding = "was written with another one than is beside it now; make both again, or put them in folders of their own";
                Err(Error::input(path, format!("belongs to {}, but {finding}", self.file)))
            }
            _ => Ok(()),
        }
    }
}

fn content(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("meta.json") } else { path.to_path_buf() }
}
