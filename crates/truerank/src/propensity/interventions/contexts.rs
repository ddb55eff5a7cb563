//! Features of users from a file.

use std::collections::HashMap;
use std::path::Path;

use super::Contexts;
use crate::error::Place;
use crate::files::{FileFormat, Limit, read_text};
use crate::ids::Ids;
use crate::{Error, Result};

impl Contexts {
    /// Reads features of users from CSV or TSV: a header, then a row per user with the id first and numbers after it.
    ///
    /// Fields are taken as they stand, without quotes.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path, Limit::Data)?;
        let delimiter = if FileFormat::of(path) == FileFormat::Tsv { '\t' } else { ',' };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let wrong = |line: usize, finding: String| Place::line(path, line as u64 + 1).error(finding);
        let Some((first, header)) = lines.next() else {
            return Err(Error::input(path, "is empty, but should have a header and a row per user"));
        };
        let count = header.split(delimiter).count() - 1;
        if count == 0 {
            return Err(wrong(first, format!("has one column; a user's features follow the id after '{delimiter}'")));
        }
        let (mut users, mut features) = (Ids::default(), Vec::new());
        let mut first_lines = HashMap::new();
        for (number, line) in lines {
            let mut fields = line.trim_end_matches('\r').split(delimiter);
            let user = fields.next().unwrap_or_default();
            if let Some(before) = first_lines.insert(user, number + 1) {
                return Err(wrong(number, format!("user '{user}' has features at line {before} already")));
            }
            users.push_text(user);
            let before = features.len();
            for field in fields {
                match field.trim().parse::<f32>() {
                    Ok(value) if value.is_finite() => features.push(value),
                    _ => return Err(wrong(number, format!("'{field}' should be a finite number"))),
                }
            }
            if features.len() - before != count {
                let found = features.len() - before;
                return Err(wrong(number, format!("has {found} features, but the header has {count}")));
            }
        }
        Ok(Contexts::Features { users, features, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<Contexts> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Contexts::read(&path)
    }

    #[test]
    fn rows_are_users() {
        let Contexts::Features { users, features, count } =
            read("u.csv", "user,age,pro\n7,31,0\nada,28.5,1\n").unwrap()
        else {
            panic!("features were given");
        };
        assert_eq!((users.name(0), users.name(1), count), ("7".into(), "ada".into(), 2));
        assert_eq!(features, [31.0, 0.0, 28.5, 1.0]);
        assert!(read("u.tsv", "user\tage\n7\t31\n").is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            ("", "is empty"),
            ("user\n7\n", "has one column"),
            ("user,age\n7,old\n", "u.csv:2: 'old' should be a finite number"),
            ("user,age\n7,1\n8,1,2\n", "u.csv:3: has 2 features, but the header has 1"),
            ("user,age\n7\n", "u.csv:2: has 0 features"),
            ("user,age\n7,1\n8,2\n7,3\n", "u.csv:4: user '7' has features at line 2 already"),
        ];
        for (text, expected) in cases {
            let message = read("u.csv", text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
