//! What a ranker has learned as a page: importance, partial dependence, and how training went.

use serde_json::{Value, json};

use super::importance::MEASURE;
use super::{Explanation, FeatureImportance, PartialDependence, ranked};
use crate::figures::learning_figure;
use crate::ranker::{Check, Ranker, TrainingRecord};
use crate::report::{
    Answer, Axis, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, Lines, Point, Report, Row, Section, Series,
    Style, Table,
};

/// Features that tables and figures show.
const SHOWN: usize = 20;

const EXCHANGED: &str = "the share of pairs of documents that change their order when the values of a feature are exchanged at random \
     between the documents of a query";

impl Explanation {
    /// All of it for programs, with the record of the ranker's training.
    pub fn to_json(&self, ranker: &Ranker) -> Value {
        json!({
            "type": "truerank/explanation", "version": 1,
            "model": ranker.form(), "features": ranker.feature_count(),
            "queries": self.queries, "documents": self.documents,
            "importance": self.importance, "dependence": self.dependence,
            "record": ranker.record,
        })
    }

    /// A page on the ranker that was explained.
    pub fn report(&self, ranker: &Ranker) -> Report {
        let mut sections = vec![self.importance_section()];
        sections.extend((!self.dependence.is_empty()).then(|| self.dependence_section()));
        sections.extend((!ranker.record.checks.is_empty()).then(|| learning_section(&ranker.record)));
        let (lead, facts) = (self.lead(), self.facts(ranker));
        Report { title: "What a ranker has learned".into(), lead, facts, sections, ..Report::default() }
    }

    /// What other pages show of it.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Text(self.lead()), Block::Figure(self.figure()), Block::Table(self.table())];
        if !self.dependence.is_empty() {
            blocks.push(Block::Gallery(self.dependence.iter().map(dependence_figure).collect()));
        }
        blocks
    }

    fn lead(&self) -> String {
        match ranked(&self.importance).first().filter(|found| found.order_change > 0.0) {
            Some(first) => format!(
                "Feature {} matters most: when its values are exchanged at random between the documents of a query, {} of their pairs change \
                 their order.",
                first.feature,
                Format::Percent.print(first.order_change)
            ),
            None => "No feature changes the order of documents.".to_string(),
        }
    }

    fn facts(&self, ranker: &Ranker) -> Vec<(String, String)> {
        let (record, count) = (&ranker.record, |count: usize| Format::Count.print(count as f64));
        let facts = [
            ("ranker", format!("{} on {} features", ranker.form(), count(ranker.feature_count()))),
            ("trained by", format!("{}, {}", record.loss, record.method)),
            ("best step", format!("{} of {}", count(record.best_step), count(record.steps))),
            ("asked about", format!("{} documents of {} queries", count(self.documents), count(self.queries))),
        ];
        facts.map(|(name, value)| (name.to_string(), value)).to_vec()
    }

    fn importance_section(&self) -> Section {
        let without = self.importance.iter().filter(|found| found.order_change == 0.0).count();
        let text = format!(
            "{} of {} features change the order of documents.",
            Format::Count.print((self.importance.len() - without) as f64),
            Format::Count.print(self.importance.len() as f64)
        );
        Section {
            id: "importance".into(),
            title: "Which features matter?".into(),
            question: "How much does the order of a query's documents depend on each feature?".into(),
            answers: vec![Answer { verdict: None, text }],
            blocks: vec![Block::Figure(self.figure()), Block::Table(self.table())],
        }
    }

    fn figure(&self) -> Figure {
        let dot = |found: &&FeatureImportance| Dot {
            name: format!("feature {}", found.feature),
            value: found.order_change,
            band: found.half_width.map(|half| ((found.order_change - half).max(0.0), found.order_change + half)),
            style: Style::Strong,
        };
        let rows = ranked(&self.importance).iter().take(SHOWN).map(dot).collect();
        Figure {
            name: "feature-importance".into(),
            caption: format!("Importance of features: {EXCHANGED}, with 95 % intervals over queries."),
            chart: Chart::Dots(Dots { axis: Axis::new("pairs that change their order", Format::Percent), rows }),
        }
    }

    fn table(&self) -> Table {
        type Value = fn(&FeatureImportance) -> Option<f64>;
        let all: [(String, Format, Value); 4] = [
            (format!("loss of {MEASURE}"), Format::Measure, |found| found.ndcg_loss),
            ("share of gain".into(), Format::Percent, |found| found.gain),
            ("splits".into(), Format::Count, |found| found.splits.map(|splits| splits as f64)),
            ("weight".into(), Format::Number, |found| found.weight),
        ];
        let known = |value: &Value| self.importance.iter().any(|found| value(found).is_some());
        let columns: Vec<_> = all.into_iter().filter(|(_, _, value)| known(value)).collect();
        let row = |found: &&FeatureImportance| {
            let order = Cell::value(found.order_change).half_width(found.half_width);
            let others = columns.iter().map(|(_, _, value)| value(found).map_or(Cell::empty(), Cell::value));
            Row::new(found.feature.to_string(), [order].into_iter().chain(others).collect())
        };
        let others = columns.iter().map(|(name, format, _)| Column::new(name, *format));
        Table {
            name: "feature-importance".into(),
            caption: "How much features matter, the most important ones first.".into(),
            label: "feature".into(),
            columns: [Column::new("order changed", Format::Percent)].into_iter().chain(others).collect(),
            rows: ranked(&self.importance).iter().take(SHOWN).map(row).collect(),
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "Order changed: {EXCHANGED}, as a mean over {} queries with its 95 % interval; 50 % is an order by chance. A feature that all documents \
             of a query share has 0.",
            Format::Count.print(self.queries as f64)
        )];
        if self.importance.iter().any(|found| found.gain.is_some()) {
            notes.push("Share of gain: how much of what all splits reduced the training loss by is due to splits by the feature.".into());
        }
        let others = self.importance.len().saturating_sub(SHOWN);
        if others > 0 {
            notes.push(format!("{} further features change the order less.", Format::Count.print(others as f64)));
        }
        notes
    }

    fn dependence_section(&self) -> Section {
        let text = "Mean scores of the same documents, if the feature had one value for all of them and all else were as it is. Points are \
                    quantiles of the feature.";
        Section {
            id: "dependence".into(),
            title: "How do scores depend on them?".into(),
            question: "What does the score of a document become as a feature changes?".into(),
            answers: Vec::new(),
            blocks: vec![
                Block::Text(text.into()),
                Block::Gallery(self.dependence.iter().map(dependence_figure).collect()),
            ],
        }
    }
}

fn dependence_figure(dependence: &PartialDependence) -> Figure {
    let points = dependence.values.iter().zip(&dependence.scores);
    let points = points.map(|(&value, &score)| Point::new(f64::from(value), score)).collect();
    let name = format!("feature {}", dependence.feature);
    Figure {
        name: format!("feature-{}-dependence", dependence.feature),
        caption: format!("Partial dependence of scores on {name}."),
        chart: Chart::Lines(Lines {
            x: Axis::new(&name, Format::Number),
            y: Axis::new("mean score", Format::Number),
            series: vec![Series { name: "mean score".into(), points, style: Style::Strong }],
        }),
    }
}

fn learning_section(record: &TrainingRecord) -> Section {
    let points = |value: fn(&Check) -> Option<f64>| -> Vec<Point> {
        let points = record.checks.iter().map(|check| value(check).map(|value| Point::new(check.step as f64, value)));
        points.flatten().collect()
    };
    let mut figures =
        vec![learning_figure("training-loss", "Loss over training.", "loss", points(|check| Some(check.loss)))];
    let validation = points(|check| check.validation);
    if !validation.is_empty() {
        let caption = "The validation value over training; larger is better.";
        figures.push(learning_figure("training-validation", caption, "value", validation));
    }
    let text = match record.validation {
        Some(_) => format!("Kept is step {} of {}, where validation was best.", record.best_step, record.steps),
        None => format!("Kept is step {} of {}.", record.best_step, record.steps),
    };
    Section {
        id: "learning".into(),
        title: "How did training go?".into(),
        answers: vec![Answer { verdict: None, text }],
        blocks: vec![Block::Gallery(figures)],
        ..Section::default()
    }
}
