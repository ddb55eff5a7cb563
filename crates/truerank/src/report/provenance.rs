//! Where a page comes from: its input, version, seed and settings, and the command that makes it again.
//!
//! There is no date: a page has the same bytes whenever it is made from the same input, which a date would end.

use serde_json::{Value, json};

use crate::options::Options;

/// What a page was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// What was read, such as a log; may be empty.
    pub input: String,
    /// The seed of everything that has chance in it.
    pub seed: Option<u64>,
    /// Options that have other values than by default, as names and values.
    pub settings: Vec<(String, String)>,
    /// The command that makes it again, where there was one.
    pub command: Option<String>,
}

impl Provenance {
    /// Of an input, with nothing else known.
    pub fn of(input: impl Into<String>) -> Self {
        Provenance { input: input.into(), ..Provenance::default() }
    }

    /// With a seed.
    pub fn seed(self, seed: u64) -> Self {
        Provenance { seed: Some(seed), ..self }
    }

    /// With those options that have other values than by default; the seed is told by itself.
    pub fn options<T: Options>(mut self, options: &T) -> Self {
        let given = T::fields().into_iter().map(|field| field.name).filter(|name| !options.is_default(name));
        self.settings
            .extend(given.filter(|name| *name != "seed").map(|name| (name.to_string(), options.get(name).join(", "))));
        self
    }

    /// With the command that makes it again.
    pub fn command(self, command: impl Into<Option<String>>) -> Self {
        Provenance { command: command.into(), ..self }
    }

    /// Names and values, as a page shows them.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let settings = if settings.is_empty() { "defaults".to_string() } else { settings.join("; ") };
        let mut facts = Vec::new();
        if !self.input.is_empty() {
            facts.push(("Input", self.input.clone()));
        }
        facts.push(("Version", format!("truerank {VERSION}")));
        facts.extend(self.seed.map(|seed| ("Seed", seed.to_string())));
        facts.push(("Settings", settings));
        facts
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        let settings = self.settings.iter().map(|(name, value)| (name.clone(), json!(value)));
        json!({
            "truerank": VERSION, "input": self.input, "seed": self.seed,
            "settings": Value::Object(settings.collect()), "command": self.command,
        })
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::Training;

    #[test]
    fn only_what_was_chosen_is_told() {
        let training = Training::new().seed(7).batch(64);
        let made = Provenance::of("clicks.csv").seed(training.seed).options(&training);
        assert_eq!(made.settings, [("batch".to_string(), "64".to_string())]);
        let facts = made.facts();
        assert_eq!(facts.iter().map(|fact| fact.0).collect::<Vec<_>>(), ["Input", "Version", "Seed", "Settings"]);
        assert_eq!(facts[3].1, "batch = 64");
        assert_eq!(made.to_json()["settings"], json!({ "batch": "64" }));
    }
}
