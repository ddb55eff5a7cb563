//! robustness: clicks of one model, taken for those of another, with users and without.

use serde::{Deserialize, Serialize};

use super::{Ask, NOT_BELOW, Question};
use crate::Result;
use crate::click_model::ClickModelKind;
use crate::experiment::assumed::{Assumed, Clicked};
use crate::experiment::checks::{at_least, distinct, refuse};
use crate::experiment::page::{measure_cell, mse_cell};
use crate::experiment::{Claim, Group, LogKind, Method, NDCG5, Part, Results, Run, Settings, Source, text};
use crate::report::{Block, Cell, Chart, Column, Figure, Format, HeatMap, Row, Table};

/// The grid of the question: model that clicked, model that is assumed, production ranker, sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BrowsingGrid {
    /// The models that clicks come from; `mixed` gives kinds of users pbm, ubm and dbn in turn. Default: pbm, ubm, dcm, dbn, mixed.
    #[serde(with = "text::many")]
    pub clicked: Vec<Clicked>,
    /// The models that clicks are corrected by. Default: pbm, ubm, dcm, dbn.
    #[serde(with = "text::many")]
    pub assumed: Vec<ClickModelKind>,
    /// The shares of labelled queries that the production ranker learns from: how strong it is. Default: 0.01 and 1.
    pub production_shares: Vec<f64>,
    /// Numbers of sessions. Default: 10 and 100 for each training query.
    pub sessions: Vec<u64>,
    /// The share of sessions in which rank 1 changes places with another: without moved documents no clicks tell a good position
    /// from good documents. Default: 0.2.
    pub swap: f64,
}

/// Sessions per training query, where no sizes are given.
const SESSIONS_PER_QUERY: [u64; 2] = [10, 100];

impl Default for BrowsingGrid {
    fn default() -> Self {
        let assumed = vec![ClickModelKind::Pbm, ClickModelKind::Ubm, ClickModelKind::Dcm, ClickModelKind::Dbn];
        BrowsingGrid {
            clicked: assumed.iter().map(|&kind| Clicked::By(kind)).chain([Clicked::Mixed]).collect(),
            assumed,
            production_shares: vec![0.01, 1.0],
            sessions: Vec::new(),
            swap: 0.2,
        }
    }
}

impl BrowsingGrid {
    /// Fills in the sizes, where none are given, for so many training queries.
    pub(in crate::experiment) fn fill(&mut self, queries: u64) {
        if self.sessions.is_empty() {
            self.sessions = SESSIONS_PER_QUERY.map(|sessions| sessions * queries).to_vec();
        }
        self.sessions.sort_unstable();
        self.sessions.dedup();
    }

    /// What there is for one model that clicked: every production ranker with every number of sessions.
    fn logs(&self, clicked: Clicked) -> Vec<LogKind> {
        let of_share = |&share: &f64| {
            self.sessions.iter().map(move |&sessions| LogKind::Browsed {
                clicked,
                labelled: millionths(share),
                sessions,
            })
        };
        self.production_shares.iter().flat_map(of_share).collect()
    }
}

impl BrowsingGrid {
    /// Whether what no click changes is run on this log: once for each production ranker.
    fn is_reference(&self, log: LogKind) -> bool {
        let first = (self.clicked.first().copied(), self.sessions.first().copied());
        matches!(log, LogKind::Browsed { clicked, sessions, .. } if (Some(clicked), Some(sessions)) == first)
    }
}

/// Shares in a form that can be compared and named.
fn millionths(share: f64) -> u32 {
    (share * 1e6).round() as u32
}

/// What if people browse otherwise than we think?
pub struct Robustness;

impl Ask for Robustness {
    fn title(&self) -> &'static str {
        "Robustness: when people browse otherwise than assumed"
    }

    fn words(&self) -> &'static str {
        "What does it cost to take the clicks of one model for those of another, and does it help to know the users?"
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        let BrowsingGrid { clicked, assumed, production_shares, sessions, swap } = &settings.robustness;
        distinct("robustness.clicked", clicked, 1)?;
        distinct("robustness.assumed", assumed, 1)?;
        distinct("robustness.production-shares", production_shares, 1)?;
        distinct("robustness.sessions", sessions, 0)?;
        if let Some(kind) = assumed.iter().find(|kind| kind.parameter_count(1) == 0) {
            return refuse(format!("robustness.assumed should tell users apart, but in {kind} all browse alike"));
        }
        if let Some(share) = production_shares.iter().find(|share| !(1e-6..=1.0).contains(*share)) {
            return refuse(format!("robustness.production-shares should be from 0.000001 to 1, but one is {share}"));
        }
        if !(0.0..=1.0).contains(swap) {
            return refuse(format!("robustness.swap should be from 0 to 1, but is {swap}"));
        }
        sessions.iter().try_for_each(|&sessions| at_least("robustness.sessions", sessions, 1))
    }

    fn runs(&self, settings: &Settings) -> Vec<Run> {
        let model = settings.grid_model();
        let grid = &settings.robustness;
        let mut runs = Vec::new();
        for log in grid.clicked.iter().flat_map(|&clicked| grid.logs(clicked)) {
            for &seed in &settings.seeds {
                let run = |method| Run::new(log.world(settings, seed), method, Source::Known, model);
                runs.extend(methods(grid).map(run));
                if grid.is_reference(log) {
                    runs.extend(REFERENCES.map(run));
                }
            }
        }
        runs
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        let grid = &results.settings.robustness;
        let right = grid.clicked.iter().filter_map(|clicked| match clicked {
            Clicked::By(kind) if grid.assumed.contains(kind) => Some(*kind),
            _ => None,
        });
        right.flat_map(|kind| claims_where(results, kind)).collect()
    }

    fn blocks(&self, results: &Results) -> Option<Vec<Block>> {
        let grid = &results.settings.robustness;
        let logs: Vec<LogKind> = grid.clicked.iter().flat_map(|&clicked| grid.logs(clicked)).collect();
        let rows: Vec<Row> = logs.iter().flat_map(|&log| rows(results, log)).collect();
        if rows.is_empty() {
            return None;
        }
        let mut blocks = vec![Block::Text(ABOUT.into())];
        blocks.extend(references(results, &logs).map(Block::Table));
        for (name, title, format, value) in MAPS {
            blocks.push(Block::Text(title.into()));
            blocks.push(Block::Gallery(maps(results, name, format, value)));
        }
        blocks.push(Block::Fold("Every number of the grid".into(), vec![Block::Table(table(results, rows))]));
        Some(blocks)
    }
}

const ABOUT: &str = "Clicks were drawn from the model of a row and corrected by the model of a column, which was fitted to the \
                     same clicks: user-aware with parameters of each kind of users, user-oblivious with one set for all. The \
                     diagonal is where the right model was assumed; mixed gives kinds of users pbm, ubm and dbn in turn. \
                     Values are means over seeds.";

/// What is shown of a correction.
type Value = fn(&Group<'_>, &Group<'_>) -> Option<f64>;

/// The heat maps: what is shown of user-aware beside user-oblivious.
const MAPS: [(&str, &str, Format, Value); 4] = [
    ("ndcg", "nDCG@5 of rankers trained on user-aware relevance.", Format::Measure, |aware, _| Some(aware.mean(NDCG5))),
    (
        "ndcg-gain",
        "What knowing the users gains: nDCG@5 of user-aware less that of user-oblivious.",
        Format::Measure,
        |aware, oblivious| Some(aware.mean(NDCG5) - oblivious.mean(NDCG5)),
    ),
    ("error", "Squared error of user-aware relevance.", Format::Measure, |aware, _| aware.mse()),
    ("error-oblivious", "Squared error of user-oblivious relevance.", Format::Measure, |_, oblivious| oblivious.mse()),
];

/// Naive, and every assumed model with users and without.
fn methods(grid: &BrowsingGrid) -> impl Iterator<Item = Method> {
    let assumed = grid.assumed.iter().flat_map(|&kind| [true, false].map(|per_user| Assumed { kind, per_user }));
    [Method::NAIVE].into_iter().chain(assumed.map(Method::Modelled))
}

/// What no click changes.
const REFERENCES: [Method; 2] = [Method::Production, Method::Ideal];

fn group<'r>(results: &'r Results, log: LogKind, method: Method) -> Option<Group<'r>> {
    results.on(log, method, Source::Known, results.settings.grid_model())
}

fn aware(kind: ClickModelKind) -> Method {
    Method::Modelled(Assumed { kind, per_user: true })
}

fn oblivious(kind: ClickModelKind) -> Method {
    Method::Modelled(Assumed { kind, per_user: false })
}

/// `1 % of labels, 100 sessions per query`.
fn describe(results: &Results, log: LogKind) -> String {
    let LogKind::Browsed { labelled, sessions, .. } = log else { return String::new() };
    let share = Format::Percent.print(f64::from(labelled) / 1e6);
    let queries = results.settings.made_with.as_ref().map_or(1, |made| made.queries[0]).max(1) as f64;
    let per_query = Format::Number.print(sessions as f64 / queries);
    format!("production ranker of {share} of labels, {per_query} sessions per query")
}

/// The claims where clicks come from a model that is also assumed.
fn claims_where(results: &Results, kind: ClickModelKind) -> Vec<Claim> {
    let logs = results.settings.robustness.logs(Clicked::By(kind));
    let each = |part: &dyn Fn(LogKind, String) -> Option<Part>| -> Option<Vec<Part>> {
        logs.iter().map(|&log| part(log, describe(results, log))).collect()
    };
    let of = |log, method| group(results, log, method);
    let less_error =
        |other: Method| each(&|log, what| Some(Part::ahead(what, of(log, other)?.test_mse(&of(log, aware(kind))?)?)));
    let less_bias =
        each(&|log, what| Some(Part::ahead(what, of(log, oblivious(kind))?.test_bias(&of(log, aware(kind))?)?)));
    let not_worse = |other: Method| {
        each(&|log, what| Some(Part::new(what, of(log, aware(kind))?.test(&of(log, other)?, NDCG5)?, -NOT_BELOW)))
    };
    let mut claims = Vec::new();
    let mut add = |text: String, unit: &'static str, parts: Option<Vec<Part>>| {
        claims.extend(parts.map(|parts| Claim {
            unit,
            of_the_paper: false,
            ..Claim::new(Question::Robustness, text, parts)
        }));
    };
    let under = format!("where clicks come from {kind}, user-aware relevance under {kind}");
    add(format!("{under} has less squared error than user-oblivious"), "squared error", less_error(oblivious(kind)));
    add(format!("{under} has less squared error than clicks as they are"), "squared error", less_error(Method::NAIVE));
    add(format!("{under} is less biased than user-oblivious"), "mean error", less_bias);
    let others = results.settings.robustness.assumed.contains(&ClickModelKind::Pbm);
    if kind != ClickModelKind::Pbm && others {
        let pbm = aware(ClickModelKind::Pbm);
        add(format!("{under} has less squared error than under pbm"), "squared error", less_error(pbm));
        add(format!("{under} ranks no worse than under pbm"), "nDCG@5", not_worse(pbm));
    }
    claims
}

/// What the production rankers achieve, and what grades would teach.
fn references(results: &Results, logs: &[LogKind]) -> Option<Table> {
    let grid = &results.settings.robustness;
    let row = |&log: &LogKind| {
        let LogKind::Browsed { labelled, .. } = log else { return None };
        let cell = |method| Some(Cell::value(group(results, log, method)?.mean(NDCG5)));
        let cells = REFERENCES.map(cell).into_iter().collect::<Option<_>>()?;
        Some(Row { competes: false, ..Row::new(Format::Percent.print(f64::from(labelled) / 1e6), cells) })
    };
    let rows: Vec<Row> = logs.iter().filter(|log| grid.is_reference(**log)).filter_map(row).collect();
    (!rows.is_empty()).then(|| Table {
        name: "robustness-production".into(),
        caption: "nDCG@5 of the production rankers, and of rankers trained on the grades of what they show.".into(),
        label: "labels it learned from".into(),
        columns: REFERENCES.map(|method| Column::new(method.to_string(), Format::Measure)).to_vec(),
        rows,
        notes: Vec::new(),
    })
}

/// A heat map for each production ranker and number of sessions.
fn maps(results: &Results, name: &str, format: Format, value: Value) -> Vec<Figure> {
    let grid = &results.settings.robustness;
    let Some(&first) = grid.clicked.first() else { return Vec::new() };
    let cell = |log: LogKind, kind: ClickModelKind| {
        value(&group(results, log, aware(kind))?, &group(results, log, oblivious(kind))?)
    };
    let of_log = |(number, log): (usize, LogKind)| {
        let row = |&clicked: &Clicked| grid.assumed.iter().map(|&kind| cell(log.clicked_by(clicked), kind)).collect();
        let map = HeatMap {
            row_title: "clicks from".into(),
            column_title: "assumed".into(),
            rows: grid.clicked.iter().map(ToString::to_string).collect(),
            columns: grid.assumed.iter().map(ToString::to_string).collect(),
            values: grid.clicked.iter().map(row).collect(),
            format,
            range: None,
        };
        let caption = describe(results, log);
        Figure { name: format!("robustness-{name}-{}", number + 1), caption, chart: Chart::HeatMap(map) }
    };
    grid.logs(first).into_iter().enumerate().map(of_log).collect()
}

/// The rows of one log, one for each assumed model.
fn rows(results: &Results, log: LogKind) -> Vec<Row> {
    let LogKind::Browsed { clicked, labelled, sessions } = log else { return Vec::new() };
    let of = |method| group(results, log, method);
    let row = |&kind: &ClickModelKind| {
        let (aware, oblivious, naive) = (of(aware(kind))?, of(oblivious(kind))?, of(Method::NAIVE)?);
        let groups = [&aware, &oblivious, &naive];
        let reference = |group: &&Group<'_>| (!std::ptr::eq(*group, &aware)).then_some(&aware);
        let mut cells =
            vec![Cell::text(kind.to_string()), Cell::value(f64::from(labelled) / 1e6), Cell::value(sessions as f64)];
        cells.extend(groups.iter().map(|group| measure_cell(group, NDCG5, reference(group))));
        cells.extend(groups.iter().map(|group| mse_cell(group, reference(group))));
        cells.extend(groups.iter().map(|group| group.bias().map_or_else(Cell::empty, Cell::value)));
        Some(Row { competes: false, ..Row::new(clicked.to_string(), cells) })
    };
    results.settings.robustness.assumed.iter().filter_map(row).collect()
}

fn table(results: &Results, rows: Vec<Row>) -> Table {
    let mut columns = vec![
        Column::new("assumed", Format::Text),
        Column::new("labels", Format::Percent),
        Column::new("sessions", Format::Count),
    ];
    for measure in ["nDCG@5", "MSE", "bias"] {
        let names = ["user-aware", "user-oblivious", "naive"];
        columns.extend(names.map(|name| Column::new(format!("{measure}, {name}"), Format::Measure)));
    }
    let model = results.settings.grid_model().name();
    Table {
        name: "robustness".into(),
        caption: format!("{model} rankers; {} kinds of users.", results.settings.clusters),
        label: "clicks from".into(),
        columns,
        rows,
        notes: vec![
            crate::experiment::page::marks(results.settings.seeds.len()),
            "MSE and bias: mean squared error and mean error of estimated relevance over shown documents. Labels: the share of \
             labelled queries that the production ranker learned from."
                .into(),
        ],
    }
}
