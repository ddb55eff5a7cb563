//! Results as a report: all claims on one table, a section per question, and what sections are made of.

mod claims;
mod parts;

pub(super) use claims::{CLAIMS, answer};
pub(super) use parts::*;

use super::runner::count_of;
use super::{Question, Results};
use crate::ranker::ModelForm;
use crate::report::{Format, Report, Section};

impl Results {
    /// The report on what is finished.
    pub fn report(&self) -> Report {
        let claims = self.claims();
        let mut sections: Vec<Section> = claims::section(&claims).into_iter().collect();
        sections.extend(self.settings.questions.iter().filter_map(|question| question.section(self, &claims)));
        let title = "Learning to rank from the clicks of different people".into();
        Report { title, lead: self.lead(), facts: self.facts(), sections }
    }

    fn lead(&self) -> String {
        let what = match self.settings.questions[..] {
            [Question::Robustness] => "asks what it costs to be wrong about how they browse, with clicks simulated on",
            _ => {
                "reruns the experiments of the paper \u{201c}Addressing Personalized Bias for Unbiased Learning to \
                 Rank\u{201d} on"
            }
        };
        let lead = format!(
            "Clicks say what people looked at and liked; people differ in what they search for and in how far down they \
             look. This page {what} {}.",
            self.data_name()
        );
        match self.missing().len() {
            0 => lead,
            missing => {
                lead + &format!("\n\nNot finished: {} missing, and what needs them is left out.", is_or_are(missing))
            }
        }
    }

    fn data_name(&self) -> String {
        match &self.settings.data.folder {
            Some(folder) => format!("the documents of {}", folder.display()),
            None => format!("generated documents (preset {})", self.settings.data.preset),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        if self.settings.questions.iter().any(|question| question.ask().is_simulated()) {
            facts = self.simulation_facts();
        }
        let models = self.settings.models.iter().map(ModelForm::to_string).collect::<Vec<_>>();
        facts.push(("Rankers".into(), models.join("; ")));
        if let Some(made) = &self.settings.made_with {
            facts.push(("Made with".into(), format!("truerank {}, data {}", made.truerank, made.data)));
        }
        facts
    }

    /// What the worlds of most questions are made of.
    fn simulation_facts(&self) -> Vec<(String, String)> {
        let settings = &self.settings;
        let count = |number: usize| Format::Count.print(number as f64);
        let mut facts = vec![("Data".to_string(), settings.data.name())];
        if let Some(made) = &settings.made_with {
            let [train, validation, test] = made.queries.map(count);
            facts.push(("Queries".into(), format!("{train} to train on, {validation} to validate, {test} to test")));
            let documents = count(made.documents.iter().sum());
            facts.push(("Documents".into(), format!("{documents} with {} features", count(made.features))));
        }
        let seeds = settings.seeds.iter().map(u64::to_string).collect::<Vec<_>>();
        facts.extend([
            ("Sessions".into(), Format::Count.print(settings.sessions() as f64)),
            ("Kinds of users".into(), count(settings.clusters)),
            ("Seeds".into(), seeds.join(", ")),
        ]);
        facts
    }
}

/// `1 run is`, `2 runs are`.
fn is_or_are(runs: usize) -> String {
    format!("{} {}", count_of(runs, "run"), if runs == 1 { "is" } else { "are" })
}
