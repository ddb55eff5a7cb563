//! Logs with rows that break a rule: refused at their place, or read without those rows and counted to the row.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::Sandbox;

const HEADER: &str = "session,user,query,doc,position,click\n";

/// Rows before and after the bad one: seven impressions, two of them clicked.
const BEFORE: &str = "1,u,q,d1,1,0\n1,u,q,d2,2,1\n2,v,q,d1,1,0\n";
const AFTER: &str = "2,v,q,d2,2,0\n3,v,\"r, s\",d1,1,1\n3,v,\"r, s\",d2,2,0\n3,v,\"r, s\",d3,3,0\n";

fn log(bad: &[u8]) -> Vec<u8> {
    [HEADER.as_bytes(), BEFORE.as_bytes(), bad, AFTER.as_bytes()].concat()
}

/// Impressions, clicks and rows left out of a log that is read without its bad rows.
fn totals(sandbox: &Sandbox, arguments: &str) -> [u64; 3] {
    let found = sandbox.json(&format!("count {arguments} --json -o counts"));
    ["impressions", "clicks", "rows_left_out"].map(|name| found[name].as_u64().unwrap())
}

#[test]
fn a_bad_row_is_refused_or_left_out_alone() {
    let sandbox = Sandbox::new();
    let long = [b"9,u,q,".to_vec(), vec![b'x'; 100 << 20], b",1,0\n".to_vec()].concat();
    let cases: [(&str, &[u8], &str); 20] = [
        ("few", b"9,u,q,d9,1\n", ":5: has 5 fields, but the header has 6"),
        ("many", b"9,u,q,d9,1,0,0\n", ":5: has 7 fields, but the header has 6"),
        ("quote", b"9,\"u,q,d9,1,0\n", ":5: "),
        ("text-after-quote", b"9,\"u\"x,q,d9,1,0\n", ":5: text follows a closing quote"),
        ("date", b"9,u,q,d9,2024-01-02,0\n", ":5: position is 2024-01-02, but positions are whole numbers from 1"),
        ("negative", b"9,u,q,d9,-2,0\n", ":5: position is -2, but positions start at 1"),
        ("zero", b"9,u,q,d9,0,0\n", ":5: position is 0, but positions start at 1"),
        ("huge", b"9,u,q,d9,99999999999999999999,0\n", ":5: position is 99999999999999999999, but"),
        ("too-large", b"9,u,q,d9,100001,0\n", ":5: position is 100001, but positions go up to 100000"),
        ("fraction", b"9,u,q,d9,1.5,0\n", ":5: position is 1.5, but positions are whole numbers"),
        ("click", b"9,u,q,d9,1,maybe\n", ":5: click is maybe, but a click is 0 or 1"),
        ("clicks", b"9,u,q,d9,1,2\n", ":5: click is 2, but a click is 0 or 1"),
        ("nul", b"9,u,q,d\0,1,0\n", ":5: holds a NUL byte"),
        ("latin1", b"9,u,caf\xe9,d9,1,0\n", ":5: byte 0xe9 is not UTF-8 text"),
        ("no-session", b",u,q,d9,1,0\n", ":5: session is empty, but every impression needs one"),
        ("no-user", b"9,,q,d9,1,0\n", ":5: user is empty, but every impression needs one"),
        ("no-query", b"9,u,\"\",d9,1,0\n", ":5: query is empty, but every impression needs one"),
        ("no-doc", b"9,u,q,,1,0\n", ":5: doc is empty, but every impression needs one"),
        ("long", &long, ":5: is longer than 16 MiB, but no record is; is a quote open?"),
        ("nothing", b"9,u,q,d9,,0\n", ":5: position is empty, but positions are whole numbers from 1"),
    ];
    for (name, bad, finding) in cases {
        let file = format!("{name}.csv");
        sandbox.write(&file, log(bad));
        let line = sandbox.fail(&format!("count {file} -o counts-new"));
        assert!(line.starts_with(&format!("error: {file}{finding}")), "{line}");
        assert_eq!(totals(&sandbox, &format!("{file} --on-bad-row skip")), [7, 2, 1], "{name}");
        std::fs::remove_file(sandbox.path(&file)).unwrap();
    }
}

#[test]
fn a_quote_that_never_closes_costs_its_record() {
    let sandbox = Sandbox::new();
    sandbox.write("open.csv", format!("{HEADER}{BEFORE}9,\"u,q,d9,1,0\n2,v,q,d2,2,0\n3,v,r,d1,1,1\n"));
    let line = sandbox.fail("count open.csv -o counts");
    assert!(line.starts_with("error: open.csv:5: a quote opens here and never closes"), "{line}");
    let found = sandbox.json("count open.csv --on-bad-row skip --json -o counts");
    assert_eq!((&found["impressions"], &found["rows_left_out_by_kind"]["broken quotes"]), (&5.into(), &1.into()));
    assert!(found["remarks"][1].as_str().unwrap().starts_with("left out: open.csv:5: a quote opens here"), "{found}");
}

#[test]
fn what_is_not_bad_is_read() {
    let sandbox = Sandbox::new();
    let clicks = ["true", "false", "1.0", "0.0", "yes", "no", "Y", "n", "T", "f", "1", "0", "TRUE", "No"];
    let rows: String = clicks.iter().enumerate().map(|(i, click)| format!("{i},u,q,d,1,{click}\n")).collect();
    sandbox.write("clicks.csv", format!("{HEADER}{rows}"));
    assert_eq!(totals(&sandbox, "clicks.csv"), [14, 7, 0]);
    // A byte-order mark, carriage returns, and integers beside text in id columns.
    let windows = format!("\u{feff}{HEADER}1,7,q,d1,1,0\n1,7,q,17,2,1\n2,x,8,17,1.0,0\n").replace('\n', "\r\n");
    sandbox.write("windows.csv", windows);
    assert_eq!(totals(&sandbox, "windows.csv"), [3, 1, 0]);
    sandbox.write(
        "mixed.jsonl",
        "{\"session\":1,\"user\":7,\"query\":\"q\",\"doc\":\"17\",\"position\":1,\"click\":true}\n\
        {\"session\":\"1\",\"user\":\"7\",\"query\":\"q\",\"doc\":18,\"position\":\"2\",\"click\":0}\n",
    );
    let found = sandbox.json("count mixed.jsonl --json -o counts");
    assert_eq!((&found["users"], &found["sessions"], &found["documents"]), (&1.into(), &1.into(), &2.into()));
}

#[test]
fn bad_json_is_refused_or_left_out_alone() {
    let sandbox = Sandbox::new();
    let row = |doc: &str, click: u8| {
        format!("{{\"session\":1,\"user\":\"u\",\"query\":\"q\",\"doc\":{doc},\"position\":1,\"click\":{click}}}")
    };
    let (first, last) = (row("1", 0), row("\"b\"", 1));
    let cases = [
        ("[1,2]".to_string(), "is [1,2], but a record is a JSON object"),
        ("\"text\"".to_string(), "but a record is a JSON object"),
        (first[..20].to_string(), "is not whole JSON"),
        ("{nonsense}".to_string(), "is not JSON"),
        (
            first.replace("\"user\":\"u\"", "\"user\":\"u\",\"user\":\"v\""),
            "has two values of 'user', but keys must differ",
        ),
        (row("1.5", 0), "doc is 1.5, but an id is text or a whole number"),
        (row("{\"id\":1}", 0), "doc is an object, but an id is text or a whole number"),
        (row("null", 0), "doc is missing, but every impression needs one"),
        (row("\"\"", 0), "doc is empty, but every impression needs one"),
        (row("true", 0), "doc is true, but an id is text or a whole number"),
    ];
    for (bad, finding) in cases {
        sandbox.write("c.jsonl", format!("{first}\n{bad}\n{last}\n"));
        let line = sandbox.fail("count c.jsonl -o counts-new");
        assert!(line.starts_with("error: c.jsonl:2: ") && line.contains(finding), "{line}");
        assert_eq!(totals(&sandbox, "c.jsonl --on-bad-row skip"), [2, 1, 1], "{bad}");
        sandbox.write("c.json", format!("[\n{first},\n{last}\n]\n"));
        assert_eq!(totals(&sandbox, "c.json"), [2, 1, 0]);
    }
}

#[test]
fn rows_before_broken_compression_are_used() {
    let sandbox = Sandbox::with_tiny_data();
    sandbox.run("simulate data --sessions 3000 -o clicks.csv.gz");
    let whole = totals(&sandbox, "clicks.csv.gz");
    let bytes = sandbox.read("clicks.csv.gz");
    sandbox.write("cut.csv.gz", &bytes[..bytes.len() / 2]);
    let line = sandbox.fail("count cut.csv.gz -o counts-new");
    assert!(line.starts_with("error: cut.csv.gz: the gzip data is truncated or damaged after "), "{line}");
    // A page that is cut in two is a page all the same.
    let found = totals(&sandbox, "cut.csv.gz --on-bad-row skip");
    assert!(found[0] > whole[0] / 3 && found[0] < whole[0] && found[2] == 1, "{found:?} of {whole:?}");
}

#[test]
fn contradictions_are_settled_where_bad_rows_are_left_out() {
    let sandbox = Sandbox::new();
    // Document d1 stands at 3 and 1 of a page, and page 5 belongs to two users, one of whom has nothing else.
    sandbox.write("c.csv", format!("{HEADER}{BEFORE}4,u,q,d1,3,1\n5,u,q,d8,1,0\n4,u,q,d1,1,0\n5,w,q,d9,2,0\n{AFTER}"));
    assert!(sandbox.fail("count c.csv -o counts-new").contains("c.csv:7: doc 'd1' appears twice in session '4'"));
    let found = sandbox.json("count c.csv --on-bad-row quarantine --json -o counts");
    let expected =
        [("impressions", 8), ("clicks", 3), ("sessions", 4), ("users", 2), ("documents", 5), ("rows_left_out", 3)];
    expected.iter().for_each(|&(name, value)| assert_eq!(found[name], value, "{name}: {found}"));
    assert_eq!(found["rows_left_out_by_kind"]["document repeated on a page"], 1);
    assert_eq!(found["rows_left_out_by_kind"]["page of two users"], 2);
    let kept = String::from_utf8(sandbox.read("counts/bad-rows.txt")).unwrap();
    let rows: Vec<Vec<&str>> = kept.lines().map(|line| line.split('\t').collect()).collect();
    let places: Vec<_> = rows.iter().map(|row| (row[0], row[2])).collect();
    assert_eq!(places, [("c.csv:5", "4,u,q,d1,3,1"), ("c.csv:6", "5,u,q,d8,1,0"), ("c.csv:8", "5,w,q,d9,2,0")]);
}

#[test]
fn bad_rows_are_kept_in_order_whatever_the_threads() {
    let sandbox = Sandbox::new();
    let rows: String = (0..300_000).map(|i| format!("{i},u,q,d,{},{}\n", i % 3, i % 2)).collect();
    sandbox.write("a.csv", format!("{HEADER}{rows}"));
    sandbox.write("b.tsv", "session\tuser\tquery\tdoc\tposition\tclick\nx\tu\tq\td\t0\t\\\n");
    let mut kept = Vec::new();
    for threads in [1, 2, 4] {
        let arguments = format!("a.csv b.tsv --quarantine kept.txt --threads {threads}");
        assert_eq!(totals(&sandbox, &arguments), [200_000, 100_000, 100_001]);
        kept.push(sandbox.read("kept.txt"));
    }
    assert!(kept.iter().all(|bytes| *bytes == kept[0]));
    let text = String::from_utf8(kept[0].clone()).unwrap();
    assert_eq!(text.lines().next(), Some("a.csv:2\tposition is 0, but positions start at 1\t0,u,q,d,0,0"));
    assert!(text.ends_with("b.tsv:2\tposition is 0, but positions start at 1\tx\\tu\\tq\\td\\t0\\t\\\\\n"));
    let line = sandbox.fail("count a.csv --quarantine a.csv -o counts");
    assert!(line.contains("a.csv: is a log that is read"), "{line}");
    let line = sandbox.fail("count a.csv --on-bad-row skip --quarantine k.txt -o counts");
    assert!(line.contains("--quarantine is for --on-bad-row quarantine"), "{line}");
}

#[test]
fn logs_of_clicks_alone_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("clicked.csv", format!("{HEADER}1,u,q,d1,1,1\n2,u,q,d2,3,1\n"));
    let line = sandbox.fail("count clicked.csv -o counts");
    assert!(line.contains("clicked.csv: holds clicks alone") && line.contains("log every result"), "{line}");
    sandbox.write("events.csv", "session,user,query,doc,position\n1,u,q,d1,1\n");
    let line = sandbox.fail("count events.csv -o counts");
    assert!(line.contains("has no column 'click'") && line.contains("A log of clicks alone will not do"), "{line}");
    sandbox.write("all-bad.csv", format!("{HEADER}1,u,q,d1,0,1\n"));
    let line = sandbox.fail("count all-bad.csv --on-bad-row skip -o counts");
    assert!(
        line.contains("all-bad.csv: holds no good row: all 1 are left out, the first because all-bad.csv:2"),
        "{line}"
    );
}

#[test]
fn many_files_patterns_folders_and_standard_input_are_one_log() {
    let sandbox = Sandbox::new();
    sandbox.write("logs/a.csv", format!("{HEADER}1,u,q,d1,1,0\n1,u,q,d2,2,1\n"));
    sandbox.write("logs/b.tsv", "session\tuser\tquery\tdoc\tposition\tclick\n2\tu\tq\td1\t1\t0\n");
    sandbox.write("logs/_SUCCESS", "");
    sandbox.write("logs/empty.csv", HEADER);
    assert_eq!(totals(&sandbox, "logs"), [3, 1, 0]);
    assert_eq!(totals(&sandbox, "logs/*.?sv"), [3, 1, 0]);
    assert!(sandbox.fail("count logs/*.parquet -o counts-new").contains("logs/*.parquet: matches no file"));
    let piped = |content: &[u8], options: &str| {
        let mut command = sandbox.command(&format!("count - --json --quiet -o counts {options}"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8(if output.status.success() { output.stdout } else { output.stderr }).unwrap()
    };
    let whole = format!("{HEADER}1,u,q,d1,1,0\n1,u,q,d2,2,1\n");
    let forms = [
        (whole.clone(), ""),
        (whole.replace(',', "\t"), ""),
        (whole.replace(',', "\t"), "--format tsv"),
        ("{\"session\":1,\"query\":\"q\",\"docs\":[\"a\",\"b\"],\"clicks\":[0,1]}\n".into(), ""),
    ];
    for (content, options) in forms {
        let found: serde_json::Value = serde_json::from_str(&piped(content.as_bytes(), options)).unwrap();
        assert_eq!((&found["impressions"], &found["clicks"]), (&2.into(), &1.into()), "{content}");
    }
    assert!(piped(b"PAR1....", "").contains("-: is Parquet, which cannot be read from standard input"));
}

#[test]
fn columns_are_guessed_joined_and_said_aloud() {
    let sandbox = Sandbox::new();
    let rows = "a,1,0,q,1,d1,0\na,1,0,q,2,d2,1\nb,1,0,q,1,d1,0\n";
    sandbox.write("c.csv", format!("client_id,task,serp,keyword,rank,url,clicked\n{rows}"));
    let found = sandbox.json("count c.csv --column session=client_id+task+serp --json -o counts");
    assert_eq!((&found["sessions"], &found["users"]), (&2.into(), &2.into()));
    let remarks: Vec<&str> = found["remarks"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    let expected = ["user is read from client_id", "query is read from keyword", "doc is read from url"];
    assert!(expected.iter().all(|remark| remarks.contains(remark)), "{remarks:?}");
    let line = sandbox.fail("count c.csv -o counts");
    assert!(line.contains("belongs to users 'a' and 'b'") && line.contains("--columns session="), "{line}");
    let found = sandbox.json("count c.csv --column session=client_id+serp --column user= --json -o counts");
    assert_eq!(found["users"], 1);
    assert!(found["remarks"].to_string().contains("one anonymous user"), "{found}");
}

#[test]
fn result_pages_become_impressions() {
    let sandbox = Sandbox::new();
    let expected = [5, 2, 0];
    let pages = [
        ("session,user,query,docs,clicks\n1,u,q,a|b|c,0|1|0\n2,v,q,b|a,0|1\n", ""),
        (
            "session,user,query,docs,clicks\n1,u,q,\"[\"\"a\"\",\"\"b\"\",\"\"c\"\"]\",[2]\n2,v,q,\"[\"\"b\"\",\"\"a\"\"]\",[2]\n",
            "",
        ),
        ("session,user,query,docs,clicks\n1,u,q,a b c,b\n2,v,q,b a,a\n", ""),
        ("session,user,query,docs,clicks\n1,u,q,\"1,2,3\",2\n2,v,q,\"2,1\",2\n", "--clicks positions"),
        ("session,user,query,doc,click\n1,u,q,a/b/c,0/1/0\n2,v,q,b/a,0/1\n", "--list-separator /"),
    ];
    for (content, options) in pages {
        sandbox.write("pages.csv", content);
        assert_eq!(totals(&sandbox, &format!("pages.csv {options}")), expected, "{content}");
    }
    let line = sandbox.fail("count pages.csv -o counts-new");
    assert!(line.contains("has no column 'position'"), "{line}");
    sandbox.write("ambiguous.csv", pages[3].0);
    let line = sandbox.fail("count ambiguous.csv -o counts-new");
    assert!(line.contains("could be docs or positions; say which with --clicks"), "{line}");
    sandbox.write("ragged.csv", "session,user,query,docs,clicks\n1,u,q,a|b,0|1\n2,v,q,a|b|c,0|1\n");
    let line = sandbox.fail("count ragged.csv -o counts-new");
    assert!(line.contains("ragged.csv:3: has 3 documents and 2 clicks, but each document needs one"), "{line}");
    assert_eq!(totals(&sandbox, "ragged.csv --on-bad-row skip"), [2, 1, 1]);
}

#[test]
fn pages_are_chosen_by_their_earliest_time() {
    let sandbox = Sandbox::new();
    let rows = "1,u,q,a,1,0,2024-03-01\n1,u,q,b,2,1,2024-03-03T00:00:00Z\n2,v,p,a,1,0,2024-03-02 12:00\n2,v,p,c,2,1,1709467200\n";
    sandbox.write("c.csv", format!("{}{rows}", HEADER.replace('\n', ",timestamp\n")));
    let found = |options: &str| {
        let found = sandbox.json(&format!("count c.csv {options} --json -o counts"));
        ["impressions", "users", "documents"].map(|name| found[name].as_u64().unwrap())
    };
    assert_eq!(found(""), [4, 2, 4]);
    assert_eq!(found("--until 2024-03-02"), [2, 1, 2]);
    assert_eq!(found("--from 2024-03-02"), [2, 1, 2]);
    assert_eq!(found("--from 2024-03-01 --until 2024-03-03"), [4, 2, 4]);
    let line = sandbox.fail("count c.csv --from 2025-01-01 -o counts-new");
    assert!(line.contains("has no result page in the time that is asked for"), "{line}");
    assert!(sandbox.fail("count c.csv --from tomorrow -o counts-new").contains("'tomorrow' is not a time"));
    sandbox.write("bad.csv", format!("{}1,u,q,a,1,0,soon\n", HEADER.replace('\n', ",time\n")));
    assert!(sandbox.fail("count bad.csv --from 2024-01-01 -o counts-new").contains("bad.csv:2: time is soon, but"));
}
