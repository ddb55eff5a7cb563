//! Examination and relevance as a click model: propensities and weights enter, a position-based model leaves.

use super::PredictedRelevance;
use crate::click_model::{Browsing, ClickModel, ClickModelKind, DocumentParameters, OfUsers, UserKind};
use crate::propensity::{Fit, Propensities};

impl PredictedRelevance {
    /// `P(click) = θ(u,k)·γ(q,d)` as a click model, so that its predictions can be measured as those of other models are.
    pub fn position_based(&self, propensities: &Propensities) -> ClickModel {
        let positions = propensities.population.len();
        let browsing = Browsing { kind: ClickModelKind::Pbm, positions, values: propensities.population.clone() };
        let of_users = match propensities.users.len() {
            0 => OfUsers::Alike,
            _ => OfUsers::Parameters(propensities.by_user.clone()),
        };
        let document = |&(query, doc, attraction): &(u32, u32, f64)| DocumentParameters {
            query,
            doc,
            attraction,
            satisfaction: None,
        };
        ClickModel {
            kinds: vec![UserKind { browsing, share: 1.0, users: propensities.users.len() }],
            users: propensities.users.clone(),
            of_users,
            contexts: Default::default(),
            of_contexts: Vec::new(),
            queries: self.queries.clone(),
            docs: self.docs.clone(),
            documents: self.values.iter().map(document).collect(),
            unseen_attraction: (1..=positions as u32).map(|position| self.at_position(position)).collect(),
            unseen_satisfaction: Vec::new(),
            fit: Fit::default(),
            notes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click_model::ClickLog;
    use crate::counts::{CountOptions, count_log};
    use crate::data::{Generator, Preset};
    use crate::evaluate::{ClickPrediction, Resampling};
    use crate::relevance::{Estimator, estimate};
    use crate::simulate::{ShownLists, Simulation};

    #[test]
    fn the_model_predicts_what_examination_times_relevance_does() {
        let data = Generator::preset(Preset::Tiny).generate().unwrap().train;
        let lists = [ShownLists::top(&data, &vec![0.0; data.len()], 3).unwrap()];
        let log =
            |seed| Simulation::new().sessions(2000).seed(seed).world_seed(Some(1)).prepare(&data, &lists).unwrap();
        let count = |seed| count_log(&log(seed).log(), &CountOptions::new().transitions(true)).unwrap().0;
        let (seen, later, theta) = (count(1), count(2), log(1).propensities());
        let predicted = PredictedRelevance::from(&estimate(&seen, &theta, Estimator::UserAware).unwrap());
        let model = predicted.position_based(&theta);
        model.check().unwrap();
        let transitions = ClickLog::all_transitions(&later).unwrap();
        let log = ClickLog {
            transitions: &transitions,
            queries: &later.queries,
            docs: &later.docs,
            users: &later.users,
            contexts: &later.contexts,
        };
        let found = model.measure(&log).unwrap();
        let plain = ClickPrediction::of(&later, &theta, &predicted, None, &Resampling::new().resamples(2)).unwrap();
        // Without clicks above that matter, both perplexities are the same, and that of a position is the plain one.
        assert!((found.perplexity - found.conditional_perplexity).abs() < 1e-9, "{found:?}");
        assert_eq!(found.positions.len(), plain.positions.len());
        for (at, plain) in found.positions.iter().zip(&plain.positions) {
            assert!((at.perplexity - plain.perplexity.value).abs() < 1e-9, "{at:?} {plain:?}");
        }
        // All pages here are of one length, so the mean over sessions of means over positions is that over impressions.
        assert!((found.log_likelihood - plain.model.log_likelihood.value).abs() < 1e-9);
    }
}
