//! The diagnosis as a page.

use super::diagnosis::MATTERS;
use super::{Diagnosis, Difference, Differences, ExpectedQuality, Recommendation, Severity, Spread, UserGroup};
use crate::figures::{number_equal_names, weights_table};
use crate::report::{
    Answer, Axis, Badge, Best, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, KeyResult, Lines, Point, Report,
    Row, Section, Series, Style, Table, Tone, Verdict,
};

impl Diagnosis {
    /// One page: what to know, what is in the log, whether users bias it, and what to use.
    pub fn report(&self, title: &str) -> Report {
        let mut sections = vec![self.findings_section(), self.contents(), self.personal()];
        sections.extend(self.click_model_section());
        sections.push(self.choice());
        let (lead, key, facts) = (self.lead(), self.key(), self.facts());
        Report { title: title.into(), lead, key, facts, sections, provenance: None }
    }

    /// How wrong the usual correction is, where that is known.
    fn key(&self) -> Option<KeyResult> {
        let bias = self.bias.as_ref().filter(|_| self.personalized_bias() != Verdict::Open)?;
        let at_most = bias.at_most.map_or(String::new(), |most| {
            format!(" With 95\u{202f}% confidence it is {} at most.", Format::Percent.print(most.max(bias.typical)))
        });
        Some(KeyResult {
            name: "typical error of a correction that treats users alike (ips-pbm)".into(),
            value: bias.typical,
            interval: None,
            format: Format::Percent,
            is_change: false,
            badge: None,
            about: format!("In shares of a document's relevance; {} or more matters.{at_most}", matters()),
        })
    }

    fn lead(&self) -> String {
        let fit = match self.fitness() {
            Verdict::Holds => "The log is fit to learn from.",
            Verdict::DoesNotHold => "The log is not fit to learn from as it is.",
            Verdict::Open => "Whether the log is fit to learn from is open.",
        };
        let bias = match self.personalized_bias() {
            Verdict::Holds => "It has personalized bias.",
            Verdict::DoesNotHold => "It has no personalized bias that matters.",
            Verdict::Open => "Whether it has personalized bias is open.",
        };
        format!("{fit} {bias} Recommended estimator: {}.", self.recommended())
    }

    /// The recommended estimator by the name that the table has for it.
    fn recommended(&self) -> String {
        let Recommendation { estimator, is_default, .. } = &self.recommendation;
        if *is_default { format!("{estimator}, shrunk (default)") } else { estimator.to_string() }
    }

    pub(crate) fn bias_sentence(&self) -> String {
        let percent = |share: f64| Format::Percent.print(share);
        let most = self.bias.as_ref().and_then(|bias| bias.at_most).map_or(String::new(), percent);
        match (self.personalized_bias(), &self.bias) {
            (Verdict::Holds, Some(bias)) => format!(
                "The log has personalized bias: users differ in what they search for and in {}, and a correction that treats \
                 them alike is typically off by {} of a document's relevance.",
                self.how_users_differ(),
                percent(bias.typical)
            ),
            (Verdict::DoesNotHold, Some(bias)) if self.users_search_differently() && self.users_look_differently() => {
                format!(
                    "Users differ in what they search for and in {}, but too little to matter: a correction that treats them alike is \
                     typically off by {} of a document's relevance, {most} at most.",
                    self.how_users_differ(),
                    percent(bias.typical)
                )
            }
            (Verdict::DoesNotHold, _) => format!(
                "The log has no personalized bias that matters: a correction that treats users alike is off by {most} of a \
                 document's relevance at most."
            ),
            _ => format!("Whether the log has personalized bias is open: {}.", self.why_open()),
        }
    }

    /// `how much they click`, `how deep they look`, or both.
    fn how_users_differ(&self) -> &'static str {
        let found = |difference: Option<&Difference>| difference.is_some_and(|found| found.test.p < self.level);
        let of = |aspect: fn(&Differences) -> Option<&Difference>| found(self.differences.as_ref().and_then(aspect));
        match (of(|found| found.level.as_ref()), of(|found| found.depth.as_ref())) {
            (true, true) => "how much they click and how deep they look",
            (true, false) => "how much they click",
            _ => "how deep they look",
        }
    }

    /// Why there is no answer, and what would give one.
    fn why_open(&self) -> String {
        if self.sizes.users < 2 {
            return "there is one user only".into();
        }
        let Some(differences) = &self.differences else {
            return "whole result pages were not kept with these counts; count the log again to compare its users"
                .into();
        };
        if let Some(needed) = self.permutations_needed() {
            return format!(
                "with {} permutations no p-value falls below {}; at least {needed} are needed",
                self.permutations, self.level
            );
        }
        if differences.level.is_none() || differences.depth.is_none() {
            return "no user has two pages with clicks whose results other users of the same query saw at the same positions; more \
                    sessions of the same queries would tell"
                .into();
        }
        match self.bias.as_ref().and_then(|bias| bias.at_most) {
            Some(most) => {
                // What can be told of users' differences shrinks with the root of their sessions.
                let sessions = self.sizes.sessions as f64 * (most / MATTERS).powi(2);
                format!(
                    "a correction that treats users alike may be off by up to {} of a document's relevance; about {} sessions of \
                     these users would tell whether it is {}",
                    Format::Percent.print(most),
                    Format::Count.print(rounded(sessions)),
                    matters()
                )
            }
            None => "users who differ may not meet on the same results at all; more sessions of queries that many users share would tell"
                .into(),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let sizes = &self.sizes;
        let numbers = [
            ("impressions", sizes.impressions),
            ("clicks", sizes.clicks),
            ("sessions", sizes.sessions),
            ("queries", sizes.queries),
            ("documents", sizes.documents),
            ("users", sizes.users),
        ];
        numbers.map(|(name, value)| (name.to_string(), Format::Count.print(value as f64))).to_vec()
    }

    fn findings_section(&self) -> Section {
        let text = match self.fitness() {
            Verdict::Holds => "No problem was found that forbids learning from this log.",
            Verdict::DoesNotHold => "Not as it is; what to do follows.",
            Verdict::Open => "The log does not tell; what would tell follows.",
        };
        let mut answers = vec![Answer::new(self.fitness().badge(), text)];
        answers.extend(self.findings.iter().map(|finding| {
            let badge = match finding.severity {
                Severity::Problem => Badge::new("Problem", Tone::Bad),
                Severity::Open => Badge::new("Open", Tone::Open),
                Severity::Note => Badge::new("Note", Tone::Neutral),
            };
            Answer::new(badge, format!("{} {}", finding.text, finding.help))
        }));
        Section { id: "fitness".into(), title: "Is the log fit to learn from?".into(), answers, ..Section::default() }
    }

    fn contents(&self) -> Section {
        Section {
            id: "contents".into(),
            title: "What is in the log?".into(),
            answers: vec![Answer { verdict: None, text: self.movement() }],
            blocks: vec![
                Block::Figure(self.click_rates()),
                Block::Table(self.position_table()),
                Block::Table(self.spreads()),
            ],
            ..Section::default()
        }
    }

    fn movement(&self) -> String {
        let share = Format::Percent.print(self.variation.documents);
        let pieces = match (self.comparable.positions, self.comparable.pieces) {
            (false, _) => "No two positions can be compared".to_string(),
            // Documents that never moved compare nothing: features do.
            (true, 1) if self.variation.documents == 0.0 => {
                "All positions with clicks can be compared by the features of their documents".to_string()
            }
            (true, 1) => "All positions with clicks can be compared".to_string(),
            (true, pieces) => format!("Positions fall into {pieces} sets that cannot be compared with each other"),
        };
        format!("{share} of the documents of a query were shown at several positions. {pieces}.")
    }

    fn click_rates(&self) -> Figure {
        let points = self.positions.iter().map(|at| {
            // A 95 % interval of a share (Wald's; the positions that matter have many impressions).
            let (rate, n) = (at.click_rate(), at.impressions as f64);
            let half = 1.96 * (rate * (1.0 - rate) / n).sqrt();
            Point::new(f64::from(at.position), rate).band((rate - half).max(0.0), (rate + half).min(1.0))
        });
        let series = Series { name: "click rate".into(), points: points.collect(), style: Style::Strong };
        Figure {
            name: "click-rates".into(),
            caption: "Clicks per impression by position, with 95 % intervals.".into(),
            chart: Chart::Lines(Lines {
                x: Axis::new("position", Format::Count),
                y: Axis::new("clicks per impression", Format::Percent),
                series: vec![series],
            }),
        }
    }

    fn position_table(&self) -> Table {
        let count = |value: u64| Cell::value(value as f64);
        let mut columns = vec![
            Column::new("impressions", Format::Count),
            Column::new("clicks", Format::Count),
            Column::new("click rate", Format::Percent),
        ];
        // Where nothing was found it is noise.
        let found = self.users_search_differently() && self.users_look_differently();
        let bias = self.bias.as_ref().filter(|_| found);
        if bias.is_some() {
            columns.push(Column::new("bias of ips-pbm", Format::Percent));
        }
        let row = |at: &super::AtPosition| {
            let mut cells = vec![count(at.impressions), count(at.clicks), Cell::value(at.click_rate())];
            if let Some(bias) = bias {
                cells.push(bias.by_position.get(at.position as usize - 1).map_or(Cell::empty(), |&b| Cell::value(b)));
            }
            Row::new(at.position.to_string(), cells)
        };
        // People look at the first positions; all of them are in the figure and in the JSON.
        const SHOWN: usize = 10;
        let mut notes = Vec::new();
        if self.positions.len() > SHOWN {
            notes.push(format!("The first {SHOWN} of {} positions.", self.positions.len()));
        }
        Table {
            name: "positions".into(),
            caption: "Impressions, clicks and click rate by position.".into(),
            label: "position".into(),
            columns,
            rows: self.positions.iter().take(SHOWN).map(row).collect(),
            notes,
        }
    }

    fn spreads(&self) -> Table {
        let row = |label: &str, spread: &Spread| {
            let numbers = [spread.least, spread.lower_quartile, spread.median, spread.upper_quartile, spread.largest];
            let mut cells: Vec<Cell> = numbers.iter().map(|&n| Cell::value(n as f64)).collect();
            cells.extend([Cell::value(spread.mean), Cell::value(spread.single)]);
            Row::new(label, cells)
        };
        let names = ["minimum", "25th percentile", "median", "75th percentile", "maximum"];
        let mut columns: Vec<Column> = names.map(|name| Column::new(name, Format::Count)).to_vec();
        columns.extend([Column::new("mean", Format::Number), Column::new("with one session", Format::Percent)]);
        Table {
            name: "sessions".into(),
            caption: "How many sessions users and queries have.".into(),
            label: "sessions per".into(),
            columns,
            rows: vec![row("user", &self.sessions_per_user), row("query", &self.sessions_per_query)],
            notes: Vec::new(),
        }
    }

    fn personal(&self) -> Section {
        let mut blocks = vec![Block::Table(self.tests())];
        if self.groups.len() > 1 {
            blocks.push(Block::Figure(self.group_figure()));
        }
        let question = format!(
            "Do users differ in what they search for and in how they look, so much that a correction that treats them alike is off by \
             {} or more?",
            matters()
        );
        let answers = vec![Answer::new(self.personalized_bias().badge_of_problem(), self.bias_sentence())];
        Section {
            id: "personalized-bias".into(),
            title: "Is there personalized bias?".into(),
            question,
            answers,
            blocks,
        }
    }

    fn tests(&self) -> Table {
        let untested = || vec![Cell::text("not testable"), Cell::empty(), Cell::empty(), Cell::empty()];
        let dependence = self.dependence.as_ref().map(|found| {
            let what = Cell::text("Cramér's V, corrected for chance");
            vec![Cell::text(Format::Measure.print(found.strength)), Cell::empty(), what, Cell::value(found.test.p)]
        });
        let difference = |found: Option<&Difference>, print: fn(f64) -> String, what: &str| {
            found.map(|found| {
                let unknown = || "unknown".to_string();
                // What is neither found nor bounded is noise.
                let size = Some(found.size).filter(|_| found.test.p < self.level || found.at_most.is_some());
                let [size, most] = [size, found.at_most].map(|size| Cell::text(size.map_or_else(unknown, print)));
                vec![size, most, Cell::text(what), Cell::value(found.test.p)]
            })
        };
        let differences = self.differences.as_ref();
        let level = differences.and_then(|found| found.level.as_ref());
        let depth = differences.and_then(|found| found.depth.as_ref());
        let percent = |size| Format::Percent.print(size);
        // A user one standard deviation deeper clicks position 10 so many times as often as 1, compared with the average user.
        let factor = |size: f64| format!("× {}", Format::Number.print(10f64.powf(size)));
        let rows = vec![
            Row::new("users search for different things", dependence.unwrap_or_else(untested)),
            Row::new(
                "some users click more",
                difference(level, percent, "standard deviation of users' clicks").unwrap_or_else(untested),
            ),
            Row::new(
                "some users look deeper",
                difference(depth, factor, "position 10 against 1, one standard deviation deeper")
                    .unwrap_or_else(untested),
            ),
        ];
        Table {
            name: "tests".into(),
            caption: "Permutation tests of whether users differ.".into(),
            label: "question".into(),
            columns: vec![
                Column::new("size", Format::Text),
                Column::new("upper bound (95 %)", Format::Text),
                Column::new("measured by", Format::Text),
                Column::new("p", Format::PValue),
            ],
            rows,
            notes: self.notes_on_tests(level),
        }
    }

    fn notes_on_tests(&self, level: Option<&Difference>) -> Vec<String> {
        let mut notes = vec![
            "p by shuffling users over sessions, and over whole pages of the same query with the same results."
                .to_string(),
        ];
        notes.extend(level.map(|found| {
            let [pages, clicks] = [found.pages, found.clicks].map(|number| Format::Count.print(number as f64));
            format!("{pages} pages with {clicks} clicks can be compared between users.")
        }));
        notes.extend(self.parts_looked_at());
        notes.extend(self.permutations_needed().map(|needed| {
            format!(
                "With {} permutations no p falls below {}, so nothing can be found; at least {needed} are needed.",
                self.permutations, self.level
            )
        }));
        notes
    }

    /// What tests and sizes rest on, where that is a random part of a long log.
    fn parts_looked_at(&self) -> Vec<String> {
        let count = |number: u64| Format::Count.print(number as f64);
        let all = self.sizes.sessions;
        let tested = self.dependence.as_ref().map(|found| found.sessions).filter(|&sessions| sessions < all);
        let compared = self.bias.as_ref().filter(|bias| bias.sessions < all);
        let tested = tested.map(|sessions| {
            format!("What users search for is tested on a random {} of {} sessions.", count(sessions), count(all))
        });
        let compared = compared.map(|bias| {
            let (sessions, of) = (count(bias.sessions), count(self.sizes.users));
            format!(
                "Bias and groups are those of {} of {of} users and {sessions} of their sessions, drawn at random.",
                count(bias.users)
            )
        });
        tested.into_iter().chain(compared).collect()
    }

    fn group_figure(&self) -> Figure {
        let named = |group: &UserGroup| match group.users {
            1 => format!("{}, 1 user", depth_name(&group.relative)),
            users => format!("{}, {} users", depth_name(&group.relative), Format::Count.print(users as f64)),
        };
        let mut names: Vec<String> = self.groups.iter().map(named).collect();
        number_equal_names(names.iter_mut());
        let series = self.groups.iter().zip(names).map(|(group, name)| Series {
            name,
            points: group.relative.iter().enumerate().map(|(k, &r)| Point::new(k as f64 + 1.0, r)).collect(),
            style: Style::Plain,
        });
        Figure {
            name: "user-groups".into(),
            caption: format!(
                "How often users look at a position, relative to all users: groups with about equally many sessions, those who look least \
                 deep first.{}",
                if self.users_look_differently() {
                    ""
                } else {
                    " Whether the groups differ by more than chance is not shown."
                }
            ),
            chart: Chart::Lines(Lines {
                x: Axis::new("position", Format::Count),
                y: Axis::new("examination, average user = 1", Format::Number),
                series: series.collect(),
            }),
        }
    }

    fn choice(&self) -> Section {
        let mut blocks = Vec::new();
        if !self.estimators.is_empty() {
            blocks.push(Block::Figure(self.quality_figure()));
            blocks.push(Block::Table(self.qualities()));
        }
        blocks.extend(self.effective_sizes().map(Block::Table));
        let text = format!("Use {}. {}", self.recommended(), self.recommendation.why);
        Section {
            id: "estimator".into(),
            title: "Which estimator?".into(),
            answers: vec![Answer { verdict: None, text }],
            blocks,
            ..Section::default()
        }
    }

    fn quality_figure(&self) -> Figure {
        let best = self.estimators.iter().map(|quality| quality.ndcg).fold(0.0, f64::max);
        let dot = |quality: &ExpectedQuality| Dot {
            name: quality.label(),
            value: quality.ndcg,
            band: (quality.standard_error > 0.0)
                .then_some((quality.ndcg - 2.0 * quality.standard_error, quality.ndcg + 2.0 * quality.standard_error)),
            style: if quality.ndcg >= best { Style::Strong } else { Style::Plain },
        };
        Figure {
            name: "expected-quality".into(),
            caption: "Expected nDCG@10 of each estimator's order of the shown documents; whiskers are two standard errors of the \
                      difference from the best."
                .into(),
            chart: Chart::Dots(Dots {
                axis: Axis::new("expected nDCG@10", Format::Measure),
                rows: self.estimators.iter().map(dot).collect(),
            }),
        }
    }

    fn qualities(&self) -> Table {
        let row = |quality: &ExpectedQuality| {
            let cells = [quality.ndcg, quality.behind, quality.standard_error].map(Cell::value);
            Row::new(quality.label(), cells.to_vec())
        };
        Table {
            name: "estimators".into(),
            caption: "How well each estimator's weights are expected to order the shown documents of a query.".into(),
            label: "estimator".into(),
            columns: vec![
                Column::new("nDCG@10", Format::Measure).best(Best::Largest),
                Column::new("behind the best estimator", Format::Measure),
                Column::new("standard error of the difference", Format::Measure),
            ],
            rows: self.estimators.iter().map(row).collect(),
            notes: vec![
                "In logs drawn anew: relevance as this log's clicks leave it possible, examination as estimated, clicks by chance. Within two \
                 standard errors, or .001, of the best an estimator is level with it."
                    .into(),
            ],
        }
    }

    fn effective_sizes(&self) -> Option<Table> {
        let weights = self.weights.as_ref()?;
        Some(weights_table("effective-sizes", &self.recommended(), weights))
    }
}

/// `5 %`.
fn matters() -> String {
    format!("{}\u{202f}%", 100.0 * MATTERS)
}

/// Users by how they look compared with all users, at the last position and at the first.
fn depth_name(relative: &[f64]) -> &'static str {
    match (relative.first(), relative.last()) {
        (Some(&first), Some(&last)) if last < 0.33 * first => "very shallow readers",
        (Some(&first), Some(&last)) if last < 0.67 * first => "shallow readers",
        (Some(&first), Some(&last)) if last > 3.0 * first => "very deep readers",
        (Some(&first), Some(&last)) if last > 1.5 * first => "deep readers",
        _ => "average readers",
    }
}

/// To two digits: more would promise what nobody knows.
fn rounded(number: f64) -> f64 {
    let unit = 10f64.powf(number.max(1.0).log10().floor() - 1.0);
    (number / unit).round() * unit
}
