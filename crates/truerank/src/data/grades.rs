//! Whether grades fit their scale: grades become relevance by `grade / highest grade`.

use super::Dataset;

/// A note where no grade of some data reaches the highest one of the scale: then even the best document counts as partly
/// relevant, which is right if the scale goes further, and halves relevance or worse if it does not.
///
/// ```
/// use truerank::data::{DatasetBuilder, grade_note};
/// use truerank::ids::Ids;
/// let data = DatasetBuilder {
///     features: vec![0.0, 1.0],
///     feature_count: 1,
///     grades: Some(vec![0, 2]),
///     queries: Ids::numbered(1),
///     query_ends: vec![2],
///     docs: None,
/// };
/// let data = data.build()?;
/// assert!(grade_note([&data], 4).unwrap().starts_with("grades go up to 2, but the scale (`max_grade`) to 4"));
/// assert_eq!(grade_note([&data], 2), None);
/// # Ok::<(), truerank::Error>(())
/// ```
pub fn grade_note<'a>(parts: impl IntoIterator<Item = &'a Dataset>, max_grade: u8) -> Option<String> {
    let highest = parts.into_iter().filter_map(|part| part.grades()?.iter().max().copied()).max()?;
    (0 < highest && highest < max_grade).then(|| {
        let share = f64::from(highest) / f64::from(max_grade);
        format!(
            "grades go up to {highest}, but the scale (`max_grade`) to {max_grade}: the best document counts as {:.0} % \
             relevant; if {highest} is the highest grade there is, pass `max_grade` {highest}",
            100.0 * share
        )
    })
}
