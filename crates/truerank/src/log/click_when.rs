//! When a shown document counts as clicked, where a log has a measurement or the name of an action instead of 0 and 1.

use std::fmt;
use std::str::FromStr;

use super::bad_rows::{BadKind, Fault};
use super::record::Value;
use super::values::shown;
use crate::{Error, Result};

/// A condition on a column that makes an impression a click.
///
/// - `dwell_time>0`, also `>=`, `<` and `<=`: the value is a number, and compares so.
/// - `action=click|purchase`: the value is one of these; `action!=skip`: it is another one. Numbers are equal by value.
/// - `dwell_time`, or `dwell_time present`: there is a value.
///
/// A value that is missing, empty, `null`, `NaN` or `\N` is no click under any of them.
///
/// ```
/// use truerank::log::{ClickWhen, ReadOptions};
/// let when: ClickWhen = "dwell_time >= 30".parse()?;
/// assert_eq!(when.to_string(), "dwell_time>=30");
/// let options = ReadOptions::new().click_when(when);
/// # Ok::<(), truerank::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickWhen {
    pub(super) column: String,
    condition: Condition,
}

/// What the value must be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    Present,
    /// A number that compares so with this one, which is finite.
    Compares(Comparison, f64),
    OneOf(Vec<String>),
    NoneOf(Vec<String>),
}

// A finite number equals itself.
impl Eq for Condition {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Comparison {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Comparison::Above => ">",
            Comparison::AtLeast => ">=",
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
        }
    }

    fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Comparison::Above => a > b,
            Comparison::AtLeast => a >= b,
            Comparison::Below => a < b,
            Comparison::AtMost => a <= b,
        }
    }
}

/// What text says that there is no value, in small letters.
pub(crate) const NO_VALUE: [&str; 4] = ["", "nan", "null", "\\n"];

fn is_value(text: &str) -> bool {
    let text = text.trim();
    !NO_VALUE.iter().any(|none| text.eq_ignore_ascii_case(none))
}

impl ClickWhen {
    pub(crate) fn condition(&self) -> &Condition {
        &self.condition
    }

    pub(crate) fn column(&self) -> &str {
        &self.column
    }

    /// Whether numbers are needed.
    pub(super) fn compares(&self) -> bool {
        matches!(self.condition, Condition::Compares(..))
    }

    /// Whether a value makes a click; the fault where it cannot be compared.
    pub(super) fn holds(&self, value: &Value<'_>) -> Result<bool, Fault> {
        match value {
            Value::Missing => return Ok(false),
            Value::Text(text) if !is_value(text) => return Ok(false),
            Value::Float(value) if value.is_nan() => return Ok(false),
            _ => {}
        }
        match &self.condition {
            Condition::Present => Ok(!matches!(value, Value::List(values) if values.is_empty())),
            Condition::Compares(comparison, than) => {
                number(value).map(|number| comparison.holds(number, *than)).ok_or_else(|| self.not_comparable(value))
            }
            Condition::OneOf(names) => Ok(names.iter().any(|name| equals(value, name))),
            Condition::NoneOf(names) => Ok(!names.iter().any(|name| equals(value, name))),
        }
    }

    #[cold]
    fn not_comparable(&self, value: &Value<'_>) -> Fault {
        let finding = format!("{} is {}, but {self} needs a number", shown(&self.column), value.shown());
        Fault::new(BadKind::Click, finding)
    }
}

/// The finite number that a value is; true is 1.
fn number(value: &Value<'_>) -> Option<f64> {
    let number = match value {
        Value::Text(text) => number_of_text(text.trim()),
        Value::Integer(value) => Some(*value as f64),
        Value::Unsigned(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

fn number_of_text(text: &str) -> Option<f64> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(1.0),
        _ if text.eq_ignore_ascii_case("false") => Some(0.0),
        number => number.parse().ok(),
    }
}

/// Texts are equal as they are, without spaces around them; numbers by value, so that `1` is also `1.0`.
fn equals(value: &Value<'_>, name: &str) -> bool {
    let same_text = match value {
        Value::Text(text) => text.trim() == name,
        Value::Bool(value) => name == if *value { "true" } else { "false" },
        _ => false,
    };
    same_text || name.parse::<f64>().is_ok_and(|name| number(value) == Some(name))
}

impl fmt::Display for ClickWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = &self.column;
        match &self.condition {
            Condition::Present => write!(f, "{column} present"),
            Condition::Compares(comparison, than) => write!(f, "{column}{}{than}", comparison.sign()),
            Condition::OneOf(names) => write!(f, "{column}={}", names.join("|")),
            Condition::NoneOf(names) => write!(f, "{column}!={}", names.join("|")),
        }
    }
}

impl FromStr for ClickWhen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            let forms = "'dwell_time>0', 'action=click|purchase' or 'dwell_time present'";
            Error::parameter(format!("'{}' is no condition: {why}; one looks like {forms}", shown(text)))
        };
        let text = text.trim();
        let at = text.find(['<', '>', '=', '!']).unwrap_or(text.len());
        let signs = text[at..].find(|c| !"<>=!".contains(c)).unwrap_or(text.len() - at);
        let (column, sign, rest) = (text[..at].trim(), &text[at..at + signs], text[at + signs..].trim());
        let column =
            if sign.is_empty() { column.strip_suffix(" present").unwrap_or(column).trim_end() } else { column };
        if column.is_empty() {
            return Err(refuse("a column comes first"));
        }
        let compares = |comparison| match rest.parse::<f64>() {
            Ok(than) if than.is_finite() => Ok(Condition::Compares(comparison, than)),
            _ => Err(refuse(&format!("{sign} compares with a number"))),
        };
        let condition = match sign {
            "" => Condition::Present,
            ">" => compares(Comparison::Above)?,
            ">=" => compares(Comparison::AtLeast)?,
            "<" => compares(Comparison::Below)?,
            "<=" => compares(Comparison::AtMost)?,
            "=" | "==" => Condition::OneOf(names(rest).ok_or_else(|| refuse("a value is empty"))?),
            "!=" => Condition::NoneOf(names(rest).ok_or_else(|| refuse("a value is empty"))?),
            other => return Err(refuse(&format!("{other} is none of > >= < <= = !="))),
        };
        Ok(ClickWhen { column: column.to_string(), condition })
    }
}

/// The values between `|`; none if one is empty.
fn names(text: &str) -> Option<Vec<String>> {
    text.split('|').map(|name| Some(name.trim().to_string()).filter(|name| !name.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn when(text: &str) -> ClickWhen {
        text.parse().unwrap()
    }

    fn holds(rule: &str, value: &str) -> bool {
        when(rule).holds(&Value::Text(value.into())).unwrap()
    }

    #[test]
    fn conditions_are_read_and_print_back() {
        for text in ["dwell>0", "dwell>=0.5", "dwell<-1", "dwell<=7", "a=b|c", "a!=b", "dwell present"] {
            assert_eq!(when(text).to_string(), text);
            assert_eq!(when(&when(text).to_string()), when(text));
        }
        assert_eq!(when(" dwell time "), when("dwell time present"));
        assert_eq!(when("a == b | c"), when("a=b|c"));
        for (text, why) in [
            (">0", "a column comes first"),
            ("", "a column comes first"),
            ("dwell>", "> compares with a number"),
            ("dwell>long", "> compares with a number"),
            ("dwell>NaN", "> compares with a number"),
            ("dwell=>3", "=> is none of > >= < <= = !="),
            ("dwell!3", "! is none of"),
            ("a=", "a value is empty"),
            ("a=b||c", "a value is empty"),
        ] {
            let error = text.parse::<ClickWhen>().unwrap_err().to_string();
            assert!(error.starts_with('\'') && error.contains(why), "{error}");
        }
    }

    #[test]
    fn missing_values_are_never_clicks() {
        for rule in ["d>0", "d<5", "d=1", "d!=1", "d"] {
            assert!(["", " ", "NaN", "null", "NULL", "\\N"].iter().all(|value| !holds(rule, value)), "{rule}");
            assert!([Value::Missing, Value::Float(f64::NAN)].iter().all(|value| !when(rule).holds(value).unwrap()));
        }
    }

    #[test]
    fn numbers_compare_and_names_are_equal() {
        assert_eq!(["0", "0.1", " 3", "-1", "True"].map(|v| holds("d>0", v)), [false, true, true, false, true]);
        assert_eq!(["0", "1"].map(|v| holds("d>=1", v)), [false, true]);
        assert_eq!(["0", "1"].map(|v| holds("d<1", v)), [true, false]);
        assert_eq!(["1", "1.5"].map(|v| holds("d<=1", v)), [true, false]);
        assert_eq!(
            ["click", "purchase", "Click", "view"].map(|v| holds("a=click|purchase", v)),
            [true, true, false, false]
        );
        assert_eq!(["1", "1.0", "01", "2"].map(|v| holds("a=1", v)), [true, true, true, false]);
        assert_eq!(["skip", "click"].map(|v| holds("a!=skip", v)), [false, true]);
        assert!(holds("d present", "0") && holds("d", "x"));
        assert!(when("d=true").holds(&Value::Bool(true)).unwrap() && when("d>0").holds(&Value::Bool(true)).unwrap());
        let fault = when("d>0").holds(&Value::Text("long".into())).unwrap_err();
        assert_eq!(fault.finding, "d is long, but d>0 needs a number");
        assert!([Value::List(Vec::new()), Value::Float(f64::INFINITY)].iter().all(|v| when("d>0").holds(v).is_err()));
    }
}
