//! Counting as SQL: a dialect and the names of a log's columns enter, statements for a warehouse leave.
//!
//! All of it is one file, `count.sql`: the log, what pages show, pages, then checks, cells, sessions, patterns, lists and transitions. Dialects
//! differ in a handful of placeholders. What is filled in is quoted and never looked at again, so names of columns cannot
//! become statements.

mod click;
mod count;
mod dialect;

pub use count::{CountSql, CountView, SqlOptions};
pub use dialect::Dialect;

pub(crate) use click::click_value;
