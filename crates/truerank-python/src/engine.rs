//! Clusters as Python has them: addresses of Spark Connect servers, and sessions of pyspark.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The address of a server, from text or from a session that is connected to one.
pub fn address(engine: &Bound<'_, PyAny>) -> PyResult<String> {
    engine.extract().or_else(|_| of_session(engine)).map_err(|_| {
        PyTypeError::new_err(
            "engine should be the address of a Spark Connect server, such as \"sc://host:15002\", or a session that \
             SparkSession.builder.remote(address) made; a session in this process has no address",
        )
    })
}

/// pyspark keeps the address as that of the HTTP/2 connection under it.
fn of_session(session: &Bound<'_, PyAny>) -> PyResult<String> {
    let url = session.getattr("client")?.getattr("_builder")?.getattr("url")?;
    let text: String = url.call_method0("geturl")?.extract()?;
    text.strip_prefix("http").map(|rest| format!("sc{rest}")).ok_or_else(|| PyTypeError::new_err(""))
}
