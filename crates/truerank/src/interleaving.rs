//! Team-draft interleaving: a log whose documents say which of two rankers placed them enters; wins, credit and their intervals leave.
//!
//! In team-draft interleaving (Radlinski, Kurup and Joachims 2008) two rankers take turns at placing their best document that is not yet
//! on the page, and a coin decides who goes first in each turn. A click is a vote for the ranker that placed the document. Position bias
//! falls on both alike, so nothing has to be corrected.
//!
//! The same log is full of interventions: documents stand at other positions on other pages by chance. `propensity` with the method
//! `harvesting` takes it as it is.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::counts::LogSource;
use crate::evaluate::{Bounds, PairedDifference, Ratio, resampled};
use crate::ids::IdIndex;
use crate::log::{Impression, Log, ReadOptions};
use crate::options::options;
use crate::{Error, Result};

options! {
    /// How interleaved pages are judged.
    ///
    /// ```no_run
    /// use truerank::interleaving::Interleaving;
    /// use truerank::log::ReadOptions;
    /// let found = Interleaving::new().read(vec!["clicks.csv".into()], ReadOptions::new())?;
    /// println!("{:+.3}", found.preference.bounds.value);
    /// # Ok::<(), truerank::Error>(())
    /// ```
    #[derive(PartialEq)]
    pub struct Interleaving {
        /// Column with the name of the ranker that placed a document.
        team: String = "team".to_string(), value("COLUMN");
        /// The names of the two rankers, in this order; documents of others earn nothing.
        teams: Vec<String> = Vec::new(), value("NAME,NAME"), usual("those of the column, where it has two");
        /// Resamples of queries for intervals.
        resamples: usize = 1000, value("N");
        /// Seed of the resamples.
        seed: u64 = 1;
    }
}

/// What interleaved pages say of two rankers.
#[derive(Debug, Clone, PartialEq)]
pub struct Interleaved {
    /// The names of the two rankers.
    pub teams: [String; 2],
    /// Result pages.
    pub pages: u64,
    /// Queries.
    pub queries: usize,
    /// Pages on which documents of each ranker have more clicks than those of the other.
    pub wins: [u64; 2],
    /// Pages with as many clicks for one as for the other.
    pub ties: u64,
    /// Pages without a click on a document of either; they say nothing.
    pub silent: u64,
    /// Clicks on documents of each ranker.
    pub credit: [u64; 2],
    /// Pages whose first document is of each ranker: about as many of one as of the other, where a coin decides.
    pub first: [u64; 2],
    /// `(wins of the first + ties / 2) / (wins + ties) − 1/2` (Chapelle et al. 2012): above 0 the first is preferred. Queries are
    /// resampled, since pages of a query resemble each other.
    pub preference: PairedDifference,
    /// The first ranker's share of the clicks of both, less one half.
    pub credit_share: PairedDifference,
}

/// Coins that fall this many standard deviations from half are no fair coins.
const UNFAIR: f64 = 4.0;

/// A difference below this p-value is found.
const LEVEL: f64 = 0.05;

impl Interleaving {
    /// Reads a log and judges its pages. All rows are in memory.
    pub fn read(&self, paths: Vec<std::path::PathBuf>, reading: ReadOptions) -> Result<Interleaved> {
        self.judge(&LogSource::open(paths, self.reading(reading)?)?.read()?)
    }

    /// How the log has to be read: who placed a document takes the place of who searched.
    pub fn reading(&self, mut reading: ReadOptions) -> Result<ReadOptions> {
        reading.columns.map("user", &self.team)?;
        Ok(reading)
    }

    /// Judges pages of a log that was read with [`Interleaving::reading`]: its users are rankers.
    pub fn judge(&self, log: &Log) -> Result<Interleaved> {
        let teams = self.teams_of(log)?;
        let numbers = teams.each_ref().map(|name| IdIndex::new(&log.users).find(name));
        let mut shown: Vec<&Impression> = log.impressions.iter().collect();
        shown.sort_unstable_by_key(|row| (row.query, row.session, row.position, row.doc));
        let mut sums = Sums::default();
        for query in shown.chunk_by(|a, b| a.query == b.query) {
            sums.begin_query();
            query.chunk_by(|a, b| a.session == b.session).for_each(|page| sums.add(&Page::of(page, numbers)));
        }
        Ok(sums.interleaved(teams, self))
    }

    /// The two names: those that were given, or that the log has.
    fn teams_of(&self, log: &Log) -> Result<[String; 2]> {
        let found: Vec<String> = (0..log.users.len()).map(|user| log.users.name(user).into_owned()).collect();
        let names = if self.teams.is_empty() { found.clone() } else { self.teams.clone() };
        let [first, second] = <[String; 2]>::try_from(names).map_err(|names| match self.teams.is_empty() {
            true => Error::option(
                "team",
                format!(
                    "names a column with {} values, but two rankers are compared; name them with `teams`",
                    names.len()
                ),
            ),
            false => Error::option("teams", format!("has {} names, but two rankers are compared", names.len())),
        })?;
        let unknown = [&first, &second].into_iter().find(|name| !found.contains(name)).cloned();
        match unknown {
            Some(name) => Err(Error::option("teams", format!("has '{name}', but no document was placed by it"))),
            None if first == second => Err(Error::option("teams", "has the same name twice, but should have two")),
            None => Ok([first, second]),
        }
    }
}

/// What a page says: the clicks of each ranker, and whose document is first.
struct Page {
    clicks: [u64; 2],
    first: Option<usize>,
}

impl Page {
    fn of(page: &[&Impression], teams: [Option<u32>; 2]) -> Self {
        let team = |row: &Impression| teams.iter().position(|&number| number == Some(row.user));
        let mut clicks = [0; 2];
        page.iter().filter(|row| row.click).filter_map(|row| team(row)).for_each(|team| clicks[team] += 1);
        Page { clicks, first: page.first().and_then(|row| team(row)) }
    }
}

/// Sums over pages, and over the pages of each query.
#[derive(Default)]
struct Sums {
    pages: u64,
    wins: [u64; 2],
    ties: u64,
    silent: u64,
    credit: [u64; 2],
    first: [u64; 2],
    /// Of each query: twice the wins of the first and its ties, and twice the pages that count.
    preference: Ratio,
    credit_share: Ratio,
}

impl Sums {
    fn begin_query(&mut self) {
        self.preference.push(0.0, 0.0);
        self.credit_share.push(0.0, 0.0);
    }

    fn add(&mut self, page: &Page) {
        let [one, other] = page.clicks;
        self.pages += 1;
        self.credit[0] += one;
        self.credit[1] += other;
        if let Some(team) = page.first {
            self.first[team] += 1;
        }
        if one + other == 0 {
            self.silent += 1;
            return;
        }
        let won = match one.cmp(&other) {
            Ordering::Greater => 1.0,
            Ordering::Equal => 0.5,
            Ordering::Less => 0.0,
        };
        match one.cmp(&other) {
            Ordering::Greater => self.wins[0] += 1,
            Ordering::Equal => self.ties += 1,
            Ordering::Less => self.wins[1] += 1,
        }
        add_to(&mut self.preference, won, 1.0);
        add_to(&mut self.credit_share, one as f64, (one + other) as f64);
    }

    fn interleaved(self, teams: [String; 2], options: &Interleaving) -> Interleaved {
        let above_half = |ratio: &Ratio| {
            let half = Ratio {
                numerators: ratio.denominators.iter().map(|count| count / 2.0).collect(),
                denominators: ratio.denominators.clone(),
            };
            let drawn = resampled(&[ratio, &half], options.resamples, options.seed);
            PairedDifference::of((ratio, &drawn[0]), (&half, &drawn[1]))
        };
        Interleaved {
            teams,
            pages: self.pages,
            queries: self.preference.numerators.len(),
            wins: self.wins,
            ties: self.ties,
            silent: self.silent,
            credit: self.credit,
            first: self.first,
            preference: above_half(&self.preference),
            credit_share: above_half(&self.credit_share),
        }
    }
}

/// Adds to the query that was begun last.
fn add_to(ratio: &mut Ratio, numerator: f64, denominator: f64) {
    if let (Some(above), Some(below)) = (ratio.numerators.last_mut(), ratio.denominators.last_mut()) {
        *above += numerator;
        *below += denominator;
    }
}

impl Interleaved {
    /// The ranker that people prefer; nothing where that is open.
    pub fn winner(&self) -> Option<&str> {
        let Bounds { value, low, high } = self.preference.bounds;
        let is_found = self.preference.p < LEVEL && (low > 0.0 || high < 0.0);
        is_found.then(|| self.teams[usize::from(value < 0.0)].as_str())
    }

    /// What should be known before the winner is believed.
    pub fn notes(&self) -> Vec<String> {
        let [one, other] = self.first.map(|count| count as f64);
        let deviation = (one - other).abs() / (one + other).sqrt();
        let [first, second] = &self.teams;
        let unfair = (deviation > UNFAIR).then(|| {
            format!(
                "the first document is of {first} on {} pages and of {second} on {}: no fair coin decided who goes first, so \
                 clicks may favour one by its positions",
                self.first[0], self.first[1]
            )
        });
        let few = (self.queries < 2).then(|| "there is one query, so there are no intervals over queries".to_string());
        unfair.into_iter().chain(few).collect()
    }

    /// All of it for programs.
    pub fn to_json(&self) -> Value {
        let named = |values: [u64; 2]| json!({ &self.teams[0]: values[0], &self.teams[1]: values[1] });
        let difference = |found: &PairedDifference| {
            let mut value = found.bounds.to_json();
            value["p"] = json!(found.p);
            value
        };
        json!({
            "type": "truerank/interleaving", "version": 1,
            "teams": self.teams, "pages": self.pages, "queries": self.queries,
            "wins": named(self.wins), "ties": self.ties, "pages_without_clicks": self.silent,
            "credit": named(self.credit), "first_document": named(self.first),
            "preference": difference(&self.preference), "credit_share": difference(&self.credit_share),
            "winner": self.winner(), "notes": self.notes(),
        })
    }
}

#[cfg(test)]
mod tests;
