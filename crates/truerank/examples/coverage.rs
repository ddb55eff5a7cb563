//! How often 95 % intervals of users' examination cover the truth, by default and unshrunk.
//!
//! `cargo run --release -p truerank --example coverage -- LOGS`

use truerank::data::{Generator, Preset};
use truerank::progress::Silent;
use truerank::propensity::{EmUsers, Propensities, RegressionEm};
use truerank::ranker::production_ranker;
use truerank::simulate::{ShownLists, Simulation};

/// Covered values, all values, and the sum of squared errors in standard errors.
#[derive(Default)]
struct Covered(f64, f64, f64);

impl Covered {
    fn add(&mut self, values: &[f64], errors: &[f64], truth: &[f64]) {
        for ((value, error), truth) in values.iter().zip(errors).zip(truth).filter(|((_, error), _)| **error > 0.0) {
            let z = (value - truth) / error;
            self.0 += f64::from(u8::from(z.abs() <= 1.96));
            self.1 += 1.0;
            self.2 += z * z;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let logs: u64 = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    println!("| sessions | users | estimation | values | covered | root mean z² |\n|---|---|---|---|---|---|");
    for (sessions, per_cluster) in [(6_000, 1), (60_000, 1), (1_000_000, 1), (60_000, 20), (60_000, 300)] {
        for (name, users) in [("default", None), ("unshrunk", Some(EmUsers::Each))] {
            if per_cluster > 1 && users.is_some() {
                continue;
            }
            let (mut population, mut of_users) = (Covered::default(), Covered::default());
            for seed in 1..=logs {
                let (found, truth) = estimate(sessions, per_cluster, users.clone(), seed)?;
                population.add(&found.population, &found.details.population.standard_errors, &truth.population);
                let errors = &found.details.by_user.standard_errors;
                for (user, number) in found.users.numbers_in(&truth.users).into_iter().enumerate() {
                    let positions = found.positions();
                    let truth = truth.of_user(number.expect("every user was simulated") as usize);
                    of_users.add(found.of_user(user), &errors[user * positions..][..positions], truth);
                }
            }
            for (what, Covered(covered, all, squares)) in [("population", population), ("users", of_users)] {
                let (share, root) = (100.0 * covered / all, (squares / all).sqrt());
                println!("| {sessions} | {} | {name}, {what} | {all} | {share:.0} % | {root:.2} |", 10 * per_cluster);
            }
        }
    }
    Ok(())
}

fn estimate(
    sessions: u64,
    per_cluster: usize,
    users: Option<EmUsers>,
    seed: u64,
) -> Result<(Propensities, Propensities), truerank::Error> {
    let data = Generator::preset(Preset::Small).seed(seed).generate()?.train;
    let production = production_ranker(&data, 0.01, seed, &Silent)?;
    let lists = [ShownLists::top(&data, &production.score(&data)?, 10)?];
    let noise = if per_cluster > 1 { 0.1 } else { 0.0 };
    let simulation = Simulation::new().sessions(sessions).users_per_cluster(per_cluster).user_noise(noise).seed(seed);
    let simulator = simulation.prepare(&data, &lists)?;
    let counts = simulator.counts()?;
    let em = RegressionEm::new().users(users.unwrap_or_else(|| EmUsers::suited_to(counts.users.len()))).seed(seed);
    Ok((em.estimate(&counts, Some(&data), &Silent)?.propensities, simulator.propensities()))
}
