//! What `truerank propensity` prints.

use serde_json::json;
use truerank::examination::Estimated;
use truerank::propensity::{HeldOut, LevelAndShape, Propensities, PropensityError};

use crate::output::{Table, measure, thousands};

/// Up to so many users are printed one by one.
const FEW_USERS: usize = 20;

/// The estimates as people read them, and how far they are from a truth where there is one.
pub fn report(found: &Estimated, error: Option<&PropensityError>) -> String {
    let propensities = &found.propensities;
    let mut text = format!("\n{}\nscale: {}\n\n", propensities.method, propensities.scale);
    text += &population_table(propensities);
    if let Some(held_out) = chosen_line(&found.held_out, propensities) {
        text += &format!("\n{held_out}\n");
    }
    if propensities.details.clusters.is_some() {
        text += &format!("\nclusters of users, those who look deeper last\n{}", cluster_table(propensities));
    }
    if (1..=FEW_USERS).contains(&propensities.users.len()) {
        text += &format!("\n{}", user_table(propensities));
    }
    if !propensities.users.is_empty() {
        text += LEGEND;
    }
    if let Some(harvested) = &propensities.details.harvested {
        text += &harvested_line(&propensities.population, harvested);
    }
    if let Some(fit) = &propensities.details.fit {
        let ended = if fit.converged { "converged after" } else { "stopped, not converged, after" };
        let value = fit.log_likelihood.last().copied().unwrap_or(f64::NAN);
        let iterations = fit.log_likelihood.len();
        text += &format!("\n{ended} {iterations} iterations; log-likelihood per impression {}\n", measure(value));
    }
    if let Some(error) = error {
        text += &error_line(error);
    }
    text
}

const LEGEND: &str = "\
level: clicks at the top, as a multiple of what people click there; depth: the mean position
of the shape p1, p2, …; how often a user comes to click a relevant document is level times shape.
";

/// How far another way to the same is on average, past the position that has the scale.
fn harvested_line(population: &[f64], harvested: &[f64]) -> String {
    let apart: Vec<f64> = population.iter().zip(harvested).map(|(em, other)| (em / other - 1.0).abs()).collect();
    let others = apart.iter().filter(|share| **share > 0.0).count().max(1) as f64;
    format!("intervention harvesting is {:.1} % away on average\n", 100.0 * apart.iter().sum::<f64>() / others)
}

fn population_table(propensities: &Propensities) -> String {
    let evidence = &propensities.details.population;
    let mut header = vec!["position", "examination"];
    if !evidence.standard_errors.is_empty() {
        header.push("std. error");
    }
    header.extend(["impressions", "clicks"]);
    let mut table = Table::new(header);
    for (index, theta) in propensities.population.iter().enumerate() {
        let mut row = vec![(index + 1).to_string(), measure(*theta)];
        // Where the scale or a border fixes the value, there is no error to speak of.
        let printed = |error: &f64| if *error > 0.0 { measure(*error) } else { "–".into() };
        row.extend(evidence.standard_errors.get(index).map(printed));
        let counted = [&evidence.impressions, &evidence.clicks];
        row.extend(counted.map(|counts| counts.get(index).map_or(String::new(), |count| thousands(*count))));
        table.row(row);
    }
    table.render()
}

fn positions_header(first: &str, propensities: &Propensities) -> Vec<String> {
    std::iter::once(first.to_string()).chain((1..=propensities.positions()).map(|k| format!("p{k}"))).collect()
}

fn user_table(propensities: &Propensities) -> String {
    let mut header = positions_header("user", propensities);
    header.splice(1..1, ["level", "depth"].map(String::from));
    let mut table = Table::new(header);
    for user in 0..propensities.users.len() {
        let name = propensities.users.name(user).into_owned();
        table.row(std::iter::once(name).chain(factors(propensities, propensities.of_user(user))));
    }
    table.render()
}

/// Level, depth and shape.
fn factors(propensities: &Propensities, row: &[f64]) -> impl Iterator<Item = String> {
    let factors: LevelAndShape = propensities.level_and_shape(row);
    let (level, depth) = (format!("{:.2}", factors.level), format!("{:.2}", factors.depth()));
    [level, depth].into_iter().chain(factors.shape.into_iter().map(measure))
}

fn cluster_table(propensities: &Propensities) -> String {
    let Some(clusters) = &propensities.details.clusters else { return String::new() };
    let mut header = positions_header("cluster", propensities);
    header.splice(1..1, ["users", "level", "depth"].map(String::from));
    let mut table = Table::new(header);
    for (index, row) in clusters.examination.chunks_exact(propensities.positions()).enumerate() {
        let users = clusters.of_user.iter().filter(|cluster| **cluster as usize == index).count();
        let cells = [format!("c{}", index + 1), thousands(users as u64)];
        table.row(cells.into_iter().chain(factors(propensities, row)));
    }
    table.render()
}

/// How the number of clusters was chosen, where it was.
fn chosen_line(held_out: &[HeldOut], propensities: &Propensities) -> Option<String> {
    let clusters = propensities.details.clusters.as_ref()?.len(propensities.positions());
    let tried: Vec<String> = held_out.iter().map(|score| score.clusters.to_string()).collect();
    let alike = propensities.by_user.chunks_exact(propensities.positions()).all(|row| row == propensities.of_user(0));
    let chosen = match clusters {
        _ if alike => "one examination for all users".to_string(),
        1 => "1 cluster".to_string(),
        _ => format!("{clusters} clusters"),
    };
    (!tried.is_empty()).then(|| format!("{chosen}, chosen by held-out clicks, among {}", tried.join(", ")))
}

/// The same for programs.
pub fn to_json(found: &Estimated, error: Option<&PropensityError>) -> serde_json::Value {
    let propensities = &found.propensities;
    let fit = propensities.details.fit.as_ref();
    json!({
        "method": propensities.method, "scale": propensities.scale,
        "population": propensities.population,
        "standard_errors": propensities.details.population.standard_errors,
        "harvesting": propensities.details.harvested,
        "users": propensities.users.len(),
        "clusters": propensities.details.clusters.as_ref().map(|clusters| {
            clusters.examination.chunks_exact(propensities.positions()).map(<[f64]>::to_vec).collect::<Vec<_>>()
        }),
        "iterations": fit.map(|fit| fit.log_likelihood.len()),
        "converged": fit.map(|fit| fit.converged),
        "log_likelihood": fit.map(|fit| fit.log_likelihood.clone()),
        "held_out": found.held_out,
        "notes": propensities.details.notes,
        "against": error.map(|error| {
            json!({"population_error": error.population, "user_error": error.users, "rare_user_error": error.rare})
        }),
    })
}

fn error_line(error: &PropensityError) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut text = format!("against the given: population {} off on average", percent(error.population));
    if let Some(users) = error.users {
        text += &format!(", users {}", percent(users));
    }
    if let Some(rare) = error.rare {
        text += &format!(" (under 1,000 expected examinations: {})", percent(rare));
    }
    text + "\n"
}
