//! What the numbers mean for someone who wants to learn from the log: findings, each with what would help.

use serde::Serialize;

use super::Diagnosis;
use crate::counts::PageSummary;
use crate::relevance::Estimator;
use crate::report::Format;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The log is not fit to learn from as it is.
    Problem,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// Its name.
    pub estimator: String,
    /// Why.
    pub why: String,
}

/// Clicks below which relevance is guesswork whatever the method.
const FEW_CLICKS: u64 = 100;

/// A share of clicked impressions that no result page has: people click a few of ten, not nine.
const SUSPICIOUS_RATE: f64 = 0.9;

/// A share of pages above which an oddity is a property of the log and not an accident.
const MANY_PAGES: f64 = 0.05;

fn problem(text: String, help: impl Into<String>) -> Option<Finding> {
    Some(Finding { severity: Severity::Problem, text, help: help.into() })
}

fn note(text: String, help: impl Into<String>) -> Option<Finding> {
    Some(Finding { severity: Severity::Note, text, help: help.into() })
}

/// All findings, problems first.
pub(super) fn findings(diagnosis: &Diagnosis) -> Vec<Finding> {
    let rules = [size, click_rate, comparable, one_position, decline, one_user, few_sessions, rare_users];
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
    if clicks >= FEW_CLICKS {
        return None;
    }
    let text = format!("There are {} clicks: too few to tell documents apart.", count(clicks));
    problem(text, format!("Collect at least {FEW_CLICKS}; some thousands are a start."))
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
        "Name the column of user ids with --column user=NAME; a stable anonymous id is enough.",
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

/// `user-aware-smoothed`, with what each estimator is expected to err as the reason.
///
/// The strength of its smoothing has the least expected error between `user-aware` and `ips-pbm`, so neither is better. `naive` is no
/// candidate: however noisy the others are, its error is the position bias itself, which more data does not remove.
/// `straightforward` is none either: `user-aware` has the same expectation and less variance.
pub(super) fn recommend(diagnosis: &Diagnosis) -> Recommendation {
    let error = |name: &str| {
        let found = diagnosis.estimators.iter().find(|error| error.estimator == name);
        found.map(|found| Format::Measure.print(found.mean_squared_error().sqrt()))
    };
    let why = match (error("user-aware-smoothed"), error("user-aware"), error("ips-pbm")) {
        _ if diagnosis.sizes.users == 1 => {
            "With one user there is nothing personal to correct, and it is ips-pbm; it can be shrunk, which is the default."
                .into()
        }
        (Some(smoothed), Some(aware), Some(ips)) => format!(
            "Its expected error of a document's relevance is {smoothed}, against {aware} of user-aware and {ips} of ips-pbm, \
             before it is shrunk toward a prior, which is the default."
        ),
        _ => "It corrects by the users of each query as far as the log knows them, and by all users where it does not.".into(),
    };
    Recommendation { estimator: Estimator::default().to_string(), why }
}

/// `1 session`, `12 sessions`.
fn sessions(number: u64) -> String {
    if number == 1 { "1 session".into() } else { format!("{} sessions", count(number)) }
}
