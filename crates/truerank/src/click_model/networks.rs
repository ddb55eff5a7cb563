//! γ by networks: a fit that is linear in features enters, scores of networks that did not see a document's query leave.
//!
//! As for propensities: a network that had seen a document's own clicks would explain them by the document, and leave nothing to how
//! people browse. The scores become one more column of the logistic regression, which keeps γ on the scale of clicks.

use super::browsing::logit;
use super::em::Em;
use super::expectation::Sum;
use super::fit::Features;
use super::kind::Family;
use crate::Result;
use crate::data::Dataset;
use crate::network::Architecture;
use crate::progress::Progress;
use crate::propensity::em::{CrossFit, sigmoid};

/// Steps of users' parameters and σ for each epoch, roughly, as both change again.
const STEPS: usize = 5;

/// Scores of the documents with features, the best for queries that their networks did not see. Parameters of users follow them.
pub(super) fn scores(
    em: &mut Em<'_>,
    features: &Features<'_>,
    data: &Dataset,
    (architecture, seed): (&Architecture, u64),
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let data = data.filled();
    let docs: Vec<(u32, u32)> = features.docs.iter().map(|&doc| em.observed.docs[doc as usize]).collect();
    let mut networks = CrossFit::new(architecture, &data, &features.rows, &docs, seed)?;
    let is_logit = em.parts[0].kind.family() == Family::Additive;
    networks.train(progress, |networks| {
        let sums = em.expect().attraction;
        let sum_of = |doc: &u32| sums[features.docs[*doc as usize] as usize];
        networks.epoch(|batch, gammas| {
            let sums: Vec<Sum> = batch.iter().map(sum_of).collect();
            Ok(slopes(&sums, gammas, is_logit))
        })?;
        let scores = networks.scores();
        em.attraction.set(&features.docs, scores.iter().map(|score| sigmoid(*score)));
        (0..STEPS).for_each(|_| em.advance_around_attraction());
        Ok((em.expect().log_likelihood / em.observed.impressions, scores))
    })
}

/// The slopes of the mean expected log-likelihood per trial in the logits of documents.
fn slopes(sums: &[Sum], gammas: &[f64], is_logit: bool) -> Vec<f64> {
    let trials: f64 = sums.iter().map(|sum| sum.of).sum();
    let slope = |(sum, &gamma): (&Sum, &f64)| {
        let expected = if is_logit { logit(gamma) } else { gamma };
        (sum.won - sum.of * expected) / trials.max(f64::MIN_POSITIVE)
    };
    sums.iter().zip(gammas).map(slope).collect()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use crate::click_model::testing::World;
    use crate::click_model::{Browsing, ClickModel, ClickModelKind, ClickModelOptions};
    use crate::data::{Dataset, DatasetBuilder};
    use crate::ids::Ids;
    use crate::progress::Silent;
    use crate::propensity::RelevanceForm;
    use crate::random::stream;

    const QUERIES: usize = 4000;
    const DOCS: usize = 5;

    /// Documents that are relevant at both ends of a feature, which no linear function tells, in one list for each query.
    fn world(browsing: Browsing) -> (World, Dataset) {
        let mut random = stream(5, "features", 0);
        let features: Vec<f32> = (0..2 * QUERIES * DOCS).map(|_| random.random_range(-1.0..1.0)).collect();
        let relevance = |row: &[f32]| 1.0 / (1.0 + (3.0 - 6.0 * f64::from(row[0].abs()) - f64::from(row[1])).exp());
        let attraction: Vec<f64> = features.chunks_exact(2).map(relevance).collect();
        let data = DatasetBuilder {
            features,
            feature_count: 2,
            queries: Ids::numbered(QUERIES),
            query_ends: (1..=QUERIES).map(|query| query * DOCS).collect(),
            docs: Some(Ids::numbered(QUERIES * DOCS)),
            ..DatasetBuilder::default()
        };
        let world = World {
            attraction: attraction.chunks_exact(DOCS).map(<[f64]>::to_vec).collect(),
            satisfaction: vec![vec![0.5; DOCS]; QUERIES],
            users: vec![browsing],
            lists: 1,
        };
        (world, data.build().unwrap())
    }

    /// The mean distance of γ from the truth.
    fn distance(model: &ClickModel, world: &World) -> f64 {
        let truth = world.attraction.concat();
        let far = model.documents.iter().map(|document| (document.attraction - truth[document.doc as usize]).abs());
        far.sum::<f64>() / truth.len() as f64
    }

    #[test]
    fn networks_find_relevance_that_no_linear_function_has() {
        for (kind, values) in [(ClickModelKind::Pbm, vec![1.0, 0.7, 0.5, 0.4, 0.3]), (ClickModelKind::Dbn, vec![0.8])] {
            let (world, data) = world(Browsing { kind, positions: DOCS, values: values.clone() });
            let (train, test) = (world.log(40_000, 1), world.log(20_000, 2));
            let fit = |form: &str| {
                let options =
                    ClickModelOptions::new().model(vec![kind]).relevance(form.parse::<RelevanceForm>().unwrap());
                options.fit(&train.view(), Some(&data), &Silent).unwrap()
            };
            let [linear, networks] = ["linear", "mlp:32"].map(fit);
            let likelihood = |model: &ClickModel| model.measure(&test.view()).unwrap().log_likelihood;
            let found = &networks.kinds[0].browsing.values;
            println!(
                "{kind}: distance {:.3} and {:.3}, log-likelihood {:.4} and {:.4}, {found:.3?} of {values:.3?}",
                distance(&linear, &world),
                distance(&networks, &world),
                likelihood(&linear),
                likelihood(&networks)
            );
            assert!(distance(&networks, &world) < 0.6 * distance(&linear, &world), "{kind}");
            assert!(likelihood(&networks) > likelihood(&linear) + 0.002, "{kind}");
            assert!(
                found.iter().zip(&values).all(|(found, truth)| (found / truth - 1.0).abs() < 0.12),
                "{kind}: {found:?}"
            );
        }
    }

    #[test]
    fn bytes_do_not_depend_on_threads() {
        let (world, data) = world(Browsing { kind: ClickModelKind::Pbm, positions: DOCS, values: vec![0.9; DOCS] });
        let log = world.log(500, 3);
        let options = ClickModelOptions::new().relevance("mlp:4".parse().unwrap()).iterations(20);
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| options.fit(&log.view(), Some(&data), &Silent).unwrap())
        };
        assert_eq!(fit(1), fit(3));
    }
}
