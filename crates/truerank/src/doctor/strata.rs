//! Which result pages can be compared between users: pages enter, strata of pages whose users could be exchanged leave.
//!
//! Pages of the same query that show the same documents at the same positions differ in nothing but who saw them, so if
//! users are alike any of them could have made any of the clicks. Where lists vary, a list may be seen by one user only;
//! such pages are compared with others of the same query that fill the same positions, after what is expected of the
//! documents where they stand is taken off.

use crate::counts::{Page, Pages, Shown};

/// What of a page's clicks is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    /// How many there are, less the number that is expected of the list: `Σ_k (c(k) − p(k))`.
    Level,
    /// How far down they are, from where they are expected: `Σ_k c(k)·(ln k − m)`, with m the mean of `ln k` over the clicks that are
    /// expected of the list. It is 0 in expectation for users who click more or less at all positions alike.
    Depth,
}

/// Pages that could change their users, each with what is compared.
pub(super) struct Stratum {
    pub users: Vec<u32>,
    /// One for each page; they sum to 0.
    pub scores: Vec<f64>,
    /// Clicks on the pages.
    pub clicks: u64,
    /// What a unit of a user's difference adds to a page's score: the user clicks `1 + b` times as often, or `k^b` times as often at
    /// position k.
    pub signal: f64,
}

/// Passes of proportional fitting: what is expected settles in few.
const PASSES: usize = 5;

impl Aspect {
    /// All strata of pages of several users whose scores differ.
    pub fn strata(self, pages: &Pages) -> Vec<Stratum> {
        let mut strata = Vec::new();
        for of_query in pages.by_query() {
            let compared: Vec<&Page> = of_query.iter().filter(|page| self.tells(pages.of(page))).collect();
            // Those of the same list first; then, of lists that one user saw, those that fill the same positions.
            let mut rest = Vec::new();
            for same in grouped(compared, |page| list(pages.of(page))) {
                match several_users(&same) {
                    true => strata.extend(self.stratum(pages, &same)),
                    false => rest.extend(same),
                }
            }
            for pool in grouped(rest, |page| positions(pages.of(page))).iter().filter(|pool| several_users(pool)) {
                strata.extend(self.stratum(pages, pool));
            }
        }
        strata
    }

    /// Whether a page says anything: where clicks are is said by clicks alone.
    fn tells(self, shown: &[Shown]) -> bool {
        self == Aspect::Level || clicked(shown).next().is_some()
    }

    fn stratum(self, pages: &Pages, group: &[&Page]) -> Option<Stratum> {
        let lists: Vec<&[Shown]> = group.iter().map(|page| pages.of(page)).collect();
        let rates = Rates::fit(&lists);
        let (mut scores, signals): (Vec<f64>, Vec<f64>) = lists.iter().map(|shown| self.score(shown, &rates)).unzip();
        let count = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / count;
        scores.iter_mut().for_each(|score| *score -= mean);
        let clicks = lists.iter().map(|shown| clicked(shown).count() as u64).sum();
        let users = group.iter().map(|page| page.user).collect();
        // What is left of equal scores is rounding.
        let differ = scores.iter().any(|score| score.abs() > 1e-9);
        differ.then(|| Stratum { users, scores, clicks, signal: signals.iter().sum::<f64>() / count })
    }

    /// A page's score, and what a unit of a user's difference adds to it.
    fn score(self, shown: &[Shown], rates: &Rates) -> (f64, f64) {
        let expected = |value: &dyn Fn(f64) -> f64| -> f64 {
            let places = shown.iter().enumerate();
            places.map(|(place, one)| rates.of(place, one.doc) * value(ln(one))).sum()
        };
        let clicks = expected(&|_| 1.0);
        match self {
            Aspect::Level => (clicked(shown).count() as f64 - clicks, clicks),
            Aspect::Depth => {
                let mean = expected(&|ln| ln) / clicks;
                (clicked(shown).map(|one| ln(one) - mean).sum(), expected(&|ln| (ln - mean).powi(2)))
            }
        }
    }
}

fn ln(shown: &Shown) -> f64 {
    f64::from(shown.position).ln()
}

/// How often documents are clicked at each place of pages that fill the same positions, whoever saw them: `a(place)·b(document)`.
struct Rates {
    docs: Vec<u32>,
    of_places: Vec<f64>,
    of_docs: Vec<f64>,
}

impl Rates {
    /// By proportional fitting; where all lists are the same, the rates of its places.
    fn fit(lists: &[&[Shown]]) -> Self {
        let mut docs: Vec<u32> = lists.iter().flat_map(|shown| shown.iter().map(|shown| shown.doc)).collect();
        docs.sort_unstable();
        docs.dedup();
        let mut rates = Rates { of_places: vec![1.0; lists[0].len()], of_docs: vec![1.0; docs.len()], docs };
        rates.fit_places(lists);
        if lists.iter().any(|shown| list(shown).ne(list(lists[0]))) {
            for _ in 0..PASSES {
                rates.fit_docs(lists);
                rates.fit_places(lists);
            }
        }
        rates
    }

    /// Lets the clicks of every place be those expected.
    fn fit_places(&mut self, lists: &[&[Shown]]) {
        let mut sums = vec![(0.0, 0.0); self.of_places.len()];
        for (place, one) in lists.iter().flat_map(|shown| shown.iter().enumerate()) {
            add(&mut sums[place], self.of_docs[self.number(one.doc)], one.click);
        }
        self.of_places = sums.iter().map(|(expected, clicks)| clicks / expected).collect();
    }

    /// Lets the clicks of every document be those expected, with one more of both: little is known of rare documents.
    fn fit_docs(&mut self, lists: &[&[Shown]]) {
        let mut sums = vec![(1.0, 1.0); self.of_docs.len()];
        for (place, one) in lists.iter().flat_map(|shown| shown.iter().enumerate()) {
            add(&mut sums[self.number(one.doc)], self.of_places[place], one.click);
        }
        self.of_docs = sums.iter().map(|(expected, clicks)| clicks / expected).collect();
    }

    fn number(&self, doc: u32) -> usize {
        self.docs.partition_point(|&other| other < doc)
    }

    fn of(&self, place: usize, doc: u32) -> f64 {
        self.of_places[place] * self.of_docs[self.number(doc)]
    }
}

fn add(sums: &mut (f64, f64), expected: f64, click: bool) {
    sums.0 += expected;
    sums.1 += f64::from(u8::from(click));
}

fn clicked(shown: &[Shown]) -> impl Iterator<Item = &Shown> {
    shown.iter().filter(|shown| shown.click)
}

/// Documents and where they stand.
fn list(shown: &[Shown]) -> impl Iterator<Item = (u32, u32)> {
    shown.iter().map(|shown| (shown.position, shown.doc))
}

fn positions(shown: &[Shown]) -> impl Iterator<Item = u32> {
    shown.iter().map(|shown| shown.position)
}

fn several_users(pages: &[&Page]) -> bool {
    pages.iter().any(|page| page.user != pages[0].user)
}

/// The pages of each key, in order of keys.
fn grouped<'p, K: Iterator<Item: Ord>>(mut pages: Vec<&'p Page>, key: impl Fn(&'p Page) -> K) -> Vec<Vec<&'p Page>> {
    pages.sort_by(|a, b| key(a).cmp(key(b)));
    pages.chunk_by(|a, b| key(a).eq(key(b))).map(<[_]>::to_vec).collect()
}
