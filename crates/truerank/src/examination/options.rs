//! A method and what was chosen for it, as front ends collect it.

use std::path::Path;

use super::{Estimated, Features, METHODS, Method, Sources};
use crate::data::Dataset;
use crate::options::{Field, OptionValue, Options, listed};
use crate::progress::Progress;
use crate::propensity::RegressionEm;
use crate::spark::SparkEm;
use crate::{Error, Result};

/// The method and the options of all methods, of which those of the chosen one may be set.
///
/// Options stay texts until the method is known, since defaults are the method's own.
#[derive(Debug, Clone, Default)]
pub struct ExaminationOptions {
    /// How to estimate.
    pub method: &'static Method,
    chosen: Vec<(&'static str, Vec<String>)>,
}

/// Whether a method reads a file, or writes it.
type IsRead = fn(&Method) -> bool;

/// Options of the method alone, with what was chosen.
pub(super) fn configured<T: Options>(options: &ExaminationOptions) -> Result<T> {
    let mut own = T::default();
    let chosen = options.chosen.iter().filter(|(name, _)| options.method.takes(name));
    for (name, texts) in chosen {
        own.set(name, texts)?;
    }
    Ok(own)
}

impl ExaminationOptions {
    /// All defaults of a method.
    pub fn of(method: &'static Method) -> Self {
        ExaminationOptions { method, chosen: Vec::new() }
    }

    /// Refuses, before anything is read, options and files that the method has no use for, and values that it cannot have.
    /// Each file is given or not: features of documents, features of users, where to write the ranker.
    pub fn check(&self, data: bool, user_features: bool, ranker: bool) -> Result<()> {
        let files: [(&str, bool, IsRead); 3] = [
            ("data", data, |method| method.features != Features::Unused),
            ("user_features", user_features, |method| method.reads_contexts),
            ("ranker", ranker, |method| method.gives_ranker),
        ];
        for (name, given, is_read) in files {
            if given && !is_read(self.method) {
                return Err(self.not_for(name, is_read));
            }
        }
        self.check_taken()?;
        self.method.check(self, data)
    }

    /// Estimates θ.
    pub fn estimate(&self, from: &Sources<'_>) -> Result<Estimated> {
        self.check_taken()?;
        self.method.estimate(self, from)
    }

    /// Estimates θ on the Spark cluster at `url`, which sees the folder of counts and the output under the same paths; features
    /// are here.
    pub fn estimate_on(
        &self,
        url: &str,
        counts: &Path,
        data: Option<&Dataset>,
        output: &Path,
        progress: &dyn Progress,
    ) -> Result<Estimated> {
        self.check_engine(data.is_some())?;
        let em: RegressionEm = configured(self)?;
        em.check()?;
        SparkEm::new(url, em).estimate(counts, data, output, progress).map(Estimated::from)
    }

    /// Refuses what a cluster cannot do.
    pub fn check_engine(&self, data: bool) -> Result<()> {
        if self.method != <&Method>::default() {
            return Err(Error::option("method", "other than em is not for `engine`; estimate without it"));
        }
        self.check_taken()?;
        SparkEm::check(&configured(self)?, data)
    }

    /// Refuses options of other methods.
    fn check_taken(&self) -> Result<()> {
        let is_taken = |name: &str| self.method.takes(name) || (name == "per_user" && self.method.always_per_user);
        match self.chosen.iter().find(|(name, _)| !is_taken(name)) {
            Some((name, _)) => Err(self.not_for(name, |method| method.takes(name))),
            None => Ok(()),
        }
    }

    fn not_for(&self, name: &str, is_taken: impl Fn(&Method) -> bool) -> Error {
        let takers: Vec<&str> = METHODS.iter().filter(|method| is_taken(method)).map(|method| method.name).collect();
        Error::option(name, format!("is for {}, but `method` is {}", listed(&takers), self.method))
    }
}

impl Options for ExaminationOptions {
    /// The method, and the options of all methods. Where some take an option, its help begins with them; where they differ in
    /// the default, it has none in common.
    fn fields() -> Vec<Field> {
        let method = Field::new("method", "How to estimate.", &<&'static Method>::default());
        let mut fields = vec![method];
        for field in METHODS.iter().flat_map(Method::fields) {
            match fields.iter_mut().find(|known| known.name == field.name) {
                None => fields.push(field),
                Some(known) if known.default != field.default => {
                    known.default.clear();
                    known.usual = Some("the method's own");
                }
                Some(_) => {}
            }
        }
        fields.iter_mut().skip(1).for_each(name_takers);
        fields
    }

    fn set(&mut self, name: &str, texts: &[String]) -> Result<()> {
        if name == "method" {
            self.method = OptionValue::from_texts(texts).map_err(|finding| Error::option_as(name, finding))?;
            return Ok(());
        }
        let Some(field) = Self::fields().into_iter().find(|field| field.name == name) else {
            return Err(Error::parameter(format!("there is no option '{name}'")));
        };
        self.chosen.retain(|(chosen, _)| *chosen != name);
        self.chosen.push((field.name, texts.to_vec()));
        Ok(())
    }

    fn get(&self, name: &str) -> Vec<String> {
        match self.chosen.iter().find(|(chosen, _)| *chosen == name) {
            Some((_, texts)) => texts.clone(),
            None if name == "method" => self.method.to_texts(),
            None => Vec::new(),
        }
    }
}

fn name_takers(field: &mut Field) {
    let takers: Vec<&str> =
        METHODS.iter().filter(|method| method.takes(field.name)).map(|method| method.name).collect();
    if takers.len() < METHODS.len() / 2 {
        let mut help = field.help.chars();
        let first = help.next().map(char::to_lowercase).into_iter().flatten();
        field.help = format!("{}: {}{}", takers.join(", "), first.collect::<String>(), help.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(options: &[(&str, &str)]) -> ExaminationOptions {
        let mut chosen = ExaminationOptions::default();
        options.iter().for_each(|(name, text)| chosen.set(name, &[text.to_string()]).unwrap());
        chosen
    }

    #[test]
    fn options_of_other_methods_are_refused() {
        let refusal = |options: &[(&str, &str)]| chosen(options).check(false, false, false).unwrap_err().to_string();
        assert_eq!(
            refusal(&[("method", "swap"), ("tolerance", "0.1")]),
            "`tolerance` is for em, harvesting, cpbm or user-pbm, but `method` is swap"
        );
        assert_eq!(refusal(&[("model", "linear")]), "`model` is for dla, but `method` is em");
        assert_eq!(
            refusal(&[("resamples", "1")]),
            "`resamples` is 1, but should be 0 for no standard errors, or at least 2"
        );
        assert_eq!(refusal(&[("iterations", "0")]), "`iterations` is 0, but should be at least 1");
        assert!(refusal(&[("method", "dla")]).starts_with("dla learns from features"));
        assert!(refusal(&[("relevance", "linear")]).starts_with("`relevance` is linear, which learns from features"));
        let swap = chosen(&[("method", "swap")]);
        let files = [swap.check(true, false, false), swap.check(false, true, false), swap.check(false, false, true)];
        let takers = ["`data` is for em, user-pbm or dla,", "`user_features` is for cpbm,", "`ranker` is for dla,"];
        for (found, expected) in files.into_iter().zip(takers) {
            assert_eq!(found.unwrap_err().to_string(), format!("{expected} but `method` is swap"));
        }
        assert!(chosen(&[("method", "cpbm"), ("per_user", "true")]).check(false, false, false).is_ok());
    }

    #[test]
    fn a_cluster_does_one_method() {
        assert!(chosen(&[("per_user", "true"), ("clusters", "3")]).check_engine(true).is_ok());
        let refusal = |options: &[(&str, &str)]| chosen(options).check_engine(false).unwrap_err().to_string();
        assert_eq!(refusal(&[("method", "swap")]), "`method` other than em is not for `engine`; estimate without it");
        assert!(refusal(&[("per_user", "true"), ("shrink", "none")]).starts_with("`prior` other than none is not for"));
    }

    #[test]
    fn what_methods_share_is_one_option() {
        let fields = ExaminationOptions::fields();
        let field = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(fields.iter().filter(|field| field.name == "iterations").count(), 1);
        assert_eq!(field("iterations").default_text().as_deref(), Some("the method's own"));
        assert_eq!(field("seed").default_text().as_deref(), Some("1"));
        assert!(field("weighting").help.starts_with("harvesting, cpbm: how much each document counts"));
    }
}
