//! `truerank click-model`: click transitions to a click model.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use truerank::click_model::{
    Browsing, ClickMeasures, ClickModel as Model, ClickModelKind, ClickModelOptions, CountedClicks, OfUsers, UserKind,
};
use truerank::counts::{Need, open_counts};
use truerank::files::check_file;

use super::common::{ReadArguments, read_training_part, together};
use super::memory::MemoryArguments;
use crate::options::Typed;
use crate::output::{Table, measure, print, print_json, thousands, wrap};
use crate::progress::Shown;

/// Fit a model of how people browse and click
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct ClickModel {
    /// Folder that `truerank count --transitions` wrote
    counts: PathBuf,

    /// Features of the documents: a folder (its training part) or a file
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,

    #[command(flatten)]
    options: Typed<ClickModelOptions>,

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

/// The models as the registry has them, and examples.
fn after_help() -> String {
    let models = ClickModelKind::ALL.map(|kind| format!("  {kind:<8}  {}\n", kind.about().help));
    format!("Models:\n{}{EXAMPLES}", models.concat())
}

const EXAMPLES: &str = "
The counts need click transitions: `truerank count --transitions`. Click transitions are held in memory.

Examples:
  truerank click-model counts/ -o click-model.json
  truerank click-model counts/ --model dbn --per-user -o dbn.json
  truerank click-model counts/ --model ubm --clusters 3 -o kinds.json
  truerank click-model counts/ --model pbm,dbn -o mixed.json
  truerank click-model by-device/ -o by-device.json         (counted with --context device)
  truerank relevance counts/ --click-model dbn.json -o relevance.parquet";

/// Up to so many parameters of a kind are printed one by one.
const FEW: usize = 30;

/// Contexts whose parameters are printed at most; the file has all.
const FEW_CONTEXTS: usize = 5;

impl ClickModel {
    pub fn run(self, progress: &Shown) -> Result<()> {
        let options = &self.options.0;
        options.check(self.data.is_some())?;
        check_file(&self.output)?;
        let counts = open_counts(&self.counts, &self.memory.room_beside(&self.output), Need::Cells)?;
        let data = self.data.as_deref().map(|path| read_training_part(path, &self.reading, progress)).transpose()?;
        let place = || match &self.data {
            Some(data) => together(&self.counts, data),
            None => self.counts.display().to_string(),
        };
        let clicks = CountedClicks::of(counts.as_ref()).with_context(place)?;
        let model = options.fit_clicks(&clicks, counts.as_ref(), data.as_ref(), progress).with_context(place)?;
        let measures = model.measure(&clicks.log())?;
        model.write(&self.output)?;
        progress.finish();
        match self.json {
            true => print_json(&to_json(&model, &measures)),
            false => print(&format!("{}wrote {}\n", to_text(&model, &measures), self.output.display())),
        }
    }
}

fn to_text(model: &Model, measures: &ClickMeasures) -> String {
    let mut text = String::new();
    for (number, kind) in model.kinds.iter().enumerate() {
        text += &heading(model, number, kind);
        text += &parameters(&kind.browsing);
    }
    text += &by_context(model);
    let mut table = Table::new(["log-likelihood", "perplexity", "conditional perplexity"]);
    table.row([
        measure(measures.log_likelihood),
        measure(measures.perplexity),
        measure(measures.conditional_perplexity),
    ]);
    let ended = if model.fit.converged { "converged after" } else { "stopped, not converged, after" };
    let about = format!(
        "{ended} {} iterations; measures of the same {} sessions that it was fitted to, as PyClick and CLAX define them. {}",
        model.fit.log_likelihood.len(),
        thousands(measures.sessions),
        model.notes.join(". ")
    );
    format!("{text}\n{}{}", table.render(), wrap(&about))
}

fn heading(model: &Model, number: usize, kind: &UserKind) -> String {
    let title = kind.browsing.kind.about().title;
    let contexts = model.contexts.len() as u64;
    match &model.of_users {
        OfUsers::Alike if contexts > 0 => {
            format!("\n{title}; {} contexts have parameters of their own, shrunk toward these\n", thousands(contexts))
        }
        OfUsers::Alike => format!("\n{title}\n"),
        OfUsers::Parameters(_) => {
            format!(
                "\n{title}; {} users have parameters of their own, shrunk toward these\n",
                thousands(model.users.len() as u64)
            )
        }
        OfUsers::Shares(_) => {
            let share = 100.0 * kind.share;
            format!(
                "\nkind {}: {title}, {share:.0} % of users, most likely {}\n",
                number + 1,
                thousands(kind.users as u64)
            )
        }
        OfUsers::Known(_) => format!("\nkind {}: {title}, {} users\n", number + 1, thousands(kind.users as u64)),
    }
}

/// The parameters of the first contexts, each in a table.
fn by_context(model: &Model) -> String {
    let all = model.kinds[0].browsing.clone();
    let rows = model.of_contexts.chunks_exact(model.width().max(1)).enumerate().take(FEW_CONTEXTS);
    let of_context = |(number, row): (usize, &[f64])| {
        let browsing = Browsing { values: row.to_vec(), ..all.clone() };
        format!("\ncontext {}\n{}", truerank::text::line(&model.contexts.name(number)), parameters(&browsing))
    };
    rows.map(of_context).collect()
}

/// Parameters in a table; those of `ubm` by last click and position.
fn parameters(browsing: &Browsing) -> String {
    if browsing.values.is_empty() {
        return "  no parameters of users: all browse alike\n".to_string();
    }
    if browsing.kind == ClickModelKind::Ubm {
        let header = std::iter::once("last click".to_string()).chain((1..=browsing.positions).map(|k| format!("p{k}")));
        let mut table = Table::new(header);
        for from in 0..browsing.positions {
            let cell =
                |k: usize| if k > from { measure(browsing.values[k * (k - 1) / 2 + from]) } else { String::new() };
            let name = if from == 0 { "none".to_string() } else { from.to_string() };
            table.row(std::iter::once(name).chain((1..=browsing.positions).map(cell)));
        }
        return table.render();
    }
    let mut table = Table::new(["parameter", "value"]);
    let names = browsing.kind.parameter_names(browsing.positions);
    for (name, value) in names.into_iter().zip(&browsing.values).take(FEW) {
        table.row([name, measure(*value)]);
    }
    table.render()
}

fn to_json(model: &Model, measures: &ClickMeasures) -> serde_json::Value {
    let kinds = model.kinds.iter().map(|kind| {
        json!({
            "model": kind.browsing.kind.to_string(), "share": kind.share, "users": kind.users,
            "parameters": kind.browsing.values,
        })
    });
    let contexts = model.of_contexts.chunks_exact(model.width().max(1)).enumerate();
    let contexts = contexts.map(|(number, row)| json!({ "context": model.contexts.name(number), "parameters": row }));
    json!({
        "kinds": kinds.collect::<Vec<_>>(), "contexts": contexts.collect::<Vec<_>>(), "users": model.users.len(), "documents": model.documents.len(),
        "iterations": model.fit.log_likelihood.len(), "converged": model.fit.converged,
        "penalised_log_likelihood": model.fit.log_likelihood.last(),
        "sessions": measures.sessions, "log_likelihood": measures.log_likelihood,
        "perplexity": measures.perplexity, "conditional_perplexity": measures.conditional_perplexity,
        "notes": model.notes,
    })
}
