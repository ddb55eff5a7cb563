use super::*;
use crate::log::OnBadRow;
use crate::log::blocks::BLOCK;
use crate::log::input::Input;
use proptest::prelude::*;

const HEADER: &str = "session,user,query,doc,position,click\n";

type Rows = Vec<(u64, String, String, String, u32, bool)>;

/// The rows of a CSV file that is parsed in blocks of about `size` bytes, and its bad rows.
fn read_all(content: &[u8], size: usize, on_bad_row: OnBadRow) -> Result<(Rows, Vec<String>)> {
    let path = Path::new("clicks.csv");
    let input = || Input::over(path, std::io::Cursor::new(content.to_vec()));
    let options = ReadOptions::new().on_bad_row(on_bad_row);
    let mut blocks = Blocks::new(path, input()?, size);
    let Some(form) = DelimitedForm::open(path, &mut blocks, b',', &options, &mut Vec::new())? else {
        return Err(Error::input(path, "is empty"));
    };
    let (mut rows, mut bad) = (Rows::new(), Vec::new());
    while let Some(block) = blocks.next(&form.cut())? {
        let parsed = form.parse(&block);
        let r = parsed.rows;
        rows.extend((0..r.len()).map(|i| {
            let [user, query, doc] = [&r.users, &r.queries, &r.docs].map(|c| c.name(c.codes[i]).into_owned());
            (r.sessions[i], user, query, doc, r.positions[i], r.clicks[i])
        }));
        bad.extend(parsed.bad.into_iter().map(|bad| bad.error().to_string()));
    }
    Ok((rows, bad))
}

fn read(content: &[u8], size: usize) -> Result<Rows, String> {
    let (rows, bad) = read_all(content, size, OnBadRow::Error).map_err(|e| e.to_string())?;
    bad.into_iter().next().map_or(Ok(rows), Err)
}

fn error(rows: &str) -> String {
    let content = format!("{HEADER}{rows}");
    let errors: Vec<_> = [1, 20, 1000].map(|size| read(content.as_bytes(), size).unwrap_err()).into();
    assert!(errors.iter().all(|e| *e == errors[0]), "{errors:?}");
    errors[0].clone()
}

/// How many rows are read and the bad ones, which must not depend on the size of blocks.
fn skip(rows: &[u8]) -> (usize, Vec<String>) {
    let content = [HEADER.as_bytes(), rows].concat();
    let found = |size| read_all(&content, size, OnBadRow::Skip).map(|(rows, bad)| (rows.len(), bad)).unwrap();
    let expected = found(BLOCK);
    [1, 20, 50].iter().for_each(|&size| assert_eq!(found(size), expected));
    expected
}

#[test]
fn quotes_newlines_and_carriage_returns_are_read() {
    let content = "\u{feff}\"session\",user,query,doc,position,click\r\n\
                   1,ann,\"a \"\"b\"\",\nc\",d1,1,1\r\n\r\n2,5\" disk,q,\"d2\",2,0";
    let expected = [
        (1, "ann".into(), "a \"b\",\nc".into(), "d1".into(), 1, true),
        (2, "5\" disk".into(), "q".into(), "d2".into(), 2, false),
    ];
    for size in [1, 10, 1000] {
        assert_eq!(read(content.as_bytes(), size).unwrap(), expected);
    }
}

#[test]
fn bad_rows_are_named_with_their_line() {
    let good = "1,u,q,d,1,0\n";
    assert_eq!(error(&format!("{good}1,u,q,e,0,0\n")), "clicks.csv:3: position is 0, but positions start at 1");
    assert_eq!(error(&format!("{good}1,u,q,e,2,2\n")), "clicks.csv:3: click is 2, but a click is 0 or 1");
    assert_eq!(error("1,,q,d,1,0\n"), "clicks.csv:2: user is empty, but every impression needs one");
    assert_eq!(error("1,u,q,,1,0\n"), "clicks.csv:2: doc is empty, but every impression needs one");
    assert_eq!(
        error(&format!("{good}1,u,q,d,1\n1,u,q,d,0,0\n")),
        "clicks.csv:3: has 5 fields, but the header has 6; is a field with delimiters unquoted?"
    );
    assert_eq!(
        error(&format!("{good}{good}1,u,\"q,d,1,0\n{good}")),
        "clicks.csv:4: a quote opens here and never closes"
    );
    assert!(error("1,u,\"q\"x,d,1,0\n").starts_with("clicks.csv:2: text follows a closing quote"));
    assert!(error("1,u,\"a\n\nb\",d,1,0\n1,u,q,d,x,0").starts_with("clicks.csv:5: position is x"));
}

#[test]
fn damage_is_named_with_its_line_but_after_earlier_errors() {
    let damaged = |rows: &[u8]| read(&[HEADER.as_bytes(), rows].concat(), 1000).unwrap_err();
    assert_eq!(
        damaged(b"1,u,q,d,1,0\n1,u,\"q\xff\",d,1,0\n"),
        "clicks.csv:3: byte 0xff is not UTF-8 text; convert the file to UTF-8"
    );
    assert_eq!(
        damaged(b"1,u,q,d,1,0\n1,u,q,d\0,1,0\n"),
        "clicks.csv:3: holds a NUL byte; is it text, and was it written to the end?"
    );
    assert!(damaged(b"1,u,q,d,0,0\n\xff,u,q,d,1,0\n").starts_with("clicks.csv:2: position is 0"));
}

#[test]
fn each_bad_row_costs_one_record() {
    let good = "1,u,q,d,1,0\n";
    let bad: [&[u8]; 8] = [
        b"1,\"u,q,d,1,0\n",
        b"1,\"u\"x,q,d,1,0\n",
        b"1,u\0,q,d,1,0\n",
        b"1,u\xff,q,d,1,0\n",
        b"1,u,q,d,1\n",
        b"1,u,q,d,0,0\n",
        b"1,u,\"\",d,1,0\n",
        b"\"1\",\"u\",\"q\nr\",\"d\",\"x\",\"0\"\n",
    ];
    for bad in bad {
        // Quoted fields after it look like ends of the stray quote.
        for after in [good, "1,\"u\",\"a, \"\"b\"\"\",d,1,0\n"] {
            let rows = [good.as_bytes(), bad, good.as_bytes(), after.as_bytes()].concat();
            let (rows, found) = skip(&rows);
            assert_eq!((rows, found.len()), (3, 1), "{} {found:?}", String::from_utf8_lossy(bad));
            assert!(found[0].starts_with("clicks.csv:3: "), "{found:?}");
        }
    }
}

#[test]
fn headers_alone_hold_no_rows() {
    assert!(read(b"", 9).unwrap_err().contains("is empty"));
    assert!(read(HEADER.as_bytes(), 9).unwrap().is_empty());
}

#[test]
fn a_quote_that_stays_open_too_long_costs_one_record() {
    let good = "1,u,q,d,1,0\n".repeat(2 * MAX_RECORD / 12);
    let content = format!("{HEADER}1,\"u,q,d,1,0\n{good}1,u,q,\"d\",1,0\n");
    let (rows, bad) = read_all(content.as_bytes(), BLOCK, OnBadRow::Skip).unwrap();
    assert_eq!(
        (rows.len(), bad),
        (2 * MAX_RECORD / 12 + 1, vec!["clicks.csv:2: a quote opens here and never closes".to_string()])
    );
}

proptest! {
    #[test]
    fn any_bytes_give_rows_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), size in 1usize..50) {
        let _ = read(&bytes, size);
        let _ = read_all(&[HEADER.as_bytes(), &bytes].concat(), size, OnBadRow::Skip);
    }

    #[test]
    fn blocks_do_not_change_what_is_read(
        rows in proptest::collection::vec(
            ("[a-z\",\n\r]{1,4}", "[a-z\",\n\r]{1,4}", 1u32..5, any::<bool>(), any::<bool>()), 1..12),
        noise in proptest::collection::vec((0usize..400, proptest::sample::select(b"\",\n\ra\0\xff".to_vec())), 0..4),
        size in 1usize..60,
    ) {
        let mut content = HEADER.to_string();
        for (user, doc, position, click, crlf) in rows {
            let quoted = |t: &str| format!("\"{}\"", t.replace('"', "\"\""));
            let end = if crlf { "\r\n" } else { "\n" };
            content += &format!("1,{},q,{},{position},{click}{end}", quoted(&user), quoted(&doc));
        }
        let mut bytes = content.into_bytes();
        for (at, byte) in noise {
            let at = HEADER.len() + at % (bytes.len() - HEADER.len());
            bytes[at] = byte;
        }
        prop_assert_eq!(read(&bytes, size), read(&bytes, 1 << 20));
        let skipped = |size| read_all(&bytes, size, OnBadRow::Skip).map_err(|e| e.to_string());
        prop_assert_eq!(skipped(size), skipped(1 << 20));
    }
}
