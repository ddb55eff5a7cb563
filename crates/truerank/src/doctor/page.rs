//! The diagnosis as a page.

use super::{Diagnosis, Severity, Spread};
use crate::figures::weights_table;
use crate::report::{
    Answer, Axis, Best, Block, Cell, Chart, Column, Figure, Format, Lines, Point, Report, Row, Section, Series, Style,
    Table, Verdict,
};

impl Diagnosis {
    /// One page: what to know, what is in the log, whether users bias it, and what to use.
    pub fn report(&self, title: &str) -> Report {
        Report {
            title: title.into(),
            lead: self.lead(),
            facts: self.facts(),
            sections: vec![self.fitness(), self.contents(), self.personal(), self.choice()],
        }
    }

    fn lead(&self) -> String {
        let fit = match self.is_fit() {
            true => "The log is fit to learn from.",
            false => "The log is not fit to learn from as it is.",
        };
        format!("{fit} {} Recommended estimator: {}.", self.bias_sentence(), self.recommendation.estimator)
    }

    pub(crate) fn bias_sentence(&self) -> String {
        match (self.personalized_bias(), &self.bias) {
            (Verdict::Holds, Some(bias)) => format!(
                "The log has personalized bias: users differ in what they search for and in how deep they look, and a \
                 correction that treats them alike is typically off by {} of a document's relevance.",
                Format::Percent.print(bias.typical)
            ),
            (Verdict::DoesNotHold, _) => "No personalized bias was found in it.".into(),
            _ => "Whether the log has personalized bias cannot be told.".into(),
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

    fn fitness(&self) -> Section {
        let mut answers =
            vec![Answer { verdict: Some(Verdict::of(self.is_fit())), text: "The log is fit to learn from.".into() }];
        answers.extend(self.findings.iter().map(|finding| Answer {
            verdict: None,
            text: match finding.severity {
                Severity::Problem => format!("Problem: {} {}", finding.text, finding.help),
                Severity::Note => format!("{} {}", finding.text, finding.help),
            },
        }));
        Section { id: "fitness".into(), title: "Is it fit to learn from?".into(), answers, ..Section::default() }
    }

    fn contents(&self) -> Section {
        Section {
            id: "contents".into(),
            title: "What is in it".into(),
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
            (false, _) => "no two positions can be compared".to_string(),
            (true, 1) => "all positions with clicks can be compared".to_string(),
            (true, pieces) => format!("positions fall into {pieces} sets that nothing compares"),
        };
        format!("{share} of the documents of a query were seen at several positions; {pieces}.")
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
        if self.bias.is_some() {
            columns.push(Column::new("bias of ips-pbm", Format::Percent));
        }
        let row = |at: &super::AtPosition| {
            let mut cells = vec![count(at.impressions), count(at.clicks), Cell::value(at.click_rate())];
            if let Some(bias) = &self.bias {
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
            caption: "Positions.".into(),
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
        let names = ["least", "quarter", "median", "three quarters", "most"];
        let mut columns: Vec<Column> = names.map(|name| Column::new(name, Format::Count)).to_vec();
        columns.extend([Column::new("mean", Format::Number), Column::new("only one", Format::Percent)]);
        Table {
            name: "sessions".into(),
            caption: "Sessions of users and of queries.".into(),
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
        let text = "Users differ in what they search for and in how deep they look.".to_string();
        let mut answers = vec![Answer { verdict: Some(self.personalized_bias()), text }];
        answers.extend(self.untested().map(|text| Answer { verdict: None, text }));
        Section {
            id: "personalized-bias".into(),
            title: "Is there personalized bias?".into(),
            question: "Where users differ in both, correcting clicks by the average user is biased.".into(),
            answers,
            blocks,
        }
    }

    /// Why a test could not be made.
    fn untested(&self) -> Option<String> {
        if self.sizes.users < 2 {
            return Some("There is one user only.".into());
        }
        if self.personalized_bias() == Verdict::Open && self.differences.is_some() {
            return Some(
                "Too few queries have several sessions, or too few documents were seen by several users, to tell."
                    .into(),
            );
        }
        self.differences.is_none().then(|| {
            "No document was seen by several users at the same position with clicks on some, so how deep users look \
             cannot be compared without assuming that their queries are alike."
                .into()
        })
    }

    fn tests(&self) -> Table {
        let dependence = self.dependence.as_ref();
        let differences = self.differences.as_ref();
        let share =
            |value: Option<f64>| value.map_or(Cell::text("not testable"), |v| Cell::text(Format::Number.print(v)));
        let p = |value: Option<f64>| value.map_or(Cell::empty(), Cell::value);
        let row = |label: &str, size: Option<f64>, what: &str, test: Option<f64>| {
            Row::new(label, vec![share(size), Cell::text(what), p(test)])
        };
        let rows = vec![
            row(
                "users search for different things",
                dependence.map(|found| found.strength),
                "Cramér's V of users and queries, without chance",
                dependence.map(|found| found.test.p),
            ),
            row(
                "users look at different depths",
                differences.map(|found| found.test.statistic / found.test.by_chance.max(f64::MIN_POSITIVE)),
                "deviations of users, 1 by chance",
                differences.map(|found| found.test.p),
            ),
        ];
        let mut notes = vec![
            "p by shuffling users over sessions, and clicks among those who saw the same document of the same query at \
             the same position."
                .to_string(),
        ];
        notes.extend(differences.map(|found| {
            format!(
                "{} clicks, {} of all, can be compared between users.",
                Format::Count.print(found.clicks as f64),
                Format::Percent.print(found.comparable)
            )
        }));
        Table {
            name: "tests".into(),
            caption: "Two permutation tests.".into(),
            label: "question".into(),
            columns: vec![
                Column::new("size", Format::Text),
                Column::new("measured by", Format::Text),
                Column::new("p", Format::PValue),
            ],
            rows,
            notes,
        }
    }

    fn group_figure(&self) -> Figure {
        let series = self.groups.iter().enumerate().map(|(index, group)| Series {
            name: match group.users {
                1 => format!("group {}: 1 user", index + 1),
                users => format!("group {}: {} users", index + 1, Format::Count.print(users as f64)),
            },
            points: group.relative.iter().enumerate().map(|(k, &r)| Point::new(k as f64 + 1.0, r)).collect(),
            style: Style::Plain,
        });
        Figure {
            name: "user-groups".into(),
            caption: "How often users look at a position, relative to all users: groups with about equally many \
                      sessions, those who look least deep first."
                .into(),
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
            blocks.push(Block::Table(self.errors()));
        }
        blocks.extend(self.effective_sizes().map(Block::Table));
        let text = format!("Use {}. {}", self.recommendation.estimator, self.recommendation.why);
        Section {
            id: "estimator".into(),
            title: "Which estimator?".into(),
            answers: vec![Answer { verdict: None, text }],
            blocks,
            ..Section::default()
        }
    }

    fn errors(&self) -> Table {
        let row = |error: &crate::relevance::ExpectedError| {
            let root = error.mean_squared_error().sqrt();
            let cells = [error.squared_bias, error.variance, root].map(Cell::value);
            Row::new(error.estimator.clone(), cells.to_vec())
        };
        Table {
            name: "estimators".into(),
            caption: "What to expect of each estimator's relevance weights on this log.".into(),
            label: "estimator".into(),
            columns: vec![
                Column::new("squared bias", Format::Measure),
                Column::new("variance", Format::Measure),
                Column::new("error", Format::Measure).best(Best::Smallest),
            ],
            rows: self.estimators.iter().map(row).collect(),
            notes: vec![
                "For the sessions as they are, with examination estimated by Regression-EM, averaged over shown documents; \
                 the error is the root of bias and variance together."
                    .into(),
            ],
        }
    }

    fn effective_sizes(&self) -> Option<Table> {
        let weights = self.weights.as_ref()?;
        Some(weights_table("effective-sizes", &self.recommendation.estimator, weights))
    }
}
