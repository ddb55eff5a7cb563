//! How often `doctor` finds personalized bias, in logs that have it and in logs that do not; the table of docs/doctor.md.
//!
//! `cargo run --release --example doctor_power`

use truerank::counts::Counts;
use truerank::data::{Dataset, Generator, Preset};
use truerank::doctor::Doctor;
use truerank::progress::Silent;
use truerank::report::Verdict;
use truerank::simulate::{ShownLists, Simulation};

const SEEDS: u64 = 20;

fn main() -> truerank::Result<()> {
    let data = Generator::preset(Preset::Small).queries(1000, 10, 10).generate()?.train;
    println!("| users | sessions | queries differ | depths differ | found in {SEEDS} logs | mean size of the bias |");
    println!("|---|---|---|---|---|---|");
    for users_per_cluster in [1, 50] {
        for sessions in [5_000, 50_000] {
            for (queries, depths) in [(true, true), (true, false), (false, true), (false, false)] {
                let (found, bias) = try_out(&data, users_per_cluster, sessions, queries, depths)?;
                let users = 10 * users_per_cluster;
                println!("| {users} | {sessions} | {queries} | {depths} | {found} | {:.1} % |", 100.0 * bias);
            }
        }
    }
    Ok(())
}

/// In how many logs bias is found, and its mean size.
fn try_out(data: &Dataset, users: usize, sessions: u64, queries: bool, depths: bool) -> truerank::Result<(usize, f64)> {
    let (mut found, mut bias) = (0, 0.0);
    for seed in 1..=SEEDS {
        let mut simulation = Simulation::new().sessions(sessions).personal_queries(queries).seed(seed);
        simulation = simulation.users_per_cluster(users).user_noise(if depths { 0.1 } else { 0.0 });
        if !depths {
            simulation = simulation.etas(vec![1.0; 10]);
        }
        let diagnosis = Doctor::new().examine(&log(data, simulation)?, None, None, &Silent)?;
        found += usize::from(diagnosis.personalized_bias() == Verdict::Holds);
        bias += diagnosis.bias.map_or(0.0, |bias| bias.typical) / SEEDS as f64;
    }
    Ok((found, bias))
}

/// Lists by the first feature, and clicks on them.
fn log(data: &Dataset, simulation: Simulation) -> truerank::Result<Counts> {
    let first: Vec<f32> = (0..data.len()).map(|row| data.row(row)[0]).collect();
    let lists = [ShownLists::top(data, &first, 10)?];
    simulation.prepare(data, &lists)?.counts()
}
