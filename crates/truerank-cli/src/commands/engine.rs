//! `--engine`: work that runs on a Spark cluster, where this build has a client for one.

use std::path::Path;

use anyhow::Result;
use truerank::counts::{LogSource, LogSummary, Totals};
use truerank::propensity::Propensities;

use crate::progress::Shown;

/// Counts logs on a cluster, and writes the folder.
#[cfg(feature = "spark")]
pub fn count(
    url: &str,
    log: &LogSource,
    patterns: bool,
    output: &Path,
    progress: &Shown,
) -> Result<(Totals, LogSummary)> {
    Ok(truerank::spark::SparkCount::new(url).patterns(patterns).count(log, output, progress)?)
}

#[cfg(not(feature = "spark"))]
pub fn count(url: &str, _: &LogSource, _: bool, _: &Path, _: &Shown) -> Result<(Totals, LogSummary)> {
    Err(no_spark(url))
}

/// How to estimate on a cluster; what is not said is as the method has it.
#[cfg_attr(not(feature = "spark"), expect(dead_code, reason = "read by builds with Spark alone"))]
pub struct EngineSettings {
    pub per_user: bool,
    pub strict: bool,
    pub iterations: Option<usize>,
    pub tolerance: Option<f64>,
}

/// Estimates examination by EM from counts that a cluster reads.
#[cfg(feature = "spark")]
pub fn estimate(
    url: &str,
    counts: &Path,
    settings: &EngineSettings,
    output: &Path,
    progress: &Shown,
) -> Result<Propensities> {
    let mut em = truerank::spark::SparkEm::new(url).per_user(settings.per_user).strict(settings.strict);
    if let Some(iterations) = settings.iterations {
        em = em.iterations(iterations);
    }
    if let Some(tolerance) = settings.tolerance {
        em = em.tolerance(tolerance);
    }
    Ok(em.estimate(counts, output, progress)?)
}

#[cfg(not(feature = "spark"))]
pub fn estimate(url: &str, _: &Path, _: &EngineSettings, _: &Path, _: &Shown) -> Result<Propensities> {
    Err(no_spark(url))
}

#[cfg(any(test, not(feature = "spark")))]
fn no_spark(url: &str) -> anyhow::Error {
    // What comes after may be a token.
    let url = url.split(';').next().unwrap_or_default();
    anyhow::anyhow!(
        "--engine {url}: this build has no Spark; build one with `cargo build --release --features spark`, which needs protoc"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_spark_says_how_to_get_it_and_no_secrets() {
        let message = no_spark("sc://host:15002/;token=secret").to_string();
        assert!(message.starts_with("--engine sc://host:15002/: this build has no Spark; build one with `cargo build"));
        assert!(!message.contains("secret"));
    }
}
