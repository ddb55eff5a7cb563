//! Values that have a name: found by it, or refused with the names there are.

use std::fmt::Display;

use crate::{Error, Result};

/// The value that prints as `text`; `kind` says what it should have been, such as `a preset`.
pub(crate) fn find_named<T: Display + Copy>(all: &[T], text: &str, kind: &str) -> Result<T> {
    all.iter().find(|value| value.to_string() == text).copied().ok_or_else(|| {
        let known = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Error::parameter(format!("'{text}' is not {kind}; known are {known}"))
    })
}
