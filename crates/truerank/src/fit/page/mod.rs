//! The outcome of a fit as a page: results first, then what they rest on.

mod judged;
mod training;

use super::{FitOutcome, Judged, SplitBy};
use crate::doctor::sentence;
use crate::evaluate::{Bounds, ClickLikelihood};
use crate::figures::{examination_figure, number_equal_names, population_curve, readers, weights_table};
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
        let mut report = self.report().clone();
        report.sections.retain(|section| SUMMARY.contains(&section.id.as_str()));
        report
    }

    /// One page on everything, made when it is first asked for.
    pub fn report(&self) -> &Report {
        self.page.get_or_init(|| self.make_report())
    }

    fn make_report(&self) -> Report {
        let diagnosis = self.diagnosis.report("");
        let mut sections = vec![self.results(), self.predictions(), self.examination(), self.relevance()];
        sections.extend(self.training.as_ref().map(training::section));
        sections.extend(diagnosis.sections);
        Report {
            title: "From clicks to a ranker".into(),
            lead: self.lead(),
            key: self.judged.as_ref().map(Judged::key),
            facts: self.facts(),
            sections,
            provenance: self.provenance.clone(),
        }
    }

    fn lead(&self) -> String {
        let result =
            self.judged.as_ref().map_or("Without features there is no ranker.".to_string(), Judged::verdict_sentence);
        format!("{result} {}", self.diagnosis.bias_sentence())
    }

    fn facts(&self) -> Vec<(String, String)> {
        let part = |[queries, sessions, clicks]: [u64; 3]| {
            let [sessions, clicks] = [sessions, clicks].map(|n| Format::Count.print(n as f64));
            format!("{}, {sessions} sessions, {clicks} clicks", counted(queries, "query", "queries"))
        };
        let mut facts = vec![
            ("learned from".to_string(), part(self.sizes.train)),
            ("judged on".to_string(), part(self.sizes.held_out)),
            ("examination".to_string(), self.propensities.method.clone()),
            ("relevance".to_string(), self.relevance_fact()),
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

    /// `user-aware-smoothed`, or `user-aware-smoothed under ubm`.
    fn relevance_fact(&self) -> String {
        match &self.click_model.model {
            Some(_) => format!("{} under {}", self.relevance.estimator, self.click_model.used()),
            None => self.relevance.estimator.clone(),
        }
    }

    fn results(&self) -> Section {
        let mut answers = vec![Answer { verdict: None, text: self.split_sentence() }];
        let mut blocks = Vec::new();
        if let Some(judged) = &self.judged {
            answers.splice(0..0, judged.answers());
            blocks = judged.blocks();
        }
        let (title, question) = match &self.judged {
            Some(_) => (
                "Is the new ranker better?",
                "Held-out result pages, reordered by the ranker, beside the same pages as they were shown.",
            ),
            None => ("What was held out?", ""),
        };
        Section { id: "results".into(), title: title.into(), question: question.into(), answers, blocks }
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
            (SplitBy::Pages, shared) => format!(
                "Result pages were held out at random; {} of their {} were also learned from.{deep}",
                Format::Count.print(shared as f64),
                counted(self.sizes.held_out[0], "query", "queries")
            ),
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
                row("click rate by position", &clicks.by_position),
                row("click rate by document", &clicks.by_document),
                row("one click rate", &clicks.overall),
            ],
            notes: vec![match self.sizes.held_out[0] {
                1 => "Without intervals, which are over queries: there is one. A perplexity of 1 is perfect, of 2 a coin.".into(),
                _ => "With 95 % intervals over queries. A perplexity of 1 is perfect, of 2 a coin.".into(),
            }],
        };
        let better = clicks.gain.bounds.value > 0.0;
        let sure = clicks.gain.p < SIGNIFICANCE;
        let verdict = if sure { Verdict::of(better) } else { Verdict::Open };
        let text = match verdict {
            Verdict::Holds => {
                "Examination and relevance predict held-out clicks better than the click rates of positions do."
            }
            Verdict::DoesNotHold => {
                "Click rates of positions predict held-out clicks better than examination and relevance do."
            }
            Verdict::Open => {
                "Examination and relevance predict held-out clicks neither significantly better nor worse than the click rates of \
                 positions do."
            }
        };
        Section {
            id: "predictions".into(),
            title: "Are clicks explained?".into(),
            answers: vec![Answer::new(verdict.badge(), format!("{text} {}.", p_equals(clicks.gain.p)))],
            blocks: vec![Block::Figure(self.perplexities()), Block::Table(table)],
            ..Section::default()
        }
    }

    fn perplexities(&self) -> Figure {
        // What few pages show has bands that would hide all others.
        let all = &self.clicks.positions;
        let most = all.iter().map(|at| at.impressions).max().unwrap_or(0);
        let positions: Vec<_> = all.iter().filter(|at| 10 * at.impressions >= most).collect();
        let left_out = match all.len() - positions.len() {
            0 => "",
            _ => " Positions with less than a tenth of the most impressions are left out.",
        };
        let model = positions.iter().map(|at| {
            Point::new(f64::from(at.position), at.perplexity.value).band(at.perplexity.low, at.perplexity.high)
        });
        let baseline = positions.iter().map(|at| Point::new(f64::from(at.position), at.baseline));
        let series = vec![
            Series { name: "examination × relevance".into(), points: model.collect(), style: Style::Strong },
            Series { name: "click rate by position".into(), points: baseline.collect(), style: Style::Reference },
        ];
        Figure {
            name: "perplexity".into(),
            caption: format!("Perplexity of held-out clicks by position; lower is better.{left_out}"),
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

    /// Clusters of users where there are several (one is all users again), else single users if they are few, and all users.
    fn curves(&self) -> Vec<(String, Vec<f64>, Style)> {
        const FEW: usize = 12;
        let (found, positions) = (&self.propensities, self.propensities.positions());
        let mut curves: Vec<(String, Vec<f64>, Style)> = match &found.details.clusters {
            Some(clusters) if clusters.examination.len() > positions => clusters
                .examination
                .chunks(positions.max(1))
                .enumerate()
                .map(|(cluster, values)| {
                    let users = clusters.of_user.iter().filter(|&&of| of as usize == cluster).count();
                    let factors = found.level_and_shape(values);
                    let users = counted(users as u64, "user", "users");
                    let name = format!("{}: {users}, level {:.2}", readers(&factors.shape), factors.level);
                    (name, factors.shape, Style::Plain)
                })
                .collect(),
            _ if found.users.len() <= FEW => (0..found.users.len())
                .map(|user| {
                    let factors = found.level_and_shape(found.of_user(user));
                    let readers = readers(&factors.shape);
                    let name = format!("user {}: {readers}, level {:.2}", found.users.name(user), factors.level);
                    (name, factors.shape, Style::Plain)
                })
                .collect(),
            _ => Vec::new(),
        };
        number_equal_names(curves.iter_mut().map(|(name, ..)| name));
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
        facts.extend(relevance.beta.map(|beta| format!("β = {}, estimated from the log.", Format::Number.print(beta))));
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
            answers: vec![
                Answer { verdict: None, text: facts.join(" ") },
                Answer { verdict: None, text: self.click_model_sentence() },
            ],
            blocks: vec![
                Block::Table(weights_table("weights", &self.relevance.estimator, &self.weights)),
                Block::Fold("The heaviest clicks".into(), vec![Block::Table(self.heaviest())]),
            ],
            ..Section::default()
        }
    }

    /// What corrected clicks, and why.
    fn click_model_sentence(&self) -> String {
        let chosen = &self.click_model;
        let corrected = match &chosen.model {
            Some(model) => {
                format!("Clicks are corrected by the {} (`{}`).", model.models()[0].about().title, chosen.used())
            }
            None => "Clicks are corrected by the examination of positions.".to_string(),
        };
        format!("{corrected} {}", chosen.why)
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

/// `1 query`, `2,000 queries`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", Format::Count.print(count as f64), if count == 1 { one } else { many })
}

/// `p = .031`, `p < .001`.
fn p_equals(p: f64) -> String {
    let text = Format::PValue.print(p);
    if text.starts_with('<') { format!("p {text}") } else { format!("p = {text}") }
}

/// `.7056 (.6990 to .7122)`.
fn interval_cell(bounds: &Bounds) -> Cell {
    let print = |value: f64| Format::Measure.print(value);
    match bounds.low.is_nan() {
        true => Cell::text(print(bounds.value)),
        false => Cell::text(format!("{} ({} to {})", print(bounds.value), print(bounds.low), print(bounds.high))),
    }
}
