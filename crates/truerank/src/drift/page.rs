//! A comparison as a page.

use super::{Aspect, Change, Comparison};
use crate::report::{
    Answer, Axis, Badge, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, KeyResult, Lines, Point, Report, Row,
    Section, Series, Style, Table, Tone, Verdict,
};

impl Comparison {
    /// One page: what drifted, all changes, and what only one log has.
    pub fn report(&self, title: &str) -> Report {
        let mut sections = vec![self.verdict()];
        sections.extend(self.positions());
        sections.extend((!self.overlaps.is_empty()).then(|| self.contents()));
        let (lead, key, facts) = (self.lead(), self.key(), self.facts());
        Report { title: title.into(), lead, key, facts, sections, provenance: None }
    }

    /// The largest change that is drift, relative to the old value.
    fn key(&self) -> Option<KeyResult> {
        let drifted = self.changes.iter().filter(|change| change.drifted && change.old.is_some_and(|old| old > 0.0));
        let change = drifted.max_by(|a, b| a.relative().abs().total_cmp(&b.relative().abs()))?;
        let half = change.standard_error.zip(change.old).map(|(error, old)| 2.0 * error / old);
        Some(KeyResult {
            name: change.aspect.title(),
            value: change.relative(),
            interval: half.map(|half| (change.relative() - half, change.relative() + half)),
            format: Format::Percent,
            is_change: true,
            badge: None,
            about: format!("The largest change. {}", sentence(change)),
        })
    }

    fn lead(&self) -> String {
        let drifted = self.changes.iter().filter(|change| change.drifted).count();
        match self.stability() {
            Verdict::Holds => "Nothing drifted.".into(),
            Verdict::Open => {
                "Whether anything drifted is open: there is only one user and one query, or nothing to compare.".into()
            }
            Verdict::DoesNotHold if drifted == 1 => "One thing drifted.".into(),
            Verdict::DoesNotHold => format!("{drifted} things drifted."),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let Some([old, new]) = &self.totals else { return Vec::new() };
        let count = |value: u64| Format::Count.print(value as f64);
        let fact = |name: &str, old, new| (name.to_string(), format!("{} → {}", count(old), count(new)));
        vec![
            fact("sessions", old.sessions, new.sessions),
            fact("impressions", old.impressions, new.impressions),
            fact("clicks", old.clicks, new.clicks),
            fact("queries", old.queries, new.queries),
            fact("users", old.users, new.users),
        ]
    }

    fn verdict(&self) -> Section {
        let drift = match self.stability() {
            Verdict::Holds => Verdict::DoesNotHold,
            Verdict::DoesNotHold => Verdict::Holds,
            Verdict::Open => Verdict::Open,
        };
        let text = match self.stability() {
            Verdict::Holds => "No change is both significant and large enough to matter.".into(),
            Verdict::DoesNotHold | Verdict::Open => self.lead(),
        };
        let mut answers = vec![Answer::new(drift.badge_of_problem(), text)];
        let drifted = self.changes.iter().filter(|change| change.drifted);
        answers.extend(drifted.map(|change| Answer::new(Badge::new("Drift", Tone::Bad), sentence(change))));
        let overall = self.changes.iter().filter(|change| !change.aspect.is_of_position());
        let mut blocks = vec![Block::Text(self.rule())];
        let rows: Vec<&Change> = overall.collect();
        if !rows.is_empty() {
            blocks.extend(relative_figure(&rows).map(Block::Figure));
            blocks.push(Block::Table(changes_table(
                "changes",
                "What may have changed between the two logs.",
                &rows,
                self.options.level,
            )));
        }
        Section {
            id: "drift".into(),
            title: "Did anything drift?".into(),
            question: "Did anything change by more than chance, and by enough to matter?".into(),
            answers,
            blocks,
        }
    }

    fn rule(&self) -> String {
        format!(
            "Drift is a change whose p-value, corrected for the number of tests, is below {}, and that is at least {} of the old value. \
             Intervals are two standard errors; p-values come from {} random exchanges of the two logs' parts, by users or by queries (“tested over”).",
            self.options.level,
            Format::Percent.print(self.options.least),
            self.options.permutations
        )
    }

    fn positions(&self) -> Option<Section> {
        let rows: Vec<&Change> = self.changes.iter().filter(|change| change.aspect.is_of_position()).collect();
        if rows.is_empty() {
            return None;
        }
        let table = changes_table("positions", "Changes by position.", &rows, self.options.level);
        Some(Section {
            id: "positions".into(),
            title: "By position".into(),
            question: "Where on the page did it change?".into(),
            answers: Vec::new(),
            blocks: vec![Block::Figure(self.figure(&rows)), Block::Table(table)],
        })
    }

    fn figure(&self, rows: &[&Change]) -> Figure {
        let of = |new: bool| -> Vec<Point> {
            let point = |change: &&Change| {
                let position = match change.aspect {
                    Aspect::AtPosition(position) | Aspect::Examination(position) => position,
                    _ => return None,
                };
                let value = if new { change.new } else { change.old };
                Some(Point::new(f64::from(position), value?))
            };
            rows.iter().filter_map(point).collect()
        };
        let series = |name: &str, points, style| Series { name: name.into(), points, style };
        let name = if self.totals.is_some() { "click rate" } else { "examination" };
        Figure {
            name: "by-position".into(),
            caption: format!("The {name} at each position, old and new."),
            chart: Chart::Lines(Lines {
                x: Axis::new("position", Format::Count),
                y: Axis::new(name, Format::Percent),
                series: vec![series("old", of(false), Style::Reference), series("new", of(true), Style::Strong)],
            }),
        }
    }

    fn contents(&self) -> Section {
        let percent = |share: f64| Cell::value(share);
        let row = |overlap: &super::Overlap| {
            Row::new(
                overlap.what,
                vec![
                    Cell::value(overlap.shared as f64),
                    Cell::value(overlap.gone as f64),
                    percent(overlap.gone_share),
                    Cell::value(overlap.new as f64),
                    percent(overlap.new_share),
                ],
            )
        };
        let count = |name: &str| Column::new(name, Format::Count);
        let table = Table {
            name: "overlap".into(),
            caption: "What only one of the two logs has. Shares are of sessions; those of documents are of impressions.".into(),
            label: "what".into(),
            columns: vec![
                count("in both"),
                count("gone"),
                Column::new("share of the old log", Format::Percent),
                count("new"),
                Column::new("share of the new log", Format::Percent),
            ],
            rows: self.overlaps.iter().map(row).collect(),
            notes: vec![
                "These shares depend on how long the logs are, so they are not tested. Who asks and which queries are asked is tested above.".into(),
            ],
        };
        Section {
            id: "new".into(),
            title: "New and gone".into(),
            question: "How much of the new log has the old one not seen?".into(),
            answers: Vec::new(),
            blocks: vec![Block::Table(table)],
        }
    }
}

/// Changes relative to the old value, of what has one.
fn relative_figure(changes: &[&Change]) -> Option<Figure> {
    let dot = |change: &&Change| {
        let old = change.old.filter(|old| *old > 0.0)?;
        let (value, half) = (change.relative(), change.standard_error.map(|error| 2.0 * error / old));
        Some(Dot {
            name: change.aspect.title(),
            value,
            band: half.map(|half| (value - half, value + half)),
            style: if change.drifted { Style::Strong } else { Style::Plain },
        })
    };
    let rows: Vec<Dot> = changes.iter().filter_map(dot).collect();
    (!rows.is_empty()).then(|| Figure {
        name: "relative-changes".into(),
        caption: "Changes relative to the old value, with two standard errors; drift stands out.".into(),
        chart: Chart::Dots(Dots { axis: Axis::new("change", Format::Percent), rows }),
    })
}

fn sentence(change: &Change) -> String {
    let p = change.corrected_p.map_or(String::new(), |p| {
        let text = Format::PValue.print(p);
        let equals = if text.starts_with('<') { String::new() } else { "= ".to_string() };
        format!("; p {equals}{text} after correction")
    });
    match change.old.zip(change.new) {
        Some((old, new)) => format!(
            "{}: {} instead of {} ({}{}{p}).",
            change.aspect.title(),
            Format::Measure.print(new),
            Format::Measure.print(old),
            if change.difference > 0.0 { "+" } else { "" },
            Format::Percent.print(change.relative()),
        ),
        None => format!(
            "{}: shares of random groups moved by {} in sum{p}.",
            change.aspect.title(),
            Format::Percent.print(change.difference)
        ),
    }
}

/// What a test says: that nothing is significant is not that nothing changed.
fn verdict_name(change: &Change, level: f64) -> &'static str {
    match change.corrected_p {
        _ if change.drifted => "drift",
        None => "not tested",
        Some(p) if p < level => "too small to matter",
        Some(_) => "not significant",
    }
}

fn changes_table(name: &str, caption: &str, changes: &[&Change], level: f64) -> Table {
    let optional = |value: Option<f64>| value.map_or(Cell::text("–"), Cell::value);
    let row = |change: &&Change| {
        let difference =
            Cell { half_width: change.standard_error.map(|error| 2.0 * error), ..Cell::value(change.difference) };
        Row::new(
            change.aspect.title(),
            vec![
                optional(change.old),
                optional(change.new),
                difference,
                Cell::value(change.relative()),
                Cell::text(change.by),
                optional(change.p),
                optional(change.corrected_p),
                Cell::text(verdict_name(change, level)),
            ],
        )
    };
    Table {
        name: name.into(),
        caption: caption.into(),
        label: "what".into(),
        columns: vec![
            Column::new("old", Format::Measure),
            Column::new("new", Format::Measure),
            Column::new("difference", Format::Measure),
            Column::new("relative", Format::Percent),
            Column::new("tested over", Format::Text),
            Column::new("p", Format::PValue),
            Column::new("corrected p", Format::PValue),
            Column::new("verdict", Format::Text),
        ],
        rows: changes.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
