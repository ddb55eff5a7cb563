//! Results as a report: a section per question, with its answers, tables and figures.

mod claims;
mod curves;
mod examination;
mod parts;
mod real;
mod table;

use super::{Question, Results};
use crate::network::Architecture;
use crate::report::{Format, Report, Section};

pub use parts::model_name;

impl Results {
    /// The report on what is finished.
    pub fn report(&self) -> Report {
        let mut sections: Vec<Section> = claims::section(self).into_iter().collect();
        sections.extend(self.settings.questions.iter().filter_map(|question| self.section(*question)));
        Report {
            title: "Learning to rank from the clicks of different people".into(),
            lead: self.lead(),
            facts: self.facts(),
            sections,
        }
    }

    fn section(&self, question: Question) -> Option<Section> {
        match question {
            Question::Rq1 => table::main_table(self),
            Question::Rq2 => curves::section(self),
            Question::Rq3 => table::by_clusters(self),
            Question::Rq4 => examination::section(self),
            Question::Real => real::section(self),
        }
    }

    fn lead(&self) -> String {
        let claims: Vec<_> = self.claims().into_iter().filter(|claim| claim.of_the_paper).collect();
        let holding = claims.iter().filter(|claim| claim.holds()).count();
        let mut lead = format!(
            "Clicks say what people looked at and liked; people differ in what they search for and in how far down they \
             look. This page reruns the experiments of the paper \u{201c}Addressing Personalized Bias for Unbiased Learning \
             to Rank\u{201d} on {}.",
            self.data_name()
        );
        if !claims.is_empty() {
            lead += &format!(" {holding} of {} claims of the paper hold here.", claims.len());
        }
        let missing = self.missing().len();
        if missing > 0 {
            lead += &format!("\n\nNot finished: {missing} runs are missing, and what needs them is left out.");
        }
        lead
    }

    fn data_name(&self) -> String {
        match &self.settings.data.folder {
            Some(folder) => format!("the documents of {}", folder.display()),
            None => format!("generated documents (preset {})", self.settings.data.preset),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let settings = &self.settings;
        let count = |number: usize| Format::Count.print(number as f64);
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let mut facts = vec![("Data".to_string(), settings.data.name())];
        if let Some(made) = &settings.made_with {
            let [train, validation, test] = made.queries.map(count);
            facts.push(("Queries".into(), format!("{train} to train on, {validation} to validate, {test} to test")));
            let documents = count(made.documents.iter().sum());
            facts.push(("Documents".into(), format!("{documents} with {} features", count(made.features))));
        }
        facts.extend([
            ("Sessions".into(), Format::Count.print(settings.sessions as f64)),
            ("Kinds of users".into(), count(settings.clusters)),
            ("Seeds".into(), list(&settings.seeds)),
            ("Rankers".into(), settings.models.iter().map(Architecture::to_string).collect::<Vec<_>>().join("; ")),
        ]);
        if let Some(made) = &settings.made_with {
            facts.push(("Made with".into(), format!("truerank {}, data {}", made.truerank, made.data)));
        }
        facts
    }
}
