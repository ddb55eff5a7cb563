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

/// Gives the values of an enum their names: a list of all, text and back, and a place among options.
macro_rules! named {
    ($type:ident, $what:literal: $($variant:ident $name:literal),+ $(,)?) => {
        impl $type {
            /// All of them.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self {
                    $($type::$variant => $name,)+
                })
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                $crate::named::find_named(&$type::ALL, text, $what)
            }
        }

        $crate::options::option_value!($type: Kind::Choice(vec![$($name),+]));
    };
}
pub(crate) use named;
