//! What relevance weights look like, for people and for programs.

use serde_json::{Value, json};
use truerank::relevance::{ClickWeight, Correction, Diagnostics, PriorKind, Relevance};
use truerank::report::Format;

use crate::output::{Table, measure, thousands, wrap};

/// A row for each estimator, then what was clipped and shrunk.
pub fn report_text(all: &[Relevance]) -> String {
    let mut table = Table::new(["estimator", "documents", "mean", "largest", "mean std. error", "β"]);
    for weights in all {
        let summary = Summary::of(weights);
        table.row([
            weights.estimator.clone(),
            thousands(weights.weights.len() as u64),
            measure(summary.mean),
            measure(summary.largest),
            measure(summary.standard_error),
            weights.beta.map_or("".to_string(), |beta| format!("{beta:.2}")),
        ]);
    }
    let corrections = all.iter().map(|weights| correction_text(&weights.correction, weights.weights.len()));
    table.render() + &corrections.collect::<String>()
}

fn correction_text(correction: &Correction, documents: usize) -> String {
    let mut text = String::new();
    if correction.prior != PriorKind::None {
        let mean = correction.mean.map(|mean| format!(", mean relevance {}", measure(mean))).unwrap_or_default();
        text += &format!("prior: {}{mean}", correction.prior);
        if correction.unpredicted > 0 {
            let (missing, all) = (thousands(correction.unpredicted), thousands(documents as u64));
            text += &format!("; {missing} of {all} documents have no prediction and got the mean");
        }
        text.push('\n');
    }
    if let Some(b) = correction.shrink {
        text += &format!("shrunk toward the prior as if it had been examined {} times\n", Format::Number.print(b));
    }
    if let Some(clip) = correction.clip {
        let clipped = correction.clipped;
        text += &format!(
            "clipped at {clip} of the impressions: {} of {} documents, with {} of the clicks and {} of the exposure\n",
            thousands(clipped.documents),
            thousands(documents as u64),
            Format::Percent.print(clipped.clicks),
            Format::Percent.print(clipped.exposure)
        );
    }
    text
}

/// The same as JSON.
pub fn report_json(weights: &Relevance) -> Value {
    let (summary, correction) = (Summary::of(weights), &weights.correction);
    let mut row = json!({
        "estimator": weights.estimator, "beta": weights.beta, "documents": weights.weights.len(),
        "mean_weight": summary.mean, "largest_weight": summary.largest,
        "mean_standard_error": summary.standard_error,
    });
    if *correction != Correction::default() {
        row["correction"] = json!({
            "prior": correction.prior.to_string(), "mean_relevance": correction.mean,
            "unpredicted_documents": correction.unpredicted, "clip": correction.clip, "shrink": correction.shrink,
            "clipped_documents": correction.clipped.documents, "clipped_click_share": correction.clipped.clicks,
            "clipped_exposure_share": correction.clipped.exposure,
        });
    }
    row
}

/// What weights look like on the whole.
struct Summary {
    mean: f64,
    largest: f64,
    standard_error: f64,
}

impl Summary {
    fn of(weights: &Relevance) -> Self {
        let count = weights.weights.len().max(1) as f64;
        let rows = || weights.weights.iter();
        Summary {
            mean: rows().map(|w| w.weight).sum::<f64>() / count,
            largest: rows().map(|w| w.weight).fold(0.0, f64::max),
            standard_error: rows().map(|w| w.variance.sqrt()).sum::<f64>() / count,
        }
    }
}

/// How much the weights of an estimator depend on few clicks.
pub fn diagnostics_text(estimator: &str, diagnostics: &Diagnostics) -> String {
    let sizes = &diagnostics.effective;
    let number = |value: f64| Format::Number.print(value);
    let [lower, median, upper] = sizes.quartiles.map(number);
    let mut text = format!("\nclick weights of {estimator}\n");
    text += &wrap(&format!(
        "{} clicks; the heaviest 1 % have {} of the weight",
        thousands(diagnostics.clicks),
        Format::Percent.print(diagnostics.top_share)
    ));
    text += &wrap(&format!(
        "effective clicks per query: least {}, quartiles {lower}, {median}, {upper}; {} of {} queries are under 10, {} \
         have no click",
        number(sizes.least),
        Format::Percent.print(sizes.under_ten),
        thousands(sizes.queries),
        thousands(sizes.without_clicks)
    ));
    let mut table = Table::new(["query", "document", "position", "user", "clicks", "weight of each"]);
    for ClickWeight { query, doc, position, user, clicks, weight } in &diagnostics.largest {
        let cells = [query.clone(), doc.clone(), position.to_string(), user.clone(), thousands(*clicks)];
        table.row(cells.into_iter().chain([number(*weight)]));
    }
    text + &table.render()
}
