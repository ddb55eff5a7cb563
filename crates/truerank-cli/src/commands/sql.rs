//! `truerank sql`: the statements that count a log in a warehouse.

use anyhow::Result;
use truerank::sql::{CountSql, SqlOptions};

use crate::options::Typed;
use crate::output::print_exactly;

/// Print the SQL that counts a click log, for a warehouse that holds it
#[derive(clap::Args)]
#[command(after_help = "\
The log is a table with one row per shown document. The statements make views:
what is wrong with the log (must be empty), cells, sessions, patterns, lists
and click transitions, as `truerank count` does. Sessions and queries of several columns
(session=user+task), logs without users (user=) or queries (query=) and
--click-when are as there; columns are not guessed.

Tested on DuckDB and Spark; BigQuery's was checked by a parser, not run.

Examples:
  truerank sql --dialect duckdb --log clicks --columns user=client_id | duckdb logs.db
  truerank sql --dialect bigquery --log project.logs.clicks
  truerank sql --columns doc=item --click-when 'dwell_time>0'
  truerank sql > count.sql")]
pub struct Sql {
    #[command(flatten)]
    options: Typed<SqlOptions>,
}

impl Sql {
    pub fn run(self) -> Result<()> {
        print_exactly(&CountSql::of(&self.options)?.script())
    }
}
