//! What a reader has to know about a data set beyond its file.

use crate::Result;
use crate::options::{Options, options};

/// The highest feature index that is believed; more is a damaged file or hashed features, and would fill the memory
/// with zeros.
pub(crate) const MAX_FEATURES: usize = 1_000_000;

options! {
    /// How to read a data set. The defaults fit LETOR, MSLR, Yahoo and Istella.
    ///
    /// ```
    /// use truerank::data::ReadOptions;
    /// let options = ReadOptions::new().max_grade(2).feature_count(700);
    /// ```
    #[derive(PartialEq, Eq)]
    pub struct ReadOptions {
        /// The highest grade of the scale.
        max_grade: u8 = 4, value("GRADE");
        /// Feature indices of text files start at 0 instead of 1.
        zero_based: bool = false;
        /// How many features documents have, where sparse text leaves out the last ones.
        feature_count: Option<usize> = None, value("N"), usual("the most found"), alias("features"),
            within(1.0, MAX_FEATURES as f64);
    }
}

impl ReadOptions {
    pub(super) fn check(&self) -> Result<()> {
        self.check_ranges()
    }

    /// The index of the first feature: 0 or 1.
    pub(super) fn first_index(&self) -> usize {
        usize::from(!self.zero_based)
    }

    /// The column of the feature called `index` in a file; the error is a finding without its place.
    #[inline]
    pub(super) fn column(&self, index: u64) -> std::result::Result<u32, String> {
        let limit = self.feature_count.unwrap_or(MAX_FEATURES) as u64;
        match index.checked_sub(self.first_index() as u64) {
            Some(column) if column < limit => Ok(column as u32),
            _ => Err(self.bad_index(index)),
        }
    }

    #[cold]
    fn bad_index(&self, index: u64) -> String {
        match self.feature_count {
            _ if index == 0 => "feature index is 0, but indices start at 1; \
                                pass `zero_based` if this file counts from 0"
                .to_string(),
            Some(count) => format!("feature index is {index}, but the data set is said to have {count} features"),
            None => format!("feature index is {index}, but indices above {MAX_FEATURES} are not supported"),
        }
    }

    /// The grade that a number stands for; the error is a finding without its place.
    #[inline]
    pub fn grade(&self, value: f64) -> std::result::Result<u8, String> {
        if value >= 0.0 && value <= f64::from(self.max_grade) && value.fract() == 0.0 {
            Ok(value as u8)
        } else {
            Err(self.bad_grade(value))
        }
    }

    #[cold]
    fn bad_grade(&self, value: f64) -> String {
        let max = self.max_grade;
        if value.fract() != 0.0 {
            format!("grade is {value}, but grades are whole numbers from 0 to {max}")
        } else if (0.0..=255.0).contains(&value) {
            format!("grade is {value}, but grades go from 0 to {max}; pass `max_grade` {value} if that is right")
        } else {
            format!("grade is {value}, but grades go from 0 to {max}")
        }
    }

    /// Refuses a table with more features than expected; the error is a finding without its place.
    pub(super) fn check_width(&self, width: usize) -> std::result::Result<(), String> {
        let limit = self.feature_count.unwrap_or(MAX_FEATURES);
        if width <= limit { Ok(()) } else { Err(format!("has {width} features, but {limit} are expected at most")) }
    }

    /// How many features a data set has whose columns are numbered below `seen`.
    pub(super) fn width(&self, seen: usize) -> usize {
        self.feature_count.unwrap_or(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_count_from_one_or_zero() {
        assert_eq!(ReadOptions::new().column(1), Ok(0));
        assert_eq!(ReadOptions::new().zero_based(true).column(0), Ok(0));
        assert!(ReadOptions::new().column(0).unwrap_err().contains("`zero_based`"));
        assert!(ReadOptions::new().column(1_000_001).unwrap_err().contains("above 1000000"));
        assert!(ReadOptions::new().feature_count(2).column(3).unwrap_err().contains("said to have 2"));
    }

    #[test]
    fn grades_are_whole_and_bounded() {
        let options = ReadOptions::new();
        assert_eq!(options.grade(4.0), Ok(4));
        assert_eq!(
            options.grade(7.0).unwrap_err(),
            "grade is 7, but grades go from 0 to 4; pass `max_grade` 7 if that is right"
        );
        assert_eq!(options.grade(1.5).unwrap_err(), "grade is 1.5, but grades are whole numbers from 0 to 4");
        for value in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(options.grade(value).is_err());
        }
    }
}
