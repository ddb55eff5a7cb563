//! Learns what people find relevant from what they clicked, for every kind of searcher.
//!
//! truerank works as a pipeline. Each stage is one module, takes one artefact and makes the next:
//!
//! 1. [`data`]: documents of queries with features and grades, from LETOR/SVMlight, ULTRA, Parquet or a generator.
//! 2. [`simulate`]: users, traffic and clicks on shown lists, where a log is to be made.
//! 3. [`log`]: impressions, from Parquet, CSV, TSV, JSON and OpenSearch UBI, and to Parquet, CSV and TSV.
//! 4. [`counts`]: cells `(query, document, position, user) → impressions, clicks`. Nothing below ever sees a session.
//! 5. [`propensity`]: θ(u,k), the probability that a user examines a position.
//!    [`click_model`] fits other models of browsing than the position-based one.
//! 6. [`relevance`]: cells and θ to a relevance weight for each document, with its variance.
//! 7. [`ranker`], on [`network`]: weights and features to a linear or MLP ranker.
//! 8. [`evaluate`]: nDCG, ERR and others per query, and whether a difference is more than chance.
//! 9. [`report`]: questions, answers, tables and figures as one page, and as files for a paper.
//!
//! From a log to a ranker, stage by stage:
//!
//! ```
//! use truerank::data::{Generator, Preset};
//! use truerank::evaluate::{Evaluator, Measure};
//! use truerank::progress::Silent;
//! use truerank::propensity::RegressionEm;
//! use truerank::ranker::{LearnFrom, Production, Training};
//! use truerank::relevance::{Estimator, estimate};
//! use truerank::simulate::Simulation;
//!
//! let data = Generator::preset(Preset::Tiny).generate()?;
//! let simulation = Simulation::new().sessions(20_000);
//! let lists = [Production::new().production_share(0.1).lists(&data.train, 1, &Silent)?];
//! let counts = simulation.prepare(&data.train, &lists)?.counts()?;
//!
//! let em = RegressionEm::new().per_user(true).resamples(0);
//! let found = em.estimate(&counts, Some(&data.train), &Silent)?;
//! let relevance = estimate(&counts, &found.propensities, Estimator::UserAware)?;
//! let (ranker, _) = Training::linear().fit(&data.train, LearnFrom::Relevance(&relevance), None, &Silent)?;
//!
//! let measure: Measure = "nDCG@5".parse()?;
//! let evaluation = Evaluator::new(vec![measure]).evaluate(&data.test, &ranker.score(&data.test)?)?;
//! assert!(evaluation.mean(measure).unwrap() > 0.5);
//! # Ok::<(), truerank::Error>(())
//! ```
//!
//! [`insight`] says what a ranker has learned.
//! [`doctor`] says whether a log is fit to learn from; [`fit`] goes all the way from a log to a ranker.
//! [`experiment`] puts the stages together as in the paper "Addressing Personalized Bias for Unbiased Learning to Rank".
//! [`sql`] says how to count in a warehouse; with the feature `spark`, module `spark` counts on a cluster.
//! The library never prints; long work reports to a [`progress::Progress`].

pub mod click_model;
pub mod counts;
pub mod data;
pub mod doctor;
pub mod drift;
mod error;
pub mod evaluate;
pub mod examination;
pub mod experiment;
mod figures;
pub mod files;
pub mod fit;
pub mod ids;
pub mod insight;
pub mod interleaving;
pub mod log;
mod math;
pub mod memory;
mod minimise;
mod named;
pub mod network;
pub mod options;
pub mod progress;
pub mod propensity;
pub mod random;
pub mod ranker;
pub mod relevance;
pub mod report;
pub mod simulate;
pub mod spark;
pub mod sql;
pub mod stages;
pub mod text;
pub mod threads;

pub use error::{Error, Place, Result};
