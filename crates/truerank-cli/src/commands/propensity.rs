//! `truerank propensity`: counts to examination probabilities.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use truerank::counts::{Counts, CountsView, Need, held_counts, open_counts};
use truerank::data::Dataset;
use truerank::files::check_file;
use truerank::network::Architecture;
use truerank::propensity::{
    ClusterCount, Contexts, Cpbm, Grouping, InterventionHarvesting, Propensities, PropensityError, RegressionEm,
    RelevanceForm, RelevancePrior, ShrinkUsers, SwapExperiment, UserChoice, UserPbm, Weighting,
};
use truerank::ranker::Dla;

use super::common::{ReadArguments, read_training_part, together};
use super::engine::{self, EngineSettings};
use super::memory::MemoryArguments;
use super::propensity_report::{Outcome, report, to_json};
use crate::output::{print, print_json};
use crate::progress::Shown;

/// Estimate from clicks who examines which position
#[derive(clap::Args)]
#[command(after_help = "\
Methods, and what they need:
  em          Regression-EM: features (--data), or documents seen at several positions
  swap        sessions in which rank 1 changed places at random
  harvesting  several rankers, swaps or shuffles
  cpbm        the same; examination by user id, or by --user-features
  user-pbm    features; the click likelihood climbed directly, as a baseline
  dla         features; trains a ranker as well (--ranker)

em reads counts that do not fit into --memory part by part; the others refuse them.

Clicks show only products of examination and relevance. All methods let the
population's largest examination be 1; a user above the average may exceed it.

Examples:
  truerank propensity counts/ --data data/ --per-user -o propensities.json
  truerank propensity counts/ --data data/ --relevance mlp -o population.json
  truerank propensity counts/ --data data/ --per-user --shrink clusters --clusters 10 -o p.json
  truerank propensity counts/ --method swap --per-user -o swap.json
  truerank propensity counts/ --data data/ --method dla --ranker dla.safetensors -o dla.json
  truerank propensity /shared/counts/ --engine sc://spark:15002 -o /shared/propensities.json")]
pub struct Propensity {
    /// Folder that `truerank count` wrote
    counts: PathBuf,

    /// Features of the documents: a folder (its training part) or a file
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,

    /// How to estimate
    #[arg(long, value_enum, default_value_t = Method::Em)]
    method: Method,

    /// Examination of each user instead of one for all
    #[arg(long)]
    per_user: bool,

    /// em: what gives relevance: linear, mlp, mlp:SIZE,… or table [default: linear with --data, else table]
    #[arg(long, value_name = "FORM")]
    relevance: Option<RelevanceForm>,

    /// em: what is believed of a document's relevance before its clicks: a Gamma distribution fitted to the log, or
    /// nothing, as Regression-EM was published [default: fitted]
    #[arg(long, value_parser = named::<_, RelevancePrior>(RelevancePrior::NAMES))]
    prior: Option<RelevancePrior>,

    /// em: what users are pulled toward [default: clusters]
    #[arg(long, value_parser = named::<_, ShrinkUsers>(ShrinkUsers::NAMES))]
    shrink: Option<ShrinkUsers>,

    /// em: number of user clusters, or `auto` to choose it by held-out clicks [default: auto]
    #[arg(long, value_name = "N")]
    clusters: Option<ClusterCount>,

    /// em: how users are put into clusters [default: mixture]
    #[arg(long, value_parser = named::<_, Grouping>(Grouping::NAMES))]
    grouping: Option<Grouping>,

    /// cpbm: CSV or TSV with a header, the user id first, then numbers [default: the user id alone]
    #[arg(long, value_name = "FILE")]
    user_features: Option<PathBuf>,

    /// harvesting, cpbm: how much each document counts that two positions share: by how often both showed it, or all
    /// alike as published [default: overlap]
    #[arg(long, value_parser = named::<_, Weighting>(Weighting::NAMES))]
    weighting: Option<Weighting>,

    /// Iterations, epochs or steps at most [default: the method's own]
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,

    /// Stop at this relative change of the log-likelihood [default: the method's own]
    #[arg(long, value_name = "SHARE")]
    tolerance: Option<f64>,

    /// Resamples of queries for standard errors; 0 for none [default: the method's own]
    #[arg(long, value_name = "N")]
    resamples: Option<usize>,

    /// em: make it an error if not all users and positions can be compared
    #[arg(long)]
    strict: bool,

    /// dla: write the ranker here (.safetensors)
    #[arg(long, value_name = "FILE")]
    ranker: Option<PathBuf>,

    /// dla: form of the ranker: linear, mlp or mlp:SIZE,SIZE,… [default: linear]
    #[arg(long)]
    model: Option<Architecture>,

    /// em: sum up on an Apache Spark cluster that sees the counts and the output under the same paths: the address of its
    /// Spark Connect server. Relevance is a table without a prior, users are not shrunk, and there are no standard
    /// errors [default: estimate here]
    #[arg(long, value_name = "sc://HOST:PORT")]
    engine: Option<String>,

    /// Compare with these propensities, such as a simulation's
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,

    /// Seed of resamples, networks and clusters
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    reading: ReadArguments,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print a summary as JSON
    #[arg(long)]
    json: bool,

    /// File to write (.json)
    #[arg(long, short)]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Method {
    Em,
    Swap,
    Harvesting,
    Cpbm,
    UserPbm,
    Dla,
}

/// Counts as the method reads them.
enum Input {
    /// Block after block.
    Blocks(Box<dyn CountsView>),
    /// As a whole.
    Whole(Box<Counts>),
}

impl Input {
    fn view(&self) -> &dyn CountsView {
        match self {
            Input::Blocks(counts) => counts.as_ref(),
            Input::Whole(counts) => counts.as_ref(),
        }
    }
}

impl Propensity {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.check()?;
        check_file(&self.output)?;
        self.ranker.as_deref().map_or(Ok(()), check_file)?;
        if let Some(url) = &self.engine {
            let propensities = self.estimate_on(url, progress).with_context(|| self.place())?;
            return self.finish(&Outcome::of(propensities), None, progress);
        }
        let truth = self.against.as_deref().map(Propensities::read).transpose()?;
        let contexts = self.user_features.as_deref().map(Contexts::read).transpose()?;
        let counts = self.read_counts()?;
        if let (Some(truth), Some(path)) = (&truth, &self.against) {
            check_truth(truth, path, counts.view())?;
        }
        let data = self.data.as_deref().map(|path| read_training_part(path, &self.reading, progress)).transpose()?;
        let outcome = self.estimate(&counts, data.as_ref(), contexts, progress).with_context(|| self.place())?;
        let error = truth.map(|truth| outcome.propensities.error_against(&truth, counts.view())).transpose()?;
        self.finish(&outcome, error.as_ref(), progress)
    }

    /// Says what should be known, writes what came out, and prints it.
    fn finish(&self, outcome: &Outcome, error: Option<&PropensityError>, progress: &Shown) -> Result<()> {
        progress.finish();
        outcome.propensities.details.notes.iter().for_each(|note| progress.say(&format!("warning: {note}")));
        match (&self.ranker, &outcome.ranker) {
            (Some(path), Some(ranker)) => {
                ranker.save(path)?;
                outcome.propensities.write_beside(&self.output, path)?;
            }
            _ => outcome.propensities.write(&self.output)?,
        }
        if self.json {
            return print_json(&to_json(outcome, error));
        }
        let mut text = report(outcome, error);
        let written = self.ranker.iter().chain([&self.output]);
        written.for_each(|path| text += &format!("wrote {}\n", path.display()));
        print(&text)
    }

    /// Refuses options that would have no effect, and values that no method takes, before anything is read.
    fn check(&self) -> Result<()> {
        use Method::{Cpbm, Dla, Em, Harvesting, Swap, UserPbm};
        let options: [(bool, &str, &[Method]); 14] = [
            (self.data.is_some(), "--data", &[Em, UserPbm, Dla]),
            (self.relevance.is_some(), "--relevance", &[Em]),
            (self.prior.is_some(), "--prior", &[Em]),
            (self.shrink.is_some(), "--shrink", &[Em]),
            (self.clusters.is_some(), "--clusters", &[Em]),
            (self.grouping.is_some(), "--grouping", &[Em]),
            (self.strict, "--strict", &[Em]),
            (self.user_features.is_some(), "--user-features", &[Cpbm]),
            (self.weighting.is_some(), "--weighting", &[Harvesting, Cpbm]),
            (self.ranker.is_some(), "--ranker", &[Dla]),
            (self.model.is_some(), "--model", &[Dla]),
            (self.iterations.is_some(), "--iterations", &[Em, Harvesting, Cpbm, UserPbm, Dla]),
            (self.tolerance.is_some(), "--tolerance", &[Em, Harvesting, Cpbm, UserPbm]),
            (self.resamples.is_some(), "--resamples", &[Em, Swap, Harvesting, Cpbm]),
        ];
        for (given, option, methods) in options {
            if given && !methods.contains(&self.method) {
                bail!("{option} is for --method {}, but the method is {}", names(methods), name(self.method));
            }
        }
        self.check_engine()?;
        self.user_choice().check(|name| format!("--{name}"))?;
        self.check_numbers()?;
        self.check_files()
    }

    /// On a cluster there is one form of one method.
    fn check_engine(&self) -> Result<()> {
        let relevance = self.relevance.as_ref().is_some_and(|form| *form != RelevanceForm::Table);
        let options = [
            (self.method != Method::Em, "--method other than em"),
            (self.data.is_some(), "--data"),
            (relevance, "--relevance other than table"),
            (self.prior == Some(RelevancePrior::Fitted), "--prior fitted"),
            (self.shrink.is_some_and(|shrink| shrink != ShrinkUsers::None), "--shrink other than none"),
            (self.clusters.is_some(), "--clusters"),
            (self.grouping.is_some(), "--grouping"),
            (self.resamples.is_some_and(|resamples| resamples > 0), "--resamples"),
            (self.against.is_some(), "--against"),
        ];
        match options.iter().find(|(given, _)| *given && self.engine.is_some()) {
            Some((_, option)) => bail!("{option} is not for --engine; estimate without it"),
            None => Ok(()),
        }
    }

    fn estimate_on(&self, url: &str, progress: &Shown) -> Result<Propensities> {
        let settings = EngineSettings {
            per_user: self.per_user,
            strict: self.strict,
            iterations: self.iterations,
            tolerance: self.tolerance,
        };
        engine::estimate(url, &self.counts, &settings, &self.output, progress)
    }

    fn check_numbers(&self) -> Result<()> {
        if self.iterations == Some(0) {
            bail!("--iterations is 0, but should be at least 1");
        }
        if let Some(tolerance) = self.tolerance.filter(|tolerance| !(*tolerance > 0.0 && *tolerance < 1.0)) {
            bail!("--tolerance is {tolerance}, but should be between 0 and 1");
        }
        if self.resamples == Some(1) {
            bail!("--resamples is 1, but should be 0 for no standard errors, or at least 2");
        }
        Ok(())
    }

    fn check_files(&self) -> Result<()> {
        match (self.method, &self.relevance, &self.data) {
            (Method::UserPbm | Method::Dla, _, None) => {
                bail!("--method {} learns from features: name them with --data", name(self.method))
            }
            (_, Some(form @ (RelevanceForm::Linear | RelevanceForm::Mlp(_))), None) => bail!(
                "--relevance {form} learns from features: name them with --data, or use --relevance table, which needs \
                 documents that were shown at several positions"
            ),
            (_, Some(RelevanceForm::Table), Some(_)) => {
                bail!("--relevance table makes no use of features: leave out --data, or use --relevance linear")
            }
            _ if self.ranker.as_ref() == Some(&self.output) => {
                bail!("--ranker and --output are both {}: give them different names", self.output.display())
            }
            _ => Ok(()),
        }
    }

    fn read_counts(&self) -> Result<Input> {
        let (room, need) = (self.memory.room_beside(&self.output), Need::Estimation);
        let counts = match self.method {
            Method::Em => Input::Blocks(open_counts(&self.counts, &room, need)?),
            _ => Input::Whole(Box::new(held_counts(&self.counts, &room, need)?)),
        };
        if counts.view().totals().clicks == 0 {
            bail!("{}: has no clicks, so nothing can be said about examination", self.counts.display());
        }
        Ok(counts)
    }

    /// The inputs, as the place of an error.
    fn place(&self) -> String {
        match self.data.as_ref().or(self.user_features.as_ref()) {
            Some(other) => together(&self.counts, other),
            None => self.counts.display().to_string(),
        }
    }

    fn estimate(
        &self,
        counts: &Input,
        data: Option<&Dataset>,
        contexts: Option<Contexts>,
        progress: &Shown,
    ) -> Result<Outcome> {
        Ok(match (self.method, counts, data) {
            (Method::UserPbm, Input::Whole(counts), Some(data)) => {
                Outcome::of(self.user_pbm().estimate(counts, data, progress)?)
            }
            (Method::Dla, Input::Whole(counts), Some(data)) => {
                let (ranker, propensities) = self.dla().fit(data, counts, None, progress)?;
                Outcome { propensities, ranker: Some(ranker), ..Outcome::default() }
            }
            (Method::Swap, Input::Whole(counts), _) => Outcome::of(self.swap().estimate(counts)?),
            (Method::Harvesting, Input::Whole(counts), _) => Outcome::of(self.harvesting().estimate(counts)?),
            (Method::Cpbm, Input::Whole(counts), _) => Outcome::of(self.cpbm(contexts).estimate(counts, progress)?),
            _ => {
                let counts = counts.view();
                let estimate = self.em(counts.users().len(), data).estimate(counts, data, progress)?;
                Outcome { propensities: estimate.propensities, held_out: estimate.held_out, ranker: None }
            }
        })
    }

    fn em(&self, users: usize, data: Option<&Dataset>) -> RegressionEm {
        let form = self.relevance.clone().unwrap_or_else(|| RelevanceForm::suited_to(data));
        let users = self.user_choice().of(users);
        let em = RegressionEm::new().users(users).relevance(form).strict(self.strict).seed(self.seed);
        let em = with(with(em, self.prior, RegressionEm::prior), self.iterations, RegressionEm::iterations);
        with(with(em, self.tolerance, RegressionEm::tolerance), self.resamples, RegressionEm::resamples)
    }

    fn user_choice(&self) -> UserChoice {
        UserChoice { per_user: self.per_user, shrink: self.shrink, clusters: self.clusters, grouping: self.grouping }
    }

    fn swap(&self) -> SwapExperiment {
        let swap = SwapExperiment::new().per_user(self.per_user).seed(self.seed);
        with(swap, self.resamples, SwapExperiment::resamples)
    }

    fn harvesting(&self) -> InterventionHarvesting {
        let harvesting = InterventionHarvesting::new().per_user(self.per_user).seed(self.seed);
        let harvesting = with(harvesting, self.weighting, InterventionHarvesting::weighting);
        let harvesting = with(harvesting, self.iterations, InterventionHarvesting::iterations);
        let harvesting = with(harvesting, self.tolerance, InterventionHarvesting::tolerance);
        with(harvesting, self.resamples, InterventionHarvesting::resamples)
    }

    fn cpbm(&self, contexts: Option<Contexts>) -> Cpbm {
        let cpbm = with(Cpbm::new().seed(self.seed), contexts, Cpbm::contexts);
        let cpbm = with(cpbm, self.weighting, Cpbm::weighting);
        let cpbm = with(cpbm, self.iterations, Cpbm::iterations);
        with(with(cpbm, self.tolerance, Cpbm::tolerance), self.resamples, Cpbm::resamples)
    }

    fn user_pbm(&self) -> UserPbm {
        let model = UserPbm::new().per_user(self.per_user).seed(self.seed);
        with(with(model, self.iterations, UserPbm::epochs), self.tolerance, UserPbm::tolerance)
    }

    fn dla(&self) -> Dla {
        let dla = Dla::new().per_user(self.per_user).seed(self.seed);
        with(with(dla, self.model.clone(), Dla::architecture), self.iterations, Dla::steps)
    }
}

/// A setting, where it was given.
fn with<T, V>(builder: T, value: Option<V>, set: impl FnOnce(T, V) -> T) -> T {
    match value {
        Some(value) => set(builder, value),
        None => builder,
    }
}

fn name(method: Method) -> String {
    method.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
}

/// A value by one of these names.
fn named<const N: usize, T>(names: [&'static str; N]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = truerank::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

/// Methods as people read them: `em, user-pbm or dla`.
fn names(methods: &[Method]) -> String {
    let names: Vec<String> = methods.iter().copied().map(name).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// What is taken for the truth should reach as far as the log.
fn check_truth(truth: &Propensities, path: &Path, counts: &dyn CountsView) -> Result<()> {
    let (known, needed) = (truth.positions(), counts.totals().max_position as usize);
    if known < needed {
        bail!("{}: has {known} positions, but the log has {needed}; compare with propensities of all", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_read_as_a_list() {
        assert_eq!(names(&[Method::Em]), "em");
        assert_eq!(names(&[Method::Em, Method::UserPbm, Method::Dla]), "em, user-pbm or dla");
    }
}
