//! The `truerank` command line: arguments, progress and printing over the library. What was typed enters [`run`], an exit code leaves
//! it. The binary and the Python package, which brings the same command, call it.

mod again;
mod arguments;
mod commands;
mod options;
mod output;
mod paths;
mod progress;
mod system;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use truerank::files::table::panic_becomes_error;
use truerank::text::{line, printable_lines};

/// Runs the command line for these arguments, the first of which is the name of the program. Prints results and errors; ends the process
/// where arguments are wrong or help was asked for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    say_damage_once();
    system::prepare();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    again::keep(&arguments);
    let typed = arguments::Arguments::command().try_get_matches_from(arguments);
    let typed = typed.unwrap_or_else(|error| refuse(&error));
    let arguments = arguments::Arguments::from_arg_matches(&typed).unwrap_or_else(|error| refuse(&error));
    output::choose_colour(arguments.color);
    match paths::refuse_to_overwrite(&typed).and_then(|()| commands::run(arguments)) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            progress::say_error(&line(&format!("error: {}", told(&error))));
            ExitCode::from(2)
        }
    }
}

/// A wrong value gets one line, as errors in files do; what is wrong with the options as such also gets their usage.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    let lines = match error.kind() {
        ErrorKind::ValueValidation => 1,
        // The second line has the values that are possible.
        ErrorKind::InvalidValue => 2,
        // A pattern of the shell may have put any file's name among the options.
        _ if error.use_stderr() && printable_lines(&text) != text => 1,
        _ => error.exit(),
    };
    progress::say_error(&line(&text.lines().take(lines).map(str::trim).collect::<Vec<_>>().join(" ")));
    std::process::exit(2)
}

/// An error with its causes, and options as they are typed here.
fn told(error: &anyhow::Error) -> String {
    let tell = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref::<truerank::Error>() {
        Some(error) => error.naming(options::flag_of),
        None => cause.to_string(),
    };
    error.chain().map(tell).collect::<Vec<_>>().join(": ")
}

/// Panics that the library turns into an error about a damaged file are told as that error only.
fn say_damage_once() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic_becomes_error() {
            usual(panic);
        }
    }));
}

/// Whoever reads our output may stop early, as in `truerank evaluate … | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.into_iter().any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
