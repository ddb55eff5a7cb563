//! `truerank sql`: the statements that count a log in a warehouse.

use anyhow::{Result, bail};
use truerank::log::ClickWhen;
use truerank::sql::{CountSql, Dialect};

use super::log_arguments::parse_columns;
use crate::output::print_exactly;

/// Print the SQL that counts a click log, for a warehouse that holds it
#[derive(clap::Args)]
#[command(after_help = "\
The log is a table with one row per shown document. The statements make views:
what is wrong with the log (must be empty), cells, sessions and patterns, as
`truerank count` does. Sessions and queries of several columns
(session=user+task), logs without users (user=) or queries (query=) and
--click-when are as there; columns are not guessed.

Tested on DuckDB and Spark; BigQuery's was checked by a parser, not run.

Examples:
  truerank sql --dialect duckdb --log clicks --column user=client_id | duckdb logs.db
  truerank sql --dialect bigquery --log project.logs.clicks
  truerank sql --column doc=item --click-when 'dwell_time>0'
  truerank sql > count.sql")]
pub struct Sql {
    /// Whose SQL: spark, duckdb or bigquery
    #[arg(long, default_value_t = Dialect::Spark)]
    dialect: Dialect,

    /// The column of session, user, query, doc, position or click, such as user=client_id [default: the field's name]
    #[arg(long, value_name = "FIELD=NAME")]
    column: Vec<String>,

    /// What makes a click, instead of a column of 0 and 1: 'dwell_time>0', 'action=click|purchase' or 'dwell_time present'
    #[arg(long, value_name = "CONDITION")]
    click_when: Option<ClickWhen>,

    /// The table of the log; of a dotted name each part is quoted
    #[arg(long, default_value = "log", value_name = "TABLE")]
    log: String,
}

impl Sql {
    pub fn run(self) -> Result<()> {
        let says_click = self.column.iter().any(|column| column.starts_with("click"));
        if says_click && self.click_when.is_some() {
            bail!("both --click-when and --column click= say what a click is, but one of them should; leave one out");
        }
        let mut sql = CountSql::new(self.dialect).columns(&parse_columns(&self.column)?)?.table(&self.log);
        if let Some(when) = &self.click_when {
            sql = sql.click_when(when);
        }
        print_exactly(&sql.script())
    }
}
