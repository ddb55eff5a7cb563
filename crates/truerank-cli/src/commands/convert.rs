//! `truerank convert`: a data set from one form to another.

use std::path::PathBuf;

use anyhow::Result;
use truerank::data::write_dataset;
use truerank::files::check_file;

use super::common::{ReadArguments, read_file_for_features};
use crate::output::{print, thousands};
use crate::progress::Shown;

/// Convert a data set between LETOR/SVMlight text and Parquet
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  truerank convert train.txt -o train.parquet
  truerank convert rank.train -o train.txt.zst     (group sizes from rank.train.query)")]
pub struct Convert {
    /// Documents: LETOR/SVMlight text, with qid or a .query file beside it, or Parquet
    data: PathBuf,

    #[command(flatten)]
    reading: ReadArguments,

    /// File to write: .parquet, or text, also .gz or .zst
    #[arg(long, short)]
    output: PathBuf,
}

impl Convert {
    pub fn run(self, progress: &Shown) -> Result<()> {
        check_file(&self.output)?;
        let data = read_file_for_features(&self.data, &self.reading, progress)?;
        write_dataset(&data, &self.output)?;
        progress.finish();
        print(&format!(
            "{} documents of {} queries with {} features\nwrote {}\n",
            thousands(data.len() as u64),
            thousands(data.query_count() as u64),
            thousands(data.feature_count() as u64),
            self.output.display()
        ))
    }
}
