//! One line of a dump: bytes enter, a query or an event leaves.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::error::Place;

/// A document of `ubi_queries`, as far as impressions need it.
#[derive(Debug, Deserialize)]
pub(super) struct Query {
    #[serde(alias = "queryId")]
    query_id: Option<Id>,
    #[serde(alias = "userQuery")]
    user_query: Option<String>,
    #[serde(alias = "clientId")]
    client_id: Option<Id>,
    #[serde(alias = "sessionId")]
    session_id: Option<Id>,
    #[serde(alias = "query_response_object_ids", alias = "query_response_objects_ids")]
    query_response_hit_ids: Option<Hits>,
}

impl Query {
    pub(super) fn id(&self) -> Option<String> {
        text(&self.query_id)
    }

    /// What the user typed, if anything.
    pub(super) fn text(&self) -> Option<&str> {
        self.user_query.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn user(&self) -> Option<String> {
        text(&self.client_id).or_else(|| text(&self.session_id))
    }

    /// The documents in the order of the results; none where the query does not tell.
    pub(super) fn hits(&self) -> Vec<String> {
        match &self.query_response_hit_ids {
            None => Vec::new(),
            Some(Hits::Many(hits)) => hits.iter().filter_map(text).collect(),
            Some(Hits::One(hit)) => vec![hit.to_string()],
        }
    }
}

/// A document of `ubi_events`, as far as impressions need it.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    action_name: Option<String>,
    query_id: Option<Id>,
    event_attributes: Option<Attributes>,
}

#[derive(Debug, Deserialize)]
struct Attributes {
    object: Option<Object>,
    position: Option<Position>,
}

#[derive(Debug, Deserialize)]
struct Object {
    object_id: Option<Id>,
}

#[derive(Debug, Deserialize)]
struct Position {
    #[serde(alias = "index")]
    ordinal: Option<serde_json::Value>,
}

impl Event {
    pub(super) fn action(&self) -> &str {
        self.action_name.as_deref().unwrap_or_default()
    }

    pub(super) fn query_id(&self) -> Option<String> {
        text(&self.query_id)
    }

    pub(super) fn object(&self) -> Option<String> {
        text(&self.event_attributes.as_ref()?.object.as_ref()?.object_id)
    }

    /// The position as the application counts it, also from text.
    pub(super) fn ordinal(&self) -> Option<u32> {
        let value = self.event_attributes.as_ref()?.position.as_ref()?.ordinal.as_ref()?;
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
        let whole = number.fract() == 0.0 && (0.0..=f64::from(super::super::MAX_POSITION)).contains(&number);
        whole.then_some(number as u32)
    }
}

/// An id, as text or as a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Integer(i64),
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::Text(text) => f.write_str(text),
            Id::Integer(value) => write!(f, "{value}"),
        }
    }
}

/// An array of one is sometimes written as its element.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Hits {
    Many(Vec<Option<Id>>),
    One(Id),
}

fn text(id: &Option<Id>) -> Option<String> {
    id.as_ref().map(ToString::to_string).filter(|text| !text.is_empty())
}

/// A document, or one in the envelope of a dump.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line<T> {
    Wrapped {
        _source: T,
    },
    /// The first line of a pair in a bulk request: it says where to, not what.
    Bulk {
        #[serde(rename = "index", alias = "create")]
        _target: Target,
    },
    Bare(T),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "fields are named so that nothing else passes for a bulk request")]
struct Target {
    _index: Option<String>,
    _id: Option<String>,
    routing: Option<String>,
}

/// The document of a line; none where the line only names an index.
pub(super) fn parse<T: DeserializeOwned>(place: &Place, line: &[u8]) -> Result<Option<T>> {
    let value: serde_json::Value = serde_json::from_slice(line).map_err(|e| {
        place
            .clone()
            .error(format!("is not JSON ({e}), but every line holds one document; dump the index as JSON lines"))
    })?;
    match serde_json::from_value(value) {
        Ok(Line::Wrapped { _source: document } | Line::Bare(document)) => Ok(Some(document)),
        Ok(Line::Bulk { .. }) => Ok(None),
        Err(_) => Err(place
            .clone()
            .error("is not a document of UBI: ids should be text or numbers, names and queries text, hits a list")),
    }
}
