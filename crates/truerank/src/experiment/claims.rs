//! What the paper claims, held against our results: each claim with what it rests on, its verdict, and one p-value.

use super::group::SIGNIFICANCE;
use super::{Compared, Group, LogKind, Method, NDCG5, Question, Results, Scope, Settings, Source};
use crate::evaluate::Measure;
use crate::ranker::ModelForm;
use crate::report::{Format, Verdict};

/// A method has converged to ideal once it is shown to be less than this below its nDCG@5. The paper names no margin; this one is
/// about a tenth of what grades gain over the production ranker.
pub const CONVERGED: f64 = 0.005;

/// A method does not fall below another if it is shown to be less than this below its nDCG@5: what we would not care about.
pub const NOT_BELOW: f64 = 0.005;

/// The paper speaks of logs of more than so many sessions.
const LARGE_LOG: u64 = 100_000;

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

impl Claim {
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
    fn new(what: impl Into<String>, Compared { test, scope }: Compared, boundary: f64) -> Self {
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
    fn ahead(what: impl Into<String>, compared: Compared) -> Self {
        Part::new(what, compared, 0.0)
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
        let claims = Claims { results: self };
        self.settings.questions.iter().flat_map(|question| claims.of(*question)).collect()
    }
}

struct Claims<'a> {
    results: &'a Results,
}

impl Claims<'_> {
    fn of(&self, question: Question) -> Vec<Claim> {
        match question {
            Question::Rq1 => self.main_table(),
            Question::Rq2 => self.models().iter().flat_map(|model| self.learning_curves(model)).collect(),
            Question::Rq3 => self.results.settings.rq3.clusters.iter().filter_map(|n| self.clusters(*n)).collect(),
            Question::Rq4 => self.models().iter().filter_map(|model| self.estimated(model)).collect(),
            Question::Real => self.logged().into_iter().collect(),
        }
    }

    fn models(&self) -> &[ModelForm] {
        &self.results.settings.models
    }

    fn main_table(&self) -> Vec<Claim> {
        let (log, model) = (self.results.main_log(), &self.models()[0]);
        let of = |method| self.results.on(log, method, Source::Known, model);
        let Some(aware) = of(Method::USER_AWARE) else { return Vec::new() };
        let baselines =
            [Method::Production, Method::NAIVE, Method::IPS_PBM, Method::PRS_BY_SCORE, Method::STRAIGHTFORWARD];
        let above = |method: Method| {
            let other = of(method)?;
            let part = |measure: Measure| Some(Part::ahead(measure.to_string(), aware.test(&other, measure)?));
            let parts = Measure::paper().into_iter().map(part).collect::<Option<_>>()?;
            let text = format!("user-aware is above {method} on all eight measures");
            Some(Claim {
                question: Question::Rq1,
                text,
                against: Some(method),
                of_the_paper: true,
                unit: NDCG5_NAME,
                parts,
            })
        };
        let mut claims: Vec<Claim> = baselines.into_iter().filter_map(above).collect();
        let closer = |method: Method| Some(Part::ahead(format!("against {method}"), of(method)?.test_mse(&aware)?));
        let estimating = [Method::NAIVE, Method::IPS_PBM, Method::STRAIGHTFORWARD];
        if let Some(parts) = estimating.into_iter().map(closer).collect::<Option<Vec<_>>>() {
            let text = "user-aware estimates relevance with the least squared error".to_string();
            claims.push(Claim {
                question: Question::Rq1,
                text,
                against: None,
                of_the_paper: true,
                unit: "squared error",
                parts,
            });
        }
        claims
    }

    fn learning_curves(&self, model: &ModelForm) -> Vec<Claim> {
        let claim = |text: String, of_the_paper: bool, parts: Vec<Part>| {
            (!parts.is_empty()).then_some(Claim {
                question: Question::Rq2,
                text,
                against: None,
                of_the_paper,
                unit: NDCG5_NAME,
                parts,
            })
        };
        let kind = model.name();
        let above = |method: Method| {
            let text = format!("{kind}: above 100,000 sessions user-aware is above {method}");
            claim(text, true, self.above_at_sizes(model, method)?)
        };
        let converged = |method: Method| {
            let text = format!("{kind}: {method} comes within {CONVERGED} of ideal");
            claim(text, true, vec![self.converged(model, method)?])
        };
        let faster = || {
            let text = format!("{kind}: user-aware converges faster than straightforward");
            claim(text, true, vec![self.faster(model)?])
        };
        let smoothed = || {
            let text = format!("{kind}: user-aware-smoothed is at no size {NOT_BELOW} below another estimator");
            claim(text, false, self.never_below(model)?)
        };
        [
            above(Method::NAIVE),
            above(Method::IPS_PBM),
            above(Method::PRS_BY_SCORE),
            converged(Method::USER_AWARE),
            converged(Method::STRAIGHTFORWARD),
            faster(),
            smoothed(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn sizes(&self) -> &[u64] {
        &self.results.settings.rq2.sessions
    }

    fn above_at_sizes(&self, model: &ModelForm, method: Method) -> Option<Vec<Part>> {
        let large = self.sizes().iter().filter(|&&size| size > LARGE_LOG && Settings::has_run(method, size, model));
        let part = |&sessions: &u64| {
            let (aware, other) = (
                self.results.at_size(sessions, Method::USER_AWARE, model)?,
                self.results.at_size(sessions, method, model)?,
            );
            Some(Part::ahead(at_sessions(sessions), aware.test(&other, NDCG5)?))
        };
        large.map(part).collect()
    }

    /// Tests, at the largest size, whether the gap to ideal is less than what counts as converged.
    fn converged(&self, model: &ModelForm, method: Method) -> Option<Part> {
        let &sessions = self.sizes().last()?;
        let ideal = self.results.on(self.results.main_log(), Method::Ideal, Source::Known, model)?;
        let found = self.results.at_size(sessions, method, model)?;
        Some(Part::new(at_sessions(sessions), found.test(&ideal, NDCG5)?, -CONVERGED))
    }

    /// Tests whole learning curves: each seed's and query's value, averaged over sizes.
    fn faster(&self, model: &ModelForm) -> Option<Part> {
        let curve = |method: Method| -> Option<Vec<Group<'_>>> {
            self.sizes().iter().map(|&sessions| self.results.at_size(sessions, method, model)).collect()
        };
        let test = Group::test_series(&curve(Method::USER_AWARE)?, &curve(Method::STRAIGHTFORWARD)?, NDCG5)?;
        Some(Part::ahead("mean over all sizes", test))
    }

    /// Non-inferiority at every size, against every other method that is there.
    fn never_below(&self, model: &ModelForm) -> Option<Vec<Part>> {
        let others = self.results.settings.rq2.methods.iter().filter(|&&method| method != Method::SMOOTHED);
        let mut parts = Vec::new();
        for &method in others {
            for &sessions in self.sizes().iter().filter(|&&size| Settings::has_run(method, size, model)) {
                let smoothed = self.results.at_size(sessions, Method::SMOOTHED, model)?;
                let test = smoothed.test(&self.results.at_size(sessions, method, model)?, NDCG5)?;
                parts.push(Part::new(format!("{method}, {}", at_sessions(sessions)), test, -NOT_BELOW));
            }
        }
        Some(parts)
    }

    fn clusters(&self, clusters: usize) -> Option<Claim> {
        let log = LogKind::Simulated { clusters, sessions: self.results.settings.sessions() };
        let of = |method: Method| self.results.on(log, method, Source::Known, &self.models()[0]);
        let baselines = self.baselines(&self.models()[0]);
        let parts = self.ahead_of(of(Method::USER_AWARE)?, &baselines, |method| of(*method))?;
        let text = format!("with {clusters} clusters of users user-aware is best");
        Some(Claim { question: Question::Rq3, text, against: None, of_the_paper: true, unit: NDCG5_NAME, parts })
    }

    fn estimated(&self, model: &ModelForm) -> Option<Claim> {
        let (log, main) = (self.results.main_log(), self.results.settings.rq4.main);
        let aware = self.results.on(log, Method::USER_AWARE, main, model)?;
        let mut parts =
            self.ahead_of(aware.clone(), &self.baselines(model), |method| self.results.on(log, *method, main, model))?;
        let cpbm = self.results.on(log, Method::STRAIGHTFORWARD, Source::Cpbm, model)?;
        parts.push(Part::ahead("against cpbm", aware.test(&cpbm, NDCG5)?));
        let text = format!("{}: with estimated examination user-aware is best", model.name());
        Some(Claim { question: Question::Rq4, text, against: None, of_the_paper: true, unit: NDCG5_NAME, parts })
    }

    fn logged(&self) -> Option<Claim> {
        let model = &self.models()[0];
        let of = |method: &Method| self.results.on(LogKind::Logged, *method, Source::EM, model);
        let baselines: Vec<Method> = BASELINES.into_iter().filter(|method| model.learns_by(*method)).collect();
        let parts = self.ahead_of(of(&Method::USER_AWARE)?, &baselines, of)?;
        let text = "on this log of many users with few sessions user-aware is best".to_string();
        Some(Claim { question: Question::Real, text, against: None, of_the_paper: true, unit: NDCG5_NAME, parts })
    }

    fn ahead_of<'g>(
        &'g self,
        aware: Group<'g>,
        baselines: &[Method],
        of: impl Fn(&Method) -> Option<Group<'g>>,
    ) -> Option<Vec<Part>> {
        let part = |method: &Method| Some(Part::ahead(format!("against {method}"), aware.test(&of(method)?, NDCG5)?));
        baselines.iter().map(part).collect()
    }

    /// The paper's other methods that such a ranker can learn by from the main log.
    fn baselines(&self, model: &ModelForm) -> Vec<Method> {
        let sessions = self.results.settings.sessions();
        BASELINES.into_iter().filter(|method| Settings::has_run(*method, sessions, model)).collect()
    }
}

/// The paper's other methods that learn from clicks.
const BASELINES: [Method; 4] = [Method::NAIVE, Method::IPS_PBM, Method::PRS_BY_SCORE, Method::STRAIGHTFORWARD];

/// The unit of most differences.
const NDCG5_NAME: &str = "nDCG@5";

fn at_sessions(sessions: u64) -> String {
    format!("{} sessions", Format::Count.print(sessions as f64))
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
        let (question, text) = (Question::Rq2, String::new());
        Claim { question, text, against: None, of_the_paper: false, unit: "", parts }
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
