//! The features of shown documents as a regression sees them: standardised, with a constant, without a copy.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::data::Dataset;

/// Rows per piece of work; part of the order in which sums are taken.
const PIECE: usize = 512;

/// Rows of a data set as columns of mean 0 and deviation 1, after a constant 1.
///
/// `w·(x−μ)/σ` is computed from the raw rows with `w/σ` and one constant, so the matrix is not copied, unless features are missing: the
/// mean stands in for those.
pub(crate) struct Design<'a> {
    features: Cow<'a, [f32]>,
    width: usize,
    rows: Vec<u32>,
    mean: Vec<f64>,
    /// 1/σ of each feature; 0 where it is constant.
    scale: Vec<f64>,
    /// A column beside the features, standardised; empty if there is none.
    extra: Vec<f64>,
    /// The lower triangular root of the columns' correlations, row after row.
    root: Vec<f64>,
}

/// Documents that the correlations are taken from; they only steer the solver.
const SAMPLE: usize = 10_000;

/// Added to the correlations' diagonal, so that equal features do no harm.
const JITTER: f64 = 1e-3;

impl<'a> Design<'a> {
    /// The rows numbered `rows` of `data`.
    pub fn new(data: &'a Dataset, rows: Vec<u32>) -> Self {
        let width = data.feature_count();
        let features = match data.filled() {
            Cow::Borrowed(data) => Cow::Borrowed(data.features()),
            Cow::Owned(filled) => Cow::Owned(filled.features().to_vec()),
        };
        let mut design = Design {
            features,
            width,
            rows,
            mean: vec![0.0; width],
            scale: vec![1.0; width],
            extra: Vec::new(),
            root: Vec::new(),
        };
        let count = design.rows.len().max(1) as f64;
        design.mean = design.sum_rows(|_| 1.0).into_iter().map(|sum| sum / count).collect();
        let squares = design.sum_squares();
        design.scale = squares.into_iter().map(|sum| inverse_deviation(sum / count)).collect();
        design.root = cholesky(design.correlations(), design.columns());
        design
    }

    /// Some of the rows, in columns that are standardised as those of all are: coefficients mean the same.
    pub fn select(&self, rows: &[u32]) -> Design<'_> {
        Design {
            features: Cow::Borrowed(&self.features),
            width: self.width,
            rows: rows.iter().map(|&row| self.rows[row as usize]).collect(),
            mean: self.mean.clone(),
            scale: self.scale.clone(),
            extra: if self.extra.is_empty() {
                Vec::new()
            } else {
                rows.iter().map(|&row| self.extra[row as usize]).collect()
            },
            root: self.root.clone(),
        }
    }

    /// No features but this column.
    pub fn of_column(column: &[f64]) -> Self {
        let empty = Design {
            features: Cow::Borrowed(&[]),
            width: 0,
            rows: (0..column.len() as u32).collect(),
            mean: Vec::new(),
            scale: Vec::new(),
            extra: Vec::new(),
            root: Vec::new(),
        };
        empty.with_column(column)
    }

    /// The same with one more column.
    pub fn with_column(self, column: &[f64]) -> Self {
        let count = column.len().max(1) as f64;
        let mean = column.iter().sum::<f64>() / count;
        let scale = inverse_deviation(column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count);
        let mut design = Design { extra: column.iter().map(|x| (x - mean) * scale).collect(), ..self };
        design.root = cholesky(design.correlations(), design.columns());
        design
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many coefficients a linear function has: the constant, the features, the extra column.
    pub fn columns(&self) -> usize {
        1 + self.width + usize::from(!self.extra.is_empty())
    }

    fn row(&self, doc: usize) -> &[f32] {
        &self.features[self.rows[doc] as usize * self.width..][..self.width]
    }

    /// X·w.
    pub fn times(&self, coefficients: &[f64]) -> Vec<f64> {
        let slopes: Vec<f64> = coefficients[1..].iter().zip(&self.scale).map(|(w, scale)| w * scale).collect();
        let constant = coefficients[0] - slopes.iter().zip(&self.mean).map(|(slope, mean)| slope * mean).sum::<f64>();
        let of_extra = coefficients.get(1 + self.width).copied().unwrap_or(0.0);
        let mut scores = vec![0.0; self.len()];
        scores.par_chunks_mut(PIECE).enumerate().for_each(|(piece, scores)| {
            for (index, score) in scores.iter_mut().enumerate() {
                let doc = piece * PIECE + index;
                let extra = self.extra.get(doc).map_or(0.0, |x| x * of_extra);
                *score = constant + dot(self.row(doc), &slopes) + extra;
            }
        });
        scores
    }

    /// Xᵀ·values.
    pub fn transposed_times(&self, values: &[f64]) -> Vec<f64> {
        let total: f64 = values.iter().sum();
        let sums = self.sum_rows(|doc| values[doc]);
        let standardised = sums.iter().zip(&self.mean).zip(&self.scale);
        let mut products = vec![total];
        products.extend(standardised.map(|((sum, mean), scale)| (sum - mean * total) * scale));
        if !self.extra.is_empty() {
            products.push(self.extra.iter().zip(values).map(|(x, value)| x * value).sum());
        }
        products
    }

    /// Solves `C·x = values` in place, C the correlations of the columns: a guess at what the inverse of `XᵀDX` does.
    pub fn precondition(&self, values: &mut [f64]) {
        self.solve_root(values);
        self.solve_root_transposed(values);
    }

    /// Solves `L·x = values` in place, with `C = LLᵀ`: slopes of coefficients become those of uncorrelated columns.
    pub fn solve_root(&self, values: &mut [f64]) {
        let size = self.columns();
        for row in 0..size {
            let known: f64 = (0..row).map(|column| self.root[row * size + column] * values[column]).sum();
            values[row] = (values[row] - known) / self.root[row * size + row];
        }
    }

    /// Solves `Lᵀ·x = values` in place: coefficients of uncorrelated columns become those of the columns.
    pub fn solve_root_transposed(&self, values: &mut [f64]) {
        let size = self.columns();
        for row in (0..size).rev() {
            let known: f64 = (row + 1..size).map(|column| self.root[column * size + row] * values[column]).sum();
            values[row] = (values[row] - known) / self.root[row * size + row];
        }
    }

    /// `Lᵀ·x` in place: the way back.
    pub fn times_root_transposed(&self, values: &mut [f64]) {
        let size = self.columns();
        for row in 0..size {
            values[row] = (row..size).map(|column| self.root[column * size + row] * values[column]).sum();
        }
    }

    /// Mean products of the standardised columns over evenly spaced documents, lower triangle.
    fn correlations(&self) -> Vec<f64> {
        let size = self.columns();
        let step = self.len().div_ceil(SAMPLE).max(1);
        let sample: Vec<Vec<f64>> = (0..self.len()).step_by(step).map(|doc| self.standardised(doc)).collect();
        let mut products = vec![0.0; size * size];
        products.par_chunks_mut(size).enumerate().for_each(|(row, products)| {
            for x in &sample {
                let factor = x[row] / sample.len() as f64;
                products[..=row].iter_mut().zip(x).for_each(|(product, x)| *product += factor * x);
            }
            products[row] += JITTER;
        });
        products
    }

    fn standardised(&self, doc: usize) -> Vec<f64> {
        let features = self.row(doc).iter().zip(&self.mean).zip(&self.scale);
        let features = features.map(|((x, mean), scale)| (f64::from(*x) - mean) * scale);
        std::iter::once(1.0).chain(features).chain(self.extra.get(doc).copied()).collect()
    }

    /// Σ weight·x of each feature.
    fn sum_rows(&self, weight: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        self.sum(|doc, sums| {
            let weight = weight(doc);
            sums.iter_mut().zip(self.row(doc)).for_each(|(sum, x)| *sum += weight * f64::from(*x));
        })
    }

    /// Σ (x−μ)² of each feature.
    fn sum_squares(&self) -> Vec<f64> {
        self.sum(|doc, sums| {
            let centred = self.row(doc).iter().zip(&self.mean).map(|(x, mean)| f64::from(*x) - mean);
            sums.iter_mut().zip(centred).for_each(|(sum, x)| *sum += x * x);
        })
    }

    fn sum(&self, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let pieces: Vec<Vec<f64>> = (0..self.len().div_ceil(PIECE))
            .into_par_iter()
            .map(|piece| {
                let mut sums = vec![0.0; self.width];
                (piece * PIECE..((piece + 1) * PIECE).min(self.len())).for_each(|doc| add(doc, &mut sums));
                sums
            })
            .collect();
        let mut whole = vec![0.0; self.width];
        pieces.iter().for_each(|piece| whole.iter_mut().zip(piece).for_each(|(sum, value)| *sum += value));
        whole
    }
}

/// The lower triangular root of a positive definite matrix of which the lower triangle is given, in place.
fn cholesky(mut matrix: Vec<f64>, size: usize) -> Vec<f64> {
    for row in 0..size {
        for column in 0..=row {
            let (of_row, of_column) = (&matrix[row * size..][..column], &matrix[column * size..][..column]);
            let rest = matrix[row * size + column] - of_row.iter().zip(of_column).map(|(a, b)| a * b).sum::<f64>();
            matrix[row * size + column] =
                if row == column { rest.max(JITTER * JITTER).sqrt() } else { rest / matrix[column * size + column] };
        }
    }
    matrix
}

/// 0 for a column that is constant up to rounding: it says nothing beside the constant.
fn inverse_deviation(variance: f64) -> f64 {
    if variance > 1e-20 { variance.sqrt().recip() } else { 0.0 }
}

fn dot(row: &[f32], slopes: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (row_lanes, slope_lanes) = (row.chunks_exact(4), slopes.chunks_exact(4));
    let rest: f64 = row_lanes.remainder().iter().zip(slope_lanes.remainder()).map(|(x, w)| f64::from(*x) * w).sum();
    for (row, slopes) in row_lanes.zip(slope_lanes) {
        for lane in 0..4 {
            lanes[lane] += f64::from(row[lane]) * slopes[lane];
        }
    }
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DatasetBuilder;
    use crate::ids::Ids;

    #[test]
    fn products_are_those_of_the_standardised_matrix() {
        let data = DatasetBuilder {
            features: vec![1.0, 5.0, 2.0, 5.0, 9.0, 9.0, 4.0, 5.0],
            feature_count: 2,
            queries: Ids::numbered(1),
            query_ends: vec![4],
            ..DatasetBuilder::default()
        }
        .build()
        .unwrap();
        // Rows 3, 0, 1: the first feature is 4, 1, 2, the second is constant, the column is 0, 0, 3.
        let design = Design::new(&data, vec![3, 0, 1]).with_column(&[0.0, 0.0, 3.0]);
        let deviation = ((25.0 + 16.0 + 1.0) / 9.0 / 3.0f64).sqrt();
        let first = [5.0 / 3.0 / deviation, -4.0 / 3.0 / deviation, -1.0 / 3.0 / deviation];
        let column = [-1.0 / 2f64.sqrt(), -1.0 / 2f64.sqrt(), 2f64.sqrt()];
        assert_eq!((design.len(), design.columns()), (3, 4));
        let coefficients = [0.5, 2.0, 7.0, 3.0];
        for (doc, score) in design.times(&coefficients).into_iter().enumerate() {
            assert!((score - (0.5 + 2.0 * first[doc] + 3.0 * column[doc])).abs() < 1e-12);
        }
        let mut solved = vec![1.0, 2.0, 3.0, 4.0];
        design.precondition(&mut solved);
        let standardised: Vec<Vec<f64>> = (0..3).map(|doc| design.standardised(doc)).collect();
        let product = |row: usize| {
            let mean = |column: usize| standardised.iter().map(|x| x[row] * x[column]).sum::<f64>() / 3.0;
            (0..4).map(|column| (mean(column) + if row == column { JITTER } else { 0.0 }) * solved[column]).sum::<f64>()
        };
        assert!((0..4).all(|row| (product(row) - (row + 1) as f64).abs() < 1e-8));
        let values = [1.0, -2.0, 0.5];
        let dot = |x: &[f64]| x.iter().zip(values).map(|(x, value)| x * value).sum::<f64>();
        let products = design.transposed_times(&values);
        let expected = [dot(&[1.0; 3]), dot(&first), 0.0, dot(&column)];
        assert!(products.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
    }
}
