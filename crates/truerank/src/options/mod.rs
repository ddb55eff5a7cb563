//! Options as plain values: a declaration enters; a struct with its name, type, default, range and help for every front end
//! leaves.
//!
//! What people can choose is said once, with `options!`. The command line makes flags of it, Python keywords, docs/options.md a
//! table; none of them repeats a name, a default or a word of help. Front ends exchange values with it as text: they know
//! [`Options`] and [`Field`], and no option by its name.
//!
//! ```
//! use truerank::options::Options;
//! use truerank::ranker::Training;
//!
//! let mut training = Training::new().batch(64);
//! training.set("learning_rate", &["0.1".to_string()])?;
//! assert_eq!((training.batch, training.learning_rate), (64, Some(0.1)));
//!
//! let error = training.set("batch", &["many".to_string()]).unwrap_err();
//! assert_eq!(error.to_string(), "`batch` is 'many', but should be a whole number");
//! # Ok::<(), truerank::Error>(())
//! ```

mod declare;
mod field;
mod value;

pub(crate) use declare::options;
pub use field::{Field, Range};
pub(crate) use value::option_value;
pub use value::{Kind, OptionValue};

use crate::{Error, Result};

/// A struct of options, as `options!` makes them.
pub trait Options: Default + Clone {
    /// All options, in the order of their declaration.
    fn fields() -> Vec<Field>;

    /// Sets an option by its name; a list takes several texts, everything else one. An unknown name is an error.
    fn set(&mut self, name: &str, texts: &[String]) -> Result<()>;

    /// The texts of an option's value, none where it has no value or there is no such option.
    fn get(&self, name: &str) -> Vec<String>;

    /// Refuses values outside their range.
    fn check_ranges(&self) -> Result<()> {
        Self::fields().iter().try_for_each(|field| field.check(&self.get(field.name)))
    }

    /// Whether an option has the value that it has by default.
    fn is_default(&self, name: &str) -> bool {
        self.get(name) == Self::default().get(name)
    }

    /// The first option that has another value than by default, if one has.
    fn first_given(&self) -> Option<&'static str> {
        Self::fields().iter().map(|field| field.name).find(|name| !self.is_default(name))
    }

    /// Refuses options that were chosen but that `what` does not take. `takers` says who takes an option.
    fn refuse_others<N: PartialEq + Copy>(
        &self,
        what: (&str, N),
        name: impl Fn(N) -> String,
        takers: impl Fn(&str) -> Vec<N>,
    ) -> Result<()> {
        for field in Self::fields() {
            let takers = takers(field.name);
            if !takers.is_empty() && !takers.contains(&what.1) && !self.is_default(field.name) {
                let names: Vec<String> = takers.into_iter().map(&name).collect();
                let finding = format!("is for {}, but `{}` is {}", listed(&names), what.0, name(what.1));
                return Err(Error::option(field.name, finding));
            }
        }
        Ok(())
    }
}

/// Names as people read them: `em, user-pbm or dla`.
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", rest.join(", "), last.as_ref())
        }
        _ => names.iter().map(AsRef::as_ref).collect(),
    }
}
