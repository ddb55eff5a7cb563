//! Shrinkage and clusters on simulated logs, with the true relevance.

use super::*;
use crate::counts::Counts;
use crate::data::{Dataset, DatasetBuilder, RowFinder};
use crate::ids::Ids;
use crate::progress::Silent;
use crate::propensity::observations::Observations;
use crate::simulate::{ShownLists, Simulation};

const QUERIES: usize = 200;
const DOCS: usize = 10;

/// Grades in about the shares of web search.
fn data() -> Dataset {
    let grades = [0, 1, 2, 1, 0, 2, 1, 0, 2, 1, 3, 0, 1, 2, 4, 1, 0, 2, 1];
    DatasetBuilder {
        features: vec![0.0; QUERIES * DOCS],
        feature_count: 1,
        grades: Some((0..QUERIES * DOCS).map(|row| grades[row * 7 % grades.len()]).collect()),
        queries: Ids::numbered(QUERIES),
        query_ends: (1..=QUERIES).map(|query| query * DOCS).collect(),
        docs: None,
    }
    .build()
    .unwrap()
}

/// A simulated log with its truth.
struct World {
    observations: Observations,
    relevance: Vec<f64>,
    /// One row per user.
    examination: Vec<f64>,
    cluster: Vec<u32>,
}

fn simulate(etas: &[f64], users: usize, noise: f64, sessions_per_user: u64, seed: u64) -> World {
    let data = data();
    let lists = [ShownLists::top(&data, &vec![0.0; data.len()], DOCS).unwrap()];
    let simulator = Simulation::new()
        .etas(etas.to_vec())
        .cluster_ratio(1.0)
        .users_per_cluster(users)
        .user_noise(noise)
        .sessions(sessions_per_user * (users * etas.len()) as u64)
        .seed(seed)
        .prepare(&data, &lists)
        .unwrap();
    let counts = simulator.counts().unwrap();
    let truth = simulator.propensities();
    let numbers: Vec<usize> =
        counts.users.numbers_in(&truth.users).into_iter().map(|number| number.unwrap() as usize).collect();
    let observations = Observations::of_users(&counts);
    World {
        relevance: relevance_of_docs(&counts, &observations, &data, simulator.relevance()),
        observations,
        examination: numbers.iter().flat_map(|&user| truth.of_user(user)).copied().collect(),
        cluster: numbers.iter().map(|user| (user / users) as u32).collect(),
    }
}

fn relevance_of_docs(counts: &Counts, observations: &Observations, data: &Dataset, of_row: &[f64]) -> Vec<f64> {
    let finder = RowFinder::new(data, &counts.queries, &counts.docs);
    let of_query = |docs: &[(u32, u32)]| {
        let (_, rows) = finder.find(docs[0].0, docs.iter().map(|doc| doc.1)).unwrap();
        rows.into_iter().map(|row| of_row[row.unwrap() as usize]).collect::<Vec<_>>()
    };
    observations.docs.chunk_by(|a, b| a.0 == b.0).flat_map(of_query).collect()
}

impl World {
    fn evidence(&self) -> UserEvidence {
        UserEvidence::new(&self.observations, &self.relevance).unwrap()
    }

    fn squared_error(&self, examination: &[f64]) -> f64 {
        let squares = examination.iter().zip(&self.examination).map(|(found, truth)| (found - truth).powi(2));
        squares.sum::<f64>() / examination.len() as f64
    }

    /// The agreement reached by who knows every cluster's θ and size and assigns each user to the likeliest.
    fn best_agreement(&self, etas: &[f64]) -> f64 {
        let examination: Vec<f64> =
            etas.iter().flat_map(|eta| (1..=DOCS).map(move |k| (k as f64).powf(-eta))).collect();
        let truth = mixture::Mixture::known(vec![1.0 / etas.len() as f64; etas.len()], &examination);
        let responsibilities = truth.responsibilities(&self.evidence());
        adjusted_rand_index(&mixture::most_responsible(&responsibilities, etas.len()), &self.cluster)
    }

    /// The posterior mean of each θ(u,k) by who knows the θ(k) of every cluster, but looks at one position at a time:
    /// where users do not stray from their clusters, no shrinkage at a position can have less error on average.
    fn best_by_position(&self, etas: &[f64]) -> Vec<f64> {
        let evidence = self.evidence();
        let of_slot = |chunk: &evidence::ChunkEvidence<'_>, slot: usize| -> f64 {
            let k = (slot % DOCS + 1) as f64;
            let thetas: Vec<f64> = etas.iter().map(|eta| k.powf(-eta).min(1.0 - 1e-9)).collect();
            let mut logs = vec![0.0; thetas.len()];
            chunk.add_log_likelihoods(slot, &thetas, &mut logs, &mut Vec::new());
            let total = mixture::log_sum_exp(&logs);
            thetas.iter().zip(logs).map(|(theta, log)| theta * (log - total).exp()).sum()
        };
        let of_chunk =
            |chunk: &evidence::ChunkEvidence<'_>| chunk.slots().map(|slot| of_slot(chunk, slot)).collect::<Vec<_>>();
        evidence.by_chunks(of_chunk).unwrap().concat()
    }

    fn k_means_agreement(&self, examination: &[f64], clusters: usize) -> f64 {
        let fit = Rows::new(examination, DOCS, None).k_means(clusters, RESTARTS, 1);
        adjusted_rand_index(&fit.of_row, &self.cluster)
    }
}

fn paper_etas() -> Vec<f64> {
    crate::simulate::paper_etas(10).unwrap()
}

const FIVE: [f64; 5] = [2.5, 1.5, 0.8, 0.3, 0.0];

/// Numbers to read, not a test: `cargo test -p truerank --lib users -- --ignored --nocapture`.
#[test]
#[ignore = "prints measurements"]
fn measure() {
    let etas = paper_etas();
    for (noise, sessions) in [(0.0, 100), (0.1, 100), (0.0, 30), (0.1, 30), (0.0, 10), (0.1, 10), (0.0, 3), (0.1, 3)] {
        let Errors { raw, population, by_position, clusters } = errors(noise, sessions);
        println!(
            "noise {noise}, {sessions} sessions: raw {raw:.5} population {population:.5} (by position at best \
             {by_position:.5}) clusters {clusters:.5}"
        );
    }
    for (name, etas, users) in [("five", FIVE.to_vec(), 60), ("ten", etas, 60)] {
        for sessions in [100, 300, 1000, 3000] {
            let started = std::time::Instant::now();
            let world = simulate(&etas, users, 0.0, sessions, 2);
            let evidence = world.evidence();
            let raw = evidence.maximum_likelihood();
            let shrunk = shrink(&LikelihoodGrid::new(&evidence).unwrap(), None).examination;
            let fit = MixtureFit::new(&evidence, etas.len(), &shrunk, 1, &Silent).unwrap();
            println!(
                "{name} at {sessions}: best {:.3} mixture {:.3} ({} iterations) k-means raw {:.3} shrunk {:.3}, {:.1?}",
                world.best_agreement(&etas),
                adjusted_rand_index(&fit.of_user(), &world.cluster),
                fit.log_likelihood.len(),
                world.k_means_agreement(&raw, etas.len()),
                world.k_means_agreement(&shrunk, etas.len()),
                started.elapsed()
            );
        }
    }
}

/// Which rule recovers the number of clusters.
#[test]
#[ignore = "prints measurements"]
fn measure_choice() {
    let cases = [
        (FIVE.to_vec(), 300, 60),
        (FIVE.to_vec(), 100, 60),
        (vec![2.0, 1.0, 0.0], 100, 60),
        (vec![1.0], 100, 100),
        (paper_etas(), 300, 60),
        (paper_etas(), 1000, 60),
    ];
    for (etas, sessions, users) in cases {
        let (mut best, mut within) = (Vec::new(), Vec::new());
        for seed in 1..=5 {
            let world = simulate(&etas, users, 0.0, sessions, seed);
            let scores = choice::held_out_scores(&world.evidence(), &choice::candidates(16), seed, &Silent).unwrap();
            best.push(scores.iter().find(|score| score.below_best == 0.0).unwrap().clusters);
            within.push(choice::choose(&scores));
        }
        println!("{} clusters, {sessions} sessions: best {best:?}, within one error {within:?}", etas.len());
    }
}

/// The squared errors of raw and shrunk θ(u,k), toward the population and toward clusters, and the least possible
/// one position at a time.
struct Errors {
    raw: f64,
    population: f64,
    by_position: f64,
    clusters: f64,
}

fn errors(noise: f64, sessions: u64) -> Errors {
    let world = simulate(&paper_etas(), 100, noise, sessions, 1);
    let evidence = world.evidence();
    let grouped = UserGroups::new().fit(&world.observations, &world.relevance, &Silent).unwrap();
    Errors {
        raw: world.squared_error(&evidence.maximum_likelihood()),
        population: world.squared_error(&shrink(&LikelihoodGrid::new(&evidence).unwrap(), None).examination),
        by_position: world.squared_error(&world.best_by_position(&paper_etas())),
        clusters: world.squared_error(&grouped.shrunk.examination),
    }
}

/// With 100 sessions a user's own clicks tell more than the population does, whose θ(k) range over most of (0, 1):
/// even who knows their distribution cannot halve the error at a position. Clusters can, many times.
#[test]
fn shrinking_helps_as_far_as_the_population_is_alike() {
    for noise in [0.0, 0.1] {
        let busy = errors(noise, 100);
        assert!(busy.population < busy.raw && busy.clusters <= 0.4 * busy.raw);
        let sparse = errors(noise, 3);
        assert!(sparse.population <= 0.5 * sparse.raw && sparse.clusters <= 0.75 * sparse.population);
        if noise == 0.0 {
            assert!(busy.by_position > 0.6 * busy.raw && busy.population < 1.35 * busy.by_position);
            assert!(sparse.population < 1.1 * sparse.by_position);
        }
    }
}

#[test]
fn five_clusters_and_their_number_are_recovered_at_300_sessions_per_user() {
    let world = simulate(&FIVE, 60, 0.0, 300, 2);
    let groups = UserGroups::new().clusters(ClusterCount::Chosen { most: 8 });
    let grouped = groups.fit(&world.observations, &world.relevance, &Silent).unwrap();
    let found = grouped.clusters.len(DOCS);
    assert!((4..=6).contains(&found), "{found} clusters: {:?}", grouped.held_out);
    let given =
        UserGroups::new().clusters(ClusterCount::Given(5)).fit(&world.observations, &world.relevance, &Silent).unwrap();
    let agreement = adjusted_rand_index(&given.clusters.of_user, &world.cluster);
    assert!(agreement >= 0.8, "agreement {agreement}");
    // Sorted by depth, so cluster m is the one with the m-th largest η.
    for (cluster, eta) in FIVE.iter().enumerate() {
        let found = &given.clusters.examination[cluster * DOCS..][..DOCS];
        let error = |k: usize| (found[k - 1] - (k as f64).powf(-eta)).abs();
        assert!((1..=DOCS).all(|k| error(k) < 0.1), "{eta}: {found:?}");
    }
}

#[test]
fn standard_errors_are_the_size_of_errors() {
    let world = simulate(&[1.0], 300, 0.3, 100, 3);
    let shrunk = shrink(&LikelihoodGrid::new(&world.evidence()).unwrap(), None);
    let claimed = shrunk.standard_errors.iter().map(|error| error * error).sum::<f64>() / (300 * DOCS) as f64;
    let ratio = world.squared_error(&shrunk.examination) / claimed;
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let world = simulate(&FIVE, 40, 0.1, 50, 4);
    for method in [Grouping::Mixture, Grouping::KMeans] {
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let groups = UserGroups::new().method(method).clusters(ClusterCount::Chosen { most: 3 });
            pool.install(|| groups.fit(&world.observations, &world.relevance, &Silent).unwrap())
        };
        assert_eq!(fit(1), fit(2));
    }
}

#[test]
fn degenerate_logs_are_grouped_all_the_same() {
    use super::evidence::tests::observe;
    let fit = |groups: UserGroups, users, rows: &[(u32, u32, u32, u64, u64)]| {
        let observations = observe(users, rows);
        groups.fit(&observations, &vec![0.5; observations.docs.len()], &Silent)
    };
    let with = |clusters, method| UserGroups::new().clusters(ClusterCount::Given(clusters)).method(method);
    for method in [Grouping::KMeans, Grouping::Mixture] {
        let one = fit(with(1, method), 1, &[(0, 1, 0, 10, 4), (0, 2, 0, 10, 1)]).unwrap();
        assert_eq!(one.clusters.of_user, [0]);
        let same: Vec<_> = (0..6).map(|user| (0, 1, user, 10, 3)).collect();
        let alike = fit(with(3, method), 6, &same).unwrap();
        assert_eq!(alike.clusters.of_user, [0; 6]);
        assert!(alike.shrunk.examination.iter().all(|theta| (theta - 0.6).abs() < 0.05));
        let silent: Vec<_> = (0..4).flat_map(|user| [(0, 1, user, 10, 0), (0, 2, user, 10, 0)]).collect();
        let silent = fit(with(2, method), 4, &silent).unwrap();
        assert!(silent.shrunk.examination.iter().all(|theta| (0.0..0.2).contains(theta)), "{silent:?}");
    }
    let message = |clusters| fit(UserGroups::new().clusters(clusters), 1, &[(0, 1, 0, 10, 4)]).unwrap_err().to_string();
    assert_eq!(
        message(ClusterCount::Given(2)),
        "number of clusters should be at most the number of users, 1, but is 2"
    );
    assert_eq!(message(ClusterCount::Given(0)), "number of clusters should be at least 1, but is 0");
    assert_eq!(message(ClusterCount::Chosen { most: 0 }), "largest number of clusters should be at least 1, but is 0");
}

#[test]
fn a_chosen_number_never_exceeds_the_users() {
    use super::evidence::tests::observe;
    let observations = observe(2, &[(0, 1, 0, 10, 4), (0, 1, 1, 10, 9)]);
    let groups = UserGroups::new().clusters(ClusterCount::Chosen { most: 20 });
    let grouped = groups.fit(&observations, &[0.9], &Silent).unwrap();
    assert_eq!(grouped.held_out.len(), 2);
}
