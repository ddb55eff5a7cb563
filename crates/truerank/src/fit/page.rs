//! The outcome of a fit as a page: results first, then what they rest on.

use super::{ChosenRanker, FitOutcome, GradedPages, GradedResult, Judged, QueryChange, SplitBy, TriedForm};
use crate::doctor::sentence;
use crate::evaluate::{Bounds, ClickEvaluation, ClickLikelihood, ClickMeasure, PairedDifference};
use crate::figures::{
    examination_figure, learning_figure, number_equal_names, population_curve, readers, weights_table,
};
use crate::report::{
    Answer, Axis, Badge, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, KeyResult, Lines, Point, Report, Row,
    Section, Series, Style, Table, Tone, Verdict,
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
        sections.extend(self.training.as_ref().map(training));
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
            blocks.push(Block::Figure(differences_figure(judged)));
            blocks.extend(judged.graded.pages.as_ref().map(|pages| Block::Table(graded_pages_table(pages))));
            blocks.extend(judged.graded.candidates.as_ref().map(|found| Block::Table(graded_table(found))));
            blocks.push(Block::Table(judged_table(judged)));
            blocks.extend(changes_tables(judged));
            blocks.push(Block::Fold("All documents of each query in one order".into(), vec![candidates(judged)]));
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

/// A ranker beside the pages as they were shown, by one kind of judge.
struct Compared<'a> {
    by: &'static str,
    ranker: &'a ClickEvaluation,
    as_shown: &'a ClickEvaluation,
    difference: &'a PairedDifference,
}

impl Compared<'_> {
    fn verdict(&self) -> Verdict {
        match self.difference.p < SIGNIFICANCE {
            true => Verdict::of(self.difference.bounds.value > 0.0),
            false => Verdict::Open,
        }
    }

    /// Whether no page gains or loses anything, as where the ranker has learned the order that was shown.
    fn is_level(&self) -> bool {
        let bounds = &self.difference.bounds;
        [bounds.value, bounds.low, bounds.high] == [0.0; 3]
    }

    fn badge(&self) -> Badge {
        if self.is_level() { Badge::new("No", Tone::Neutral) } else { self.verdict().badge() }
    }

    /// `better than`, for a sentence.
    fn compared(&self) -> &'static str {
        match self.verdict() {
            _ if self.is_level() => "exactly as good as",
            Verdict::Holds => "better than",
            Verdict::DoesNotHold => "worse than",
            Verdict::Open => "not significantly better or worse than",
        }
    }

    /// `nDCG@5 .4120 against .4036, p = .003`.
    fn numbers(&self) -> String {
        format!(
            "{} {} against {}, {}",
            self.ranker.measures[MAIN],
            Format::Measure.print(self.ranker.values[MAIN].value),
            Format::Measure.print(self.as_shown.values[MAIN].value),
            p_equals(self.difference.p)
        )
    }
}

/// The measure that decides. Of clicks it is DCG@5, which is unbiased: nDCG is not where clicks are few, since noise raises its
/// ideal. Of grades it is nDCG@5.
const MAIN: usize = 0;

/// Whose judgement relevance labels are.
const GRADES: &str = "relevance labels";

const NOT_COMPARED: &str =
    "Not compared: what the ranker would do with documents that were not on the page. Clicks say nothing of them.";

impl Judged {
    fn by_clicks(&self) -> Compared<'_> {
        let (ranker, as_shown) = (&self.ranker, &self.as_shown);
        Compared { by: "held-out clicks", ranker, as_shown, difference: &self.differences[MAIN] }
    }

    fn by_grades(&self) -> Option<Compared<'_>> {
        let GradedPages { ranker, as_shown, differences, .. } = self.graded.pages.as_ref()?;
        Some(Compared { by: GRADES, ranker, as_shown, difference: &differences[MAIN] })
    }

    /// Grades lead where there are any.
    fn leading(&self) -> Compared<'_> {
        self.by_grades().unwrap_or_else(|| self.by_clicks())
    }

    /// Whether the ranker orders held-out pages better than they were shown: by grades where there are any, else by clicks.
    pub fn verdict(&self) -> Verdict {
        self.leading().verdict()
    }

    /// The verdict in a word.
    pub fn verdict_name(&self) -> &'static str {
        match self.verdict() {
            Verdict::Holds => "better",
            Verdict::DoesNotHold => "worse",
            Verdict::Open => "open",
        }
    }

    fn verdict_sentence(&self) -> String {
        let leading = self.leading();
        format!(
            "By {} the new ranker's order of shown result pages is {} the order in which they were shown.",
            leading.by,
            leading.compared()
        )
    }

    /// The change of the measure that decides, relative to the pages as they were shown.
    fn key(&self) -> KeyResult {
        let leading = self.leading();
        let (bounds, shown) = (&leading.difference.bounds, leading.as_shown.values[MAIN].value);
        let share = |difference: f64| difference / shown;
        let is_bounded = bounds.low.is_finite() && shown > 0.0;
        KeyResult {
            name: format!("{} by {}", leading.ranker.measures[MAIN], leading.by),
            value: share(bounds.value),
            interval: is_bounded.then(|| (share(bounds.low), share(bounds.high))),
            format: Format::Percent,
            is_change: true,
            badge: Some(leading.badge()),
            about: format!(
                "The ranker's order of held-out pages compared with the order as shown: {}.",
                leading.numbers()
            ),
        }
    }

    /// Each judge's verdict, what they do not say, and whether they disagree.
    fn answers(&self) -> Vec<Answer> {
        let answer = |found: &Compared<'_>| {
            let text =
                format!("By {}, its order is {} the order as shown: {}.", found.by, found.compared(), found.numbers());
            Answer::new(found.badge(), text)
        };
        let (clicks, grades) = (self.by_clicks(), self.by_grades());
        let mut answers: Vec<Answer> = grades.iter().map(answer).chain([answer(&clicks)]).collect();
        let contradicts = |grades: &Compared<'_>| match (grades.verdict(), clicks.verdict()) {
            (Verdict::Open, _) | (_, Verdict::Open) => false,
            (grades, clicks) => grades != clicks,
        };
        if grades.as_ref().is_some_and(contradicts) {
            let text = "Clicks and relevance labels disagree; the labels decide. People may click on what judges do not value, or \
                        examination may be estimated badly.";
            answers.push(Answer { verdict: None, text: text.into() });
        }
        answers.push(Answer { verdict: None, text: NOT_COMPARED.into() });
        answers
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

/// Every measure's change, relative to the pages as they were shown.
fn differences_figure(judged: &Judged) -> Figure {
    let compared = judged.by_grades().into_iter().chain([judged.by_clicks()]);
    let all = |found: Compared<'_>| -> Vec<Dot> {
        let differences: &[PairedDifference] = match (&judged.graded.pages, found.by) {
            (Some(pages), GRADES) => &pages.differences,
            _ => &judged.differences,
        };
        let measures = found.ranker.measures.iter().enumerate();
        let dot = |(place, measure): (usize, &ClickMeasure)| {
            let (bounds, shown) = (&differences[place].bounds, found.as_shown.values[place].value);
            Dot {
                name: format!("{measure} by {}", found.by),
                value: bounds.value / shown,
                band: bounds.low.is_finite().then(|| (bounds.low / shown, bounds.high / shown)),
                style: if place == MAIN { Style::Strong } else { Style::Plain },
            }
        };
        measures.filter(|(_, measure)| measure.larger_is_better()).map(dot).collect()
    };
    Figure {
        name: "differences".into(),
        caption: "Change of each measure compared with the pages as they were shown, with 95 % intervals over queries."
            .into(),
        chart: Chart::Dots(Dots {
            axis: Axis::new("relative change", Format::Percent),
            rows: compared.flat_map(all).collect(),
        }),
    }
}

/// Queries whose pages gain and lose most, each with its lists.
fn changes_tables(judged: &Judged) -> Vec<Block> {
    let table = |name: &str, caption: &str, changes: &[QueryChange]| {
        Block::Table(Table {
            name: name.into(),
            caption: caption.into(),
            label: "query".into(),
            columns: vec![
                Column::new("pages", Format::Count),
                Column::new("as shown", Format::Measure),
                Column::new("ranker", Format::Measure),
                Column::new("order as shown", Format::Text),
                Column::new("order of the ranker", Format::Text),
            ],
            rows: changes.iter().map(change_row).collect(),
            notes: vec![format!(
                "{} of each query by clicks, times its pages decides. The lists are the first documents of the page that was shown most. \
                 Of single queries clicks tell little: look for what the queries have in common.",
                judged.ranker.measures[MAIN]
            )],
        })
    };
    let mut blocks = Vec::new();
    if !judged.gains.is_empty() {
        blocks.push(table("gains", "The queries that gain most.", &judged.gains));
    }
    if !judged.losses.is_empty() {
        blocks.push(table("losses", "The queries that lose most.", &judged.losses));
    }
    if blocks.is_empty() { blocks } else { vec![Block::Fold("Queries that gain and lose most".into(), blocks)] }
}

fn change_row(change: &QueryChange) -> Row {
    let cells = vec![
        Cell::value(change.pages as f64),
        Cell::value(change.as_shown),
        Cell::value(change.ranker),
        Cell::text(change.shown.join(", ")),
        Cell::text(change.reordered.join(", ")),
    ];
    Row { competes: false, ..Row::new(change.query.clone(), cells) }
}

fn judged_table(judged: &Judged) -> Table {
    Table {
        name: "judged-by-clicks".into(),
        caption: format!(
            "{} held-out result pages as the ranker orders them and as they were shown, by {} clicks on {} queries.",
            Format::Count.print(judged.log.pages as f64),
            Format::Count.print(judged.log.clicks as f64),
            Format::Count.print(judged.log.queries as f64)
        ),
        notes: vec![
            "Gains are user-aware weights of clicks, means are over pages, with 95 % intervals over queries by resampling. nDCG's \
             ideal is the best order of the page by the same clicks, so compare rankers and not logs."
                .into(),
        ],
        ..pages_table(&judged.ranker, &judged.as_shown, &judged.differences)
    }
}

fn graded_pages_table(pages: &GradedPages) -> Table {
    Table {
        name: "pages-by-grades".into(),
        caption: format!(
            "{} held-out result pages of {} queries as the ranker orders them and as they were shown, by relevance labels.",
            Format::Count.print(pages.log.pages as f64),
            Format::Count.print(pages.log.queries as f64)
        ),
        notes: vec!["Gains are 2^grade − 1; pages without a relevant document are left out of nDCG.".into()],
        ..pages_table(&pages.ranker, &pages.as_shown, &pages.differences)
    }
}

fn pages_table(ranker: &ClickEvaluation, as_shown: &ClickEvaluation, differences: &[PairedDifference]) -> Table {
    let rows = ranker.measures.iter().enumerate().map(|(index, measure)| {
        let cells = vec![
            interval_cell(&ranker.values[index]),
            interval_cell(&as_shown.values[index]),
            interval_cell(&differences[index].bounds),
            Cell::value(differences[index].p),
        ];
        Row::new(named(measure), cells)
    });
    Table {
        label: "measure".into(),
        columns: vec![
            Column::new("ranker", Format::Text),
            Column::new("as shown", Format::Text),
            Column::new("difference", Format::Text),
            Column::new("p", Format::PValue),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

fn named(measure: &ClickMeasure) -> String {
    let better = if measure.larger_is_better() { "" } else { " (smaller is better)" };
    format!("{measure}{better}")
}

/// What the ranker makes of all documents, which no page can be compared with.
fn candidates(judged: &Judged) -> Block {
    let found = &judged.candidates;
    let rows = found.measures.iter().zip(&found.values);
    Block::Table(Table {
        name: "candidates-by-clicks".into(),
        caption: "All documents of each held-out query as the ranker orders them, by clicks.".into(),
        label: "measure".into(),
        columns: vec![Column::new("ranker", Format::Text)],
        rows: rows.map(|(measure, value)| Row::new(named(measure), vec![interval_cell(value)])).collect(),
        notes: vec![format!(
            "{} It compares rankers with each other, and not with pages, which held a part of the documents each.",
            match found.never_shown {
                0 => "All documents in the top 10 were shown to somebody.".to_string(),
                unseen => format!(
                    "{} of the {} documents in the top 10 were never shown and earn nothing, so this is a lower bound.",
                    Format::Count.print(unseen as f64),
                    Format::Count.print(found.top as f64)
                ),
            }
        )],
    })
}

fn graded_table(graded: &GradedResult) -> Table {
    let columns = graded.means.iter().map(|(measure, _)| Column::new(measure.to_string(), Format::Measure));
    let cells = graded.means.iter().map(|(_, mean)| Cell::value(*mean));
    Table {
        name: "judged-by-grades".into(),
        caption: format!("All documents of a query as the ranker orders them, by relevance labels of {}.", graded.what),
        label: "queries".into(),
        columns: columns.collect(),
        rows: vec![Row::new(Format::Count.print(graded.queries as f64), cells.collect())],
        notes: vec!["Queries without a relevant document count as 0.".into()],
    }
}

fn training(training: &ChosenRanker) -> Section {
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
