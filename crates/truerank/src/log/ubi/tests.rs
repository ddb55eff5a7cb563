use std::path::Path;

use super::*;
use crate::log::Impression;

/// The log of these lines, written as `queries.jsonl` and `events.jsonl`.
fn join(queries: &[&str], events: &[&str], options: &UbiOptions) -> Result<(Log, UbiSummary)> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &[&str]| {
        let path = folder.path().join(name);
        std::fs::write(&path, lines.join("\n")).unwrap();
        path
    };
    read_ubi(&[write("queries.jsonl", queries)], &[write("events.jsonl", events)], options)
}

/// Rows as `user query doc position click`.
fn rows(log: &Log) -> Vec<String> {
    let row = |i: &Impression| {
        let (user, query, doc) = (log.users.name(i.user as usize), log.queries.name(i.query as usize), i.doc);
        format!("{user} {query} {} {} {}", log.docs.name(doc as usize), i.position, u8::from(i.click))
    };
    let mut rows: Vec<String> = log.impressions.iter().map(row).collect();
    rows.sort();
    rows
}

fn query(id: &str, text: &str, user: &str, hits: &str) -> String {
    format!(
        r#"{{"query_id":"{id}","user_query":"{text}","client_id":"{user}","query_response_hit_ids":{hits},"timestamp":1}}"#
    )
}

fn event(action: &str, query: &str, doc: &str, ordinal: &str) -> String {
    format!(
        r#"{{"action_name":"{action}","query_id":"{query}","event_attributes":{{"object":{{"object_id":"{doc}"}},"position":{{"ordinal":{ordinal}}}}}}}"#
    )
}

fn texts(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

#[test]
fn hits_are_positions_and_clicks_find_them() {
    let queries = [
        query("1", "red shoes", "ann", r#"["a","b","c"]"#),
        query("2", "red shoes", "bob", r#"["b",17]"#),
        query("3", "nothing", "bob", "[]"),
    ];
    let events = [
        event("click", "1", "b", "2"),
        event("Product_Click", "2", "17", "2"),
        event("click", "2", "17", "2"),
        event("click", "2", "z", "9"),
        event("click", "9", "a", "1"),
        event("add_to_cart", "1", "a", "1"),
        r#"{"action_name":"login"}"#.to_string(),
        r#"{"action_name":"click","query_id":"1"}"#.to_string(),
    ];
    let (log, summary) = join(&texts(&queries), &texts(&events), &UbiOptions::new()).unwrap();
    let expected = [
        "ann red shoes a 1 0",
        "ann red shoes b 2 1",
        "ann red shoes c 3 0",
        "bob red shoes 17 2 1",
        "bob red shoes b 1 0",
    ];
    assert_eq!(rows(&log), expected);
    let actions = [("add_to_cart", 1), ("click", 5), ("login", 1), ("Product_Click", 1)];
    let expected = UbiSummary {
        queries: 3,
        events: 8,
        pages: 2,
        impressions: 5,
        clicks: 2,
        empty_queries: 1,
        events_of_unknown_queries: 1,
        events_without_subject: 1,
        clicks_off_list: 1,
        first_ordinal: Some(1),
        actions: actions.map(|(name, count)| (name.to_string(), count)).into(),
        ..UbiSummary::default()
    };
    assert_eq!(summary, expected);
    assert_eq!(summary.remarks().len(), 4);
    // The log counts as any other.
    let (counts, _) = crate::counts::count_log(&log, &Default::default()).unwrap();
    assert_eq!(counts.session_count(), 2);
}

#[test]
fn dumps_wrap_documents_and_bulk_requests_name_indices() {
    let queries = [
        r#"{"index":{"_index":"ubi_queries"}}"#.to_string(),
        query("1", "q", "ann", r#"["a"]"#),
        format!(r#"{{"_index":"ubi_queries","_id":"x","_source":{}}}"#, query("2", "q", "bob", r#"["a"]"#)),
        r#"{"create":{}}"#.to_string(),
        String::new(),
        r#"{"queryId":3,"userQuery":" q ","sessionId":"s","query_response_objects_ids":"a"}"#.to_string(),
        r#"{"query_id":4,"user_query":"q","query_response_hit_ids":["a","a"]}"#.to_string(),
        r#"{"query_id":5,"query_response_hit_ids":["a"]}"#.to_string(),
        query("1", "q", "eve", r#"["b"]"#),
    ];
    let events = [format!(r#"{{"_source":{}}}"#, event("click", "3", "a", "null"))];
    let (log, summary) = join(&texts(&queries), &texts(&events), &UbiOptions::new()).unwrap();
    assert_eq!(rows(&log), ["ann q a 1 0", "anonymous q a 1 0", "bob q a 1 0", "s q a 1 1"]);
    let found =
        (summary.anonymous_pages, summary.queries_without_text, summary.repeated_queries, summary.repeated_hits);
    assert_eq!((summary.queries, found), (6, (1, 1, 1, 1)));
}

#[test]
fn lists_come_from_views_where_there_are_no_hits() {
    let queries = [query("1", "q", "ann", "null")];
    let events = [
        event("impression", "1", "b", "1"),
        event("impression", "1", "a", "0"),
        event("view", "1", "c", "\"4\""),
        event("impression", "1", "d", "null"),
        event("impression", "1", "e", "4"),
        event("impression", "1", "a", "3"),
        event("click", "1", "b", "null"),
        event("click", "1", "f", "7"),
        event("click", "1", "g", "null"),
    ];
    let (log, summary) = join(&texts(&queries), &texts(&events), &UbiOptions::new()).unwrap();
    assert_eq!(rows(&log), ["ann q a 1 0", "ann q b 2 1", "ann q c 5 0", "ann q f 8 1"]);
    let counts = (summary.views_without_position, summary.contradictory_views, summary.clicks_off_list);
    assert_eq!((summary.pages_from_events, summary.first_ordinal, counts), (1, Some(0), (1, 2, 1)));
    let mut backwards = events.clone();
    backwards.reverse();
    let again = join(&texts(&queries), &texts(&backwards), &UbiOptions::new()).unwrap();
    assert_eq!((rows(&again.0), again.1), (rows(&log), summary));
}

#[test]
fn ordinals_start_where_hits_say() {
    let queries = [query("1", "q", "ann", r#"["a","b"]"#), query("2", "q", "bob", "[]")];
    // Page 2 alone would have its least ordinal, 1, at the first place; page 1 shows that it is the second.
    let events = [event("click", "1", "b", "1"), event("view", "2", "c", "1"), event("view", "2", "d", "2")];
    let (log, summary) = join(&texts(&queries), &texts(&events), &UbiOptions::new()).unwrap();
    assert_eq!(summary.first_ordinal, Some(0));
    assert_eq!(rows(&log)[2..], ["bob q c 2 0", "bob q d 3 0"]);
    let events = [event("click", "1", "b", "2"), event("view", "2", "c", "1")];
    let (log, summary) = join(&texts(&queries), &texts(&events), &UbiOptions::new()).unwrap();
    assert_eq!((summary.first_ordinal, rows(&log)[2].as_str()), (Some(1), "bob q c 1 0"));
}

#[test]
fn names_and_depth_can_be_told() {
    let queries = [query("1", "q", "ann", r#"["a","b","c"]"#)];
    let events = [event("tap", "1", "b", "2"), event("click", "1", "a", "1"), event("tap", "1", "c", "3")];
    let options = UbiOptions::new().ubi_click(vec!["tap".to_string()]).ubi_depth(2);
    let (log, summary) = join(&texts(&queries), &texts(&events), &options).unwrap();
    assert_eq!(rows(&log), ["ann q a 1 0", "ann q b 2 1"]);
    assert_eq!(summary.clicks_off_list, 1);
}

#[test]
fn bad_lines_are_named() {
    let good = query("1", "q", "ann", r#"["a"]"#);
    let refused =
        |queries: &[&str], events: &[&str]| join(queries, events, &UbiOptions::new()).unwrap_err().to_string();
    let message = refused(&[&good, "{\"query_id\":"], &[]);
    assert!(message.contains("queries.jsonl:2: is not JSON"), "{message}");
    let message = refused(&[&good, "", r#"{"user_query":"q"}"#], &[]);
    assert!(message.contains("queries.jsonl:3: has no query_id"), "{message}");
    let message = refused(&[&good], &[&event("click", "1", "a", "1"), "[]"]);
    assert!(message.contains("events.jsonl:2: is not a document of UBI"), "{message}");
    let message = refused(&[&good], &[r#"{"action_name":3}"#]);
    assert!(message.contains("events.jsonl:1: is not a document of UBI"), "{message}");
    let message = refused(&[&good], &[&event("tap", "1", "a", "1"), &event("tap", "1", "a", "1")]);
    assert!(
        message.contains("no event is a click on a shown document; actions in the events are tap (2)"),
        "{message}"
    );
    let message = refused(&[&query("1", "q", "ann", "[]")], &[&event("click", "1", "a", "null")]);
    assert!(message.starts_with("no query has hits"), "{message}");
    let none = read_ubi(&[Path::new("nowhere.jsonl").to_path_buf()], &[], &UbiOptions::new()).unwrap_err();
    assert_eq!(none.to_string(), "nowhere.jsonl: no such file or folder");
    assert!(
        join(&[&good], &[], &UbiOptions::new().ubi_depth(0))
            .unwrap_err()
            .to_string()
            .contains("`ubi_depth` is 0, but should be at least 1")
    );
}

#[test]
fn compressed_dumps_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (queries, events) = (folder.path().join("q.jsonl.gz"), folder.path().join("e.jsonl.zst"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, query("1", "q", "ann", r#"["a"]"#).as_bytes()).unwrap();
    std::fs::write(&queries, gzip.finish().unwrap()).unwrap();
    std::fs::write(&events, zstd::encode_all(event("click", "1", "a", "1").as_bytes(), 1).unwrap()).unwrap();
    let (log, _) = read_ubi(std::slice::from_ref(&queries), std::slice::from_ref(&events), &UbiOptions::new()).unwrap();
    assert_eq!(rows(&log), ["ann q a 1 1"]);
    let bytes = std::fs::read(&queries).unwrap();
    std::fs::write(&queries, &bytes[..bytes.len() - 9]).unwrap();
    let message = read_ubi(&[queries], &[events], &UbiOptions::new()).unwrap_err().to_string();
    assert!(message.contains("q.jsonl.gz:1: cannot be read"), "{message}");
}
