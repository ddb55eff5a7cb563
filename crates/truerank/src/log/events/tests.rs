//! Event logs as people have them, joined into impressions.

use super::EventOptions;
use crate::counts::{CountOptions, LogSource};
use crate::log::{Columns, LogFormat, OnBadRow, ReadOptions};
use crate::progress::Silent;

/// The pages of a log: query, user, and the documents in their order, clicked ones with a star.
fn pages(name: &str, content: &str, options: &ReadOptions) -> crate::Result<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let log = LogSource::files([path], options.clone()).read()?;
    let mut pages = Vec::new();
    for page in log.impressions.chunk_by(|a, b| a.session == b.session) {
        let mut docs = page.to_vec();
        docs.sort_by_key(|row| row.position);
        let shown = docs.iter().map(|row| {
            format!(" {}{}{}", row.position, log.docs.name(row.doc as usize), if row.click { "*" } else { "" })
        });
        let (query, user) = (log.queries.name(page[0].query as usize), log.users.name(page[0].user as usize));
        pages.push(format!("{query} {user}:{}", shown.collect::<String>()));
    }
    pages.sort();
    Ok(pages)
}

fn yandex() -> ReadOptions {
    ReadOptions::new().format(LogFormat::Yandex)
}

fn events() -> ReadOptions {
    ReadOptions::new().events(EventOptions::new().event_column("type".into()))
}

fn remarks(name: &str, content: &str, options: &ReadOptions) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let (_, summary) = LogSource::files([path], options.clone()).count(&CountOptions::new(), &Silent).unwrap();
    summary.remarks().join("\n")
}

const YANDEX: &str = "\
7\t0\tQ\t31\t2\ta\tb\tc
8\t0\tQ\t31\t2\tb\ta\tc
7\t4\tC\tb
8\t5\tC\tb
7\t9\tQ\t31\t2\tb\tc\td
7\t11\tC\tb
7\t12\tC\ta
7\t13\tC\tz
9\t1\tC\ta
";

#[test]
fn clicks_are_on_the_last_page_of_their_session_that_shows_them() {
    // The same query twice in session 7 is two pages; a was clicked after the second, but only the first shows it.
    let expected = ["31 anonymous: 1a* 2b* 3c", "31 anonymous: 1b* 2a 3c", "31 anonymous: 1b* 2c 3d"];
    assert_eq!(pages("train.txt", YANDEX, &yandex()).unwrap(), expected);
    // Sessions may come in any order, and with their times so may lines.
    let mut lines: Vec<&str> = YANDEX.lines().collect();
    lines.reverse();
    assert_eq!(pages("train", &lines.join("\n"), &yandex()).unwrap(), expected);
    assert_eq!(pages("crlf", &YANDEX.replace('\n', "\r\n"), &yandex()).unwrap(), expected);
    let told = remarks("train.txt", YANDEX, &yandex());
    for expected in [
        "3 pages and 4 clicks on them were joined from events",
        "1 clicks are of sessions that show nothing and were left out",
        "1 clicks are on documents that no page of their session shows before them",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn fields_of_a_line_have_names() {
    let mut columns = Columns::default();
    columns.map("user", "session").unwrap();
    columns.map("query", "query+region").unwrap();
    let found = pages("train.txt", YANDEX, &yandex().columns(columns)).unwrap();
    assert_eq!(found, ["31+2 7: 1a* 2b* 3c", "31+2 7: 1b* 2c 3d", "31+2 8: 1b* 2a 3c"]);
}

#[test]
fn broken_lines_are_named_or_left_out() {
    let error = |line: &str| pages("train.txt", &format!("{YANDEX}{line}\n"), &yandex()).unwrap_err().to_string();
    for line in ["7\t4\tC", "7\t4\tQ\t31\t2", "7\t4\tX\t31", "hello", "7\t4\tC\ta\tb"] {
        assert!(error(line).contains("train.txt:10: has ") && error(line).contains("'session time C url'"), "{line}");
    }
    assert!(error("7\tsoon\tC\ta").contains("train.txt:10: time is soon"));
    assert!(error("\t4\tC\ta").contains("train.txt:10: session is empty"));
    assert!(error("7\t4\tC\t\u{0}").contains("train.txt:10: holds a NUL byte"));
    let skipping = yandex().on_bad_row(OnBadRow::Skip);
    assert_eq!(pages("train.txt", &format!("{YANDEX}hello\n"), &skipping).unwrap().len(), 3);
    assert!(pages("train.txt", "", &yandex()).unwrap_err().to_string().ends_with("the file is empty"));
    let from = yandex().since("2024-01-01".parse().unwrap());
    assert!(
        pages("train.txt", YANDEX, &from).unwrap_err().to_string().contains("count from the start of each session")
    );
}

#[test]
fn events_with_lists_are_joined_in_any_order_of_rows() {
    let mut lines = [
        r#"{"type":"search","session":"s","user":1,"query":5,"docs":["a","b"]}"#,
        r#"{"type":"click","session":"s","doc":"b"}"#,
        r#"{"type":"scroll","session":"s"}"#,
        r#"{"type":"search","session":"t","user":2,"query":6,"docs":[]}"#,
        r#"{"type":"search","session":"t","user":2,"query":6,"docs":["b","a"]}"#,
        r#"{"type":"Click","session":"t","doc":"b","query":6}"#,
        r#"{"type":"click","session":"t","doc":"a","query":7}"#,
    ];
    let skipping = events().on_bad_row(OnBadRow::Skip);
    let found = pages("e.jsonl", &lines.join("\n"), &skipping).unwrap();
    assert_eq!(found, ["5 1: 1a 2b*", "6 2: 1b* 2a"]);
    lines.reverse();
    assert_eq!(pages("e.jsonl", &lines.join("\n"), &skipping).unwrap(), found);
    let told = remarks("e.jsonl", &lines.join("\n"), &skipping);
    assert!(told.contains("1 events are neither pages nor clicks and were left out: scroll (1)"), "{told}");
}

#[test]
fn times_decide_where_there_are_any() {
    let rows = "type,session,query,docs,doc,time\n\
                view,s,q,a|b,,10\n\
                click,s,,,a,15\n\
                view,s,q,b|a,,20\n\
                click,s,,,b,25\n\
                click,s,,,b,5\n";
    let found = pages("e.csv", rows, &events()).unwrap();
    assert_eq!(found, ["q anonymous: 1a* 2b", "q anonymous: 1b* 2a"]);
    let mut lines: Vec<&str> = rows.lines().collect();
    lines[1..].reverse();
    assert_eq!(pages("e.csv", &lines.join("\n"), &events()).unwrap(), found);
    // Without times the order of rows decides.
    let mut columns = Columns::default();
    columns.map("time", "").unwrap();
    let by_rows = pages("e.csv", rows, &events().columns(columns)).unwrap();
    assert_eq!(by_rows, found);
}

#[test]
fn clicks_that_could_be_on_several_pages_are_left_out() {
    let rows =
        "type,session,query,docs,doc\nclick,s,,,a\nclick,t,,,b\nquery,s,q,a|b,\nquery,s,p,b|a,\nquery,t,q,a|b,\n";
    assert_eq!(
        pages("e.csv", rows, &events()).unwrap(),
        ["p anonymous: 1b 2a", "q anonymous: 1a 2b", "q anonymous: 1a 2b*"]
    );
    assert!(remarks("e.csv", rows, &events()).contains("1 clicks could be on several pages of their session"));
}

#[test]
fn documents_that_are_shown_one_by_one_make_pages() {
    let mut lines = [
        "impression,s,u,q,a,1",
        "impression,s,u,q,b,2",
        "click,s,u,q,b,",
        "impression,s,u,p,b,1",
        "impression,s,u,p,b,3",
        "purchase,s,u,p,b,",
    ];
    let options = ReadOptions::new()
        .events(EventOptions::new().event_column("type".into()).click_event(vec!["click".into(), "purchase".into()]));
    let read = |lines: &[&str]| {
        pages("e.csv", &format!("type,session,user,query,doc,position\n{}\n", lines.join("\n")), &options).unwrap()
    };
    let found = read(&lines);
    assert_eq!(found, ["p u: 1b*", "q u: 1a 2b*"]);
    lines.reverse();
    assert_eq!(read(&lines), found);
}

#[test]
fn logs_without_pages_or_clicks_say_which_events_they_have() {
    let error = |rows: &str| {
        let content = format!("type,session,query,docs,doc\n{rows}");
        pages("e.csv", &content, &events()).unwrap_err().to_string()
    };
    let nothing = error("open,s,q,a|b,\nopen,s,q,a|b,\nclick,s,,,a\n");
    assert!(nothing.contains("holds no event that shows documents (query, search, "), "{nothing}");
    assert!(
        nothing.contains("other events in column 'type' are open (2); say which do with `query_event`"),
        "{nothing}"
    );
    assert!(error("query,s,q,a|b,\nopen,s,,,a\n").contains("holds no event that is a click (click, item_click"));
    let skipping = events().on_bad_row(OnBadRow::Skip);
    let rows = "type,session,query,docs,doc\nquery,s,q,a|b,\nclick,s,,,\n";
    let left_out = pages("e.csv", rows, &skipping).unwrap_err().to_string();
    assert!(
        left_out.contains("1 rows are left out, the first because ") && left_out.contains("doc is empty"),
        "{left_out}"
    );
    let apart = error("query,s,q,a|b,\nclick,t,,,a\n");
    assert!(
        apart.contains("1 clicks are of sessions that show nothing") && apart.contains("the right columns?"),
        "{apart}"
    );
    let options = ReadOptions::new().events(EventOptions::new().event_column("typ".into()));
    let missing = pages("e.csv", "type,session,query,docs,doc\nquery,s,q,a|b,\n", &options).unwrap_err().to_string();
    assert!(missing.contains("has no column 'typ'"), "{missing}");
    let when = events().click_when("doc".parse().unwrap());
    assert!(
        pages("e.csv", "type\n", &when)
            .unwrap_err()
            .to_string()
            .contains("`click_when` is for logs of shown documents")
    );
}

/// The error of counting click transitions over several files.
fn refusal(files: &[(&str, &str)], options: &ReadOptions) -> String {
    let folder = tempfile::tempdir().unwrap();
    let paths = files.iter().map(|(name, content)| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    });
    let log = LogSource::files(paths.collect::<Vec<_>>(), options.clone());
    let error = log.count(&CountOptions::new().transitions(true), &Silent).unwrap_err().to_string();
    error.replace(folder.path().to_str().unwrap(), "")
}

#[test]
fn two_documents_at_one_position_are_told_with_their_line() {
    let log = "session,query,doc,position,type\n7,q,a,2,view\n7,q,b,2,view\n7,q,b,2,click\n8,p,a,1,view\n";
    let error = refusal(&[("log.csv", log)], &events());
    assert!(error.starts_with("/log.csv:3: session '7' of query 'q' shows two documents at position 2"), "{error}");
}

/// The page begins in the first file, and the row that contradicts it stands in the second.
#[test]
fn two_documents_at_one_position_are_told_with_their_file() {
    let header = "session,query,doc,position,type\n";
    let files = [
        ("1.csv", format!("{header}7,q,a,2,view\n7,q,a,1,click\n8,p,a,1,view\n")),
        ("2.csv", format!("{header}9,p,a,1,view\n7,q,b,2,view\n")),
    ];
    let files = files.each_ref().map(|(name, content)| (*name, content.as_str()));
    let error = refusal(&files, &events());
    assert!(error.starts_with("/2.csv:3: session '7' of query 'q' shows two documents at position 2"), "{error}");
}
