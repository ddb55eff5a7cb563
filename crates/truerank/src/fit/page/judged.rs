//! How the ranker does beside the pages as they were shown: verdicts, tables and figures.

use super::{SIGNIFICANCE, interval_cell, p_equals};
use crate::evaluate::{ClickEvaluation, ClickMeasure, PairedDifference};
use crate::fit::{GradedPages, GradedResult, Judged, QueryChange};
use crate::report::{
    Answer, Axis, Badge, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, KeyResult, Row, Style, Table, Tone,
    Verdict,
};

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
    /// Tables and figures, the change of each measure first.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let graded = &self.graded;
        let mut blocks = vec![Block::Figure(differences_figure(self))];
        blocks.extend(graded.pages.as_ref().map(|pages| Block::Table(graded_pages_table(pages))));
        blocks.extend(graded.candidates.as_ref().map(|found| Block::Table(graded_table(found))));
        blocks.push(Block::Table(judged_table(self)));
        blocks.extend(changes_tables(self));
        blocks.push(Block::Fold("All documents of each query in one order".into(), vec![candidates(self)]));
        blocks
    }

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

    pub(super) fn verdict_sentence(&self) -> String {
        let leading = self.leading();
        format!(
            "By {} the new ranker's order of shown result pages is {} the order in which they were shown.",
            leading.by,
            leading.compared()
        )
    }

    /// The change of the measure that decides, relative to the pages as they were shown.
    pub(super) fn key(&self) -> KeyResult {
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
    pub(super) fn answers(&self) -> Vec<Answer> {
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
