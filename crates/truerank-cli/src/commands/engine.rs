//! `--engine`: work that runs on a Spark cluster, where this build has a client for one.

use std::path::Path;

use anyhow::Result;
use truerank::counts::{LogSummary, Totals};
use truerank::propensity::Propensities;

use super::log_arguments::LogArguments;
use crate::progress::Shown;

/// Counts logs on a cluster, writes the folder, and says what should be known of them.
#[cfg(feature = "spark")]
pub fn count(
    url: &str,
    log: &LogArguments,
    patterns: bool,
    output: &Path,
    progress: &Shown,
) -> Result<(Totals, LogSummary)> {
    if log.is_ubi() {
        anyhow::bail!("--ubi-queries is not for --engine: OpenSearch's dumps are joined here; count without it");
    }
    let count = truerank::spark::SparkCount::new(url).patterns(patterns);
    let (totals, summary) = count.count(&log.logs, &log.options()?, output, progress)?;
    summary.remarks().iter().for_each(|remark| progress.say(remark));
    Ok((totals, summary))
}

#[cfg(not(feature = "spark"))]
pub fn count(url: &str, _: &LogArguments, _: bool, _: &Path, _: &Shown) -> Result<(Totals, LogSummary)> {
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
