//! What the paper claims, held against our results: each claim with what it rests on, its verdict, and one p-value.

use super::group::SIGNIFICANCE;
use super::{Compared, Group, Method, NDCG5, Question, Results, Scope};
use crate::report::Verdict;

/// Something said about the methods, and whether our results bear it out.
///
/// Its comparisons are taken together as an intersection–union test. It holds if each of them shows it with p < .05, and its p is
/// then the largest: no correction is needed, since all must hold. It does not hold if one of them shows the opposite; since any
/// of them may, that takes p < .05 after Bonferroni's correction for their number, and its p is then the smallest, corrected.
/// Otherwise it is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The question it belongs to.
    pub question: Question,
    /// What is said.
    pub text: String,
    /// The method that user-aware is compared with on every measure, where the claim is about one.
    pub against: Option<Method>,
    /// Whether the paper says it; else we do.
    pub of_the_paper: bool,
    /// What the differences are of, such as `nDCG@5`.
    pub unit: &'static str,
    /// What it rests on.
    pub parts: Vec<Part>,
}

/// One comparison of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What is compared, such as `nDCG@5` or `300,000 sessions`.
    pub what: String,
    /// By how much the method that the claim is about is ahead.
    pub difference: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
    /// The least difference that bears the claim out: 0, or minus a margin.
    pub boundary: f64,
    /// The probability of a difference at least as far from the boundary by chance; nothing where too few runs tell.
    pub p: Option<f64>,
    /// The same for the rankers that were trained, whatever others would give.
    p_of_these_runs: f64,
}

/// The paper's other methods that learn from clicks.
pub(super) const BASELINES: [Method; 4] =
    [Method::NAIVE, Method::IPS_PBM, Method::PRS_BY_SCORE, Method::STRAIGHTFORWARD];

impl Claim {
    /// A claim of the paper about nDCG@5.
    pub(super) fn new(question: Question, text: impl Into<String>, parts: Vec<Part>) -> Self {
        Claim { question, text: text.into(), against: None, of_the_paper: true, unit: "nDCG@5", parts }
    }

    /// Whether it holds.
    pub fn verdict(&self) -> Verdict {
        let shown = |part: &Part| part.verdict() == Verdict::Holds;
        match self.p_of_opposite() {
            _ if self.parts.iter().all(shown) => Verdict::Holds,
            Some(p) if p < SIGNIFICANCE => Verdict::DoesNotHold,
            _ => Verdict::Open,
        }
    }

    /// The p-value of the verdict: of the opposite where the claim does not hold, and else of the claim. Nothing where too few runs
    /// tell.
    pub fn p(&self) -> Option<f64> {
        match self.verdict() {
            Verdict::DoesNotHold => self.p_of_opposite(),
            _ => self.parts.iter().map(Part::p_of_claim).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max),
        }
    }

    /// The least p of a comparison that shows the opposite, times the number of comparisons.
    fn p_of_opposite(&self) -> Option<f64> {
        let opposite = self.parts.iter().filter(|part| !part.is_ahead()).filter_map(|part| part.p);
        opposite.reduce(f64::min).map(|p| (p * self.parts.len() as f64).min(1.0))
    }

    /// How many comparisons show it.
    pub fn shown(&self) -> usize {
        self.parts.iter().filter(|part| part.verdict() == Verdict::Holds).count()
    }

    /// The part that bears it out least.
    pub fn weakest(&self) -> Option<&Part> {
        self.parts.iter().max_by(|a, b| a.doubt().total_cmp(&b.doubt()))
    }

    /// Whether enough runs were made to tell.
    pub fn is_tested(&self) -> bool {
        self.parts.iter().all(|part| part.p.is_some())
    }
}

impl Part {
    /// Borne out if the difference is more than `boundary`.
    pub(super) fn new(what: impl Into<String>, Compared { test, scope }: Compared, boundary: f64) -> Self {
        let p = test.p_from(boundary);
        Part {
            what: what.into(),
            difference: test.difference,
            half_width: test.half_width(),
            boundary,
            p: (scope == Scope::Methods).then_some(p),
            p_of_these_runs: p,
        }
    }

    /// Borne out if the difference is in favour.
    pub(super) fn ahead(what: impl Into<String>, compared: Compared) -> Self {
        Part::new(what, compared, 0.0)
    }

    /// User-aware against each of some methods by nDCG@5; nothing where one of them is missing.
    pub(super) fn ahead_of<'g>(
        aware: &Group<'_>,
        methods: &[Method],
        of: impl Fn(Method) -> Option<Group<'g>>,
    ) -> Option<Vec<Part>> {
        let part = |&method: &Method| Some(Part::ahead(format!("against {method}"), aware.test(&of(method)?, NDCG5)?));
        methods.iter().map(part).collect()
    }

    /// Whether the difference is on the claim's side, by however little.
    pub fn is_ahead(&self) -> bool {
        self.difference > self.boundary
    }

    /// What this comparison alone shows.
    pub fn verdict(&self) -> Verdict {
        match self.p {
            Some(p) if p < SIGNIFICANCE => Verdict::of(self.is_ahead()),
            _ => Verdict::Open,
        }
    }

    /// How little the claim is borne out: its p, and 1 where the difference is on the other side.
    fn p_of_claim(&self) -> Option<f64> {
        self.p.map(|p| if self.is_ahead() { p } else { 1.0 })
    }

    /// The same one-sidedly, so that all parts have an order.
    fn doubt(&self) -> f64 {
        let half = self.p_of_these_runs / 2.0;
        if self.is_ahead() { half } else { 1.0 - half }
    }
}

impl Results {
    /// The claims whose runs are finished, in the order of the questions.
    pub fn claims(&self) -> Vec<Claim> {
        self.settings.questions.iter().flat_map(|question| question.ask().claims(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::DifferenceTest;
    use crate::experiment::fixtures::{outcome, results};

    /// Three seeds, of which each has its own level.
    fn seeds(values: &[f64; 4], errors: &[f64; 4]) -> Vec<crate::experiment::Outcome> {
        let of_seed = |seed: usize| {
            let level = [0.0, 0.03, -0.02][seed];
            // Every query and every seed goes its own small way.
            let own = |query: usize| 0.001 * ((3 * query + 5 * seed) % 7) as f64;
            let values: Vec<f64> = values.iter().enumerate().map(|(query, value)| value + level + own(query)).collect();
            outcome(&values, &errors.map(|error| error + 0.1 * level))
        };
        (0..3).map(of_seed).collect()
    }

    #[test]
    fn a_claim_holds_if_every_comparison_does() {
        let aware = seeds(&[0.50, 0.61, 0.72, 0.83], &[0.11, 0.22, 0.31, 0.42]);
        let far_below = seeds(&[0.10, 0.20, 0.30, 0.40], &[0.90, 0.91, 0.97, 0.95]);
        let about_the_same = seeds(&[0.51, 0.59, 0.73, 0.82], &[0.11, 0.22, 0.31, 0.42]);
        let far_above = seeds(&[0.80, 0.90, 0.99, 1.09], &[0.01, 0.02, 0.01, 0.02]);
        let results = results(&[
            (Method::USER_AWARE, aware),
            (Method::NAIVE, far_below),
            (Method::IPS_PBM, far_above),
            (Method::STRAIGHTFORWARD, about_the_same),
        ]);
        let claims = results.claims();
        let found: Vec<(&str, Verdict)> = claims.iter().map(|claim| (claim.text.as_str(), claim.verdict())).collect();
        assert_eq!(
            found,
            [
                ("user-aware is above naive on all eight measures", Verdict::Holds),
                ("user-aware is above ips-pbm on all eight measures", Verdict::DoesNotHold),
                ("user-aware is above straightforward on all eight measures", Verdict::Open),
                ("user-aware estimates relevance with the least squared error", Verdict::DoesNotHold),
            ]
        );
        assert_eq!(claims[3].weakest().unwrap().what, "against ips-pbm");
        assert!(claims[0].p().unwrap() < 0.05 && claims[0].parts.len() == 8);
        // Eight equal comparisons that show the opposite: p is eight times theirs.
        assert!((claims[1].p().unwrap() - 8.0 * claims[1].parts[0].p.unwrap()).abs() < 1e-12);
        assert!(claims[2].p().unwrap() >= 0.05);
    }

    #[test]
    fn one_run_leaves_every_claim_open() {
        let results = results(&[
            (Method::USER_AWARE, vec![outcome(&[0.50, 0.61, 0.72], &[])]),
            (Method::NAIVE, vec![outcome(&[0.10, 0.20, 0.30], &[])]),
        ]);
        let claim = &results.claims()[0];
        assert_eq!((claim.verdict(), claim.p(), claim.is_tested()), (Verdict::Open, None, false));
        assert!(claim.parts.iter().all(Part::is_ahead));
    }

    fn part(difference: f64, boundary: f64, standard_error: f64) -> Part {
        let test = DifferenceTest { difference, standard_error, degrees: 10.0 };
        Part::new("", Compared { test, scope: Scope::Methods }, boundary)
    }

    fn claim(parts: Vec<Part>) -> Claim {
        Claim::new(Question::Rq2, "", parts)
    }

    #[test]
    fn not_falling_below_has_to_be_shown() {
        // .002 behind with a margin of .005: shown if that is known well, open if not, and refuted by .02.
        let of = |difference: f64, error: f64| claim(vec![part(0.1, -0.005, 0.001), part(difference, -0.005, error)]);
        assert_eq!(of(-0.002, 0.001).verdict(), Verdict::Holds);
        assert_eq!(of(-0.002, 0.010).verdict(), Verdict::Open);
        assert_eq!(of(-0.020, 0.001).verdict(), Verdict::DoesNotHold);
        assert!(of(-0.020, 0.001).p().unwrap() < 1e-6);
    }

    #[test]
    fn one_p_of_all_comparisons() {
        let [strong, weak, against] = [part(0.1, 0.0, 0.01), part(0.03, 0.0, 0.01), part(-0.03, 0.0, 0.01)];
        let p = weak.p.unwrap();
        assert!(p < 0.025 && p > 0.01, "{p}");
        assert_eq!(claim(vec![strong.clone(), weak.clone()]).p(), Some(p));
        // The opposite is as likely, but there were five places to look for it.
        let mixed = claim(vec![strong.clone(), strong.clone(), strong.clone(), strong.clone(), against.clone()]);
        assert_eq!((mixed.verdict(), mixed.p(), mixed.shown()), (Verdict::Open, Some(1.0), 4));
        let refuted = claim(vec![strong, against]);
        assert_eq!((refuted.verdict(), refuted.p()), (Verdict::DoesNotHold, Some(2.0 * p)));
    }

    #[test]
    fn a_claim_without_its_runs_is_not_made() {
        assert!(results(&[(Method::NAIVE, vec![outcome(&[0.1, 0.2], &[])])]).claims().is_empty());
    }
}
