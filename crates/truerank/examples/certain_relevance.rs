//! Shows where PRS works: the `small` data with grades made certain, under four amounts of click noise.
//!
//! `cargo run --release -p truerank --example certain_relevance` prints nDCG@5 of every method with linear rankers.

use truerank::Result;
use truerank::data::{Dataset, DatasetBuilder, Generator, Preset, Splits};
use truerank::evaluate::Measure;
use truerank::experiment::{Method, World, WorldOptions};
use truerank::network::Architecture;
use truerank::progress::Silent;
use truerank::ranker::Training;
use truerank::simulate::Simulation;

fn main() -> Result<()> {
    let data = Generator::preset(Preset::Small).generate()?;
    let data = Splits {
        train: with_certain_grades(&data.train)?,
        validation: with_certain_grades(&data.validation)?,
        test: with_certain_grades(&data.test)?,
    };
    for click_noise in [0.0, 0.05, 0.1, 0.2] {
        let simulation = Simulation::new().sessions(300_000).click_noise(click_noise);
        let world = World::simulate(&data, &simulation, &WorldOptions::default(), 1, &Silent)?;
        let trainer = Training::network(Architecture::Linear).seed(1);
        print!("noise {click_noise:4}");
        for method in Method::ALL {
            let outcome = world.run(method, world.propensities(), &trainer, &Silent)?;
            print!("  {method} {:.4}", outcome.mean(Measure::Ndcg(Some(5))));
        }
        println!();
    }
    Ok(())
}

/// Grades of 2 and more become 4, which is certainly found relevant; the others become 0.
fn with_certain_grades(data: &Dataset) -> Result<Dataset> {
    let grades = data.require_grades("this example")?;
    DatasetBuilder {
        features: data.features().to_vec(),
        feature_count: data.feature_count(),
        grades: Some(grades.iter().map(|&grade| if grade >= 2 { 4 } else { 0 }).collect()),
        queries: data.queries().clone(),
        query_ends: data.lists().map(|rows| rows.end).collect(),
        docs: Some(data.docs().clone()),
    }
    .build()
}
