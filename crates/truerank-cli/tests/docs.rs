//! Every command of README and docs/ runs, block by block, in a folder of its own for each page.
//!
//! A block is shell where its first line begins with a program's name; what a page takes for granted is made before (`given`).
//! Sizes are cut: the commands are tested here, not the numbers on the page.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Sandbox;
use rayon::prelude::*;

/// Blocks that begin with one of these are commands; others are output, formulas or other languages.
const PROGRAMS: [&str; 11] =
    ["truerank ", "mkdir ", "printf ", "cat >", "zcat ", "cargo ", "pip ", "python ", "./test", "TRUERANK_", "docker "];

/// Lines that are not run, by what they contain, and why.
const NOT_RUN: [(&str, &str); 8] = [
    ("cargo ", "builds the program that is tested here"),
    ("./test", "is what runs this"),
    ("pip install", "tests of the Python package install it"),
    ("python benches/", "measures, for hours"),
    ("sc://", "tests/spark has a cluster"),
    ("/shared/", "is a folder that a cluster sees, too"),
    ("experiment ", "tests/experiment.rs reruns the questions"),
    ("impressions.tsv.gz", "is a real log that cannot be redistributed"),
];

/// Records of measurements, whose commands take minutes to hours.
const RECORDS: [&str; 2] = ["docs/performance.md", "docs/results.md"];

/// What the pages take for granted, as commands.
const DATA: &str = "truerank generate --preset tiny -o data/";
const LOG: &str = "truerank simulate data/ --sessions 20000 -o clicks.csv.gz";
const PARQUET: &str = "truerank simulate data/ --sessions 20000 -o clicks.parquet";
const COUNTS: &str = "truerank count clicks.parquet -o counts/";
const RELEVANCE: &str =
    "truerank relevance counts/ --propensities clicks.propensities.json --estimator user-aware -o relevance.parquet";
const LOGS: &str = "mkdir logs; truerank simulate data/ --sessions 20000 -o logs/1.parquet";
const RANKERS: &str = "truerank train data/ --model linear --steps 20 -o ranker.safetensors
truerank train data/ --model trees --steps 20 -o trees.safetensors
seq 20 > names.txt";
const DAYS: &str = "truerank simulate data/ --sessions 3000 -o all.csv
for day in 1 2 3; do awk -F, -v day=$day 'NR == 1 || $1 % 3 + 1 == day' all.csv > day$day.csv; done
truerank count day1.csv -o a/
truerank count day2.csv -o b/
truerank count day3.csv -o today/
cp -r a day1; cp -r b day2; cp -r b yesterday
truerank propensity a/ --data data/ -o march.json
truerank propensity b/ --data data/ -o april.json";
const UBI: &str = r#"printf '{"query_id":"a","user_query":"shoes","client_id":"ada","query_response_hit_ids":["d1","d2"],"timestamp":"2024-03-01T10:00:00Z"}\n' > queries.ndjson
printf '{"action_name":"open","query_id":"a","client_id":"ada","event_attributes":{"object":{"object_id":"d2"}},"timestamp":"2024-03-01T10:00:05Z"}\n' > events.ndjson"#;

fn given(page: &str) -> Vec<&'static str> {
    match page {
        "README.md" => vec![DATA, LOG, LOGS, DAYS],
        "every-day.md" => vec![DATA, DAYS],
        "doctor.md" => vec![DATA, PARQUET],
        "export.md" => vec![DATA, RANKERS, PARQUET, COUNTS, RELEVANCE],
        "logs.md" => vec![UBI],
        "memory.md" => vec![DATA, LOGS],
        "propensities.md" => vec![DATA, PARQUET, COUNTS],
        "your-log.md" => vec![DATA, LOG],
        _ => vec![],
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages, by name.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md")];
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(docs.filter(|path| path.extension().is_some_and(|it| it == "md")));
    // Two pages are called README.md: that of docs/ has no commands.
    paths.retain(|path| !path.ends_with("docs/README.md") && !RECORDS.iter().any(|record| path.ends_with(record)));
    paths.sort();
    let page = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        (name, std::fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(page).collect()
}

/// Indented blocks of a page without their indentation, each with its line.
fn blocks(text: &str) -> Vec<(usize, Vec<String>)> {
    let (mut found, mut indent, mut is_fenced) = (Vec::<(usize, Vec<String>)>::new(), 0, false);
    let mut is_open = false;
    for (number, line) in text.lines().enumerate() {
        is_fenced ^= line.trim_start().starts_with("```");
        let depth = line.len() - line.trim_start().len();
        if is_fenced || line.trim().is_empty() || depth < if is_open { indent } else { 4 } {
            is_open = false;
            continue;
        }
        if !is_open {
            (is_open, indent) = (true, depth);
            found.push((number + 1, Vec::new()));
        }
        found.last_mut().unwrap().1.push(line[indent..].to_string());
    }
    found
}

/// The shell commands of a block, none if it is something else. Where lines begin with `$`, the others are output.
fn script(block: &[String]) -> Option<String> {
    if block[0].starts_with("$ ") {
        let mut goes_on = false;
        let commands = block.iter().filter(|line| {
            let is_command = goes_on || line.starts_with("$ ");
            goes_on = is_command && line.ends_with('\\');
            is_command
        });
        let commands: Vec<&str> = commands.map(|line| line.trim_start_matches("$ ")).collect();
        return Some(commands.join("\n"));
    }
    PROGRAMS.iter().any(|program| block[0].starts_with(program)).then(|| block.join("\n"))
}

/// Lines that belong together: those that end with a backslash, and what `cat` is given.
fn statements(script: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::<String>::new(), None::<&str>);
    for line in script.lines() {
        let goes_on = open.is_some() || found.last().is_some_and(|last| last.ends_with('\\'));
        match found.last_mut().filter(|_| goes_on) {
            Some(last) => *last += &format!("\n{line}"),
            None => found.push(line.to_string()),
        }
        open = match open {
            Some(end) if line == end => None,
            Some(end) => Some(end),
            None => line.contains("<<'END'").then_some("END"),
        };
    }
    found
}

/// Small enough for a test. `doctor` may say with exit code 1 that a log is not fit, and `drift` that it has changed.
fn cut(statement: &str) -> String {
    let mut words: Vec<String> = statement.split(' ').map(str::to_string).collect();
    for index in 1..words.len() {
        match words[index - 1].as_str() {
            "--sessions" => words[index] = "20000".into(),
            "--preset" => words[index] = "tiny".into(),
            _ => {}
        }
    }
    let cut = words.join(" ");
    let may_find_something = cut.contains("truerank doctor") || cut.contains("truerank drift");
    if may_find_something { format!("{{ {cut}; }} || test $? -eq 1") } else { cut }
}

/// Runs shell in the sandbox, with our program on its path.
fn run(sandbox: &Sandbox, place: &str, statement: &str) {
    let program = assert_cmd::cargo::cargo_bin!("truerank");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-e", "-c", statement])
        .env("PATH", path)
        .current_dir(sandbox.path(""))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{place}: {statement}\nends with {}:\n{told}", output.status);
}

/// Runs what a page says; returns how many commands were run, and how many were left out for each reason.
fn run_page(page: &str, text: &str) -> (usize, [usize; NOT_RUN.len()]) {
    let (mut was_run, mut left_out) = (0, [0; NOT_RUN.len()]);
    let sandbox = Sandbox::new();
    for (line, block) in blocks(text) {
        for statement in script(&block).iter().flat_map(|script| statements(script)) {
            if let Some(reason) = NOT_RUN.iter().position(|(part, _)| statement.contains(part)) {
                left_out[reason] += 1;
                continue;
            }
            if was_run == 0 {
                given(page).iter().for_each(|command| run(&sandbox, page, command));
            }
            run(&sandbox, &format!("{page}:{line}"), &cut(&statement));
            was_run += 1;
        }
    }
    (was_run, left_out)
}

#[test]
fn the_commands_of_the_documentation_run() {
    let done: Vec<_> = pages().par_iter().map(|(page, text)| run_page(page, text)).collect();
    let was_run: usize = done.iter().map(|(was_run, _)| was_run).sum();
    assert!(was_run > 50, "only {was_run} commands were found");
    for (index, (part, reason)) in NOT_RUN.iter().enumerate() {
        let count: usize = done.iter().map(|(_, left_out)| left_out[index]).sum();
        assert!(count > 0, "no command has '{part}', which {reason}: take it off the list");
    }
}

#[test]
fn blocks_are_told_from_output() {
    let page = "text\n\n    truerank count a -o b\n    truerank count c \\\n        -o d\n\nsays\n\n    impressions 4\n\n- item\n\n      cat > f <<'END'\n      x\n      END\n\n```python\n    truerank no\n```\n\n    $ truerank x \\\n        -y\n      output\n";
    let found: Vec<(usize, String)> =
        blocks(page).into_iter().filter_map(|(line, block)| script(&block).map(|it| (line, it))).collect();
    let expected = [
        (3, "truerank count a -o b\ntruerank count c \\\n    -o d"),
        (13, "cat > f <<'END'\nx\nEND"),
        (21, "truerank x \\\n    -y"),
    ];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_string())));
    assert_eq!(statements(&found[0].1).len(), 2);
    assert_eq!(statements(&found[1].1).len(), 1);
    assert_eq!(cut("truerank simulate data/ --sessions 600000 -o c"), "truerank simulate data/ --sessions 20000 -o c");
}
