//! How counts were made, as far as counts that are added must agree on it: options enter, what `meta.json` says of them leaves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::log::ReadOptions;
use crate::options::Options;

/// Options that say what users, queries, documents and clicks are. Others, such as the form of files, a range of time or what
/// happens to bad rows, may differ from day to day.
const MEANING: [&str; 6] = ["columns", "click_when", "clicks", "event_column", "query_event", "click_event"];

/// What contexts are, which is said beside the options of reading.
const CONTEXT: &str = "context";

/// How counts were made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Options of reading that say what is counted, where they are not the default: their values as texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reading: BTreeMap<String, Vec<String>>,
    /// Half-life in days by which old counts were thinned, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_life: Option<String>,
}

impl Origin {
    /// Of a log that is read so.
    pub(crate) fn of_reading(options: &ReadOptions) -> Self {
        let given = MEANING.iter().filter(|name| !options.is_default(name));
        let context = options.context().map(|name| (CONTEXT.to_string(), vec![name.to_string()]));
        let reading = given.map(|name| (name.to_string(), options.get(name))).chain(context).collect();
        Origin { reading, half_life: None }
    }

    /// The column of contexts, where there was one.
    pub(super) fn context(&self) -> Option<String> {
        self.reading.get(CONTEXT)?.first().cloned()
    }

    /// The first option of reading that these do not agree on, with both values.
    pub(super) fn differs(&self, other: &Origin) -> Option<(String, String, String)> {
        let names = self.reading.keys().chain(other.reading.keys());
        let name = names.filter(|name| self.reading.get(*name) != other.reading.get(*name)).min()?;
        let value = |origin: &Origin| match origin.reading.get(name) {
            Some(texts) => format!("'{}'", texts.join(",")),
            None => "the default".to_string(),
        };
        Some((name.clone(), value(self), value(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_what_a_click_is_is_remembered() {
        assert_eq!(Origin::of_reading(&ReadOptions::new().no_header(true)), Origin::default());
        let dwell = Origin::of_reading(&ReadOptions::new().click_when("dwell>30".parse().unwrap()));
        assert_eq!(dwell.reading["click_when"], ["dwell>30"]);
        let found = dwell.differs(&Origin::default()).unwrap();
        assert_eq!(found, ("click_when".to_string(), "'dwell>30'".to_string(), "the default".to_string()));
        assert_eq!(dwell.differs(&dwell), None);
    }

    #[test]
    fn every_option_that_is_remembered_exists() {
        let names: Vec<&str> = ReadOptions::fields().iter().map(|field| field.name).collect();
        assert!(MEANING.iter().all(|name| names.contains(name)), "{names:?}");
    }
}
