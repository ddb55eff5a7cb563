//! A model with the parameters of one kind of user: a page and its documents enter, probabilities of clicks leave.

use super::ClickModelKind;
use super::kind::Family;

/// Conditional probabilities of clicks stay this far from 0 and 1: what a model forbids happens all the same.
pub const FLOOR: f64 = 1e-6;

/// A click model with its parameters for one user, one kind of users, or all.
#[derive(Debug, Clone, PartialEq)]
pub struct Browsing {
    /// Which model.
    pub kind: ClickModelKind,
    /// The positions that it has parameters for.
    pub positions: usize,
    /// The parameters, as [`ClickModelKind::parameter_names`] lists them.
    pub values: Vec<f64>,
}

/// The documents of a page, from the top, with what the model knows of them.
#[derive(Debug, Clone, Copy)]
pub struct PageView<'a> {
    /// Positions, counted from 1, rising.
    pub positions: &'a [u32],
    /// γ: the probability of a click on an examined document.
    pub attraction: &'a [f64],
    /// σ: the probability that a clicked document satisfies; read by models that have it.
    pub satisfaction: &'a [f64],
}

impl PageView<'_> {
    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}

/// `P(click) = slope·γ + shift` of a document, given the clicks above it.
///
/// The slope is the exposure: in all models but `trust` the shift is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exposed {
    /// The probability of being examined.
    pub slope: f64,
    /// The probability of a click that relevance has no part in.
    pub shift: f64,
}

impl Exposed {
    /// The probability of a click on a document of this attraction.
    pub fn click(&self, attraction: f64) -> f64 {
        self.slope * attraction + self.shift
    }
}

impl Browsing {
    /// The same value for all parameters of users.
    pub fn constant(kind: ClickModelKind, positions: usize, value: f64) -> Self {
        Browsing { kind, positions, values: vec![value; kind.parameter_count(positions)] }
    }

    /// The position-based model of a user who examines position k with probability `k^−eta`.
    pub fn power_law(eta: f64, positions: usize) -> Self {
        let values = (1..=positions).map(|k| (k as f64).powf(-eta)).collect();
        Browsing { kind: ClickModelKind::Pbm, positions, values }
    }

    /// θ(k) for positions 1, 2, … where examination depends on the position alone and a click is examination and relevance;
    /// `None` for models in which earlier clicks matter. Cells can be drawn directly only from the former.
    pub fn examination(&self) -> Option<&[f64]> {
        (self.kind == ClickModelKind::Pbm).then_some(&self.values)
    }

    pub(super) fn after_skip(&self) -> f64 {
        after_skip(self.kind, &self.values)
    }

    pub(super) fn after_click(&self, page: &PageView<'_>, at: usize) -> f64 {
        let document = (page.attraction[at], page.satisfaction.get(at).copied().unwrap_or(0.0));
        after_click(self.kind, &self.values, page.positions[at], document)
    }

    /// The conditional exposure of the documents from number `from` on, where the last click was on number `from − 1`, or
    /// nowhere for 0, and none after it.
    ///
    /// Slot models have θ(slot). In the cascade family it is 1 at the top and b after a click; after a skip
    /// `ε′ = ε·a(1−γ)/(1−εγ)`.
    pub fn exposed_after(&self, page: &PageView<'_>, from: usize) -> Vec<Exposed> {
        match self.kind.family() {
            Family::Cascade => self.cascade_after(page, from),
            _ => (from..page.len()).map(|at| self.in_slot(page, from, at)).collect(),
        }
    }

    fn in_slot(&self, page: &PageView<'_>, from: usize, at: usize) -> Exposed {
        let last_click = if from == 0 { 0 } else { page.positions[from - 1] };
        let value = self.values[self.kind.slot(last_click, page.positions[at])];
        match self.kind {
            ClickModelKind::Trust => {
                let index = page.positions[at] as usize - 1;
                let (right, wrong) = (self.values[self.positions + index], self.values[2 * self.positions + index]);
                Exposed { slope: value * (right - wrong), shift: value * wrong }
            }
            ClickModelKind::Additive => {
                let gamma = page.attraction[at];
                Exposed { slope: logistic(logit(gamma) + value) / gamma, shift: 0.0 }
            }
            _ => Exposed { slope: value, shift: 0.0 },
        }
    }

    fn cascade_after(&self, page: &PageView<'_>, from: usize) -> Vec<Exposed> {
        let mut exposure = if from == 0 { 1.0 } else { self.after_click(page, from - 1) };
        let go_on = self.after_skip();
        let of_document = |at: usize| {
            let exposed = Exposed { slope: exposure, shift: 0.0 };
            let gamma = page.attraction[at];
            let skipped = (1.0 - exposure * gamma).max(f64::MIN_POSITIVE);
            exposure = exposure * go_on * (1.0 - gamma) / skipped;
            exposed
        };
        (from..page.len()).map(of_document).collect()
    }

    /// `P(c_k = 1 | c_<k)` of the documents from number `from` on, as [`exposed_after`](Browsing::exposed_after).
    fn clicks_after(&self, page: &PageView<'_>, from: usize) -> Vec<f64> {
        let exposed = self.exposed_after(page, from).into_iter();
        // A user's θ may exceed 1 on the population's scale, a probability may not.
        exposed.zip(&page.attraction[from..]).map(|(exposed, &gamma)| exposed.click(gamma).min(1.0)).collect()
    }

    /// `P(c_k = 1 | c_<k)` of every document, given where clicks were; at least [`FLOOR`] and at most 1 less that.
    pub fn conditional_clicks(&self, page: &PageView<'_>, clicked: &[bool]) -> Vec<f64> {
        let mut predicted = Vec::with_capacity(page.len());
        let mut from = 0;
        while predicted.len() < page.len() {
            let next = (from..page.len()).find(|&at| clicked[at]).map_or(page.len(), |at| at + 1);
            predicted.extend(self.clicks_after(page, from).into_iter().take(next - from).map(floored));
            from = next;
        }
        predicted
    }

    /// `P(c_k = 1)` of every document, by sums over where the last click was.
    pub fn unconditional_clicks(&self, page: &PageView<'_>) -> Vec<f64> {
        // last[f]: the probability that the last click so far was on number f − 1, or nowhere for 0.
        let mut last = vec![0.0; page.len() + 1];
        last[0] = 1.0;
        let given: Vec<Vec<f64>> = (0..page.len()).map(|from| self.clicks_after(page, from)).collect();
        let mut predicted = Vec::with_capacity(page.len());
        for at in 0..page.len() {
            let mut click = 0.0;
            for from in 0..=at {
                let clicked = last[from] * given[from][at - from];
                click += clicked;
                last[from] -= clicked;
            }
            last[at + 1] = click;
            predicted.push(click);
        }
        predicted
    }

    /// The log-probability of a session, `Σ ln P(c_k | c_<k)`.
    pub fn log_probability(&self, page: &PageView<'_>, clicked: &[bool]) -> f64 {
        let predicted = self.conditional_clicks(page, clicked);
        predicted.iter().zip(clicked).map(|(p, clicked)| if *clicked { p.ln() } else { (1.0 - p).ln() }).sum()
    }
}

/// a: the probability of going on after an examined document was skipped.
pub(super) fn after_skip(kind: ClickModelKind, values: &[f64]) -> f64 {
    match kind {
        ClickModelKind::Dbn | ClickModelKind::Ccm => values[0],
        _ => 1.0,
    }
}

/// b: the probability of going on after a click at `position` on a document with these γ and σ.
pub(super) fn after_click(kind: ClickModelKind, values: &[f64], position: u32, (gamma, sigma): (f64, f64)) -> f64 {
    match kind {
        ClickModelKind::Dcm => values[position as usize - 1],
        ClickModelKind::Sdbn => 1.0 - sigma,
        ClickModelKind::Dbn => values[0] * (1.0 - sigma),
        ClickModelKind::Ccm => values[1] * (1.0 - gamma) + values[2] * gamma,
        _ => 0.0,
    }
}

pub(super) fn floored(probability: f64) -> f64 {
    probability.clamp(FLOOR, 1.0 - FLOOR)
}

pub(super) fn logit(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

pub(super) fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}
