//! Features that documents lack: a matrix with NaN enters, the place of the first one or the means of all others leave.

use rayon::prelude::*;

/// Values that are looked at together.
const PIECE: usize = 1 << 12;

/// The row and the column of the first value that is missing in a row-major matrix.
pub(crate) fn first_missing(values: &[f32], width: usize) -> Option<(usize, usize)> {
    let in_piece = |(piece, values): (usize, &[f32])| {
        // Without an early end the loop is one of vector instructions, and most pieces miss nothing.
        let any = values.iter().fold(false, |any, value| any | value.is_nan());
        any.then(|| piece * PIECE + values.iter().position(|value| value.is_nan()).unwrap_or(0))
    };
    let place = match values.len() <= 16 * PIECE {
        true => values.chunks(PIECE).enumerate().find_map(in_piece),
        false => values.par_chunks(PIECE).enumerate().find_map_first(in_piece),
    };
    place.map(|place| (place / width.max(1), place % width.max(1)))
}

/// The mean of the known values of each column; 0 where none is known.
pub(super) fn known_means(values: &[f32], width: usize) -> Vec<f32> {
    let mut sums = vec![(0.0_f64, 0.0_f64); width];
    for row in values.chunks_exact(width.max(1)) {
        for ((sum, count), &value) in sums.iter_mut().zip(row).filter(|(_, value)| !value.is_nan()) {
            (*sum, *count) = (*sum + f64::from(value), *count + 1.0);
        }
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { (sum / count) as f32 } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, DatasetBuilder};
    use crate::ids::Ids;

    #[test]
    fn the_first_missing_value_is_found_in_matrices_of_any_size() {
        for rows in [1, 7, 3 * PIECE, 40 * PIECE] {
            let mut values = vec![0.5_f32; 3 * rows];
            assert_eq!(first_missing(&values, 3), None);
            values[3 * rows - 1] = f32::NAN;
            assert_eq!(first_missing(&values, 3), Some((rows - 1, 2)));
            values[3 * (rows / 2) + 1] = f32::NAN;
            assert_eq!(first_missing(&values, 3), Some((rows / 2, 1)));
        }
        assert_eq!(first_missing(&[], 0), None);
        assert_eq!(first_missing(&[f32::INFINITY, f32::NEG_INFINITY], 2), None);
    }

    fn data(features: Vec<f32>) -> Dataset {
        let (queries, query_ends) = (Ids::numbered(2), vec![1, 3]);
        DatasetBuilder { features, feature_count: 2, queries, query_ends, ..Default::default() }.build().unwrap()
    }

    #[test]
    fn what_is_missing_is_named_and_filled() {
        let lacking = data(vec![1.0, f32::NAN, 2.0, f32::NAN, f32::NAN, f32::NAN]);
        assert_eq!(lacking.first_missing(), Some((0, 1)));
        let message = lacking.select(&[1]).require_every_feature("a thing").unwrap_err().to_string();
        assert!(message.starts_with("document 1 of query 2 has no feature 2 (NaN), but a thing needs every feature"));
        assert_eq!(lacking.filled().into_owned(), data(vec![1.0, 0.0, 2.0, 0.0, 1.5, 0.0]));
        let note = "3 of 3 documents lack features: the mean of the others stands in for them";
        assert_eq!(lacking.fill_note().as_deref(), Some(note));
        let whole = data(vec![0.0; 6]);
        assert_eq!(whole.fill_note(), None);
        assert!(whole.require_every_feature("a thing").is_ok());
        assert!(matches!(whole.filled(), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn data_sets_are_the_same_where_they_lack_the_same() {
        let lacking = |at: usize| data((0..6).map(|i| if i == at { f32::NAN } else { 1.0 }).collect());
        assert_eq!(lacking(3), lacking(3));
        assert_ne!(lacking(3), lacking(4));
        assert_ne!(lacking(3), lacking(9));
    }
}
