//! Looks for the fields of a log among the columns of a file: said, under their own names, or guessed.

use std::path::Path;

use super::columns::{Field, parts};
use super::events::EventLayout;
use super::guess::{is_plural, is_usual_name};
use super::layout::{Layout, ReadColumn};
use super::missing::{Missing, error_of};
use super::options::ReadOptions;
use super::values::shown;
use crate::{Error, Result};

/// What was found so far, and what was not.
pub(super) struct Finder<'a> {
    path: &'a Path,
    found: &'a [String],
    options: &'a ReadOptions,
    reads: Vec<ReadColumn>,
    /// Said all at once, so that nobody runs into them one by one.
    missing: Vec<Missing>,
}

impl<'a> Finder<'a> {
    pub fn new(path: &'a Path, found: &'a [String], options: &'a ReadOptions) -> Self {
        Finder { path, found, options, reads: Vec::new(), missing: Vec::new() }
    }

    pub fn layout(mut self) -> Result<Layout> {
        let session = self.joined(Field::Session)?;
        let user = self.field(Field::User)?;
        let query = self.joined(Field::Query)?;
        let events = self.events()?;
        let [doc, click] = if events.is_some() { self.docs_of_events()? } else { [self.doc()?, self.click()?] };
        let position = self.field(Field::Position)?;
        if position.is_none() && self.is_unsaid(Field::Position) {
            self.miss(Field::Position);
        }
        let time = self.time()?;
        let context = self.context()?;
        let numbers = self.options.more.numbers.iter().map(|name| self.named(name)).collect::<Result<_>>()?;
        let missing = self.check_missing(doc)?;
        Ok(Layout {
            session,
            user,
            query,
            doc,
            position,
            click,
            click_when: self.options.click_when.clone(),
            events,
            time,
            context,
            numbers,
            number_names: self.options.more.numbers.clone(),
            lists: None,
            reads: self.reads,
            missing,
        })
    }

    /// An error if something is missing that every log needs; what remains is missing for all but logs of pages.
    fn check_missing(&mut self, doc: usize) -> Result<Vec<Missing>> {
        let mut missing = std::mem::take(&mut self.missing);
        if missing.iter().all(Missing::is_for_rows_alone) {
            return Ok(missing);
        }
        let is_known = |missing: &Missing| missing.field() == Some(Field::Doc);
        if !missing.iter().any(is_known) && is_plural(&self.found[doc]) {
            missing.retain(|missing| !missing.is_for_rows_alone());
        }
        Err(error_of(self.path, &missing, self.found, &self.reads, self.options))
    }

    fn is_unsaid(&self, field: Field) -> bool {
        self.options.columns.said(field).is_none()
    }

    fn miss(&mut self, field: Field) {
        let is_event_log = self.options.event_log().is_some();
        self.missing.push(Missing::of_field(field, self.options.columns.said(field), is_event_log));
    }

    /// One column, several whose names are joined by `+`, or none where that is said.
    fn joined(&mut self, field: Field) -> Result<Vec<usize>> {
        let said = self.options.columns.said(field);
        if said == Some("") {
            return Ok(Vec::new());
        }
        if let Some(name) = said.filter(|name| name.contains('+') && !self.has(name)) {
            let columns = name.split('+').map(|part| self.named(part)).collect::<Result<_>>()?;
            self.note(field, name, false);
            return Ok(columns);
        }
        let column = self.field(field)?;
        if column.is_none() && self.is_unsaid(field) {
            self.miss(field);
        }
        Ok(Vec::from_iter(column))
    }

    /// The column of a field that must be there; 0 where it is not, which is never read.
    fn required(&mut self, field: Field) -> Result<usize> {
        let column = self.field(field)?;
        if column.is_none() && self.options.columns.said(field).is_none_or(str::is_empty) {
            self.miss(field);
        }
        Ok(column.unwrap_or(0))
    }

    fn doc(&mut self) -> Result<usize> {
        self.required(Field::Doc)
    }

    fn click(&mut self) -> Result<usize> {
        let Some(when) = &self.options.click_when else { return self.required(Field::Click) };
        self.note(Field::Click, &when.to_string(), false);
        self.named(when.column())
    }

    /// Times are read where they are needed; events are in their order where there are any.
    fn time(&mut self) -> Result<Option<usize>> {
        match self.options.needs_times() {
            true => self.required(Field::Time).map(Some),
            false if self.options.event_log().is_some() => self.field(Field::Time),
            false => Ok(None),
        }
    }

    /// The columns of contexts, where they are asked for.
    fn context(&mut self) -> Result<Vec<usize>> {
        let Some(name) = self.options.context() else { return Ok(Vec::new()) };
        let names = if self.has(name) { vec![name] } else { parts(name) };
        let columns = names.into_iter().map(|name| self.named(name)).collect();
        self.note(Field::Context, name, false);
        columns
    }

    fn events(&mut self) -> Result<Option<EventLayout>> {
        let Some(events) = self.options.event_log() else { return Ok(None) };
        let column = self.named(events.column())?;
        Ok(Some(EventLayout { column, events }))
    }

    /// Where shown documents are, and where clicked ones are: in one column, or lists in one and clicked ones in another.
    fn docs_of_events(&mut self) -> Result<[usize; 2]> {
        let is_list = |&at: &usize| is_plural(&self.found[at]);
        let usual: Vec<usize> =
            (0..self.found.len()).filter(|&at| is_usual_name(Field::Doc, &self.found[at])).collect();
        let lists: Vec<usize> = usual.iter().copied().filter(is_list).collect();
        let singles: Vec<usize> = usual.iter().copied().filter(|at| !is_list(at)).collect();
        let shown = match (&lists[..], self.is_unsaid(Field::Doc)) {
            ([list], true) => {
                self.note(Field::Doc, &self.found[*list], self.found[*list] != Field::Doc.name());
                *list
            }
            _ => self.doc()?,
        };
        let clicked = match (&singles[..], self.is_unsaid(Field::Click)) {
            (_, false) => self.required(Field::Click)?,
            ([single], true) => *single,
            _ => shown,
        };
        if clicked != shown && self.is_unsaid(Field::Click) {
            self.note(Field::Click, &self.found[clicked], true);
        }
        Ok([shown, clicked])
    }

    /// The column of a field: the one that is said, which must be there, the one of its own name, or the only one with
    /// a usual name.
    fn field(&mut self, field: Field) -> Result<Option<usize>> {
        if let Some(name) = self.options.columns.said(field) {
            let column = if name.is_empty() { return Ok(None) } else { self.at(name)? };
            match column {
                Some(_) => self.note(field, name, false),
                None => self.miss(field),
            }
            return Ok(column);
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
        let mut candidates: Vec<usize> = (0..self.found.len()).filter(is_candidate).collect();
        // What makes a click is something else as well only where nothing else could be.
        if candidates.len() > 1 {
            let makes_clicks = |name: &str| self.options.click_when.as_ref().is_some_and(|when| when.column() == name);
            candidates.retain(|&i| !makes_clicks(&self.found[i]));
        }
        match candidates[..] {
            [] => Ok(None),
            [column] => Ok(Some(column)),
            [a, b, ..] => Err(Error::input(
                self.path,
                format!(
                    "has columns '{}' and '{}', and either could be the {name}; say which with `columns` {name}=NAME",
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
            let finding = format!("has two columns '{}', but column names must differ", shown(name));
            return Err(Error::input(self.path, finding));
        }
        Ok(first)
    }

    /// The column of this very name, which must be there; 0 where it is not.
    fn named(&mut self, name: &str) -> Result<usize> {
        let column = self.at(name)?;
        if column.is_none() {
            self.missing.push(Missing::of_name(name));
        }
        Ok(column.unwrap_or(0))
    }

    fn note(&mut self, field: Field, column: &str, guessed: bool) {
        self.reads.push(ReadColumn { field: field.name(), column: column.to_string(), guessed });
    }
}
