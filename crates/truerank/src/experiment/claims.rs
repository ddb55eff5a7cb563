//! What the paper claims, held against our results: each claim with what it rests on, a p-value, and whether it holds.

use super::group::SIGNIFICANCE;
use super::{Condition, Group, LogKind, Method, Question, Results, Source};
use crate::evaluate::{Measure, TTest, paired_t_test};
use crate::network::Architecture;
use crate::report::Format;

const NDCG5: Measure = Measure::Ndcg(Some(5));

/// A method has converged to ideal once it is surely within this of its nDCG@5: half of what the paper's tables call a
/// small difference.
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
    /// Whether the paper says it; else we do.
    pub of_the_paper: bool,
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
}

impl Claim {
    /// Whether all parts hold.
    pub fn holds(&self) -> bool {
        self.parts.iter().all(|part| part.holds)
    }

    /// The largest p-value of the parts: since all must hold, that of the claim.
    pub fn p(&self) -> f64 {
        self.parts.iter().map(|part| part.p).fold(0.0, f64::max)
    }

    /// The part that bears it out least.
    pub fn weakest(&self) -> Option<&Part> {
        self.parts.iter().max_by(|a, b| (!a.holds, a.p).partial_cmp(&(!b.holds, b.p)).expect("p is a number"))
    }
}

impl Part {
    /// Holds if the first of a test is ahead by more than chance.
    fn ahead(what: impl Into<String>, test: TTest) -> Self {
        let holds = test.difference > 0.0 && test.p < SIGNIFICANCE;
        Part { what: what.into(), difference: test.difference, p: test.p, holds }
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

    fn models(&self) -> &[Architecture] {
        &self.results.settings.models
    }

    fn group(&self, log: LogKind, method: Method, source: Source, model: &Architecture) -> Option<Group<'_>> {
        self.results.group(&Condition { log, method, source, model: model.clone() })
    }

    fn main_table(&self) -> Vec<Claim> {
        let (log, model) = (self.results.main_log(), &self.models()[0]);
        let of = |method| self.group(log, method, Source::Known, model);
        let Some(aware) = of(Method::USER_AWARE) else { return Vec::new() };
        let baselines = [Method::Production, Method::NAIVE, Method::IPS_PBM, Method::Prs, Method::STRAIGHTFORWARD];
        let above = |method: Method| {
            let other = of(method)?;
            let part = |measure: Measure| Some(Part::ahead(measure.to_string(), aware.test(&other, measure)?));
            let parts = Measure::paper().into_iter().map(part).collect::<Option<_>>()?;
            let text = format!("user-aware is above {method} on all eight measures");
            Some(Claim { question: Question::Rq1, text, of_the_paper: true, parts })
        };
        let mut claims: Vec<Claim> = baselines.into_iter().filter_map(above).collect();
        let closer = |method: Method| Some(Part::ahead(format!("than {method}"), of(method)?.test_mse(&aware)?));
        let estimating = [Method::NAIVE, Method::IPS_PBM, Method::STRAIGHTFORWARD];
        if let Some(parts) = estimating.into_iter().map(closer).collect::<Option<Vec<_>>>() {
            let text = "user-aware estimates relevance with the least squared error".to_string();
            claims.push(Claim { question: Question::Rq1, text, of_the_paper: true, parts });
        }
        claims
    }

    fn learning_curves(&self, model: &Architecture) -> Vec<Claim> {
        let claim = |text: String, of_the_paper: bool, parts: Vec<Part>| {
            (!parts.is_empty()).then_some(Claim { question: Question::Rq2, text, of_the_paper, parts })
        };
        let kind = super::pages::model_name(model);
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

    fn at_size(&self, sessions: u64, method: Method, model: &Architecture) -> Option<Group<'_>> {
        let log = LogKind::Simulated { clusters: self.results.settings.clusters, sessions };
        self.group(log, method, Source::Known, model)
    }

    fn sizes(&self) -> &[u64] {
        &self.results.settings.rq2.sessions
    }

    fn above_at_sizes(&self, model: &Architecture, method: Method) -> Option<Vec<Part>> {
        let large = self.sizes().iter().filter(|&&sessions| sessions > LARGE_LOG);
        let part = |&sessions: &u64| {
            let (aware, other) =
                (self.at_size(sessions, Method::USER_AWARE, model)?, self.at_size(sessions, method, model)?);
            Some(Part::ahead(at_sessions(sessions), aware.test(&other, NDCG5)?))
        };
        large.map(part).collect()
    }

    /// Tests, at the largest size, whether the gap to ideal is less than what counts as converged.
    fn converged(&self, model: &Architecture, method: Method) -> Option<Part> {
        let &sessions = self.sizes().last()?;
        let ideal = self.group(self.results.main_log(), Method::Ideal, Source::Known, model)?.per_query(NDCG5);
        let found = self.at_size(sessions, method, model)?.per_query(NDCG5);
        let allowed: Vec<f64> = ideal.iter().map(|value| value - CONVERGED).collect();
        let test = paired_t_test(&found, &allowed)?;
        // One-sided: only being further away than allowed speaks against it.
        let p = if test.difference > 0.0 { test.p / 2.0 } else { 1.0 - test.p / 2.0 };
        let difference = test.difference - CONVERGED;
        Some(Part { what: at_sessions(sessions), difference, p, holds: p < SIGNIFICANCE })
    }

    /// Tests the areas under the learning curves: each query's value, averaged over sizes.
    fn faster(&self, model: &Architecture) -> Option<Part> {
        let area = |method: Method| -> Option<Vec<f64>> {
            let of_size = |&sessions: &u64| Some(self.at_size(sessions, method, model)?.per_query(NDCG5));
            let curves: Vec<Vec<f64>> = self.sizes().iter().map(of_size).collect::<Option<_>>()?;
            Some(super::group::average(curves.iter()))
        };
        let test = paired_t_test(&area(Method::USER_AWARE)?, &area(Method::STRAIGHTFORWARD)?)?;
        Some(Part::ahead("mean over all sizes", test))
    }

    fn never_below(&self, model: &Architecture, method: Method) -> Option<Vec<Part>> {
        let part = |&sessions: &u64| {
            let (smoothed, other) =
                (self.at_size(sessions, Method::SMOOTHED, model)?, self.at_size(sessions, method, model)?);
            let test = smoothed.test(&other, NDCG5)?;
            let below = test.difference < 0.0 && test.p < SIGNIFICANCE;
            Some(Part { what: at_sessions(sessions), difference: test.difference, p: test.p, holds: !below })
        };
        self.sizes().iter().map(part).collect()
    }

    fn clusters(&self, clusters: usize) -> Option<Claim> {
        let log = LogKind::Simulated { clusters, sessions: self.results.settings.sessions };
        let of = |method: Method| self.group(log, method, Source::Known, &self.models()[0]);
        let parts = self.ahead_of(of(Method::USER_AWARE)?, &learned_baselines(), |method| of(*method))?;
        let text = format!("with {clusters} clusters of users user-aware is best");
        Some(Claim { question: Question::Rq3, text, of_the_paper: true, parts })
    }

    fn estimated(&self, model: &Architecture) -> Option<Claim> {
        let (log, main) = (self.results.main_log(), self.results.settings.rq4.main);
        let aware = self.group(log, Method::USER_AWARE, main, model)?;
        let mut parts =
            self.ahead_of(aware.clone(), &learned_baselines(), |method| self.group(log, *method, main, model))?;
        let cpbm = self.group(log, Method::STRAIGHTFORWARD, Source::Cpbm, model)?;
        parts.push(Part::ahead("than cpbm", aware.test(&cpbm, NDCG5)?));
        let text = format!("{}: with estimated examination user-aware is best", super::pages::model_name(model));
        Some(Claim { question: Question::Rq4, text, of_the_paper: true, parts })
    }

    fn logged(&self) -> Option<Claim> {
        let of = |method: &Method| self.group(LogKind::Logged, *method, Source::EM, &self.models()[0]);
        let parts = self.ahead_of(of(&Method::USER_AWARE)?, &learned_baselines(), of)?;
        let text = "on a log of many users with few sessions user-aware is best".to_string();
        Some(Claim { question: Question::Real, text, of_the_paper: true, parts })
    }

    fn ahead_of<'g>(
        &'g self,
        aware: Group<'g>,
        baselines: &[Method],
        of: impl Fn(&Method) -> Option<Group<'g>>,
    ) -> Option<Vec<Part>> {
        let part = |method: &Method| Some(Part::ahead(format!("than {method}"), aware.test(&of(method)?, NDCG5)?));
        baselines.iter().map(part).collect()
    }
}

/// The paper's other methods that learn from clicks.
fn learned_baselines() -> [Method; 4] {
    [Method::NAIVE, Method::IPS_PBM, Method::Prs, Method::STRAIGHTFORWARD]
}

fn at_sessions(sessions: u64) -> String {
    format!("{} sessions", Format::Count.print(sessions as f64))
}
