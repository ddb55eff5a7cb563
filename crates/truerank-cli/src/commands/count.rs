//! `truerank count`: a log to counts.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use truerank::counts::{CountOptions, count_files, is_counts_file};
use truerank::files::check_folder;
use truerank::log::Columns;

use crate::output::{Table, print, print_json, thousands};
use crate::progress::Shown;

/// Count a click log: how often each user saw and clicked each document at each position
#[derive(clap::Args)]
#[command(after_help = "\
A log has one row per shown document, in columns session, user, query, doc,
position (from 1) and click (0 or 1). Other columns are ignored, and rows may
stand in any order.

Examples:
  truerank count clicks.parquet -o counts/
  truerank count clicks.parquet --patterns -o counts/      (for the PRS loss)
  truerank count monday.csv.gz tuesday.csv.gz --column user=client_id -o counts/")]
pub struct Count {
    /// Log files: .parquet, .csv or .tsv, text also .gz or .zst
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// Another name for a column, such as user=client_id
    #[arg(long, value_name = "FIELD=NAME")]
    column: Vec<String>,

    /// Also count which clicks occur together; the PRS loss needs it
    #[arg(long)]
    patterns: bool,

    /// Print the totals as JSON
    #[arg(long)]
    json: bool,

    /// Folder to write
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
}

impl Count {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let columns = parse_columns(&self.column)?;
        check_folder(&self.output, is_counts_file)?;
        let options = CountOptions { patterns: self.patterns };
        let (counts, summary) = count_files(&self.logs, &columns, options, progress)?;
        counts.write(&self.output)?;
        progress.finish();
        let clicks: u64 = counts.cells.iter().map(|cell| cell.clicks).sum();
        // A document counts once for each query it was shown for: ids are often unique within a query only.
        let documents = counts.shown_count();
        let patterns = counts.patterns.as_ref().map(|patterns| patterns.patterns.len() as u64);
        let mut totals = vec![
            ("impressions", summary.rows),
            ("clicks", clicks),
            ("sessions", summary.sessions),
            ("queries", counts.queries.len() as u64),
            ("documents", documents as u64),
            ("users", counts.users.len() as u64),
            ("cells", counts.cells.len() as u64),
        ];
        totals.extend(patterns.map(|count| ("patterns", count)));
        if self.json {
            let totals = totals.into_iter().map(|(name, value)| (name.to_string(), json!(value)));
            return print_json(&serde_json::Value::Object(totals.collect()));
        }
        let mut table = Table::default();
        totals.into_iter().for_each(|(name, value)| table.row([name.to_string(), thousands(value)]));
        print(&format!("{}wrote {}\n", table.render(), self.output.display()))
    }
}

/// The column names that `FIELD=NAME` arguments give.
pub fn parse_columns(arguments: &[String]) -> Result<Columns> {
    let mut columns = Columns::default();
    for argument in arguments {
        let (field, name) = argument
            .split_once('=')
            .with_context(|| format!("--column is '{argument}', but should look like user=client_id"))?;
        columns.map(field, name)?;
    }
    Ok(columns)
}
