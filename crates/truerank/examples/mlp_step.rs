//! Times one training step of an MLP: forward, listwise loss, backward, clipping and AdaGrad.
//!
//! `cargo run --release -p truerank --example mlp_step -- --rows 2560 --features 700 --hidden 512,256,128 --threads 2`

use std::time::Instant;

use truerank::network::{Architecture, Network, Optimizer, Workspace, clip_norm};
use truerank::ranker::listwise_softmax;

const LIST: usize = 10;

fn main() {
    let rows: usize = argument("--rows", "2560").parse().expect("--rows is a number");
    let features: usize = argument("--features", "700").parse().expect("--features is a number");
    let threads: usize = argument("--threads", "2").parse().expect("--threads is a number");
    let steps: usize = argument("--steps", "40").parse().expect("--steps is a number");
    let architecture: Architecture =
        format!("mlp:{}", argument("--hidden", "512,256,128")).parse().expect("--hidden is like 512,256,128");
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("threads start");
    let mut times = time_steps(architecture, rows, features, steps);
    times.sort_by(f64::total_cmp);
    println!("{:.1} ms median, {:.1} ms least of {steps} steps", times[steps / 2], times[0]);
}

fn argument(name: &str, default: &str) -> String {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    place.and_then(|place| arguments.get(place + 1)).cloned().unwrap_or_else(|| default.to_string())
}

fn time_steps(architecture: Architecture, rows: usize, features: usize, steps: usize) -> Vec<f64> {
    let mut network = Network::new(architecture, features, 1).expect("a valid shape");
    let mut workspace = Workspace::new(&network);
    let mut optimizer = Optimizer::AdaGrad.start(network.parameters().len());
    let mut gradient = vec![0.0; network.parameters().len()];
    // Any numbers will do, as long as rows differ.
    let data: Vec<f32> = (0..rows * features).map(|i| ((i * 7919) % 1000) as f32 / 1000.0).collect();
    let numbers: Vec<u32> = (0..rows as u32).collect();
    let weights: Vec<f32> = (0..rows).map(|i| (i % 3) as f32).collect();
    let mut score_gradients = vec![0.0; rows];
    let mut step = || {
        let scores = workspace.forward(&network, &data, &numbers);
        let lists = scores.chunks(LIST).zip(weights.chunks(LIST)).zip(score_gradients.chunks_mut(LIST));
        lists.for_each(|((scores, weights), gradients)| _ = listwise_softmax(scores, weights, gradients));
        score_gradients.iter_mut().for_each(|gradient| *gradient /= rows as f32);
        workspace.backward(&network, &score_gradients, &mut gradient);
        clip_norm(&mut gradient, 5.0);
        optimizer.step(network.parameters_mut(), &gradient, 0.01, 0.0);
    };
    step();
    let timed = |_| {
        let start = Instant::now();
        step();
        start.elapsed().as_secs_f64() * 1000.0
    };
    (0..steps).map(timed).collect()
}
