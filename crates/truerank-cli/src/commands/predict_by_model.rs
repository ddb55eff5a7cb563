//! `truerank predict-clicks --click-model`: how well a click model predicts the clicks of a log it did not see.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;
use truerank::click_model::{ClickMeasures, ClickModel, CountedClicks};
use truerank::counts::{CountsView, Need, open_counts};
use truerank::files::Room;

use super::common::together;
use crate::output::{Table, measure, print, print_json, thousands, wrap};
use crate::progress::Shown;

/// Measures a model on counts with click transitions, and prints what came out.
pub fn predict(counts_path: &Path, model_path: &Path, room: &Room, as_json: bool, progress: &Shown) -> Result<()> {
    let counts = open_counts(counts_path, room, Need::Cells)?;
    let model = ClickModel::read(model_path)?;
    let found = measure_on(counts.as_ref(), &model).with_context(|| together(counts_path, model_path))?;
    progress.finish();
    let models: Vec<String> = model.models().iter().map(ToString::to_string).collect();
    match as_json {
        true => print_json(&to_json(&models.join(","), &found)),
        false => print(&to_text(&models.join(","), &found)),
    }
}

/// Measures a model on counts with click transitions.
pub fn measure_on(counts: &dyn CountsView, model: &ClickModel) -> Result<ClickMeasures> {
    Ok(model.measure(&CountedClicks::of(counts)?.log())?)
}

/// The three measures in a line.
pub fn measures_text(found: &ClickMeasures) -> String {
    wrap(&format!(
        "As PyClick and CLAX define them, by session and position: log-likelihood {}, perplexity {}, conditional perplexity {}",
        measure(found.log_likelihood),
        measure(found.perplexity),
        measure(found.conditional_perplexity)
    ))
}

pub fn measures_json(found: &ClickMeasures) -> serde_json::Value {
    json!({
        "sessions": found.sessions, "log_likelihood": found.log_likelihood, "perplexity": found.perplexity,
        "conditional_perplexity": found.conditional_perplexity,
    })
}

fn to_text(model: &str, found: &ClickMeasures) -> String {
    let mut table = Table::new(["model", "log-likelihood", "perplexity", "conditional perplexity"]);
    table.row([
        model.to_string(),
        measure(found.log_likelihood),
        measure(found.perplexity),
        measure(found.conditional_perplexity),
    ]);
    let mut positions = Table::new(["position", "impressions", "perplexity", "conditional perplexity"]);
    for at in &found.positions {
        let numbers = [thousands(at.impressions), measure(at.perplexity), measure(at.conditional_perplexity)];
        positions.row([at.position.to_string()].into_iter().chain(numbers));
    }
    let unknown_contexts = match found.unknown_contexts {
        0 => String::new(),
        contexts => format!("; so did pages in {} contexts that it does not know", thousands(contexts as u64)),
    };
    let about = format!(
        "{} sessions; means over positions, as PyClick and CLAX define them; {} impressions of documents that the model does \
         not know, and {} users whom it does not know, got what holds for others{unknown_contexts}",
        thousands(found.sessions),
        thousands(found.unknown_impressions),
        thousands(found.unknown_users as u64)
    );
    format!("{}{}\n{}", table.render(), wrap(&about), positions.render())
}

fn to_json(model: &str, found: &ClickMeasures) -> serde_json::Value {
    let positions = found.positions.iter().map(|at| {
        json!({
            "position": at.position, "impressions": at.impressions, "perplexity": at.perplexity,
            "conditional_perplexity": at.conditional_perplexity,
        })
    });
    json!({
        "type": "truerank/click-measures", "version": 1, "model": model, "sessions": found.sessions,
        "log_likelihood": found.log_likelihood, "perplexity": found.perplexity,
        "conditional_perplexity": found.conditional_perplexity,
        "unknown_impressions": found.unknown_impressions, "unknown_users": found.unknown_users,
        "unknown_contexts": found.unknown_contexts,
        "positions": positions.collect::<Vec<_>>(),
    })
}
