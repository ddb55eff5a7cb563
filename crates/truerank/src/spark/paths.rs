//! Paths as Spark takes them, where some characters are patterns, and as it gives them back.

use std::path::{Component, Path, PathBuf};

use crate::{Error, Result};

/// Whether this is an address of storage that the cluster sees, such as `s3a://bucket/log/`: it is passed on as it is, and
/// nothing there is opened here.
pub(super) fn is_far(path: &Path) -> bool {
    let scheme = path.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// The address of a file or folder.
pub(super) fn file_url(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(address) if is_far(path) => Ok(address.to_string()),
        _ => Ok(format!("file://{}", escaped(&text(path)?))),
    }
}

/// The address of several files of one folder.
pub(super) fn files_url(folder: &Path, names: &[String]) -> Result<String> {
    let folder = file_url(folder)?;
    match names {
        [name] => Ok(format!("{folder}/{}", escaped(name))),
        _ => {
            let names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
            Ok(format!("{folder}/{{{}}}", names.join(",")))
        }
    }
}

/// The path of an address that Spark gave.
pub(super) fn path_of(url: &str) -> PathBuf {
    let rest = url.strip_prefix("file:").unwrap_or(url);
    let path = rest.strip_prefix("//").unwrap_or(rest);
    PathBuf::from(String::from_utf8_lossy(&decoded(path.as_bytes())).into_owned())
}

/// An absolute path without `.`; what is not text cannot be named to a cluster.
pub(super) fn text(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path).map_err(|e| Error::io(path, e))?;
    let clean: PathBuf = absolute.components().filter(|part| *part != Component::CurDir).collect();
    clean.into_os_string().into_string().map_err(|_| Error::input(path, "has a name that is not UTF-8; rename it"))
}

/// What would be part of a pattern, escaped.
fn escaped(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        if "{}[]*?\\,".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// `%41` as `A`.
fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_in_names_are_escaped() {
        assert_eq!(file_url(Path::new("/a/./b*{c}.csv")).unwrap(), r"file:///a/b\*\{c\}.csv");
        let names = ["x,y.csv".to_string(), "z.csv".to_string()];
        assert_eq!(files_url(Path::new("/a"), &names).unwrap(), r"file:///a/{x\,y.csv,z.csv}");
        assert_eq!(files_url(Path::new("/a"), &names[..1]).unwrap(), r"file:///a/x\,y.csv");
    }

    #[test]
    fn addresses_of_other_storage_stay_what_they_are() {
        for far in ["s3a://bucket/log/", "s3a://bucket/log/day=*/", "hdfs://name:8020/a b", "file:///a/log.parquet"] {
            assert!(is_far(Path::new(far)));
            assert_eq!(file_url(Path::new(far)).unwrap(), far);
        }
        assert_eq!(
            file_url(&Path::new("s3a://bucket/counts/").join("cells.parquet")).unwrap(),
            "s3a://bucket/counts/cells.parquet"
        );
        for near in ["/a/s3a", "log.csv", "://b", "a b://c", "s3a:/b"] {
            assert!(!is_far(Path::new(near)), "{near}");
        }
    }

    #[test]
    fn addresses_become_paths_again() {
        assert_eq!(path_of("file:///a%20b%7Bc%7D/%C3%A9%2520.csv"), Path::new("/a b{c}/é%20.csv"));
        assert_eq!(path_of("file:/a/b%"), Path::new("/a/b%"));
    }
}
