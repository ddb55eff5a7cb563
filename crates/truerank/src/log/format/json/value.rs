//! One JSON object to the values of some of its keys.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::log::record::Value;
use crate::log::values::shown;

/// The values of `names`, missing where the object has no such key; the error is a finding.
pub(super) fn read_object<'a>(text: &'a str, names: &[String]) -> Result<Vec<Value<'a>>, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let values = ObjectSeed(names).deserialize(&mut reader).and_then(|values| reader.end().map(|()| values));
    values.map_err(|error| describe(text, &error))
}

/// The keys of an object; none where it is no object.
pub(super) fn read_keys(text: &str) -> Option<Vec<String>> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    Some(object.into_iter().map(|(key, _)| key).collect())
}

/// The values of a JSON array in a text; none where it is no array.
pub(in crate::log) fn parse_list<'b>(text: &str) -> Option<Vec<Value<'b>>> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = ValueSeed.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    match value {
        Value::List(values) => Some(values.into_iter().map(Value::into_owned).collect()),
        _ => None,
    }
}

/// Marks findings of our own among the parser's.
const OURS: &str = "truerank: ";

fn describe(text: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    if let Some(start) = message.find(OURS) {
        let end = message.rfind(" at line ").unwrap_or(message.len());
        return message[start + OURS.len()..end].to_string();
    }
    match error.classify() {
        serde_json::error::Category::Eof => "is not whole JSON; each line holds one object, to its end".to_string(),
        serde_json::error::Category::Data => format!("is {}, but a record is a JSON object", shown(text.trim())),
        _ => {
            format!("is not JSON ({} at character {})", message.split(" at line ").next().unwrap_or(""), error.column())
        }
    }
}

struct ObjectSeed<'n>(&'n [String]);

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_> {
    type Value = Vec<Value<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_> {
    type Value = Vec<Value<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values: Vec<Option<Value<'de>>> = vec![None; self.0.len()];
        while let Some(Key(key)) = map.next_key_seed(KeySeed)? {
            let Some(column) = self.0.iter().position(|name| *name == key) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if values[column].is_some() {
                return Err(A::Error::custom(format!(
                    "{OURS}has two values of '{}', but keys must differ",
                    shown(&key)
                )));
            }
            values[column] = Some(map.next_value_seed(ValueSeed)?);
        }
        Ok(values.into_iter().map(|value| value.unwrap_or(Value::Missing)).collect())
    }
}

struct Key<'de>(Cow<'de, str>);
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Owned(text.to_string())))
    }
}

struct ValueSeed;

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Missing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(value).map_or(Value::Unsigned(value), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(text.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(ValueSeed)? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }
}
