//! `truerank interleaving`: which of two rankers do people prefer?

use anyhow::Result;
use truerank::evaluate::PairedDifference;
use truerank::interleaving::{Interleaved, Interleaving as Judge};
use truerank::report::Format;

use super::log_arguments::LogArguments;
use crate::options::Typed;
use crate::output::{Table, measure, print, print_json, thousands};
use crate::progress::Shown;

/// Judge two rankers by interleaved result pages: which one gets the clicks
#[derive(clap::Args)]
#[command(after_help = "\
In team-draft interleaving two rankers take turns at placing documents on a page,
and a click is a vote for the one that placed the document. The log has a column
with its name. Preference is the share of pages that the first ranker wins, ties
as half, less one half; pages without clicks say nothing. Intervals are over
queries. Position bias falls on both rankers alike, so nothing is corrected.

The log is also full of interventions: count it as any other, and estimate
examination with truerank propensity --method harvesting.

Examples:
  truerank interleaving clicks.csv
  truerank interleaving clicks.parquet --team source --teams new,old --json")]
pub struct Interleaving {
    #[command(flatten)]
    log: LogArguments,

    #[command(flatten)]
    judge: Typed<Judge>,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

impl Interleaving {
    pub fn run(mut self, progress: &Shown) -> Result<()> {
        self.log.reading.0 = self.judge.reading(self.log.reading.0.clone())?;
        let found = self.judge.judge(&self.log.source()?.read()?)?;
        found.notes().iter().for_each(|note| progress.say(note));
        progress.finish();
        if self.json { print_json(&found.to_json()) } else { print(&text(&found)) }
    }
}

fn text(found: &Interleaved) -> String {
    let [first, second] = &found.teams;
    let mut table = Table::new(["", first, second]);
    let mut row = |name: &str, [one, other]: [u64; 2]| {
        table.row([name.to_string(), thousands(one), thousands(other)]);
    };
    row("pages won", found.wins);
    row("clicks", found.credit);
    row("first document", found.first);
    let pages = [("pages", found.pages), ("ties", found.ties), ("without clicks", found.silent)];
    let pages: Vec<String> = pages.iter().map(|(name, count)| format!("{name} {}", thousands(*count))).collect();
    let verdict = match found.winner() {
        Some(winner) => format!("{winner} is preferred"),
        None => "open which one is preferred".to_string(),
    };
    format!(
        "{}{}, queries {}\n\npreference for {first}: {}\nshare of clicks:      {}\n{verdict}\n",
        table.render(),
        pages.join(", "),
        thousands(found.queries as u64),
        told(&found.preference),
        told(&found.credit_share),
    )
}

/// `.0312 (.0190 to .0450), p < .001`
fn told(found: &PairedDifference) -> String {
    let bounds = found.bounds;
    let p = Format::PValue.print(found.p);
    let p = if p.starts_with('<') { p } else { format!("= {p}") };
    format!("{} above half ({} to {}), p {p}", measure(bounds.value), measure(bounds.low), measure(bounds.high))
}
