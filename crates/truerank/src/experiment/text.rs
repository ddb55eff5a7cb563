//! Values with a text form, written and read as that text.

/// For a field whose value prints and parses.
pub mod one {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err = crate::Error>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// For a list of them.
pub mod many {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(ToString::to_string))
    }

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr<Err = crate::Error>,
        D: Deserializer<'de>,
    {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
    }
}

/// For the scaling of features, which older files call `standardise`, true or false.
pub mod scaling {
    use serde::{Deserialize, Deserializer};

    pub use super::one::serialize;
    use crate::ranker::FeatureScaling;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Name(String),
        Standardise(bool),
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FeatureScaling, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Name(name) => name.parse().map_err(serde::de::Error::custom),
            Written::Standardise(false) => Ok(FeatureScaling::Paper),
            Written::Standardise(true) => {
                Err(serde::de::Error::custom("`standardise` is now `scaling`; for features of one scale, \"standard\""))
            }
        }
    }
}
