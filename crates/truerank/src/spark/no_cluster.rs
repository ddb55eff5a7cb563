//! Stands in for the client of Spark Connect in builds without it: there is no way to connect, and nothing else to do.

use std::convert::Infallible;
use std::path::Path;

use crate::{Error, Result};

fn no_spark(url: &str) -> Error {
    // What comes after may be a token.
    let url = url.split(';').next().unwrap_or_default();
    Error::parameter(format!(
        "{url}: this build has no Spark; build one with `cargo build --release --features spark`, which needs protoc"
    ))
}

/// An open session on a server; there is none.
pub(super) struct Cluster(Infallible);

impl Cluster {
    pub fn connect(url: &str) -> Result<Self> {
        Err(no_spark(url))
    }

    pub fn rows(&self, _query: &str) -> Result<Vec<Row>> {
        match self.0 {}
    }

    pub fn view(&self, _name: &str, _query: &str) -> Result<()> {
        match self.0 {}
    }

    pub fn files(&self, _: &str, _format: &str, _url: &str, _schema: &str, _: &[(&str, &str)]) -> Result<()> {
        match self.0 {}
    }

    pub fn parquet(&self, _name: &str, _path: &Path) -> Result<()> {
        match self.0 {}
    }

    pub fn parquet_as(&self, _name: &str, _path: &Path, _schema: &str) -> Result<()> {
        match self.0 {}
    }

    pub fn save(&self, _query: &str, _folder: &Path) -> Result<()> {
        match self.0 {}
    }
}

/// A row of a result; there is none.
pub(super) struct Row(Infallible);

impl Row {
    pub fn get(&self, _at: usize) -> Option<&Value> {
        match self.0 {}
    }

    pub fn get_by_name(&self, _name: &str) -> Option<&Value> {
        match self.0 {}
    }
}

/// A value of a row; there is none.
pub(super) struct Value(Infallible);

impl Value {
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {}
    }

    pub fn as_f64(&self) -> Option<f64> {
        match self.0 {}
    }

    pub fn as_str(&self) -> Option<&str> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_spark_says_how_to_get_it_and_no_secrets() {
        let message = Cluster::connect("sc://host:15002/;token=secret").err().unwrap().to_string();
        assert!(message.starts_with("sc://host:15002/: this build has no Spark; build one with `cargo build"));
        assert!(!message.contains("secret"));
    }
}
