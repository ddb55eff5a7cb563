//! Which column of a log holds what, as a caller says it.

use crate::options::{Kind, OptionValue};
use crate::{Error, Result};

/// What the columns of a log hold; the first six in the order in which logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Session,
    User,
    Query,
    Doc,
    Position,
    Click,
    Time,
    /// What pages were shown in; a column of its own option, and no one of [`Columns`].
    Context,
}

impl Field {
    pub const ALL: [Field; 7] =
        [Field::Session, Field::User, Field::Query, Field::Doc, Field::Position, Field::Click, Field::Time];

    /// Those that are written.
    pub const LOGGED: [Field; 6] =
        [Field::Session, Field::User, Field::Query, Field::Doc, Field::Position, Field::Click];

    pub fn name(self) -> &'static str {
        ["session", "user", "query", "doc", "position", "click", "time", "context"][self as usize]
    }

    /// Whether a log can do without: each record is then a page, all users are one, all pages share a query, times are not
    /// looked at.
    fn may_be_missing(self) -> bool {
        matches!(self, Field::Session | Field::User | Field::Query | Field::Time)
    }

    /// The field of a name; a log with one row per result page has lists, whose fields may be said in the plural.
    fn of(name: &str) -> Option<Self> {
        Field::ALL.into_iter().find(|field| field.name() == name || format!("{}s", field.name()) == name)
    }
}

/// The names of a log's columns, where they are said. Fields that are not said are looked for under their own names
/// (`session`, `user`, `query`, `doc`, `position`, `click`, `time`), then under usual other ones.
///
/// ```
/// use truerank::log::Columns;
/// let mut columns = Columns::default();
/// columns.map("user", "client_id")?;
/// // One session for each of these together.
/// columns.map("session", "user+task+page")?;
/// // All pages share one query.
/// columns.map("query", "")?;
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    names: [Option<String>; 7],
}

impl OptionValue for Columns {
    type Given = Columns;

    fn given(value: Columns) -> Self {
        value
    }

    fn kind() -> Kind {
        Kind::Mapping
    }

    fn is_list() -> bool {
        true
    }

    fn from_texts(texts: &[String]) -> Result<Self, String> {
        let mut columns = Columns::default();
        texts.iter().try_for_each(|text| columns.map_text(text)).map_err(|error| format!(": {error}"))?;
        Ok(columns)
    }

    fn to_texts(&self) -> Vec<String> {
        let name = |field: Field| self.said(field).map(|name| format!("{}={name}", field.name()));
        Field::ALL.into_iter().filter_map(name).collect()
    }
}

impl Columns {
    /// Says that `field` stands in the column called `name`.
    ///
    /// A session or a query may be several columns, joined by `+`. An empty name says that there is no such column: then
    /// each record is a session of its own, all impressions are of one user, all pages share one query, or times are not
    /// looked at.
    pub fn map(&mut self, field: &str, name: &str) -> Result<()> {
        let Some(known) = Field::of(field) else {
            let fields = Field::ALL.map(Field::name).join(", ");
            return Err(Error::parameter(format!("a log has no field '{field}'; its fields are {fields}")));
        };
        if name.is_empty() && !known.may_be_missing() {
            return Err(Error::parameter(format!(
                "the column of {field} has no name, but only a log's session, user, query and time may be missing"
            )));
        }
        self.names[known as usize] = Some(name.to_string());
        Ok(())
    }

    /// Takes `FIELD=NAME`, such as `user=client_id`.
    pub fn map_text(&mut self, text: &str) -> Result<()> {
        let (field, name) = split_mapping(text)?;
        self.map(field, name)
    }

    /// The name that was said for a field.
    pub(super) fn said(&self, field: Field) -> Option<&str> {
        self.names.get(field as usize)?.as_deref()
    }
}

/// The columns of a log as a table has them: nothing can be guessed there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedColumns<'a> {
    /// One, or several that together are a session. None: each row is one.
    pub session: Vec<&'a str>,
    /// None: all impressions are of one anonymous user.
    pub user: Option<&'a str>,
    /// One, or several that together are a query. None: all pages share one.
    pub query: Vec<&'a str>,
    pub doc: &'a str,
    pub position: &'a str,
    pub click: &'a str,
}

impl Columns {
    /// The names that are said, or else the fields' own.
    pub(crate) fn named(&self) -> NamedColumns<'_> {
        let name = |field: Field| self.said(field).unwrap_or(field.name());
        NamedColumns {
            session: parts(name(Field::Session)),
            user: Some(name(Field::User)).filter(|name| !name.is_empty()),
            query: parts(name(Field::Query)),
            doc: name(Field::Doc),
            position: name(Field::Position),
            click: name(Field::Click),
        }
    }
}

/// The columns that a name joins by `+`; none of an empty one.
pub(super) fn parts(name: &str) -> Vec<&str> {
    if name.is_empty() { Vec::new() } else { name.split('+').collect() }
}

/// Field and name of `FIELD=NAME`.
pub fn split_mapping(text: &str) -> Result<(&str, &str)> {
    text.split_once('=').ok_or_else(|| Error::parameter(format!("'{text}' should look like user=client_id")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_and_unknown_fields_refused() {
        let mut columns = Columns::default();
        columns.map_text("user=").unwrap();
        columns.map_text("docs=a=b").unwrap();
        assert_eq!([Field::User, Field::Doc, Field::Query].map(|f| columns.said(f)), [Some(""), Some("a=b"), None]);
        let error = columns.map_text("doc=").unwrap_err().to_string();
        assert!(error.contains("only a log's session, user, query and time may be missing"), "{error}");
        columns.map_text("query=").unwrap();
        assert!(columns.named().query.is_empty() && columns.named().session == ["session"]);
        assert!(columns.map_text("who=x").unwrap_err().to_string().starts_with("a log has no field 'who'"));
        assert!(columns.map_text("user").unwrap_err().to_string().contains("should look like user=client_id"));
    }
}
