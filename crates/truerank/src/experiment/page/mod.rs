//! Results as a report: all claims on one table, a section per question, and what sections are made of.

mod claims;
mod parts;

pub(super) use claims::{CLAIMS, answer};
pub(super) use parts::*;

use super::runner::count_of;
use super::{Method, NDCG5, Question, Results, Source};
use crate::evaluate::FEWEST_RUNS;
use crate::ranker::ModelForm;
use crate::report::{Format, KeyResult, Provenance, Report, Section};

impl Results {
    /// The report on what is finished.
    pub fn report(&self) -> Report {
        let claims = self.claims();
        let mut sections: Vec<Section> = claims::section(&claims).into_iter().collect();
        sections.extend(self.settings.questions.iter().filter_map(|question| question.section(self, &claims)));
        let title = "Learning to rank from the clicks of different people".into();
        let (lead, key, facts) = (self.lead(), self.key(), self.facts());
        Report { title, lead, key, facts, sections, provenance: Some(self.provenance()) }
    }

    /// user-aware beside the usual correction, by the first question that compares them.
    fn key(&self) -> Option<KeyResult> {
        let model = self.settings.models.first()?;
        let questions = self.settings.questions.iter();
        let (source, examination) = questions.into_iter().find_map(|question| match question {
            Question::Rq1 => Some((Source::Known, "with the simulation's true examination")),
            Question::Rq4 => Some((self.settings.rq4.main, "with examination estimated from the clicks")),
            _ => None,
        })?;
        let of = |method| self.on(self.main_log(), method, source, model);
        let (aware, usual) = (of(Method::USER_AWARE)?, of(Method::IPS_PBM)?);
        let test = aware.test(&usual, NDCG5)?.test;
        let is_tested = self.settings.seeds.len() >= FEWEST_RUNS;
        let over = match is_tested {
            true => "seeds and test queries",
            false => "test queries of too few runs to tell what other logs would give",
        };
        Some(KeyResult {
            name: "nDCG@5 of user-aware compared with ips-pbm".into(),
            value: test.difference,
            interval: Some((test.difference - test.half_width(), test.difference + test.half_width())),
            format: Format::Measure,
            is_change: true,
            // The table of claims says verdicts.
            badge: None,
            about: format!(
                "{} against {} {examination}, {} rankers; the interval is over {over}.",
                Format::Measure.print(aware.mean(NDCG5)),
                Format::Measure.print(usual.mean(NDCG5)),
                model.name()
            ),
        })
    }

    /// The settings are in `experiment.toml` beside the page.
    fn provenance(&self) -> Provenance {
        let command = "truerank experiment --config experiment.toml -o results/".to_string();
        let settings = vec![("all".to_string(), "experiment.toml, beside this page".to_string())];
        Provenance { settings, ..Provenance::of(self.settings.data.name()) }.command(command)
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
