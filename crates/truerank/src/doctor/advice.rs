//! What the numbers mean for someone who wants to learn from the log: findings, each with what would help.

use serde::Serialize;

use super::{Diagnosis, ExpectedQuality};
use crate::counts::PageSummary;
use crate::relevance::Estimator;
use crate::report::Format;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The log is not fit to learn from as it is.
    Problem,
    /// Whether it is fit cannot be told.
    Open,
    /// Worth knowing; learning is possible.
    Note,
}

/// Something that whoever learns from the log should know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub text: String,
    /// What would help.
    pub help: String,
}

/// Which estimator suits the log.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Recommendation {
    /// The estimator.
    pub estimator: Estimator,
    /// Whether it is the default, with its weights shrunk; another is meant as it is.
    pub is_default: bool,
    /// Why.
    pub why: String,
}

/// Clicks below which relevance is guesswork whatever the method.
const FEW_CLICKS: u64 = 100;

/// Clicks from which on examination of ten positions is known to about a tenth.
const ENOUGH_CLICKS: u64 = 1000;

/// Clicks for each feature from which on a model of them holds (Peduzzi et al. 1996).
const CLICKS_PER_FEATURE: u64 = 10;

/// A share of clicked impressions that no result page has: people click a few of ten, not nine.
const SUSPICIOUS_RATE: f64 = 0.9;

/// A distance in nDCG that is not "as good as", however uncertain it is: of queries with very many users few are drawn, and two queries tell
/// nothing apart.
const APART: f64 = 0.01;

/// A share of pages above which an oddity is a property of the log and not an accident.
const MANY_PAGES: f64 = 0.05;

fn problem(text: String, help: impl Into<String>) -> Option<Finding> {
    Some(Finding { severity: Severity::Problem, text, help: help.into() })
}

fn open(text: String, help: impl Into<String>) -> Option<Finding> {
    Some(Finding { severity: Severity::Open, text, help: help.into() })
}

fn note(text: String, help: impl Into<String>) -> Option<Finding> {
    Some(Finding { severity: Severity::Note, text, help: help.into() })
}

/// All findings, problems first.
pub(super) fn findings(diagnosis: &Diagnosis) -> Vec<Finding> {
    let rules = [size, click_rate, comparable, one_position, decline, one_user, few_sessions, rare_users, order];
    let mut findings: Vec<Finding> = rules.iter().filter_map(|rule| rule(diagnosis)).collect();
    findings.extend(diagnosis.pages.iter().flat_map(page_findings));
    findings.sort_by_key(|finding| finding.severity);
    findings
}

fn count(number: u64) -> String {
    Format::Count.print(number as f64)
}

fn percent(share: f64) -> String {
    Format::Percent.print(share)
}

fn size(diagnosis: &Diagnosis) -> Option<Finding> {
    let clicks = diagnosis.sizes.clicks;
    let of_features = CLICKS_PER_FEATURE * diagnosis.sizes.features;
    let needed = ENOUGH_CLICKS.max(of_features);
    if clicks < FEW_CLICKS {
        let text = format!("There are {} clicks: too few to tell documents apart.", count(clicks));
        return problem(text, format!("Collect at least {}.", count(needed)));
    }
    if clicks >= needed {
        return None;
    }
    let positions = diagnosis.positions.iter().filter(|at| at.clicks > 0).count().max(1) as u64;
    let features = match of_features > ENOUGH_CLICKS {
        true => format!(
            ", what {} features tell on {} for each",
            count(diagnosis.sizes.features),
            count(clicks / diagnosis.sizes.features)
        ),
        false => String::new(),
    };
    open(
        format!(
            "There are {} clicks. What is known of a position rests on {} of them{features}: a ranker learned from so few may be worse \
             than what is shown now, and its judgement by clicks would not tell.",
            count(clicks),
            count(clicks / positions)
        ),
        format!("Collect {}, about {} sessions, for an answer.", count(needed), count(diagnosis.sessions_for(needed))),
    )
}

fn click_rate(diagnosis: &Diagnosis) -> Option<Finding> {
    let rate = diagnosis.sizes.clicks as f64 / diagnosis.sizes.impressions.max(1) as f64;
    if rate <= SUSPICIOUS_RATE {
        return None;
    }
    problem(
        format!(
            "{} of the impressions are clicked: results that were shown and not clicked seem to be missing.",
            percent(rate)
        ),
        "Log every result that was shown, not only the clicked ones: without them nothing is known about what people skipped.",
    )
}

fn comparable(diagnosis: &Diagnosis) -> Option<Finding> {
    let found = &diagnosis.comparable;
    // What falls apart is said before; the last line says what would connect it.
    let help = found.help.last().cloned().unwrap_or_default();
    match (found.positions, found.pieces) {
        (false, _) => {
            problem("No two positions can be compared: clicks cannot tell examination from relevance.".into(), help)
        }
        (true, pieces) if pieces > 1 => note(format!("Positions fall into {pieces} sets that nothing compares."), help),
        _ => None,
    }
}

fn one_position(diagnosis: &Diagnosis) -> Option<Finding> {
    if diagnosis.positions.len() != 1 {
        return None;
    }
    note(
        format!(
            "All results stand at position {}: there is no position bias to correct.",
            diagnosis.positions[0].position
        ),
        "Check that position is the right column; where it is, clicks over impressions are all that can be had.",
    )
}

/// The click rate of the first position should be the highest of those with many impressions.
fn decline(diagnosis: &Diagnosis) -> Option<Finding> {
    let first = diagnosis.positions.first()?;
    let many = diagnosis.sizes.impressions / 100;
    let highest = diagnosis
        .positions
        .iter()
        .filter(|at| at.impressions >= many.max(100))
        .max_by(|a, b| a.click_rate().total_cmp(&b.click_rate()))?;
    if highest.click_rate() <= 1.1 * first.click_rate() {
        return None;
    }
    note(
        format!(
            "Position {} is clicked more often than position {}: {} against {}.",
            highest.position,
            first.position,
            percent(highest.click_rate()),
            percent(first.click_rate())
        ),
        "Grids and pages with advertisements look so; otherwise check that positions count from the top.",
    )
}

fn one_user(diagnosis: &Diagnosis) -> Option<Finding> {
    if diagnosis.sizes.users != 1 {
        return None;
    }
    note(
        "All sessions are by one user: differences between users cannot be seen or corrected.".into(),
        "Say which column has the ids of users; a stable anonymous id is enough.",
    )
}

fn few_sessions(diagnosis: &Diagnosis) -> Option<Finding> {
    let single = diagnosis.sessions_per_query.single;
    if diagnosis.sessions_per_query.median > 2 {
        return None;
    }
    note(
        format!(
            "Queries are rare: half of them have at most {}, {} only one.",
            sessions(diagnosis.sessions_per_query.median),
            percent(single)
        ),
        "What single queries say is mostly noise: learn with features; weights are smoothed and shrunk by default.",
    )
}

fn rare_users(diagnosis: &Diagnosis) -> Option<Finding> {
    if diagnosis.sizes.users < 2 || diagnosis.sessions_per_user.median > 5 {
        return None;
    }
    note(
        format!("Users are sparse: half of them have at most {}.", sessions(diagnosis.sessions_per_user.median)),
        "Examination of single users is pulled toward groups of users who look alike; that is the default.",
    )
}

/// Whether what can be learned is expected to order documents better than they were shown.
fn order(diagnosis: &Diagnosis) -> Option<Finding> {
    let all = &diagnosis.estimators;
    let (shown, best) = (all.iter().find(|one| one.estimator.is_none())?, all.iter().find(|one| one.behind == 0.0)?);
    if shown.behind > APART.min(2.0 * shown.standard_error) {
        return None;
    }
    note(
        format!(
            "The order in which documents were shown is expected to be as good as any that their clicks give: nDCG@10 {} against {}.",
            Format::Measure.print(shown.ndcg),
            Format::Measure.print(best.ndcg)
        ),
        "More sessions of the same queries, or features that the present order does not know, would teach more.",
    )
}

fn page_findings(pages: &PageSummary) -> Vec<Finding> {
    let share = |count: u64| count as f64 / pages.pages.max(1) as f64;
    let rule = |number: u64, what: &str, help: &str| match share(number) > MANY_PAGES {
        true => note(format!("{} of the pages {what}.", percent(share(number))), help),
        false => None,
    };
    let rules = [
        rule(
            pages.not_from_one,
            "do not start at position 1",
            "Where pages two and three of a list are sessions of their own, let them share a session; where positions count from 0, add 1.",
        ),
        rule(
            pages.with_gaps,
            "leave out positions",
            "Results that were shown but not logged bias what is learned of the positions after them.",
        ),
        rule(
            pages.with_shared_positions,
            "show several documents at one position",
            "In a grid, number cells in reading order, or learn that they share a position.",
        ),
    ];
    rules.into_iter().flatten().collect()
}

/// The default, unless another estimator is expected to order documents better.
pub(super) fn recommend(diagnosis: &Diagnosis) -> Recommendation {
    let all = || diagnosis.estimators.iter().filter(|quality| quality.estimator.is_some());
    let (Some(default), Some(best)) =
        (all().find(|quality| quality.shrunk), all().find(|quality| quality.behind == 0.0))
    else {
        let why =
            "It corrects by the users of each query as far as the log knows them, and by all users where it does not.";
        return Recommendation { estimator: Estimator::default(), is_default: true, why: why.into() };
    };
    let chosen = if default.is_level_with_best() { default } else { best };
    let value = |quality: &ExpectedQuality| Format::Measure.print(quality.ndcg);
    let others: Vec<&ExpectedQuality> = all().filter(|other| *other != chosen && other.is_level_with_best()).collect();
    let mut why = match (chosen == best, chosen.shrunk) {
        (true, _) => format!("Its weights are expected to order documents best: nDCG@10 {}.", value(chosen)),
        (false, _) => format!(
            "Its weights are expected to order documents as well as any, as far as can be told: nDCG@10 {}, the best has {}.",
            value(chosen),
            value(best)
        ),
    };
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|other| format!("{} ({})", other.label(), value(other))).collect();
        why = format!("{why} Level with it: {}.", names.join(", "));
    }
    if !chosen.shrunk {
        why = format!("{why} The default has {}.", value(default));
    }
    Recommendation { estimator: chosen.estimator.unwrap_or_default(), is_default: chosen.shrunk, why }
}

/// `1 session`, `12 sessions`.
fn sessions(number: u64) -> String {
    if number == 1 { "1 session".into() } else { format!("{} sessions", count(number)) }
}
