//! Cuts a data set into three parts at random, query by query.

use rand::Rng;

use crate::data::{Dataset, Splits};
use crate::random::stream;
use crate::{Error, Result};

/// Divides the queries at random into training, validation and test parts with these shares of the queries.
///
/// Shares are rounded to whole queries. Within a part, queries keep their order.
///
/// ```
/// # use truerank::{data::{DatasetBuilder, split_by_query}, ids::Ids};
/// # let data = DatasetBuilder { queries: Ids::numbered(10), query_ends: (1..=10).collect(), features: vec![0.0; 10],
/// #     feature_count: 1, ..Default::default() }.build()?;
/// let splits = split_by_query(&data, [0.6, 0.2, 0.2], 1)?;
/// assert_eq!(splits.train.query_count(), 6);
/// # Ok::<(), truerank::Error>(())
/// ```
pub fn split_by_query(data: &Dataset, shares: [f64; 3], seed: u64) -> Result<Splits> {
    let [train, validation] = bounds(data.query_count(), shares)?;
    let order = shuffled(data.query_count(), seed);
    let part = |queries: &[usize]| {
        let mut queries = queries.to_vec();
        queries.sort_unstable();
        data.select(&queries)
    };
    Ok(Splits {
        train: part(&order[..train]),
        validation: part(&order[train..validation]),
        test: part(&order[validation..]),
    })
}

/// Where the first and the second part end.
fn bounds(queries: usize, shares: [f64; 3]) -> Result<[usize; 2]> {
    // The sum may miss 1 by rounding: .7 + .2 + .1 does.
    if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || (shares.iter().sum::<f64>() - 1.0).abs() > 1e-9 {
        let [a, b, c] = shares;
        return Err(Error::parameter(format!("shares should be from 0 to 1 and add up to 1, but are {a}, {b}, {c}")));
    }
    let end = |share: f64| ((share * queries as f64).round() as usize).min(queries);
    let (train, validation) = (end(shares[0]), end(shares[0] + shares[1]));
    let counts = [train, validation - train, queries - validation];
    match (0..3).find(|&part| shares[part] > 0.0 && counts[part] == 0) {
        Some(part) => Err(Error::parameter(format!(
            "a share of {} of {queries} queries is none, but every part needs one",
            shares[part]
        ))),
        None => Ok([train, validation]),
    }
}

/// Queries in random order: sorted by a random key, which no other version of a shuffle can change.
fn shuffled(queries: usize, seed: u64) -> Vec<usize> {
    let mut random = stream(seed, "split by query", 0);
    let mut keyed: Vec<(u64, usize)> = (0..queries).map(|query| (random.next_u64(), query)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, query)| query).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_whole_queries() {
        assert_eq!(bounds(10, [0.7, 0.2, 0.1]).unwrap(), [7, 9]);
        assert_eq!(bounds(3, [0.5, 0.5, 0.0]).unwrap(), [2, 3]);
        assert_eq!(bounds(61, [0.6, 0.2, 0.2]).unwrap(), [37, 49]);
        for shares in [[0.5, 0.2, 0.2], [1.2, -0.2, 0.0], [f64::NAN, 0.5, 0.5]] {
            assert!(bounds(10, shares).unwrap_err().to_string().starts_with("shares should be from 0 to 1"));
        }
        let error = bounds(3, [0.9, 0.05, 0.05]).unwrap_err().to_string();
        assert_eq!(error, "a share of 0.05 of 3 queries is none, but every part needs one");
    }

    #[test]
    fn the_order_depends_on_the_seed_alone() {
        let mut order = shuffled(100, 1);
        assert_eq!(order, shuffled(100, 1));
        assert_ne!(order, shuffled(100, 2));
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }
}
