//! The files of a log as one view of the cluster: `session, user, query, doc, position, click, file`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cluster::Cluster;
use super::paths::{file_url, files_url, is_far, text};
use crate::files::Compression;
use crate::log::{ALL_PAGES, ANONYMOUS, ColumnKind, FileShape, LogFormat, LogShape, QUERY_JOINT};
use crate::sql::{Dialect, click_value};
use crate::{Error, Result};

/// The name of the view.
pub(super) const SOURCE: &str = "truerank_source";
/// The column with the address of a row's file.
pub(super) const FILE: &str = "file";
/// Where Spark puts a record that it cannot read; the name must not be one of a log's.
const BROKEN: &str = "truerank broken record";
/// Between the parts of a session that is made of several columns, as when counting here.
const JOINT: &str = " || CHR(31) || ";

/// Which ids are text. Whole numbers are kept as such where all files have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdKinds {
    pub users: bool,
    pub queries: bool,
    pub docs: bool,
}

/// Files that can be read by one scan: of one folder, form, and types of columns.
struct Group<'a> {
    view: String,
    shape: &'a FileShape,
    /// Where they are; what only the cluster sees is named as a whole.
    folder: PathBuf,
    names: Vec<String>,
}

/// Makes the view.
pub(super) fn make_source(cluster: &Cluster, log: &LogShape) -> Result<IdKinds> {
    log.files.iter().try_for_each(check)?;
    let groups = groups(&log.files)?;
    groups.iter().try_for_each(|group| group.open(cluster))?;
    let kinds = id_kinds(cluster, &groups)?;
    let selects: Vec<String> = groups.iter().map(|group| group.select(kinds)).collect();
    cluster.view(SOURCE, &selects.join("\nUNION ALL\n"))?;
    Ok(kinds)
}

/// Refuses what Spark would read otherwise than we do, or not at all.
fn check(file: &FileShape) -> Result<()> {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_named_gz = name.to_lowercase().ends_with(".gz");
    let is_text = file.format != LogFormat::Parquet;
    let is_known =
        matches!(file.format, LogFormat::Parquet | LogFormat::JsonLines) || file.format.separator().is_some();
    let finding = match file.compression {
        _ if file.layout.events.is_some() => "is a log of events, which are joined into impressions on one machine",
        _ if !is_known => "has a form that Spark does not read; convert it to Parquet",
        _ if file.layout.session.is_empty() => {
            "has no sessions, and rows have no numbers on Spark that could tell pages apart; add a column that does"
        }
        _ if file.has_no_header => "has no header, but Spark takes the first line of CSV and TSV for one; add it",
        _ if file.layout.lists.is_some() => "has one row per result page, but Spark counts rows per shown document",
        _ if name.starts_with(['.', '_']) && !is_far(&file.path) => {
            "has a name that starts with . or _, but Spark passes over such files; rename it"
        }
        _ if file.is_array => "is one JSON array, but Spark reads one object per line",
        Some(Compression::Zstd) => {
            "is compressed with zstd, but Spark reads gzip; compress it so, or convert it to Parquet"
        }
        Some(Compression::Gzip) if !is_named_gz => {
            "is compressed with gzip, but Spark knows that by the ending .gz; rename it"
        }
        None if is_text && is_named_gz => "is not compressed, but Spark thinks so of names that end in .gz; rename it",
        _ => return check_types(file),
    };
    Err(refused(&file.path, finding))
}

fn check_types(file: &FileShape) -> Result<()> {
    let layout = &file.layout;
    let replaced = file.layout.columns().into_iter().find(|at| file.columns[*at].0.contains("${"));
    if let (Some(at), LogFormat::Parquet) = (replaced, file.format) {
        let finding =
            format!("has a column '{}', but Spark replaces ${{…}} in names of Parquet columns", file.columns[at].0);
        return Err(refused(&file.path, &finding));
    }
    for &at in layout.query.iter().chain([&layout.doc]).chain(&layout.user) {
        if let (name, ColumnKind::Unsigned) = &file.columns[at] {
            let finding =
                format!("has ids of type UInt64 in column '{name}', but Spark has no such type; store them as text");
            return Err(refused(&file.path, &finding));
        }
    }
    match file.layout.session.iter().map(|at| &file.columns[*at]).find(|(_, kind)| *kind == ColumnKind::Time) {
        Some((name, _)) => Err(refused(
            &file.path,
            &format!("has times as sessions in column '{name}', but Spark needs text or numbers"),
        )),
        None => Ok(()),
    }
}

fn refused(path: &Path, finding: &str) -> Error {
    Error::input(path, format!("{finding}; or count without Spark"))
}

fn groups(files: &[FileShape]) -> Result<Vec<Group<'_>>> {
    let mut found: BTreeMap<(String, String), Group<'_>> = BTreeMap::new();
    for shape in files {
        let (folder, name) = match is_far(&shape.path) {
            true => (shape.path.clone(), String::new()),
            false => {
                let path = PathBuf::from(text(&shape.path)?);
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                (path.parent().unwrap_or(Path::new("/")).to_path_buf(), name)
            }
        };
        let layout = &shape.layout;
        let fields = (&layout.session, layout.user, &layout.query, layout.doc, layout.position, layout.click);
        let signature = format!("{} {fields:?} {:?} {:?}", shape.format, shape.columns, shape.types);
        let count = found.len();
        let group = found.entry((signature, folder.display().to_string())).or_insert_with(|| Group {
            view: format!("truerank_files_{count}"),
            shape,
            folder,
            names: Vec::new(),
        });
        group.names.push(name);
    }
    Ok(found.into_values().collect())
}

/// What is text in some file. JSON tells it value by value.
fn id_kinds(cluster: &Cluster, groups: &[Group<'_>]) -> Result<IdKinds> {
    let mut found = [false; 3];
    for group in groups {
        let layout = &group.shape.layout;
        // Several columns together are text.
        let query = match layout.query[..] {
            [query] => Some(query),
            _ => None,
        };
        let columns = [layout.user, query, Some(layout.doc)];
        for (is_text, column) in found.iter_mut().zip(columns) {
            *is_text |= match column {
                None => true,
                Some(at) => group.is_text(cluster, at)?,
            };
        }
    }
    let [users, queries, docs] = found;
    Ok(IdKinds { users, queries, docs })
}

impl Group<'_> {
    /// Names the files to Spark.
    fn open(&self, cluster: &Cluster) -> Result<()> {
        let url = match is_far(&self.folder) {
            true => file_url(&self.folder)?,
            false => files_url(&self.folder, &self.names)?,
        };
        let broken = ("columnNameOfCorruptRecord", BROKEN);
        let delimited = |separator| {
            [
                ("header", "true"),
                ("sep", separator),
                ("quote", "\""),
                ("escape", "\""),
                // Ids may have line ends in their quotes.
                ("multiLine", "true"),
                ("unescapedQuoteHandling", "RAISE_ERROR"),
                ("mode", "PERMISSIVE"),
                broken,
            ]
        };
        match (self.shape.format, self.shape.format.separator()) {
            (LogFormat::Parquet, _) => cluster.files(&self.view, "parquet", &url, "", &[]),
            (_, Some(separator)) => {
                cluster.files(&self.view, "csv", &url, &self.schema("STRING"), &delimited(separator))
            }
            // All others but JSON lines are refused before.
            _ => {
                let options = [("mode", "PERMISSIVE"), broken];
                cluster.files(&self.view, "json", &url, &self.schema("VARIANT"), &options)
            }
        }
    }

    fn schema(&self, kind: &str) -> String {
        let columns = self.shape.columns.iter().map(|(name, _)| format!("{} {kind}", quoted(name)));
        columns.chain([format!("{} STRING", quoted(BROKEN))]).collect::<Vec<_>>().join(", ")
    }

    fn is_text(&self, cluster: &Cluster, column: usize) -> Result<bool> {
        let (name, kind) = &self.shape.columns[column];
        if *kind != ColumnKind::Any {
            return Ok(*kind == ColumnKind::Text);
        }
        let texts = format!("SELECT 1 FROM {} WHERE SCHEMA_OF_VARIANT({}) = 'STRING' LIMIT 1", self.view, quoted(name));
        Ok(!cluster.rows(&texts)?.is_empty())
    }

    /// The files' rows as rows of the view.
    fn select(&self, kinds: IdKinds) -> String {
        let layout = &self.shape.layout;
        let session: Vec<String> =
            layout.session.iter().map(|at| format!("NULLIF({}, '')", self.id(*at, true))).collect();
        let user = layout.user.map_or(Dialect::Spark.literal(ANONYMOUS), |at| self.id(at, kinds.users));
        // Only logs of whole pages have no positions, and they are refused.
        let position = layout.position.map_or("CAST(NULL AS STRING)".to_string(), |at| self.number(at));
        format!(
            "SELECT {} AS session, {user} AS `user`, {} AS query, {} AS doc, {} AS position, {} AS click, \
             INPUT_FILE_NAME() AS {FILE} FROM {}",
            session.join(JOINT),
            self.query(kinds.queries),
            self.id(layout.doc, kinds.docs),
            self.unbroken(&position),
            self.click(),
            self.view
        )
    }

    fn query(&self, is_text: bool) -> String {
        match self.shape.layout.query[..] {
            [] => Dialect::Spark.literal(ALL_PAGES),
            [query] => self.id(query, is_text),
            ref several => {
                let parts: Vec<String> =
                    several.iter().map(|at| format!("NULLIF({}, '')", self.id(*at, true))).collect();
                parts.join(&format!(" || {} || ", Dialect::Spark.literal(QUERY_JOINT)))
            }
        }
    }

    fn click(&self) -> String {
        let value = self.number(self.shape.layout.click);
        self.shape.layout.click_when.as_ref().map_or(value.clone(), |when| click_value(Dialect::Spark, when, &value))
    }

    fn id(&self, at: usize, is_text: bool) -> String {
        let column = self.column(at);
        let kind = if is_text { "STRING" } else { "BIGINT" };
        match self.shape.format {
            LogFormat::JsonLines => {
                format!(
                    "CASE WHEN SCHEMA_OF_VARIANT({column}) IN ('STRING', 'BIGINT') THEN CAST({column} AS {kind}) END"
                )
            }
            _ => format!("CAST({column} AS {kind})"),
        }
    }

    fn number(&self, at: usize) -> String {
        match self.shape.columns[at].1 {
            // So that −0 is 0.
            ColumnKind::Float => format!("CAST({} + 0 AS STRING)", self.column(at)),
            _ => format!("CAST({} AS STRING)", self.column(at)),
        }
    }

    /// The value of a column. Of the last one of a line, what is left of the line's end is cut off: Spark takes the line end
    /// of a file's first line for that of all.
    fn column(&self, at: usize) -> String {
        let name = quoted(&self.shape.columns[at].0);
        let is_delimited = self.shape.format.separator().is_some();
        match is_delimited && at + 1 == self.shape.columns.len() {
            true => format!("REGEXP_REPLACE({name}, '\\\\r$', '')"),
            false => name,
        }
    }

    /// Nothing where the record cannot be read: then the row breaks a rule.
    fn unbroken(&self, value: &str) -> String {
        match self.shape.format {
            LogFormat::Parquet => value.to_string(),
            _ => format!("CASE WHEN {} IS NULL THEN {value} END", quoted(BROKEN)),
        }
    }
}

fn quoted(name: &str) -> String {
    Dialect::Spark.identifier(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Columns, EventOptions, ReadOptions};

    fn shape(name: &str, content: &[u8]) -> FileShape {
        shape_as(name, content, &ReadOptions::new())
    }

    fn shape_as(name: &str, content: &[u8], options: &ReadOptions) -> FileShape {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        LogShape::find(&[path.into()], options).unwrap().files.remove(0)
    }

    fn columns(mappings: &[&str]) -> Columns {
        let mut columns = Columns::default();
        mappings.iter().for_each(|mapping| columns.map_text(mapping).unwrap());
        columns
    }

    const ROW: &[u8] = b"session,user,query,doc,position,click\n1,u,q,d,1,0\n";

    #[test]
    fn what_spark_reads_otherwise_is_refused() {
        assert!(check(&shape("a.csv", ROW)).is_ok());
        let zstd = zstd::encode_all(ROW, 1).unwrap();
        let array = br#"[{"session":1,"user":1,"query":1,"doc":1,"position":1,"click":0}]"#;
        let lists = b"session,user,query,docs,clicks\n1,u,q,a|b,0|1\n";
        let refused: [(&str, &[u8], &str); 5] = [
            ("_a.csv", ROW, "starts with . or _"),
            ("a.csv.gz", ROW, "is not compressed"),
            ("a.csv.zst", &zstd, "is compressed with zstd"),
            ("a.json", array, "is one JSON array"),
            ("a.csv", lists, "has one row per result page"),
        ];
        for (name, content, expected) in refused {
            let message = check(&shape(name, content)).unwrap_err().to_string();
            assert!(message.contains(expected) && message.ends_with("; or count without Spark"), "{message}");
        }
    }

    #[test]
    fn what_needs_one_machine_is_refused() {
        let events = b"type,session,query,docs,doc\nquery,s,q,a|b,\nclick,s,,,a\n";
        let names = ["session", "user", "query", "doc", "position", "click"].map(String::from).to_vec();
        let refused = [
            (
                shape_as("e.csv", events, &ReadOptions::new().events(EventOptions::new().event_column("type".into()))),
                "is a log of events",
            ),
            (shape_as("a.csv", ROW, &ReadOptions::new().columns(columns(&["session="]))), "has no sessions"),
            (shape_as("b.csv", b"1,u,q,d,1,0\n", &ReadOptions::new().header(names)), "has no header"),
        ];
        for (shape, expected) in refused {
            let message = check(&shape).unwrap_err().to_string();
            assert!(message.contains(expected) && message.ends_with("; or count without Spark"), "{message}");
        }
    }

    #[test]
    fn conditions_and_joined_queries_are_expressions() {
        let options =
            ReadOptions::new().columns(columns(&["query=user+query"])).click_when("click>=2".parse().unwrap());
        let shape = shape_as("a.csv", ROW, &options);
        assert!(check(&shape).is_ok());
        let group = Group { view: "files".into(), shape: &shape, folder: PathBuf::new(), names: Vec::new() };
        let select = group.select(IdKinds { users: true, queries: true, docs: true });
        let query = "NULLIF(CAST(`c1` AS STRING), '') || '+' || NULLIF(CAST(`c2` AS STRING), '') AS query";
        assert!(select.contains(query), "{select}");
        assert!(select.contains(">= CAST('2' AS DOUBLE) THEN '1' ELSE '0' END AS click"), "{select}");
    }

    #[test]
    fn files_that_look_the_same_are_read_together() {
        let file = |path: &str| FileShape { path: path.into(), ..shape("a.csv", ROW) };
        let other = FileShape {
            path: "/a/3.csv".into(),
            ..shape("a.csv", b"user,session,query,doc,position,click\nu,1,q,d,1,0\n")
        };
        let files = [file("/a/1.csv"), file("/b/1.csv"), file("/a/2.csv"), other];
        let mut found: Vec<_> = groups(&files).unwrap().into_iter().map(|g| (g.folder, g.names)).collect();
        found.sort();
        let expected = [("/a", vec!["1.csv", "2.csv"]), ("/a", vec!["3.csv"]), ("/b", vec!["1.csv"])];
        assert_eq!(found.len(), expected.len());
        for ((folder, names), (expected_folder, expected_names)) in found.iter().zip(expected) {
            assert_eq!(
                (folder.as_path(), names),
                (Path::new(expected_folder), &expected_names.iter().map(|n| n.to_string()).collect())
            );
        }
    }
}
