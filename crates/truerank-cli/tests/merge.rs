//! Counts of several days: added, taken away, thinned and compared.

mod common;

use common::Sandbox;

/// Three days of one log: `day0.csv`, …, and `all.csv`, with counts of each in `day0`, …, and `all`.
fn days(options: &str) -> Sandbox {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 3000 --shuffle 0.5 -o all.csv");
    let log = String::from_utf8(sandbox.read("all.csv")).unwrap();
    let (header, rows) = log.split_once('\n').unwrap();
    for day in 0..3u64 {
        let is_of_day = |row: &&str| row.split(',').next().unwrap().parse::<u64>().unwrap() % 3 == day;
        let rows: Vec<&str> = rows.lines().filter(is_of_day).collect();
        sandbox.write(&format!("day{day}.csv"), format!("{header}\n{}\n", rows.join("\n")));
        sandbox.run(&format!("count day{day}.csv {options} -o day{day}"));
    }
    sandbox.run(&format!("count all.csv {options} -o all"));
    sandbox
}

fn same(sandbox: &Sandbox, a: &str, b: &str) {
    let of = |folder: &str| -> Vec<_> {
        let all = sandbox.files();
        let of =
            all.into_iter().filter_map(|(path, bytes)| Some((path.strip_prefix(folder).ok()?.to_path_buf(), bytes)));
        of.collect()
    };
    assert!(!of(a).is_empty());
    assert!(of(a) == of(b), "{a} and {b} differ");
}

#[test]
fn days_add_up_in_any_memory_and_on_any_threads() {
    let sandbox = days("--patterns --transitions");
    for (number, options) in ["", "--threads 1", "--memory 1MiB --threads 3"].iter().enumerate() {
        sandbox.run(&format!("merge day2 day0 day1 {options} -o merged{number}"));
        same(&sandbox, &format!("merged{number}"), "all");
    }
    sandbox.run("merge all --without day0 --without day2 -o left");
    same(&sandbox, "left", "day1");
    sandbox.run("count day0.csv --append day1");
    sandbox.run("count day2.csv --append day1");
    same(&sandbox, "day1", "all");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let sandbox = days("");
    sandbox.run("count day0.csv --columns user= -o alone");
    sandbox.run("merge day0 day1 --half-life 7 -o decayed");
    let refused = [
        ("merge day0 day1 day0 -o out", "day0: has the same counts as day0, but a day counts once"),
        ("merge all day1 -o out", "day1: has result pages that all has too: 1000 of the 1000 compared"),
        ("merge day1 alone -o out", "alone: was counted with --columns 'user=', but day1 with the default"),
        ("merge day1 --without day0 -o out", "only what was added as it is can be taken away"),
        ("merge day0 day1 -o day0", "writing it would destroy what is read"),
        ("merge day0 nowhere -o out", "nowhere"),
        ("merge day0 data -o out", "is not a folder of counts"),
        ("merge day0 day1 --age 1,0 -o out", "is for --half-life"),
        ("merge day0 day1 --half-life 7 --age 1 -o out", "has 1 values, but there are 2 folders"),
        ("merge day0 day1 --half-life 0 -o out", "--half-life"),
        ("merge decayed day2 -o out", "decayed: was thinned with --half-life 7, but there is none now"),
        ("count day0.csv --append day0", "day0.csv: has result pages that day0 has too"),
        ("count day0.csv --append nowhere", "nowhere"),
        ("drift day0 nowhere", "nowhere"),
    ];
    for (command, reason) in refused {
        let line = sandbox.fail(command);
        assert!(line.contains(reason), "{command}: {line}");
    }
}

#[test]
fn drift_tells_days_of_one_log_from_days_that_differ() {
    let sandbox = days("");
    sandbox.run("simulate data --sessions 3000 --shuffle 0.5 --click-noise 0.4 --seed 9 -o noisy.csv");
    sandbox.run("count noisy.csv -o noisy");
    let quiet = sandbox.output("drift day0 day1 --quiet");
    assert_eq!(quiet.status.code(), Some(0), "{}", String::from_utf8_lossy(&quiet.stdout));
    let found = sandbox.output("drift day0 noisy --json --quiet");
    assert_eq!(found.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["drifted"], true);
    sandbox.output("drift day0 noisy -o report");
    assert!(sandbox.path("report/report.html").is_file());
}
