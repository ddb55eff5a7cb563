//! Logs as other systems have them: measurements for clicks, events, no queries, no sessions, no header.

mod common;

use std::path::{Path, PathBuf};

use common::Sandbox;

/// A number from 0 to 1 that looks random, the same on every machine.
fn chance(seed: u64) -> f64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / (1u64 << 24) as f64
}

/// News on pages of users: a document was opened where someone dwelt on it, and there is no query.
fn news() -> String {
    let mut text = "userid,newsid,taskid,topic,imp_position,dwell_time\n".to_string();
    for page in 0..400u64 {
        for place in 0..6 {
            let doc = (page * 7 + place * 5 + page / 30) % 30;
            let is_open = chance(page * 6 + place) < (0.2 + 0.02 * doc as f64) / (1.0 + 0.4 * place as f64);
            let dwell = if is_open { format!("{}.0", 5 + page % 40) } else { String::new() };
            text += &format!("{},{doc},{},t{},{},{dwell}\n", page % 16, page / 16, doc % 4, place + 1);
        }
    }
    text
}

/// What people did with three documents that move; a part of those who click buy.
fn shop() -> String {
    let mut text = "session,user,query,doc,position,action\n".to_string();
    for session in 0..600u64 {
        for place in 0..3 {
            let (doc, seed) = ((session + place) % 3, session * 3 + place);
            let is_click = chance(seed) < 0.25 * (1 + doc) as f64 / (1.0 + place as f64);
            let action = match is_click {
                true if chance(seed + 10_000) < 0.3 => "purchase",
                true => "click",
                false => "none",
            };
            text += &format!("{session},u{},shoes,d{doc},{},{action}\n", session % 5, place + 1);
        }
    }
    text
}

#[test]
fn behaviours_are_put_together_by_their_worth() {
    let sandbox = Sandbox::new();
    sandbox.write("shop.csv", shop());
    sandbox.write("half.csv", shop().lines().take(901).collect::<Vec<_>>().join("\n"));
    for (name, condition) in [("clicks", "action=click|purchase"), ("purchases", "action=purchase")] {
        sandbox.run(&format!("count shop.csv --click-when {condition} -o {name}"));
    }
    sandbox.run("count half.csv --click-when action=purchase -o half");
    sandbox.run("propensity clicks --relevance table --resamples 0 -o p.json");
    let weigh = "relevance clicks --propensities p.json --estimator user-aware";
    let weights = |arguments: &str| {
        sandbox.run(&format!("{arguments} -o r.parquet"));
        let found = truerank::relevance::Relevance::read(&sandbox.path("r.parquet")).unwrap();
        found.weights.iter().map(|weight| weight.weight).collect::<Vec<_>>()
    };
    let (clicks, purchases) = (weights(weigh), weights(&weigh.replace("clicks", "purchases")));
    let both = weights(&format!("{weigh} --behaviour purchases --worth 5"));
    let expected = clicks.iter().zip(&purchases).map(|(click, purchase)| (click + 5.0 * purchase) / 6.0);
    assert!(both.len() == 3 && both.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
    let refused = |arguments: &str| sandbox.fail(&format!("{weigh} {arguments} -o r.parquet"));
    insta::assert_snapshot!(refused("--behaviour half --worth 5"));
    insta::assert_snapshot!(refused("--behaviour purchases --worth 0"));
    insta::assert_snapshot!(refused("--behaviour purchases --behaviour half --worth 5"));
    assert!(refused("--behaviour purchases").contains("--worth"));
    let inside = sandbox.fail(&format!("{weigh} --behaviour purchases --worth 5 -o purchases/cells.parquet"));
    assert!(inside.contains("would destroy what is read from purchases"), "{inside}");
}

const NEWS: &str = "--column session=userid+taskid --column query=";

#[test]
fn a_measurement_tells_clicks() {
    let sandbox = Sandbox::new();
    let log = news();
    let opened = log.lines().skip(1).filter(|line| !line.ends_with(',')).count();
    let long =
        log.lines().skip(1).filter_map(|line| line.rsplit(',').next()?.parse::<f64>().ok()).filter(|&t| t > 20.0);
    let long = long.count();
    sandbox.write("news.csv", &log);
    for (condition, clicks) in [("dwell_time", opened), ("dwell_time>0", opened), ("dwell_time>20", long)] {
        let found = sandbox.json(&format!("count news.csv {NEWS} --click-when {condition} -o counts --json"));
        assert_eq!((&found["clicks"], &found["queries"]), (&clicks.into(), &1.into()), "{condition}");
        assert_eq!((&found["sessions"], &found["users"]), (&400.into(), &16.into()));
    }
    // The same as a column of 0 and 1, to the last byte.
    let flags: Vec<String> = log
        .lines()
        .map(|line| match line.rsplit_once(',') {
            Some((rest, "dwell_time")) => format!("{rest},click"),
            Some((rest, dwell)) => format!("{rest},{}", u8::from(!dwell.is_empty())),
            None => String::new(),
        })
        .collect();
    sandbox.write("flags.csv", flags.join("\n"));
    sandbox.run(&format!("count news.csv {NEWS} --click-when dwell_time -o when"));
    sandbox.run(&format!("count flags.csv {NEWS} -o flags"));
    assert!(sandbox.read("when/cells.parquet") == sandbox.read("flags/cells.parquet"));
    let output = sandbox.output(&format!("doctor news.csv {NEWS} --click-when dwell_time --json --quiet"));
    assert!(output.status.code() != Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn conditions_are_checked_before_and_while_reading() {
    let sandbox = Sandbox::new();
    sandbox.write("log.csv", "session,query,doc,position,dwell_time\ns,q,a,1,\ns,q,b,2,long\n");
    let fail = |arguments: &str| sandbox.fail(&format!("count log.csv {arguments} -o counts"));
    assert!(
        fail("--click-when dwell>0")
            .contains("has no column 'dwell'; it has session, query, doc, position, dwell_time")
    );
    assert!(
        fail("--click-when dwell_time>0").ends_with("log.csv:3: dwell_time is long, but dwell_time>0 needs a number")
    );
    assert!(
        fail("--click-when dwell_time>0 --column click=doc")
            .contains("--click-when is 'dwell_time>0' and --columns has click=doc")
    );
    assert!(fail("--click-when dwell_time>0 --clicks docs").contains("--clicks says that lists name clicked ones"));
    let output = sandbox.output("count log.csv --click-when dwell_time=>3 -o counts");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && message.contains("=> is none of > >= < <= = !="), "{message}");
    assert_eq!(sandbox.json("count log.csv --click-when dwell_time -o counts --json")["clicks"], 1);
    let left_out = sandbox.json("count log.csv --click-when dwell_time!=long --on-bad-row skip -o counts --json");
    assert_eq!(left_out["clicks"], 0);
}

#[test]
fn pages_may_have_measurements_and_need_no_session() {
    let sandbox = Sandbox::new();
    sandbox.write("pages.csv", "query,docs,seconds\nq,a|b|c,3||0\nq,a|b|c,\np,b|a,|9\n");
    let found = sandbox.json("count pages.csv --click-when seconds>0 -o counts --json");
    assert_eq!((&found["sessions"], &found["clicks"], &found["impressions"]), (&3.into(), &2.into(), &8.into()));
    let remarks = found["remarks"].to_string();
    assert!(remarks.contains("a document is clicked when seconds>0"), "{remarks}");
    let json = r#"[{"query":1,"docs":[5,6],"seconds":[null,2.5]},{"query":1,"docs":[6,5],"seconds":[1,0]}]"#;
    sandbox.write("pages.json", json);
    assert_eq!(sandbox.json("count pages.json --click-when seconds>=1 -o counts --json")["clicks"], 2);
    sandbox.write("short.csv", "query,docs,seconds\nq,a|b|c,3|1\n");
    let line = sandbox.fail("count short.csv --click-when seconds>0 -o out");
    assert!(line.contains("has 3 documents and 2 values that make a click"), "{line}");
}

/// One row for each item in one of three slots; nobody knows who saw it, for what, or what stood beside it.
fn bandit() -> String {
    let mut text = "timestamp,item_id,position,click,propensity_score,user_feature_0\n".to_string();
    for row in 0..9000u64 {
        let (item, slot) = (row * 13 % 17, row * 7 % 3);
        let click = chance(row) < (0.1 + 0.03 * item as f64) / (1.0 + slot as f64);
        let second = row / 3 % 60;
        text += &format!(
            "2019-11-24 00:{:02}:{second:02}+00:00,{item},{},{},0.05,f{}\n",
            row / 180,
            slot + 1,
            u8::from(click),
            row % 5
        );
    }
    text
}

#[test]
fn recommendations_without_queries_and_sessions_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("bandit.csv", bandit());
    let line = sandbox.fail("count bandit.csv -o counts");
    assert!(
        line.contains("lacks 2 columns: 'session'") && line.contains("session= says that each row is one"),
        "{line}"
    );
    assert!(line.contains("query= says that there are no queries"), "{line}");
    let found = sandbox.json("count bandit.csv --column session= --column query= -o counts --json");
    assert_eq!((&found["sessions"], &found["queries"], &found["cells"]), (&9000.into(), &1.into(), &51.into()));
    let by_time = sandbox.json("count bandit.csv --column session=timestamp --column query= -o counts --json");
    assert_eq!(by_time["sessions"], 3000);
    let context = sandbox.json("count bandit.csv --column session= --column query=user_feature_0+position -o c --json");
    assert_eq!(context["queries"], 15);
    // The same pages in any order of rows, on any number of threads, and from two files.
    let log = bandit();
    let (header, rows) = log.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    sandbox.write("two/a.csv", format!("{header}\n{}\n", rows[..4000].join("\n")));
    sandbox.write("two/b.csv", format!("{header}\n{}\n", rows[4000..].join("\n")));
    sandbox.run("count bandit.csv --column session= --column query= -o one");
    sandbox.run("count two --column session= --column query= -o again --threads 1");
    assert!(sandbox.read("one/cells.parquet") == sandbox.read("again/cells.parquet"));
    let found = sandbox.json("doctor bandit.csv --column session= --column query= --json");
    assert_eq!(found["fit"], true);
    let found = sandbox.json("fit bandit.csv --column session= --column query= --split time -o out --json");
    assert!(found["predicted_clicks"]["model"]["perplexity"]["value"].as_f64().unwrap() > 1.0);
}

/// Sessions with one or two queries, and clicks, in the form of Yandex's challenge.
fn yandex() -> String {
    let mut text = String::new();
    for session in 0..1500u64 {
        let mut time = 0;
        for page in 0..1 + session % 2 {
            let query = (session * 3 + page) % 25;
            let docs: Vec<u64> = (0..5).map(|place| query * 10 + (place + session / 25) % 5).collect();
            let urls: Vec<String> = docs.iter().map(u64::to_string).collect();
            text += &format!("{session}\t{time}\tQ\t{query}\t{}\t{}\n", session % 3, urls.join("\t"));
            for (place, doc) in docs.iter().enumerate() {
                time += 2;
                if chance(session * 100 + page * 10 + place as u64)
                    < (0.2 + 0.1 * (doc % 5) as f64) / (1.0 + place as f64)
                {
                    text += &format!("{session}\t{time}\tC\t{doc}\n");
                }
            }
        }
    }
    text
}

#[test]
fn query_and_click_events_go_all_the_way() {
    let sandbox = Sandbox::new();
    let log = yandex();
    let clicks = log.lines().filter(|line| line.contains("\tC\t")).count();
    sandbox.write("train.txt", &log);
    let found = sandbox.json("count train.txt --format yandex -o counts --json");
    assert_eq!((&found["sessions"], &found["clicks"]), (&2250.into(), &clicks.into()));
    assert_eq!(found["impressions"], 5 * 2250);
    // The same events in columns, with other names, in another order.
    let mut rows = vec!["kind;who;query;docs;doc;time".replace(';', ",")];
    for line in log.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        rows.push(match fields[2] {
            "Q" => format!("search,{},{},{},,{}", fields[0], fields[3], fields[5..].join("|"), fields[1]),
            _ => format!("open,{},,,{},{}", fields[0], fields[3], fields[1]),
        });
    }
    rows[1..].reverse();
    sandbox.write("events.csv", rows.join("\n"));
    let names = "--event-column kind --click-event open --column session=who --column user=";
    sandbox.run(&format!("count events.csv {names} -o same"));
    assert!(sandbox.read("same/cells.parquet") == sandbox.read("counts/cells.parquet"));
    assert_eq!(sandbox.json("doctor train.txt --format yandex --json")["fit"], true);
    let fitted = sandbox.json("fit train.txt --format yandex -o out --json");
    assert!(fitted["predicted_clicks"]["model"]["perplexity"]["value"].as_f64().unwrap() > 1.0);
    let line = sandbox.fail("count events.csv --event-column kind --column session=who -o out2");
    assert!(line.contains("holds no event that is a click") && line.contains("open ("), "{line}");
    let line = sandbox.fail("fit train.txt --format yandex --feature region -o out2");
    assert!(line.contains("this is a log of events; use --data"), "{line}");
    let line = sandbox.fail("count train.txt --format yandex --event-column event -o out2");
    assert!(line.contains("--format yandex knows its events"), "{line}");
}

#[test]
fn files_without_a_header_have_numbers_or_given_names() {
    let sandbox = Sandbox::new();
    sandbox.write("log.tsv", "\u{feff}s1\tu\tq\ta\t1\t0\ns1\tu\tq\tb\t2\t1\n");
    let numbers =
        "--column session=1 --column user=2 --column query=3 --column doc=4 --column position=5 --column click=6";
    let totals =
        |found: serde_json::Value| [found["impressions"].clone(), found["clicks"].clone(), found["users"].clone()];
    let expected: [serde_json::Value; 3] = [2.into(), 1.into(), 1.into()];
    assert_eq!(totals(sandbox.json(&format!("count log.tsv --no-header {numbers} -o counts --json"))), expected);
    let names = "--header session,user,query,doc,position,click";
    assert_eq!(totals(sandbox.json(&format!("count log.tsv {names} -o counts --json"))), expected);
    let line = sandbox.fail("count log.tsv -o out");
    assert!(line.contains("if that is no header, pass --no-header or --header NAME,NAME"), "{line}");
    let line = sandbox.fail("count log.tsv --no-header -o out");
    assert!(line.contains("without a header its columns are called 1 to 6"), "{line}");
    let line = sandbox.fail("count log.tsv --header session,user,query -o out");
    assert!(line.contains("log.tsv:1: has 6 fields, but --header gives 3 names"), "{line}");
    sandbox.write("log.jsonl", r#"{"session":1,"user":1,"query":1,"doc":1,"position":1,"click":0}"#);
    assert!(sandbox.fail("count log.jsonl --no-header -o out").contains("is JSON, whose columns have names"));
    sandbox.write("short.tsv", "s1\tu\tq\ta\t1\t0\ns1\tu\n");
    let line = sandbox.fail(&format!("count short.tsv {names} -o out"));
    assert!(line.contains("short.tsv:2: has 2 fields, but the first line has 6"), "{line}");
}

#[test]
fn what_is_no_log_at_all_is_refused_in_a_line() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.csv", "");
    sandbox.write("binary.csv", [0u8, 159, 146, 150, 10, 1, 2]);
    sandbox.write("half.txt", "1\t0\tQ\t3\t2\ta\tb\n1\t4\n");
    for options in ["--click-when x>0", "--no-header", "--event-column kind", "--format yandex"] {
        assert!(sandbox.fail(&format!("count empty.csv {options} -o out")).contains("the file is empty"), "{options}");
        let line = sandbox.fail(&format!("count binary.csv {options} -o out"));
        assert!(line.contains("binary.csv:1: holds a NUL byte"), "{options}: {line}");
    }
    assert!(sandbox.fail("count half.txt --format yandex -o out").contains("half.txt:2: has 2 fields between tabs"));
}

#[test]
fn features_that_differ_and_grades_that_stay_low_are_said() {
    let sandbox = Sandbox::new();
    let mut log = "session,user,query,doc,position,click,score,label\n".to_string();
    for session in 0..200u64 {
        for place in 0..4u64 {
            let doc = (session + place) % 4;
            let click = chance(session * 4 + place) < 0.6 / (1.0 + place as f64);
            log += &format!(
                "{session},u{},q{},{doc},{},{},{}.{},{}\n",
                session % 5,
                session % 20,
                place + 1,
                u8::from(click),
                doc,
                session / 20 % 2,
                doc % 3
            );
        }
    }
    sandbox.write("log.csv", log);
    let told = |arguments: &str| String::from_utf8(sandbox.output(arguments).stderr).unwrap();
    let said = told("doctor log.csv --feature score --grade label");
    assert_eq!(said.matches("features differ between rows of the same document and query").count(), 1, "{said}");
    assert!(said.contains("grades go up to 2, but the scale (--max-grade) to 4"), "{said}");
    assert!(!told("doctor log.csv --feature score --grade label --max-grade 2").contains("--max-grade"));
    sandbox.write("low.txt", "2 qid:1 1:0.5\n0 qid:1 1:0.1\n1 qid:2 1:0.7\n0 qid:2 1:0.2\n");
    for part in ["train", "vali", "test"] {
        let content = String::from_utf8(sandbox.read("low.txt")).unwrap();
        sandbox.write(&format!("low/{part}.txt"), content.replace("qid:", &format!("qid:{part}")));
    }
    sandbox.run("train low --model linear-raw -o ranker.st");
    let said = told("evaluate low.txt --ranker ranker.st");
    assert!(said.contains("counts as 50 % relevant") && said.contains("pass --max-grade 2"), "{said}");
    assert!(told("simulate low --sessions 50 -o clicks.csv").contains("grades go up to 2"));
    assert!(!told("convert low.txt -o low.parquet").contains("grades go up to"));
}

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    match path.exists() {
        true => Some(path.canonicalize().unwrap()),
        false => {
            println!("skipped: {} is absent", path.display());
            None
        }
    }
}

#[test]
fn a_real_news_log_is_read_with_one_command() {
    let Some(path) = shared("thuir-news/logs.csv.gz") else { return };
    let sandbox = Sandbox::new();
    let found = sandbox.json(&format!("count {} {NEWS} --click-when dwell_time -o counts --json", path.display()));
    assert_eq!((&found["impressions"], &found["sessions"]), (&5280.into(), &352.into()));
    assert_eq!((&found["users"], &found["clicks"]), (&32.into(), &1603.into()));
}
