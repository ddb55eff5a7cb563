//! A report to a folder: the page, every figure and every table; and what an earlier report left is taken away.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Report;
use super::check::is_stem;
use crate::files::AtomicFile;
use crate::{Error, Result};

/// The list of what a report wrote. It says which files are a report's, so that no others are ever removed.
const LIST: &str = "report-files.json";
const TYPE: &str = "truerank/report-files";

#[derive(Serialize, Deserialize)]
struct List {
    r#type: String,
    version: u32,
    files: BTreeSet<String>,
}

/// Writes the report; see [`Report::write`].
pub fn write(report: &Report, folder: &Path) -> Result<()> {
    let files = contents(report)?;
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let earlier = earlier_files(folder);
    make_folder(folder)?;
    // Whenever a run is killed, the list names all that is there.
    write_list(folder, earlier.union(&names).cloned().collect())?;
    for (name, content) in &files {
        let path = folder.join(name);
        make_folder(path.parent().unwrap_or(folder))?;
        write_file(&path, content)?;
    }
    for name in earlier.difference(&names) {
        remove(&folder.join(name))?;
    }
    write_list(folder, names)
}

/// Names with contents, the page last: it is there when all that belongs to it is.
fn contents(report: &Report) -> Result<Vec<(String, String)>> {
    let page = report.html()?;
    let mut files = Vec::new();
    for table in report.tables() {
        files.push((format!("tables/{}.csv", table.name), table.csv()));
        files.push((format!("tables/{}.tex", table.name), table.latex()));
    }
    files.extend(report.figures().into_iter().map(|figure| (format!("figures/{}.svg", figure.name), figure.svg())));
    files.push(("report.html".to_string(), page));
    Ok(files)
}

/// What the list of an earlier report names; nothing where there is none or it is not one.
fn earlier_files(folder: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder.join(LIST)).unwrap_or_default();
    let list: Option<List> = serde_json::from_str(&text).ok().filter(|list: &List| list.r#type == TYPE);
    list.map(|list| list.files.into_iter().filter(|name| is_ours(name)).collect()).unwrap_or_default()
}

/// Whether a report could have written a file of this name: a list that was tampered with leads nowhere else.
fn is_ours(name: &str) -> bool {
    let stem = |folder: &str, ending: &str| name.strip_prefix(folder).and_then(|rest| rest.strip_suffix(ending));
    let stems = [stem("tables/", ".csv"), stem("tables/", ".tex"), stem("figures/", ".svg")];
    stems.into_iter().flatten().any(is_stem)
}

fn write_list(folder: &Path, files: BTreeSet<String>) -> Result<()> {
    let list = List { r#type: TYPE.to_string(), version: 1, files };
    let text = serde_json::to_string_pretty(&list).expect("names are plain data");
    write_file(&folder.join(LIST), &(text + "\n"))
}

fn write_file(path: &Path, content: &str) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(content.as_bytes()).map_err(|e| Error::io(path, e))?;
    file.commit()
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))
}

/// Removes a file, and its folder if nothing else is in it.
fn remove(path: &PathBuf) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(path, e)),
        _ => {}
    }
    if let Some(folder) = path.parent() {
        // Fails where the folder is not empty, which is well.
        let _ = std::fs::remove_dir(folder);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Block, Chart, Dots, Figure, Section, Table};

    fn report(tables: &[&str], figures: &[&str]) -> Report {
        let table = |name: &&str| Block::Table(Table { name: name.to_string(), ..Table::default() });
        let chart = || Chart::Dots(Dots::default());
        let figure = |name: &&str| Figure { name: name.to_string(), caption: String::new(), chart: chart() };
        let mut blocks: Vec<Block> = tables.iter().map(table).collect();
        blocks.push(Block::Gallery(figures.iter().map(figure).collect()));
        Report { sections: vec![Section { blocks, ..Section::default() }], ..Report::default() }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            match entry.is_dir() {
                true => names.extend(self::names(&entry).iter().map(|inner| format!("{name}/{inner}"))),
                false => names.push(name),
            }
        }
        names.sort();
        names
    }

    #[test]
    fn a_report_replaces_an_earlier_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        report(&["a", "b"], &["c", "d"]).write(&target).unwrap();
        std::fs::write(target.join("figures/mine.svg"), "mine").unwrap();
        report(&[], &["d"]).write(&target).unwrap();
        assert_eq!(names(&target), ["figures/d.svg", "figures/mine.svg", "report-files.json", "report.html"]);
        assert!(!target.join("tables").exists());
    }

    #[test]
    fn the_same_report_is_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let read =
            || names(folder.path()).iter().map(|name| std::fs::read(folder.path().join(name)).unwrap()).collect();
        report(&["a"], &["b"]).write(folder.path()).unwrap();
        let first: Vec<Vec<u8>> = read();
        report(&["a"], &["b"]).write(folder.path()).unwrap();
        assert_eq!(first, read());
    }

    #[test]
    fn a_list_that_was_tampered_with_removes_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(folder.path().join("thesis.svg"), "years").unwrap();
        std::fs::write(target.join("notes.csv"), "mine").unwrap();
        let files = ["../thesis.svg", "figures/../../thesis.svg", "notes.csv", "/etc/passwd"].map(String::from);
        write_list(&target, files.into_iter().collect()).unwrap();
        report(&[], &[]).write(&target).unwrap();
        assert_eq!(names(folder.path()), ["out/notes.csv", "out/report-files.json", "out/report.html", "thesis.svg"]);
    }

    #[test]
    fn nothing_is_written_where_a_name_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        assert!(report(&["A"], &[]).write(folder.path()).is_err());
        assert!(names(folder.path()).is_empty());
    }
}
