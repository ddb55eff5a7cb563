//! Compares the default weights with every estimator over sizes of logs, traffic, users, rankers and data.
//!
//! `cargo run --release -p truerank --example regularised -- DATA SEEDS [--ranker linear-raw|mlp:32,16]
//! [--examination known|estimated] [--sizes 1,3,6,20,60,330] [--candidates N]` prints a table: a row for each kind of log, nDCG@5
//! by the grades of test queries as mean over logs for each method, and p of paired t-tests over logs between the default and
//! the best of the others.
//!
//! DATA is `generated`, or files to join, separated by commas; where one is missing it says so and ends. Seeds are like `1-5`: each
//! is a data set, or a division of the queries, and a log. Logs of even seeds have 5 % of shuffled lists. With `--candidates` a
//! production ranker chooses so many documents of each query first, as it does where rankers are used to rerank.

use std::ops::RangeInclusive;
use std::path::Path;

use truerank::counts::{CountOptions, Counts, count_log};
use truerank::data::{Dataset, DatasetBuilder, Generator, Preset, ReadOptions, Splits, read_dataset};
use truerank::evaluate::{Evaluator, Measure, paired_t_test};
use truerank::ids::Ids;
use truerank::progress::Silent;
use truerank::propensity::{EmUsers, Propensities, RegressionEm, RelevanceForm};
use truerank::ranker::{ModelForm, Ranker, Training, TrainingLists, production_ranker};
use truerank::relevance::{
    Estimation, EstimationChoice, Estimator, KnownLog, Prior, PriorKind, Relevance, RelevancePredictor, Shrink,
    estimate,
};
use truerank::simulate::{ShownLists, Simulation};

const NDCG5: Measure = Measure::Ndcg(Some(5));

/// Documents that are shown.
const SHOWN: usize = 10;

/// The last two are ours: with features, and with a prior by position.
const METHODS: [&str; 9] =
    ["ideal", "naive", "ips-pbm", "user-aware", "smoothed", "+ mean", "+ model", "default", "by position"];

/// What the default must not fall below.
const OTHERS: std::ops::Range<usize> = 1..7;
const DEFAULT: usize = 7;

/// A kind of log.
#[derive(Clone, Copy)]
struct Kind {
    per_query: u64,
    zipf: bool,
    many: bool,
}

struct Options {
    data: String,
    seeds: RangeInclusive<u64>,
    form: ModelForm,
    estimated: bool,
    sizes: Vec<u64>,
    candidates: Option<usize>,
}

fn main() -> truerank::Result<()> {
    let options = Options::read()?;
    if options.data != "generated"
        && let Some(missing) = options.data.split(',').find(|file| !Path::new(file).exists())
    {
        println!("skipped: there is no {missing}");
        return Ok(());
    }
    println!("| sessions per query | traffic | users | {} | best other | difference | p |", METHODS.join(" | "));
    println!("|{}", "---|".repeat(METHODS.len() + 6));
    let mut tally = Tally::default();
    for &per_query in &options.sizes {
        for (zipf, many) in [(false, false), (false, true), (true, false), (true, true)] {
            let kind = Kind { per_query, zipf, many };
            let run = |seed| values(&options, kind, seed);
            tally.add(kind, &options.seeds.clone().map(run).collect::<truerank::Result<Vec<_>>>()?);
        }
    }
    println!("\n{}", tally.sentence());
    Ok(())
}

impl Options {
    fn read() -> truerank::Result<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let option = |name: &str, default: &str| {
            let place = arguments.iter().position(|argument| argument == name);
            place.map_or(default, |place| arguments[place + 1].as_str()).to_string()
        };
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let (first, last) = arguments[1].split_once('-').expect("seeds like 1-5");
        Ok(Options {
            data: arguments[0].clone(),
            seeds: number(first)..=number(last),
            form: option("--ranker", "linear-raw").parse()?,
            estimated: option("--examination", "known") == "estimated",
            sizes: option("--sizes", "1,3,6,20,60,330").split(',').map(number).collect(),
            candidates: option("--candidates", "").parse().ok(),
        })
    }
}

/// nDCG@5 of each method on one log.
fn values(options: &Options, kind: Kind, seed: u64) -> truerank::Result<Vec<f64>> {
    let data = read(&options.data, seed)?;
    let max_grade = data.train.grades().and_then(|grades| grades.iter().max()).copied().unwrap_or(1);
    // Four labelled queries, or 1 %.
    let share = (4.0 / data.train.query_count() as f64).max(0.01);
    let production = production_ranker(&data.train, share, seed, &Silent)?;
    let data = match options.candidates {
        Some(count) => Splits {
            train: candidates(&data.train, &production, count)?,
            validation: candidates(&data.validation, &production, count)?,
            test: candidates(&data.test, &production, count)?,
        },
        None => data,
    };
    let lists = [ShownLists::top(&data.train, &production.score(&data.train)?, SHOWN)?];
    let simulator = simulation(kind, data.train.query_count(), max_grade, seed).prepare(&data.train, &lists)?;
    let counts = count_log(&simulator.log(), &CountOptions::new())?.0;
    let theta = match options.estimated {
        true => estimated(&counts, &data.train, kind)?,
        false => simulator.propensities(),
    };
    let shown: Vec<Vec<u32>> = (0..data.train.query_count()).map(|query| lists[0].of(query).to_vec()).collect();
    let ideal = TrainingLists::from_grades(&data.train, max_grade, Some(&shown))?;
    let of_clicks = weights(&counts, &theta, &data.train)?.into_iter();
    let of_clicks = of_clicks.map(|weights| Ok(TrainingLists::from_relevance(&data.train, &weights)?.0));
    let all = std::iter::once(Ok(ideal)).chain(of_clicks);
    all.map(|lists| ndcg(&data, &lists?, max_grade, &options.form, seed)).collect()
}

fn simulation(kind: Kind, queries: usize, max_grade: u8, seed: u64) -> Simulation {
    Simulation::new()
        .sessions(kind.per_query * queries as u64)
        .seed(seed)
        .max_grade(max_grade)
        .users_per_cluster(if kind.many { 300 } else { 1 })
        .user_noise(if kind.many { 0.1 } else { 0.0 })
        .zipf(if kind.zipf { 1.0 } else { 0.0 })
        .shuffle(if seed.is_multiple_of(2) { 0.05 } else { 0.0 })
}

/// Ten users each have their own examination; of thousands with few sessions that of all together is estimated.
fn estimated(counts: &Counts, data: &Dataset, kind: Kind) -> truerank::Result<Propensities> {
    let users = if kind.many { EmUsers::Together } else { EmUsers::suited_to(counts.users.len()) };
    let em = RegressionEm::new().users(users).relevance(RelevanceForm::Linear).resamples(0);
    Ok(em.estimate(counts, Some(data), &Silent)?.propensities)
}

/// Weights by each method but `ideal`.
fn weights(counts: &Counts, theta: &Propensities, data: &Dataset) -> truerank::Result<Vec<Relevance>> {
    let plain = [Estimator::Naive, Estimator::IpsPbm, Estimator::UserAware, Estimator::default()];
    let mut all = plain.into_iter().map(|one| estimate(counts, theta, one)).collect::<truerank::Result<Vec<_>>>()?;
    let log = KnownLog::examined(counts, Some(data), theta);
    let model = Prior::Model(RelevancePredictor::new().predict(&log, &Silent)?);
    let exposures = log.exposures(&Silent)?;
    for prior in [Prior::Mean, model.clone()] {
        let shrunk = Estimation::new(Estimator::default()).prior(prior).shrink(Shrink::Auto);
        all.push(as_labels(shrunk.weigh(exposures)?.relevance()?));
    }
    all.push(EstimationChoice::default().with_prior(model).weigh(exposures)?.relevance()?);
    all.push(Estimation::default().weigh(exposures)?.relevance()?);
    Ok(all)
}

/// Weights that a ranker learns from as they are.
fn as_labels(mut relevance: Relevance) -> Relevance {
    relevance.correction.prior = PriorKind::None;
    relevance
}

fn ndcg(data: &Splits, lists: &TrainingLists, max_grade: u8, form: &ModelForm, seed: u64) -> truerank::Result<f64> {
    let evaluator = Evaluator::new(vec![NDCG5]).max_grade(max_grade);
    let validation = evaluator.validation(&data.validation)?;
    let ranker = match form {
        ModelForm::LinearRaw => Training::new().model(ModelForm::LinearRaw).patience(10).fit_targets(
            &data.train,
            lists,
            Some(&validation),
            &Silent,
        )?,
        network => {
            let trainer = Training::new().model(network.clone()).steps(200).patience(5);
            trainer.seed(seed).fit_targets(&data.train, lists, Some(&validation), &Silent)?
        }
    };
    Ok(evaluator.evaluate(&data.test, &ranker.score(&data.test)?)?.mean(NDCG5).unwrap_or(f64::NAN))
}

/// What is counted over kinds of logs.
#[derive(Default)]
struct Tally {
    kinds: usize,
    best: usize,
    above: usize,
    below: usize,
    /// Sums of the means of each method.
    sums: [f64; METHODS.len()],
}

impl Tally {
    /// Prints a row; `runs` has the values of each method for each log.
    fn add(&mut self, kind: Kind, runs: &[Vec<f64>]) {
        let of = |method: usize| runs.iter().map(|run| run[method]).collect::<Vec<f64>>();
        let mean = |method: usize| of(method).iter().sum::<f64>() / runs.len() as f64;
        let best = OTHERS.max_by(|&a, &b| mean(a).total_cmp(&mean(b))).unwrap_or(OTHERS.start);
        let difference = mean(DEFAULT) - mean(best);
        let p = paired_t_test(&of(DEFAULT), &of(best)).map_or(1.0, |test| test.p);
        let values: Vec<String> = (0..METHODS.len()).map(|method| format!("{:.4}", mean(method))).collect();
        println!(
            "| {} | {} | {} | {} | {} | {difference:+.4} | {p:.3} |",
            kind.per_query,
            if kind.zipf { "Zipf" } else { "uniform" },
            if kind.many { "3,000" } else { "10" },
            values.join(" | "),
            METHODS[best]
        );
        self.kinds += 1;
        self.best += usize::from(difference >= 0.0);
        self.above += usize::from(difference > 0.0 && p < 0.05);
        self.below += usize::from(difference < 0.0 && p < 0.05);
        (0..METHODS.len()).for_each(|method| self.sums[method] += mean(method));
    }

    fn sentence(&self) -> String {
        let mean = |(name, sum): (&&str, &f64)| format!("{name} {:.4}", sum / self.kinds.max(1) as f64);
        let means: Vec<String> = METHODS.iter().zip(&self.sums).map(mean).collect();
        format!(
            "The default is best in {} of {} kinds of logs, above the best other with p < .05 in {}, below it with p < .05 in \
             {}. Means over kinds: {}.",
            self.best,
            self.kinds,
            self.above,
            self.below,
            means.join(", ")
        )
    }
}

/// The data set of a seed: generated, or all queries of the files dealt anew into 60 %, 10 % and 30 %.
fn read(path: &str, seed: u64) -> truerank::Result<Splits> {
    if path == "generated" {
        return Generator::preset(Preset::Small).queries(400, 60, 300).seed(seed).generate();
    }
    let files = path.split(',').map(|file| read_dataset(Path::new(file), &ReadOptions::new()));
    let all = join(&files.collect::<truerank::Result<Vec<_>>>()?)?;
    let order = shuffled(all.query_count(), seed);
    let (train, validation) = (order.len() * 6 / 10, order.len() * 7 / 10);
    let part = |queries: &[usize]| {
        let mut queries = queries.to_vec();
        queries.sort_unstable();
        all.select(&queries)
    };
    Ok(Splits {
        train: part(&order[..train]),
        validation: part(&order[train..validation]),
        test: part(&order[validation..]),
    })
}

/// The numbers below `count`, ordered by a multiplicative hash.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let hash = |number: usize| {
        let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed.wrapping_mul(0xD1B5_4A32_D192_ED03);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&number| hash(number) >> 20);
    order
}

/// All queries of several files.
fn join(parts: &[Dataset]) -> truerank::Result<Dataset> {
    let (mut features, mut grades, mut names, mut query_ends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let feature_count = parts.iter().map(Dataset::feature_count).max().unwrap_or(0);
    for part in parts {
        let part = part.clone().widen(feature_count);
        let of_part = part.require_grades("comparing rankers")?;
        for (query, rows) in part.lists().enumerate() {
            names.push(part.queries().name(query).parse::<i64>().expect("a number"));
            grades.extend_from_slice(&of_part[rows.clone()]);
            rows.for_each(|row| features.extend_from_slice(part.row(row)));
            query_ends.push(grades.len());
        }
    }
    let queries = Ids::Integers(names);
    DatasetBuilder { features, feature_count, grades: Some(grades), queries, query_ends, docs: None }.build()
}

/// The documents of each query that the ranker puts first.
fn candidates(data: &Dataset, ranker: &Ranker, count: usize) -> truerank::Result<Dataset> {
    let best = ShownLists::top(data, &ranker.score(data)?, count)?;
    let all_grades = data.require_grades("comparing rankers")?;
    let (mut features, mut grades, mut query_ends) = (Vec::new(), Vec::new(), Vec::new());
    for query in 0..data.query_count() {
        for &row in best.of(query) {
            features.extend_from_slice(data.row(row as usize));
            grades.push(all_grades[row as usize]);
        }
        query_ends.push(grades.len());
    }
    let (feature_count, queries) = (data.feature_count(), data.queries().clone());
    DatasetBuilder { features, feature_count, grades: Some(grades), queries, query_ends, docs: None }.build()
}
