//! Estimates examination by every method on a simulated log, and prints how far each is from the truth.
//!
//! `cargo run --release -p truerank --example estimate_propensities -- --preset small --sessions 1000000 --seeds 3`

use std::time::Instant;

use truerank::Result;
use truerank::counts::{CountOptions, Counts, count_log};
use truerank::data::{Dataset, Generator, Preset};
use truerank::progress::Silent;
use truerank::propensity::{
    Cpbm, EmUsers, InterventionHarvesting, Propensities, RegressionEm, RelevanceForm, SwapExperiment, UserPbm,
};
use truerank::ranker::{Dla, production_ranker};
use truerank::simulate::{ShownLists, Simulation};

fn main() -> Result<()> {
    let preset: Preset = argument("--preset", "small").parse()?;
    let sessions: u64 = argument("--sessions", "1000000").parse().expect("--sessions is a number");
    let seeds: u64 = argument("--seeds", "1").parse().expect("--seeds is a number");
    let only = argument("--only", "");
    println!("| seed | method | relevance by | log | iterations | seconds | population | users | rare users |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for seed in 1..=seeds {
        let data = Generator::preset(preset).seed(seed).generate()?.train;
        let production = production_ranker(&data, 0.01, seed, &Silent)?;
        let lists = [ShownLists::top(&data, &production.score(&data)?, 10)?];
        let simulation = Simulation::new().sessions(sessions).seed(seed);
        for (log, swapped, shuffled) in
            [("one ranking", 0.0, 0.0), ("half swapped", 0.5, 0.0), ("half shuffled", 0.0, 0.5)]
        {
            let simulator = simulation.clone().swap(swapped).shuffle(shuffled).prepare(&data, &lists)?;
            let methods: Vec<_> =
                methods().into_iter().filter(|m| m.log == log && (only.is_empty() || m.name == only)).collect();
            if methods.is_empty() {
                continue;
            }
            let (counts, _) = count_log(&simulator.log(), &CountOptions::new())?;
            for method in methods {
                method.print(seed, &counts, &data, &simulator.propensities())?;
            }
        }
    }
    Ok(())
}

fn argument(name: &str, default: &str) -> String {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned().unwrap_or_else(|| default.to_string())
}

type Estimate = Box<dyn Fn(&Counts, &Dataset) -> Result<Propensities>>;

struct Method {
    name: &'static str,
    relevance: &'static str,
    log: &'static str,
    estimate: Estimate,
}

impl Method {
    fn print(&self, seed: u64, counts: &Counts, data: &Dataset, truth: &Propensities) -> Result<()> {
        let start = Instant::now();
        let found = (self.estimate)(counts, data)?;
        let seconds = start.elapsed().as_secs_f64();
        let iterations = found.details.fit.as_ref().map_or(String::new(), |fit| fit.log_likelihood.len().to_string());
        let error = found.error_against(truth, counts)?;
        let percent = |share: Option<f64>| share.map_or(String::new(), |share| format!("{:.1} %", 100.0 * share));
        println!(
            "| {seed} | {} | {} | {} | {iterations} | {seconds:.1} | {} | {} | {} |",
            self.name,
            self.relevance,
            self.log,
            percent(Some(error.population)),
            percent(error.users),
            percent(error.rare)
        );
        Ok(())
    }
}

fn methods() -> Vec<Method> {
    let em = |users: EmUsers, form: RelevanceForm| -> Estimate {
        Box::new(move |counts, data| {
            let em = RegressionEm::new().users(users.clone()).relevance(form.clone()).resamples(0);
            Ok(em.estimate(counts, Some(data), &Silent)?.propensities)
        })
    };
    let mut methods = Vec::new();
    let mut add = |name, relevance, log, estimate| methods.push(Method { name, relevance, log, estimate });
    for (relevance, form) in [("linear", RelevanceForm::Linear), ("mlp:64,32", RelevanceForm::mlp())] {
        add("em", relevance, "one ranking", em(EmUsers::Together, form.clone()));
        add("personalized em", relevance, "one ranking", em(EmUsers::Each, form));
    }
    let plain: Estimate = Box::new(|counts, data| {
        let em = RegressionEm::new().accelerated(false).iterations(20_000).resamples(0);
        Ok(em.estimate(counts, Some(data), &Silent)?.propensities)
    });
    add("plain em", "linear", "one ranking", plain);
    let pbm = |per_user| -> Estimate {
        Box::new(move |counts, data| UserPbm::new().per_user(per_user).estimate(counts, data, &Silent))
    };
    add("pbm", "mlp:64,32", "one ranking", pbm(false));
    add("user-pbm", "mlp:64,32", "one ranking", pbm(true));
    add(
        "dla",
        "linear",
        "one ranking",
        Box::new(|counts, data| Ok(Dla::new().seed(0).fit(data, counts, None, &Silent)?.1)),
    );
    add(
        "swap",
        "",
        "half swapped",
        Box::new(|counts, _| SwapExperiment::new().per_user(true).resamples(0).estimate(counts)),
    );
    add("personalized em", "table", "half shuffled", em(EmUsers::Each, RelevanceForm::Table));
    add(
        "harvesting",
        "",
        "half shuffled",
        Box::new(|counts, _| InterventionHarvesting::new().per_user(true).resamples(0).estimate(counts)),
    );
    add("cpbm", "", "half shuffled", Box::new(|counts, _| Cpbm::new().seed(0).estimate(counts, &Silent)));
    methods
}
