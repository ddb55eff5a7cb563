use super::*;
use crate::log::OnBadRow;
use crate::log::blocks::BLOCK;
use crate::log::input::Input;
use crate::log::rows::Rows;

fn read(content: &str, size: usize, on_bad_row: OnBadRow) -> Result<(Rows, Vec<String>)> {
    let path = Path::new("c.jsonl");
    let mut blocks = Blocks::new(path, Input::over(path, std::io::Cursor::new(content.as_bytes().to_vec()))?, size);
    let options = ReadOptions::new().on_bad_row(on_bad_row);
    // The columns are found in a block of the usual size.
    let mut head = Blocks::new(path, Input::over(path, std::io::Cursor::new(content.as_bytes().to_vec()))?, BLOCK);
    let form = JsonForm::open(path, &mut head, &options, &mut Vec::new())?.unwrap();
    skip_opening(&mut blocks)?;
    let (mut rows, mut bad) = (Rows::default(), Vec::new());
    while let Some(block) = blocks.next(&form.cut())? {
        let parsed = form.parse(&block);
        rows.positions.extend(parsed.rows.positions);
        rows.clicks.extend(parsed.rows.clicks);
        rows.sessions.extend(parsed.rows.sessions);
        bad.extend(parsed.bad.into_iter().map(|bad| bad.error().to_string()));
    }
    Ok((rows, bad))
}

fn object(session: u32, rest: &str) -> String {
    format!(r#"{{"session":{session},"user":"u{{\"]","query":"q","doc":7,{rest}}}"#)
}

#[test]
fn lines_and_arrays_are_read_in_blocks_of_any_size() {
    let rows = [object(1, r#""position":1,"click":true"#), object(2, r#""click":0,"x":[{"}":1}],"position":2.0"#)];
    let forms = [
        rows.join("\n"),
        format!("\r\n{}\r\n", rows.join("\r\n")),
        format!("[{}]", rows.join(",\n")),
        format!("\n[\n {}\n]\n", rows.join(" , ")),
    ];
    for content in forms {
        for size in [1, 7, 50, 1000] {
            let (rows, bad) = read(&content, size, OnBadRow::Error).unwrap();
            assert_eq!((rows.sessions, rows.positions, rows.clicks), (vec![1, 2], vec![1, 2], vec![true, false]));
            assert!(bad.is_empty(), "{bad:?}");
        }
    }
}

#[test]
fn objects_that_cannot_be_read_are_named_and_left_out() {
    let good = object(1, r#""position":1,"click":1"#);
    let bad = [
        ("17", "is 17, but a record is a JSON object"),
        ("{\"session\":1", "is not whole JSON"),
        (r#"{"user":"a","user":"b"}"#, "has two values of 'user', but keys must differ"),
        (
            &object(2, r#""position":1,"click":1"#).replace("7", "7.5"),
            "doc is 7.5, but an id is text or a whole number",
        ),
        (&object(2, r#""position":1,"click":1"#).replace("7", "{}"), "doc is an object, but"),
        (&object(2, r#""position":1,"click":null"#), "click is missing, but every impression needs one"),
        (&object(2, r#""position":1"#), "click is missing"),
    ];
    for (line, finding) in bad {
        let (rows, bad) = read(&format!("{good}\n{line}\n{good}\n"), 20, OnBadRow::Skip).unwrap();
        assert_eq!((rows.sessions.len(), bad.len()), (2, 1), "{line}: {bad:?}");
        assert!(bad[0].starts_with("c.jsonl:2: ") && bad[0].contains(finding), "{bad:?}");
    }
}

#[test]
fn files_without_objects_are_refused() {
    assert!(read("17\n", 9, OnBadRow::Skip).err().unwrap().to_string().contains("holds no JSON object"));
}

/// What is wrong with an array, and its line, at any size of blocks; with how many good rows.
fn findings(content: &str) -> (usize, Vec<String>) {
    let of_size = |size| {
        let (rows, bad) = read(content, size, OnBadRow::Skip).unwrap();
        let (_, first) = read(content, size, OnBadRow::Error).unwrap();
        assert_eq!(first.first(), bad.first(), "{content} in blocks of {size}");
        (rows.sessions.len(), bad)
    };
    let expected = of_size(BLOCK);
    for size in [1, 2, 3, 7, 50, 99, 1000] {
        assert_eq!(of_size(size), expected, "{content} in blocks of {size}");
    }
    expected
}

/// Lines and what is wrong there.
type Findings<'a> = &'a [(u64, &'a str)];

#[test]
fn arrays_that_are_cut_off_or_malformed_are_named() {
    let a = object(1, r#""position":1,"click":1"#);
    let b = object(2, r#""x":[[1],{"y":2}],"position":1,"click":1"#);
    let not_closed = "the array is not closed; was the file written to its end?";
    let too_many = "has a closing bracket too many";
    let missing = "an element is missing before a comma";
    let comma_at_end = "the array ends after a comma";
    let no_comma = "has no comma before it";
    let after_end = "follows the end of the array";
    // With `A` and `B` for two good objects: the array, its good rows, and lines and findings.
    let cases: &[(&str, usize, Findings<'_>)] = &[
        ("[A,B]", 2, &[]),
        ("\n[\nA\n,\nB\n]\n\n", 2, &[]),
        ("[A,B", 2, &[(1, not_closed)]),
        ("[A,\nB\n\n", 2, &[(2, not_closed)]),
        ("[A,B,", 2, &[(1, not_closed)]),
        ("[A,\n{\"session\": [1", 1, &[(2, not_closed)]),
        ("[A,\n{\"session\": \"]", 1, &[(2, not_closed)]),
        ("[A,B,]", 2, &[(1, comma_at_end)]),
        ("[A,\n,\n,B]", 2, &[(2, missing)]),
        ("[,A]", 1, &[(1, missing)]),
        ("[A,,", 1, &[(1, missing), (1, not_closed)]),
        ("[A,,]", 1, &[(1, missing), (1, comma_at_end)]),
        ("[A\nB]", 1, &[(2, no_comma)]),
        ("[AB,A]", 2, &[(1, no_comma)]),
        ("[A,}]", 1, &[(1, too_many)]),
        ("[A},B]", 2, &[(1, too_many)]),
        ("[A,\n}}}}{}}},B]", 2, &[(2, too_many), (2, too_many)]),
        ("[A,[B],A]", 2, &[(1, "but a record is a JSON object")]),
        ("[A,B]]],,", 2, &[(1, after_end)]),
        ("[A,B]\n[A,\nB]\n", 2, &[(2, after_end), (3, after_end)]),
        ("[A\n] , B", 1, &[(2, after_end)]),
        ("[A,17 18,B]", 2, &[(1, "but a record is a JSON object")]),
    ];
    for (pattern, rows, expected) in cases {
        let content = pattern.replace('A', &a).replace('B', &b);
        let (found, bad) = findings(&content);
        assert_eq!((found, bad.len()), (*rows, expected.len()), "{pattern}: {bad:?}");
        for (bad, (line, finding)) in bad.iter().zip(*expected) {
            assert!(bad.starts_with(&format!("c.jsonl:{line}: ")) && bad.contains(finding), "{pattern}: {bad}");
        }
    }
}

#[test]
fn long_runs_of_brackets_and_commas_end() {
    let object = object(1, r#""position":1,"click":1"#);
    for junk in ["}", ",", "]", "{", "[", "} ,", "\""] {
        let content = format!("[{object},{}]", junk.repeat(200_000));
        let (rows, bad) = read(&content, BLOCK, OnBadRow::Skip).unwrap();
        assert_eq!(rows.sessions.len(), 1, "{junk}");
        assert!(!bad.is_empty(), "{junk}");
    }
}

#[test]
fn blanks_before_the_first_record_may_be_longer_than_a_block() {
    let object = object(1, r#""position":1,"click":1"#);
    let content = format!("{}[{object}]", "\n".repeat(BLOCK + 10));
    let (rows, bad) = read(&content, BLOCK, OnBadRow::Error).unwrap();
    assert_eq!((rows.sessions.len(), bad.len()), (1, 0));
}

#[test]
fn a_second_array_is_named_also_where_it_is_too_long_to_be_held() {
    let object = object(1, r#""position":1,"click":1"#);
    let more = format!("[{}]", vec![object.as_str(); crate::log::blocks::MAX_RECORD / object.len() + 1].join(","));
    let (rows, bad) = read(&format!("[{object}]{more}\n{more}"), BLOCK, OnBadRow::Skip).unwrap();
    assert_eq!((rows.sessions.len(), bad.len()), (1, 2));
    assert!(bad[0].starts_with("c.jsonl:1: more than 16 MiB follow the end"), "{}", bad[0]);
}
