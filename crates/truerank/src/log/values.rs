//! What a position and a click may be, from text, whole numbers or floats; errors are findings without a place.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

/// The largest position: longer lists than this are a wrong column, not a result page.
pub const MAX_POSITION: u32 = 100_000;

/// A position from a whole number.
pub(super) fn position_of_integer(value: i64) -> Result<u32, String> {
    match value {
        i64::MIN..=0 => Err(format!("position is {value}, but positions start at 1")),
        1..=100_000 => Ok(value as u32),
        _ => Err(format!("position is {value}, but positions go up to {MAX_POSITION}; is it the right column?")),
    }
}

/// A position from a float, which must be whole.
pub(super) fn position_of_float(value: f64) -> Result<u32, String> {
    // Casting saturates, so that anything too large fails as too large.
    if value.fract() == 0.0 { position_of_integer(value as i64) } else { Err(not_whole(&value.to_string())) }
}

/// A position from text: `3`, or `3.0` as some tools write whole numbers.
#[inline]
pub(super) fn position_of_text(text: &str) -> Result<u32, String> {
    match canonical_integer(text) {
        Some(value) => position_of_integer(value),
        None => position_of_other(text),
    }
}

fn position_of_other(text: &str) -> Result<u32, String> {
    match whole(text).parse::<i64>() {
        Ok(value) => position_of_integer(value),
        Err(_) => Err(not_whole(text)),
    }
}

pub(super) fn not_whole(text: &str) -> String {
    format!("position is {}, but positions are whole numbers from 1", shown(text))
}

/// A click from a whole number.
pub(super) fn click_of_integer(value: i64) -> Result<bool, String> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(not_a_click(&value.to_string())),
    }
}

/// A click from a float.
pub(super) fn click_of_float(value: f64) -> Result<bool, String> {
    if value == 0.0 || value == 1.0 { Ok(value == 1.0) } else { Err(not_a_click(&value.to_string())) }
}

/// A click from text: 0 or 1, also as `0.0`, or true or false, yes or no, or their first letters, in any case.
#[inline]
pub(super) fn click_of_text(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        other => click_of_word(other),
    }
}

fn click_of_word(text: &str) -> Result<bool, String> {
    match whole(text).to_ascii_lowercase().as_str() {
        "0" | "false" | "no" | "n" | "f" => Ok(false),
        "1" | "true" | "yes" | "y" | "t" => Ok(true),
        _ => Err(not_a_click(text)),
    }
}

pub(super) fn not_a_click(text: &str) -> String {
    format!("click is {}, but a click is 0 or 1", shown(text))
}

/// The text without spaces around it and without a fraction of zeros.
fn whole(text: &str) -> &str {
    let text = text.trim_matches(' ');
    match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    }
}

/// A value for a message: on one line, not too long, and visible when it is empty.
pub(crate) fn shown(text: &str) -> String {
    if text.is_empty() {
        return "empty".to_string();
    }
    crate::text::printable_within(text, 60)
}

/// The session of a text: an integer in its usual spelling is itself, so that text and integer columns agree; any
/// other text is hashed to 64 bits.
///
/// Only identity within one query matters: two sessions are confused when both their hashes and their queries are
/// equal. Among a million sessions of one query the chance of that is below 1 in 30 million.
pub(crate) fn session_of_text(text: &str) -> u64 {
    match canonical_integer(text) {
        Some(value) => value as u64,
        None => FixedState::with_seed(1).hash_one(text.as_bytes()),
    }
}

/// The integer whose usual spelling this is: `17`, not `017` or `+17`.
pub(super) fn canonical_integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let leading_zero = digits.first() == Some(&b'0') && (digits.len() > 1 || negative);
    if digits.is_empty() || leading_zero {
        return None;
    }
    if digits.len() > 18 {
        // May not fit: the checked way.
        return text.parse().ok();
    }
    let mut value = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_whole_numbers_from_one() {
        assert_eq!(["3", "3.0", " 3", "100000"].map(|t| position_of_text(t).unwrap()), [3, 3, 3, 100_000]);
        assert_eq!(position_of_float(2.0), Ok(2));
        let errors = [
            ("0", "position is 0, but positions start at 1"),
            ("-2", "position is -2, but positions start at 1"),
            ("abc", "position is abc, but positions are whole numbers from 1"),
            ("1.5", "position is 1.5, but positions are whole numbers from 1"),
            ("2024-01-01", "position is 2024-01-01, but positions are whole numbers from 1"),
            ("", "position is empty, but positions are whole numbers from 1"),
            ("100001", "position is 100001, but positions go up to 100000; is it the right column?"),
        ];
        errors.iter().for_each(|(text, error)| assert_eq!(position_of_text(text).unwrap_err(), *error));
        assert!([1.5, f64::NAN, f64::INFINITY, -1.0, 1e300].iter().all(|&v| position_of_float(v).is_err()));
    }

    #[test]
    fn clicks_are_zero_or_one() {
        assert!(["1", "1.0", "true", "TRUE", "True", "yes", "Y", "t"].iter().all(|t| click_of_text(t).unwrap()));
        assert!(["0", "0.0", "false", "False", "no", "N", "f"].iter().all(|t| !click_of_text(t).unwrap()));
        assert_eq!(click_of_integer(2).unwrap_err(), "click is 2, but a click is 0 or 1");
        assert_eq!(click_of_float(0.5).unwrap_err(), "click is 0.5, but a click is 0 or 1");
        assert!(["2", "yep", "", "0.", "-1", "1.01"].iter().all(|t| click_of_text(t).is_err()));
    }

    #[test]
    fn integers_in_their_usual_spelling_are_themselves() {
        assert_eq!(["0", "17", "-5"].map(canonical_integer), [Some(0), Some(17), Some(-5)]);
        assert_eq!(canonical_integer(&i64::MIN.to_string()), Some(i64::MIN));
        let others = ["", "-", "-0", "017", "+1", "1 ", "a", "9999999999999999999"];
        assert!(others.iter().all(|t| canonical_integer(t).is_none()));
        assert_eq!(session_of_text("-1"), u64::MAX);
        assert_ne!(session_of_text("a"), session_of_text("b"));
    }
}
