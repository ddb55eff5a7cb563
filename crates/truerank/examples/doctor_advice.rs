//! How often the estimator that `doctor` advises is the best, or level with it, by the truth; a table of docs/doctor.md.
//!
//! `cargo run --release -p truerank --example doctor_advice [LOGS]` draws so many logs of each of eight kinds. The truth is
//! nDCG@10 of the order that weights give to the shown documents of a query, with the simulation's relevance as gain. Level is within two
//! standard errors of the paired differences over queries, or .001.

use truerank::counts::{Cell, CountOptions, Counts, count_log};
use truerank::data::{Dataset, Generator, Preset};
use truerank::doctor::{Diagnosis, Doctor};
use truerank::progress::Silent;
use truerank::propensity::{EmUsers, Propensities, RegressionEm, RelevanceForm};
use truerank::relevance::{Estimation, EstimationChoice, Estimator, KnownLog, RelevancePredictor};
use truerank::simulate::{ShownLists, Simulation, Simulator, paper_etas};

/// A kind of log.
struct Kind {
    name: &'static str,
    per_query: u64,
    features: bool,
    rankers: usize,
    change: fn(Simulation) -> Simulation,
}

const KINDS: [Kind; 8] = [
    Kind { name: "fixed lists, features, plenty", per_query: 100, features: true, rankers: 1, change: |s| s },
    Kind { name: "fixed lists, features, sparse", per_query: 5, features: true, rankers: 1, change: |s| s },
    Kind { name: "shuffled lists, plenty", per_query: 100, features: false, rankers: 1, change: |s| s.shuffle(1.0) },
    Kind { name: "a third shuffled, sparse", per_query: 8, features: false, rankers: 1, change: |s| s.shuffle(0.33) },
    Kind { name: "two rankers", per_query: 30, features: false, rankers: 2, change: |s| s },
    Kind { name: "Zipf, features", per_query: 20, features: true, rankers: 1, change: |s| s.zipf(1.0) },
    Kind {
        name: "no position bias, two rankers",
        per_query: 30,
        features: false,
        rankers: 2,
        change: |s| s.etas(vec![0.0; 10]),
    },
    Kind {
        name: "users alike, swaps, features",
        per_query: 20,
        features: true,
        rankers: 1,
        change: |s| s.etas(vec![1.0; 10]).swap(0.3),
    },
];

const QUERIES: usize = 200;

fn main() -> truerank::Result<()> {
    let logs: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    println!(
        "| kind of log | advised is best or level | advised, how often | mean nDCG: advised | default | best | naive | as shown |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (mut right, mut all) = (0, 0);
    for kind in &KINDS {
        let tried = (1..=logs).map(|seed| kind.try_out(seed)).collect::<truerank::Result<Vec<_>>>()?;
        right += tried.iter().filter(|tried| tried.is_right()).count();
        all += tried.len();
        println!("| {} | {} |", kind.name, row(&tried));
    }
    println!("\nThe advised estimator is the best or level with it in {right} of {all} logs.");
    cost_of_bias()
}

/// What treating users alike costs, by how much they differ: a million sessions, known examination.
fn cost_of_bias() -> truerank::Result<()> {
    let data = Generator::preset(Preset::Small).queries(QUERIES, 10, 10).generate()?.train;
    let lists = [lists(&data, 0)?];
    let etas = paper_etas(10).expect("the paper has 10 clusters");
    println!("\n| spread of users, paper = 1 | bias of ips-pbm | nDCG@10 by ips-pbm | by user-aware | lost |");
    println!("|---|---|---|---|---|");
    for spread in [0.0, 0.05, 0.1, 0.2, 0.4, 1.0] {
        let drawn_in = etas.iter().map(|eta| 1.0 + spread * (eta - 1.0)).collect();
        let simulator = Simulation::new().etas(drawn_in).prepare(&data, &lists)?;
        let (counts, theta) = (simulator.counts()?, simulator.propensities());
        let truth = truth(&counts, &data, &simulator);
        let queries: Vec<u32> = documents(&counts).map(|cells| cells[0].query).collect();
        let ndcg = |estimator| {
            let weights = Estimation::new(estimator).estimate(&counts, &theta)?.weights;
            let scores: Vec<f64> = weights.iter().map(|weight| weight.weight).collect();
            let values = ndcg_by_query(&queries, &scores, &truth);
            Ok::<f64, truerank::Error>(values.iter().sum::<f64>() / values.len() as f64)
        };
        let (ips, aware) = (ndcg(Estimator::IpsPbm)?, ndcg(Estimator::UserAware)?);
        let bias = 100.0 * bias(&counts, &theta);
        println!("| {spread} | {bias:.1} % | {ips:.4} | {aware:.4} | {:.4} |", aware - ips);
    }
    Ok(())
}

/// The root mean squared distance over impressions of `Σ n·θ(u,k) / Σ n·θ̄(k)` of a document from 1.
fn bias(counts: &Counts, theta: &Propensities) -> f64 {
    let (mut squares, mut shown) = (0.0, 0.0);
    for cells in documents(counts) {
        let sum =
            |value: &dyn Fn(&Cell) -> f64| cells.iter().map(|cell| cell.impressions as f64 * value(cell)).sum::<f64>();
        let place = |cell: &Cell| cell.position as usize - 1;
        let ratio =
            sum(&|cell| theta.of_user(cell.user as usize)[place(cell)]) / sum(&|cell| theta.population[place(cell)]);
        squares += sum(&|_| (ratio - 1.0).powi(2));
        shown += sum(&|_| 1.0);
    }
    (squares / shown).sqrt()
}

fn documents(counts: &Counts) -> impl Iterator<Item = &[Cell]> {
    counts.cells.chunk_by(|a, b| (a.query, a.doc) == (b.query, b.doc))
}

/// What came of one log.
struct Tried {
    advised: usize,
    names: Vec<String>,
    /// nDCG of each query by each estimator, then by the default, then as shown.
    truth: Vec<Vec<f64>>,
}

impl Kind {
    fn try_out(&self, seed: u64) -> truerank::Result<Tried> {
        let data = Generator::preset(Preset::Small).queries(QUERIES, 10, 10).seed(seed).generate()?.train;
        let lists: Vec<ShownLists> =
            (0..self.rankers).map(|ranker| lists(&data, ranker)).collect::<truerank::Result<_>>()?;
        let simulation = Simulation::new().sessions(self.per_query * QUERIES as u64).seed(seed);
        let simulator = (self.change)(simulation).prepare(&data, &lists)?;
        let counts = count_log(&simulator.log(), &CountOptions::new())?.0;
        let features = self.features.then_some(&data);
        let form = if self.features { RelevanceForm::Linear } else { RelevanceForm::Table };
        let em = RegressionEm::new().users(EmUsers::suited_to(counts.users.len())).relevance(form).resamples(0);
        let log = KnownLog::estimated(&counts, features, em);
        let diagnosis = Doctor::new().permutations(1).examine_known(&log, None, &Silent)?;
        Tried::new(&counts, &log, &diagnosis, &truth(&counts, &data, &simulator))
    }
}

/// Lists by the feature of this number.
fn lists(data: &Dataset, feature: usize) -> truerank::Result<ShownLists> {
    let scores: Vec<f32> = (0..data.len()).map(|row| data.row(row)[feature]).collect();
    ShownLists::top(data, &scores, 10)
}

/// The true relevance of each shown document of each query, in the order of counts.
fn truth(counts: &Counts, data: &Dataset, simulator: &Simulator<'_>) -> Vec<f64> {
    let mut pairs: Vec<(u32, u32)> = counts.cells.iter().map(|cell| (cell.query, cell.doc)).collect();
    pairs.dedup();
    let queries = counts.queries.numbers_in(data.queries());
    let row = |(query, doc): (u32, u32)| {
        let query = queries[query as usize].expect("a query of the data");
        let name = counts.docs.name(doc as usize);
        data.rows_of(query as usize).find(|&row| data.docs().name(row) == name).expect("a document of the query")
    };
    pairs.into_iter().map(|pair| simulator.relevance()[row(pair)]).collect()
}

impl Tried {
    fn new(counts: &Counts, log: &KnownLog<'_>, diagnosis: &Diagnosis, relevance: &[f64]) -> truerank::Result<Self> {
        let default = EstimationChoice::default().estimation(log, &RelevancePredictor::new(), &Silent)?;
        let exposures = log.exposures(&Silent)?;
        let mut estimations: Vec<Estimation> = Estimator::all().into_iter().map(Estimation::new).collect();
        estimations.push(default);
        let weights = |estimation: &Estimation| {
            Ok(estimation.weigh(exposures)?.relevance()?.weights.iter().map(|weight| weight.weight).collect())
        };
        let mut scores = estimations.iter().map(weights).collect::<truerank::Result<Vec<Vec<f64>>>>()?;
        scores.push(documents(counts).map(|cells| -mean_position(cells)).collect());
        let queries: Vec<u32> = documents(counts).map(|cells| cells[0].query).collect();
        let advised = &diagnosis.recommendation;
        let names: Vec<String> = diagnosis.estimators.iter().map(|quality| quality.label()).collect();
        let is_advised = |quality: &truerank::doctor::ExpectedQuality| {
            (quality.estimator, quality.shrunk) == (Some(advised.estimator), advised.is_default)
        };
        Ok(Tried {
            advised: diagnosis.estimators.iter().position(is_advised).expect("the advised is in the table"),
            names,
            truth: scores.iter().map(|scores| ndcg_by_query(&queries, scores, relevance)).collect(),
        })
    }

    fn mean(&self, name: usize) -> f64 {
        self.truth[name].iter().sum::<f64>() / self.truth[name].len() as f64
    }

    /// The best estimator.
    fn best(&self) -> usize {
        (0..self.names.len() - 1).max_by(|&a, &b| self.mean(a).total_cmp(&self.mean(b))).unwrap_or(0)
    }

    fn is_right(&self) -> bool {
        let (best, advised) = (&self.truth[self.best()], &self.truth[self.advised]);
        let behind = self.mean(self.best()) - self.mean(self.advised);
        let squares: f64 = best.iter().zip(advised).map(|(a, b)| (a - b - behind).powi(2)).sum();
        let error = (squares / (best.len() as f64 * (best.len() as f64 - 1.0))).sqrt();
        behind <= (2.0 * error).max(0.001)
    }
}

fn row(tried: &[Tried]) -> String {
    let mean = |of: &dyn Fn(&Tried) -> f64| format!("{:.4}", tried.iter().map(of).sum::<f64>() / tried.len() as f64);
    let mut advised: Vec<&str> = tried.iter().map(|tried| tried.names[tried.advised].as_str()).collect();
    advised.sort_unstable();
    let advised: Vec<String> =
        advised.chunk_by(|a, b| a == b).map(|same| format!("{} {}", same[0], same.len())).collect();
    let default = tried[0].names.len() - 2;
    [
        format!("{} of {}", tried.iter().filter(|tried| tried.is_right()).count(), tried.len()),
        advised.join("; "),
        mean(&|tried| tried.mean(tried.advised)),
        mean(&|tried| tried.mean(default)),
        mean(&|tried| tried.mean(tried.best())),
        mean(&|tried| tried.mean(0)),
        mean(&|tried| tried.mean(default + 1)),
    ]
    .join(" | ")
}

fn mean_position(cells: &[Cell]) -> f64 {
    let sum = |value: fn(&Cell) -> f64| cells.iter().map(value).sum::<f64>();
    sum(|cell| cell.impressions as f64 * f64::from(cell.position)) / sum(|cell| cell.impressions as f64)
}

fn ndcg_by_query(queries: &[u32], scores: &[f64], gains: &[f64]) -> Vec<f64> {
    let mut start = 0;
    let of_query = |of_query: &[u32]| {
        let range = start..start + of_query.len();
        start = range.end;
        let gains = &gains[range.clone()];
        dcg(&scores[range], gains) / dcg(gains, gains)
    };
    queries.chunk_by(|a, b| a == b).map(of_query).collect()
}

/// DCG@10 of the order by `scores`; equal ones are in random order.
fn dcg(scores: &[f64], gains: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (mut rank, mut sum) = (0, 0.0);
    for equal in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let ranks = rank + 1..=rank + equal.len();
        rank += equal.len();
        let discounts: f64 = ranks.filter(|&rank| rank <= 10).map(|rank| 1.0 / ((rank + 1) as f64).log2()).sum();
        sum += discounts * equal.iter().map(|&doc| gains[doc]).sum::<f64>() / equal.len() as f64;
    }
    sum
}
