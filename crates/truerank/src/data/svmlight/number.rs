//! Turns decimal text into `f32`, bit for bit as the standard library does, but faster on the numbers files hold.

/// The number at the start of `bytes`, up to a blank, a comment or the line's end, and its length.
///
/// `None` where that token is not a number. It may be infinite or not a number where the text says so, or is too large.
#[inline]
pub fn read_number(bytes: &[u8]) -> Option<(f32, usize)> {
    match read_short(bytes) {
        Some((value, length)) if ends_token(bytes.get(length)) => Some((value, length)),
        _ => read_any(bytes),
    }
}

/// Whether a token ends before this byte.
#[inline]
pub fn ends_token(next: Option<&u8>) -> bool {
    matches!(next, None | Some(b' ' | b'\n' | b'\t' | b'\r' | b'#'))
}

/// The token at the start of `bytes`.
pub fn token(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| ends_token(Some(byte))).unwrap_or(bytes.len());
    &bytes[..end]
}

#[cold]
fn read_any(bytes: &[u8]) -> Option<(f32, usize)> {
    let token = token(bytes);
    let value = std::str::from_utf8(token).ok()?.parse().ok()?;
    Some((value, token.len()))
}

/// Whole numbers up to here are exact in `f64`.
const MAX_MANTISSA: u64 = 1 << 53;

/// Powers of ten that are exact in `f64`.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A number of up to 19 digits whose digits and power of ten are exact in `f64`; `None` leaves it to [`read_any`].
#[inline]
fn read_short(bytes: &[u8]) -> Option<(f32, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mantissa, whole_end) = read_digits(bytes, start, 0);
    let (mantissa, end, fraction) = match bytes.get(whole_end) {
        Some(b'.') => {
            let (mantissa, end) = read_digits(bytes, whole_end + 1, mantissa);
            (mantissa, end, end - whole_end - 1)
        }
        _ => (mantissa, whole_end, 0),
    };
    let digits = whole_end - start + fraction;
    if digits == 0 || digits > 19 || mantissa > MAX_MANTISSA {
        return None;
    }
    let (exponent, end) = read_exponent(bytes, end)?;
    let value = scale(mantissa, exponent - fraction as i32)?;
    Some((if negative { -value } else { value }, end))
}

/// Appends the digits from `at` to `number`; wraps past 19 digits, which the caller refuses.
#[inline]
fn read_digits(bytes: &[u8], mut at: usize, mut number: u64) -> (u64, usize) {
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (number, at)
}

/// The exponent `e-05` at `at`, 0 where there is none.
#[inline]
fn read_exponent(bytes: &[u8], at: usize) -> Option<(i32, usize)> {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return Some((0, at));
    }
    let negative = bytes.get(at + 1) == Some(&b'-');
    let start = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
    let (exponent, end) = read_digits(bytes, start, 0);
    if end == start || end - start > 3 {
        return None;
    }
    Some((if negative { -(exponent as i32) } else { exponent as i32 }, end))
}

/// `mantissa · 10^exponent`, correctly rounded, or `None` where this way cannot tell.
///
/// Both factors are exact in `f64`, so the product or quotient is the true value rounded once. Rounding again to
/// `f32` gives the right result unless the true value may lie on the other side of the middle between two `f32`s:
/// the 29 bits that `f32` drops are then within 1 of one half. All results lie between 1e-22 and 1e38, inside the
/// normal range of `f32`.
#[inline]
fn scale(mantissa: u64, exponent: i32) -> Option<f32> {
    if mantissa == 0 {
        return Some(0.0);
    }
    let power = *POWERS.get(exponent.unsigned_abs() as usize)?;
    let value = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    let dropped = value.to_bits() & ((1 << 29) - 1);
    if dropped.abs_diff(1 << 28) <= 1 { None } else { Some(value as f32) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same_as_std(text: &str) {
        let found = read_number(text.as_bytes()).map(|(value, length)| (value.to_bits(), length));
        let expected = text.parse::<f32>().ok().map(|value| (value.to_bits(), text.len()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn unusual_spellings_read_as_the_standard_library_reads_them() {
        let texts = [
            "",
            "-",
            "+",
            ".",
            "-.",
            "e5",
            "1e",
            "1e+",
            "1.e5",
            ".5",
            "5.",
            "+5",
            "-0",
            "0.0e-400",
            "1e39",
            "-1e-60",
            "1e-45",
            "nan",
            "inf",
            "-infinity",
            "1_0",
            "0x10",
            "1.2.3",
            "--1",
            "1e5.0",
            "16777217",
            "16777219",
            "9007199254740993",
            "9007199254740992e22",
            "1e-22",
            "00000000000000000000000000001",
            "1e0000000001",
            "8388608.5",
            "0.1",
            "3.4028235e38",
            "3.4028236e38",
            "1:2",
            "1a",
        ];
        texts.into_iter().for_each(same_as_std);
    }

    #[test]
    fn a_number_ends_at_a_blank_a_comment_or_the_line_end() {
        for end in [" ", "\t", "\r\n", "\n", "#", " 2:1"] {
            assert_eq!(read_number(format!("1.5{end}").as_bytes()), Some((1.5, 3)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn every_float_reads_back(bits: u32) {
            let value = f32::from_bits(bits);
            prop_assume!(value.is_finite());
            same_as_std(&format!("{value}"));
            same_as_std(&format!("{value:e}"));
            same_as_std(&format!("{:.6}", value));
        }

        #[test]
        fn decimals_read_as_the_standard_library_reads_them(text in "-?[0-9]{0,12}\\.?[0-9]{0,10}(e-?[0-9]{1,2})?") {
            same_as_std(&text);
        }

        #[test]
        fn numbers_near_the_middle_of_two_floats_round_the_right_way(bits in 0x3000_0000u32..0x4f00_0000, digits in 8usize..17) {
            let middle = (f64::from(f32::from_bits(bits)) + f64::from(f32::from_bits(bits + 1))) / 2.0;
            same_as_std(&format!("{middle:.digits$}"));
            same_as_std(&format!("{middle}"));
            same_as_std(&format!("{middle:.digits$e}"));
        }

        #[test]
        fn any_token_reads_as_the_standard_library_reads_it(text in "[-+.eE0-9naif]{1,8}") {
            same_as_std(&text);
        }
    }
}
