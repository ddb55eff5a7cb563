//! Turns what was given as a log into its parts: files and tables as they are, patterns and folders expanded and sorted.

use std::path::{Component, Path, PathBuf};

use crate::files::is_temporary;
use crate::log::{LogFormat, LogPart};
use crate::{Error, Result};

/// Standard input, where a file is expected.
pub(crate) const STDIN: &str = "-";

/// The files and tables that `parts` stand for, in their order; each pattern and folder sorted by name. Folders hold files
/// of the form `format`, where one is given.
pub(crate) fn expand(parts: &[LogPart], format: Option<LogFormat>) -> Result<Vec<LogPart>> {
    if parts.is_empty() {
        return Err(Error::parameter("no log is given, but at least one file is needed"));
    }
    let mut found = Vec::new();
    for part in parts {
        match part {
            LogPart::Path(path) if !part.is_stdin() => {
                found.extend(files(path, format)?.into_iter().map(LogPart::Path))
            }
            _ => found.push(part.clone()),
        }
    }
    match found.iter().filter(|part| part.is_stdin()).count() {
        0 | 1 => Ok(found),
        _ => Err(Error::parameter("standard input (-) is given twice, but can be read once")),
    }
}

/// The files that a path stands for.
fn files(path: &Path, format: Option<LogFormat>) -> Result<Vec<PathBuf>> {
    match () {
        () if path.is_dir() => files_in(path, format),
        () if !path.exists() && is_pattern(path) => matches(path),
        () => Ok(vec![path.to_path_buf()]),
    }
}

/// The log files directly in a folder. Names that start with a dot or, as Spark's `_SUCCESS`, with `_` are left out.
fn files_in(folder: &Path, format: Option<LogFormat>) -> Result<Vec<PathBuf>> {
    let mut files = entries(folder)?;
    let is_log = |path: &PathBuf| (format.is_some() || LogFormat::of(path).is_some()) && path.is_file();
    files.retain(|path| !is_hidden(path) && !is_temporary(path) && is_log(path));
    if files.is_empty() {
        let finding =
            format!("is a folder without log files, but a log's name ends in {}", super::format::log_endings());
        return Err(Error::input(folder, finding));
    }
    Ok(files)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| matches!(name.as_encoded_bytes().first(), Some(b'.' | b'_')))
}

/// What is in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let at = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let failed = |e| Error::io(at, e);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(at).map_err(failed)? {
        paths.push(folder.join(entry.map_err(failed)?.file_name()));
    }
    paths.sort();
    Ok(paths)
}

fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// The files whose names match a pattern; none is an error.
fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        found = match component {
            Component::Normal(name) if is_pattern(Path::new(name)) => {
                let mut inside = Vec::new();
                for folder in found.iter().filter(|folder| folder.as_os_str().is_empty() || folder.is_dir()) {
                    inside.extend(
                        entries(folder)?.into_iter().filter(|path| matches_name(path, name.as_encoded_bytes())),
                    );
                }
                inside
            }
            other => found.into_iter().map(|path| path.join(other)).collect(),
        };
    }
    found.retain(|path| path.is_file());
    found.sort();
    match found.is_empty() {
        true => Err(Error::input(pattern, "matches no file")),
        false => Ok(found),
    }
}

/// Whether a file's own name matches; as in a shell, a leading dot must be asked for.
fn matches_name(path: &Path, pattern: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_asked_for = pattern.first() == Some(&b'.') || name.first() != Some(&b'.');
    is_asked_for && glob(pattern, name)
}

/// `*` is any bytes, `?` any one character, `[a-c]` and `[!a-c]` one of some ASCII characters, anything else itself.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on with one more byte under the last star.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match step(&pattern[p..], &name[n..]) {
            Some((0, 0)) => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some((in_pattern, in_name)) => (p, n) = (p + in_pattern, n + in_name),
            None => {
                let Some((after, from)) = star else { return false };
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// How many bytes of pattern and name match as one character; none of either for a star.
fn step(pattern: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    match pattern.first()? {
        b'*' => Some((0, 0)),
        b'?' => Some((1, 1 + name[1..].iter().take_while(|&&byte| byte & 0xc0 == 0x80).count())),
        b'[' => match class(pattern, name[0]) {
            Some((length, is_in)) => is_in.then_some((length, 1)),
            None => (name[0] == b'[').then_some((1, 1)),
        },
        byte => (*byte == name[0]).then_some((1, 1)),
    }
}

/// The length of the class at the start of `pattern`, and whether `byte` is in it; none if it never closes.
fn class(pattern: &[u8], byte: u8) -> Option<(usize, bool)> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = 1 + usize::from(negated);
    // A bracket that comes first is a member.
    let close = first + 1 + pattern.get(first + 1..)?.iter().position(|&b| b == b']')?;
    let members = &pattern[first..close];
    let mut is_in = false;
    let mut i = 0;
    while i < members.len() {
        let is_range = members.get(i + 1) == Some(&b'-') && i + 2 < members.len();
        let last = if is_range { members[i + 2] } else { members[i] };
        is_in |= (members[i]..=last).contains(&byte);
        i += if is_range { 3 } else { 1 };
    }
    Some((close + 1, is_in != negated))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_match(pattern: &str, name: &str) -> bool {
        glob(pattern.as_bytes(), name.as_bytes())
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        let yes =
            [("*.csv", "a.csv"), ("a?c", "aéc"), ("[a-c]*", "bx"), ("[!a]", "b"), ("*a*b*", "xaxbx"), ("[]]", "]")];
        yes.iter().for_each(|(pattern, name)| assert!(is_match(pattern, name), "{pattern} {name}"));
        let no = [("*.csv", "a.csvx"), ("?", ""), ("[a-c]", "d"), ("[!a]", "a"), ("a*b", "abc"), ("a", "ab")];
        no.iter().for_each(|(pattern, name)| assert!(!is_match(pattern, name), "{pattern} {name}"));
        assert!(is_match("[a", "[a"));
    }

    #[test]
    fn names_patterns_and_folders_become_sorted_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("logs")).unwrap();
        for name in
            ["logs/b.csv", "logs/a.csv.gz", "logs/c.jsonl", "logs/_SUCCESS", "logs/.x.csv", "logs/notes.md", "[a].csv"]
        {
            std::fs::write(path(name), "").unwrap();
        }
        let names = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|name| path(name).into()).collect();
            let found = expand(&given, None)?;
            let name = |part: &LogPart| part.path().strip_prefix(folder.path()).unwrap().display().to_string();
            Ok(found.iter().map(name).collect::<Vec<_>>())
        };
        let found = |given: &[&str]| -> Vec<String> { names(given).unwrap() };
        assert_eq!(found(&["logs"]), ["logs/a.csv.gz", "logs/b.csv", "logs/c.jsonl"]);
        assert_eq!(found(&["l*/*.csv*"]), ["logs/a.csv.gz", "logs/b.csv"]);
        assert_eq!(found(&["[a].csv", "nowhere.csv"]), ["[a].csv", "nowhere.csv"]);
        let error: Error = names(&["logs/*.tsv"]).unwrap_err();
        assert!(error.to_string().ends_with("logs/*.tsv: matches no file"), "{error}");
    }

    proptest! {
        #[test]
        fn any_pattern_matches_or_not(pattern in "[a\\*\\?\\[\\]!\\-é]{0,8}", name in "[a\\[\\]é-]{0,8}") {
            let _ = is_match(&pattern, &name);
        }

        #[test]
        fn a_star_before_and_after_finds_a_part(before in "[a-z]{0,4}", part in "[a-z]{1,4}", after in "[a-z]{0,4}") {
            let found = is_match(&format!("*{part}*"), &format!("{before}{part}{after}"));
            prop_assert!(found);
        }
    }
}
