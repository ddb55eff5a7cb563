//! A report to a folder: the page, every figure and every table; and what an earlier report left is taken away.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Report;
use super::check::is_stem;
use crate::files::{Limit, can_be_replaced, read_text, write_file, write_folder};
use crate::{Error, Result};

/// The list of what a report wrote. It says which files are a report's, so that no others are ever removed.
const LIST: &str = "report-files.json";
const TYPE: &str = "truerank/report-files";
const PAGE: &str = "report.html";

/// Lists of earlier versions do not say it.
fn yes() -> bool {
    true
}

#[derive(Serialize, Deserialize)]
struct List {
    r#type: String,
    version: u32,
    /// Whether all of them are of one report: false while they are replaced, and after a run that was killed then.
    #[serde(default = "yes")]
    finished: bool,
    files: BTreeSet<String>,
}

/// Writes the report; see [`Report::write`].
///
/// A folder that holds nothing but a report is replaced whole. Beside other things, the files are replaced one after the other,
/// and the list says meanwhile that they are not all of one report.
pub fn write(report: &Report, folder: &Path) -> Result<()> {
    let files = contents(report)?;
    check_page(folder)?;
    match is_replaceable(folder) {
        true => write_folder(folder, |_| true, |folder| write_into(folder, &files)),
        false => write_into(folder, &files),
    }
}

fn write_into(folder: &Path, files: &[(String, String)]) -> Result<()> {
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let earlier = earlier_files(folder);
    make_folder(folder)?;
    // Whenever a run is killed, the list names all that is there.
    write_list(folder, earlier.union(&names).cloned().collect(), false)?;
    for (name, content) in files {
        let path = folder.join(name);
        make_folder(path.parent().unwrap_or(folder))?;
        write_file(&path, content.as_bytes())?;
    }
    for name in earlier.difference(&names) {
        remove(&folder.join(name))?;
    }
    write_list(folder, names, true)
}

/// Whether a folder can be replaced whole: it is new, or there is nothing in it but a report, and nobody works in it.
fn is_replaceable(folder: &Path) -> bool {
    if make_folder_of(folder).is_err() || !can_be_replaced(folder) {
        return false;
    }
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.into_iter().all(|name| is_report_file(&name.to_string_lossy())) && foreign_file(folder).is_none()
}

/// Whether a report has a file or folder of this name.
pub(crate) fn is_report_file(name: &str) -> bool {
    [PAGE, LIST, "tables", "figures"].contains(&name)
}

/// A file in the places of a report that no report wrote, if there is one.
pub(crate) fn foreign_file(folder: &Path) -> Option<String> {
    if check_page(folder).is_err() {
        return Some(PAGE.to_string());
    }
    let known = earlier_files(folder);
    let of = |inner: &'static str| {
        let entries = std::fs::read_dir(folder.join(inner)).into_iter().flatten().flatten();
        entries.map(move |entry| format!("{inner}/{}", entry.file_name().to_string_lossy()))
    };
    of("tables").chain(of("figures")).find(|name| !known.contains(name))
}

/// A page without the list of a report beside it is someone else's.
fn check_page(folder: &Path) -> Result<()> {
    let page = folder.join(PAGE);
    match page.exists() && read_list(folder).is_none() {
        true => Err(Error::input(&page, "is there already and is no report of truerank; choose another folder")),
        false => Ok(()),
    }
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
    files.push((PAGE.to_string(), page));
    Ok(files)
}

/// The list of an earlier report, if there is one.
fn read_list(folder: &Path) -> Option<List> {
    let text = read_text(&folder.join(LIST), Limit::Description).ok()?;
    serde_json::from_str(&text).ok().filter(|list: &List| list.r#type == TYPE)
}

/// What the list of an earlier report names; nothing where there is none.
fn earlier_files(folder: &Path) -> BTreeSet<String> {
    read_list(folder).map(|list| list.files.into_iter().filter(|name| is_ours(name)).collect()).unwrap_or_default()
}

/// Whether a report could have written a file of this name: a list that was tampered with leads nowhere else.
fn is_ours(name: &str) -> bool {
    let stem = |folder: &str, ending: &str| name.strip_prefix(folder).and_then(|rest| rest.strip_suffix(ending));
    let stems = [stem("tables/", ".csv"), stem("tables/", ".tex"), stem("figures/", ".svg")];
    stems.into_iter().flatten().any(is_stem)
}

fn write_list(folder: &Path, files: BTreeSet<String>, finished: bool) -> Result<()> {
    let list = List { r#type: TYPE.to_string(), version: 1, finished, files };
    let text = serde_json::to_string_pretty(&list).expect("names are plain data");
    write_file(&folder.join(LIST), (text + "\n").as_bytes())
}

/// Makes the folder that `path` is to stand in.
fn make_folder_of(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => make_folder(parent),
        _ => Ok(()),
    }
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
        write_list(&target, files.into_iter().collect(), true).unwrap();
        report(&[], &[]).write(&target).unwrap();
        assert_eq!(names(folder.path()), ["out/notes.csv", "out/report-files.json", "out/report.html", "thesis.svg"]);
    }

    #[test]
    fn a_page_of_someone_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(PAGE), "mine").unwrap();
        let message = report(&["a"], &[]).write(folder.path()).unwrap_err().to_string();
        assert!(message.ends_with("report.html: is there already and is no report of truerank; choose another folder"));
        assert_eq!(names(folder.path()), [PAGE]);
        assert_eq!(foreign_file(folder.path()).as_deref(), Some(PAGE));
    }

    #[test]
    fn nothing_is_written_where_a_name_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        assert!(report(&["A"], &[]).write(folder.path()).is_err());
        assert!(names(folder.path()).is_empty());
    }
}
