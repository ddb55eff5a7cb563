//! All claims on one table: the only place of a report that says verdicts.

use crate::evaluate::FEWEST_RUNS;
use crate::experiment::{CONVERGED, Claim, NOT_BELOW, Part};
use crate::report::{Answer, Block, Cell, Column, Format, Row, Section, Table, Verdict};

/// The name of the table.
pub const CLAIMS: &str = "claims";

pub fn section(claims: &[Claim]) -> Option<Section> {
    if claims.is_empty() {
        return None;
    }
    let answers = [(true, "of the paper"), (false, "of our own")]
        .into_iter()
        .filter_map(|(of_the_paper, whose)| Some(Answer { verdict: None, text: count(claims, of_the_paper, whose)? }))
        .collect();
    let table = Table {
        name: CLAIMS.into(),
        caption: "What is claimed, and whether it holds here.".into(),
        label: "claim".into(),
        columns: vec![
            Column::new("question", Format::Text),
            Column::new("holds?", Format::Text),
            Column::new("p", Format::PValue),
            Column::new("shown in", Format::Text),
            Column::new("weakest comparison", Format::Text),
            Column::new("difference", Format::Measure),
        ],
        rows: claims.iter().map(row).collect(),
        notes: notes(claims),
    };
    Some(Section {
        id: "claims".into(),
        title: "Which claims hold?".into(),
        question: "Which claims hold on these data?".into(),
        answers,
        blocks: vec![Block::Table(table)],
    })
}

fn notes(claims: &[Claim]) -> Vec<String> {
    let margin = |margin: f64| Format::Measure.print(margin);
    let mut notes = vec![
        "A claim holds if each of its comparisons shows it with p < .05; its p is that of its weakest comparison. It does not \
         hold if one of them shows the opposite with p < .05 after Bonferroni's correction for their number; its p is then \
         that one's. Otherwise it is open: neither it nor its opposite is shown."
            .to_string(),
        "Differences are tested over seeds (logs and initial weights) and test queries together, with 95 % intervals; squared \
         errors over logs."
            .to_string(),
        format!(
            "Coming within {} of ideal, and not falling {} below another, have to be shown against that margin.",
            margin(CONVERGED),
            margin(NOT_BELOW)
        ),
    ];
    if !claims.iter().all(Claim::is_tested) {
        notes.push(format!(
            "Claims without p are open because fewer than {FEWEST_RUNS} seeds were run: what one or two runs show may be the \
             chance of their logs and initial weights."
        ));
    }
    notes
}

/// `15 of 21 claims of the paper hold, 1 does not, 5 are open.`
fn count(claims: &[Claim], of_the_paper: bool, whose: &str) -> Option<String> {
    let some: Vec<&Claim> = claims.iter().filter(|claim| claim.of_the_paper == of_the_paper).collect();
    let with = |verdict: Verdict| some.iter().filter(|claim| claim.verdict() == verdict).count();
    let [holding, not, open] = [Verdict::Holds, Verdict::DoesNotHold, Verdict::Open].map(with);
    let not = format!("{not} {}", if not == 1 { "does not" } else { "do not" });
    let open = format!("{open} {} open", if open == 1 { "is" } else { "are" });
    (!some.is_empty()).then(|| format!("{holding} of {} claims {whose} hold, {not}, {open}.", some.len()))
}

fn row(claim: &Claim) -> Row {
    let whose = if claim.of_the_paper { "" } else { " (ours)" };
    let weakest = claim.weakest();
    let cells = vec![
        Cell::text(format!("{}{whose}", claim.question)),
        Cell::default().verdict(claim.verdict()),
        claim.p().map_or_else(Cell::empty, Cell::value),
        Cell::text(format!("{} of {}", claim.shown(), claim.parts.len())),
        Cell::text(weakest.map_or(String::new(), |part| part.what.clone())),
        weakest.map_or_else(Cell::empty, difference_cell),
    ];
    Row { competes: false, ..Row::new(claim.text.clone(), cells) }
}

/// A difference with its interval.
pub fn difference_cell(part: &Part) -> Cell {
    Cell::value(part.difference).half_width(Some(part.half_width))
}

/// What was found about a claim, in one sentence without its verdict.
pub fn answer(claim: &Claim) -> Answer {
    let count = claim.parts.len();
    let extent = match (claim.is_tested(), claim.shown()) {
        (false, _) => return Answer { verdict: None, text: format!("{}: {}.", claim.text, untested(claim)) },
        (true, shown) if shown == count && count > 1 => format!("shown in all {count} comparisons"),
        (true, shown) if count > 1 => format!("shown in {shown} of {count} comparisons, not in all"),
        (true, 0) => "not shown".to_string(),
        (true, _) => "shown".to_string(),
    };
    let weakest = claim.weakest().map_or(String::new(), |part| {
        let which = if count > 1 { "weakest: " } else { "" };
        format!(" ({which}{}, {} {})", part.what, signed(part.difference, part.half_width), claim.unit)
    });
    Answer { verdict: None, text: format!("{}: {extent}{weakest}.", claim.text) }
}

/// `so it is in 3 of 4 comparisons of this run`.
fn untested(claim: &Claim) -> String {
    let ahead = claim.parts.iter().filter(|part| part.is_ahead()).count();
    format!("so it came out in {ahead} of {} comparisons, of too few runs to test", claim.parts.len())
}

/// `+.0049 ±.0021`.
pub fn signed(difference: f64, half_width: f64) -> String {
    let sign = if difference < 0.0 { "" } else { "+" };
    format!("{sign}{} ±{}", Format::Measure.print(difference), Format::Measure.print(half_width))
}
