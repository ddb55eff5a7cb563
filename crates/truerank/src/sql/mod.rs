//! Counting as SQL: a dialect and the names of a log's columns enter, statements for a warehouse leave.

mod click;
mod count;
mod dialect;

pub use count::{CountSql, CountView, SqlOptions};
pub use dialect::Dialect;

#[cfg(feature = "spark")]
pub(crate) use click::click_value;
