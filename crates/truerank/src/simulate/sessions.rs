//! Draws sessions, piece by piece, each piece from its own stream of random numbers.

use std::path::Path;

use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::traffic::{AliasTable, draw_traffic};
use super::users::{cluster_sessions, draw_depths, users_of_depths};
use super::{ShownLists, Simulation};
use crate::click_model::{Browsing, ClickModelKind, ListParameters, Session};
use crate::data::Dataset;
use crate::ids::{Ids, Interner};
use crate::log::{Impression, Log, LogWriter};
use crate::progress::Progress;
use crate::random::{Random, stream};
use crate::{Error, Result};

/// Sessions drawn from one stream; part of what a seed means.
const SESSIONS_PER_PIECE: u64 = 4096;

/// Pieces drawn at a time.
const PIECES: usize = 32;

/// Users, traffic and lists, ready to draw sessions from.
pub struct Simulator<'a> {
    pub(super) settings: Simulation,
    pub(super) lists: &'a [ShownLists],
    pub(super) queries: &'a Ids,
    /// η of each user.
    pub(super) depths: Vec<f64>,
    pub(super) users: Vec<Browsing>,
    pub(super) traffic: Vec<Vec<f64>>,
    pub(super) cluster_sessions: Vec<u64>,
    /// γ of each row of the data.
    pub(super) relevance: Vec<f64>,
    /// σ of each row, where a click model has it.
    pub(super) satisfaction: Vec<f64>,
    pub(super) docs: Ids,
    pub(super) doc_of_row: Vec<u32>,
    pub(super) longest: usize,
    alias_tables: Vec<AliasTable>,
}

/// What the log does not show, for each impression.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latents {
    /// Whether the document was examined.
    pub examined: Vec<bool>,
    /// Whether the user would find it relevant, examined or not.
    pub relevant: Vec<bool>,
    /// Whether a click on it satisfied the user, in models that have satisfaction.
    pub satisfied: Vec<bool>,
}

impl<'a> Simulator<'a> {
    pub(super) fn new(settings: Simulation, data: &'a Dataset, lists: &'a [ShownLists]) -> Result<Self> {
        let longest = lists.iter().map(ShownLists::longest).max().unwrap_or(0);
        if longest == 0 {
            return Err(Error::parameter("there should be at least one shown document, but there is none"));
        }
        if lists.iter().any(|logger| logger.query_count() != data.query_count()) {
            return Err(Error::parameter(format!("each logger should have {} lists", data.query_count())));
        }
        let relevance = relevance_of_rows(data, &settings)?;
        let (docs, doc_of_row) = number_docs(data, lists);
        let traffic = draw_traffic(&settings, data.query_count());
        let depths = draw_depths(&settings);
        Ok(Simulator {
            lists,
            queries: data.queries(),
            users: users_of_depths(&settings, &depths, longest),
            depths,
            satisfaction: satisfaction_of_rows(&relevance, &settings),
            alias_tables: traffic.iter().map(|weights| AliasTable::new(weights)).collect(),
            traffic,
            cluster_sessions: cluster_sessions(settings.sessions, settings.etas.len(), settings.cluster_ratio),
            relevance,
            docs,
            doc_of_row,
            longest,
            settings,
        })
    }

    /// γ of each row of the data: the probability that it is found relevant once examined.
    pub fn relevance(&self) -> &[f64] {
        &self.relevance
    }

    pub(super) fn user_ids(&self) -> Ids {
        Ids::numbered(self.users.len())
    }

    /// The whole log.
    pub fn log(&self) -> Log {
        let pieces: Vec<Vec<Impression>> = (0..self.piece_count()).into_par_iter().map(|i| self.piece(i)).collect();
        Log { impressions: pieces.concat(), ..self.empty_log() }
    }

    /// Hands the log to `take`, piece after piece in their order, so that memory does not grow with it.
    pub fn for_each_piece(
        &self,
        progress: &dyn Progress,
        mut take: impl FnMut(&[Impression]) -> Result<()>,
    ) -> Result<()> {
        let pieces: Vec<u64> = (0..self.piece_count()).collect();
        progress.begin("simulating", self.settings.sessions);
        let mut room: Vec<Vec<Impression>> = vec![Vec::new(); PIECES];
        for some in pieces.chunks(PIECES) {
            let drawn = &mut room[..some.len()];
            drawn.par_iter_mut().zip(some).for_each(|(room, &piece)| self.piece_into(piece, room));
            drawn.iter().try_for_each(|impressions| take(impressions))?;
            progress.advance(self.settings.sessions * some.len() as u64 / pieces.len() as u64)?;
        }
        Ok(())
    }

    /// Draws the log and writes it as the ending of `path` says; `look` sees every piece.
    pub fn write_log(&self, path: &Path, progress: &dyn Progress, mut look: impl FnMut(&[Impression])) -> Result<()> {
        let ids = self.empty_log();
        let mut writer = LogWriter::create(path, &ids.users, &ids.queries, &ids.docs)?;
        self.for_each_piece(progress, |impressions| {
            look(impressions);
            writer.write(impressions)
        })?;
        writer.finish()
    }

    /// The log's ids without impressions: what all pieces share.
    pub fn empty_log(&self) -> Log {
        Log { users: self.user_ids(), queries: self.queries.clone(), docs: self.docs.clone(), impressions: Vec::new() }
    }

    /// The whole log and, for tests of estimators, what it does not show.
    pub fn log_with_latents(&self) -> (Log, Latents) {
        let mut latents = Latents::default();
        let mut log = self.empty_log();
        for index in 0..self.piece_count() {
            self.draw_piece(index, |impression, session, at| {
                log.impressions.push(impression);
                latents.examined.push(session.examined[at]);
                latents.relevant.push(session.attractive[at]);
                latents.satisfied.push(session.satisfied[at]);
            });
        }
        (log, latents)
    }

    /// How many pieces the log is drawn in.
    pub fn piece_count(&self) -> u64 {
        self.settings.sessions.div_ceil(SESSIONS_PER_PIECE)
    }

    /// The impressions of piece `index`. Pieces may be drawn in any order and on any thread.
    pub fn piece(&self, index: u64) -> Vec<Impression> {
        let mut impressions = Vec::with_capacity(SESSIONS_PER_PIECE as usize * self.longest);
        self.piece_into(index, &mut impressions);
        impressions
    }

    /// The same into room that was used before: fresh memory for every piece would cost more than drawing it.
    pub fn piece_into(&self, index: u64, impressions: &mut Vec<Impression>) {
        impressions.clear();
        self.draw_piece(index, |impression, _, _| impressions.push(impression));
    }

    /// Hands each impression to `take`, with its session and its place there.
    fn draw_piece(&self, index: u64, mut take: impl FnMut(Impression, &Session, usize)) {
        let mut random = stream(self.settings.seed, "sessions", index);
        let (first_session, mut clusters) = self.clusters_of_piece(index);
        clusters.shuffle(&mut random);
        let mut page = Page::default();
        for (offset, cluster) in clusters.into_iter().enumerate() {
            let (user, query) = self.draw_visit(cluster, &mut random);
            page.fill(self, query, &mut random);
            page.browse(self, user, &mut random);
            for (k, &row) in page.rows.iter().enumerate() {
                let impression = Impression {
                    session: first_session + offset as u64,
                    user: user as u32,
                    query,
                    doc: self.doc_of_row[row as usize],
                    position: k as u32 + 1,
                    click: page.session.clicked[k],
                };
                take(impression, &page.session, k);
            }
        }
    }

    /// The number of the piece's first session, and the cluster of each of its sessions. Every piece has its share of
    /// each cluster, so any stretch of the log looks like the whole.
    fn clusters_of_piece(&self, index: u64) -> (u64, Vec<usize>) {
        let pieces = u128::from(self.piece_count());
        let before = |count: u64, piece: u64| (u128::from(count) * u128::from(piece) / pieces) as u64;
        let first = 1 + self.cluster_sessions.iter().map(|&count| before(count, index)).sum::<u64>();
        let sizes = self.cluster_sessions.iter().map(|&count| before(count, index + 1) - before(count, index));
        (first, sizes.enumerate().flat_map(|(cluster, size)| std::iter::repeat_n(cluster, size as usize)).collect())
    }

    fn draw_visit(&self, cluster: usize, random: &mut Random) -> (usize, u32) {
        let query = self.alias_tables[cluster].draw(random);
        let in_cluster = match self.settings.users_per_cluster {
            1 => 0,
            users => random.random_range(0..users),
        };
        (cluster * self.settings.users_per_cluster + in_cluster, query)
    }
}

/// One result page, reused from session to session.
#[derive(Default)]
struct Page {
    rows: Vec<u32>,
    content: ListParameters,
    session: Session,
}

impl Page {
    /// Puts the query's documents on the page, in the order of one of the loggers, swapped or shuffled by chance.
    fn fill(&mut self, simulator: &Simulator<'_>, query: u32, random: &mut Random) {
        let logger = match simulator.lists.len() {
            1 => 0,
            loggers => random.random_range(0..loggers),
        };
        self.rows.clear();
        self.rows.extend_from_slice(simulator.lists[logger].of(query as usize));
        let (swapped, shuffled) = (simulator.settings.swap, simulator.settings.shuffle);
        if swapped + shuffled > 0.0 && self.rows.len() > 1 {
            let draw = random.random::<f64>();
            if draw < swapped {
                let other = random.random_range(1..self.rows.len());
                self.rows.swap(0, other);
            } else if draw < swapped + shuffled {
                self.rows.shuffle(random);
            }
        }
    }

    fn browse(&mut self, simulator: &Simulator<'_>, user: usize, random: &mut Random) {
        simulator.content(&self.rows, &mut self.content);
        simulator.users[user].draw(&self.content.view(), random, &mut self.session);
    }
}

impl Simulator<'_> {
    /// What click models know of a page that shows these rows.
    pub(super) fn content(&self, rows: &[u32], content: &mut ListParameters) {
        content.positions.clear();
        content.positions.extend(1..=rows.len() as u32);
        content.attraction.clear();
        content.attraction.extend(rows.iter().map(|&row| self.relevance[row as usize]));
        content.satisfaction.clear();
        if !self.satisfaction.is_empty() {
            content.satisfaction.extend(rows.iter().map(|&row| self.satisfaction[row as usize]));
        }
    }
}

/// Where towers add up, a document that is certainly relevant would be clicked wherever it stands, so none is certain there.
const UNCERTAIN: (f64, f64) = (0.01, 0.99);

/// P(r=1) = ε + (1−ε)·y/y_max for each row.
fn relevance_of_rows(data: &Dataset, settings: &Simulation) -> Result<Vec<f64>> {
    let (epsilon, max_grade) = (settings.click_noise, settings.max_grade);
    let grades = data.require_grades("simulating clicks")?;
    if let Some(grade) = grades.iter().find(|&&grade| grade > max_grade) {
        return Err(Error::parameter(format!("grades should be at most {max_grade}, but one is {grade}")));
    }
    let probability = |&grade: &u8| epsilon + (1.0 - epsilon) * f64::from(grade) / f64::from(max_grade);
    let (least, most) = match settings.click_model.contains(&ClickModelKind::Additive) {
        true => UNCERTAIN,
        false => (0.0, 1.0),
    };
    Ok(grades.iter().map(|grade| probability(grade).clamp(least, most)).collect())
}

/// σ = γ·u for each row, with u uniform between .5 and 1; nothing where no model has satisfaction.
fn satisfaction_of_rows(relevance: &[f64], settings: &Simulation) -> Vec<f64> {
    if !settings.click_model.iter().any(|kind| kind.has_satisfaction()) {
        return Vec::new();
    }
    let mut random = stream(settings.world(), "satisfaction", 0);
    relevance.iter().map(|gamma| gamma * random.random_range(0.5..1.0)).collect()
}

/// The distinct ids of shown documents, and for each shown row the number of its document.
fn number_docs(data: &Dataset, lists: &[ShownLists]) -> (Ids, Vec<u32>) {
    let mut interner = Interner::default();
    let mut doc_of_row = vec![u32::MAX; data.len()];
    for &row in lists.iter().flat_map(ShownLists::rows) {
        doc_of_row[row as usize] = interner.id(data.docs(), row as usize);
    }
    (interner.into_ids(), doc_of_row)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::DatasetBuilder;

    /// 20 queries with 6 documents each, grades 0 to 4.
    pub(in crate::simulate) fn small_data() -> Dataset {
        DatasetBuilder {
            features: vec![0.0; 120],
            feature_count: 1,
            grades: Some((0..120).map(|row| (row * 7 % 5) as u8).collect()),
            queries: Ids::numbered(20),
            query_ends: (1..=20).map(|query| query * 6).collect(),
            docs: None,
        }
        .build()
        .unwrap()
    }

    fn in_data_order(data: &Dataset) -> [ShownLists; 1] {
        [ShownLists::top(data, &vec![0.0; data.len()], 5).unwrap()]
    }

    #[test]
    fn the_same_seed_gives_the_same_log_on_any_number_of_threads() {
        let data = small_data();
        let lists = in_data_order(&data);
        let draw = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = Simulation::new().sessions(10_000).swap(0.1).shuffle(0.1).seed(seed);
            pool.install(|| settings.prepare(&data, &lists).unwrap().log())
        };
        assert_eq!(draw(1, 1), draw(3, 1));
        assert_ne!(draw(1, 1), draw(1, 2));
    }

    #[test]
    fn clicks_are_examined_relevant_documents_with_the_stated_rates() {
        let data = small_data();
        let lists = in_data_order(&data);
        let simulator = Simulation::new().sessions(100_000).prepare(&data, &lists).unwrap();
        let (log, latents) = simulator.log_with_latents();
        assert_eq!(log, simulator.log());
        let theta = simulator.propensities();
        let mut residual = [0.0; 2];
        for (i, impression) in log.impressions.iter().enumerate() {
            assert_eq!(impression.click, latents.examined[i] && latents.relevant[i]);
            let expected = theta.of_user(impression.user as usize)[impression.position as usize - 1];
            residual[0] += f64::from(latents.examined[i]) - expected;
            let row = impression.query as usize * 6 + impression.doc as usize;
            residual[1] += f64::from(latents.relevant[i]) - simulator.relevance()[row];
        }
        // A sum of n independent indicators strays at most a few times √n/2 from its expectation.
        let bound = 4.0 * (log.impressions.len() as f64).sqrt() / 2.0;
        assert!(residual.iter().all(|r| r.abs() < bound), "{residual:?}");
        assert_eq!(log.impressions.last().unwrap().session, 100_000);
    }

    #[test]
    fn settings_outside_their_range_are_refused() {
        let data = small_data();
        let lists = in_data_order(&data);
        let message = |settings: Simulation| settings.prepare(&data, &lists).err().unwrap().to_string();
        assert_eq!(message(Simulation::new().click_noise(1.5)), "`click_noise` is 1.5, but should be from 0 to 1");
        assert!(message(Simulation::new().users(7)).starts_with("`users` is 7, but the paper has 5, 10 or 20"));
        assert!(message(Simulation::new().users(5).etas(vec![1.0])).starts_with("`users` and `etas` both say"));
        assert!(message(Simulation::new().swap(0.6).shuffle(0.6)).contains("together are 1.2"));
        assert!(message(Simulation::new().sessions(0)).contains("`sessions` is 0"));
        assert!(message(Simulation::new().max_grade(3)).contains("grades should be at most 3, but one is 4"));
    }
}
