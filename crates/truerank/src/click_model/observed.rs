//! Click transitions as fits read them: numbered documents, pages of one list and user, cells of slots.

use std::ops::Range;

use super::ClickModelKind;
use crate::counts::{END, Transition, Transitions};

/// Transitions per piece of work, at least. Pieces hold whole queries and do not depend on the number of threads; their sums
/// are added in order.
const PIECE: usize = 1 << 13;

/// What has parameters of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Apart {
    /// Nobody: all are taken together.
    Together,
    /// So many users.
    Users(usize),
    /// So many contexts, whoever the users are; they take the place of users below.
    Contexts(usize),
}

impl Apart {
    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Apart::Together => 1,
            Apart::Users(count) | Apart::Contexts(count) => count,
        }
    }
}

/// The transitions of a log, ready for expectation steps.
pub(crate) struct Observed {
    /// Every shown (query, document), sorted.
    pub docs: Vec<(u32, u32)>,
    /// The mean position of each, rounded, counted from 0.
    pub place_of_doc: Vec<u32>,
    /// The largest position.
    pub positions: usize,
    /// Users or contexts, or 1 where all are taken together.
    pub users: usize,
    pub sessions: f64,
    pub impressions: f64,
    lists: Lists,
    blocks: Vec<Block>,
    steps: Vec<Step>,
    pub pieces: Vec<Piece>,
}

/// Lists of documents, one after another.
#[derive(Default)]
struct Lists {
    starts: Vec<usize>,
    positions: Vec<u32>,
    docs: Vec<u32>,
}

impl Lists {
    fn range(&self, list: usize) -> Range<usize> {
        self.starts[list]..self.starts[list + 1]
    }
}

/// What one user did on pages of one list.
struct Block {
    list: u32,
    /// Its place among the piece's users.
    user: u32,
    steps: Range<usize>,
}

/// From the click on number `from − 1` (0: from the start) to that on number `to`, or to the end of the page, its length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub from: u32,
    pub to: u32,
    pub sessions: f64,
}

/// A block with the documents of its list.
pub(super) struct Visits<'o> {
    /// Its place among the piece's users.
    pub user: usize,
    pub positions: &'o [u32],
    /// Numbers of the documents.
    pub docs: &'o [u32],
    /// Sorted by `from`, `to`.
    pub steps: &'o [Step],
}

/// How often a document was at risk and clicked in a slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SlotCell {
    pub doc: u32,
    /// Place among the piece's users.
    pub user: u32,
    pub slot: u32,
    pub shown: f64,
    pub clicks: f64,
}

/// The queries that one task works on.
pub(crate) struct Piece {
    /// Their documents.
    pub docs: Range<usize>,
    /// The users who saw them, sorted.
    pub users: Vec<u32>,
    blocks: Range<usize>,
    /// By position, and by the last click and position; made where they are needed.
    by_position: Vec<SlotCell>,
    by_last_click: Vec<SlotCell>,
}

impl Piece {
    /// The cells that a slot model reads, sorted by document, user, slot.
    pub(super) fn cells(&self, kind: ClickModelKind) -> &[SlotCell] {
        if kind == ClickModelKind::Ubm { &self.by_last_click } else { &self.by_position }
    }
}

impl Observed {
    /// Reads transitions, for models of these kinds.
    pub fn new(transitions: &Transitions, apart: Apart, kinds: &[ClickModelKind]) -> Self {
        let docs = shown_docs(transitions);
        let lists = number_lists(transitions, &docs);
        let mut observed = Observed {
            place_of_doc: Vec::new(),
            positions: transitions.shown.iter().map(|shown| shown.position as usize).max().unwrap_or(0),
            users: apart.count(),
            sessions: 0.0,
            impressions: 0.0,
            docs,
            lists,
            blocks: Vec::new(),
            steps: Vec::new(),
            pieces: Vec::new(),
        };
        observed.add_blocks(transitions, apart);
        observed.count_impressions();
        observed.add_cells(kinds);
        observed
    }

    fn add_blocks(&mut self, transitions: &Transitions, apart: Apart) {
        let user_of = |row: &Transition| match apart {
            Apart::Together => 0,
            Apart::Users(_) => row.user,
            Apart::Contexts(_) => transitions.lists[row.list as usize].context,
        };
        let mut start = PieceStart::default();
        for of_query in transitions.rows.chunk_by(|a, b| query_of(transitions, a) == query_of(transitions, b)) {
            for rows in of_query.chunk_by(|a, b| (a.list, user_of(a)) == (b.list, user_of(b))) {
                let steps = self.steps.len();
                self.add_steps(rows);
                let user = user_of(&rows[0]);
                start.users.push(user);
                self.blocks.push(Block { list: rows[0].list, user, steps: steps..self.steps.len() });
            }
            if self.steps.len() - start.steps >= PIECE {
                self.end_piece(&mut start, query_of(transitions, &of_query[0]));
            }
        }
        if let Some(last) = transitions.rows.last().filter(|_| self.blocks.len() > start.blocks) {
            self.end_piece(&mut start, query_of(transitions, last));
        }
    }

    /// The steps of one list and user, sorted and each once, whoever of several users took them.
    fn add_steps(&mut self, rows: &[Transition]) {
        let range = self.lists.range(rows[0].list as usize);
        let positions = &self.lists.positions[range];
        let place = |position: u32| positions.partition_point(|&other| other < position) as u32;
        let step = |row: &Transition| Step {
            from: if row.from == 0 { 0 } else { place(row.from) + 1 },
            to: if row.to == END { positions.len() as u32 } else { place(row.to) },
            sessions: row.sessions as f64,
        };
        let mut steps: Vec<Step> = rows.iter().map(step).collect();
        steps.sort_by_key(|step| (step.from, step.to));
        for same in steps.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)) {
            self.steps.push(Step { sessions: same.iter().map(|step| step.sessions).sum(), ..same[0] });
        }
    }

    fn end_piece(&mut self, start: &mut PieceStart, last_query: u32) {
        let mut users = std::mem::take(&mut start.users);
        users.sort_unstable();
        users.dedup();
        let blocks = start.blocks..self.blocks.len();
        for block in &mut self.blocks[blocks.clone()] {
            block.user = users.partition_point(|&user| user < block.user) as u32;
        }
        let docs = start.docs..self.docs.partition_point(|(query, _)| *query <= last_query);
        *start = PieceStart { docs: docs.end, blocks: blocks.end, steps: self.steps.len(), users: Vec::new() };
        self.pieces.push(Piece { docs, users, blocks, by_position: Vec::new(), by_last_click: Vec::new() });
    }

    /// Impressions, sessions, and where documents are usually shown.
    fn count_impressions(&mut self) {
        let mut sums = vec![(0.0, 0.0); self.docs.len()];
        for block in &self.blocks {
            let starts = self.steps[block.steps.clone()].iter().filter(|step| step.from == 0);
            let sessions: f64 = starts.map(|step| step.sessions).sum();
            let range = self.lists.range(block.list as usize);
            self.sessions += sessions;
            self.impressions += sessions * range.len() as f64;
            for (&doc, &position) in self.lists.docs[range.clone()].iter().zip(&self.lists.positions[range]) {
                let sum = &mut sums[doc as usize];
                *sum = (sum.0 + sessions, sum.1 + sessions * f64::from(position));
            }
        }
        let place = |(shown, positions): (f64, f64)| (positions / f64::max(shown, 1.0)).round().max(1.0) as u32 - 1;
        self.place_of_doc = sums.into_iter().map(place).collect();
    }

    fn add_cells(&mut self, kinds: &[ClickModelKind]) {
        use super::kind::Family;
        let needs_last = kinds.contains(&ClickModelKind::Ubm);
        let in_slots = |kind: &&ClickModelKind| kind.family() != Family::Cascade && **kind != ClickModelKind::Ubm;
        let needs_position = kinds.iter().find(in_slots).copied();
        for index in 0..self.pieces.len() {
            let by_last = if needs_last { self.cells_of(index, ClickModelKind::Ubm) } else { Vec::new() };
            let by_position = needs_position.map_or_else(Vec::new, |kind| self.cells_of(index, kind));
            (self.pieces[index].by_last_click, self.pieces[index].by_position) = (by_last, by_position);
        }
    }

    fn cells_of(&self, piece: usize, kind: ClickModelKind) -> Vec<SlotCell> {
        let mut cells = Vec::new();
        for visits in self.visits(&self.pieces[piece]) {
            for steps in visits.steps.chunk_by(|a, b| a.from == b.from) {
                add_risks(&visits, steps, kind, &mut cells);
            }
        }
        let key = |cell: &SlotCell| (cell.doc, cell.user, cell.slot);
        cells.sort_by_key(key);
        let same = cells.chunk_by(|a, b| key(a) == key(b));
        let sum = |cells: &[SlotCell], value: fn(&SlotCell) -> f64| cells.iter().map(value).sum();
        same.map(|same| SlotCell {
            shown: sum(same, |cell| cell.shown),
            clicks: sum(same, |cell| cell.clicks),
            ..same[0]
        })
        .collect()
    }

    /// What users did on the pages of a piece, list by list.
    pub fn visits<'o>(&'o self, piece: &'o Piece) -> impl Iterator<Item = Visits<'o>> {
        self.blocks[piece.blocks.clone()].iter().map(|block| {
            let range = self.lists.range(block.list as usize);
            Visits {
                user: block.user as usize,
                positions: &self.lists.positions[range.clone()],
                docs: &self.lists.docs[range],
                steps: &self.steps[block.steps.clone()],
            }
        })
    }
}

/// Where the next piece begins.
#[derive(Default)]
struct PieceStart {
    docs: usize,
    blocks: usize,
    steps: usize,
    users: Vec<u32>,
}

fn query_of(transitions: &Transitions, row: &Transition) -> u32 {
    transitions.lists[row.list as usize].query
}

fn shown_docs(transitions: &Transitions) -> Vec<(u32, u32)> {
    let of_list = |list| transitions.of(list).iter().map(|shown| shown.doc);
    let docs = transitions.lists.iter().flat_map(|list| of_list(list).map(move |doc| (list.query, doc)));
    let mut docs: Vec<(u32, u32)> = docs.collect();
    docs.sort_unstable();
    docs.dedup();
    docs
}

fn number_lists(transitions: &Transitions, docs: &[(u32, u32)]) -> Lists {
    let mut lists = Lists { starts: vec![0], ..Lists::default() };
    for list in &transitions.lists {
        for shown in transitions.of(list) {
            lists.positions.push(shown.position);
            lists.docs.push(docs.partition_point(|&pair| pair < (list.query, shown.doc)) as u32);
        }
        lists.starts.push(lists.docs.len());
    }
    lists
}

/// The documents that were at risk of the next click: those down to it.
fn add_risks(visits: &Visits<'_>, steps: &[Step], kind: ClickModelKind, cells: &mut Vec<SlotCell>) {
    let from = steps[0].from;
    let last_click = if from == 0 { 0 } else { visits.positions[from as usize - 1] };
    let (mut at_risk, mut left) = (steps.iter().map(|step| step.sessions).sum::<f64>(), steps);
    for at in from..visits.docs.len() as u32 {
        if left.is_empty() {
            break;
        }
        let clicks = if left[0].to == at { left[0].sessions } else { 0.0 };
        let slot = kind.slot(last_click, visits.positions[at as usize]) as u32;
        let doc = visits.docs[at as usize];
        cells.push(SlotCell { doc, user: visits.user as u32, slot, shown: at_risk, clicks });
        if left[0].to == at {
            at_risk -= clicks;
            left = &left[1..];
        }
    }
}
