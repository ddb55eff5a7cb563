//! Options of the library as flags: each declaration enters, its flag with help, default and check leaves.

use std::ops::Deref;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use truerank::options::{Field, Kind, Options};
use truerank::stages::is_option;
use truerank::text::rename_quoted;

/// A struct of options as it was typed, with defaults where nothing was.
#[derive(Clone, Default)]
pub struct Typed<T>(pub T);

impl<T> Deref for Typed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Options> Args for Typed<T> {
    fn augment_args(command: Command) -> Command {
        T::fields().iter().fold(command, |command, field| command.arg(argument(field)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Options> FromArgMatches for Typed<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Typed(T::default());
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        set_typed(&mut self.0, matches).map_err(|error| refused(&error))
    }
}

fn set_typed<T: Options>(options: &mut T, matches: &ArgMatches) -> truerank::Result<()> {
    for field in T::fields() {
        let texts = texts(&field, matches);
        if !texts.is_empty() {
            options.set(field.name, &texts)?;
        }
    }
    options.check_ranges()
}

/// An error of the library before anything was read.
fn refused(error: &truerank::Error) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{}\n", error.naming(flag_of)))
}

/// What people type for an option, where the library has one of this name.
pub fn flag_of(name: &str) -> Option<String> {
    is_option(name).then(|| format!("--{}", kebab(name)))
}

fn kebab(name: &str) -> String {
    name.replace('_', "-")
}

/// Flags that are not on by default are said without a value.
fn is_switch(field: &Field) -> bool {
    field.kind == Kind::Flag && field.default != ["true"]
}

fn texts(field: &Field, matches: &ArgMatches) -> Vec<String> {
    match field.kind {
        _ if is_switch(field) => matches.get_flag(field.name).then(|| "true".to_string()).into_iter().collect(),
        Kind::Path => matches
            .get_many::<PathBuf>(field.name)
            .into_iter()
            .flatten()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
        _ => matches.get_many::<String>(field.name).into_iter().flatten().cloned().collect(),
    }
}

fn argument(field: &Field) -> Arg {
    let aliases: Vec<String> = field.aliases.iter().map(|alias| kebab(alias)).collect();
    let argument = Arg::new(field.name).long(kebab(field.name)).aliases(aliases).help(help(field));
    let argument = match field.heading {
        Some(heading) => argument.help_heading(heading),
        None => argument,
    };
    if is_switch(field) {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = match field.is_list {
        true if field.has_commas || field.kind == Kind::Mapping => argument.action(ArgAction::Append),
        true => argument.action(ArgAction::Append).value_delimiter(','),
        false => argument.action(ArgAction::Set).allow_negative_numbers(true),
    };
    argument.value_name(value_name(field)).value_parser(parser(field))
}

/// Values are checked by the library, but for those that a shell can complete.
fn parser(field: &Field) -> ValueParser {
    match &field.kind {
        Kind::Choice(names) => PossibleValuesParser::new(names.clone()).into(),
        Kind::Path => clap::value_parser!(PathBuf),
        _ => clap::value_parser!(String),
    }
}

fn value_name(field: &Field) -> String {
    let usual = if field.kind == Kind::Flag { "BOOL".to_string() } else { field.name.to_uppercase() };
    field.value.map_or(usual, str::to_string)
}

fn help(field: &Field) -> String {
    let help = rename_quoted(&field.help, flag_of);
    match field.default_text() {
        Some(default) => format!("{help} [default: {default}]"),
        None => help,
    }
}
