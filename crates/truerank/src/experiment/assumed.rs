//! Whom clicks come from, and what whoever learns from them takes them for.

use std::fmt;
use std::str::FromStr;

use crate::click_model::ClickModelKind;
use crate::named::find_named;
use crate::{Error, Result};

/// How the users of a simulated log browse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Clicked {
    /// All by one model, each kind of users with its own parameters.
    By(ClickModelKind),
    /// By one of [`MIXED`] each, in turn.
    Mixed,
}

/// The models of a log of [`Clicked::Mixed`].
pub const MIXED: [ClickModelKind; 3] = [ClickModelKind::Pbm, ClickModelKind::Ubm, ClickModelKind::Dbn];

impl Clicked {
    /// The models that kinds of users get in turn.
    pub fn models(self) -> Vec<ClickModelKind> {
        match self {
            Clicked::By(kind) => vec![kind],
            Clicked::Mixed => MIXED.to_vec(),
        }
    }
}

impl fmt::Display for Clicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clicked::By(kind) => kind.fmt(f),
            Clicked::Mixed => f.pad("mixed"),
        }
    }
}

impl FromStr for Clicked {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all: Vec<Clicked> = ClickModelKind::ALL.into_iter().map(Clicked::By).chain([Clicked::Mixed]).collect();
        find_named(&all, text, "a click model, or mixed")
    }
}

/// A click model that clicks are corrected by, after it was fitted to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumed {
    /// The model.
    pub kind: ClickModelKind,
    /// With parameters of each user instead of one set for all.
    pub per_user: bool,
}

impl Assumed {
    /// All of them: those in which users can differ, with users and without.
    pub fn all() -> impl Iterator<Item = Assumed> {
        let kinds = ClickModelKind::ALL.into_iter().filter(|kind| kind.parameter_count(1) > 0);
        kinds.flat_map(|kind| [true, false].map(|per_user| Assumed { kind, per_user }))
    }
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.per_user { "user-aware" } else { "user-oblivious" };
        f.pad(&format!("{who}-under-{}", self.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Method;

    #[test]
    fn what_is_printed_reads_back() {
        for assumed in Assumed::all() {
            let method = Method::Modelled(assumed);
            assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
        }
        for text in ["dbn", "mixed"] {
            assert_eq!(text.parse::<Clicked>().unwrap().to_string(), text);
        }
        assert_eq!(Clicked::Mixed.models(), MIXED);
        assert!("user-aware-under-cm".parse::<Method>().is_err(), "in cm all browse alike");
    }
}
