//! Results that are pages: a report enters, what people see of it leaves: text, a notebook's cell, a page and a folder. A pickle
//! keeps what is seen, since reports are made of values that only this process has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use truerank::files::{TemporaryFolder, write_file, write_folder};
use truerank::report::Report;
use truerank::{Error, Result};

use crate::error::to_python;
use crate::html;
use crate::run::run_quiet;

/// A page, as it was made or as a pickle kept it.
pub enum Page {
    /// The report, and what is shown of it where that is shorter.
    Made {
        report: Box<Report>,
        short: Box<Report>,
    },
    Kept(KeptPage),
}

/// What a pickle keeps of a page.
#[derive(Clone, FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub struct KeptPage {
    text: String,
    notebook: String,
    html: String,
    /// The files of its folder, by their paths in it.
    files: BTreeMap<String, String>,
}

impl From<Report> for Page {
    fn from(report: Report) -> Self {
        Page::Made { short: Box::new(report.clone()), report: Box::new(report) }
    }
}

impl Page {
    pub fn new(report: Report, short: Report) -> Self {
        Page::Made { report: Box::new(report), short: Box::new(short) }
    }

    pub fn text(&self) -> String {
        match self {
            Page::Made { short, .. } => short.text(),
            Page::Kept(kept) => kept.text.clone(),
        }
    }

    pub fn notebook(&self) -> String {
        match self {
            Page::Made { short, .. } => html::report(short),
            Page::Kept(kept) => kept.notebook.clone(),
        }
    }

    pub fn html(&self, py: Python<'_>) -> PyResult<String> {
        match self {
            Page::Made { report, .. } => run_quiet(py, || report.html()),
            Page::Kept(kept) => Ok(kept.html.clone()),
        }
    }

    /// Writes the folder of the report.
    pub fn write(&self, py: Python<'_>, folder: &Path) -> PyResult<()> {
        match self {
            Page::Made { report, .. } => run_quiet(py, || report.write(folder)),
            Page::Kept(kept) => run_quiet(py, || kept.write(folder)),
        }
    }

    /// What a pickle keeps.
    pub fn kept(&self, py: Python<'_>) -> PyResult<KeptPage> {
        if let Page::Kept(kept) = self {
            return Ok(kept.clone());
        }
        let folder = TemporaryFolder::create_in(&std::env::temp_dir()).map_err(to_python)?;
        let place = folder.path().join("report");
        self.write(py, &place)?;
        let mut files = BTreeMap::new();
        collect(&place, &place, &mut files).map_err(to_python)?;
        Ok(KeptPage { text: self.text(), notebook: self.notebook(), html: self.html(py)?, files })
    }
}

impl KeptPage {
    fn write(&self, folder: &Path) -> Result<()> {
        let ours: Vec<&str> = self.files.keys().filter_map(|name| name.split('/').next()).collect();
        write_folder(
            folder,
            |name| ours.contains(&name),
            |folder| {
                self.files.iter().try_for_each(|(name, text)| {
                    let path = folder.join(name);
                    let parent = path.parent().unwrap_or(folder);
                    std::fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
                    write_file(&path, text.as_bytes())
                })
            },
        )
    }
}

/// The files of a folder and those below it.
fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> Result<()> {
    let failed = |error| Error::io(folder, error);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<PathBuf>>>();
    for path in paths.map_err(failed)? {
        if path.is_dir() {
            collect(root, &path, files)?;
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        files.insert(name, std::fs::read_to_string(&path).map_err(|error| Error::io(&path, error))?);
    }
    Ok(())
}
