//! `truerank propensity`: counts to examination probabilities.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use truerank::counts::CountsView;
use truerank::data::Dataset;
use truerank::examination::{Estimated, ExaminationOptions, METHODS, Sources};
use truerank::files::check_file;
use truerank::propensity::{Contexts, Propensities, PropensityError};
use truerank::text::rename_quoted;

use super::common::{ReadArguments, read_training_part, together};
use super::memory::MemoryArguments;
use super::propensity_report::{report, to_json};
use crate::options::{Typed, flag_of};
use crate::output::{print, print_json};
use crate::progress::Shown;

/// Estimate from clicks who examines which position
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Propensity {
    /// Folder that `truerank count` wrote
    counts: PathBuf,

    /// Features of the documents: a folder (its training part) or a file
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,

    #[command(flatten)]
    options: Typed<ExaminationOptions>,

    /// cpbm: CSV or TSV with a header, the user id first, then numbers [default: the user id alone]
    #[arg(long, value_name = "FILE")]
    user_features: Option<PathBuf>,

    /// dla: write the ranker here (.safetensors)
    #[arg(long, value_name = "FILE")]
    ranker: Option<PathBuf>,

    /// em: sum up cells on an Apache Spark cluster that sees the counts and the output under the same paths: the address of
    /// its Spark Connect server. `--data` is read here [default: estimate here]
    #[arg(long, value_name = "sc://HOST:PORT")]
    engine: Option<String>,

    /// Compare with these propensities, such as a simulation's
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,

    #[command(flatten)]
    reading: ReadArguments,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Print a summary as JSON
    #[arg(long)]
    json: bool,

    /// File to write: .json, or .parquet, which suits many users
    #[arg(long, short)]
    output: PathBuf,
}

/// The methods as the registry has them, and examples.
fn after_help() -> String {
    let mut text = "Methods, and what they need:\n".to_string();
    METHODS.iter().for_each(|method| text += &format!("  {method:<10}  {}\n", rename_quoted(method.needs, flag_of)));
    let held: Vec<&str> = METHODS.iter().filter(|method| method.holds_counts).map(|method| method.name).collect();
    text +=
        &format!("\nCounts that do not fit into --memory are read part by part; {} refuses them.\n", held.join(", "));
    text + EXAMPLES
}

const EXAMPLES: &str = "
Clicks show only products of examination and relevance. All methods let the
population's largest examination be 1; a user above the average may exceed it.

Examples:
  truerank propensity counts/ --data data/ --per-user -o propensities.json
  truerank propensity counts/ --data data/ --relevance mlp -o population.json
  truerank propensity counts/ --data data/ --per-user --shrink clusters --clusters 10 -o p.json
  truerank propensity counts/ --per-user -o propensities.parquet       (millions of users)
  truerank propensity counts/ --method swap --per-user -o swap.json
  truerank propensity counts/ --data data/ --method dla --ranker dla.safetensors -o dla.json
  truerank propensity /shared/counts/ --engine sc://spark:15002 -o /shared/propensities.json";

impl Propensity {
    pub fn run(self, progress: &Shown) -> Result<()> {
        self.check()?;
        check_file(&self.output)?;
        self.ranker.as_deref().map_or(Ok(()), check_file)?;
        if let Some(url) = &self.engine {
            return self.estimate_on(url, progress);
        }
        let options = &self.options.0;
        let truth = self.against.as_deref().map(Propensities::read).transpose()?;
        let contexts = self.user_features.as_deref().map(Contexts::read).transpose()?;
        let counts = options.method.open_counts(&self.counts, &self.memory.room_beside(&self.output))?;
        if let (Some(truth), Some(path)) = (&truth, &self.against) {
            check_truth(truth, path, counts.as_ref())?;
        }
        let data = self.read_data(progress)?;
        let sources = Sources { counts: counts.as_ref(), data: data.as_ref(), contexts: contexts.as_ref(), progress };
        let found = options.estimate(&sources).with_context(|| self.place())?;
        let error = truth.map(|truth| found.propensities.error_against(&truth, counts.as_ref())).transpose()?;
        self.finish(&found, error.as_ref(), progress)
    }

    fn estimate_on(&self, url: &str, progress: &Shown) -> Result<()> {
        let data = self.read_data(progress)?;
        let found = self.options.0.estimate_on(url, &self.counts, data.as_ref(), &self.output, progress);
        self.finish(&found.with_context(|| self.place())?, None, progress)
    }

    fn read_data(&self, progress: &Shown) -> Result<Option<Dataset>> {
        self.data.as_deref().map(|path| read_training_part(path, &self.reading, progress)).transpose()
    }

    /// Says what should be known, writes what came out, and prints it.
    fn finish(&self, found: &Estimated, error: Option<&PropensityError>, progress: &Shown) -> Result<()> {
        progress.finish();
        found.propensities.details.notes.iter().for_each(|note| progress.say(&format!("warning: {note}")));
        match (&self.ranker, &found.ranker) {
            (Some(path), Some(ranker)) => {
                ranker.save(path)?;
                found.propensities.write_beside(&self.output, path)?;
            }
            _ => found.propensities.write(&self.output)?,
        }
        if self.json {
            return print_json(&to_json(found, error));
        }
        let mut text = report(found, error);
        let written = self.ranker.iter().chain([&self.output]);
        written.for_each(|path| text += &format!("wrote {}\n", path.display()));
        print(&text)
    }

    /// Refuses options that would have no effect, and values that no method takes, before anything is read.
    fn check(&self) -> Result<()> {
        let options = &self.options.0;
        if self.engine.is_some() {
            options.check_engine(self.data.is_some())?;
            if self.against.is_some() {
                bail!("--against is not for --engine; estimate without it");
            }
        }
        options.check(self.data.is_some(), self.user_features.is_some(), self.ranker.is_some())?;
        if self.ranker.as_ref() == Some(&self.output) {
            bail!("--ranker and --output are both {}: give them different names", self.output.display());
        }
        Ok(())
    }

    /// The inputs, as the place of an error.
    fn place(&self) -> String {
        match self.data.as_ref().or(self.user_features.as_ref()) {
            Some(other) => together(&self.counts, other),
            None => self.counts.display().to_string(),
        }
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
