//! How training went: the kinds of rankers that were tried, the course of the chosen one, and what it has learned.

use crate::figures::learning_figure;
use crate::fit::{ChosenRanker, TriedForm};
use crate::report::{Answer, Block, Cell, Column, Format, Point, Row, Section, Table};

pub(super) fn section(training: &ChosenRanker) -> Section {
    let steps = match training.ranker.record.steps {
        1 => "1 step".to_string(),
        steps => format!("{} steps", Format::Count.print(steps as f64)),
    };
    let chosen = match training.is_chosen() {
        false => format!("There are too few clicks to choose by: {}, {steps}.", training.form),
        true => format!(
            "{} with {steps}, chosen by {}, then trained on all training queries.",
            training.form, training.validated_by
        ),
    };
    let scaled = training.ranker.scaling().map_or("", |_| " Features were brought to one scale first.");
    let text = chosen + scaled;
    let mut answers = vec![Answer { verdict: None, text }];
    if training.unmatched.queries + training.unmatched.docs > 0 {
        let text = format!(
            "{} queries and {} further documents of the log have no features and were left out.",
            Format::Count.print(training.unmatched.queries as f64),
            Format::Count.print(training.unmatched.docs as f64)
        );
        answers.push(Answer { verdict: None, text });
    }
    let checks = training.ranker.record.checks.iter();
    let losses = checks.map(|check| Point::new(check.step as f64, check.loss)).collect();
    let mut figures = vec![learning_figure("training-loss", "Loss over training.", "loss", losses)];
    let values = training.course.iter().map(|&(step, value)| Point::new(step as f64, value)).collect();
    if !training.course.is_empty() {
        let caption = "The validation measure of the chosen ranker on queries it did not learn from; larger is better.";
        figures.push(learning_figure("training-validation", caption, "validation", values));
    }
    let table = (!training.course.is_empty()).then(|| Block::Table(tried_table(training)));
    let learned = Block::Fold("What the ranker has learned".into(), training.explanation.blocks());
    Section {
        id: "training".into(),
        title: "How did training go?".into(),
        answers,
        blocks: table.into_iter().chain([Block::Gallery(figures), learned]).collect(),
        ..Section::default()
    }
}

fn tried_table(training: &ChosenRanker) -> Table {
    let row = |tried: &TriedForm| {
        let label =
            if tried.form == training.form { format!("{} (chosen)", tried.form) } else { tried.form.to_string() };
        let above = tried.above_chosen.map_or(Cell::text("–"), |above| {
            let print = |value: f64| Format::Measure.print(value);
            Cell::text(format!("{} ± {}", print(above.mean), print(above.standard_error)))
        });
        Row::new(label, vec![Cell::value(tried.steps as f64), Cell::value(tried.value), above])
    };
    let rule = match training.tried.len() {
        1 => "",
        _ => " Chosen is the first kind in the table that is not below the best by more than two standard errors.",
    };
    Table {
        name: "tried-forms".into(),
        caption: "The kinds of rankers that were tried, each at its best step.".into(),
        label: "kind".into(),
        columns: vec![
            Column::new("steps", Format::Count),
            Column::new("validation", Format::Measure),
            Column::new("difference from the chosen", Format::Text),
        ],
        rows: training.tried.iter().map(row).collect(),
        notes: vec![format!(
            "By {}; differences with their standard errors over queries.{rule}",
            training.validated_by
        )],
    }
}
