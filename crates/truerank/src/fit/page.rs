//! The outcome of a fit as a page: results first, then what they rest on.

use super::{FitOutcome, GradedResult, Judged, SplitBy, Training};
use crate::doctor::sentence;
use crate::evaluate::{Bounds, ClickLikelihood};
use crate::figures::{examination_figure, population_curve, weights_table};
use crate::report::{
    Answer, Axis, Block, Cell, Chart, Column, Figure, Format, Lines, Point, Report, Row, Section, Series, Style, Table,
    Verdict,
};

/// The sections that a summary has.
const SUMMARY: [&str; 5] = ["results", "predictions", "relevance", "training", "fitness"];

const CAPTION: &str = "How deep people look: examination by position, relative to the most looked-at position, with what a group clicks more \
     or less at all positions (its level) taken out.";

/// The level of intervals and comparisons on the page.
const SIGNIFICANCE: f64 = 0.05;

impl FitOutcome {
    /// What to know at once: the results, and what is wrong with the log.
    pub fn summary(&self) -> Report {
        let mut report = self.report();
        report.sections.retain(|section| SUMMARY.contains(&section.id.as_str()));
        report
    }

    /// One page on everything.
    pub fn report(&self) -> Report {
        let diagnosis = self.diagnosis.report("");
        let mut sections = vec![self.results(), self.predictions(), self.examination(), self.relevance()];
        sections.extend(self.training.as_ref().map(training));
        sections.extend(diagnosis.sections);
        Report { title: "From clicks to a ranker".into(), lead: self.lead(), facts: self.facts(), sections }
    }

    fn lead(&self) -> String {
        let result = self.judged.as_ref().map_or("Without features there is no ranker.".to_string(), verdict_sentence);
        format!("{result} {}", self.diagnosis.bias_sentence())
    }

    fn facts(&self) -> Vec<(String, String)> {
        let part = |[queries, sessions, clicks]: [u64; 3]| {
            let [queries, sessions, clicks] = [queries, sessions, clicks].map(|n| Format::Count.print(n as f64));
            format!("{queries} queries, {sessions} sessions, {clicks} clicks")
        };
        let mut facts = vec![
            ("learned from".to_string(), part(self.sizes.train)),
            ("judged on".to_string(), part(self.sizes.held_out)),
            ("examination".to_string(), self.propensities.method.clone()),
            ("relevance".to_string(), self.relevance.estimator.clone()),
        ];
        facts.extend(self.training.as_ref().map(|training| {
            (
                "ranker".to_string(),
                match training.ranker.feature_count() {
                    1 => format!("{} on 1 feature", training.form),
                    features => format!("{} on {} features", training.form, Format::Count.print(features as f64)),
                },
            )
        }));
        facts
    }

    fn results(&self) -> Section {
        let mut answers = vec![Answer { verdict: None, text: self.split_sentence() }];
        let mut blocks = Vec::new();
        if let Some(judged) = &self.judged {
            answers.insert(
                0,
                Answer {
                    verdict: Some(verdict(judged)),
                    text: "The ranker orders shown documents better than they were shown.".into(),
                },
            );
            blocks.push(Block::Table(judged_table(judged)));
            blocks.extend(judged.graded.as_ref().map(|graded| Block::Table(graded_table(graded))));
        }
        Section {
            id: "results".into(),
            title: "Is the new ranker better?".into(),
            question:
                "Judged by clicks that learning never saw, each counted as many times as it was unlikely to be seen."
                    .into(),
            answers,
            blocks,
        }
    }

    fn split_sentence(&self) -> String {
        let deep = match self.sizes.too_deep {
            0 => String::new(),
            rows => format!(
                " {} of their impressions are deeper than any of the training part and left out.",
                Format::Count.print(rows as f64)
            ),
        };
        match (self.split, self.shared_queries) {
            (SplitBy::Queries, _) => format!("Held-out queries were never learned from.{deep}"),
            (SplitBy::Time, shared) => format!(
                "The held-out part is what happened last; {} of its {} queries were also learned from.{deep}",
                Format::Count.print(shared as f64),
                Format::Count.print(self.sizes.held_out[0] as f64)
            ),
        }
    }

    fn predictions(&self) -> Section {
        let clicks = &self.clicks;
        let row = |label: &str, of: &ClickLikelihood| {
            Row::new(label, vec![interval_cell(&of.log_likelihood), interval_cell(&of.perplexity)])
        };
        let table = Table {
            name: "click-prediction".into(),
            caption: "How well held-out clicks are predicted.".into(),
            label: "by".into(),
            columns: vec![
                Column::new("log-likelihood per impression", Format::Text),
                Column::new("perplexity", Format::Text),
            ],
            rows: vec![
                row("examination × relevance", &clicks.model),
                row("click rate of each position", &clicks.by_position),
                row("click rate of each document", &clicks.by_document),
                row("one click rate", &clicks.overall),
            ],
            notes: vec!["With 95 % intervals over queries. A perplexity of 1 is perfect, of 2 a coin.".into()],
        };
        let better = clicks.gain.bounds.value > 0.0;
        let sure = clicks.gain.p < SIGNIFICANCE;
        let text = "Examination and relevance predict clicks better than the click rates of positions do.".to_string();
        let verdict = if sure { Verdict::of(better) } else { Verdict::Open };
        Section {
            id: "predictions".into(),
            title: "Are clicks explained?".into(),
            answers: vec![Answer { verdict: Some(verdict), text }],
            blocks: vec![Block::Table(table), Block::Figure(self.perplexities())],
            ..Section::default()
        }
    }

    fn perplexities(&self) -> Figure {
        let positions = &self.clicks.positions;
        let model = positions.iter().map(|at| {
            Point::new(f64::from(at.position), at.perplexity.value).band(at.perplexity.low, at.perplexity.high)
        });
        let baseline = positions.iter().map(|at| Point::new(f64::from(at.position), at.baseline));
        let series = vec![
            Series { name: "examination × relevance".into(), points: model.collect(), style: Style::Strong },
            Series { name: "click rate of the position".into(), points: baseline.collect(), style: Style::Reference },
        ];
        Figure {
            name: "perplexity".into(),
            caption: "Perplexity of held-out clicks by position; lower is better.".into(),
            chart: Chart::Lines(Lines {
                x: Axis::new("position", Format::Count),
                y: Axis::new("perplexity", Format::Number),
                series,
            }),
        }
    }

    fn examination(&self) -> Section {
        // The first note says what; those after it name users and positions one by one.
        let notes = self.propensities.details.notes.iter();
        let notes: Vec<Answer> = notes.map(|note| Answer { verdict: None, text: sentence(note) }).collect();
        let (answers, rest) = notes.split_at(notes.len().min(1));
        let figure = Block::Figure(examination_figure("examination", CAPTION.into(), self.curves()));
        let more: Vec<Block> = rest.iter().map(|note| Block::Text(note.text.clone())).collect();
        let fold = (!more.is_empty()).then(|| Block::Fold("More about what can be compared".into(), more));
        Section {
            id: "examination".into(),
            title: "Who looks where?".into(),
            answers: answers.to_vec(),
            blocks: std::iter::once(figure).chain(fold).collect(),
            ..Section::default()
        }
    }

    /// Clusters of users where there are some, else single users if they are few, and all users.
    fn curves(&self) -> Vec<(String, Vec<f64>, Style)> {
        const FEW: usize = 12;
        let (found, positions) = (&self.propensities, self.propensities.positions());
        let mut curves: Vec<(String, Vec<f64>, Style)> = match &found.details.clusters {
            Some(clusters) => clusters
                .examination
                .chunks(positions.max(1))
                .enumerate()
                .map(|(cluster, values)| {
                    let users = clusters.of_user.iter().filter(|&&of| of as usize == cluster).count();
                    let factors = found.level_and_shape(values);
                    let name = format!("{} users, level {:.2}", Format::Count.print(users as f64), factors.level);
                    (name, factors.shape, Style::Plain)
                })
                .collect(),
            None if found.users.len() <= FEW => (0..found.users.len())
                .map(|user| {
                    let factors = found.level_and_shape(found.of_user(user));
                    let name = format!("user {}, level {:.2}", found.users.name(user), factors.level);
                    (name, factors.shape, Style::Plain)
                })
                .collect(),
            None => Vec::new(),
        };
        number_equal_names(&mut curves);
        curves.push(population_curve(found));
        curves
    }

    fn relevance(&self) -> Section {
        let relevance = &self.relevance;
        let mut facts = vec![format!(
            "{} weighs {} shown documents.",
            relevance.estimator,
            Format::Count.print(relevance.weights.len() as f64)
        )];
        facts.extend(relevance.beta.map(|beta| format!("The log chose β = {}.", Format::Number.print(beta))));
        facts.extend(relevance.correction.shrink.map(|b| {
            let prior = relevance.correction.prior;
            format!("Weights are shrunk toward the prior ({prior}) with b = {}.", Format::Number.print(b))
        }));
        facts.extend(relevance.correction.clip.map(|clip| {
            let clipped = &relevance.correction.clipped;
            format!(
                "Exposures below {clip} per session were raised: {} documents with {} of the clicks.",
                Format::Count.print(clipped.documents as f64),
                Format::Percent.print(clipped.clicks)
            )
        }));
        Section {
            id: "relevance".into(),
            title: "What are clicks worth?".into(),
            answers: vec![Answer { verdict: None, text: facts.join(" ") }],
            blocks: vec![
                Block::Table(weights_table("weights", &self.relevance.estimator, &self.weights)),
                Block::Fold("The heaviest clicks".into(), vec![Block::Table(self.heaviest())]),
            ],
            ..Section::default()
        }
    }

    fn heaviest(&self) -> Table {
        let row = |click: &crate::relevance::ClickWeight| {
            let cells = vec![
                Cell::text(click.doc.clone()),
                Cell::value(f64::from(click.position)),
                Cell::text(click.user.clone()),
                Cell::value(click.clicks as f64),
                Cell::value(click.weight),
            ];
            Row::new(click.query.clone(), cells)
        };
        Table {
            name: "heaviest-clicks".into(),
            caption: "The clicks that weigh most.".into(),
            label: "query".into(),
            columns: vec![
                Column::new("document", Format::Text),
                Column::new("position", Format::Count),
                Column::new("user", Format::Text),
                Column::new("clicks", Format::Count),
                Column::new("weight of each", Format::Number),
            ],
            rows: self.weights.largest.iter().map(row).collect(),
            notes: Vec::new(),
        }
    }
}

/// Curves of one name share a colour, so clusters of equal size get a number.
fn number_equal_names(curves: &mut [(String, Vec<f64>, Style)]) {
    for index in (1..curves.len()).rev() {
        let same = curves[..index].iter().filter(|curve| curve.0 == curves[index].0).count();
        if same > 0 {
            curves[index].0 = format!("{} ({})", curves[index].0, same + 1);
        }
    }
}

/// Whether the ranker is better on the first measure.
fn verdict(judged: &Judged) -> Verdict {
    let difference = &judged.differences[MAIN];
    if difference.p < SIGNIFICANCE { Verdict::of(difference.bounds.value > 0.0) } else { Verdict::Open }
}

/// The measure that decides: DCG@5, which is unbiased. nDCG is not where clicks are few, since noise raises its ideal.
const MAIN: usize = 0;

fn verdict_sentence(judged: &Judged) -> String {
    let (ranker, logged) = (judged.ranker.values[MAIN].value, judged.logged.values[MAIN].value);
    let compared = match verdict(judged) {
        Verdict::Holds => "better than",
        Verdict::DoesNotHold => "worse than",
        Verdict::Open => "not surely better or worse than",
    };
    format!(
        "By held-out clicks the new ranker's order of the shown documents is {compared} the order in which they were shown: {} {} against {}.",
        judged.ranker.measures[MAIN],
        Format::Measure.print(ranker),
        Format::Measure.print(logged)
    )
}

/// `.7056 (.6990 to .7122)`.
fn interval_cell(bounds: &Bounds) -> Cell {
    let print = |value: f64| Format::Measure.print(value);
    Cell::text(format!("{} ({} to {})", print(bounds.value), print(bounds.low), print(bounds.high)))
}

fn judged_table(judged: &Judged) -> Table {
    let rows = judged.ranker.measures.iter().enumerate().map(|(index, measure)| {
        let difference = &judged.differences[index];
        let cells = vec![
            interval_cell(&judged.ranker.values[index]),
            interval_cell(&judged.logged.values[index]),
            interval_cell(&difference.bounds),
            Cell::value(difference.p),
        ];
        let better = if measure.larger_is_better() { "" } else { " (smaller is better)" };
        Row::new(format!("{measure}{better}"), cells)
    });
    Table {
        name: "judged-by-clicks".into(),
        caption: format!(
            "The shown documents as the ranker orders them and as they were shown, by {} held-out clicks on {} queries.",
            Format::Count.print(judged.log.clicks as f64),
            Format::Count.print(judged.log.queries as f64)
        ),
        label: "measure".into(),
        columns: vec![
            Column::new("ranker", Format::Text),
            Column::new("as shown", Format::Text),
            Column::new("difference", Format::Text),
            Column::new("p", Format::PValue),
        ],
        rows: rows.collect(),
        notes: vec![
            "Gains are user-aware weights of clicks, with 95 % intervals over queries by resampling. nDCG's ideal is the best \
             order by the same clicks, so compare rankers and not logs."
                .into(),
        ],
    }
}

fn graded_table(graded: &GradedResult) -> Table {
    let columns = graded.means.iter().map(|(measure, _)| Column::new(measure.to_string(), Format::Measure));
    let cells = graded.means.iter().map(|(_, mean)| Cell::value(*mean));
    Table {
        name: "judged-by-grades".into(),
        caption: format!("The ranker by human grades of {}.", graded.what),
        label: "queries".into(),
        columns: columns.collect(),
        rows: vec![Row::new(Format::Count.print(graded.queries as f64), cells.collect())],
        notes: vec!["Queries without a relevant document count as 0.".into()],
    }
}

fn training(training: &Training) -> Section {
    let record = &training.ranker.record;
    let text = format!(
        "{} steps; those after step {} were no better by {}.",
        Format::Count.print(record.steps as f64),
        Format::Count.print(record.best_step as f64),
        training.validated_by
    );
    let scaled = training.ranker.scaling().map_or("", |_| " Features were brought to one scale first.");
    let text = text + scaled;
    let mut answers = vec![Answer { verdict: None, text }];
    if training.unmatched.queries + training.unmatched.docs > 0 {
        let text = format!(
            "{} queries and {} further documents of the log have no features and were left out.",
            Format::Count.print(training.unmatched.queries as f64),
            Format::Count.print(training.unmatched.docs as f64)
        );
        answers.push(Answer { verdict: None, text });
    }
    let points = |value: &dyn Fn(&crate::ranker::Check) -> Option<f64>| -> Vec<Point> {
        record.checks.iter().filter_map(|check| Some(Point::new(check.step as f64, value(check)?))).collect()
    };
    let figure = |name: &str, caption: &str, axis: &str, points: Vec<Point>| Figure {
        name: name.into(),
        caption: caption.into(),
        chart: Chart::Lines(Lines {
            x: Axis::new("step", Format::Count),
            y: Axis::new(axis, Format::Number),
            series: vec![Series { name: axis.into(), points, style: Style::Strong }],
        }),
    };
    let mut figures = vec![figure("training-loss", "Loss over training.", "loss", points(&|check| Some(check.loss)))];
    let validation = points(&|check| check.validation);
    if !validation.is_empty() {
        figures.push(figure(
            "training-validation",
            "Validation over training; larger is better.",
            "validation",
            validation,
        ));
    }
    Section {
        id: "training".into(),
        title: "How did training go?".into(),
        answers,
        blocks: vec![Block::Gallery(figures)],
        ..Section::default()
    }
}
