//! Logs of events: rows that show documents and rows that click them enter, impressions leave.
//!
//! A row that shows documents holds a whole result page as a list, or one document and its position. A click belongs to the
//! page of its session that shows the document; where several do, to the last one before it, by time where there are times,
//! else by the order of rows. Pages and clicks are held in memory, other events cost nothing but reading.

mod join;
mod options;
mod summary;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use super::format::LogFormat;
use super::options::ReadOptions;
use super::part::LogPart;
use super::read::{Piece, Reading, lock, read_records};
use super::record::Record;
use crate::Result;
use crate::progress::Progress;

use join::Pages;
pub use options::EventOptions;
pub(super) use options::Kind;

/// Which records of a file are which events.
#[derive(Debug, Clone)]
pub(crate) struct EventLayout {
    /// The column with the name of the event.
    pub column: usize,
    pub events: EventOptions,
}

impl EventLayout {
    /// What a record says; its name where that is something else.
    pub(super) fn kind(&self, record: &impl Record) -> Result<Kind, String> {
        let value = record.value(self.column);
        let name = value.id_text().unwrap_or_default();
        self.events.kind(&name).ok_or_else(|| super::values::shown(&name))
    }
}

/// Reads events in the order of the files, joins them, and hands the impressions to `take`.
pub(super) fn read_events(
    parts: &[LogPart],
    options: &ReadOptions,
    events: &EventOptions,
    progress: &dyn Progress,
    take: &dyn Fn(Piece) -> Result<()>,
) -> Result<Reading> {
    let pages = Mutex::new(Pages::new(options.format == Some(LogFormat::Yandex)));
    let mut reading = read_records(parts, options, progress, 1, |piece| {
        lock(&pages).add(&piece);
        Ok(())
    })?;
    let (joined, summary) = pages.into_inner().unwrap_or_else(PoisonError::into_inner).join();
    summary.check(reading.parts[0].path(), events, &reading.bad.rows())?;
    reading.notes.extend(summary.remarks());
    // A page of a session has a number of its own.
    reading.numbered = true;
    joined.for_each_rows(options.needs_times(), take)?;
    Ok(reading)
}
