//! All claims on one table.

use super::parts::p_text;
use crate::experiment::Claim;
use crate::report::{Answer, Block, Cell, Column, Format, Row, Section, Table};

pub fn section(claims: &[Claim]) -> Option<Section> {
    if claims.is_empty() {
        return None;
    }
    let answers = [(true, "of the paper"), (false, "of our own")]
        .into_iter()
        .filter_map(|(of_the_paper, whose)| count(claims, of_the_paper, whose))
        .collect();
    let table = Table {
        name: "claims".into(),
        caption: "What is claimed, and whether it holds here.".into(),
        label: "claim".into(),
        columns: vec![
            Column::new("question", Format::Text),
            Column::new("verdict", Format::Text),
            Column::new("p", Format::PValue),
            Column::new("weakest comparison", Format::Text),
            Column::new("difference", Format::Measure),
        ],
        rows: claims.iter().map(row).collect(),
        notes: vec![
            "A claim holds if each of its comparisons shows a difference in its favour with p < .05; p and difference are \
             those of its weakest comparison. A claim that something never falls below holds unless a comparison shows the \
             contrary with p < .05."
                .into(),
            "Comparisons are paired t-tests over test queries, whose values are averaged over seeds; of squared errors, over \
             the training queries of all seeds. Coming within .005 of ideal is tested one-sidedly."
                .into(),
        ],
    };
    Some(Section {
        id: "claims".into(),
        title: "What holds".into(),
        question: "Which claims of the paper hold on these data?".into(),
        answers,
        blocks: vec![Block::Table(table)],
    })
}

fn count(claims: &[Claim], of_the_paper: bool, whose: &str) -> Option<Answer> {
    let some: Vec<&Claim> = claims.iter().filter(|claim| claim.of_the_paper == of_the_paper).collect();
    let holding = some.iter().filter(|claim| claim.holds()).count();
    let text = format!("{holding} of {} claims {whose} hold.", some.len());
    (!some.is_empty()).then_some(Answer { verdict: None, text })
}

fn row(claim: &Claim) -> Row {
    let whose = if claim.of_the_paper { "" } else { " (ours)" };
    let weakest = claim.weakest();
    let cells = vec![
        Cell::text(format!("{}{whose}", claim.question)),
        Cell::default().verdict(claim.verdict()),
        Cell::value(claim.p()),
        Cell::text(weakest.map_or(String::new(), |part| part.what.clone())),
        weakest.map_or_else(Cell::empty, |part| Cell::value(part.difference)),
    ];
    Row { competes: false, ..Row::new(claim.text.clone(), cells) }
}

/// A claim in one sentence.
pub fn answer(claim: &Claim) -> Answer {
    let weakest = claim.weakest().map_or(String::new(), |part| {
        let sign = if part.difference < 0.0 { "" } else { "+" };
        format!(
            " (least sure: {}, {sign}{} {}, {})",
            part.what,
            Format::Measure.print(part.difference),
            claim.unit,
            p_text(part.p)
        )
    });
    Answer { verdict: Some(claim.verdict()), text: format!("{}{weakest}.", claim.text) }
}
