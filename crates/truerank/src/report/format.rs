//! Numbers to text, as tables and axes print them.

/// How a number is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Four decimals without the leading zero: `.7056`.
    Measure,
    /// A share, printed in hundredths: `0.123` as `12.3 %`.
    Percent,
    /// A whole number: `1,234`.
    Count,
    /// Three significant digits: `3.14`.
    #[default]
    Number,
    /// Three decimals without the leading zero, or `<.001`.
    PValue,
    /// Words; a number without words is printed as [`Format::Number`].
    Text,
}

/// Between a number and its unit: narrow, and never the end of a line.
const UNIT_SPACE: char = '\u{202f}';

impl Format {
    /// The number as people read it.
    pub fn print(self, value: f64) -> String {
        if !value.is_finite() {
            return not_finite(value).to_string();
        }
        match self {
            Format::Measure => without_zero(&fixed(value, 4)),
            Format::Percent => format!("{}{UNIT_SPACE}%", fixed(value * 100.0, 1)),
            Format::Count => grouped(&fixed(value, 0)),
            Format::Number | Format::Text => significant(value),
            Format::PValue if value < 0.001 => "<.001".to_string(),
            Format::PValue => without_zero(&fixed(value, 3)),
        }
    }

    /// Half the width of an interval, to stand after ± and the number itself, whose unit it shares.
    pub(super) fn print_half_width(self, value: f64) -> String {
        let text = self.print(value);
        text.strip_suffix('%').map_or(text.as_str(), |number| number.trim_end_matches(UNIT_SPACE)).to_string()
    }

    /// The number without zeros that end its decimals, for the ends of a range.
    pub(super) fn print_trimmed(self, value: f64) -> String {
        let text = self.print(value);
        let (number, unit) = text.split_at(text.find(UNIT_SPACE).unwrap_or(text.len()));
        if !number.contains('.') || number.contains('e') {
            return text;
        }
        match number.trim_end_matches('0').trim_end_matches('.') {
            "" | "−" => format!("0{unit}"),
            trimmed => format!("{trimmed}{unit}"),
        }
    }

    /// The number in the fewest signs that still tell something, for small cells.
    pub(super) fn print_short(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => self.print(value),
            Format::Measure | Format::PValue => without_zero(&fixed(value, 2)),
            Format::Percent => fixed(value * 100.0, 0),
            Format::Count => compact(value.round(), 10f64.powf(value.abs().max(1.0).log10().floor())),
            Format::Number | Format::Text => fixed(value, if value.abs() < 10.0 { 1 } else { 0 }),
        }
    }

    /// The number at a tick of an axis whose ticks are `step` apart: no more decimals than the step needs.
    pub(super) fn print_tick(self, value: f64, step: f64) -> String {
        match self {
            _ if value == 0.0 => "0".to_string(),
            Format::Measure | Format::PValue => without_zero(&fixed(value, decimals(step))),
            Format::Percent => format!("{}{UNIT_SPACE}%", fixed(value * 100.0, decimals(step * 100.0))),
            Format::Count | Format::Number | Format::Text => compact(value, step),
        }
    }
}

fn not_finite(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "∞",
        f64::NEG_INFINITY => "−∞",
        _ => "NaN",
    }
}

/// With a true minus sign, and without one where nothing but zeros follows.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|b| b == b'0' || b == b'.') => digits.to_string(),
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

fn without_zero(text: &str) -> String {
    match (text.strip_prefix("0."), text.strip_prefix("−0.")) {
        (Some(decimals), _) => format!(".{decimals}"),
        (_, Some(decimals)) => format!("−.{decimals}"),
        _ => text.to_string(),
    }
}

/// Commas between thousands of the whole part.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('−').map_or(("", text), |digits| ("−", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = sign.to_string();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// Three significant digits; whole numbers keep all of theirs, and extremes get an exponent.
fn significant(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_string();
    }
    if !(1e-4..1e12).contains(&size) {
        return format!("{value:.2e}").replace('-', "−");
    }
    // What rounding makes of it decides the number of decimals: 9.999 is 10.0 and not 10.00.
    let rounded: f64 = format!("{size:.2e}").parse().unwrap_or(size);
    let exponent = rounded.log10().floor() as i32;
    grouped(&fixed(value, (2 - exponent).max(0) as usize))
}

/// How many decimals tell multiples of `step` apart, where `step` is 1, 2 or 5 times a power of ten.
fn decimals(step: f64) -> usize {
    if !step.is_finite() || step <= 0.0 {
        return 2;
    }
    // The margin keeps log10(0.001) = −2.9999999999999996 from asking for one decimal less.
    (-(step.log10() + 1e-9).floor()).clamp(0.0, 12.0) as usize
}

/// `20`, `1.5k`, `3M`: short enough to stand side by side under an axis.
fn compact(value: f64, step: f64) -> String {
    let (unit, letter) = match value.abs() {
        size if size >= 1e9 => (1e9, "G"),
        size if size >= 1e6 => (1e6, "M"),
        size if size >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    if value.abs() >= 1e15 {
        return significant(value);
    }
    format!("{}{letter}", fixed(value / unit, decimals(step / unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_prints_as_its_documentation_says() {
        let cases = [
            (Format::Measure, 0.70561, ".7056"),
            (Format::Measure, -0.0012, "−.0012"),
            (Format::Measure, -0.00001, ".0000"),
            (Format::Measure, 1.0, "1.0000"),
            (Format::Percent, 0.123, "12.3\u{202f}%"),
            (Format::Count, 1234.0, "1,234"),
            (Format::Count, -1234567.4, "−1,234,567"),
            (Format::Count, 999.0, "999"),
            (Format::Number, 0.0, "0"),
            (Format::Number, 2.46913, "2.47"),
            (Format::Number, 9.999, "10.0"),
            (Format::Number, 0.012345, "0.0123"),
            (Format::Number, 12345.0, "12,345"),
            (Format::Number, 0.0000123, "1.23e−5"),
            (Format::PValue, 0.0004, "<.001"),
            (Format::PValue, 0.0234, ".023"),
            (Format::PValue, 1.0, "1.000"),
            (Format::Text, 5.0, "5.00"),
        ];
        for (format, value, expected) in cases {
            assert_eq!(format.print(value), expected, "{format:?} of {value}");
        }
    }

    #[test]
    fn what_is_no_number_says_so_in_every_format() {
        for format in [Format::Measure, Format::Percent, Format::Count, Format::Number, Format::PValue, Format::Text] {
            assert_eq!(format.print(f64::NAN), "NaN");
            assert_eq!(format.print(f64::INFINITY), "∞");
            assert_eq!(format.print(f64::NEG_INFINITY), "−∞");
        }
    }

    #[test]
    fn half_widths_leave_the_unit_to_their_number() {
        assert_eq!(Format::Percent.print_half_width(0.003), "0.3");
        assert_eq!(Format::Measure.print_half_width(0.0012), ".0012");
    }

    #[test]
    fn ticks_have_the_decimals_that_their_step_needs() {
        assert_eq!(Format::Measure.print_tick(0.66, 0.02), ".66");
        assert_eq!(Format::Measure.print_tick(0.671, 0.001), ".671");
        assert_eq!(Format::Percent.print_tick(0.1, 0.05), "10\u{202f}%");
        assert_eq!(Format::Count.print_tick(20.0, 20.0), "20");
        assert_eq!(Format::Count.print_tick(1500.0, 500.0), "1.5k");
        assert_eq!(Format::Count.print_tick(3e6, 1e6), "3M");
        assert_eq!(Format::Number.print_tick(-0.5, 0.5), "−0.5");
        assert_eq!(Format::Measure.print_tick(0.0, 0.5), "0");
    }

    #[test]
    fn ends_of_ranges_have_no_needless_zeros() {
        assert_eq!(Format::Measure.print_trimmed(0.0), "0");
        assert_eq!(Format::Measure.print_trimmed(1.0), "1");
        assert_eq!(Format::Measure.print_trimmed(0.35), ".35");
        assert_eq!(Format::Percent.print_trimmed(1.0), "100\u{202f}%");
        assert_eq!(Format::Count.print_trimmed(100.0), "100");
    }

    #[test]
    fn short_numbers_fit_small_cells() {
        assert_eq!(Format::Measure.print_short(0.7056), ".71");
        assert_eq!(Format::Percent.print_short(0.123), "12");
        assert_eq!(Format::Count.print_short(12_345.0), "12k");
        assert_eq!(Format::Count.print_short(7.0), "7");
        assert_eq!(Format::Number.print_short(2.345), "2.3");
        assert_eq!(Format::Number.print_short(f64::NAN), "NaN");
    }
}
