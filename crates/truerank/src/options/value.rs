//! Types that options have: texts enter, values leave, and back.

use std::path::PathBuf;

/// What an option holds, for whoever asks for it: a flag of a terminal, a keyword of Python, a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number that is at least 0.
    Whole,
    /// A number.
    Number,
    /// Text of a form that the help says.
    Text,
    /// The same, or a number.
    TextOrNumber,
    /// Names, each with a value: `user=client_id`.
    Mapping,
    /// A file or folder.
    Path,
    /// One of these names.
    Choice(Vec<&'static str>),
}

/// A type that an option can have.
pub trait OptionValue: Clone + PartialEq + Sized {
    /// What a setter takes: of `Option<T>`, which is none by default, `T`.
    type Given;

    /// The value that a setter was given.
    fn given(value: Self::Given) -> Self;

    /// What it holds.
    fn kind() -> Kind;

    /// Whether there may be several.
    fn is_list() -> bool {
        false
    }

    /// The value of a text, of several for a list; else what is wrong with it, after the option's name.
    fn from_texts(texts: &[String]) -> Result<Self, String>;

    /// The texts from which the value can be made again; none where there is no value.
    fn to_texts(&self) -> Vec<String>;
}

/// What a text should have been.
pub(super) fn should_be(text: &str, rule: &str) -> String {
    format!(" is '{text}', but should be {rule}")
}

fn only(texts: &[String]) -> Result<&str, String> {
    match texts {
        [text] => Ok(text),
        _ => Err(format!(" has {} values, but should have one", texts.len())),
    }
}

/// Options of types with a text form: `FromStr` and `Display`.
macro_rules! plain_values {
    ($($kind:ident $rule:literal: $($type:ty)+;)+) => {$($(
        impl OptionValue for $type {
            type Given = $type;

            fn given(value: $type) -> Self {
                value
            }

            fn kind() -> Kind {
                Kind::$kind
            }

            fn from_texts(texts: &[String]) -> Result<Self, String> {
                let text = only(texts)?;
                text.parse().map_err(|_| should_be(text, $rule))
            }

            fn to_texts(&self) -> Vec<String> {
                vec![self.to_string()]
            }
        }
    )+)+};
}

plain_values! {
    Flag "true or false": bool;
    Whole "a whole number": u8 u16 u32 u64 usize;
    Number "a number": f32 f64;
    Text "one character": char;
    Text "text": String;
}

impl OptionValue for PathBuf {
    type Given = PathBuf;

    fn given(value: PathBuf) -> Self {
        value
    }

    fn kind() -> Kind {
        Kind::Path
    }

    fn from_texts(texts: &[String]) -> Result<Self, String> {
        only(texts).map(PathBuf::from)
    }

    fn to_texts(&self) -> Vec<String> {
        vec![self.to_string_lossy().into_owned()]
    }
}

impl<T: OptionValue> OptionValue for Option<T> {
    type Given = T;

    fn given(value: T) -> Self {
        Some(value)
    }

    fn kind() -> Kind {
        T::kind()
    }

    fn is_list() -> bool {
        T::is_list()
    }

    fn from_texts(texts: &[String]) -> Result<Self, String> {
        if texts.is_empty() { Ok(None) } else { T::from_texts(texts).map(Some) }
    }

    fn to_texts(&self) -> Vec<String> {
        self.as_ref().map_or_else(Vec::new, T::to_texts)
    }
}

impl<T: OptionValue> OptionValue for Vec<T> {
    type Given = Vec<T>;

    fn given(value: Vec<T>) -> Self {
        value
    }

    fn kind() -> Kind {
        T::kind()
    }

    fn is_list() -> bool {
        true
    }

    fn from_texts(texts: &[String]) -> Result<Self, String> {
        texts.iter().map(|text| T::from_texts(std::slice::from_ref(text))).collect()
    }

    fn to_texts(&self) -> Vec<String> {
        self.iter().flat_map(T::to_texts).collect()
    }
}

/// Lets types with `FromStr<Err = crate::Error>` and `Display` be options: `option_value!(Measure: Kind::Text)`.
macro_rules! option_value {
    ($($type:ty: $kind:expr),+ $(,)?) => {$(
        impl $crate::options::OptionValue for $type {
            type Given = $type;

            fn given(value: $type) -> Self {
                value
            }

            fn kind() -> $crate::options::Kind {
                #[allow(unused_imports)]
                use $crate::options::Kind;
                $kind
            }

            fn from_texts(texts: &[String]) -> std::result::Result<Self, String> {
                let text = <String as $crate::options::OptionValue>::from_texts(texts)?;
                text.parse::<$type>().map_err(|error| format!(": {error}"))
            }

            fn to_texts(&self) -> Vec<String> {
                vec![self.to_string()]
            }
        }
    )+};
}
pub(crate) use option_value;
