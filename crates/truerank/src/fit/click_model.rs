//! Which click model a fit corrects clicks by: the training part and what the doctor found enter, a fitted model or none leaves.
//!
//! A model that predicts clicks better need not have the better relevance. So where another model predicts significantly better, its
//! relevance is compared with that by position, on training pages that neither has seen: on documents that stand elsewhere than
//! usual, and where nothing above them was clicked. There the models agree that a click has a probability that is relevance times
//! a number of the position (`θ(k)` of `pbm`, `θ(0,k)` of `ubm`, 1 of `cm`, `dcm` and `sdbn`; of `dbn` and `ccm` it depends a
//! little on what was skipped), so that number is taken from the same clicks, for each relevance its own, and what is left to
//! compare is relevance alone.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{ClickModelChoice, Fit, FitLog};
use crate::Result;
use crate::click_model::{ClickLog, ClickModel, ClickModelKind, ClickModelOptions};
use crate::counts::{Cell, CountsView, by_document};
use crate::data::Dataset;
use crate::doctor::Diagnosis;
use crate::evaluate::{PairedDifference, Ratio, resampled};
use crate::progress::{Progress, Quiet};
use crate::relevance::{KnownLog, PredictedRelevance, RelevancePredictor};
use crate::report::{Format, Verdict};

/// Clicks on moved documents below which relevance is not compared.
const FEW_CLICKS: u64 = 100;

/// Parameters of users, at most; with more, all users share theirs.
const MANY_PARAMETERS: usize = 1 << 22;

/// Sessions per user from which on a model that is asked for has parameters of each.
const KNOWN_USER: u64 = 20;

/// What tells the pages that compare from other uses of the same seed.
const PAGES: u64 = 0x6d6f_7665;

/// The p-value below which relevance is said to be worse, and not just no better.
const SURE: f64 = 0.05;

/// Resamples of queries.
const RESAMPLES: usize = 1000;

/// Probabilities stay this far from 0 and 1.
const MARGIN: f64 = 1e-6;

/// What corrects clicks, and why.
#[derive(Debug, Clone)]
pub struct ChosenClickModel {
    /// What was asked for.
    pub asked: ClickModelChoice,
    /// The model; nothing where clicks are corrected by examination of positions.
    pub model: Option<ClickModel>,
    /// Why, in a sentence.
    pub why: String,
    /// How its relevance did beside that by position, where that was compared.
    pub moved: Option<MovedDocuments>,
}

/// How relevance predicts clicks on moved documents.
#[derive(Debug, Clone, PartialEq)]
pub struct MovedDocuments {
    /// The click model that was compared.
    pub model: ClickModelKind,
    /// Documents, each for each query.
    pub documents: usize,
    /// Clicks on them.
    pub clicks: u64,
    /// The log-likelihood per impression by relevance from examination of positions.
    pub by_position: f64,
    /// The same by relevance from the click model.
    pub by_model: f64,
    /// How much the latter is above the former, over queries.
    pub above: PairedDifference,
}

impl ChosenClickModel {
    fn by_position(asked: ClickModelChoice, why: impl Into<String>) -> Self {
        ChosenClickModel { asked, model: None, why: why.into(), moved: None }
    }

    /// The model's name, or `none`.
    pub fn used(&self) -> String {
        self.model.as_ref().map_or("none".to_string(), |model| model.models()[0].to_string())
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let moved = self.moved.as_ref().map(|moved| {
            json!({
                "model": moved.model.to_string(), "documents": moved.documents, "clicks": moved.clicks,
                "log_likelihood_by_position": moved.by_position, "log_likelihood_by_model": moved.by_model,
                "above": moved.above.bounds.to_json(), "p": moved.above.p,
            })
        });
        let asked = self.asked.to_string();
        json!({ "asked": asked, "used": self.used(), "why": self.why, "relevance_on_moved_documents": moved })
    }
}

impl Fit {
    /// What corrects clicks.
    pub(super) fn choose_click_model(
        &self,
        log: &FitLog,
        data: Option<&Dataset>,
        diagnosis: &Diagnosis,
        progress: &dyn Progress,
    ) -> Result<ChosenClickModel> {
        let asked = self.click_model;
        match asked {
            ClickModelChoice::None => Ok(ChosenClickModel::by_position(asked, "No click model was asked for.")),
            ClickModelChoice::Only(kind) => {
                let sessions = log.train.totals().sessions / log.train.users().len().max(1) as u64;
                let model = Some(click_model(kind, sessions >= KNOWN_USER, log.train.as_ref(), progress)?);
                Ok(ChosenClickModel { asked, model, why: "It was asked for.".into(), moved: None })
            }
            ClickModelChoice::Auto => self.suited(log, data, diagnosis, progress),
        }
    }

    fn suited(
        &self,
        log: &FitLog,
        data: Option<&Dataset>,
        diagnosis: &Diagnosis,
        progress: &dyn Progress,
    ) -> Result<ChosenClickModel> {
        let by_position = |why: String| Ok(ChosenClickModel::by_position(ClickModelChoice::Auto, why));
        if self.propensities.is_some() {
            return by_position("Examination by position was given.".into());
        }
        let Some(found) = &diagnosis.click_models else {
            return by_position("Click models could not be compared: whole result pages are missing.".into());
        };
        let sentence = found.sentence(diagnosis.level);
        if found.verdict(diagnosis.level) != Verdict::Holds {
            return by_position(sentence);
        }
        if log.train.totals().transitions.is_none() {
            let why = "But these counts have no click transitions, which it needs: count the log with `transitions`, or pass the log \
                       itself; in a log with two documents at one position there are none.";
            return by_position(format!("{sentence} {why}"));
        }
        let per_user = found.best().per_user;
        // Where a second click happens all the same, `cm` has no exposure for it; `dcm` contains it.
        let kind = match found.best().model {
            ClickModelKind::Cm => ClickModelKind::Dcm,
            best => best,
        };
        let Some(moved) = self.compare_relevance((kind, per_user), log.train.as_ref(), data, progress)? else {
            return by_position(format!(
                "{sentence} But fewer than {FEW_CLICKS} clicks on moved documents cannot tell whether its relevance is as good."
            ));
        };
        let is_as_good = moved.above.bounds.value >= 0.0;
        let why = format!("{sentence} {}", moved.sentence());
        progress.done(&format!("click model: {}", if is_as_good { kind.to_string() } else { "none".into() }));
        let model = is_as_good.then(|| click_model(kind, per_user, log.train.as_ref(), progress)).transpose()?;
        Ok(ChosenClickModel { asked: ClickModelChoice::Auto, model, why, moved: Some(moved) })
    }

    /// How relevance from a click model, and that by position, predict clicks on moved documents of pages that neither saw; nothing
    /// where there are too few.
    fn compare_relevance(
        &self,
        (kind, per_user): (ClickModelKind, bool),
        train: &dyn CountsView,
        data: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<Option<MovedDocuments>> {
        let (learned, judging) = train.split_pages(0.5, self.seed ^ PAGES)?;
        let (learned, judging) = (learned.as_ref(), judging.as_ref());
        let clicks = MovedClicks::of(learned, judging)?;
        if clicks.clicks() < FEW_CLICKS {
            return Ok(None);
        }
        progress.begin("comparing relevance on moved documents", 2);
        let em = self.regression_em(learned.users().len(), data.is_some()).resamples(0);
        let by_position = self.relevance_of(&KnownLog::estimated(learned, data, em), progress)?;
        progress.advance(1)?;
        let model = click_model(kind, per_user, learned, &Quiet(progress))?;
        let by_model = self.relevance_of(&KnownLog::modelled(learned, data, &model)?, progress)?;
        progress.advance(1)?;
        Ok(Some(clicks.compare(kind, judging, [&by_position, &by_model], self.seed)))
    }

    fn relevance_of(&self, log: &KnownLog<'_>, progress: &dyn Progress) -> Result<PredictedRelevance> {
        let (predictor, progress) = (RelevancePredictor::new().seed(self.seed), &Quiet(progress));
        let estimation = self.weights.estimation(log, &predictor, progress)?;
        Ok(PredictedRelevance::from(&estimation.weigh(log.exposures(progress)?)?.relevance()?))
    }
}

/// The model fitted to counts, with parameters of each user where that is wanted and they are not too many.
fn click_model(
    kind: ClickModelKind,
    per_user: bool,
    counts: &dyn CountsView,
    progress: &dyn Progress,
) -> Result<ClickModel> {
    let users = counts.users().len();
    let parameters = users * kind.parameter_count(counts.totals().max_position as usize);
    let per_user = per_user && users > 1 && (1..=MANY_PARAMETERS).contains(&parameters);
    // As `doctor` compares them: whole pages do not know their context.
    let options = ClickModelOptions::new().ignore_context(!counts.contexts().is_empty());
    options.model(vec![kind]).per_user(per_user).fit_counts(counts, None, progress)
}

/// Impressions of moved documents with nothing clicked above them: query, document, position, how many, and clicks.
struct MovedClicks(Vec<(u32, u32, u32, f64, u64)>);

impl MovedClicks {
    fn of(learned: &dyn CountsView, judging: &dyn CountsView) -> Result<Self> {
        let place = usual_places(learned)?;
        let queries = judging.queries().numbers_in(learned.queries());
        let docs = judging.docs().numbers_in(learned.docs());
        let mut found = Vec::new();
        if judging.totals().transitions.is_none() {
            return Ok(MovedClicks(found));
        }
        let transitions = ClickLog::all_transitions(judging)?;
        for (list, rows) in transitions.by_list() {
            let first = || rows.iter().filter(|row| row.from == 0);
            let mut at_risk: u64 = first().map(|row| row.sessions).sum();
            for shown in transitions.of(list) {
                let clicks = first().filter(|row| row.to == shown.position).map(|row| row.sessions).sum();
                let known = queries[list.query as usize].zip(docs[shown.doc as usize]);
                let usual = known.and_then(|known| place.get(&known));
                if at_risk > 0 && usual.is_some_and(|&usual| usual != shown.position) {
                    found.push((list.query, shown.doc, shown.position, at_risk as f64, clicks));
                }
                at_risk -= clicks;
            }
        }
        Ok(MovedClicks(found))
    }

    fn clicks(&self) -> u64 {
        self.0.iter().map(|&(.., clicks)| clicks).sum()
    }

    fn compare(
        &self,
        model: ClickModelKind,
        judging: &dyn CountsView,
        relevance: [&PredictedRelevance; 2],
        seed: u64,
    ) -> MovedDocuments {
        let pairs = || self.0.iter().map(|&(query, doc, ..)| (query, doc));
        let ratios = relevance.map(|relevance| {
            let gammas = relevance.of_docs(judging.queries(), judging.docs(), pairs());
            let gammas: Vec<f64> = gammas.into_iter().map(|gamma| gamma.unwrap_or(relevance.mean())).collect();
            self.log_likelihood(&gammas, judging.queries().len())
        });
        let drawn = resampled(&[&ratios[0], &ratios[1]], RESAMPLES, seed);
        let mut documents: Vec<(u32, u32)> = pairs().collect();
        documents.sort_unstable();
        documents.dedup();
        MovedDocuments {
            model,
            documents: documents.len(),
            clicks: self.clicks(),
            by_position: ratios[0].value(),
            by_model: ratios[1].value(),
            above: PairedDifference::of((&ratios[1], &drawn[1]), (&ratios[0], &drawn[0])),
        }
    }

    /// Query by query, with `P(click) = c(k)·γ`, c(k) being clicks over the sum of γ.
    fn log_likelihood(&self, gammas: &[f64], queries: usize) -> Ratio {
        let last = self.0.iter().map(|&(_, _, position, ..)| position as usize).max().unwrap_or(0);
        let mut sums = vec![(0.0, 0.0); last + 1];
        for (&(_, _, position, shown, clicks), gamma) in self.0.iter().zip(gammas) {
            let sum = &mut sums[position as usize];
            *sum = (sum.0 + clicks as f64, sum.1 + shown * gamma);
        }
        let mut ratio = Ratio { numerators: vec![0.0; queries], denominators: vec![0.0; queries] };
        for (&(query, _, position, shown, clicks), gamma) in self.0.iter().zip(gammas) {
            let (clicked, expected) = sums[position as usize];
            let click = (gamma * clicked / f64::max(expected, MARGIN)).clamp(MARGIN, 1.0 - MARGIN);
            let clicks = clicks as f64;
            ratio.numerators[query as usize] += clicks * click.ln() + (shown - clicks) * (1.0 - click).ln();
            ratio.denominators[query as usize] += shown;
        }
        ratio
    }
}

/// The mean position of each document of each query, rounded.
fn usual_places(counts: &dyn CountsView) -> Result<HashMap<(u32, u32), u32>> {
    let place = |cells: &[Cell]| {
        let shown: f64 = cells.iter().map(|cell| cell.impressions as f64).sum();
        let positions: f64 = cells.iter().map(|cell| cell.impressions as f64 * f64::from(cell.position)).sum();
        ((cells[0].query, cells[0].doc), (positions / shown).round() as u32)
    };
    let mut places = HashMap::new();
    counts.for_each_cells(|cells| places.extend(by_document(cells).map(place)))?;
    Ok(places)
}

impl MovedDocuments {
    fn sentence(&self) -> String {
        let better = match self.above.bounds.value >= 0.0 {
            true => "at least as well as",
            false if self.above.p < SURE => "worse than",
            false => "no better than",
        };
        format!(
            "Relevance from it predicts clicks on moved documents {better} relevance by position: log-likelihood {} against {} on {} \
             clicks.",
            Format::Measure.print(self.by_model),
            Format::Measure.print(self.by_position),
            Format::Count.print(self.clicks as f64)
        )
    }
}
