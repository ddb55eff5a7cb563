//! Moments: ISO 8601 text and epoch numbers to milliseconds since 1970, UTC, and back.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// A moment, in whole milliseconds since 1970 began (UTC).
///
/// ```
/// use truerank::log::Time;
/// let time: Time = "2024-03-01T12:30:00+02:00".parse()?;
/// assert_eq!(time.to_string(), "2024-03-01T10:30:00Z");
/// assert_eq!("1709289000".parse::<Time>()?, time);
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

const SECOND: i64 = 1000;
const DAY: i64 = 86_400 * SECOND;

impl Time {
    /// The moment so many milliseconds after 1970 began.
    pub fn from_milliseconds(milliseconds: i64) -> Self {
        Time(milliseconds)
    }

    /// Milliseconds since 1970 began.
    pub fn milliseconds(self) -> i64 {
        self.0
    }

    /// From an epoch number, whose size tells its unit: seconds below 10¹¹ (the year 5138), milliseconds below 10¹⁴,
    /// microseconds below 10¹⁷, then nanoseconds.
    pub(super) fn of_integer(value: i64) -> Self {
        Time(match value.unsigned_abs() {
            0..100_000_000_000 => value * SECOND,
            100_000_000_000..100_000_000_000_000 => value,
            100_000_000_000_000..100_000_000_000_000_000 => value.div_euclid(1000),
            _ => value.div_euclid(1_000_000),
        })
    }

    /// From an epoch number with a fraction.
    pub(super) fn of_float(value: f64) -> Option<Self> {
        let scaled = match value.abs() {
            size if size < 1e11 => value * 1e3,
            size if size < 1e14 => value,
            size if size < 1e17 => value / 1e3,
            _ => value / 1e6,
        };
        (scaled.abs() < 9e15).then(|| Time(scaled.floor() as i64))
    }

    /// From ISO 8601 text or an epoch number in digits.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.parse::<i64>() {
            Ok(value) => Some(Time::of_integer(value)),
            Err(_) => iso(text).or_else(|| text.parse().ok().and_then(Time::of_float)),
        }
    }
}

impl FromStr for Time {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Time::of_text(text).ok_or_else(|| {
            let text = super::values::shown(text);
            Error::parameter(format!("'{text}' is not a time, but should look like 2024-03-01 or 2024-03-01T12:30:00Z"))
        })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        let rest = self.0.rem_euclid(DAY);
        let (seconds, milliseconds) = (rest / SECOND, rest % SECOND);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        if milliseconds > 0 {
            write!(f, ".{milliseconds:03}")?;
        }
        write!(f, "Z")
    }
}

/// `2024-03-01`, then perhaps `T` or a space and `12:30`, `:00`, `.123`, and `Z` or `+02:00`.
fn iso(text: &str) -> Option<Time> {
    let (date, rest) = text.split_at_checked(10)?;
    let [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-', _, _, b'-', _, _] = date.as_bytes() else {
        return None;
    };
    let (year, month, day) = (number(&date[..4])?, number(&date[5..7])?, number(&date[8..])?);
    if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let midnight = days(year, month, day) * DAY;
    if rest.is_empty() {
        return Some(Time(midnight));
    }
    let (clock, zone) = split_zone(rest.strip_prefix(['T', 't', ' '])?);
    Some(Time(midnight + clock_milliseconds(clock)? - zone_milliseconds(zone)?))
}

/// The time of day and its zone, which is empty where none is said.
fn split_zone(text: &str) -> (&str, &str) {
    match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (text[..at].trim_end(), &text[at..]),
        None => (text, ""),
    }
}

fn clock_milliseconds(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let (second, fraction) = parts.next().map_or(("00", None), |part| match part.split_once(['.', ',']) {
        Some((second, fraction)) => (second, Some(fraction)),
        None => (part, None),
    });
    let second = number(second)?;
    // A leap second is the last of its minute.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let milliseconds = fraction.map_or(Some(0), thousandths)?;
    Some(((hour * 60 + minute) * 60 + second.min(59)) * SECOND + milliseconds)
}

/// `Z`, nothing, `+02`, `+0200` or `+02:00`.
fn zone_milliseconds(text: &str) -> Option<i64> {
    let sign = match text.bytes().next() {
        None => return Some(0),
        Some(b'Z' | b'z') => return (text.len() == 1).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let digits: String = text[1..].chars().filter(|&c| c != ':').collect();
    let (hour, minute) = match digits.len() {
        2 => (number(&digits)?, 0),
        // Four bytes need not be four characters.
        4 => (number(digits.get(..2)?)?, number(digits.get(2..)?)?),
        _ => return None,
    };
    (hour < 24 && minute < 60).then_some(sign * (hour * 60 + minute) * 60 * SECOND)
}

/// The first three digits of a fraction.
fn thousandths(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.bytes().chain(*b"000").take(3).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// Digits and nothing else: two of them, or four.
fn number(digits: &str) -> Option<i64> {
    let is_number = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01. Years are counted from March, so that the leap day is the last of its year; 400 of them have
/// 146,097 days.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day so many days after 1970-01-01: the inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(text: &str) -> i64 {
        text.parse::<Time>().unwrap().milliseconds()
    }

    #[test]
    fn iso_text_of_any_usual_shape_is_read() {
        // 2024-03-01 is day 31 + 29 of a year that starts 54 years, 13 of them leap years, after 1970.
        let day = (54 * 365 + 13 + 31 + 29) * DAY;
        assert_eq!(ms("2024-03-01"), day);
        assert_eq!(ms("1970-01-01T00:00:00Z"), 0);
        assert_eq!(ms("2024-03-01 12:30"), day + (12 * 60 + 30) * 60 * SECOND);
        assert_eq!(ms("2024-03-01T00:00:01.5"), day + 1500);
        assert_eq!(ms("2024-03-01T00:00:00.123456789Z"), day + 123);
        assert_eq!(ms("2024-03-01T02:00:00+02:00"), day);
        assert_eq!(ms("2024-02-29T22:00:00-0200"), day);
        assert_eq!(ms("1969-12-31T23:59:59.999Z"), -1);
    }

    #[test]
    fn epoch_numbers_tell_their_unit_by_their_size() {
        let day = ms("2024-03-01");
        let units = [day / 1000, day, day * 1000, day * 1_000_000];
        units.iter().for_each(|value| assert_eq!(ms(&value.to_string()), day));
        assert_eq!(ms("1709251200.25"), day + 250);
    }

    #[test]
    fn other_texts_are_no_times() {
        let others =
            ["", "yesterday", "2024-13-01", "2023-02-29", "2024-03-01T25:00", "2024-03-01x", "24-03-01", "NaN"];
        others.iter().for_each(|text| assert!(text.parse::<Time>().is_err(), "{text}"));
        assert!("2024-03-01T12:00:00+99:00".parse::<Time>().is_err());
        assert!("2024-03-01T12:00:00+0\u{fffd}:".parse::<Time>().is_err());
    }

    proptest! {
        #[test]
        fn printing_is_the_inverse_of_reading(milliseconds in -62_135_596_800_000i64..253_402_300_800_000) {
            let time = Time(milliseconds);
            prop_assert_eq!(iso(&time.to_string()), Some(time));
        }

        #[test]
        fn any_text_is_a_time_or_none(text in "\\PC{0,30}") {
            let _ = Time::of_text(&text);
        }
    }
}
