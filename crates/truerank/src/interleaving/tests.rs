use rand::RngExt;

use super::*;
use crate::counts::{CountOptions, count_log};
use crate::ids::Ids;
use crate::propensity::InterventionHarvesting;
use crate::random::stream;

fn teams(names: &[&str]) -> Ids {
    let mut ids = Ids::default();
    names.iter().for_each(|name| ids.push_text(name));
    ids
}

/// Pages of one query each: the team and click of each document.
fn log(pages: &[(u32, &[(u32, bool)])]) -> Log {
    let mut impressions = Vec::new();
    for (session, (query, documents)) in pages.iter().enumerate() {
        for (place, &(user, click)) in documents.iter().enumerate() {
            let (doc, position) = (place as u32, place as u32 + 1);
            impressions.push(Impression { session: session as u64, user, query: *query, doc, position, click });
        }
    }
    Log { users: teams(&["new", "old"]), queries: Ids::numbered(3), docs: Ids::numbered(3), impressions }
}

const NEW: u32 = 0;
const OLD: u32 = 1;

#[test]
fn wins_and_credit_are_counted_by_page() {
    let pages: [(u32, &[(u32, bool)]); 5] = [
        (0, &[(NEW, true), (OLD, false), (NEW, true)]),
        (0, &[(OLD, true), (NEW, true)]),
        (1, &[(OLD, true), (NEW, false)]),
        (1, &[(NEW, false), (OLD, false)]),
        (2, &[(NEW, true), (OLD, false)]),
    ];
    let mut log = log(&pages);
    let found = Interleaving::new().judge(&log).unwrap();
    assert_eq!(found.teams, ["new", "old"]);
    assert_eq!((found.wins, found.ties, found.silent, found.pages, found.queries), ([2, 1], 1, 1, 5, 3));
    assert_eq!((found.credit, found.first), ([4, 2], [3, 2]));
    assert!((found.preference.bounds.value - ((2.0 + 0.5) / 4.0 - 0.5)).abs() < 1e-12);
    assert!((found.credit_share.bounds.value - (4.0 / 6.0 - 0.5)).abs() < 1e-12);
    assert_eq!(found.winner(), None, "five pages decide nothing");
    // Rows in any order give the same; the other order of names turns the signs.
    log.impressions.reverse();
    assert_eq!(Interleaving::new().judge(&log).unwrap(), found);
    let turned = Interleaving::new().teams(vec!["old".into(), "new".into()]).judge(&log).unwrap();
    assert_eq!((turned.wins, turned.credit), ([1, 2], [2, 4]));
    assert!((turned.preference.bounds.value + found.preference.bounds.value).abs() < 1e-12);
}

#[test]
fn two_rankers_are_needed() {
    let mut log = log(&[(0, &[(NEW, true), (OLD, false)])]);
    let refused = |names: &[&str], log: &Log| {
        let names = names.iter().map(|name| name.to_string()).collect();
        Interleaving::new().teams(names).judge(log).unwrap_err().to_string()
    };
    assert_eq!(refused(&["new"], &log), "`teams` has 1 names, but two rankers are compared");
    assert_eq!(refused(&["new", "none"], &log), "`teams` has 'none', but no document was placed by it");
    assert_eq!(refused(&["new", "new"], &log), "`teams` has the same name twice, but should have two");
    log.users = teams(&["new", "old", "ads"]);
    let text = "`team` names a column with 3 values, but two rankers are compared; name them with `teams`";
    assert_eq!(refused(&[], &log), text);
    log.impressions[1].user = 2;
    let found = Interleaving::new().teams(vec!["new".into(), "ads".into()]).judge(&log).unwrap();
    assert_eq!(found.wins, [1, 0]);
}

/// θ of the simulated users.
const EXAMINATION: [f64; 4] = [1.0, 0.6, 0.4, 0.25];
/// Relevance of the documents of every query; `good` ranks by it, `bad` the other way round.
const RELEVANCE: [f64; 4] = [0.8, 0.5, 0.3, 0.1];

/// A page by team draft: each turn a coin says who goes first.
fn draft(random: &mut impl RngExt, rankings: [[u32; 4]; 2], fair: bool) -> Vec<(u32, u32)> {
    let mut page: Vec<(u32, u32)> = Vec::new();
    while page.len() < 4 {
        let first = if fair { usize::from(random.random_bool(0.5)) } else { 0 };
        for team in [first, 1 - first] {
            let next = rankings[team].into_iter().find(|doc| page.iter().all(|(shown, _)| shown != doc));
            page.extend(next.map(|doc| (doc, team as u32)));
        }
    }
    page
}

fn simulated(sessions: u64, rankings: [[u32; 4]; 2], fair: bool) -> Log {
    let mut random = stream(7, "interleaved pages", 0);
    let mut impressions = Vec::new();
    for session in 0..sessions {
        for (place, (doc, user)) in draft(&mut random, rankings, fair).into_iter().enumerate() {
            let click = random.random_bool(EXAMINATION[place] * RELEVANCE[doc as usize]);
            let (query, position) = (session as u32 % 50, place as u32 + 1);
            impressions.push(Impression { session, user, query, doc, position, click });
        }
    }
    Log { users: teams(&["bad", "good"]), queries: Ids::numbered(50), docs: Ids::numbered(4), impressions }
}

const GOOD: [u32; 4] = [0, 1, 2, 3];
const BAD: [u32; 4] = [3, 2, 1, 0];

#[test]
fn the_better_ranker_wins_and_equal_ones_do_not() {
    let found = Interleaving::new().judge(&simulated(5_000, [BAD, GOOD], true)).unwrap();
    assert_eq!(found.winner(), Some("good"));
    assert!(found.preference.bounds.high < 0.0 && found.preference.p < 0.01 && found.notes().is_empty());
    let same = Interleaving::new().judge(&simulated(5_000, [GOOD, GOOD], true)).unwrap();
    assert_eq!(same.winner(), None, "{:?}", same.preference);
    // Who always goes first has the better positions.
    let unfair = Interleaving::new().judge(&simulated(5_000, [GOOD, GOOD], false)).unwrap();
    assert_eq!(unfair.winner(), Some("bad"));
    assert!(unfair.notes()[0].contains("no fair coin"), "{:?}", unfair.notes());
}

#[test]
fn interleaved_pages_are_interventions() {
    let mut log = simulated(100_000, [BAD, GOOD], true);
    // Rankings that are the reverse of each other exchange documents of positions 1 and 2, and of 3 and 4, alone: other queries link them.
    let linking = simulated(100_000, [GOOD, [0, 2, 1, 3]], true).impressions;
    let of_others = |row: Impression| Impression { session: row.session + 100_000, query: row.query + 50, ..row };
    log.impressions.extend(linking.into_iter().map(of_others));
    // Counted as any log: one user searches.
    (log.users, log.queries) = (Ids::numbered(1), Ids::numbered(100));
    log.impressions.iter_mut().for_each(|row| row.user = 0);
    let counts = count_log(&log, &CountOptions::new()).unwrap().0;
    let found = InterventionHarvesting::new().resamples(0).estimate(&counts).unwrap();
    for (position, truth) in EXAMINATION.iter().enumerate() {
        let estimate = found.population[position] / found.population[0];
        assert!((estimate / truth - 1.0).abs() < 0.05, "position {}: {estimate} for {truth}", position + 1);
    }
}
