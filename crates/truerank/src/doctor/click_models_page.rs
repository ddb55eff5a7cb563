//! The comparison of click models as a section of the page.

use super::click_models::MATTERS;
use super::{ClickModels, ComparedModel, Diagnosis};
use crate::report::{Answer, Best, Block, Cell, Column, Format, Row, Section, Table, Verdict};

impl Diagnosis {
    /// What was compared; nothing where that was not asked.
    pub(super) fn click_model_section(&self) -> Option<Section> {
        let (answers, blocks) = match &self.click_models {
            Some(found) => found.answers(self.level),
            None if self.asks_for_click_models => {
                (vec![Answer { verdict: None, text: NOT_COMPARED.into() }], Vec::new())
            }
            None => return None,
        };
        Some(Section {
            id: "click-model".into(),
            title: "Is another click model better?".into(),
            question: format!(
                "Does a model in which clicks above matter predict clicks better than the position-based one, by {} of its \
                 perplexity or more?",
                percent(MATTERS)
            ),
            answers,
            blocks,
        })
    }
}

const NOT_COMPARED: &str = "Click models were not compared: that takes whole result pages, of which these counts keep none, or too few. \
     Count the log again with this version.";

impl ClickModels {
    fn answers(&self, level: f64) -> (Vec<Answer>, Vec<Block>) {
        let answers = vec![Answer::new(self.verdict(level).badge_of_fact(), self.sentence(level))];
        (answers, vec![Block::Table(self.table())])
    }

    /// What was found, in a sentence or two.
    pub(crate) fn sentence(&self, level: f64) -> String {
        let best = self.best();
        let title = best.model.about().title;
        match self.verdict(level) {
            Verdict::Holds => {
                let level_with: Vec<String> = self
                    .models
                    .iter()
                    .filter(|other| other.model != best.model && other.p_of_best >= level)
                    .map(|other| format!("`{}`", other.model))
                    .collect();
                let others = match level_with.is_empty() {
                    true => String::new(),
                    false => format!(" Level with it: {}.", level_with.join(", ")),
                };
                format!(
                    "The {title} (`{}`) predicts held-out clicks best: it cuts the perplexity above 1 by {} ({}).{others} Better \
                     prediction of clicks is not always better ranking.",
                    best.model,
                    percent(best.cut),
                    interval(best.cut_interval)
                )
            }
            Verdict::DoesNotHold => {
                let most = self.models.iter().map(|model| model.cut_interval.1).fold(0.0, f64::max);
                match most > 0.0 {
                    true => format!(
                        "The position-based model suits the log: no other cuts the perplexity above 1 by more than {}.",
                        percent(most)
                    ),
                    false => {
                        "The position-based model suits the log: no other predicts held-out clicks better.".to_string()
                    }
                }
            }
            Verdict::Open if self.queries < 2 => "Intervals are over queries, and there is one.".to_string(),
            Verdict::Open => {
                // The model that may be the most better.
                let highest =
                    |best: &'_ ComparedModel, other: &'_ ComparedModel| other.cut_interval.1 > best.cut_interval.1;
                let most = self.models.iter().fold(best, |best, other| if highest(best, other) { other } else { best });
                format!(
                    "`{}` may cut the perplexity above 1 by up to {}, or not at all; more sessions would tell.",
                    most.model,
                    percent(most.cut_interval.1)
                )
            }
        }
    }

    fn table(&self) -> Table {
        let row = |model: &ComparedModel| {
            let above = match model.model == self.models[0].model {
                true => [Cell::text("–"), Cell::empty(), Cell::text("–")],
                false => [
                    Cell::text(format!("{} ({})", measure(model.above), between(model.interval))),
                    Cell::value(model.p),
                    Cell::text(if model.cut > 0.0 { percent(model.cut) } else { "not cut".into() }),
                ],
            };
            let numbers = [Cell::value(model.log_likelihood), Cell::value(model.conditional_perplexity)];
            Row::new(model.model.to_string(), numbers.into_iter().chain(above).collect())
        };
        Table {
            name: "click-models".into(),
            caption:
                "How well each click model predicts the clicks of pages that it did not see, given the clicks above."
                    .into(),
            label: "model".into(),
            columns: vec![
                Column::new("log-likelihood", Format::Measure).best(Best::Largest),
                Column::new("conditional perplexity", Format::Measure),
                Column::new("above pbm (95 %)", Format::Text),
                Column::new("p", Format::PValue),
                Column::new("perplexity cut by", Format::Text),
            ],
            rows: self.models.iter().map(row).collect(),
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let count = |number: u64| Format::Count.print(number as f64);
        let users = match self.several_users {
            true => ", with one set of parameters or those of each user, whichever predicts better",
            false => "",
        };
        let mut notes = vec![format!(
            "Fitted to {} pages{users}; {} other pages of {} queries are predicted. Measures are those of PyClick and CLAX, intervals and p \
             are over queries.",
            count(self.fitted),
            count(self.held_out),
            count(self.queries)
        )];
        notes.push(
            "What is cut is exp(−log-likelihood) above 1, where pages count alike. Conditional perplexity is a mean over positions, where \
             one that few pages have counts as much as the first."
                .into(),
        );
        if self.left_out > 0 {
            notes.push(format!("{} pages that show two documents at one position are left out.", count(self.left_out)));
        }
        notes
    }
}

fn percent(share: f64) -> String {
    Format::Percent.print(share)
}

fn measure(value: f64) -> String {
    Format::Measure.print(value)
}

fn between((low, high): (f64, f64)) -> String {
    format!("{} to {}", measure(low), measure(high))
}

fn interval((low, high): (f64, f64)) -> String {
    format!("95 % interval {} to {}", percent(low), percent(high))
}
