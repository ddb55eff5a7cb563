//! Propensities as JSON.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Propensities;
use crate::files::table::FileType;
use crate::files::{AtomicFile, read_text};
use crate::ids::Ids;
use crate::{Error, Result};

const FILE_TYPE: FileType = FileType { name: "truerank/propensities", version: 1 };

#[derive(Serialize, Deserialize)]
struct Document {
    r#type: Option<String>,
    version: Option<u64>,
    method: String,
    scale: String,
    positions: usize,
    population: Vec<f64>,
    #[serde(default)]
    users: Vec<UserRow>,
}

#[derive(Serialize, Deserialize)]
struct UserRow {
    user: UserId,
    examination: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum UserId {
    Integer(i64),
    Text(String),
}

impl Propensities {
    /// Writes them as JSON.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.to_document()).map_err(|e| Error::input(path, e.to_string()))?;
        let mut file = AtomicFile::create(path)?;
        writeln!(file, "{text}").map_err(|e| Error::io(path, e))?;
        file.commit()
    }

    /// Reads what [`write`](Propensities::write) wrote, or a hand-written file of the same form.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| Error::input(path, format!("is not complete JSON: {e}")))?;
        FILE_TYPE.check(path, value["type"].as_str(), value["version"].as_u64())?;
        let document: Document = serde_json::from_value(value).map_err(|e| Error::input(path, e.to_string()))?;
        document.check(path)?;
        let propensities = document.into_propensities();
        propensities.check().map_err(|e| Error::input(path, e.to_string()))?;
        Ok(propensities)
    }

    fn to_document(&self) -> Document {
        Document {
            r#type: Some(FILE_TYPE.name.to_string()),
            version: Some(u64::from(FILE_TYPE.version)),
            method: self.method.clone(),
            scale: self.scale.clone(),
            positions: self.positions(),
            population: self.population.clone(),
            users: (0..self.users.len())
                .map(|user| UserRow { user: self.user_id(user), examination: self.of_user(user).to_vec() })
                .collect(),
        }
    }

    fn user_id(&self, user: usize) -> UserId {
        match &self.users {
            Ids::Integers(values) => UserId::Integer(values[user]),
            Ids::Texts(texts) => UserId::Text(texts.get(user).to_string()),
        }
    }
}

impl Document {
    fn check(&self, path: &Path) -> Result<()> {
        let wrong = |whose: &str, found: usize| {
            let rule = format!("has {found} values, but positions is {}", self.positions);
            Err(Error::input(path, format!("{whose} {rule}")))
        };
        if self.population.len() != self.positions {
            return wrong("population", self.population.len());
        }
        match self.users.iter().enumerate().find(|(_, row)| row.examination.len() != self.positions) {
            Some((index, row)) => wrong(&format!("examination of user number {}", index + 1), row.examination.len()),
            None => Ok(()),
        }
    }

    fn into_propensities(self) -> Propensities {
        let mut users = Ids::default();
        let mut by_user = Vec::with_capacity(self.users.len() * self.positions);
        for row in self.users {
            match row.user {
                UserId::Integer(value) => users.push_integer(value),
                UserId::Text(text) => users.push_text(&text),
            }
            by_user.extend(row.examination);
        }
        Propensities { method: self.method, scale: self.scale, population: self.population, users, by_user }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Propensities {
        Propensities {
            method: "oracle".into(),
            scale: "true probabilities".into(),
            population: vec![1.0, 0.1 + 0.2],
            users: Ids::Integers(vec![1, 2]),
            by_user: vec![1.0, 0.5, 1.0, 0.1],
        }
    }

    #[test]
    fn what_is_written_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        example().write(&path).unwrap();
        assert_eq!(Propensities::read(&path).unwrap(), example());
    }

    #[test]
    fn files_that_break_a_rule_are_refused_with_the_rule() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        let cases = [
            ("{", "is not complete JSON"),
            ("{}", "does not say that it is a truerank/propensities file"),
            (r#"{"type":"truerank/counts","version":1}"#, "is a truerank/counts file"),
            (r#"{"type":"truerank/propensities","version":9}"#, "has version 9"),
            (
                r#"{"type":"truerank/propensities","version":1,"method":"m","scale":"s","positions":2,"population":[1]}"#,
                "population has 1 values, but positions is 2",
            ),
            (
                r#"{"type":"truerank/propensities","version":1,"method":"m","scale":"s","positions":1,"population":[2]}"#,
                "examination should be between 0 and 1, but is 2",
            ),
        ];
        for (text, expected) in cases {
            std::fs::write(&path, text).unwrap();
            let message = Propensities::read(&path).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains("p.json"), "{message}");
        }
    }
}
