//! The E-step of the cascade family, at given γ and σ: what one user did on the pages of one list enters, expected counts leave.

use super::ClickModelKind;
use super::browsing::{FLOOR, after_click, after_skip};
use super::expectation::{Expected, OfDocuments, Step, Sum, times_log};
use super::observed::Visits;

impl Step<'_> {
    /// Transitions to a click are certain, everything between was examined; those to the end are followed down the page by the
    /// probability that each document was examined.
    pub(super) fn go_down(&self, visits: &Visits<'_>, expected: &mut Expected) {
        let walk = Walk::new(self.component.kind, self.values(visits.user), visits, self.documents);
        expected.log_likelihood[visits.user] += walk.log_likelihood();
        let (weight, row) = (self.weight(visits.user), self.row(visits.user));
        let examined = walk.examined();
        for (at, &doc) in visits.docs.iter().enumerate() {
            let doc = doc as usize - self.piece.docs.start;
            let trials = walk.clicks(at) + walk.passed[at] + examined[at].0;
            expected.attraction[doc] += Sum::plain(walk.clicks(at), trials).times(weight);
            if at + 1 == visits.docs.len() {
                break;
            }
            let after = walk.after(at);
            expected.attraction[doc] += after.as_attraction.times(weight);
            if let Some(sum) = expected.satisfaction.get_mut(doc) {
                *sum += after.satisfaction.times(weight);
            }
            let sums = &mut expected.browsing[row..];
            let skipped = Sum::plain(walk.passed[at] + examined[at].1, walk.passed[at] + examined[at].0);
            add_skips(self.component.kind, skipped.times(weight), sums);
            after.add_browsing(self.component.kind, visits.positions[at], weight, sums);
        }
    }
}

/// What skips say about users: whether they go on, in models in which they may not.
pub(super) fn add_skips(kind: ClickModelKind, skipped: Sum, sums: &mut [Sum]) {
    if matches!(kind, ClickModelKind::Dbn | ClickModelKind::Ccm) {
        sums[0] += skipped;
    }
}

/// What one user did on the pages of one list, under a model of the cascade family.
struct Walk<'a> {
    kind: ClickModelKind,
    values: &'a [f64],
    go_on: f64,
    /// γ, σ and b of each document.
    documents: Vec<(f64, f64, f64)>,
    /// N: the probability of no click from a document on, if it is examined; 1 past the last.
    none: Vec<f64>,
    /// How often each was skipped with a click below.
    passed: Vec<f64>,
    /// How often a click on each was followed by another.
    followed: Vec<f64>,
    /// How often the last click was on the one before, or nowhere for 0.
    ends: Vec<f64>,
    /// Transitions that the model forbids.
    forbidden: f64,
}

/// What clicks on a document say, but for the last of a page, after which nothing can follow.
#[derive(Clone, Copy, Default)]
pub(super) struct After {
    /// Of the parameters for going on: the one there is, or those after irrelevant and relevant clicks.
    went_on: [Sum; 2],
    /// Of σ. What is evident is that it was *not* satisfied: another click followed.
    pub satisfaction: Sum,
    /// Of γ, where it is the satisfaction too.
    pub as_attraction: Sum,
}

impl After {
    /// Of a document with these γ, σ and b: how often another click followed or none did, the probability of none below if users
    /// go on being `none`.
    pub fn new(
        kind: ClickModelKind,
        values: &[f64],
        (gamma, sigma, go_on): (f64, f64, f64),
        (followed, ended): (f64, f64),
        none: f64,
    ) -> Self {
        let end = (1.0 - go_on + go_on * none).max(f64::MIN_POSITIVE);
        let all = followed + ended;
        // P(another click) = (1−σ)·λ(1−N).
        let satisfaction =
            |lambda: f64| Sum::imputed(ended * sigma / end, all).seeing(followed, ended, lambda * (1.0 - none));
        match kind {
            ClickModelKind::Dcm => {
                // P(another click) = λ(1−N).
                let went_on = Sum::imputed(followed + ended * go_on * none / end, all);
                After { went_on: [went_on.seeing(followed, ended, 1.0 - none), Sum::default()], ..After::default() }
            }
            ClickModelKind::Sdbn => After { satisfaction: satisfaction(1.0), ..After::default() },
            ClickModelKind::Dbn => {
                let not_satisfied = ended * (1.0 - sigma / end);
                let won = followed + ended * (1.0 - sigma) * values[0] * none / end;
                let went_on = Sum::plain(won, followed + not_satisfied);
                After { went_on: [went_on, Sum::default()], satisfaction: satisfaction(values[0]), ..After::default() }
            }
            ClickModelKind::Ccm => After::in_chain(values, gamma, (followed, ended), none, end),
            _ => After::default(),
        }
    }

    fn in_chain(values: &[f64], gamma: f64, (followed, ended): (f64, f64), none: f64, end: f64) -> Self {
        let (other, relevant) = (values[1], values[2]);
        let go_on = (other * (1.0 - gamma) + relevant * gamma).max(f64::MIN_POSITIVE);
        let of_followed = relevant * gamma / go_on;
        let of_ended = gamma * (1.0 - relevant + relevant * none) / end;
        let satisfied = followed * of_followed + ended * of_ended;
        let not_satisfied = followed * (1.0 - of_followed) + ended * (1.0 - of_ended);
        let after_relevant = followed * of_followed + ended * gamma * relevant * none / end;
        let after_other = followed * (1.0 - of_followed) + ended * (1.0 - gamma) * other * none / end;
        After {
            went_on: [Sum::plain(after_other, not_satisfied), Sum::plain(after_relevant, satisfied)],
            satisfaction: Sum::default(),
            as_attraction: Sum::imputed(satisfied, followed + ended),
        }
    }

    /// Adds what clicks at `position` say about users.
    pub fn add_browsing(&self, kind: ClickModelKind, position: u32, weight: f64, sums: &mut [Sum]) {
        match kind {
            ClickModelKind::Dcm => sums[position as usize - 1] += self.went_on[0].times(weight),
            ClickModelKind::Dbn => sums[0] += self.went_on[0].times(weight),
            ClickModelKind::Ccm => {
                sums[1] += self.went_on[0].times(weight);
                sums[2] += self.went_on[1].times(weight);
            }
            _ => {}
        }
    }
}

impl<'a> Walk<'a> {
    fn new(kind: ClickModelKind, values: &'a [f64], visits: &Visits<'_>, of: OfDocuments<'_>) -> Self {
        let len = visits.docs.len();
        let document = |(&doc, &position): (&u32, &u32)| {
            let (gamma, sigma) = (of.attraction.value(doc), of.satisfaction.value(doc));
            (gamma, sigma, after_click(kind, values, position, (gamma, sigma)))
        };
        let mut walk = Walk {
            kind,
            values,
            go_on: after_skip(kind, values),
            documents: visits.docs.iter().zip(visits.positions).map(document).collect(),
            none: vec![1.0; len + 1],
            passed: vec![0.0; len],
            followed: vec![0.0; len],
            ends: vec![0.0; len + 1],
            forbidden: 0.0,
        };
        for at in (0..len).rev() {
            walk.none[at] = (1.0 - walk.documents[at].0) * walk.no_more(at + 1);
        }
        walk.count(visits);
        walk
    }

    /// The probability of no click from number `at` on after a skip just above.
    fn no_more(&self, at: usize) -> f64 {
        1.0 - self.go_on + self.go_on * self.none[at]
    }

    fn count(&mut self, visits: &Visits<'_>) {
        let len = visits.docs.len();
        for step in visits.steps {
            let (from, to) = (step.from as usize, step.to as usize);
            if self.kind == ClickModelKind::Cm && from > 0 {
                // The model tells of first clicks only.
                self.forbidden += if to < len { step.sessions } else { 0.0 };
            } else if to == len {
                self.ends[from] += step.sessions;
            } else {
                self.passed[from..to].iter_mut().for_each(|passed| *passed += step.sessions);
                if from > 0 {
                    self.followed[from - 1] += step.sessions;
                }
                if self.kind == ClickModelKind::Cm {
                    self.ends[to + 1] += step.sessions;
                }
            }
        }
    }

    fn clicks(&self, at: usize) -> f64 {
        self.followed[at] + self.ends[at + 1]
    }

    /// The probability of no further click after one on number `from − 1`, or from the start.
    fn end(&self, from: usize) -> f64 {
        let go_on = if from == 0 { 1.0 } else { self.documents[from - 1].2 };
        (1.0 - go_on + go_on * self.none[from]).max(f64::MIN_POSITIVE)
    }

    fn log_likelihood(&self) -> f64 {
        let len = self.documents.len();
        let mut sum = self.forbidden * FLOOR.ln();
        for (at, &(gamma, _, after_click)) in self.documents.iter().enumerate() {
            sum += times_log(self.clicks(at), gamma) + times_log(self.passed[at], (1.0 - gamma) * self.go_on);
            sum += times_log(self.followed[at], after_click);
        }
        sum + (0..len).map(|from| times_log(self.ends[from], self.end(from))).sum::<f64>()
    }

    /// For each document how often it was examined without a click after it, in expectation, and how often the user then went on.
    fn examined(&self) -> Vec<(f64, f64)> {
        let mut on_the_way = 0.0;
        let of_document = |at: usize| {
            let enter = if at == 0 { 1.0 } else { self.documents[at - 1].2 * self.none[at] / self.end(at) };
            let examined = on_the_way + self.ends[at] * enter;
            on_the_way = examined * self.go_on * self.none[at + 1] / self.no_more(at + 1).max(f64::MIN_POSITIVE);
            (examined, on_the_way)
        };
        (0..self.documents.len()).map(of_document).collect()
    }

    fn after(&self, at: usize) -> After {
        let counts = (self.followed[at], self.ends[at + 1]);
        After::new(self.kind, self.values, self.documents[at], counts, self.none[at + 1])
    }
}
