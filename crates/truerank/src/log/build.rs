//! Turns records into rows by a file's layout, and says what is wrong with those that are none.

use super::bad_rows::{BadKind, Fault};
use super::columns::Field;
use super::events::{EventLayout, Kind};
use super::layout::Layout;
use super::pages::{Lists, Page};
use super::record::{Record, Value};
use super::rows::{IdColumn, Part, Rows};
use super::time::Time;
use super::values::*;

/// The id of the user where a log has none.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// The id of the query that all pages share where a log has none.
pub(crate) const ALL_PAGES: &str = "all";

/// Between the parts of a session that is made of several columns.
const JOINT: &str = "\u{1f}";

/// Between the parts of a query or a context that is made of several columns: these ids are seen by people.
pub(crate) const QUERY_JOINT: &str = "+";

/// Collects the rows of records.
pub(crate) struct RowBuilder<'a> {
    layout: &'a Layout,
    /// Whether rows remember where they stand.
    places: bool,
    rows: Rows,
    /// How many records there were.
    records: u64,
    /// Rows of one result page mostly follow each other, and share three of their fields.
    session: Last<u64>,
    user: Last<u32>,
    query: Last<u32>,
    context: Last<u32>,
}

impl<'a> RowBuilder<'a> {
    pub fn new(layout: &'a Layout, places: bool) -> Self {
        let (session, user, query, context) = Default::default();
        RowBuilder { layout, places, rows: Rows::default(), records: 0, session, user, query, context }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows so far, for whoever appends whole columns.
    pub fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    /// The rows so far; what comes is a new block.
    pub fn take(&mut self) -> Rows {
        let rows = std::mem::take(&mut self.rows);
        *self = RowBuilder { records: self.records, ..RowBuilder::new(self.layout, self.places) };
        rows
    }

    pub fn into_rows(self) -> Rows {
        self.rows
    }

    /// Appends the rows of a record, all of them or none.
    #[inline]
    pub fn push(&mut self, record: &impl Record) -> Result<(), Fault> {
        let outcome = match &self.layout.events {
            None => self.push_shown(record),
            Some(events) => self.push_event(record, events),
        };
        self.records += 1;
        outcome
    }

    /// What is shown: a document, or a page of them.
    ///
    /// Ids come last: an id of a bad row must not enter the dictionary.
    #[inline]
    fn push_shown(&mut self, record: &impl Record) -> Result<(), Fault> {
        if let Some(lists) = &self.layout.lists {
            return self.push_page(record, lists);
        }
        let position = self.layout.position.map_or(Ok(0), |column| position_of(&record.value(column)))?;
        let click = self.click(record)?;
        let time = self.time(record)?;
        let session = self.session(record)?;
        let doc = record.value(self.layout.doc);
        check_id(&doc, Field::Doc)?;
        let context = context_of(self.layout, record)?;
        let before = self.rows.numbers.len();
        let outcome = self.push_numbers(record).and_then(|()| self.user_and_query(record));
        let (user, query) = outcome.inspect_err(|_| self.rows.numbers.truncate(before))?;
        self.rows.sessions.push(session);
        self.rows.users.codes.push(user);
        self.rows.queries.codes.push(query);
        push_id(&mut self.rows.docs, &doc);
        self.rows.positions.push(position);
        self.rows.clicks.push(click);
        self.rows.times.extend(time);
        let context = context.map(|context| self.context.code(&mut self.rows.contexts, &context));
        self.rows.contexts.codes.extend(context);
        if self.places {
            self.push_place(record);
        }
        Ok(())
    }

    fn push_event(&mut self, record: &impl Record, events: &EventLayout) -> Result<(), Fault> {
        let before = self.rows.len();
        let part = match events.kind(record) {
            Ok(Kind::Shown) => {
                self.push_shown(record)?;
                if self.layout.lists.is_some() { Part::Page(self.records) } else { Part::Shown }
            }
            Ok(Kind::Click) => Part::Click { has_query: self.push_click(record)? },
            Err(other) => {
                self.rows.count_other(other);
                return Ok(());
            }
        };
        self.rows.parts.extend(std::iter::repeat_n(part, self.rows.len() - before));
        Ok(())
    }

    /// A click as a row without a position and a user; returns whether it says its query.
    fn push_click(&mut self, record: &impl Record) -> Result<bool, Fault> {
        let doc = record.value(self.layout.click);
        check_id(&doc, Field::Doc)?;
        let time = self.time(record)?;
        let session = self.session(record)?;
        let query = query_of(self.layout, record).ok();
        self.rows.sessions.push(session);
        self.rows.users.codes.push(0);
        match &query {
            Some(query) => push_id(&mut self.rows.queries, query),
            None => self.rows.queries.codes.push(0),
        }
        push_id(&mut self.rows.docs, &doc);
        self.rows.positions.push(0);
        self.rows.clicks.push(true);
        self.rows.times.extend(time);
        if self.places {
            self.push_place(record);
        }
        Ok(query.is_some())
    }

    /// Whether the record is a click; clicks of events are records of their own.
    #[inline]
    fn click(&self, record: &impl Record) -> Result<bool, Fault> {
        match (&self.layout.click_when, &self.layout.events) {
            (None, None) => click_of(&record.value(self.layout.click)),
            (Some(when), _) => when.holds(&record.value(self.layout.click)),
            (None, Some(_)) => Ok(false),
        }
    }

    fn push_page(&mut self, record: &impl Record, lists: &Lists) -> Result<(), Fault> {
        let page = Page::read(self.layout, lists, record)?;
        let time = self.time(record)?;
        let session = self.session(record)?;
        let context = context_of(self.layout, record)?;
        let (user, query) = self.user_and_query(record)?;
        let context = context.map(|context| self.context.code(&mut self.rows.contexts, &context));
        for (i, doc) in page.docs.iter().enumerate() {
            self.rows.sessions.push(session);
            self.rows.users.codes.push(user);
            self.rows.queries.codes.push(query);
            push_id(&mut self.rows.docs, doc);
            self.rows.positions.push(page.positions[i]);
            self.rows.clicks.push(page.clicks[i]);
            self.rows.times.extend(time);
            self.rows.contexts.codes.extend(context);
            if self.places {
                self.push_place(record);
            }
        }
        self.rows.numbers.extend_from_slice(&page.numbers);
        Ok(())
    }

    #[inline]
    fn push_numbers(&mut self, record: &impl Record) -> Result<(), Fault> {
        for (&column, name) in self.layout.numbers.iter().zip(&self.layout.number_names) {
            self.rows.numbers.push(number_of(&record.value(column), name)?);
        }
        Ok(())
    }

    fn time(&self, record: &impl Record) -> Result<Option<i64>, Fault> {
        let Some(column) = self.layout.time else { return Ok(None) };
        time_of(&record.value(column)).map(|time| Some(time.milliseconds()))
    }

    #[inline]
    fn session(&mut self, record: &impl Record) -> Result<u64, Fault> {
        let column = match self.layout.session[..] {
            [column] => column,
            // Whoever hands out blocks makes it another number in each of them.
            [] => return Ok(self.records),
            _ => return session_text(self.layout, record).map(|text| session_of_text(&text)),
        };
        match record.value(column) {
            Value::Text(text) if !text.is_empty() => Ok(self.session.get(&text, session_of_text)),
            Value::Integer(value) => Ok(value as u64),
            Value::Unsigned(value) => Ok(value),
            other => Err(no_id(&other, Field::Session)),
        }
    }

    #[inline]
    fn user_and_query(&mut self, record: &impl Record) -> Result<(u32, u32), Fault> {
        let query = query_of(self.layout, record)?;
        let user = match self.layout.user {
            Some(column) => record.value(column),
            None => Value::Text(ANONYMOUS.into()),
        };
        check_id(&user, Field::User)?;
        Ok((self.user.code(&mut self.rows.users, &user), self.query.code(&mut self.rows.queries, &query)))
    }

    fn push_place(&mut self, record: &impl Record) {
        self.rows.traces.push(super::rows::Trace {
            place: record.place(),
            session: session_text(self.layout, record).unwrap_or_default().replace(JOINT, " + "),
            raw: record.raw(),
        });
    }
}

/// The last text and what it stood for.
#[derive(Default)]
struct Last<T> {
    text: String,
    value: T,
}

impl<T: Copy> Last<T> {
    #[inline]
    fn get(&mut self, text: &str, value: impl FnOnce(&str) -> T) -> T {
        if text != self.text {
            self.value = value(text);
            self.text.clear();
            self.text.push_str(text);
        }
        self.value
    }
}

impl Last<u32> {
    #[inline]
    fn code(&mut self, column: &mut IdColumn, id: &Value<'_>) -> u32 {
        match id {
            Value::Text(text) => self.get(text, |text| column.code_of_text(text)),
            other => code_of(column, other),
        }
    }
}

fn session_text(layout: &Layout, record: &impl Record) -> Result<String, Fault> {
    joined(&layout.session, Field::Session, JOINT, record)
}

/// The query of a record: of one column, of several, or the one that all pages share.
#[inline]
fn query_of<'r>(layout: &Layout, record: &'r impl Record) -> Result<Value<'r>, Fault> {
    match layout.query[..] {
        [column] => {
            let query = record.value(column);
            check_id(&query, Field::Query).map(|()| query)
        }
        [] => Ok(Value::Text(ALL_PAGES.into())),
        _ => joined(&layout.query, Field::Query, QUERY_JOINT, record).map(|text| Value::Text(text.into())),
    }
}

/// The context of a record, of one column or of several; none where contexts are not read.
#[inline]
fn context_of<'r>(layout: &Layout, record: &'r impl Record) -> Result<Option<Value<'r>>, Fault> {
    match layout.context[..] {
        [] => Ok(None),
        [column] => {
            let context = record.value(column);
            check_id(&context, Field::Context).map(|()| Some(context))
        }
        _ => joined(&layout.context, Field::Context, QUERY_JOINT, record).map(|text| Some(Value::Text(text.into()))),
    }
}

fn joined(columns: &[usize], field: Field, joint: &str, record: &impl Record) -> Result<String, Fault> {
    let mut text = String::new();
    for (i, &column) in columns.iter().enumerate() {
        let value = record.value(column);
        check_id(&value, field)?;
        if i > 0 {
            text.push_str(joint);
        }
        text.push_str(&value.id_text().unwrap_or_default());
    }
    Ok(text)
}

/// Ids are text or whole numbers.
#[inline]
pub(super) fn check_id(value: &Value<'_>, field: Field) -> Result<(), Fault> {
    match value {
        Value::Text(text) if !text.is_empty() => Ok(()),
        Value::Integer(_) | Value::Unsigned(_) => Ok(()),
        other => Err(no_id(other, field)),
    }
}

#[cold]
fn no_id(value: &Value<'_>, field: Field) -> Fault {
    let name = field.name();
    match value {
        Value::Missing => Fault::new(BadKind::Missing, format!("{name} is missing, but every impression needs one")),
        Value::Text(_) => Fault::new(BadKind::Missing, format!("{name} is empty, but every impression needs one")),
        other => Fault::new(BadKind::Id, format!("{name} is {}, but an id is text or a whole number", other.shown())),
    }
}

fn push_id(column: &mut IdColumn, id: &Value<'_>) {
    let code = code_of(column, id);
    column.codes.push(code);
}

#[inline]
fn code_of(column: &mut IdColumn, id: &Value<'_>) -> u32 {
    match id {
        Value::Text(text) => column.code_of_text(text),
        Value::Integer(value) => column.code_of_integer(*value),
        other => column.code_of_text(&other.id_text().unwrap_or_default()),
    }
}

#[inline]
pub(super) fn position_of(value: &Value<'_>) -> Result<u32, Fault> {
    let position = match value {
        Value::Text(text) => position_of_text(text),
        Value::Integer(value) => position_of_integer(*value),
        Value::Float(value) => position_of_float(*value),
        Value::Missing => return Err(missing(Field::Position)),
        other => Err(not_whole(&other.shown())),
    };
    position.map_err(|finding| Fault::new(BadKind::Position, finding))
}

#[inline]
pub(super) fn click_of(value: &Value<'_>) -> Result<bool, Fault> {
    let click = match value {
        Value::Text(text) => click_of_text(text),
        Value::Integer(value) => click_of_integer(*value),
        Value::Float(value) => click_of_float(*value),
        Value::Bool(value) => Ok(*value),
        Value::Missing => return Err(missing(Field::Click)),
        other => Err(not_a_click(&other.shown())),
    };
    click.map_err(|finding| Fault::new(BadKind::Click, finding))
}

pub(super) fn time_of(value: &Value<'_>) -> Result<Time, Fault> {
    let time = match value {
        Value::Text(text) => Time::of_text(text),
        Value::Integer(value) => Some(Time::of_integer(*value)),
        Value::Float(value) => Time::of_float(*value),
        _ => None,
    };
    time.ok_or_else(|| {
        let finding =
            format!("time is {}, but a time looks like 2024-03-01T12:30:00Z or counts seconds", value.shown());
        Fault::new(BadKind::Time, finding)
    })
}

pub(super) fn number_of(value: &Value<'_>, name: &str) -> Result<f64, Fault> {
    let number = match value {
        Value::Text(text) => text.trim().parse().ok().or_else(|| truth(text)),
        Value::Integer(value) => Some(*value as f64),
        Value::Unsigned(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite()).ok_or_else(|| {
        Fault::new(BadKind::Number, format!("{} is {}, but should be a finite number", shown(name), value.shown()))
    })
}

fn truth(text: &str) -> Option<f64> {
    click_of_text(text).ok().map(|click| f64::from(u8::from(click)))
}

fn missing(field: Field) -> Fault {
    Fault::new(BadKind::Missing, format!("{} is missing, but every impression needs one", field.name()))
}
