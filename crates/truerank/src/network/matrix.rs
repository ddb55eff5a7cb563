//! The matrix product: two checked views enter, the product of them leaves.

use std::ops::Range;

use gemm_common::Parallelism;

/// A matrix inside a slice: element `(r, c)` is at `r * row_stride + c * column_stride`.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> View<'a> {
    /// The first `rows` rows of `columns` values in `values`.
    pub(super) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        View { values: &values[..rows * columns], rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same values with rows and columns exchanged.
    pub(super) fn transposed(self) -> Self {
        View {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some of the rows.
    pub(super) fn row_range(self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows of a matrix lie inside it");
        let start = (rows.start * self.row_stride).min(self.values.len());
        View { values: &self.values[start..], rows: rows.len(), ..self }
    }

    /// The place of the last element, and one more; 0 for an empty matrix.
    fn extent(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride + 1
    }
}

/// `out = a b`, or `out += a b` with `accumulate`; `out` is row-major.
///
/// Runs on the calling thread alone: how a product is cut decides its last bits, so only callers may cut, into tiles that
/// do not depend on the number of threads.
///
/// # Panics
///
/// When the dimensions do not fit together.
#[allow(unsafe_code)]
pub(super) fn multiply(out: &mut [f32], a: View<'_>, b: View<'_>, accumulate: bool) {
    assert_eq!(a.columns, b.rows, "inner dimensions agree");
    assert_eq!(out.len(), a.rows * b.columns, "the product has its place");
    assert!(a.extent() <= a.values.len() && b.extent() <= b.values.len(), "matrices lie inside their slices");
    // The product is asked for transposed, `outᵀ = bᵀ aᵀ`: the kernel is fastest where its first dimension is contiguous.
    let gemm = gemm_f32::gemm::f32::get_gemm_fn();
    // SAFETY: the kernel reads `a`, `b` at places below their extents, which the assertion above bounds by their slices,
    // and reads and writes `out` at `r * b.columns + c` for `r < a.rows`, `c < b.columns`, all below `out.len()`. `out` is
    // borrowed exclusively, so it overlaps neither. Slices are at most `isize::MAX` bytes, so strides and offsets fit.
    unsafe {
        gemm(
            b.columns,
            a.rows,
            a.columns,
            out.as_mut_ptr(),
            b.columns as isize,
            1,
            accumulate,
            b.values.as_ptr(),
            b.row_stride as isize,
            b.column_stride as isize,
            a.values.as_ptr(),
            a.row_stride as isize,
            a.column_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn element(view: &View<'_>, r: usize, c: usize) -> f64 {
        f64::from(view.values[r * view.row_stride + c * view.column_stride])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn products_are_those_of_the_obvious_loop(
            m in 0usize..40, k in 0usize..40, n in 0usize..40, ta: bool, tb: bool, accumulate: bool, seed in 0u32..1000,
        ) {
            let values = |count: usize, salt: u32| -> Vec<f32> {
                (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed + salt) >> 16) as f32 / 65536.0 - 0.5).collect()
            };
            let (a, b, start) = (values(m * k, 1), values(k * n, 2), values(m * n, 3));
            let a = if ta { View::new(&a, k, m).transposed() } else { View::new(&a, m, k) };
            let b = if tb { View::new(&b, n, k).transposed() } else { View::new(&b, k, n) };
            let mut out = start.clone();
            multiply(&mut out, a, b, accumulate);
            for r in 0..m {
                for c in 0..n {
                    let before = if accumulate { f64::from(start[r * n + c]) } else { 0.0 };
                    let expected = before + (0..k).map(|i| element(&a, r, i) * element(&b, i, c)).sum::<f64>();
                    prop_assert!((f64::from(out[r * n + c]) - expected).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "inner dimensions agree")]
    fn dimensions_must_fit() {
        multiply(&mut [0.0; 4], View::new(&[0.0; 4], 2, 2), View::new(&[0.0; 6], 3, 2), false);
    }
}
