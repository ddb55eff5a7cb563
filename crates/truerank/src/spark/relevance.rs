//! Relevance weights of counts that a cluster reads: a folder of counts and θ enter, the same weights leave.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{Float64Array, Int32Array};
use arrow_schema::{DataType, Field};

use super::by_document::by_document;
use super::cluster::Cluster;
use super::far::{far_meta, near_meta};
use super::statements::{double, statement};
use super::users::{LogUsers, SCRATCH};
use crate::data::Dataset;
use crate::files::TemporaryFolder;
use crate::files::table::{Columns, TableWriter, ids_array, ids_field};
use crate::ids::Ids;
use crate::progress::Progress;
use crate::propensity::{Examination, Propensities, list_field, lists, past_the_last_known};
use crate::relevance::{
    CellSums, Exposures, KnownLog, PairSums, Relevance, RelevanceOptions, Smoothing, SummedExposures,
};
use crate::{Error, Result};

const SQL: &str = include_str!("relevance.sql");

/// Users whose θ is made into columns at a time.
const USERS: usize = 1 << 14;

/// Estimates weights as here, from counts that a cluster reads.
///
/// All that estimators need of the cells of a document are sums, and these are SQL: one pass over the cells for exposures, one for
/// variances. What follows from the sums (β, the prior, its strength, the weights) is computed by the same code as ever, so
/// results differ by the order of sums alone. Features are here, where the prior is predicted from them. This machine holds θ, the ids of users, and the sums and weights of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkRelevance {
    url: String,
}

impl SparkRelevance {
    /// Estimates on the cluster whose Spark Connect server is at `url`, such as `sc://host:15002`.
    pub fn new(url: &str) -> Self {
        SparkRelevance { url: url.to_string() }
    }

    /// Refuses what does not follow from sums, before anything is read.
    pub fn check(options: &RelevanceOptions, has_data: bool) -> Result<()> {
        if options.weights.beta == Smoothing::Likelihood {
            let finding = "likelihood is not for `engine`; take another one, or estimate without it";
            return Err(Error::option("beta", finding));
        }
        options.check(has_data)
    }

    /// Weights by each estimator that was asked for; steps of the work are kept in a temporary folder beside `output`.
    pub fn estimate(
        &self,
        options: &RelevanceOptions,
        counts: &Path,
        propensities: &Propensities,
        data: Option<&Dataset>,
        output: &Path,
        progress: &dyn Progress,
    ) -> Result<Vec<Relevance>> {
        Self::check(options, data.is_some())?;
        let near = near_meta(counts)?;
        // Outlives the connection, whose end stops what still writes there.
        let scratch = TemporaryFolder::create_beside(output)?;
        let cluster = Cluster::connect(&self.url)?;
        let meta = near.map_or_else(|| far_meta(&cluster, counts), Ok)?;
        let summing = Summing { cluster: &cluster, counts, scratch: scratch.path() };
        progress.begin("summing cells on Spark", 3);
        summing.look_up(propensities, meta.max_position)?;
        progress.advance(1)?;
        let exposures = summing.exposures(progress)?;
        let shown = exposures.shown();
        let log = KnownLog::summed(&shown, data, exposures);
        let estimations = options.estimations(&log, progress)?;
        estimations.iter().map(|estimation| estimation.weigh(log.exposures(progress)?)?.relevance()).collect()
    }
}

/// Cells at work.
struct Summing<'a> {
    cluster: &'a Cluster,
    counts: &'a Path,
    scratch: &'a Path,
}

impl Summing<'_> {
    /// Joins cells with θ of their users and positions.
    fn look_up(&self, propensities: &Propensities, max_position: u32) -> Result<()> {
        self.cluster.parquet("relevance_cells", &self.counts.join("cells.parquet"))?;
        let known = propensities.positions() as u32;
        if max_position > known {
            return Err(self.past_the_last(known)?);
        }
        let of = if propensities.users.is_empty() { "examined alike" } else { "examined by users" };
        let users = match propensities.users.is_empty() {
            true => LogUsers { ids: Ids::default(), sessions: Vec::new() },
            false => LogUsers::read(self.cluster, self.counts, self.scratch)?,
        };
        let examination = Examination::of_users(propensities, &users.ids, &users.sessions);
        self.write_positions(examination.average_by_position())?;
        if !propensities.users.is_empty() {
            self.write_users(&users.ids, &examination)?;
        }
        self.cluster.view("relevance_examined", &statement(SQL, of, &[]))
    }

    fn past_the_last(&self, known: u32) -> Result<Error> {
        let rows = self.cluster.rows(&statement(SQL, "past", &[("known", known.to_string())]))?;
        let query = rows.first().and_then(|row| row.get(0)?.as_str()).unwrap_or_default();
        let position = rows.first().and_then(|row| row.get(1)?.as_i64()).unwrap_or_default();
        Ok(past_the_last_known(query, position as u32, known))
    }

    fn write_positions(&self, average: &[f64]) -> Result<()> {
        let path = self.scratch.join("positions.parquet");
        let fields =
            vec![Field::new("position", DataType::Int32, false), Field::new("average", DataType::Float64, false)];
        let mut writer = TableWriter::create(&path, SCRATCH, fields, &[])?;
        writer.write(vec![
            Arc::new(Int32Array::from_iter_values(1..=average.len() as i32)),
            Arc::new(Float64Array::from_iter_values(average.iter().copied())),
        ])?;
        writer.finish()?;
        self.cluster.parquet("relevance_positions", &path)
    }

    /// θ of each user of the log, those without their own too.
    fn write_users(&self, users: &Ids, examination: &Examination<'_>) -> Result<()> {
        let path = self.scratch.join("users.parquet");
        let positions = examination.average_by_position().len();
        let fields = vec![ids_field("user", users), list_field("theta", DataType::Float64)];
        let mut writer = TableWriter::create(&path, SCRATCH, fields, &[])?;
        for start in (0..users.len()).step_by(USERS) {
            let some = start..users.len().min(start + USERS);
            let theta: Vec<f64> = some.clone().flat_map(|user| examination.of_user(user as u32)).copied().collect();
            writer.write(vec![ids_array(users, some), lists::<Float64Type>(&theta, positions)])?;
        }
        writer.finish()?;
        self.cluster.parquet("relevance_users", &path)
    }

    /// The sums of all documents.
    fn exposures(&self, progress: &dyn Progress) -> Result<Exposures<'static>> {
        let sums = self.save("relevance_sums", &statement(SQL, "sums", &[]))?;
        progress.advance(1)?;
        let found = by_document(&sums, shared_sums, |_| 0)?;
        let mut of_pairs: Vec<CellSums> = found.rows.iter().map(|(.., (_, own))| *own).collect();
        let keys: Vec<(u32, u32)> = found.rows.iter().map(|(query, doc, _)| (*query, *doc)).collect();
        let pairs = found.rows.into_iter().map(|(query, doc, (shared, _))| PairSums { query, doc, ..shared });
        let exposures = SummedExposures::new(found.queries, found.docs, pairs.collect());
        let mean = [("mean", double(exposures.mean_relevance()))];
        let spreads = self.save("relevance_spreads", &statement(SQL, "spreads", &mean))?;
        progress.advance(1)?;
        let of_columns = |columns: &Columns<'_>| {
            Ok(columns.floats("spread")?.into_iter().zip(columns.floats("relative_spread")?).collect())
        };
        let spreads = by_document(&spreads, of_columns, |_| 0)?;
        if !keys.iter().copied().eq(spreads.rows.iter().map(|(query, doc, _)| (*query, *doc))) {
            return Err(Error::parameter(
                "Spark gave sums of other documents the second time; were the counts changed?",
            ));
        }
        for (own, (.., (spread, relative))) in of_pairs.iter_mut().zip(spreads.rows) {
            (own.spread, own.relative_spread) = (spread, relative);
        }
        Ok(Exposures::summed(exposures, of_pairs))
    }

    /// Writes what a query gives, and gives it the name.
    fn save(&self, name: &str, query: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        self.cluster.save(query, &folder)?;
        self.cluster.parquet(name, &folder)?;
        Ok(folder)
    }
}

fn shared_sums(columns: &Columns<'_>) -> Result<Vec<(PairSums, CellSums)>> {
    let (impressions, clicks) = (columns.counts("impressions")?, columns.counts("clicks")?);
    let [exposure, squared, average] =
        ["exposure", "squared_exposure", "average_exposure"].map(|name| columns.floats(name));
    let (exposure, squared, average) = (exposure?, squared?, average?);
    let (positions, relative) = (columns.floats("positions")?, columns.floats("relative_clicks")?);
    let unexamined = columns.integers("has_unexamined_clicks")?;
    let row = |at: usize| {
        let shared = PairSums {
            impressions: impressions[at],
            clicks: clicks[at],
            exposure: exposure[at],
            squared_exposure: squared[at],
            average_exposure: average[at],
            positions: positions[at],
            ..PairSums::default()
        };
        let own = CellSums {
            relative_clicks: relative[at],
            has_unexamined_clicks: unexamined[at] != 0,
            ..CellSums::default()
        };
        (shared, own)
    };
    Ok((0..columns.len()).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relevance::{EstimationChoice, Estimator, Estimators, PriorKind};

    #[test]
    fn what_needs_single_cells_is_refused() {
        let check = |weights: EstimationChoice, has_data: bool| {
            let options = RelevanceOptions { weights, ..RelevanceOptions::default() };
            SparkRelevance::check(&options, has_data).map_err(|error| error.to_string())
        };
        let open = EstimationChoice::default();
        let refusal = "`beta` likelihood is not for `engine`; take another one, or estimate without it";
        assert_eq!(check(open.beta(Smoothing::Likelihood), false).unwrap_err(), refusal);
        assert!(check(open, false).is_ok() && check(open.prior(PriorKind::Model), true).is_ok());
        assert!(check(open.prior(PriorKind::Model), false).unwrap_err().contains("needs the features"));
        assert!(check(EstimationChoice::of(Estimator::Naive).clip(0.1), false).unwrap_err().contains("is naive"));
        assert!(check(EstimationChoice::new().estimator(Estimators::All), false).is_ok());
    }

    #[test]
    fn statements_are_found_and_filled_in() {
        let values = ["mean", "known"].map(|name| (name, "7".to_string()));
        for name in ["examined alike", "examined by users", "sums", "spreads", "past"] {
            let query = statement(SQL, name, &values);
            assert!(query.contains("SELECT") && !query.contains(['{', '}', '@']), "{name}: {query}");
        }
    }
}
