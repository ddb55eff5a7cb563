//! What the paper claims, held against our results: each claim with what it rests on, a p-value, and whether it holds.

use super::group::SIGNIFICANCE;
use super::{Group, LogKind, Method, NDCG5, Question, Results, Settings, Source};
use crate::evaluate::{Measure, TTest, paired_t_test};
use crate::network::Architecture;
use crate::report::{Format, Verdict};

/// A method has converged to ideal once it is surely within this of its nDCG@5. The paper names no margin; this one is
/// about a tenth of what grades gain over the production ranker.
pub const CONVERGED: f64 = 0.005;

/// The paper speaks of logs of more than so many sessions.
const LARGE_LOG: u64 = 100_000;

/// Something said about the methods, and whether our results bear it out.
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
    /// What it rests on; it holds if all of them do.
    pub parts: Vec<Part>,
}

/// One comparison of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What is compared, such as `nDCG@5` or `300,000 sessions`.
    pub what: String,
    /// By how much user-aware is ahead; what counts as ahead depends on the claim.
    pub difference: f64,
    /// The probability of such a difference by chance.
    pub p: f64,
    /// Whether it bears the claim out.
    pub holds: bool,
    /// The one-sided p-value: how little it bears the claim out.
    doubt: f64,
}

impl Claim {
    /// Whether all parts hold.
    pub fn holds(&self) -> bool {
        self.parts.iter().all(|part| part.holds)
    }

    /// The same, for a report.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.holds())
    }

    /// The p-value of the part that bears it out least: since all must hold, that of the claim.
    pub fn p(&self) -> f64 {
        self.weakest().map_or(1.0, |part| part.p)
    }

    /// The part that bears it out least.
    pub fn weakest(&self) -> Option<&Part> {
        self.parts.iter().max_by(|a, b| a.doubt.total_cmp(&b.doubt))
    }
}

impl Part {
    /// Holds if the first of a test is ahead by more than chance.
    fn ahead(what: impl Into<String>, test: TTest) -> Self {
        let holds = test.difference > 0.0 && test.p < SIGNIFICANCE;
        Part { what: what.into(), difference: test.difference, p: test.p, holds, doubt: one_sided(&test) }
    }

    /// Holds unless the first of a test is behind by more than chance.
    fn not_behind(what: impl Into<String>, test: TTest) -> Self {
        let holds = test.difference >= 0.0 || test.p >= SIGNIFICANCE;
        Part { holds, ..Part::ahead(what, test) }
    }
}

/// The probability of a difference at least as much in favour, if there were none.
fn one_sided(test: &TTest) -> f64 {
    if test.difference > 0.0 { test.p / 2.0 } else { 1.0 - test.p / 2.0 }
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

    fn models(&self) -> &[Architecture] {
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

    fn learning_curves(&self, model: &Architecture) -> Vec<Claim> {
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
        let smoothed = |method: Method| {
            let text = format!("{kind}: user-aware-smoothed never falls below {method}");
            claim(text, false, self.never_below(model, method)?)
        };
        [
            above(Method::NAIVE),
            above(Method::IPS_PBM),
            above(Method::PRS_BY_SCORE),
            converged(Method::USER_AWARE),
            converged(Method::STRAIGHTFORWARD),
            faster(),
            smoothed(Method::USER_AWARE),
            smoothed(Method::IPS_PBM),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn sizes(&self) -> &[u64] {
        &self.results.settings.rq2.sessions
    }

    fn above_at_sizes(&self, model: &Architecture, method: Method) -> Option<Vec<Part>> {
        let large = self.sizes().iter().filter(|&&size| size > LARGE_LOG && Settings::has_run(method, size));
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
    fn converged(&self, model: &Architecture, method: Method) -> Option<Part> {
        let &sessions = self.sizes().last()?;
        let ideal = self.results.on(self.results.main_log(), Method::Ideal, Source::Known, model)?.per_query(NDCG5);
        let found = self.results.at_size(sessions, method, model)?.per_query(NDCG5);
        let allowed: Vec<f64> = ideal.iter().map(|value| value - CONVERGED).collect();
        let test = paired_t_test(&found, &allowed)?;
        // One-sided: only being further away than allowed speaks against it.
        let p = one_sided(&test);
        let difference = test.difference - CONVERGED;
        Some(Part { what: at_sessions(sessions), difference, p, holds: p < SIGNIFICANCE, doubt: p })
    }

    /// Tests whole learning curves: each query's value, averaged over sizes.
    fn faster(&self, model: &Architecture) -> Option<Part> {
        let area = |method: Method| -> Option<Vec<f64>> {
            let of_size = |&sessions: &u64| Some(self.results.at_size(sessions, method, model)?.per_query(NDCG5));
            let curves: Vec<Vec<f64>> = self.sizes().iter().map(of_size).collect::<Option<_>>()?;
            Some(super::group::average(curves.iter().map(Vec::as_slice)))
        };
        let test = paired_t_test(&area(Method::USER_AWARE)?, &area(Method::STRAIGHTFORWARD)?)?;
        Some(Part::ahead("mean over all sizes", test))
    }

    fn never_below(&self, model: &Architecture, method: Method) -> Option<Vec<Part>> {
        let part = |&sessions: &u64| {
            let (smoothed, other) = (
                self.results.at_size(sessions, Method::SMOOTHED, model)?,
                self.results.at_size(sessions, method, model)?,
            );
            Some(Part::not_behind(at_sessions(sessions), smoothed.test(&other, NDCG5)?))
        };
        self.sizes().iter().map(part).collect()
    }

    fn clusters(&self, clusters: usize) -> Option<Claim> {
        let log = LogKind::Simulated { clusters, sessions: self.results.settings.sessions() };
        let of = |method: Method| self.results.on(log, method, Source::Known, &self.models()[0]);
        let parts = self.ahead_of(of(Method::USER_AWARE)?, &self.baselines(), |method| of(*method))?;
        let text = format!("with {clusters} clusters of users user-aware is best");
        Some(Claim { question: Question::Rq3, text, against: None, of_the_paper: true, unit: NDCG5_NAME, parts })
    }

    fn estimated(&self, model: &Architecture) -> Option<Claim> {
        let (log, main) = (self.results.main_log(), self.results.settings.rq4.main);
        let aware = self.results.on(log, Method::USER_AWARE, main, model)?;
        let mut parts =
            self.ahead_of(aware.clone(), &self.baselines(), |method| self.results.on(log, *method, main, model))?;
        let cpbm = self.results.on(log, Method::STRAIGHTFORWARD, Source::Cpbm, model)?;
        parts.push(Part::ahead("against cpbm", aware.test(&cpbm, NDCG5)?));
        let text = format!("{}: with estimated examination user-aware is best", model.name());
        Some(Claim { question: Question::Rq4, text, against: None, of_the_paper: true, unit: NDCG5_NAME, parts })
    }

    fn logged(&self) -> Option<Claim> {
        let of = |method: &Method| self.results.on(LogKind::Logged, *method, Source::EM, &self.models()[0]);
        let baselines = [Method::NAIVE, Method::IPS_PBM, Method::PRS_BY_SCORE, Method::STRAIGHTFORWARD];
        let parts = self.ahead_of(of(&Method::USER_AWARE)?, &baselines, of)?;
        let text = "on a log of many users with few sessions user-aware is best".to_string();
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

    /// The paper's other methods that learn from clicks.
    fn baselines(&self) -> Vec<Method> {
        let sessions = self.results.settings.sessions();
        let all = [Method::NAIVE, Method::IPS_PBM, Method::PRS_BY_SCORE, Method::STRAIGHTFORWARD];
        all.into_iter().filter(|method| Settings::has_run(*method, sessions)).collect()
    }
}

/// The unit of most differences.
const NDCG5_NAME: &str = "nDCG@5";

fn at_sessions(sessions: u64) -> String {
    format!("{} sessions", Format::Count.print(sessions as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::fixtures::{outcome, results};

    #[test]
    fn a_claim_holds_if_every_comparison_does() {
        let aware = outcome(&[0.50, 0.61, 0.72, 0.83], &[0.11, 0.22, 0.31, 0.42]);
        let far_below = outcome(&[0.10, 0.20, 0.30, 0.40], &[0.90, 0.91, 0.97, 0.95]);
        let about_the_same = outcome(&[0.51, 0.59, 0.73, 0.82], &[0.10, 0.23, 0.30, 0.43]);
        let results = results(&[
            (Method::USER_AWARE, vec![aware]),
            (Method::NAIVE, vec![far_below.clone()]),
            (Method::IPS_PBM, vec![far_below]),
            (Method::STRAIGHTFORWARD, vec![about_the_same]),
        ]);
        let claims = results.claims();
        let holds: Vec<(&str, bool)> = claims.iter().map(|claim| (claim.text.as_str(), claim.holds())).collect();
        assert_eq!(
            holds,
            [
                ("user-aware is above naive on all eight measures", true),
                ("user-aware is above ips-pbm on all eight measures", true),
                ("user-aware is above straightforward on all eight measures", false),
                ("user-aware estimates relevance with the least squared error", false),
            ]
        );
        let squared_error = &claims[3];
        assert_eq!(squared_error.weakest().unwrap().what, "against straightforward");
        assert!(claims[0].p() < 0.05 && claims[0].parts.len() == 8);
    }

    #[test]
    fn a_claim_without_its_runs_is_not_made() {
        assert!(results(&[(Method::NAIVE, vec![outcome(&[0.1, 0.2], &[])])]).claims().is_empty());
    }
}
