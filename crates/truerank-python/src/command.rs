//! The command line, compiled into the package: what was typed enters, an exit code leaves.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

/// The codes that the command line ends with.
const CODES: [u8; 3] = [0, 1, 2];

/// Runs the command line; the first of the arguments is the name of the program. Wrong arguments and help end the process.
#[pyfunction]
pub fn _command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| truerank_cli::run(arguments));
    CODES.into_iter().find(|&known| ExitCode::from(known) == code).unwrap_or(2)
}
