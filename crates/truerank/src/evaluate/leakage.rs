//! Whether a ranker could have learned from the queries that it is judged by.

use crate::counts::CountsView;
use crate::{Error, Result};

/// Queries of the test log that are also in the training log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leakage {
    /// Their texts, in the order of the test log.
    pub queries: Vec<String>,
    /// All queries of the test log.
    pub test_queries: usize,
}

/// Which queries of `test` are also in `train`: none where a log was split by query, many where it was split by time.
pub fn leakage(train: &dyn CountsView, test: &dyn CountsView) -> Leakage {
    Leakage { queries: test.overlap(train), test_queries: test.queries().len() }
}

/// How many queries an error names.
const NAMED: usize = 3;

impl Leakage {
    /// An error that names the first shared queries, if there are any.
    pub fn refuse(&self) -> Result<()> {
        if self.queries.is_empty() {
            return Ok(());
        }
        let named: Vec<String> = self.queries.iter().take(NAMED).map(|query| format!("'{query}'")).collect();
        let more = if self.queries.len() > NAMED { ", …" } else { "" };
        Err(Error::parameter(format!(
            "{} of {} test queries are also in the training log ({}{more}), but a ranker should be judged by queries that \
             it did not learn from",
            self.queries.len(),
            self.test_queries,
            named.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;
    use crate::ids::Ids;

    #[test]
    fn shared_queries_are_named() {
        let counts = |ids: Vec<i64>| Counts { queries: Ids::Integers(ids), ..Counts::default() };
        let found = leakage(&counts(vec![1, 2, 3, 4, 9]), &counts(vec![0, 1, 2, 4, 9]));
        assert_eq!((found.queries.len(), found.test_queries), (4, 5));
        let message = found.refuse().unwrap_err().to_string();
        assert!(
            message.starts_with("4 of 5 test queries are also in the training log ('1', '2', '4', …)"),
            "{message}"
        );
        assert!(leakage(&counts(vec![1]), &counts(vec![2])).refuse().is_ok());
    }
}
