//! `truerank generate`: a data set that looks like web search.

use std::path::PathBuf;

use anyhow::Result;
use truerank::data::{Dataset, DatasetFormat, Generation, is_part_file, write_splits};
use truerank::files::check_folder;

use crate::options::Typed;
use crate::output::{Table, print, thousands};
use crate::progress::Shown;

/// Generate a data set with features and grades that looks like web search
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  truerank generate --preset small -o data/
  truerank generate --preset yahoo --format parquet --seed 7 -o yahoo/")]
pub struct Generate {
    #[command(flatten)]
    generation: Typed<Generation>,

    /// Form of the files; text is LETOR/SVMlight
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Folder to write train, vali and test to
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

/// How data sets are written.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Format {
    // Comments of another kind would turn the whole help into its long form.
    Text,
    Parquet,
}

impl Generate {
    pub fn run(self, progress: &Shown) -> Result<()> {
        check_folder(&self.output, is_part_file)?;
        let generation = &self.generation.0;
        let generator = generation.generator()?;
        progress.say(&format!("generating {} …", generation.preset));
        let splits = generator.generate()?;
        let format = match self.format {
            Format::Text => DatasetFormat::Svmlight,
            Format::Parquet => DatasetFormat::Parquet,
        };
        write_splits(&splits, &self.output, format)?;
        let mut table = Table::new(["part", "queries", "documents", "features"]);
        for (name, part) in [("train", &splits.train), ("vali", &splits.validation), ("test", &splits.test)] {
            table.row(describe(name, part));
        }
        print(&format!("{}wrote {}\n", table.render(), self.output.display()))
    }
}

fn describe(name: &str, part: &Dataset) -> [String; 4] {
    let number = |value: usize| thousands(value as u64);
    [name.to_string(), number(part.query_count()), number(part.len()), number(part.feature_count())]
}
