//! How often `doctor` finds personalized bias, in logs that have it and in logs that do not; a table of docs/doctor.md.
//!
//! `cargo run --release -p truerank --example doctor_power [LOGS]`

use truerank::counts::{CountOptions, Counts, count_log};
use truerank::data::{Dataset, Generator, Preset};
use truerank::doctor::{Diagnosis, Difference, Doctor};
use truerank::progress::Silent;
use truerank::report::Verdict;
use truerank::simulate::{ShownLists, Simulation, paper_etas};

fn main() -> truerank::Result<()> {
    let logs: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    let data = Generator::preset(Preset::Small).queries(1000, 10, 10).generate()?.train;
    println!(
        "| users | sessions | queries differ | depths differ | bias: yes | no | open | level: p < .01 | depth: p < .01 | mean size of the \
         bias | at most | size of depth |"
    );
    println!("|{}", "---|".repeat(12));
    for users_per_cluster in [1, 50] {
        for sessions in [5_000, 50_000] {
            for (queries, depths) in [(true, true), (true, false), (false, true), (false, false)] {
                let found = (1..=logs)
                    .map(|seed| examine(&data, users_per_cluster, sessions, (queries, depths), seed))
                    .collect::<truerank::Result<Vec<_>>>()?;
                let [queries, depths] = [queries, depths].map(|differ| if differ { "yes" } else { "no" });
                println!("| {} | {sessions} | {queries} | {depths} | {} |", 10 * users_per_cluster, row(&found));
            }
        }
    }
    println!("\nThe true size of depth is {:.2}, and with 50 users in each cluster {:.2}.", size(0.0), size(0.1));
    Ok(())
}

fn examine(
    data: &Dataset,
    users: usize,
    sessions: u64,
    (queries, depths): (bool, bool),
    seed: u64,
) -> truerank::Result<Diagnosis> {
    let mut simulation = Simulation::new().sessions(sessions).shared_queries(!queries).seed(seed);
    simulation = simulation.users_per_cluster(users).user_noise(if depths { 0.1 } else { 0.0 });
    if !depths {
        simulation = simulation.etas(vec![1.0; 10]);
    }
    Doctor::new().examine(&log(data, simulation)?, None, None, &Silent)
}

/// Lists by the first feature, and clicks on them.
fn log(data: &Dataset, simulation: Simulation) -> truerank::Result<Counts> {
    let first: Vec<f32> = (0..data.len()).map(|row| data.row(row)[0]).collect();
    let lists = [ShownLists::top(data, &first, 10)?];
    Ok(count_log(&simulation.prepare(data, &lists)?.log(), &CountOptions::new())?.0)
}

fn row(found: &[Diagnosis]) -> String {
    let count = |is: &dyn Fn(&Diagnosis) -> bool| found.iter().filter(|found| is(found)).count().to_string();
    let verdict = |verdict| count(&|found| found.personalized_bias() == verdict);
    let mean = |of: &dyn Fn(&Diagnosis) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
    let tested = |found: &Diagnosis, of: fn(&Difference) -> bool, depth: bool| {
        let both = found.differences.as_ref();
        both.and_then(|both| if depth { both.depth.as_ref() } else { both.level.as_ref() }).is_some_and(of)
    };
    let significant = |depth| count(&|diagnosis| tested(diagnosis, |found| found.test.p < 0.01, depth));
    let bias = mean(&|found| found.bias.as_ref().map_or(0.0, |bias| bias.typical));
    let most = mean(&|found| found.bias.as_ref().and_then(|bias| bias.at_most).unwrap_or(f64::INFINITY));
    let depth = mean(&|found| found.differences.as_ref().and_then(|both| both.depth.as_ref()).map_or(0.0, |d| d.size));
    [
        verdict(Verdict::Holds),
        verdict(Verdict::DoesNotHold),
        verdict(Verdict::Open),
        significant(false),
        significant(true),
        format!("{:.1} %", 100.0 * bias),
        if most.is_finite() { format!("{:.1} %", 100.0 * most) } else { "unknown in some".into() },
        format!("{depth:.2}"),
    ]
    .join(" | ")
}

/// The standard deviation of η between users, by sessions, where each user's has this noise.
fn size(noise: f64) -> f64 {
    let etas = paper_etas(10).expect("the paper has 10 clusters");
    let shares: Vec<f64> = (0..10).map(|cluster| 1.25f64.powi(-cluster)).collect();
    let mean = |value: &dyn Fn(f64) -> f64| {
        etas.iter().zip(&shares).map(|(&eta, share)| share * value(eta)).sum::<f64>() / shares.iter().sum::<f64>()
    };
    let middle = mean(&|eta| eta);
    (mean(&|eta| (eta - middle).powi(2)) + noise * noise).sqrt()
}
