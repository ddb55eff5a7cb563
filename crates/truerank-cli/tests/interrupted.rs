//! Runs that end before their time: the reader of the output leaves, or the run is killed.

#![cfg(unix)]

mod common;

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use common::Sandbox;

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.command("completions bash").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_reader_of_progress_that_leaves_early_does_not_stop_the_work() {
    let sandbox = Sandbox::new();
    let mut child =
        sandbox.command("generate --preset tiny -o data").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(sandbox.path("data/train.txt").is_file());
}

#[test]
fn a_killed_run_leaves_the_old_file() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.write("clicks.csv", "old log");
    sandbox.write("clicks.propensities.json", "old propensities");
    let mut child = sandbox.command("simulate data --sessions 100000000 -o clicks.csv --quiet").spawn().unwrap();
    let has_started = || sandbox.files().keys().any(|name| name.to_string_lossy().starts_with(".truerank-"));
    while !has_started() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sandbox.read("clicks.csv"), b"old log");
    assert_eq!(sandbox.read("clicks.propensities.json"), b"old propensities");
}
