//! Where the fields of a log stand among the columns of a file: said, under their own names, or guessed.

use std::path::Path;

use super::columns::Field;
use super::guess::is_usual_name;
use super::options::ReadOptions;
use super::pages::Lists;
use super::values::shown;
use crate::{Error, Result};

/// Where a field of a log was read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadColumn {
    /// The field: `session`, `user`, `query`, `doc`, `position`, `click` or `time`.
    pub field: &'static str,
    /// The column, or several joined by `+`.
    pub column: String,
    /// Whether nobody said so, and the column's name is another one.
    pub guessed: bool,
}

/// Where the fields stand among the columns of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub session: Vec<usize>,
    /// None: all rows are of one anonymous user.
    pub user: Option<usize>,
    pub query: usize,
    pub doc: usize,
    /// None only for result pages, whose documents then stand in their order.
    pub position: Option<usize>,
    pub click: usize,
    /// None: times are not read.
    pub time: Option<usize>,
    /// Further columns of numbers.
    pub numbers: Vec<usize>,
    pub number_names: Vec<String>,
    /// How lists are read, in a log with one row per result page.
    pub lists: Option<Lists>,
    pub reads: Vec<ReadColumn>,
}

impl Layout {
    /// Finds the fields among the columns `found` in a file.
    pub fn find(path: &Path, found: &[String], options: &ReadOptions) -> Result<Self> {
        let mut finder = Finder { path, found, options, reads: Vec::new() };
        let session = finder.session()?;
        let user = match options.columns.said(Field::User) {
            Some("") => None,
            _ => finder.field(Field::User)?,
        };
        let [query, doc] = [finder.required(Field::Query)?, finder.required(Field::Doc)?];
        let position = finder.field(Field::Position)?;
        let click = finder.field(Field::Click)?.ok_or_else(|| finder.no_clicks())?;
        let time = if options.needs_times() { Some(finder.required(Field::Time)?) } else { None };
        let numbers = options.numbers.iter().map(|name| finder.named(name)).collect::<Result<_>>()?;
        let (number_names, reads) = (options.numbers.clone(), finder.reads);
        Ok(Layout { session, user, query, doc, position, click, time, numbers, number_names, lists: None, reads })
    }

    /// Every log needs positions, except one of whole pages.
    pub fn check_position(&self, path: &Path, found: &[String]) -> Result<()> {
        match self.position.is_some() || self.lists.is_some() {
            true => Ok(()),
            false => Err(missing(path, Field::Position, Field::Position.name(), found)),
        }
    }

    /// Whether a row is an impression and nothing more.
    pub fn is_plain(&self) -> bool {
        self.lists.is_none() && self.session.len() == 1 && self.time.is_none() && self.numbers.is_empty()
    }

    /// Gives every column another number.
    pub fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        let single = [Some(&mut self.query), Some(&mut self.doc), Some(&mut self.click)].into_iter();
        let optional = [self.user.as_mut(), self.position.as_mut(), self.time.as_mut()].into_iter();
        let several = self.session.iter_mut().chain(&mut self.numbers);
        single.chain(optional).flatten().chain(several).for_each(|column| *column = number(*column));
    }

    /// The columns that are read, sorted.
    pub fn columns(&self) -> Vec<usize> {
        let single = [Some(self.query), Some(self.doc), Some(self.click), self.user, self.position, self.time];
        let mut columns: Vec<usize> = self.session.iter().chain(&self.numbers).copied().collect();
        columns.extend(single.into_iter().flatten());
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

struct Finder<'a> {
    path: &'a Path,
    found: &'a [String],
    options: &'a ReadOptions,
    reads: Vec<ReadColumn>,
}

impl Finder<'_> {
    /// One column, or several whose names are joined by `+`.
    fn session(&mut self) -> Result<Vec<usize>> {
        let said = self.options.columns.said(Field::Session);
        if let Some(name) = said.filter(|name| name.contains('+') && !self.has(name)) {
            let columns = name.split('+').map(|part| self.named(part)).collect::<Result<_>>()?;
            self.note(Field::Session, name, false);
            return Ok(columns);
        }
        match self.field(Field::Session)? {
            Some(column) => Ok(vec![column]),
            None => Err(self.no_session()),
        }
    }

    fn required(&mut self, field: Field) -> Result<usize> {
        self.field(field)?.ok_or_else(|| missing(self.path, field, field.name(), self.found))
    }

    /// The column of a field: the one that is said, which must be there, the one of its own name, or the only one with
    /// a usual name.
    fn field(&mut self, field: Field) -> Result<Option<usize>> {
        if let Some(name) = self.options.columns.said(field) {
            let column = self.at(name)?.ok_or_else(|| missing(self.path, field, name, self.found))?;
            self.note(field, name, false);
            return Ok(Some(column));
        }
        if let Some(column) = self.at(field.name())? {
            self.note(field, field.name(), false);
            return Ok(Some(column));
        }
        let Some(column) = self.guess(field)? else { return Ok(None) };
        self.note(field, &self.found[column], true);
        Ok(Some(column))
    }

    fn guess(&self, field: Field) -> Result<Option<usize>> {
        let is_taken = |name: &str| Field::ALL.iter().any(|&other| self.options.columns.said(other) == Some(name));
        let is_candidate = |&i: &usize| is_usual_name(field, &self.found[i]) && !is_taken(&self.found[i]);
        let candidates: Vec<usize> = (0..self.found.len()).filter(is_candidate).collect();
        match candidates[..] {
            [] => Ok(None),
            [column] => Ok(Some(column)),
            [a, b, ..] => Err(Error::input(
                self.path,
                format!(
                    "has columns '{}' and '{}', and either could be the {name}; say which with --column {name}=NAME",
                    shown(&self.found[a]),
                    shown(&self.found[b]),
                    name = field.name()
                ),
            )),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.found.iter().any(|found| found == name)
    }

    /// The column of this very name.
    fn at(&self, name: &str) -> Result<Option<usize>> {
        let mut at = (0..self.found.len()).filter(|&i| self.found[i] == name);
        let first = at.next();
        if at.next().is_some() {
            return Err(Error::input(self.path, format!("has two columns '{name}', but column names must differ")));
        }
        Ok(first)
    }

    fn named(&self, name: &str) -> Result<usize> {
        self.at(name)?.ok_or_else(|| {
            let finding = format!("has no column '{}'; it has {}", shown(name), listed(self.found));
            Error::input(self.path, finding)
        })
    }

    fn note(&mut self, field: Field, column: &str, guessed: bool) {
        self.reads.push(ReadColumn { field: field.name(), column: column.to_string(), guessed });
    }

    fn no_session(&self) -> Error {
        let finding = format!(
            "has no column 'session', but impressions must say which were shown together; it has {}; name yours with \
             --column session=NAME, or several that together mean one result page with --column session=NAME+NAME",
            listed(self.found)
        );
        Error::input(self.path, finding)
    }

    fn no_clicks(&self) -> Error {
        let finding = format!(
            "has no column 'click', but a log needs one, with 0 where a shown document was not clicked; it has {}; name \
             yours with --column click=NAME. A log of clicks alone will not do: log every result that was shown",
            listed(self.found)
        );
        Error::input(self.path, finding)
    }
}

fn listed(found: &[String]) -> String {
    found.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")
}

fn missing(path: &Path, field: Field, name: &str, found: &[String]) -> Error {
    let finding = format!(
        "has no column '{}', but a log needs one; it has {}; name yours with --column {}=NAME",
        shown(name),
        listed(found),
        field.name()
    );
    Error::input(path, finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Columns;

    fn find(found: &str, mappings: &[&str]) -> Result<Layout> {
        let mut columns = Columns::default();
        mappings.iter().for_each(|mapping| columns.map_text(mapping).unwrap());
        let found: Vec<String> = found.split(',').map(String::from).collect();
        Layout::find(Path::new("c.csv"), &found, &ReadOptions::new().columns(columns))
    }

    fn error(found: &str, mappings: &[&str]) -> String {
        find(found, mappings).unwrap_err().to_string()
    }

    #[test]
    fn own_names_come_before_said_guesses() {
        let layout = find("session,user,query,doc,position,click,rank,uid", &[]).unwrap();
        assert_eq!((layout.user, layout.position), (Some(1), Some(4)));
        assert!(layout.reads.iter().all(|read| !read.guessed));
        let layout = find("search_id,ClientId,q,url,rank,clicked", &[]).unwrap();
        assert_eq!((layout.session, layout.user, layout.query, layout.doc), (vec![0], Some(1), 2, 3));
        assert_eq!((layout.position, layout.click, layout.reads.iter().filter(|r| r.guessed).count()), (Some(4), 5, 6));
    }

    #[test]
    fn two_candidates_are_named() {
        assert_eq!(
            error("session,uid,client_id,query,doc,position,click", &[]),
            "c.csv: has columns 'uid' and 'client_id', and either could be the user; say which with --column user=NAME"
        );
        let said = find("session,uid,client_id,query,doc,position,click", &["user=client_id"]).unwrap();
        assert_eq!(said.user, Some(2));
        // What is said to be something else is no candidate.
        let other = find("session,uid,client_id,query,doc,position,click", &["session=uid"]).unwrap();
        assert_eq!((other.session, other.user), (vec![1], Some(2)));
    }

    #[test]
    fn sessions_may_be_several_columns_and_users_may_be_missing() {
        let layout = find("user,task,serp,query,doc,position,click", &["session=user+task+serp"]).unwrap();
        assert_eq!((layout.session, layout.user), (vec![0, 1, 2], Some(0)));
        assert_eq!(find("session,query,doc,position,click", &[]).unwrap().user, None);
        assert_eq!(find("session,user,query,doc,position,click", &["user="]).unwrap().user, None);
        assert_eq!(find("a+b,user,query,doc,position,click", &["session=a+b"]).unwrap().session, [0]);
        assert!(
            error("a,user,query,doc,position,click", &["session=a+b"]).contains("has no column 'b'; it has a, user")
        );
    }

    #[test]
    fn what_is_missing_is_named_with_what_is_there() {
        assert_eq!(
            error("session,user,query,position,click", &[]),
            "c.csv: has no column 'doc', but a log needs one; it has session, user, query, position, click; name yours \
             with --column doc=NAME"
        );
        assert!(error("session,user,query,doc,position", &[]).contains("A log of clicks alone will not do"));
        assert!(error("user,query,doc,position,click", &[]).contains("--column session=NAME+NAME"));
        assert!(error("session,user,query,doc,position,click", &["user=who"]).contains("has no column 'who'"));
        assert!(error("session,user,user,query,doc,position,click", &[]).contains("has two columns 'user'"));
    }
}
