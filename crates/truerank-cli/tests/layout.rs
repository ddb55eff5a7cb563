//! What people see on a terminal: tables and paragraphs as wide as it is, and colours where they are wanted.

mod common;

use common::Sandbox;

/// Users who differ, on the `tiny` data.
fn with_log() -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 20000 -o clicks.csv");
    sandbox
}

fn at(sandbox: &Sandbox, columns: usize, arguments: &str) -> String {
    let mut command = sandbox.command(&format!("{arguments} --quiet"));
    let output = command.env("COLUMNS", columns.to_string()).output().unwrap();
    assert!(output.status.success(), "truerank {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Digits may be other ones on other processors; how long numbers are is not.
fn hide_digits(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect()
}

const DOCTOR: &str = "doctor clicks.csv --data data --permutations 199";
const DEMO: &str = "demo --preset tiny --model mlp:8 --steps 5 --sessions 2000 --examination true";

#[test]
fn output_is_as_wide_as_the_terminal() {
    let sandbox = with_log();
    for columns in [80, 120] {
        let texts = [DOCTOR, DEMO].map(|command| at(&sandbox, columns, command));
        for text in &texts {
            let too_wide = text.lines().find(|line| line.chars().count() > columns && !line.contains("truerank "));
            assert_eq!(too_wide, None, "{columns}");
        }
        insta::assert_snapshot!(format!("doctor_{columns}"), hide_digits(&texts[0]));
    }
}

/// Each word of a narrow table is a word of the wide one: none is split.
#[test]
fn no_word_is_split() {
    let sandbox = with_log();
    let [narrow, wide] = [50, 600].map(|columns| at(&sandbox, columns, DEMO));
    let words: Vec<&str> = wide.split_whitespace().collect();
    let split = narrow.split_whitespace().find(|word| !word.starts_with('─') && !words.contains(word));
    assert_eq!(split.filter(|word| word.parse::<u32>().is_err()), None, "{narrow}");
}

#[test]
fn pipes_do_not_depend_on_a_terminal() {
    let sandbox = with_log();
    let text = sandbox.run(DOCTOR);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!text.contains('\u{1b}') && text.contains("\n  Yes: "), "{text}");
}

#[test]
fn colours_are_for_those_who_want_them() {
    let sandbox = with_log();
    let coloured = sandbox.run(&format!("{DOCTOR} --color always"));
    // Bias is bad news, a log that is fit is good news.
    assert!(coloured.contains("\u{1b}[1;31mYes\u{1b}[0m: The log has personalized bias"), "{coloured}");
    assert!(coloured.contains("\u{1b}[1;32mYes\u{1b}[0m: No problem"), "{coloured}");
    let plain = sandbox.run(&format!("{DOCTOR} --color never"));
    assert!(!plain.contains('\u{1b}'));
    let error = |arguments: &str, variable: &str| {
        let output = sandbox.command(arguments).env(variable, "1").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        error("count nowhere.csv -o counts --quiet --color always", "A").starts_with("\u{1b}[1;31merror:\u{1b}[0m ")
    );
    assert!(error("count nowhere.csv -o counts --quiet", "NO_COLOR").starts_with("error: "));
    assert!(error("count nowhere.csv -o counts --color sometimes", "A").contains("auto, always, never"));
}

/// Names in a log are text, whatever colours they ask for.
#[test]
fn data_bring_no_colours() {
    let sandbox = Sandbox::new();
    let rows: String = (0..400)
        .map(|i| {
            format!("{},u{},\u{1b}[31mq{},d{},{},{}\n", i / 4, i / 4 % 7, i / 40, (i + i / 8) % 4, i % 4 + 1, i % 3 / 2)
        })
        .collect();
    sandbox.write("log.csv", format!("session,user,query,doc,position,click\n{rows}"));
    let output = sandbox.output("doctor log.csv --color always --quiet");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Is the log fit to learn from?"), "{text}");
    assert!(!text.contains("\u{1b}[31m"), "{text}");
}

/// How the log is read goes along, and what only `doctor` takes does not.
#[test]
fn doctor_says_what_to_do_next_and_the_commands_run() {
    let sandbox = with_log();
    let log = String::from_utf8(sandbox.read("clicks.csv")).unwrap();
    sandbox.write("named.csv", log.replacen("user", "who", 1));
    let text = sandbox.run("doctor named.csv --columns user=who --data data --permutations 199");
    let next = text.split_once("Next:\n").unwrap().1;
    let commands: Vec<&str> = next.lines().filter_map(|line| line.trim().strip_prefix("truerank ")).collect();
    let commands: Vec<&str> = commands.iter().map(|command| command.split("  ").next().unwrap()).collect();
    let expected = [
        "doctor named.csv --columns user=who --data data --permutations 199 -o report/",
        "fit named.csv --columns user=who --data data -o out/",
    ];
    assert_eq!(commands, expected);
    commands.iter().for_each(|command| drop(sandbox.run(command)));
}

#[test]
fn fit_says_what_to_do_next_and_the_commands_run() {
    let sandbox = with_log();
    let text = sandbox.run("fit clicks.csv --data data --model linear --steps 15 -o out");
    let next = text.split_once("Next:\n").unwrap().1;
    let commands: Vec<&str> = next.lines().filter_map(|line| line.trim().strip_prefix("truerank ")).collect();
    assert_eq!(commands.len(), 3, "{next}");
    for command in commands {
        sandbox.run(command.split("  ").next().unwrap());
    }
    let made: serde_json::Value = serde_json::from_slice(&sandbox.read("out/fit.json")).unwrap();
    let command = "truerank fit clicks.csv --data data --model linear --steps 15 -o out/";
    assert_eq!(made["provenance"]["command"], command);
    assert_eq!(made["provenance"]["settings"], serde_json::json!({ "model": "linear", "steps": "15" }));
    let page = String::from_utf8(sandbox.read("out/report.html")).unwrap();
    let escaped = command.replace('/', "&#x2f;");
    assert!(page.contains(&escaped) && page.contains("How this page was made"));
}
