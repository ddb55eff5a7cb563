//! What data and file names hold reaches no terminal as it is, forges no line and is no formula.

mod common;

use common::Sandbox;

/// Clears the screen, sets a title by C1 codes, turns the direction around, and breaks the line.
const EVIL: &str = "\u{1b}[2J\u{9b}0m\u{202e}\u{2066}\u{2028}\u{feff}";
const SEEN: &str = "\\u{1b}[2J\\u{9b}0m\\u{202e}\\u{2066}\\u{2028}\\u{feff}";

fn has_codes(text: &str) -> bool {
    text.chars().any(|c| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{2028}\u{feff}".contains(c))
}

/// The line with which a run of these arguments fails, and which any terminal may show.
fn fail(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.command("").args(arguments).arg("--quiet").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("error: ") && stderr.lines().count() == 1, "{arguments:?}: {stderr}");
    assert!(!has_codes(&stderr), "{arguments:?}: {stderr:?}");
    assert!(stderr.chars().count() <= 501, "{arguments:?}: {stderr}");
    stderr
}

#[test]
fn errors_show_what_they_found_without_obeying_it() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 500 -o clicks.parquet");
    sandbox.run("count clicks.parquet -o counts");
    sandbox.write("feature.txt", format!("1 qid:1 1:0.5 {EVIL}:1\n"));
    sandbox.write("grade.txt", format!("{EVIL} qid:1 1:0.5\n"));
    sandbox.write("long.txt", format!("{} qid:1 1:0.5\n", EVIL.repeat(10_000)));
    sandbox.write("q.train", "0 1:1\n");
    sandbox.write("q.train.query", format!("{EVIL}\n"));
    let key = "\\u001b[2J\\u009b0m\\u202e\\u2066\\u2028\\ufeff";
    sandbox.write("key.toml", format!("\"{key}\" = 3\n"));
    sandbox.write("value.toml", format!("questions = [\"{}\"]\n", key.repeat(1000)));
    sandbox.write("users.csv", format!("user,a\nu,{EVIL}\n"));
    sandbox.write("twice.csv", format!("user,a\n{EVIL},1\n{EVIL},2\n"));
    sandbox.write("log.csv", format!("session,user,query,doc,position,click\n1,1,1,1,{EVIL},0\n"));
    sandbox.write("columns.csv", format!("{}\n1,2\n", vec![EVIL.repeat(50); 40].join(",")));
    sandbox.write("p.json", format!("{{\"type\": \"{key}\"}}"));
    let seen = [
        &["convert", "feature.txt", "-o", "o.parquet"][..],
        &["convert", "grade.txt", "-o", "o.parquet"],
        &["convert", "q.train", "-o", "o.parquet"],
        &["experiment", "--config", "key.toml", "-o", "o"],
        &["propensity", "counts", "--method", "cpbm", "--user-features", "users.csv", "-o", "o.json"],
        &["propensity", "counts", "--method", "cpbm", "--user-features", "twice.csv", "-o", "o.json"],
        &["count", "log.csv", "-o", "o"],
        &["relevance", "counts", "--propensities", "p.json", "-o", "o.parquet"],
    ];
    for arguments in seen {
        assert!(fail(&sandbox, arguments).contains("\\u{1b}[2J"), "{arguments:?}");
    }
    let others = [
        &["convert", "long.txt", "-o", "o.parquet"][..],
        &["experiment", "--config", "value.toml", "-o", "o"],
        &["count", "columns.csv", "-o", "o"],
    ];
    others.iter().for_each(|arguments| drop(fail(&sandbox, arguments)));
}

#[test]
fn names_of_files_are_shown_and_not_obeyed() {
    let sandbox = Sandbox::new();
    let name = format!("no{EVIL}such\n.parquet");
    let shown = format!("error: no{SEEN}such\\n.parquet: ");
    // The brackets make it a pattern.
    assert_eq!(fail(&sandbox, &["count", &name, "-o", "o"]), format!("{shown}matches no file\n"));
    assert_eq!(fail(&sandbox, &["convert", &name, "-o", "o.parquet"]), format!("{shown}no such file or folder\n"));
    fail(&sandbox, &["convert", &"a/".repeat(3000), "-o", "o.parquet"]);
    fail(&sandbox, &["count", &format!("--{EVIL}"), "-o", "o"]);
}

#[test]
fn notes_tables_and_pages_are_shown_and_not_obeyed() {
    let sandbox = Sandbox::new();
    let rows: String = (0..400)
        .flat_map(|n| [(n, 'a', n % 2 + 1, n % 3 / 2), (n, 'b', 2 - n % 2, n % 5 / 4)])
        .map(|(n, doc, position, click)| format!("{n},u{EVIL}{},q,{doc},{position},{click}\n", n % 3))
        .collect();
    let name = format!("log{EVIL}.csv");
    sandbox.write(&name, format!("session,user,query,doc,position,click\n{rows}1,x,q,{EVIL},bad,0\n"));
    let run = |arguments: &[&str]| {
        let output = sandbox.command("").args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {text}");
        assert!(!has_codes(&text), "{arguments:?}: {text:?}");
        text
    };
    let output = format!("counts{EVIL}");
    assert!(run(&["count", &name, "--on-bad-row", "skip", "-o", &output]).contains(&format!("wrote counts{SEEN}")));
    let shown = run(&["propensity", &output, "--relevance", "table", "--per-user", "-o", "p.json"]);
    assert!(shown.contains(&format!("  u{SEEN}1  ")), "{shown}");
}

#[test]
fn a_tag_forges_no_line_of_a_run() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("train data --model linear --steps 5 -o r.safetensors");
    for (tag, seen) in
        [("a\nq1 Q0 d1 1 9 b", "a\\nq1 Q0 d1 1 9 b"), ("a b", "a b"), ("", ""), ("a\u{1f}b", "a\\u{1f}b")]
    {
        let arguments = ["score", "data/test.txt", "--ranker", "r.safetensors", "--tag", tag, "-o", "run.trec"];
        let expected = format!(
            "error: the tag of a TREC run is '{seen}', but its columns are separated by white space; use a tag of letters, digits \
             and signs\n"
        );
        assert_eq!(fail(&sandbox, &arguments), expected);
        assert!(!sandbox.path("run.trec").exists());
    }
    sandbox.run("score data/test.txt --ranker r.safetensors --tag my-run -o run.trec");
    let run = String::from_utf8(sandbox.read("run.trec")).unwrap();
    assert!(run.lines().all(|line| line.split(' ').count() == 6 && line.ends_with(" my-run")));
}
