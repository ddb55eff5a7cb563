//! The E-step of the cascade family where γ and σ are summed over: each transition is explained by what all others say.

use super::ClickModelKind;
use super::browsing::{FLOOR, after_click, after_skip};
use super::cascade::{After, add_skips};
use super::expectation::{Expected, Known, OfDocuments, Step, Sum, times_log};
use super::observed::{Step as Transition, Visits};

impl Step<'_> {
    /// As [`go_down`](Step::go_down), transition by transition.
    pub(super) fn leave_each_out(&self, visits: &Visits<'_>, expected: &mut Expected) {
        let page = Page::new(self.component.kind, self.values(visits.user), visits, self.documents);
        for transition in visits.steps {
            if page.kind == ClickModelKind::Cm && transition.from > 0 {
                // The model tells of first clicks only.
                let forbidden = if transition.to as usize == page.len() { 0.0 } else { transition.sessions };
                expected.log_likelihood[visits.user] += forbidden * FLOOR.ln();
            } else if (transition.from as usize) < page.len() {
                self.explain(&page, transition, expected);
            }
        }
    }

    fn explain(&self, page: &Page<'_>, transition: &Transition, expected: &mut Expected) {
        let (user, sessions) = (page.visits.user, transition.sessions);
        let (weight, row) = (sessions * self.weight(user), self.row(user));
        let alone = page.without(transition);
        expected.log_likelihood[user] += sessions * alone.log_probability();
        let doc_at = |at: usize| page.visits.docs[at] as usize - self.piece.docs.start;
        let sums = &mut expected.browsing[row..];
        let documents = alone.examined().into_iter().zip(alone.exposures());
        for (at, ((examined, went_on), exposure)) in (alone.from..).zip(documents) {
            expected.attraction[doc_at(at)] += alone.of_document(at, examined, exposure).times(weight);
            if at + 1 < page.len() && at != alone.to {
                add_skips(page.kind, Sum::plain(went_on, examined).times(weight), sums);
            }
        }
        let Some(last) = alone.from.checked_sub(1) else { return };
        let after = alone.after_last_click();
        expected.attraction[doc_at(last)] += after.as_attraction.times(weight);
        if let Some(sum) = expected.satisfaction.get_mut(doc_at(last)) {
            *sum += after.satisfaction.times(weight);
        }
        after.add_browsing(page.kind, page.visits.positions[last], weight, sums);
    }
}

/// What a list and a user are like, by all that is known.
struct Page<'a> {
    kind: ClickModelKind,
    values: &'a [f64],
    go_on: f64,
    visits: &'a Visits<'a>,
    known: OfDocuments<'a>,
    /// The probability of no click from a document on, if it is examined; 1 past the last.
    none: Vec<f64>,
}

impl<'a> Page<'a> {
    fn new(kind: ClickModelKind, values: &'a [f64], visits: &'a Visits<'a>, known: OfDocuments<'a>) -> Self {
        let go_on = after_skip(kind, values);
        let gamma: Vec<f64> = visits.docs.iter().map(|&doc| known.attraction.value(doc)).collect();
        Page { kind, values, go_on, visits, known, none: no_clicks(&gamma, go_on) }
    }

    fn len(&self) -> usize {
        self.visits.docs.len()
    }

    /// A transition, with what all others say about the documents in it.
    fn without(&'a self, transition: &Transition) -> Alone<'a> {
        let (from, to) = (transition.from as usize, transition.to as usize);
        let ended = to == self.len();
        let last = from.checked_sub(1).map(|at| self.last_click(at, ended));
        let enter = last.map_or(1.0, |(_, _, go_on)| go_on);
        let own = if ended { self.own_examinations(from) } else { vec![1.0; to + 1 - from] };
        let mean = |(at, &of): (usize, &f64)| {
            let (doc, won) = (self.visits.docs[at], if at == to { 1.0 } else { 0.0 });
            self.known.attraction.without(doc, won, self.known.attraction.worth(doc, of))
        };
        let gamma: Vec<f64> = (from..).zip(&own).map(mean).collect();
        let none = if ended { no_clicks(&gamma, self.go_on) } else { Vec::new() };
        Alone { page: self, from, to, last, enter, gamma, none }
    }

    /// How likely each document from number `from` on was examined, if no click followed the one just above.
    fn own_examinations(&self, from: usize) -> Vec<f64> {
        let go_on = if from == 0 { 1.0 } else { self.of_click(from - 1).2 };
        entered(go_on, &self.none[from..], self.go_on).into_iter().map(|(examined, _)| examined).collect()
    }

    /// γ, σ and b of a document, by all that is known.
    fn of_click(&self, at: usize) -> (f64, f64, f64) {
        let doc = self.visits.docs[at];
        self.with_b(at, (self.known.attraction.value(doc), self.known.satisfaction.value(doc)))
    }

    fn with_b(&self, at: usize, (gamma, sigma): (f64, f64)) -> (f64, f64, f64) {
        (gamma, sigma, after_click(self.kind, self.values, self.visits.positions[at], (gamma, sigma)))
    }

    /// γ, σ and b of the last click, without what followed it.
    fn last_click(&self, at: usize, ended: bool) -> (f64, f64, f64) {
        let (doc, full) = (self.visits.docs[at], self.of_click(at));
        let counts = if ended { (0.0, 1.0) } else { (1.0, 0.0) };
        let after = After::new(self.kind, self.values, full, counts, self.none[at + 1]);
        let without = |known: &Known<'_>, own: &Sum| known.without(doc, own.won, own.of);
        let gamma = without(&self.known.attraction, &after.as_attraction);
        self.with_b(at, (gamma, without(&self.known.satisfaction, &after.satisfaction)))
    }
}

/// A transition by itself, and what documents are like without it.
struct Alone<'a> {
    page: &'a Page<'a>,
    from: usize,
    to: usize,
    /// γ, σ and b of the last click, where there was one.
    last: Option<(f64, f64, f64)>,
    /// The probability of going on to the first document.
    enter: f64,
    /// Of the documents from `from` to the next click, or to the end.
    gamma: Vec<f64>,
    /// The probability of no click from each on; empty where there was one.
    none: Vec<f64>,
}

impl Alone<'_> {
    fn ended(&self) -> bool {
        self.to == self.page.len()
    }

    fn log_probability(&self) -> f64 {
        if self.ended() {
            return times_log(1.0, 1.0 - self.enter + self.enter * self.none[0]);
        }
        let (clicked, skipped) = self.gamma.split_last().expect("a transition to a click has a document");
        let skips = skipped.iter().map(|gamma| times_log(1.0, (1.0 - gamma) * self.page.go_on));
        times_log(1.0, self.enter) + skips.sum::<f64>() + times_log(1.0, *clicked)
    }

    /// For each document how likely it was examined, and the user went on.
    fn examined(&self) -> Vec<(f64, f64)> {
        match self.ended() {
            true => entered(self.enter, &self.none, self.page.go_on),
            false => vec![(1.0, 1.0); self.gamma.len()],
        }
    }

    /// γ's counts, with the chance of a click that the document had before it was clicked or not.
    fn of_document(&self, at: usize, examined: f64, exposure: f64) -> Sum {
        let clicked = if at == self.to { 1.0 } else { 0.0 };
        let trials = self.page.known.attraction.worth(self.page.visits.docs[at], examined);
        Sum::imputed(clicked, trials).seeing(clicked, 1.0 - clicked, exposure)
    }

    /// ε of each document: `ε′ = ε·a(1−γ)/(1−εγ)` after a skip.
    fn exposures(&self) -> Vec<f64> {
        let mut next = self.enter;
        let of_document = |gamma: &f64| {
            let exposure = next;
            next = exposure * self.page.go_on * (1.0 - gamma) / (1.0 - exposure * gamma).max(f64::MIN_POSITIVE);
            exposure
        };
        self.gamma.iter().map(of_document).collect()
    }

    fn after_last_click(&self) -> After {
        let (last, ended) = (self.last.unwrap_or_default(), self.ended());
        let (counts, none) = if ended { ((0.0, 1.0), self.none[0]) } else { ((1.0, 0.0), 1.0) };
        After::new(self.page.kind, self.page.values, last, counts, none)
    }
}

/// N of each document, and 1 past the last.
fn no_clicks(gamma: &[f64], go_on: f64) -> Vec<f64> {
    let mut none = vec![1.0; gamma.len() + 1];
    for at in (0..gamma.len()).rev() {
        none[at] = (1.0 - gamma[at]) * (1.0 - go_on + go_on * none[at + 1]);
    }
    none
}

/// The probabilities that documents were examined, and that users then went on, where users enter with probability `enter` and no
/// click followed.
fn entered(enter: f64, none: &[f64], go_on: f64) -> Vec<(f64, f64)> {
    let mut on_the_way = enter * none[0] / (1.0 - enter + enter * none[0]).max(f64::MIN_POSITIVE);
    let of_document = |below: &f64| {
        let examined = on_the_way;
        on_the_way = examined * go_on * below / (1.0 - go_on + go_on * below).max(f64::MIN_POSITIVE);
        (examined, on_the_way)
    };
    none[1..].iter().map(of_document).collect()
}
