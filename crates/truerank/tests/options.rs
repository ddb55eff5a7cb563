//! What is generated from the declarations of options: docs/options.md, and the types of Python's keywords. A file that is not what
//! the declarations say fails; `TRUERANK_UPDATE=1 cargo test -p truerank --test options` writes them anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use truerank::log::LogFormat;
use truerank::options::{Field, Kind};
use truerank::ranker::RankerKind;
use truerank::stages::{Stage, is_option, stages};
use truerank::text::rename_quoted;

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn compare(path: &str, expected: &str) {
    let path = in_project(path);
    if std::env::var_os("TRUERANK_UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{} is not what the options say; run with TRUERANK_UPDATE=1", path.display());
}

#[test]
fn documentation_lists_the_options() {
    let mut text = String::from(
        "# Options\n\nEvery option of every stage, generated from their declarations. On the command line `learning_rate` is \
         `--learning-rate`, in Python `learning_rate=`, in Rust `.learning_rate(…)`; the default is the same everywhere.\n",
    );
    for stage in stages() {
        write!(text, "\n## {}\n\n", stage.title).unwrap();
        text += "| option | value | default | what it is for |\n|---|---|---|---|\n";
        stage.fields.iter().for_each(|field| text += &row(field));
    }
    text += "\n## Kinds of rankers\n\n| kind | what it is |\n|---|---|\n";
    RankerKind::ALL.iter().for_each(|kind| writeln!(text, "| `{}` | {} |", kind.name, cell(kind.help)).unwrap());
    text += "\n## Forms of logs\n\n| form | names end in | what it is |\n|---|---|---|\n";
    for format in LogFormat::ALL {
        writeln!(text, "| `{format}` | {} | {} |", format.endings().join(", "), format.help()).unwrap();
    }
    compare("docs/options.md", &text);
}

fn row(field: &Field) -> String {
    let range = field.range.map(|range| format!(", {range}")).unwrap_or_default();
    let several = if field.is_list { "; several" } else { "" };
    let value = match &field.kind {
        Kind::Flag => "yes or no".to_string(),
        Kind::Whole => format!("whole number{range}"),
        Kind::Number => format!("number{range}"),
        Kind::Text => "text".to_string(),
        Kind::TextOrNumber => format!("text or number{range}"),
        Kind::Mapping => "names and their values".to_string(),
        Kind::Path => "path".to_string(),
        Kind::Choice(names) => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    let default =
        field.default_text().unwrap_or_else(|| if field.kind == Kind::Flag { "no" } else { "none" }.to_string());
    format!("| `{}` | {value}{several} | {} | {} |\n", field.name, cell(&default), cell(&field.help))
}

/// Text that is one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn python_knows_the_types_of_keywords() {
    let mut text = String::from(
        "\"\"\"The types of keywords, generated from the declarations of options; do not edit.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         import datetime\n\
         from os import PathLike\n\
         from typing import Any, Literal, Mapping, Sequence, TypedDict, Union\n\n\
         _Path = Union[str, \"PathLike[str]\"]\n\
         _Time = Union[str, datetime.date, datetime.datetime, Any]\n\
         _Any = Any\n",
    );
    stages().iter().for_each(|stage| text += &typed_dict(stage));
    compare("crates/truerank-python/python/truerank/_options.py", &text);
}

fn typed_dict(stage: &Stage) -> String {
    let mut text =
        format!("\n\nclass {}Options(TypedDict, total=False):\n    \"\"\"{}.\"\"\"\n\n", stage.name, stage.title);
    for field in &stage.fields {
        writeln!(text, "    {}: {} | None", field.name, python_type(field)).unwrap();
    }
    text
}

/// Options for which Python has richer types than text.
const RICHER: [(&str, &str); 4] =
    [("since", "_Time"), ("until", "_Time"), ("header", "bool | Sequence[str]"), ("on_bad_row", "_Path")];

fn python_type(field: &Field) -> String {
    if let Some((_, richer)) = RICHER.iter().find(|(name, _)| *name == field.name) {
        return richer.to_string();
    }
    let one = match &field.kind {
        Kind::Flag => "bool".to_string(),
        Kind::Whole => "int".to_string(),
        Kind::Number => "float".to_string(),
        Kind::Text => "str".to_string(),
        Kind::TextOrNumber => "str | float".to_string(),
        Kind::Mapping => return "Mapping[str, str | None]".to_string(),
        Kind::Path => "_Path".to_string(),
        Kind::Choice(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("Literal[{}]", names.join(", "))
        }
    };
    if field.is_list { format!("Sequence[{one}] | {one}") } else { one }
}

#[test]
fn help_names_options_that_there_are_and_no_flags() {
    for field in stages().iter().flat_map(|stage| &stage.fields) {
        assert!(!field.help.contains("--"), "{}: {}", field.name, field.help);
        assert!(!field.help.is_empty(), "{} has no help", field.name);
        // A name in backticks that is written like an option is one.
        rename_quoted(&field.help, |name| {
            let is_name = name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(!is_name || is_option(name), "{}: `{name}` is no option", field.name);
            None
        });
    }
}

#[test]
fn an_option_has_one_name_in_a_stage() {
    for stage in stages() {
        let mut names: Vec<&str> = stage.fields.iter().map(|field| field.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{}", stage.name);
    }
}
