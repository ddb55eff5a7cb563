//! The command line as it can be typed again: what has no effect on results, and where they went, is left out.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use clap::{Command, CommandFactory};

use crate::arguments::Arguments;

/// What was typed after the name of the program: in Python the process has other arguments.
static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps what was typed, with the name of the program in front.
pub fn keep(typed: &[OsString]) {
    TYPED.get_or_init(|| typed.iter().skip(1).cloned().collect());
}

/// Options that change no byte of a result, with a value.
const WITH_VALUE: [&str; 4] = ["--threads", "--color", "--memory", "--temporary"];

/// The same without a value.
const SWITCHES: [&str; 3] = ["--quiet", "-q", "--json"];

/// The command that was typed, with `output` as the place of its results. `None` where an argument is no text.
pub fn command(output: &str) -> Option<String> {
    of(TYPED.get()?.iter().cloned(), output)
}

/// The same for another subcommand: what it takes as well goes along, such as the columns of the log.
pub fn command_as(subcommand: &str, output: &str) -> Option<String> {
    let all = Arguments::command();
    let typed = TYPED.get()?;
    let from = typed.iter().find_map(|word| all.find_subcommand(word.to_str()?))?;
    let known = shared(typed, from, all.find_subcommand(subcommand)?)?;
    of(known.into_iter().map(OsString::from), output).map(|text| text.replacen(from.get_name(), subcommand, 1))
}

/// The words without options that `to` does not have, nor their values.
fn shared(typed: &[OsString], from: &Command, to: &Command) -> Option<Vec<String>> {
    let option = |command: &Command, name: &str| {
        command.get_arguments().find(|argument| argument.get_long() == name.strip_prefix("--")).cloned()
    };
    let (mut words, mut skips_value) = (Vec::new(), false);
    for word in typed {
        let word = word.to_str()?;
        if std::mem::take(&mut skips_value) {
            continue;
        }
        let name = word.split('=').next().unwrap_or(word);
        match option(from, name).filter(|_| name.starts_with("--") && option(to, name).is_none()) {
            Some(left_out) => skips_value = left_out.get_action().takes_values() && name.len() == word.len(),
            None => words.push(word.to_string()),
        }
    }
    Some(words)
}

fn of(arguments: impl Iterator<Item = OsString>, output: &str) -> Option<String> {
    let mut words = vec!["truerank".to_string()];
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let text = argument.into_string().ok()?;
        let name = text.split('=').next().unwrap_or(&text);
        let has_value = name.len() < text.len();
        match name {
            _ if SWITCHES.contains(&name) => {}
            _ if WITH_VALUE.contains(&name) || ["-o", "--output"].contains(&name) => {
                if !has_value {
                    arguments.next();
                }
            }
            _ if text.starts_with("-o") && !text.starts_with("--") => {}
            _ => words.push(quoted(&text)),
        }
    }
    words.push(format!("-o {output}"));
    Some(words.join(" "))
}

/// A path as shells take it for one word.
pub fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A word as shells take it for one.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(typed: &[&str]) -> String {
        of(typed.iter().map(OsString::from), "out/").unwrap()
    }

    #[test]
    fn what_leaves_no_trace_in_results_is_left_out() {
        let plain = "truerank fit clicks.csv --data d/ --seed 2 -o out/";
        assert_eq!(again(&["fit", "clicks.csv", "--data", "d/", "--seed", "2", "-o", "there"]), plain);
        assert_eq!(
            again(&["fit", "clicks.csv", "--data", "d/", "-q", "--threads", "3", "--seed", "2", "--output=x"]),
            plain
        );
        assert_eq!(
            again(&["fit", "-ox", "clicks.csv", "--json", "--data", "d/", "--seed", "2", "--memory=1GiB"]),
            plain
        );
        assert_eq!(again(&["fit", "clicks.csv", "--data", "d/", "--temporary", "/scratch", "--seed", "2"]), plain);
    }

    #[test]
    fn another_subcommand_gets_the_options_that_it_has() {
        let all = Arguments::command();
        let typed =
            ["doctor", "log.tsv", "--columns", "session=user+task", "--permutations", "99", "--feature", "score"];
        let typed = typed.map(OsString::from);
        let [doctor, fit] = ["doctor", "fit"].map(|name| all.find_subcommand(name).unwrap());
        let words = shared(&typed, doctor, fit).unwrap();
        assert_eq!(words, ["doctor", "log.tsv", "--columns", "session=user+task", "--feature", "score"]);
    }

    #[test]
    fn words_stay_words() {
        assert_eq!(again(&["doctor", "logs/*.csv", "it's"]), r"truerank doctor 'logs/*.csv' 'it'\''s' -o out/");
    }
}
