//! Opens folders of counts that are to be added: refuses what does not fit together, numbers their ids, and makes runs of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::samples::Samples;
use super::thin::Thinning;
use super::{AllIds, MergeOptions, Work};
use crate::counts::folder::Meta;
use crate::counts::list_tables::read_lists;
use crate::counts::merge::{RunWriter, SortedRun};
use crate::counts::model::{Cell, Counts, Patterns, SessionCount};
use crate::counts::partition::Beside;
use crate::counts::record::Batch;
use crate::counts::store::Store;
use crate::counts::stored::{Need, open_counts};
use crate::counts::tables::{NewIds, Renumber, TablePaths, read_cells, read_patterns};
use crate::counts::transitions::Transitions;
use crate::counts::view::CountsView;
use crate::files::Fingerprint;
use crate::ids::{Ids, Interner};
use crate::{Error, Result};

/// No log has more sessions or impressions.
const MOST: u64 = 1 << 60;

/// A folder of counts.
pub(super) struct Folder {
    pub path: PathBuf,
    /// What people call it.
    pub name: String,
    pub meta: Meta,
}

impl Folder {
    /// An error about it, under the name that people know.
    pub fn error(&self, finding: impl Into<String>) -> Error {
        Error::input(Path::new(&self.name), finding)
    }
}

/// Folders that can be added, and those that are taken away.
pub(super) struct Folders {
    pub plus: Vec<Folder>,
    pub minus: Vec<Folder>,
    pub beside: Beside,
}

impl Folders {
    pub fn open(plus: &[(PathBuf, String)], minus: &[PathBuf], options: &MergeOptions) -> Result<Self> {
        if plus.is_empty() {
            return Err(Error::parameter("there are no counts to merge; name at least one folder"));
        }
        let open = |path: &PathBuf, name: String| Ok(Folder { path: path.clone(), name, meta: Meta::read(path)? });
        let plus: Vec<Folder> = plus.iter().map(|(path, name)| open(path, name.clone())).collect::<Result<_>>()?;
        let minus: Vec<Folder> =
            minus.iter().map(|path| open(path, path.display().to_string())).collect::<Result<_>>()?;
        let first = &plus[0].meta;
        let beside = Beside { patterns: first.patterns, transitions: first.has_transitions(), ..Beside::default() };
        let folders = Folders { plus, minus, beside };
        folders.check_settings(options)?;
        folders.check_repeated()?;
        folders.check_size()?;
        Ok(folders)
    }

    pub fn all(&self) -> impl Iterator<Item = &Folder> {
        self.plus.iter().chain(&self.minus)
    }

    pub fn impressions(&self) -> u64 {
        self.plus.iter().map(|folder| folder.meta.impressions).sum()
    }

    /// How the logs were read, where all were read alike.
    pub fn reading(&self) -> BTreeMap<String, Vec<String>> {
        let first = &self.plus[0].meta.origin;
        let are_alike = self.all().all(|folder| folder.meta.origin.reading == first.reading);
        if are_alike { first.reading.clone() } else { BTreeMap::new() }
    }

    /// All folders must count the same things in the same way.
    fn check_settings(&self, options: &MergeOptions) -> Result<()> {
        let first = &self.plus[0];
        for folder in self.all() {
            let refused = |finding: String| Err(folder.error(finding));
            if let Some((name, here, there)) =
                folder.meta.origin.differs(&first.meta.origin).filter(|_| !options.adding.mixed)
            {
                return refused(format!(
                    "was counted with `{name}` {here}, but {} with {there}, so the two do not count the same; count one of them \
                     again, or pass `mixed` if they mean the same",
                    first.name
                ));
            }
            let counted = [
                ("click patterns", "patterns", folder.meta.patterns, first.meta.patterns),
                ("click transitions", "transitions", folder.meta.has_transitions(), first.meta.has_transitions()),
                ("contexts", "context", folder.meta.contexts.is_some(), first.meta.contexts.is_some()),
            ];
            if let Some((what, option, here, _)) = counted.into_iter().find(|(.., here, there)| here != there) {
                let (has, other) = if here { ("has", "has none") } else { ("has no", "has") };
                return refused(format!(
                    "{has} {what}, but {} {other}; count all logs with `{option}`, or all without",
                    first.name
                ));
            }
            let half_life = options.half_life.map(|days| days.to_string());
            if let Some(thinned) = folder.meta.origin.half_life.as_ref().filter(|it| Some(*it) != half_life.as_ref()) {
                let now = half_life.map_or("there is none now".to_string(), |days| format!("it is {days} now"));
                return refused(format!(
                    "was thinned with `half_life` {thinned}, but {now}, so its days would not weigh as the others do; merge \
                     with `half_life` {thinned}, or merge the counts of the days again"
                ));
            }
        }
        let has_both = |folder: &&Folder| folder.meta.patterns && folder.meta.contexts.is_some();
        match (options.half_life, self.plus.iter().find(has_both)) {
            (Some(_), Some(folder)) => Err(folder.error(
                "has click patterns and contexts, but pages that are thinned by their patterns do not know their context; count \
                 without `patterns`, or without `context`",
            )),
            (Some(_), _) if !self.minus.is_empty() => Err(Error::option(
                "without",
                "takes exact counts away, but `half_life` thins them; take them away first, and then thin",
            )),
            _ => Ok(()),
        }
    }

    /// The same folder, or one with the same cells where pages cannot tell, is not counted twice.
    fn check_repeated(&self) -> Result<()> {
        for folders in [&self.plus, &self.minus] {
            let mut seen: Vec<(&Folder, PathBuf, Option<String>)> = Vec::new();
            for folder in folders {
                let path = folder.path.canonicalize().map_err(|error| Error::io(&folder.path, error))?;
                let cells = Fingerprint::of_ends(&TablePaths::new(&folder.path).cells)?;
                let has_keys = folder.meta.pages.is_some() && has_keys(&folder.path)?;
                let cells = (!has_keys).then_some(cells);
                let same =
                    seen.iter().find(|(_, other, of_other)| *other == path || (cells.is_some() && *of_other == cells));
                if let Some((other, ..)) = same {
                    let rule = "but a day counts once; leave one of them out";
                    return Err(folder.error(format!("has the same counts as {}, {rule}", other.name)));
                }
                seen.push((folder, path, cells));
            }
        }
        Ok(())
    }

    fn check_size(&self) -> Result<()> {
        let sum = |of: fn(&Meta) -> u64| self.plus.iter().fold(0u64, |sum, it| sum.saturating_add(of(&it.meta)));
        match sum(|meta| meta.impressions).max(sum(|meta| meta.sessions)) > MOST {
            true => Err(Error::parameter("these counts add up to more than 2^60, but no log is as long")),
            false => Ok(()),
        }
    }

    /// The ids of all folders in their natural order.
    pub fn ids(&self, store: &Store) -> Result<AllIds> {
        let mut interners = NewIds::default();
        for folder in self.all() {
            let tables = TablePaths::new(&folder.path);
            read_cells(&tables.cells, &mut interners, |_| Ok(()))?;
            if folder.meta.contexts.is_some() {
                read_lists(&tables.lists, folder.meta.max_position, &mut interners, |_, _| Ok(()))?;
            }
            store.check_ids(bytes(&interners))?;
        }
        let (names, numbers) = interners.clone().into_sorted();
        Ok(AllIds { bytes: bytes(&interners), interners, numbers, names })
    }
}

/// Ids twice, as they came and in order, and how they are found.
fn bytes(ids: &NewIds) -> u64 {
    2 * [&ids.queries, &ids.docs, &ids.users, &ids.contexts].map(|ids| ids.bytes() as u64).iter().sum::<u64>()
}

fn has_keys(folder: &Path) -> Result<bool> {
    use crate::counts::folder::{KEY, PAGES};
    let reader = crate::files::table::TableReader::open_as(&TablePaths::new(folder).pages, PAGES)?;
    Ok(reader.schema().column_with_name(KEY).is_some())
}

/// The numbers of a folder's ids among all ids, and whether these are in the same order.
struct FolderIds {
    numbers: Renumber,
    keep_order: bool,
    keep_query_order: bool,
}

impl FolderIds {
    fn new(view: &dyn CountsView, all: &mut AllIds, folder: &Folder) -> Result<Self> {
        let find = |ids: &Ids, interner: &mut Interner, numbers: &[u32]| -> Option<Vec<u32>> {
            (0..ids.len()).map(|i| numbers.get(interner.id(ids, i) as usize).copied()).collect()
        };
        let found = (|| {
            Some(Renumber {
                queries: find(view.queries(), &mut all.interners.queries, &all.numbers.queries)?,
                docs: find(view.docs(), &mut all.interners.docs, &all.numbers.docs)?,
                users: find(view.users(), &mut all.interners.users, &all.numbers.users)?,
                contexts: find(view.contexts(), &mut all.interners.contexts, &all.numbers.contexts)?,
            })
        })();
        let numbers = found.ok_or_else(|| changed(folder))?;
        let keep_order = numbers.docs.is_sorted() && numbers.users.is_sorted() && numbers.contexts.is_sorted();
        Ok(FolderIds { keep_query_order: numbers.queries.is_sorted(), keep_order, numbers })
    }
}

fn changed(folder: &Folder) -> Error {
    folder.error("was changed while it was read; run the command again")
}

/// Puts the counts of a folder away, in the order of queries.
pub(super) fn read_runs(
    folder: &Folder,
    work: &mut Work<'_>,
    thinning: Option<&Thinning>,
    samples: &mut Samples,
) -> Result<Vec<SortedRun>> {
    let view: Box<dyn CountsView> = match &work.room {
        Some(room) => open_counts(&folder.path, room, Need::Cells)?,
        None => Box::new(Counts::read(&folder.path)?),
    };
    if view.totals().impressions != folder.meta.impressions {
        return Err(changed(folder));
    }
    let ids = FolderIds::new(view.as_ref(), &mut work.ids, folder)?;
    let mut runs = Runs::new(work, ids.keep_query_order);
    samples.add(folder, view.pages(), &ids.numbers);
    if thinning.is_none() || !folder.meta.patterns {
        push_blocks(view.as_ref(), &ids, &mut runs, thinning, work)?;
    }
    drop(view);
    let mut done = vec![runs.finish()?];
    if folder.meta.patterns {
        done.push(pattern_run(folder, work, thinning)?);
    }
    Ok(done)
}

/// Puts cells, sessions and transitions away.
fn push_blocks(
    view: &dyn CountsView,
    ids: &FolderIds,
    runs: &mut Runs<'_>,
    thinning: Option<&Thinning>,
    work: &Work<'_>,
) -> Result<()> {
    for block in view.blocks() {
        let (cells, sessions) = (view.cells(&block)?, view.sessions(&block)?);
        let transitions = view.transitions(&block)?;
        let mut of_sessions = sessions.chunk_by(|a, b| a.query == b.query).peekable();
        for cells in cells.chunk_by(|a, b| a.query == b.query) {
            let query = cells[0].query;
            let sessions = of_sessions.next_if(|sessions| sessions[0].query == query).unwrap_or_default();
            let transitions = transitions.as_ref().map(|all| all.of_queries(query, query));
            let batch = renumbered(cells, sessions, transitions, ids);
            let query = ids.numbers.queries[query as usize];
            match thinning {
                Some(thinning) => runs.push(query, &thinning.thin(batch, &name_of(work, query)))?,
                None => runs.push(query, &batch)?,
            }
        }
        work.progress.advance(cells.iter().map(|cell| cell.impressions).sum())?;
    }
    Ok(())
}

fn name_of(work: &Work<'_>, query: u32) -> String {
    work.ids.names.queries.name(query as usize).into_owned()
}

/// The counts of a query by the numbers of all ids, in their order.
fn renumbered(cells: &[Cell], sessions: &[SessionCount], transitions: Option<Transitions>, ids: &FolderIds) -> Batch {
    let mut batch = Batch { cells: cells.to_vec(), sessions: sessions.to_vec(), ..Batch::default() };
    batch.transitions = transitions.unwrap_or_default();
    ids.numbers.renumber(&mut batch);
    if !ids.keep_order {
        batch.cells.sort_unstable();
        batch.sessions.sort_unstable();
        let part = std::mem::take(&mut batch.transitions);
        let query = batch.cells[0].query;
        batch.transitions.add_parts(query, std::iter::once(&part));
    }
    batch
}

/// Click patterns, which are read beside the rest; thinned, all else follows from them.
fn pattern_run(folder: &Folder, work: &mut Work<'_>, thinning: Option<&Thinning>) -> Result<SortedRun> {
    let has_transitions = folder.meta.has_transitions();
    let Work { store, ids, used, .. } = work;
    let AllIds { interners, numbers, names, bytes } = ids;
    let is_sorted = read_order(folder, interners, numbers)?;
    let mut runs = Runs { store, ids: *bytes, used: *used, is_sorted, one: None, many: Vec::new() };
    let mut waiting: (Option<u32>, Patterns) = (None, Patterns::default());
    let put = |runs: &mut Runs<'_>, query: u32, patterns: Patterns| match thinning {
        Some(thinning) => {
            let name = names.queries.name(query as usize);
            runs.push(query, &thinning.thin_patterns(query, &patterns, has_transitions, &name))
        }
        None => runs.push(query, &Batch { patterns, ..Batch::default() }),
    };
    let path = TablePaths::new(&folder.path).patterns;
    read_patterns(&path, folder.meta.max_position, interners, |query, user, page, sessions| {
        let find = |numbers: &[u32], code: u32| numbers.get(code as usize).copied().ok_or_else(|| changed(folder));
        let (query, user) = (find(&numbers.queries, query)?, find(&numbers.users, user)?);
        if waiting.0.is_some_and(|last| last != query) {
            let (last, patterns) = std::mem::take(&mut waiting);
            last.map_or(Ok(()), |last| put(&mut runs, last, patterns))?;
        }
        waiting.0 = Some(query);
        let mut page = page.to_vec();
        for shown in &mut page {
            shown.doc = find(&numbers.docs, shown.doc)?;
        }
        page.sort_unstable();
        waiting.1.push(query, user, &page, sessions);
        Ok(())
    })?;
    let (last, patterns) = waiting;
    last.map_or(Ok(()), |last| put(&mut runs, last, patterns))?;
    runs.finish()
}

/// Whether a folder's queries are in the order of all queries.
fn read_order(folder: &Folder, interners: &mut NewIds, numbers: &Renumber) -> Result<bool> {
    use crate::counts::folder::SESSIONS;
    let mut last = 0;
    let mut is_sorted = true;
    let path = TablePaths::new(&folder.path).sessions;
    crate::files::table::TableReader::open_as(&path, SESSIONS)?.for_each(|columns| {
        for code in columns.ids("query", &mut interners.queries)? {
            let number = numbers.queries.get(code as usize).copied().ok_or_else(|| changed(folder))?;
            is_sorted &= last <= number;
            last = number;
        }
        Ok(())
    })?;
    Ok(is_sorted)
}

/// Takes queries in any order; where they do not come in order, each is a run of its own until all are there.
struct Runs<'a> {
    store: &'a Store,
    ids: u64,
    used: Option<&'a crate::counts::used::UsedIds>,
    is_sorted: bool,
    one: Option<RunWriter<'a>>,
    many: Vec<(u32, SortedRun)>,
}

impl<'a> Runs<'a> {
    fn new(work: &Work<'a>, is_sorted: bool) -> Self {
        Runs { store: work.store, ids: work.ids.bytes, used: work.used, is_sorted, one: None, many: Vec::new() }
    }

    fn push(&mut self, query: u32, batch: &Batch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let writer = || RunWriter::new(self.store, self.ids, self.used);
        if self.is_sorted {
            return self.one.get_or_insert_with(writer).push(query, batch);
        }
        let mut run = writer();
        run.push(query, batch)?;
        self.many.push((query, run.finish()?));
        Ok(())
    }

    fn finish(mut self) -> Result<SortedRun> {
        self.many.sort_by_key(|(query, _)| *query);
        let one = self.one.map_or(Ok(SortedRun::default()), RunWriter::finish)?;
        Ok(SortedRun::joined(std::iter::once(one).chain(self.many.into_iter().map(|(_, run)| run))))
    }
}
