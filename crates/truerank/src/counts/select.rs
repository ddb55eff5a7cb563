//! Parts of counts: the queries somebody chooses, or a share of them by the text of their ids.

use std::sync::Arc;

use rand::RngExt;

use super::model::Counts;
use super::pages::Pages;
use super::part::Part;
use super::transitions::Transitions;
use super::view::CountsView;
use crate::ids::Ids;
use crate::random::{fraction, stream};
use crate::{Error, Result};

impl Counts {
    /// Divides the queries into those to learn from and those held out, about `share` of them.
    ///
    /// Which side a query is on follows from its text and the seed alone, so it is the same in any log. Ids that do not
    /// occur on a side are left out there.
    pub fn split_queries(&self, share: f64, seed: u64) -> Result<(Counts, Counts)> {
        let held_out = held_out_queries(self, share, seed)?;
        Ok((self.part_of_queries(others(&held_out))?, self.part_of_queries(held_out)?))
    }

    /// Divides the pages at random into those to learn from and those held out, about `share` of them, or half of the whole pages that
    /// are kept where these are fewer.
    ///
    /// It is an error where no pages are kept.
    pub fn split_pages(&self, share: f64, seed: u64) -> Result<(Counts, Counts)> {
        let (train, held_out) = divided_pages(self, share, seed)?;
        Ok((Part::without_pages(self, &held_out, train).counts()?, counts_of_pages(self, held_out)?))
    }

    /// The queries for which `keep`, which has an entry for each, is true. Ids that then do not occur are left out.
    pub fn select_queries(&self, keep: &[bool]) -> Result<Counts> {
        self.part_of_queries(keep.to_vec())
    }

    fn part_of_queries(&self, keep: Vec<bool>) -> Result<Counts> {
        Part::queries(self, keep).with_patterns(self.patterns.as_ref()).counts()
    }
}

/// Two parts of counts: one to learn from, one to judge by.
pub(super) type TwoParts = (Arc<dyn CountsView>, Arc<dyn CountsView>);

impl dyn CountsView + '_ {
    /// The texts of the queries that both counts have, in the order of these.
    pub fn overlap(&self, other: &dyn CountsView) -> Vec<String> {
        let numbers = self.queries().numbers_in(other.queries());
        let shared = (0..self.queries().len()).filter(|&query| numbers[query].is_some());
        shared.map(|query| self.queries().name(query).into_owned()).collect()
    }

    /// As [`Counts::split_queries`], without click patterns; parts lie where the whole does.
    pub(super) fn split_queries(&self, share: f64, seed: u64) -> Result<TwoParts> {
        let held_out = held_out_queries(self, share, seed)?;
        Ok((Part::queries(self, others(&held_out)).view()?, Part::queries(self, held_out).view()?))
    }

    /// As [`Counts::split_pages`]; what is left lies where the whole does, and held-out pages, which are not many, in memory.
    pub(crate) fn split_pages(&self, share: f64, seed: u64) -> Result<TwoParts> {
        let (train, held_out) = divided_pages(self, share, seed)?;
        let rest = Part::without_pages(self, &held_out, train).view()?;
        Ok((rest, Arc::new(counts_of_pages(self, held_out)?)))
    }
}

fn held_out_queries(counts: &dyn CountsView, share: f64, seed: u64) -> Result<Vec<bool>> {
    check_share("queries", share)?;
    let queries = counts.queries();
    Ok((0..queries.len()).map(|query| is_held_out(&queries.name(query), share, seed)).collect())
}

fn others(held_out: &[bool]) -> Vec<bool> {
    held_out.iter().map(|held_out| !held_out).collect()
}

/// The pages to learn from, and those held out.
fn divided_pages(counts: &dyn CountsView, share: f64, seed: u64) -> Result<(Pages, Pages)> {
    check_share("pages", share)?;
    let Some(pages) = counts.pages() else {
        return Err(Error::parameter(
            "these counts keep no result pages to hold out; count the log again, or hold out queries",
        ));
    };
    let sessions = counts.totals().sessions;
    let wanted = share * sessions as f64 / pages.pages.len().max(1) as f64;
    let share = if pages.pages.len() as u64 == sessions { share } else { wanted.min(0.5) };
    let (mut train, mut held_out) = (Pages::default(), Pages::default());
    for (number, page) in (0..).zip(&pages.pages) {
        let side = if fraction(seed, number, HELD_OUT_PAGES) < share { &mut held_out } else { &mut train };
        side.push_of(pages, page);
    }
    Ok((train, held_out))
}

/// Counts of some whole pages of other counts, with transitions if these have them.
fn counts_of_pages(whole: &dyn CountsView, pages: Pages) -> Result<Counts> {
    let (cells, sessions) = pages.counted();
    let transitions = whole.totals().transitions.map(|_| Transitions::of_pages(&pages));
    let (queries, docs, users) = (whole.queries().clone(), whole.docs().clone(), whole.users().clone());
    let (origin, contexts, pages) = (whole.origin().clone(), Ids::default(), Some(pages));
    let counts = Counts { queries, docs, users, contexts, cells, sessions, patterns: None, transitions, pages, origin };
    Part::all(&counts).counts()
}

/// What tells this choice from other uses of the same hash.
const HELD_OUT_PAGES: u64 = 0x6865_6c64;

fn check_share(what: &str, share: f64) -> Result<()> {
    match (0.0..=1.0).contains(&share) {
        true => Ok(()),
        false => Err(Error::parameter(format!("the share of held-out {what} should be from 0 to 1, but is {share}"))),
    }
}

fn is_held_out(query: &str, share: f64, seed: u64) -> bool {
    stream(seed, query, 0).random::<f64>() < share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::{CountOptions, count_log, everywhere};
    use crate::data::{Generator, Preset};
    use crate::simulate::{ShownLists, Simulation};

    fn overlap(one: &dyn CountsView, other: &dyn CountsView) -> Vec<String> {
        one.overlap(other)
    }

    fn counted(sessions: u64, seed: u64) -> Counts {
        let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
        let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 5).unwrap()];
        let log = Simulation::new().sessions(sessions).seed(seed).prepare(&data, &lists).unwrap().log();
        count_log(&log, &CountOptions::new().patterns(true).transitions(true)).unwrap().0
    }

    #[test]
    fn both_sides_together_are_the_whole_and_each_can_be_written() {
        let counts = counted(2000, 1);
        let (learned, held_out) = counts.split_queries(0.3, 1).unwrap();
        assert!(overlap(&learned, &held_out).is_empty());
        let total = |value: fn(&Counts) -> u64| [value(&learned) + value(&held_out), value(&counts)];
        for [parts, whole] in [
            total(Counts::session_count),
            total(Counts::impression_count),
            total(Counts::click_count),
            total(|counts| counts.queries.len() as u64),
            total(|counts| counts.patterns.as_ref().unwrap().patterns.len() as u64),
            total(|counts| counts.transitions.as_ref().unwrap().lists.len() as u64),
            total(|counts| counts.transitions.as_ref().unwrap().rows.iter().map(|row| row.sessions).sum()),
        ] {
            assert_eq!(parts, whole);
        }
        let share = held_out.queries.len() as f64 / counts.queries.len() as f64;
        assert!((share - 0.3).abs() < 4.0 * (0.3 * 0.7 / counts.queries.len() as f64).sqrt(), "{share}");
        let folder = tempfile::tempdir().unwrap();
        held_out.write(&folder.path().join("held-out")).unwrap();
        assert!(Counts::read(&folder.path().join("held-out")).unwrap() == held_out);
    }

    #[test]
    fn pages_of_both_sides_together_are_the_whole() {
        let counts = counted(2000, 1);
        let (learned, held_out) = counts.split_pages(0.3, 1).unwrap();
        assert_eq!(learned.session_count() + held_out.session_count(), 2000);
        assert_eq!(learned.click_count() + held_out.click_count(), counts.click_count());
        assert_eq!(learned.impression_count() + held_out.impression_count(), counts.impression_count());
        let share = held_out.session_count() as f64 / 2000.0;
        assert!((share - 0.3).abs() < 4.0 * (0.3 * 0.7 / 2000.0_f64).sqrt(), "{share}");
        // Each side is what counting its own pages gives.
        for side in [&learned, &held_out] {
            let (cells, sessions) = side.pages.as_ref().unwrap().counted();
            assert!(cells == side.cells && sessions == side.sessions);
            assert!(side.transitions.as_ref() == Some(&Transitions::of_pages(side.pages.as_ref().unwrap())));
        }
        assert!(counts.split_pages(0.3, 1).unwrap() == (learned, held_out));
        let without = Counts { pages: None, ..counts };
        assert!(without.split_pages(0.3, 1).unwrap_err().to_string().contains("count the log again"));
    }

    /// Every file of the counts as they are written.
    fn bytes(part: &dyn CountsView) -> Vec<(String, Vec<u8>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        part.write(&path, true).unwrap();
        let files = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let read =
            |file: std::path::PathBuf| (file.file_name().unwrap().display().to_string(), std::fs::read(&file).unwrap());
        let mut files: Vec<_> = files.map(read).collect();
        files.sort();
        files
    }

    #[test]
    fn parts_are_the_same_bytes_in_memory_and_on_disk() {
        let counts = Counts { patterns: None, ..counted(2000, 1) };
        let by_query = counts.split_queries(0.3, 1).unwrap();
        let by_page = counts.split_pages(0.3, 1).unwrap();
        let deep = Part::all(&counts).cut_below(3).counts().unwrap();
        let expected = [&by_query.0, &by_query.1, &by_page.0, &by_page.1, &deep].map(|part| bytes(part));
        let without = Counts { transitions: None, ..counts.clone() };
        let found = everywhere(&counts, |view| {
            let (by_query, by_page) = (view.split_queries(0.3, 1).unwrap(), view.split_pages(0.3, 1).unwrap());
            let deep = Part::all(view).cut_below(3).view().unwrap();
            [by_query.0, by_query.1, by_page.0, by_page.1, deep].map(|part| bytes(part.as_ref()))
        });
        found.iter().for_each(|found| assert!(*found == expected));
        // All pages are kept, so transitions can be made of them.
        assert!((&without as &dyn CountsView).has_all_pages());
        let made =
            everywhere(&without, |view| bytes(Part::all(view).with_transitions_of_pages().view().unwrap().as_ref()));
        made.iter().for_each(|made| assert!(*made == bytes(&counts)));
    }

    #[test]
    fn what_is_cut_is_what_counting_shorter_pages_gives() {
        let counts = counted(2000, 1);
        let cut = Part::all(&counts).cut_below(2).counts().unwrap();
        let (cells, _) = cut.pages.as_ref().unwrap().counted();
        assert!(cells == cut.cells && cut.sessions == counts.sessions && cut.max_position() == 2);
        assert!(cut.transitions == Some(Transitions::of_pages(cut.pages.as_ref().unwrap())));
        assert!(cut.docs.len() < counts.docs.len(), "documents that stand nowhere have no name");
        let folder = tempfile::tempdir().unwrap();
        cut.write(&folder.path().join("cut")).unwrap();
        assert!(Counts::read(&folder.path().join("cut")).unwrap() == cut);
    }

    #[test]
    fn a_query_is_on_the_same_side_in_every_log() {
        let (first, second) = (counted(300, 1), counted(3000, 2));
        let sides = |counts: &Counts| counts.split_queries(0.4, 7).unwrap();
        assert!(overlap(&sides(&first).0, &sides(&second).1).is_empty());
        assert!(overlap(&sides(&first).1, &sides(&second).0).is_empty());
        assert!(!overlap(&sides(&first).1, &sides(&second).1).is_empty());
        assert!(first.split_queries(1.5, 1).unwrap_err().to_string().contains("from 0 to 1, but is 1.5"));
    }

    #[test]
    fn all_queries_are_all_counts() {
        let counts = counted(500, 3);
        assert!(
            counts.split_queries(0.0, 1).unwrap()
                == (counts.clone(), counts.select_queries(&vec![false; 500]).unwrap())
        );
    }
}
