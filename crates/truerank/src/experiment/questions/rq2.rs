//! rq2: learning curves over sessions.

use serde::{Deserialize, Serialize};

use super::{Ask, Question};
use crate::Result;
use crate::experiment::checks::{at_least, distinct};
use crate::experiment::page::{band, main_group, marks, measure_cell, method_row, style};
use crate::experiment::{Claim, Group, Method, NDCG5, Part, Results, Run, Settings, Source, text};
use crate::ranker::ModelForm;
use crate::report::{Axis, Best, Block, Cell, Chart, Column, Figure, Format, Lines, Point, Series, Table};

/// A method has converged to ideal once it is shown to be less than this below its nDCG@5. The paper names no margin; this one is
/// about a tenth of what grades gain over the production ranker.
pub const CONVERGED: f64 = 0.005;

/// A method does not fall below another if it is shown to be less than this below its nDCG@5: what we would not care about.
pub const NOT_BELOW: f64 = 0.005;

/// The paper speaks of logs of more than so many sessions.
const LARGE_LOG: u64 = 100_000;

/// The sizes, where none are given, beside one session per training query and the main table's.
const SIZES: [u64; 5] = [10_000, 30_000, 100_000, 1_000_000, 10_000_000];

/// The learning curves of rq2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LearningCurves {
    /// Numbers of sessions. Default: one per training query, 10,000 to 10,000,000, and that of the main table.
    pub sessions: Vec<u64>,
    /// Who is compared. Default: all that learn from clicks, but those that learn from click pairs.
    #[serde(with = "text::many")]
    pub methods: Vec<Method>,
}

impl Default for LearningCurves {
    fn default() -> Self {
        let methods = Method::ALL.into_iter().filter(|method| matches!(method, Method::Estimated(_)));
        LearningCurves { sessions: Vec::new(), methods: methods.collect() }
    }
}

impl LearningCurves {
    /// Fills in the sizes, where none are given, for so many training queries and the main table's sessions.
    pub(in crate::experiment) fn fill(&mut self, queries: u64, sessions: u64) {
        if self.sessions.is_empty() {
            let more = SIZES.into_iter().chain([sessions]).filter(|&size| size > queries);
            self.sessions = [queries].into_iter().chain(more).collect();
        }
        self.sessions.sort_unstable();
        self.sessions.dedup();
    }
}

/// How do they do with fewer and with more sessions?
pub struct Rq2;

impl Ask for Rq2 {
    fn title(&self) -> &'static str {
        "RQ2: Fewer and more sessions"
    }

    fn words(&self) -> &'static str {
        "How fast does each correction learn, and does it reach what grades would teach?"
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        let LearningCurves { sessions, methods } = &settings.rq2;
        distinct("rq2.sessions", sessions, 0)?;
        distinct("rq2.methods", methods, 1)?;
        sessions.iter().try_for_each(|&sessions| at_least("sessions", sessions, 1))
    }

    fn runs(&self, settings: &Settings) -> Vec<Run> {
        let mut runs = settings.ideal_runs();
        for &sessions in &settings.rq2.sessions {
            for world in settings.worlds(settings.clusters, sessions) {
                for &method in &settings.rq2.methods {
                    let can = |model: &&ModelForm| Settings::has_run(method, sessions, model);
                    let of_model = |model| Run::new(world, method, Source::Known, model);
                    runs.extend(settings.models.iter().filter(can).map(of_model));
                }
            }
        }
        runs
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        results.settings.models.iter().flat_map(|model| Curves { results, model }.claims()).collect()
    }

    fn blocks(&self, results: &Results) -> Option<Vec<Block>> {
        let mut blocks = Vec::new();
        for model in &results.settings.models {
            blocks.extend(figure(results, model).map(Block::Figure));
            blocks.extend(table(results, model).map(Block::Table));
        }
        if blocks.is_empty() {
            return None;
        }
        if !results.settings.rq2.methods.contains(&Method::PRS_BY_SCORE) {
            let text = "prs and prs-by-score are not among these methods; `rq2.methods` in the settings can add them.";
            blocks.push(Block::Text(text.into()));
        }
        Some(blocks)
    }
}

/// The learning curves of a form of ranker.
struct Curves<'a> {
    results: &'a Results,
    model: &'a ModelForm,
}

impl Curves<'_> {
    fn claims(&self) -> Vec<Claim> {
        let kind = self.model.name();
        let claim = |text: String, parts: Vec<Part>| {
            (!parts.is_empty()).then(|| Claim::new(Question::Rq2, format!("{kind}: {text}"), parts))
        };
        let above =
            |method: Method| claim(format!("above 100,000 sessions user-aware is above {method}"), self.above(method)?);
        let converged = |method: Method| {
            claim(format!("{method} comes within {CONVERGED} of ideal"), vec![self.converged(method)?])
        };
        let faster = || claim("user-aware converges faster than straightforward".into(), vec![self.faster()?]);
        let smoothed = || {
            let text = format!("user-aware-smoothed is at no size {NOT_BELOW} below another estimator");
            claim(text, self.never_below()?).map(|claim| Claim { of_the_paper: false, ..claim })
        };
        let claims = [
            above(Method::NAIVE),
            above(Method::IPS_PBM),
            above(Method::PRS_BY_SCORE),
            converged(Method::USER_AWARE),
            converged(Method::STRAIGHTFORWARD),
            faster(),
            smoothed(),
        ];
        claims.into_iter().flatten().collect()
    }

    fn at(&self, sessions: u64, method: Method) -> Option<Group<'_>> {
        self.results.at_size(sessions, method, self.model)
    }

    /// The sizes at which a method has runs.
    fn sizes(&self, method: Method) -> impl Iterator<Item = u64> {
        let sizes = self.results.settings.rq2.sessions.iter().copied();
        sizes.filter(move |&size| Settings::has_run(method, size, self.model))
    }

    fn above(&self, method: Method) -> Option<Vec<Part>> {
        let part = |sessions: u64| {
            let found = self.at(sessions, Method::USER_AWARE)?.test(&self.at(sessions, method)?, NDCG5)?;
            Some(Part::ahead(at_sessions(sessions), found))
        };
        self.sizes(method).filter(|&size| size > LARGE_LOG).map(part).collect()
    }

    /// Tests, at the largest size, whether the gap to ideal is less than what counts as converged.
    fn converged(&self, method: Method) -> Option<Part> {
        let &sessions = self.results.settings.rq2.sessions.last()?;
        let ideal = main_group(self.results, Method::Ideal, self.model)?;
        Some(Part::new(at_sessions(sessions), self.at(sessions, method)?.test(&ideal, NDCG5)?, -CONVERGED))
    }

    /// Tests whole learning curves: each seed's and query's value, averaged over sizes.
    fn faster(&self) -> Option<Part> {
        let curve = |method: Method| -> Option<Vec<Group<'_>>> {
            self.results.settings.rq2.sessions.iter().map(|&sessions| self.at(sessions, method)).collect()
        };
        let test = Group::test_series(&curve(Method::USER_AWARE)?, &curve(Method::STRAIGHTFORWARD)?, NDCG5)?;
        Some(Part::ahead("mean over all sizes", test))
    }

    /// Non-inferiority at every size, against every other method that is there.
    fn never_below(&self) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        for &method in self.results.settings.rq2.methods.iter().filter(|&&method| method != Method::SMOOTHED) {
            for sessions in self.sizes(method) {
                let test = self.at(sessions, Method::SMOOTHED)?.test(&self.at(sessions, method)?, NDCG5)?;
                parts.push(Part::new(format!("{method}, {}", at_sessions(sessions)), test, -NOT_BELOW));
            }
        }
        Some(parts)
    }
}

fn at_sessions(sessions: u64) -> String {
    format!("{} sessions", Format::Count.print(sessions as f64))
}

/// A file name's part.
fn slug(model: &ModelForm) -> String {
    model.name().to_lowercase().replace([':', ','], "-")
}

fn figure(results: &Results, model: &ModelForm) -> Option<Figure> {
    let sizes = &results.settings.rq2.sessions;
    let curve = |&method: &Method| {
        let point = |&sessions: &u64| {
            let group = results.at_size(sessions, method, model)?;
            Some(Point { x: sessions as f64, y: group.mean(NDCG5), band: band(group.interval(NDCG5)) })
        };
        let points: Vec<Point> = sizes.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Series { name: method.to_string(), points, style: style(method) })
    };
    let mut series: Vec<Series> = results.settings.rq2.methods.iter().filter_map(curve).collect();
    if series.is_empty() {
        return None;
    }
    if let Some(ideal) = main_group(results, Method::Ideal, model) {
        let level = |&sessions: &u64| Point::new(sessions as f64, ideal.mean(NDCG5));
        series.push(Series {
            name: "ideal".into(),
            points: sizes.iter().map(level).collect(),
            style: style(Method::Ideal),
        });
    }
    let lines =
        Lines { x: Axis::new("sessions", Format::Count).log(), y: Axis::new("nDCG@5", Format::Measure), series };
    let caption = format!(
        "{} rankers: nDCG@5 over the number of sessions. Bands are 95 % intervals over seeds; ideal learns from grades.",
        model.name()
    );
    Some(Figure { name: format!("rq2-{}", slug(model)), caption, chart: Chart::Lines(lines) })
}

fn table(results: &Results, model: &ModelForm) -> Option<Table> {
    let sizes = &results.settings.rq2.sessions;
    let row = |method: Method| {
        let cell = |&sessions: &u64| {
            let group = match method {
                Method::Ideal => main_group(results, Method::Ideal, model),
                _ => results.at_size(sessions, method, model),
            };
            let aware = results.at_size(sessions, Method::USER_AWARE, model);
            let reference = aware.as_ref().filter(|_| method != Method::USER_AWARE);
            group.map_or_else(Cell::empty, |group| measure_cell(&group, NDCG5, reference))
        };
        let cells: Vec<Cell> = sizes.iter().map(cell).collect();
        cells.iter().any(|cell| cell.value.is_some()).then(|| method_row(method.to_string(), method, cells))
    };
    let methods = [Method::Ideal].into_iter().chain(results.settings.rq2.methods.iter().copied());
    let rows: Vec<_> = methods.filter_map(row).collect();
    let column =
        |&sessions: &u64| Column::new(Format::Count.print(sessions as f64), Format::Measure).best(Best::Largest);
    (rows.len() > 1).then(|| Table {
        name: format!("rq2-{}", slug(model)),
        caption: format!("nDCG@5 of {} rankers by the number of sessions.", model.name()),
        label: "method".into(),
        columns: sizes.iter().map(column).collect(),
        rows,
        notes: vec![marks(results.settings.seeds.len()), "Intervals over seeds are the bands of the figure.".into()],
    })
}
