//! rq4: examination estimated from clicks.

use serde::{Deserialize, Serialize};

use super::{Ask, Question};
use crate::Result;
use crate::evaluate::mean;
use crate::experiment::checks::{distinct, refuse};
use crate::experiment::claim::BASELINES;
use crate::experiment::page::{
    THEIRS, dot, interval_cell, main_group, marks, marks_against, method_row, paper_cell, user_curves,
};
use crate::experiment::{Claim, Group, Method, NDCG5, Part, Results, Run, Settings, Source, paper, text};
use crate::figures::examination_figure;
use crate::ranker::ModelForm;
use crate::report::{Axis, Best, Block, Cell, Chart, Column, Dot, Dots, Figure, Format, Row, Style, Table};

/// The sources of θ of rq4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EstimatedExamination {
    /// What the paper's table uses: em or em-mlp. Default: em.
    #[serde(with = "text::one")]
    pub main: Source,
    /// What else user-aware is trained with. Default: every other source that knows users.
    #[serde(with = "text::many")]
    pub sources: Vec<Source>,
}

impl Default for EstimatedExamination {
    fn default() -> Self {
        let sources =
            vec![Source::EM_MLP, Source::Swap, Source::Harvesting, Source::Cpbm, Source::UserPbm, Source::Dla];
        EstimatedExamination { main: Source::EM, sources }
    }
}

/// With examination estimated from the clicks?
pub struct Rq4;

impl Ask for Rq4 {
    fn title(&self) -> &'static str {
        "RQ4: Examination estimated from the clicks"
    }

    fn words(&self) -> &'static str {
        "Does user-aware stay best when nobody knows who looks where?"
    }

    fn check(&self, settings: &Settings) -> Result<()> {
        distinct("rq4.sources", &settings.rq4.sources, 0)?;
        match settings.rq4.main {
            Source::EM | Source::EM_MLP => Ok(()),
            other => refuse(format!("rq4.main should be em or em-mlp, but is {other}")),
        }
    }

    fn runs(&self, settings: &Settings) -> Vec<Run> {
        let mut runs = settings.ideal_runs();
        for world in settings.main_worlds() {
            for model in &settings.models {
                let learning = settings.learning(model).into_iter();
                runs.extend(learning.map(|method| Run::new(world, method, settings.rq4.main, model)));
                runs.push(Run::new(world, Method::STRAIGHTFORWARD, Source::Cpbm, model));
                let sources = [Source::Known].into_iter().chain(settings.rq4.sources.iter().copied());
                runs.extend(sources.map(|source| Run::new(world, Method::USER_AWARE, source, model)));
            }
        }
        runs
    }

    fn claims(&self, results: &Results) -> Vec<Claim> {
        let (log, main) = (results.main_log(), results.settings.rq4.main);
        let claim = |model: &ModelForm| {
            let of = |method| results.on(log, method, main, model);
            let aware = of(Method::USER_AWARE)?;
            let mut parts = Part::ahead_of(&aware, &results.settings.possible(model, BASELINES), of)?;
            let cpbm = results.on(log, Method::STRAIGHTFORWARD, Source::Cpbm, model)?;
            parts.push(Part::ahead("against cpbm", aware.test(&cpbm, NDCG5)?));
            let text = format!("{}: with estimated examination user-aware is best", model.name());
            Some(Claim::new(Question::Rq4, text, parts))
        };
        results.settings.models.iter().filter_map(claim).collect()
    }

    fn blocks(&self, results: &Results) -> Option<Vec<Block>> {
        let table = methods_table(results)?;
        let mut blocks: Vec<Block> =
            results.settings.models.iter().map(|model| Block::Figure(methods_figure(results, model))).collect();
        blocks.push(Block::Table(table));
        blocks.extend(sources_table(results).map(Block::Table));
        blocks.extend(population_figure(results).map(Block::Figure));
        blocks.extend(users_figure(results).map(Block::Figure));
        Some(blocks)
    }
}

/// A row of the paper's table: who, by which θ, under which name.
struct Entry {
    method: Method,
    source: Source,
    name: String,
}

fn entries(results: &Results) -> Vec<Entry> {
    let main = results.settings.rq4.main;
    let entry = |method: Method| Entry { method, source: main, name: method.to_string() };
    let mut entries: Vec<Entry> = Method::ALL.into_iter().skip(1).map(entry).collect();
    let before = entries.iter().position(|entry| entry.method == Method::STRAIGHTFORWARD).unwrap_or(entries.len());
    entries.insert(before, Entry { method: Method::STRAIGHTFORWARD, source: Source::Cpbm, name: "cpbm".into() });
    entries
}

/// nDCG@5 of every method of the table, with its interval over seeds where there are several.
fn methods_figure(results: &Results, model: &ModelForm) -> Figure {
    // prs is far off, and would squeeze the others together.
    let shown = entries(results).into_iter().filter(|entry| entry.method != Method::PRS);
    let row = |entry: Entry| {
        let group = results.on(results.main_log(), entry.method, entry.source, model)?;
        Some(Dot { name: entry.name, ..dot(entry.method, &group) })
    };
    let intervals = if results.settings.seeds.len() > 1 { " with 95 % intervals over seeds" } else { "" };
    let rows = shown.filter_map(row).collect();
    Figure {
        name: format!("rq4-{}", model.to_string().replace([':', ','], "-")),
        caption: format!(
            "nDCG@5 of {} rankers with estimated examination{intervals}; prs is in the table.",
            model.name()
        ),
        chart: Chart::Dots(Dots { axis: Axis::new("nDCG@5", Format::Measure), rows }),
    }
}

fn methods_table(results: &Results) -> Option<Table> {
    let models = &results.settings.models;
    let of = |method, source, model: &ModelForm| results.on(results.main_log(), method, source, model);
    let row = |entry: Entry| {
        let cell = |model: &ModelForm| {
            let aware = of(Method::USER_AWARE, results.settings.rq4.main, model)?;
            let reference = (entry.method != Method::USER_AWARE).then_some(&aware);
            Some(interval_cell(&of(entry.method, entry.source, model)?, NDCG5, reference))
        };
        let mut cells: Vec<Cell> = models.iter().map(cell).collect::<Option<_>>()?;
        let theirs = |model| paper::with_estimated_examination(entry.method, entry.source == Source::Cpbm, model);
        cells.extend(models.iter().map(|model| paper_cell(theirs(model))));
        Some(method_row(entry.name, entry.method, cells))
    };
    let rows: Vec<Row> = entries(results).into_iter().filter_map(row).collect();
    let ours = models.iter().map(|model| Column::new(model.name(), Format::Measure).best(Best::Largest));
    let theirs = models.iter().map(|model| Column::new(model.name(), Format::Measure).paper());
    (rows.len() > 1).then(|| Table {
        name: "rq4".into(),
        caption: "nDCG@5 with examination estimated from the same clicks.".into(),
        label: "method".into(),
        columns: ours.chain(theirs).collect(),
        rows,
        notes: vec![
            marks(results.settings.seeds.len()),
            "ips-pbm, prs and prs-by-score use standard Regression-EM, the others the personalized one; cpbm corrects each click by its \
             own user with examination from a second log, in which half of the lists were shuffled."
                .into(),
            THEIRS.into(),
        ],
    })
}

/// Every source: how far its θ is from the truth, and what user-aware makes of it.
fn sources_table(results: &Results) -> Option<Table> {
    let models = &results.settings.models;
    let settings = &results.settings;
    let main = settings.rq4.main;
    let mut sources = vec![Source::Known, main.of_population(), main];
    sources.extend(settings.rq4.sources.iter().filter(|source| !sources.contains(source)).copied().collect::<Vec<_>>());
    let of = |source, model: &ModelForm| results.on(results.main_log(), Method::USER_AWARE, source, model);
    let row = |source: Source| {
        let errors = errors(results, source);
        let error = |value: Option<f64>| value.map_or_else(Cell::empty, Cell::value);
        let mut cells =
            vec![error(errors.as_ref().map(|e| e.population)), error(errors.as_ref().and_then(|e| e.users))];
        let nothing_estimated = |model: &ModelForm| main_group(results, Method::USER_AWARE, model);
        let cell = |model: &ModelForm| {
            let known: Option<Group<'_>> = nothing_estimated(model).filter(|_| source != Source::Known);
            Some(interval_cell(&of(source, model)?, NDCG5, known.as_ref()))
        };
        cells.extend(models.iter().map(|model| cell(model).unwrap_or_default()));
        cells
            .iter()
            .any(|cell| cell.value.is_some())
            .then(|| Row { competes: source != Source::Known, ..Row::new(describe(source), cells) })
    };
    let rows: Vec<Row> = sources.into_iter().filter_map(row).collect();
    let mut columns = vec![
        Column::new("error, population", Format::Percent).best(Best::Smallest),
        Column::new("error, users", Format::Percent).best(Best::Smallest),
    ];
    let of_model =
        |model: &ModelForm| Column::new(format!("nDCG@5, {}", model.name()), Format::Measure).best(Best::Largest);
    columns.extend(models.iter().map(of_model));
    (rows.len() > 1).then(|| Table {
        name: "rq4-sources".into(),
        caption: "Every way to find examination: how far it is from the truth, and what user-aware learns with it."
            .into(),
        label: "examination by".into(),
        columns,
        rows,
        notes: vec![
            "Errors are mean relative errors over positions past the first, and over users and positions with at least \
             1,000 expected examinations; means over seeds."
                .into(),
            marks_against("with the true examination", results.settings.seeds.len()),
        ],
    })
}

fn describe(source: Source) -> String {
    let what = match source {
        Source::Known => "the simulation's own",
        Source::Em { per_user: false, .. } => "Regression-EM, one for all users",
        Source::Em { .. } => "Regression-EM, personalized",
        Source::Swap => "swaps in a second log",
        Source::Harvesting => "harvesting from shuffled lists",
        Source::Cpbm => "contextual PBM on shuffled lists",
        Source::UserPbm => "click likelihood with features",
        Source::Dla => "dual learning",
    };
    format!("{source}: {what}")
}

/// Errors averaged over seeds.
struct Errors {
    population: f64,
    users: Option<f64>,
}

fn errors(results: &Results, source: Source) -> Option<Errors> {
    let of_world = |world| results.examination(world, source)?.error;
    let errors: Vec<_> = results.settings.main_worlds().map(of_world).collect::<Option<_>>()?;
    let population: Vec<f64> = errors.iter().map(|error| error.population).collect();
    let users: Option<Vec<f64>> = errors.iter().map(|error| error.users).collect();
    Some(Errors { population: mean(&population), users: users.map(|users| mean(&users)) })
}

/// The population's examination by each source beside the truth, of the first seed.
fn population_figure(results: &Results) -> Option<Figure> {
    let world = results.settings.main_worlds().next()?;
    let truth = results.examination(world, Source::Known)?.propensities.population.clone();
    let settings = &results.settings;
    let main = settings.rq4.main;
    let sources = [main.of_population(), main].into_iter().chain(settings.rq4.sources.iter().copied());
    let mut curves = vec![("truth".to_string(), truth, Style::Strong)];
    for source in sources {
        let Some(found) = results.examination(world, source) else { continue };
        curves.push((source.to_string(), found.propensities.population.clone(), Style::Plain));
    }
    let caption =
        "Examination of each position by all users together, as found by each source, for the first seed.".to_string();
    (curves.len() > 1).then(|| examination_figure("rq4-population", caption, curves))
}

/// What the main source says of each kind of user, of the first seed.
fn users_figure(results: &Results) -> Option<Figure> {
    let main = results.settings.rq4.main;
    let found = results.examination(results.settings.main_worlds().next()?, main)?;
    let caption = format!("Examination by each kind of user as {main} found it from the clicks of the first seed.");
    Some(examination_figure("rq4-users", caption, user_curves(&found.propensities)))
}
