//! `truerank score`: a ranked list for every query.

use std::path::PathBuf;

use anyhow::Result;
use truerank::evaluate::{check_run, write_run};
use truerank::files::check_file;

use super::common::{LoadedRanker, ReadArguments, read_file_for_features};
use crate::output::{print, thousands};
use crate::progress::Shown;

/// Score documents and write each query's ranked list
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  truerank score data/test.txt --ranker ranker.safetensors -o run.trec
  truerank score data/test.txt --ranker ranker.safetensors -o run.parquet")]
pub struct Score {
    /// Documents: LETOR/SVMlight text or Parquet
    data: PathBuf,

    #[command(flatten)]
    reading: ReadArguments,

    /// The ranker
    #[arg(long, value_name = "FILE")]
    ranker: PathBuf,

    /// Name of the run, the last column of a TREC run; without white space
    #[arg(long, default_value = "truerank")]
    tag: String,

    /// File to write: .parquet, or anything else for a TREC run
    #[arg(long, short)]
    output: PathBuf,
}

impl Score {
    pub fn run(self, progress: &Shown) -> Result<()> {
        check_file(&self.output)?;
        check_run(&self.output, &self.tag)?;
        let ranker = LoadedRanker::load(&self.ranker)?;
        let data = read_file_for_features(&self.data, &self.reading, progress)?;
        let scores = ranker.score(&data, &self.data)?;
        write_run(&data, &scores, &self.tag, &self.output)?;
        progress.finish();
        let (documents, queries) = (thousands(data.len() as u64), thousands(data.query_count() as u64));
        print(&format!("ranked {documents} documents of {queries} queries\nwrote {}\n", self.output.display()))
    }
}
