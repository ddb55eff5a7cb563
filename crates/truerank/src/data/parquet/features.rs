//! Turns feature columns of a batch, one per feature or one of lists, into dense rows.

use std::borrow::Cow;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use rayon::prelude::*;

use super::FEATURES;
use crate::data::ReadOptions;
use crate::data::svmlight::FINITE;
use crate::files::table::{Columns, floats};
use crate::{Error, Result};

/// Where a table keeps its features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureColumns {
    /// One list column.
    List,
    /// One column per feature, in the order of their numbers.
    Single(Vec<String>),
}

impl FeatureColumns {
    /// Looks for the list column, then for `f1`, `f2`, ….
    pub fn find(path: &Path, schema: &Schema, options: &ReadOptions) -> Result<Self> {
        if schema.column_with_name(FEATURES).is_some() {
            return Ok(FeatureColumns::List);
        }
        let mut numbers: Vec<u64> = schema.fields().iter().filter_map(|field| feature_number(field.name())).collect();
        numbers.sort_unstable();
        let names = || schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
        if numbers.is_empty() {
            let finding = format!(
                "has no features, but needs columns f1, f2, … or a list column '{FEATURES}'; it has {}",
                names()
            );
            return Err(Error::input(path, finding));
        }
        for (&number, wanted) in numbers.iter().zip(options.first_index() as u64..) {
            options.column(number).map_err(|finding| Error::input(path, finding))?;
            if number != wanted {
                let finding =
                    format!("has column f{number}, but no f{wanted}; feature columns need consecutive numbers");
                return Err(Error::input(path, finding));
            }
        }
        Ok(FeatureColumns::Single(numbers.iter().map(|number| format!("f{number}")).collect()))
    }

    /// Appends the batch's rows to `features`; `width` is set by the first batch.
    pub fn append(
        &self,
        path: &Path,
        batch: &Columns<'_>,
        width: &mut Option<usize>,
        features: &mut Vec<f32>,
    ) -> Result<()> {
        let start = features.len();
        match self {
            FeatureColumns::List => append_lists(path, batch, width, features)?,
            FeatureColumns::Single(names) => {
                *width = Some(names.len());
                append_columns(path, batch, names, features)?;
            }
        }
        check_not_infinite(batch, &features[start..], width.unwrap_or(1))
    }
}

/// 17 for `f17`; `None` for anything else.
fn feature_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('f')?;
    let plain = digits == "0" || !digits.starts_with('0');
    (plain && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

fn check_not_infinite(batch: &Columns<'_>, features: &[f32], width: usize) -> Result<()> {
    match features.iter().position(|value| value.is_infinite()) {
        None => Ok(()),
        Some(at) => {
            let (row, number) = (at / width, at % width + 1);
            let value = features[at];
            Err(batch.place(row).error(format!("feature {number} is {value}, but {FINITE}")))
        }
    }
}

fn append_columns(path: &Path, batch: &Columns<'_>, names: &[String], features: &mut Vec<f32>) -> Result<()> {
    let arrays: Vec<&ArrayRef> = names.iter().map(|name| batch.get_with_missing(name)).collect::<Result<_>>()?;
    let columns: Vec<Cow<'_, [f32]>> = names
        .iter()
        .zip(arrays)
        .map(|(name, array)| to_f32(array).ok_or_else(|| not_numbers(path, name, array.data_type())))
        .collect::<Result<_>>()?;
    let start = features.len();
    features.resize(start + batch.len() * names.len(), 0.0);
    // Blocks of rows that stay in the cache while column after column is read.
    let rows_at_a_time = 64;
    features[start..].par_chunks_mut(rows_at_a_time * names.len()).enumerate().for_each(|(block, rows)| {
        for (number, column) in columns.iter().enumerate() {
            let values = &column[block * rows_at_a_time..];
            for (row, &value) in rows.chunks_exact_mut(columns.len()).zip(values) {
                row[number] = value;
            }
        }
    });
    Ok(())
}

fn append_lists(path: &Path, batch: &Columns<'_>, width: &mut Option<usize>, features: &mut Vec<f32>) -> Result<()> {
    let lists = batch.get(FEATURES)?;
    let wrong_type = || not_numbers(path, FEATURES, lists.data_type());
    let (ends, values) = list_parts(lists).ok_or_else(wrong_type)?;
    let numbers = to_f32(values).ok_or_else(wrong_type)?;
    for row in 0..batch.len() {
        let (start, end) = (ends[row], ends[row + 1]);
        let wanted = *width.get_or_insert(end - start);
        if end - start != wanted || wanted == 0 {
            let finding = if wanted == 0 {
                "is empty, but a ranker needs features".into()
            } else {
                other_length(end - start, wanted)
            };
            return Err(batch.place(row).error(format!("{FEATURES} {finding}")));
        }
        features.extend_from_slice(&numbers[start..end]);
    }
    Ok(())
}

fn other_length(found: usize, wanted: usize) -> String {
    format!("has {found} values, but the rows before have {wanted}")
}

/// Where the list of each row starts and ends among the values, and the values.
///
/// Tables are read without the writer's Arrow types, so lists of fixed size and large lists arrive as plain lists.
fn list_parts(lists: &ArrayRef) -> Option<(Vec<usize>, &ArrayRef)> {
    let lists = lists.as_list_opt::<i32>()?;
    Some((lists.value_offsets().iter().map(|&at| at as usize).collect(), lists.values()))
}

/// The numbers of a column, NaN where one is missing.
fn to_f32(array: &ArrayRef) -> Option<Cow<'_, [f32]>> {
    let numbers = numbers(array)?;
    let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else { return Some(numbers) };
    let known = |(&number, is_known): (&f32, bool)| if is_known { number } else { f32::NAN };
    Some(Cow::Owned(numbers.iter().zip(nulls).map(known).collect()))
}

/// The numbers of a column, anything where one is missing.
fn numbers(array: &ArrayRef) -> Option<Cow<'_, [f32]>> {
    match array.data_type() {
        DataType::Float32 => Some(Cow::Borrowed(array.as_primitive::<Float32Type>().values())),
        DataType::Float64 => {
            Some(Cow::Owned(array.as_primitive::<Float64Type>().values().iter().map(|&value| value as f32).collect()))
        }
        _ => Some(Cow::Owned(floats(array)?.into_iter().map(|value| value as f32).collect())),
    }
}

fn not_numbers(path: &Path, name: &str, found: &DataType) -> Error {
    let rule = if name == FEATURES { "lists of numbers" } else { "numbers" };
    Error::input(path, format!("column '{name}' has type {found}, but needs {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_name_features() {
        assert_eq!(["f1", "f70", "f0"].map(feature_number), [Some(1), Some(70), Some(0)]);
        assert!(["f", "f01", "g1", "f1x", "f-1", "f+1", "features"].iter().all(|name| feature_number(name).is_none()));
    }
}
