//! Writes counts to a folder as they come, in their order: some groups of rows are in memory at a time.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int8Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_schema::{DataType, Field, Schema};

use super::folder::{CELLS, KEY, Meta, PAGES, PATTERNS, SESSIONS, is_counts_file};
use super::list_tables::ListWriter;
use super::model::{Cell, Counts, Pattern, Patterns, SessionCount, Shown};
use super::origin::Origin;
use super::pages::{Page, Pages};
use super::partition::Beside;
use super::record::Batch;
use super::tables::NumberedIds;
use super::transitions::Transitions;
use super::view::Totals;
use crate::Result;
use crate::files::table::{FileType, ids_array, ids_field, properties};
use crate::files::{GroupWriter, write_folder};
use crate::ids::Ids;

/// Rows of a row group.
pub(crate) const GROUP: usize = 1 << 18;

impl Counts {
    /// Writes the counts to a folder, which appears only when it is complete and replaces an older one whole.
    ///
    /// The bytes depend on the counts alone. Says how large they are.
    pub fn write(&self, folder: &Path) -> Result<Totals> {
        write_folder(folder, is_counts_file, |folder| {
            let names =
                Names { queries: &self.queries, docs: &self.docs, users: &self.users, contexts: &self.contexts };
            let beside = Beside {
                patterns: self.patterns.is_some(),
                transitions: self.transitions.is_some(),
                ..Beside::default()
            };
            let mut writer = FolderWriter::create(folder, names, beside)?.origin(self.origin.clone());
            self.cells.chunks(GROUP).try_for_each(|cells| writer.push_cells(cells))?;
            self.sessions.chunks(GROUP).try_for_each(|sessions| writer.push_sessions(sessions))?;
            self.patterns.iter().try_for_each(|patterns| writer.push_patterns(patterns))?;
            self.transitions.iter().try_for_each(|transitions| writer.push_transitions(transitions))?;
            self.pages.iter().try_for_each(|pages| writer.write_pages(pages))?;
            writer.finish()
        })
    }
}

/// The ids of counts.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub queries: &'a Ids,
    pub docs: &'a Ids,
    pub users: &'a Ids,
    /// Empty where contexts were not counted.
    pub contexts: &'a Ids,
}

impl<'a> Names<'a> {
    pub fn of(ids: &'a NumberedIds) -> Self {
        Names { queries: &ids.queries, docs: &ids.docs, users: &ids.users, contexts: &ids.contexts }
    }
}

/// Fills a folder of counts.
pub(super) struct FolderWriter<'a> {
    folder: &'a Path,
    names: Names<'a>,
    cells: GroupWriter,
    waiting_cells: Vec<Cell>,
    sessions: GroupWriter,
    waiting_sessions: Vec<SessionCount>,
    patterns: Option<GroupWriter>,
    waiting_patterns: Patterns,
    transitions: Option<ListWriter>,
    totals: Totals,
    last: Option<(u32, u32)>,
    origin: Origin,
}

impl<'a> FolderWriter<'a> {
    pub fn create(folder: &'a Path, names: Names<'a>, beside: Beside) -> Result<Self> {
        let Beside { patterns, transitions, .. } = beside;
        let create = |name: &str, file_type, fields| create(folder, name, file_type, fields);
        let totals = Totals {
            queries: names.queries.len() as u64,
            docs: names.docs.len() as u64,
            users: names.users.len() as u64,
            patterns: patterns.then_some(0),
            contexts: Some(names.contexts.len() as u64).filter(|&contexts| contexts > 0),
            ..Totals::default()
        };
        Ok(FolderWriter {
            folder,
            names,
            cells: create("cells.parquet", CELLS, cell_fields(names))?,
            waiting_cells: Vec::new(),
            sessions: create("sessions.parquet", SESSIONS, session_fields(names))?,
            waiting_sessions: Vec::new(),
            patterns: patterns.then(|| create("patterns.parquet", PATTERNS, pattern_fields(names))).transpose()?,
            waiting_patterns: Patterns::default(),
            transitions: transitions.then(|| ListWriter::create(folder, names)).transpose()?,
            totals,
            last: None,
            origin: Origin::default(),
        })
    }

    /// The same, for counts that were made so.
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Appends counts, which come after those before.
    pub fn push(&mut self, counts: &Batch) -> Result<()> {
        self.push_cells(&counts.cells)?;
        self.push_sessions(&counts.sessions)?;
        self.push_patterns(&counts.patterns)?;
        self.push_transitions(&counts.transitions)
    }

    /// Appends cells, which come after those before.
    pub fn push_cells(&mut self, cells: &[Cell]) -> Result<()> {
        for cell in cells {
            self.totals.impressions += cell.impressions;
            self.totals.clicks += cell.clicks;
            self.totals.max_position = self.totals.max_position.max(cell.position);
            self.totals.shown += u64::from(self.last != Some((cell.query, cell.doc)));
            self.last = Some((cell.query, cell.doc));
        }
        self.totals.cells += cells.len() as u64;
        self.waiting_cells.extend_from_slice(cells);
        if self.waiting_cells.len() >= enough() { self.write_cells(false) } else { Ok(()) }
    }

    /// Appends numbers of sessions, which come after those before.
    pub fn push_sessions(&mut self, sessions: &[SessionCount]) -> Result<()> {
        self.totals.sessions += sessions.iter().map(|count| count.sessions).sum::<u64>();
        self.waiting_sessions.extend_from_slice(sessions);
        if self.waiting_sessions.len() >= enough() { self.write_sessions(false) } else { Ok(()) }
    }

    /// Appends patterns, which come after those before.
    pub fn push_patterns(&mut self, patterns: &Patterns) -> Result<()> {
        let count = &mut self.totals.patterns;
        *count = count.map(|count| count + patterns.patterns.len() as u64);
        self.waiting_patterns.append(patterns);
        if self.waiting_patterns.patterns.len() >= enough() { self.write_patterns(false) } else { Ok(()) }
    }

    /// Appends transitions, which come after those before.
    pub fn push_transitions(&mut self, transitions: &Transitions) -> Result<()> {
        self.transitions.as_mut().map_or(Ok(()), |writer| writer.push(transitions, self.names))
    }

    /// Writes whole pages, all at once.
    pub fn write_pages(&mut self, pages: &Pages) -> Result<()> {
        self.totals.pages = Some(pages.pages.len() as u64);
        let names = self.names;
        let are_keyed = pages.are_keyed();
        let mut writer = create(self.folder, "pages.parquet", PAGES, page_fields(names, are_keyed))?;
        write_groups(&mut writer, &mut pages.pages.clone(), true, |group: &[Page]| {
            let [docs, positions, clicks] = page_columns(names.docs, group.iter().map(|page| pages.of(page)));
            let keys = || Int64Array::from_iter_values(group.iter().map(|page| page.key.unwrap_or(0) as i64));
            let mut columns = vec![
                ids_array(names.queries, group.iter().map(|page| page.query as usize)),
                ids_array(names.users, group.iter().map(|page| page.user as usize)),
                docs,
                positions,
                clicks,
            ];
            columns.extend(are_keyed.then(|| Arc::new(keys()) as ArrayRef));
            columns
        })?;
        writer.finish()
    }

    /// Writes what is left, and says how large the counts are.
    pub fn finish(mut self) -> Result<Totals> {
        self.write_cells(true)?;
        self.write_sessions(true)?;
        self.write_patterns(true)?;
        self.cells.finish()?;
        self.sessions.finish()?;
        self.patterns.map_or(Ok(()), GroupWriter::finish)?;
        let counts = self.transitions.map(|writer| writer.finish(self.names)).transpose()?;
        (self.totals.lists, self.totals.transitions) = counts.unzip();
        Meta::new(&self.totals, self.origin).write(self.folder)?;
        Ok(self.totals)
    }

    fn write_cells(&mut self, all: bool) -> Result<()> {
        let names = self.names;
        write_groups(&mut self.cells, &mut self.waiting_cells, all, |cells: &[Cell]| {
            vec![
                ids_array(names.queries, cells.iter().map(|cell| cell.query as usize)),
                ids_array(names.docs, cells.iter().map(|cell| cell.doc as usize)),
                Arc::new(Int32Array::from_iter_values(cells.iter().map(|cell| cell.position as i32))),
                ids_array(names.users, cells.iter().map(|cell| cell.user as usize)),
                Arc::new(Int64Array::from_iter_values(cells.iter().map(|cell| cell.impressions as i64))),
                Arc::new(Int64Array::from_iter_values(cells.iter().map(|cell| cell.clicks as i64))),
            ]
        })
    }

    fn write_sessions(&mut self, all: bool) -> Result<()> {
        let names = self.names;
        write_groups(&mut self.sessions, &mut self.waiting_sessions, all, |counts: &[SessionCount]| {
            vec![
                ids_array(names.queries, counts.iter().map(|count| count.query as usize)),
                ids_array(names.users, counts.iter().map(|count| count.user as usize)),
                Arc::new(Int64Array::from_iter_values(counts.iter().map(|count| count.sessions as i64))),
            ]
        })
    }

    fn write_patterns(&mut self, all: bool) -> Result<()> {
        let Some(writer) = &mut self.patterns else { return Ok(()) };
        let Patterns { patterns, shown } = &mut self.waiting_patterns;
        let names = self.names;
        write_groups(writer, patterns, all, |group: &[Pattern]| {
            let pages = group.iter().map(|pattern| &shown[pattern.shown.clone()]);
            let [docs, positions, clicks] = page_columns(names.docs, pages);
            vec![
                ids_array(names.queries, group.iter().map(|pattern| pattern.query as usize)),
                ids_array(names.users, group.iter().map(|pattern| pattern.user as usize)),
                docs,
                positions,
                clicks,
                Arc::new(Int64Array::from_iter_values(group.iter().map(|pattern| pattern.sessions as i64))),
            ]
        })?;
        self.drop_written_pages();
        Ok(())
    }

    /// Forgets the pages of patterns that are written.
    fn drop_written_pages(&mut self) {
        let Patterns { patterns, shown } = &mut self.waiting_patterns;
        let written = patterns.first().map_or(shown.len(), |pattern| pattern.shown.start);
        shown.drain(..written);
        for pattern in patterns {
            pattern.shown = pattern.shown.start - written..pattern.shown.end - written;
        }
    }
}

pub(super) fn create(folder: &Path, name: &str, file_type: FileType, fields: Vec<Field>) -> Result<GroupWriter> {
    let schema = Schema::new(fields);
    let properties = properties(&schema, file_type, &[]);
    GroupWriter::create(&folder.join(name), schema, properties)
}

/// Rows that are worth writing: a few groups for each thread.
pub(super) fn enough() -> usize {
    2 * GROUP * rayon::current_num_threads()
}

/// Writes the whole groups of `waiting`, or all of it, and leaves the rest.
pub(super) fn write_groups<T: Sync>(
    writer: &mut GroupWriter,
    waiting: &mut Vec<T>,
    all: bool,
    columns: impl Fn(&[T]) -> Vec<ArrayRef> + Sync,
) -> Result<()> {
    let count = if all { waiting.len() } else { waiting.len() / GROUP * GROUP };
    let groups: Vec<&[T]> = waiting[..count].chunks(GROUP).collect();
    writer.write(groups.len(), |group| columns(groups[group]))?;
    waiting.drain(..count);
    Ok(())
}

fn cell_fields(names: Names<'_>) -> Vec<Field> {
    vec![
        ids_field("query", names.queries),
        ids_field("doc", names.docs),
        Field::new("position", DataType::Int32, false),
        ids_field("user", names.users),
        Field::new("impressions", DataType::Int64, false),
        Field::new("clicks", DataType::Int64, false),
    ]
}

fn session_fields(names: Names<'_>) -> Vec<Field> {
    let sessions = Field::new("sessions", DataType::Int64, false);
    vec![ids_field("query", names.queries), ids_field("user", names.users), sessions]
}

fn pattern_fields(names: Names<'_>) -> Vec<Field> {
    let [docs, positions, clicks] = shown_fields(names);
    let sessions = Field::new("sessions", DataType::Int64, false);
    vec![ids_field("query", names.queries), ids_field("user", names.users), docs, positions, clicks, sessions]
}

fn page_fields(names: Names<'_>, are_keyed: bool) -> Vec<Field> {
    let [docs, positions, clicks] = shown_fields(names);
    let mut fields = vec![ids_field("query", names.queries), ids_field("user", names.users), docs, positions, clicks];
    fields.extend(are_keyed.then(|| Field::new(KEY, DataType::Int64, false)));
    fields
}

pub(super) fn shown_fields(names: Names<'_>) -> [Field; 3] {
    let list = |name: &str, kind| Field::new(name, DataType::List(Arc::new(Field::new("item", kind, false))), false);
    [
        list("docs", ids_field("item", names.docs).data_type().clone()),
        list("positions", DataType::Int32),
        list("clicks", DataType::Int8),
    ]
}

/// Documents, positions and clicks of pages, as columns of lists.
fn page_columns<'a>(docs: &Ids, pages: impl Iterator<Item = &'a [Shown]> + Clone) -> [ArrayRef; 3] {
    let item = |kind| Field::new("item", kind, false);
    let mut positions = ListBuilder::new(Int32Builder::new()).with_field(item(DataType::Int32));
    let mut clicks = ListBuilder::new(Int8Builder::new()).with_field(item(DataType::Int8));
    for page in pages.clone() {
        for shown in page {
            positions.values().append_value(shown.position as i32);
            clicks.values().append_value(i8::from(shown.click));
        }
        positions.append(true);
        clicks.append(true);
    }
    let docs = doc_lists(docs, pages.map(|page| page.iter().map(|shown| shown.doc as usize)));
    [docs, Arc::new(positions.finish()), Arc::new(clicks.finish())]
}

/// Lists of documents as a column.
pub(super) fn doc_lists(docs: &Ids, lists: impl Iterator<Item = impl Iterator<Item = usize>>) -> ArrayRef {
    let item = |kind| Field::new("item", kind, false);
    match docs {
        Ids::Integers(values) => {
            let mut column = ListBuilder::new(Int64Builder::new()).with_field(item(DataType::Int64));
            for list in lists {
                list.for_each(|doc| column.values().append_value(values[doc]));
                column.append(true);
            }
            Arc::new(column.finish())
        }
        Ids::Texts(texts) => {
            let mut column = ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8));
            for list in lists {
                list.for_each(|doc| column.values().append_value(texts.get(doc)));
                column.append(true);
            }
            Arc::new(column.finish())
        }
    }
}
