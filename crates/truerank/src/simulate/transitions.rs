//! Draws click transitions without sessions: what follows a click depends on the past through that click alone, so how many
//! sessions go on from each click is a chain of binomials, whatever their number.

use rayon::prelude::*;

use super::Simulator;
use super::cells::{Numbering, QUERIES_PER_PIECE, binomial};
use crate::Result;
use crate::click_model::{Browsing, ListParameters, PageView};
use crate::counts::{Cell, Counts, END, Listed, SessionCount, Transition, Transitions};
use crate::random::{Random, stream};

/// The transitions of one user with one page, with the simulation's numbers.
struct Seen {
    query: u32,
    user: u32,
    shown: Vec<Listed>,
    steps: Vec<Step>,
}

/// From the click at a position, 0 before the first, to the next, or [`END`].
struct Step {
    from: u32,
    to: u32,
    sessions: u64,
}

#[derive(Default)]
struct Drawn {
    seen: Vec<Seen>,
    cells: Vec<Cell>,
    sessions: Vec<SessionCount>,
}

impl Simulator<'_> {
    /// Counts with click transitions, with the distribution of those of [`log`](Simulator::log), whatever the click model.
    ///
    /// They are drawn from exact transition probabilities: of the sessions whose last click was on a document, those that click
    /// the next one are binomial, and so on down the page. A billion sessions cost what a million do. Lists that are shuffled
    /// have too many outcomes for this.
    pub fn counts_with_transitions(&self) -> Result<Counts> {
        self.check_lists_are_few()?;
        let visits = self.draw_visits();
        let queries: Vec<usize> = (0..self.queries.len()).collect();
        let pieces: Vec<Drawn> = queries
            .par_chunks(QUERIES_PER_PIECE)
            .enumerate()
            .map(|(piece, queries)| self.draw_transitions(piece as u64, queries, &visits))
            .collect();
        let (mut cells, mut sessions, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for piece in pieces {
            cells.extend(piece.cells);
            sessions.extend(piece.sessions);
            seen.extend(piece.seen);
        }
        let numbering = self.numbering(&cells);
        let transitions = transitions(&numbering, seen);
        Ok(numbering.counts(cells, sessions, Some(transitions)))
    }

    fn draw_transitions(&self, piece: u64, queries: &[usize], visits: &[Vec<u64>]) -> Drawn {
        let mut random = stream(self.settings.seed, "transitions", piece);
        let (mut drawn, mut content) = (Drawn::default(), ListParameters::default());
        for &query in queries {
            let take = &mut |user: usize, rows: &[u32], count, random: &mut Random| {
                self.content(rows, &mut content);
                let steps = draw_steps(&self.users[user], &content.view(), count, random);
                let doc = |&row: &u32| self.doc_of_row[row as usize];
                let shown = (1..).zip(rows.iter().map(doc)).map(|(position, doc)| Listed { position, doc });
                let seen = Seen { query: query as u32, user: user as u32, shown: shown.collect(), steps };
                drawn.cells.extend(seen.cells(count));
                drawn.seen.push(seen);
            };
            let sessions = self.draw_pages(query, visits, &mut random, take);
            drawn.sessions.extend(sessions);
        }
        drawn
    }
}

impl Seen {
    /// The cells of a page that was shown `count` times.
    fn cells(&self, count: u64) -> impl Iterator<Item = Cell> {
        self.shown.iter().map(move |&Listed { position, doc }| {
            let clicks = self.steps.iter().filter(|step| step.to == position).map(|step| step.sessions).sum();
            Cell { query: self.query, doc, position, user: self.user, impressions: count, clicks }
        })
    }

    fn numbered(self, numbering: &Numbering) -> (u32, Transitions) {
        let mut found = Transitions::default();
        let (query, user) = (numbering.queries.1[self.query as usize], numbering.users.1[self.user as usize]);
        let doc = |doc: u32| numbering.docs.1[doc as usize];
        found.push_list(query, 0, self.shown.into_iter().map(|shown| Listed { doc: doc(shown.doc), ..shown }));
        let row = |Step { from, to, sessions }| Transition { list: 0, user, from, to, sessions };
        found.rows.extend(self.steps.into_iter().map(row));
        (query, found)
    }
}

/// How `count` sessions of a user go down a page whose positions are 1, 2, ….
fn draw_steps(browsing: &Browsing, page: &PageView<'_>, count: u64, random: &mut Random) -> Vec<Step> {
    // Sessions by the position of their last click so far.
    let mut arrived = vec![0; page.len() + 1];
    arrived[0] = count;
    let mut steps = Vec::new();
    for from in 0..=page.len() {
        let mut left = arrived[from];
        if left == 0 {
            continue;
        }
        for (at, exposed) in (from..).zip(browsing.exposed_after(page, from)) {
            let clicked = binomial(left, exposed.click(page.attraction[at]), random);
            if clicked > 0 {
                steps.push(Step { from: from as u32, to: at as u32 + 1, sessions: clicked });
                arrived[at + 1] += clicked;
                left -= clicked;
            }
            if left == 0 {
                break;
            }
        }
        if left > 0 {
            steps.push(Step { from: from as u32, to: END, sessions: left });
        }
    }
    steps
}

/// All of them, in the order that transitions have.
fn transitions(numbering: &Numbering, seen: Vec<Seen>) -> Transitions {
    let mut parts: Vec<(u32, Transitions)> = seen.into_par_iter().map(|seen| seen.numbered(numbering)).collect();
    parts.sort_by_key(|(query, _)| *query);
    let mut all = Transitions::default();
    for of_query in parts.chunk_by(|a, b| a.0 == b.0) {
        all.add_parts(of_query[0].0, of_query.iter().map(|(_, part)| part));
    }
    all
}
