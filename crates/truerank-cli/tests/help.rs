//! What the program says about itself.

mod common;

use common::Sandbox;

const COMMANDS: [&str; 23] = [
    "demo",
    "doctor",
    "drift",
    "fit",
    "generate",
    "simulate",
    "count",
    "merge",
    "propensity",
    "click-model",
    "relevance",
    "train",
    "interleaving",
    "evaluate",
    "predict-clicks",
    "explain",
    "score",
    "export",
    "experiment",
    "report",
    "convert",
    "sql",
    "completions",
];

#[test]
fn the_program_explains_itself() {
    insta::assert_snapshot!("help", Sandbox::new().run("--help"));
}

#[test]
fn every_subcommand_explains_itself() {
    let sandbox = Sandbox::new();
    let all = sandbox.run("--help");
    for command in COMMANDS {
        assert!(all.contains(&format!("\n  {command} ")), "{command} is missing in the help");
        insta::assert_snapshot!(format!("help_{command}"), sandbox.run(&format!("{command} --help")));
    }
}

#[test]
fn without_a_command_the_help_goes_to_standard_error() {
    let output = Sandbox::new().output("");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage: truerank"));
}

#[test]
fn the_version_is_the_crates() {
    assert_eq!(Sandbox::new().run("--version"), format!("truerank {}\n", env!("CARGO_PKG_VERSION")));
}
