//! The map holds: no module of the library uses one that stands below it in ARCHITECTURE.md.
//!
//! Reads the source as text: comments, texts and tests are taken out, and what is left after `crate::` or `super::` names a
//! room. Links in doc comments may point anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from the first to the last, as on the map: each may use those before it. A new module has to find its place here.
const ROOMS: &[&str] = &[
    "text",
    "error",
    "math",
    "memory",
    "options",
    "named",
    "threads",
    "random",
    "progress",
    "ids",
    "files",
    "data",
    "log",
    "counts",
    "sql",
    "minimise",
    "network",
    "propensity",
    "click_model",
    "simulate",
    "relevance",
    "spark",
    "ranker",
    "examination",
    "evaluate",
    "interleaving",
    "report",
    "figures",
    "insight",
    "doctor",
    "drift",
    "fit",
    "experiment",
    "stages",
];

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every file below a folder, in the order of names.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.into_iter().flat_map(below).filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// The text with blanks for comments and for what stands in quotes.
fn code_of(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(first) = rest.chars().next() {
        let blank = blank_length(rest);
        let length = blank.unwrap_or(first.len_utf8());
        match blank {
            Some(_) => code.extend(rest[..length].chars().map(|found| if found == '\n' { '\n' } else { ' ' })),
            None => code.push(first),
        }
        rest = &rest[length..];
    }
    code
}

/// How many bytes of comment, text or character the code begins with.
fn blank_length(code: &str) -> Option<usize> {
    if code.starts_with("//") {
        return Some(code.find('\n').unwrap_or(code.len()));
    }
    if code.starts_with("/*") {
        return code.find("*/").map(|end| end + 2);
    }
    if code.starts_with('"') {
        return Some(quoted_length(code));
    }
    if code.starts_with("r\"") || code.starts_with("r#") {
        let hashes = code[1..].bytes().take_while(|&byte| byte == b'#').count();
        let end = format!("\"{}", "#".repeat(hashes));
        return code[1 + hashes..].strip_prefix('"')?.find(&end).map(|at| at + 2 * hashes + 3);
    }
    character_length(code)
}

/// The length of a text in quotes, to its end.
fn quoted_length(code: &str) -> usize {
    let mut is_escaped = false;
    for (at, found) in code.char_indices().skip(1) {
        match found {
            '"' if !is_escaped => return at + 1,
            found => is_escaped = found == '\\' && !is_escaped,
        }
    }
    code.len()
}

/// The length of a character in quotes; a lifetime is none.
fn character_length(code: &str) -> Option<usize> {
    let inner = code.strip_prefix('\'')?;
    if inner.starts_with('\\') {
        return inner[2..].find('\'').map(|end| end + 4);
    }
    let first = inner.chars().next()?.len_utf8();
    inner[first..].starts_with('\'').then_some(first + 2)
}

/// The code without items that are for tests alone, and the names of modules of tests in files of their own.
fn without_tests(code: &str) -> (String, Vec<String>) {
    let mut parts = code.split("#[cfg(test)]");
    let mut kept = parts.next().unwrap_or_default().to_string();
    let mut modules = Vec::new();
    let mut skipped = String::new();
    for part in parts {
        // An item for tests may hold others: it ends where its braces are closed.
        skipped.push_str(part);
        let Some(end) = item_end(&skipped) else { continue };
        modules.extend(module_name(&skipped[..end]));
        kept.push_str(&skipped[end..]);
        skipped.clear();
    }
    (kept, modules)
}

/// Where the first item ends: after its last brace, or at a semicolon outside of braces.
fn item_end(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, found) in code.char_indices() {
        match found {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at + 1),
            '}' => depth -= 1,
            ';' if depth == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn module_name(item: &str) -> Option<String> {
    let name = item.rsplit_once("mod ")?.1.strip_suffix(';')?;
    Some(name.trim().to_string())
}

/// The names that code uses directly below the library's root, from a module so deep below it.
fn used_names(code: &str, depth: usize) -> BTreeSet<String> {
    let to_root = "super::".repeat(depth);
    let starts = ["crate::".to_string(), to_root];
    let mut names = BTreeSet::new();
    for start in starts.iter().filter(|start| !start.is_empty()) {
        names.extend(code.match_indices(start.as_str()).flat_map(|(at, _)| first_names(&code[at + start.len()..])));
    }
    names
}

/// The first name of a path, or of each path in braces.
fn first_names(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else { return vec![first_name(path)] };
    let end = item_end(path).unwrap_or(path.len()) - 1;
    let mut depth = 0;
    let is_top_comma = move |found: char| {
        depth += i32::from(found == '{') - i32::from(found == '}');
        found == ',' && depth == 0
    };
    group[..end - 1].split(is_top_comma).map(|path| first_name(path.trim())).collect()
}

fn first_name(path: &str) -> String {
    path.chars().take_while(|&found| found == '_' || found.is_alphanumeric()).collect()
}

/// A file by the modules that lead to it: `counts/pages.rs` is `counts`, `pages`.
fn module_path(file: &Path) -> Vec<String> {
    let inner = file.strip_prefix(source_folder()).unwrap().with_extension("");
    let mut path: Vec<String> = inner.iter().map(|part| part.to_str().unwrap().to_string()).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// The rooms that each room uses, and one file that does so.
fn uses() -> BTreeMap<(String, String), String> {
    let mut files: Vec<(Vec<String>, String)> = Vec::new();
    let mut tests: Vec<Vec<String>> = Vec::new();
    for file in files_below(&source_folder()) {
        let path = module_path(&file);
        let (code, modules) = without_tests(&code_of(&fs::read_to_string(&file).unwrap()));
        tests.extend(modules.into_iter().map(|module| [path.clone(), vec![module]].concat()));
        files.push((path, code));
    }
    files.retain(|(path, _)| !path.is_empty() && !tests.iter().any(|test| path.starts_with(test)));
    let mut uses = BTreeMap::new();
    for (path, code) in files {
        for name in used_names(&code, path.len()) {
            // What the library exports at its root are errors, and macros.
            let room = if ROOMS.contains(&name.as_str()) { name } else { "error".to_string() };
            uses.entry((path[0].clone(), room)).or_insert_with(|| path.join("/"));
        }
    }
    uses
}

fn place(room: &str) -> usize {
    ROOMS.iter().position(|&other| other == room).unwrap_or_else(|| panic!("'{room}' is not on the map"))
}

#[test]
fn no_room_uses_a_later_one() {
    let is_later = |((room, used), _): &((String, String), String)| place(room) < place(used);
    let said = |((room, used), file)| format!("{room} uses {used}, which stands below it on the map (in {file})");
    let forbidden: Vec<String> = uses().into_iter().filter(is_later).map(said).collect();
    assert!(forbidden.is_empty(), "{}", forbidden.join("\n"));
}

#[test]
fn every_module_is_on_the_map() {
    let mut modules: Vec<String> =
        files_below(&source_folder()).iter().filter_map(|file| module_path(file).into_iter().next()).collect();
    modules.dedup();
    let mut rooms = ROOMS.to_vec();
    rooms.sort_unstable();
    assert_eq!(modules, rooms);
}

#[test]
fn architecture_tells_the_same_order() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md")).unwrap();
    let mut rooms: Vec<String> = Vec::new();
    for (at, start) in text.match_indices("**[`") {
        let name = first_name(&text[at + start.len()..]);
        if text[at..].lines().next().unwrap().contains(&format!("(crates/truerank/src/{name}")) {
            rooms.push(name);
        }
    }
    assert_eq!(rooms, ROOMS);
}

#[test]
fn code_is_told_from_texts_and_tests() {
    let text = r##"
        //! [`crate::fit`]
        use crate::{Error, data::{Dataset, Splits}, log};
        const A: (&str, char) = ("crate::doctor", '"'); // crate::report
        fn a<'a>(b: &'a str) -> crate::counts::Counts { r#"crate::ranker "quoted""# }
        #[cfg(test)]
        #[allow(dead_code)]
        mod tests { fn c() { crate::experiment::d() } #[cfg(test)] fn e() {} }
        #[cfg(test)]
        mod checks;
        use super::super::ids;
    "##;
    let (code, modules) = without_tests(&code_of(text));
    assert_eq!(modules, ["checks"]);
    assert_eq!(used_names(&code, 2).into_iter().collect::<Vec<_>>(), ["Error", "counts", "data", "ids", "log"]);
}
