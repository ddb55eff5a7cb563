//! Which column of a log holds what.

use std::path::Path;

use crate::{Error, Result};

/// The names of a log's columns. By default they are called as the fields here.
///
/// ```
/// use truerank::log::Columns;
/// let mut columns = Columns::default();
/// columns.map("user", "client_id")?;
/// assert_eq!((columns.user.as_str(), columns.query.as_str()), ("client_id", "query"));
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Session ids. Default: `session`.
    pub session: String,
    /// User ids. Default: `user`.
    pub user: String,
    /// Query ids or texts. Default: `query`.
    pub query: String,
    /// Document ids. Default: `doc`.
    pub doc: String,
    /// Positions, counted from 1. Default: `position`.
    pub position: String,
    /// Clicks, 0 or 1. Default: `click`.
    pub click: String,
}

/// What the columns hold, in the order in which logs are written.
pub(super) const FIELDS: [&str; 6] = ["session", "user", "query", "doc", "position", "click"];

impl Default for Columns {
    fn default() -> Self {
        let [session, user, query, doc, position, click] = FIELDS.map(String::from);
        Columns { session, user, query, doc, position, click }
    }
}

impl Columns {
    /// Says that `field` stands in the column called `name`.
    pub fn map(&mut self, field: &str, name: &str) -> Result<()> {
        let column = match field {
            "session" => &mut self.session,
            "user" => &mut self.user,
            "query" => &mut self.query,
            "doc" => &mut self.doc,
            "position" => &mut self.position,
            "click" => &mut self.click,
            _ => {
                return Err(Error::parameter(format!(
                    "a log has no field '{field}'; its fields are {}",
                    FIELDS.join(", ")
                )));
            }
        };
        *column = name.to_string();
        Ok(())
    }

    /// The names in the order of the fields.
    pub(super) fn names(&self) -> [&str; 6] {
        [&self.session, &self.user, &self.query, &self.doc, &self.position, &self.click]
    }

    /// Where each field stands among the columns `found` in a file.
    pub(super) fn find(&self, path: &Path, found: &[String]) -> Result<[usize; 6]> {
        let mut places = [0; 6];
        for ((place, field), name) in places.iter_mut().zip(FIELDS).zip(self.names()) {
            let mut at = (0..found.len()).filter(|&i| found[i] == name);
            *place = at.next().ok_or_else(|| missing(path, field, name, found))?;
            if at.next().is_some() {
                return Err(Error::input(path, format!("has two columns '{name}', but column names must differ")));
            }
        }
        Ok(places)
    }
}

fn missing(path: &Path, field: &str, name: &str, found: &[String]) -> Error {
    let found: Vec<_> = found.iter().map(|name| super::values::shown(name)).collect();
    Error::input(
        path,
        format!(
            "has no column '{name}', but a log needs one; it has {}; name yours with --column {field}=NAME",
            found.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_column_is_named_with_those_found() {
        let found = ["session", "client_id", "query", "doc", "position", "click"].map(String::from);
        let error = Columns::default().find(Path::new("clicks.csv"), &found).unwrap_err();
        assert_eq!(
            error.to_string(),
            "clicks.csv: has no column 'user', but a log needs one; \
             it has session, client_id, query, doc, position, click; name yours with --column user=NAME"
        );
        let columns = Columns { user: "client_id".into(), ..Columns::default() };
        assert_eq!(columns.find(Path::new("clicks.csv"), &found).unwrap(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn two_columns_of_one_name_are_refused() {
        let found = ["session", "user", "user", "query", "doc", "position", "click"].map(String::from);
        let error = Columns::default().find(Path::new("c.csv"), &found).unwrap_err();
        assert_eq!(error.to_string(), "c.csv: has two columns 'user', but column names must differ");
    }
}
