//! A Spark Connect server: queries enter, rows, views and folders of Parquet leave.
//!
//! The part that knows the client, whose calls block, is [`session`](super::session). The log, the result and all steps between are files
//! on storage that both sides see. Every step is written as Parquet before the next one reads it, so no plan grows with
//! iterations, and a lost worker costs its own tasks alone. Columns are found, and refused, by [`log`](crate::log) as always;
//! the cluster sees the files as one view of plain text and whole numbers. The sorted result passes through this machine a
//! row group at a time, checked to be sorted, into the same writer as other counts: the artefact is the same bytes. What is
//! wrong with a log is found there and named here, by reading the one file that has it; what lies where only the cluster sees it
//! is never opened here ([`far`](super::far)). Deliberately not here: Spark's catalogues, other estimators.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use spark_connect_core::SparkError;

use super::paths::file_url;
use super::session::{Session, files, query};
pub(super) use super::values::Row;
use super::values::rows_of;
use crate::{Error, Result};

/// How long a server may take to answer at all.
const PATIENCE: Duration = Duration::from_secs(10);
const DEFAULT_PORT: u16 = 15002;

/// What the statements rely on, whatever the server's defaults: names that differ in case are different, `${…}` in a name
/// is not replaced, a backslash escapes, and text is compared by its bytes.
const SETTINGS: [(&str, &str); 5] = [
    ("spark.sql.caseSensitive", "true"),
    ("spark.sql.variable.substitute", "false"),
    ("spark.sql.parser.escapedStringLiterals", "false"),
    ("spark.sql.ansi.enabled", "true"),
    ("spark.sql.session.timeZone", "UTC"),
];

/// An open session on a server.
pub(super) struct Cluster {
    session: Session,
    /// Host and port, without parameters: there may be a token among them.
    address: String,
}

impl Cluster {
    /// Connects to `sc://host:port`.
    pub fn connect(url: &str) -> Result<Self> {
        let address = address(url)?;
        probe(&address).map_err(|cause| unreachable(&address, &cause))?;
        let failed = |e: Box<SparkError>| Error::parameter(format!("{}: {}", shown(&address), first_line(&e)));
        let session = Session::open(url).map_err(failed)?;
        SETTINGS.iter().try_for_each(|(key, value)| session.set(key, value)).map_err(failed)?;
        Ok(Cluster { session, address })
    }

    /// The rows of a query, which are few.
    pub fn rows(&self, text: &str) -> Result<Vec<Row>> {
        self.session.collect(query(text)).map(|batches| rows_of(&batches)).map_err(|e| self.failed(&e))
    }

    /// Gives a query a name.
    pub fn view(&self, name: &str, text: &str) -> Result<()> {
        self.session.name(query(text), name).map_err(|e| self.failed(&e))
    }

    /// Gives files a name: a form that Spark knows, its options, and where the schema is not in the files, that.
    pub fn files(&self, name: &str, format: &str, url: &str, schema: &str, options: &[(&str, &str)]) -> Result<()> {
        self.session.name(files(format, url, schema, options), name).map_err(|e| self.failed(&e))
    }

    /// Gives a Parquet file or a folder of them a name.
    pub fn parquet(&self, name: &str, path: &Path) -> Result<()> {
        self.parquet_as(name, path, "")
    }

    /// The same where the columns are known, which saves Spark a look into the files.
    pub fn parquet_as(&self, name: &str, path: &Path, schema: &str) -> Result<()> {
        self.files(name, "parquet", &file_url(path)?, schema, &[])
    }

    /// Writes a query's rows to a folder of Parquet files, in their order.
    pub fn save(&self, text: &str, folder: &Path) -> Result<()> {
        self.session.save(query(text), &file_url(folder)?).map_err(|e| self.failed(&e))
    }

    fn failed(&self, error: &SparkError) -> Error {
        let finding = first_line(error);
        let unseen = ["PATH_NOT_FOUND", "does not exist", "FAILED_READ_FILE.FILE_NOT_EXIST", "Mkdirs failed"];
        let way_out = match unseen.iter().any(|sign| finding.contains(sign)) {
            true => "; the log and the output must lie on storage that the cluster sees under the same path",
            false => "",
        };
        Error::parameter(format!("{}: Spark says: {finding}{way_out}", shown(&self.address)))
    }
}

impl Drop for Cluster {
    /// Stops what still runs there, where the server still answers.
    fn drop(&mut self) {
        if probe(&self.address).is_ok() {
            let _ = self.session.close();
        }
    }
}

/// Host and port of `sc://host[:port][/;key=value…]`.
fn address(url: &str) -> Result<String> {
    let wrong =
        || Error::parameter(format!("the engine is '{}', but should look like sc://host:15002", without_secrets(url)));
    let rest = url.strip_prefix("sc://").ok_or_else(wrong)?;
    let address = rest.split(['/', '?', '#', ';']).next().unwrap_or_default();
    let port = address.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map(|(_, port)| port);
    match port {
        _ if address.is_empty() || address.contains(char::is_whitespace) || address.starts_with(':') => Err(wrong()),
        None => Ok(format!("{address}:{DEFAULT_PORT}")),
        Some(port) if port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(address.to_string()),
        Some(_) => Err(wrong()),
    }
}

fn without_secrets(url: &str) -> &str {
    url.split(';').next().unwrap_or_default()
}

/// Fails where nobody listens. The client would try again for many minutes.
fn probe(address: &str) -> std::result::Result<(), String> {
    let found = address.to_socket_addrs().map_err(|_| "the name of the host is not known".to_string())?;
    let mut cause = "the name of the host has no address".to_string();
    for socket in found {
        match TcpStream::connect_timeout(&socket, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                cause = "nobody listens there".into()
            }
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => cause = "there is no answer".into(),
            Err(error) => cause = error.to_string(),
        }
    }
    Err(cause)
}

fn unreachable(address: &str, cause: &str) -> Error {
    Error::parameter(format!(
        "{}: no Spark Connect server can be reached: {cause}; is one started there (start-connect-server.sh)?",
        shown(address)
    ))
}

fn shown(address: &str) -> String {
    format!("sc://{address}")
}

/// Spark's own words without its stack traces.
fn first_line(error: &SparkError) -> String {
    let text = error.to_string();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("something went wrong");
    line.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        assert_eq!(address("sc://spark.example:7000/;token=x").unwrap(), "spark.example:7000");
        assert_eq!(address("sc://spark").unwrap(), "spark:15002");
        assert_eq!(address("sc://[::1]:9").unwrap(), "[::1]:9");
        assert_eq!(address("sc://[::1]").unwrap(), "[::1]:15002");
        for url in ["spark:15002", "sc://", "sc://:15002", "sc://a:0", "sc://a:x", "sc://a b", "http://a"] {
            let message = address(url).unwrap_err().to_string();
            assert_eq!(message, format!("the engine is '{url}', but should look like sc://host:15002"));
        }
        assert!(!address("http://a/;token=secret").unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn where_nobody_listens_is_said_at_once() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let message = Cluster::connect(&format!("sc://127.0.0.1:{port}")).err().unwrap().to_string();
        assert!(message.contains("no Spark Connect server can be reached: nobody listens there"), "{message}");
    }
}
