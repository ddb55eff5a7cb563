//! Click models as JSON.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Browsing, ClickModel, DocumentParameters, KnownUser, OfUsers, UserKind};
use crate::files::table::FileType;
use crate::files::{Beside, Limit, lines_of_json, read_json, seal_json, write_file};
use crate::ids::{Ids, Interner};
use crate::propensity::Fit;
use crate::{Error, Result};

const FILE_TYPE: FileType = FileType { name: "truerank/click-model", version: 1 };

#[derive(Serialize, Deserialize)]
struct Document {
    r#type: Option<String>,
    version: Option<u64>,
    positions: usize,
    kinds: Vec<KindRow>,
    fit: FitRecord,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    unseen_attraction: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unseen_satisfaction: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    users: Vec<UserRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    contexts: Vec<ContextRow>,
    queries: Vec<QueryRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beside: Option<Beside>,
}

#[derive(Serialize, Deserialize)]
struct KindRow {
    model: String,
    share: f64,
    users: usize,
    parameters: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct FitRecord {
    converged: bool,
    log_likelihood: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct UserRow {
    user: Id,
    /// The kind, where it is known; counted from 1, as people name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parameters: Option<Vec<f64>>,
    /// The probability of each kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kinds: Option<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
struct ContextRow {
    context: Id,
    parameters: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct QueryRow {
    query: Id,
    docs: Vec<Id>,
    attraction: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    satisfaction: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Id {
    Integer(i64),
    Text(String),
}

impl Id {
    fn of(ids: &Ids, number: usize) -> Self {
        match ids {
            Ids::Integers(values) => Id::Integer(values[number]),
            Ids::Texts(texts) => Id::Text(texts.get(number).to_string()),
        }
    }

    fn number(&self, ids: &mut Interner) -> u32 {
        match self {
            Id::Integer(value) => ids.integer(*value),
            Id::Text(text) => ids.text(text),
        }
    }
}

impl ClickModel {
    /// Writes it as JSON, one line for each field, kind, user and query.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.write_document(path, None)
    }

    /// Writes it as [`write`](ClickModel::write) does, after another result of the same run, a file or a folder of counts: it is
    /// not read beside one of another run.
    pub fn write_beside(&self, path: &Path, other: &Path) -> Result<()> {
        self.write_document(path, Some(Beside::of(other)?))
    }

    fn write_document(&self, path: &Path, beside: Option<Beside>) -> Result<()> {
        let document = Document { beside, ..self.to_document() };
        let text = lines_of_json(&document).map_err(|e| Error::input(path, e.to_string()))?;
        write_file(path, &seal_json(&text))
    }

    /// Reads what [`write`](ClickModel::write) wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let document: Document = read_json(path, Limit::Data, &FILE_TYPE)?;
        document.beside.as_ref().map_or(Ok(()), |beside| beside.check(path))?;
        let model = document.into_model().map_err(|finding| Error::input(path, finding))?;
        model.check().map_err(|e| Error::input(path, e.to_string()))?;
        Ok(model)
    }

    fn to_document(&self) -> Document {
        let kind = |kind: &UserKind| KindRow {
            model: kind.browsing.kind.to_string(),
            share: kind.share,
            users: kind.users,
            parameters: kind.browsing.values.clone(),
        };
        let row = |values: &[f64], user: usize, width: usize| values[user * width..][..width].to_vec();
        let user = |user: usize| UserRow {
            user: Id::of(&self.users, user),
            kind: match &self.of_users {
                OfUsers::Known(users) => Some(users[user].kind + 1),
                _ => None,
            },
            parameters: match &self.of_users {
                OfUsers::Parameters(values) => Some(row(values, user, self.width())),
                OfUsers::Known(users) => users[user].values.clone(),
                _ => None,
            },
            kinds: match &self.of_users {
                OfUsers::Shares(values) => Some(row(values, user, self.kinds.len())),
                _ => None,
            },
        };
        let context = |context: usize| ContextRow {
            context: Id::of(&self.contexts, context),
            parameters: row(&self.of_contexts, context, self.width()),
        };
        let query = |documents: &[DocumentParameters]| QueryRow {
            query: Id::of(&self.queries, documents[0].query as usize),
            docs: documents.iter().map(|document| Id::of(&self.docs, document.doc as usize)).collect(),
            attraction: documents.iter().map(|document| document.attraction).collect(),
            satisfaction: documents.iter().filter_map(|document| document.satisfaction).collect(),
        };
        Document {
            r#type: Some(FILE_TYPE.name.to_string()),
            version: Some(u64::from(FILE_TYPE.version)),
            positions: self.positions(),
            kinds: self.kinds.iter().map(kind).collect(),
            fit: FitRecord { converged: self.fit.converged, log_likelihood: self.fit.log_likelihood.clone() },
            notes: self.notes.clone(),
            unseen_attraction: self.unseen_attraction.clone(),
            unseen_satisfaction: self.unseen_satisfaction.clone(),
            users: (0..self.users.len()).map(user).collect(),
            contexts: (0..self.contexts.len()).map(context).collect(),
            queries: self.documents.chunk_by(|a, b| a.query == b.query).map(query).collect(),
            beside: None,
        }
    }
}

impl Document {
    fn into_model(self) -> Result<ClickModel, String> {
        let positions = self.positions;
        let kind = |row: KindRow| -> Result<UserKind, String> {
            let kind = row.model.parse().map_err(|e: Error| e.to_string())?;
            let browsing = Browsing { kind, positions, values: row.parameters };
            Ok(UserKind { browsing, share: row.share, users: row.users })
        };
        let kinds = self.kinds.into_iter().map(kind).collect::<Result<Vec<_>, _>>()?;
        let (users, of_users) = users(self.users)?;
        let (contexts, of_contexts) = contexts(self.contexts)?;
        let (queries, docs, documents) = documents(self.queries)?;
        Ok(ClickModel {
            kinds,
            users,
            of_users,
            contexts,
            of_contexts,
            queries,
            docs,
            documents,
            unseen_attraction: self.unseen_attraction,
            unseen_satisfaction: self.unseen_satisfaction,
            fit: Fit { log_likelihood: self.fit.log_likelihood, converged: self.fit.converged },
            notes: self.notes,
        })
    }
}

/// Users as they are in the file, with parameters, with kinds or of a kind: all the same.
fn users(rows: Vec<UserRow>) -> Result<(Ids, OfUsers), String> {
    let (mut ids, mut of_users) = (Interner::default(), OfUsers::Alike);
    for (number, row) in rows.iter().enumerate() {
        if row.user.number(&mut ids) as usize != number {
            return Err(format!("user number {} is there twice, but should be once", number + 1));
        }
        let own = match (&row.parameters, &row.kinds, row.kind.map(|kind| kind.checked_sub(1))) {
            (Some(values), None, None) => OfUsers::Parameters(values.clone()),
            (None, Some(values), None) => OfUsers::Shares(values.clone()),
            (values, None, Some(Some(kind))) => OfUsers::Known(vec![KnownUser { kind, values: values.clone() }]),
            (_, None, Some(None)) => {
                return Err(format!("the kind of user number {} is 0, but starts at 1", number + 1));
            }
            _ => return Err(format!("user number {} should have parameters, kinds or a kind", number + 1)),
        };
        match (&mut of_users, own) {
            (OfUsers::Alike, own) if number == 0 => of_users = own,
            (OfUsers::Parameters(all), OfUsers::Parameters(own)) | (OfUsers::Shares(all), OfUsers::Shares(own)) => {
                all.extend(own);
            }
            (OfUsers::Known(all), OfUsers::Known(own)) => all.extend(own),
            _ => return Err("some users have parameters, others kinds, but all should have the same".to_string()),
        }
    }
    Ok((ids.into_ids(), of_users))
}

/// Contexts as they are in the file, with their parameters.
fn contexts(rows: Vec<ContextRow>) -> Result<(Ids, Vec<f64>), String> {
    let (mut ids, mut values, mut width) = (Interner::default(), Vec::new(), None);
    for (number, row) in rows.into_iter().enumerate() {
        if row.context.number(&mut ids) as usize != number {
            return Err(format!("context number {} is there twice, but should be once", number + 1));
        }
        if *width.get_or_insert(row.parameters.len()) != row.parameters.len() {
            return Err(format!("context number {} has another number of parameters than the first", number + 1));
        }
        values.extend(row.parameters);
    }
    Ok((ids.into_ids(), values))
}

/// Documents by the order of ids.
fn documents(rows: Vec<QueryRow>) -> Result<(Ids, Ids, Vec<DocumentParameters>), String> {
    let (mut queries, mut docs, mut found) = (Interner::default(), Interner::default(), Vec::new());
    for row in rows {
        let query = row.query.number(&mut queries);
        let lengths =
            [row.attraction.len(), if row.satisfaction.is_empty() { row.docs.len() } else { row.satisfaction.len() }];
        if lengths != [row.docs.len(); 2] {
            return Err(format!("query number {} should have one attraction for each document", query + 1));
        }
        for (number, doc) in row.docs.iter().enumerate() {
            found.push(DocumentParameters {
                query,
                doc: doc.number(&mut docs),
                attraction: row.attraction[number],
                satisfaction: row.satisfaction.get(number).copied(),
            });
        }
    }
    let ((queries, query_numbers), (docs, doc_numbers)) = (queries.into_sorted(), docs.into_sorted());
    for document in &mut found {
        (document.query, document.doc) = (query_numbers[document.query as usize], doc_numbers[document.doc as usize]);
    }
    found.sort_by_key(|document| (document.query, document.doc));
    Ok((queries, docs, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click_model::testing::{World, by_context, random_browsing};
    use crate::click_model::{ClickModelKind, ClickModelOptions};
    use crate::progress::Silent;
    use crate::random::stream;

    fn models() -> Vec<ClickModel> {
        let browsing = random_browsing(ClickModelKind::Dbn, 4, &mut stream(1, "test", 0));
        let world = World::new(2, 4, vec![browsing; 6], 1);
        let (log, in_contexts) = (world.log(600, 1), by_context(&world, &world.pages(600, 1)));
        let options = ClickModelOptions::new().iterations(20);
        let choices = [
            options.clone().model(vec![ClickModelKind::Dbn]),
            options.clone().model(vec![ClickModelKind::Ubm]).per_user(true),
            options.clone().model(vec![ClickModelKind::Ccm]).clusters(2),
            options.model(vec![ClickModelKind::Pbm, ClickModelKind::Sdbn]),
        ];
        let dcm = ClickModelOptions::new().iterations(20).model(vec![ClickModelKind::Dcm]);
        let of_contexts = dcm.fit(&in_contexts.view(), None, &Silent).unwrap();
        let of_users = choices.iter().map(|options| options.fit(&log.view(), None, &Silent).unwrap());
        of_users.chain([of_contexts]).collect()
    }

    #[test]
    fn what_is_written_is_read_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("click-model.json");
        for model in models() {
            model.write(&path).unwrap();
            assert_eq!(ClickModel::read(&path).unwrap(), model);
        }
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("click-model.json");
        models()[1].write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let refused = |text: String| {
            std::fs::write(&path, text).unwrap();
            ClickModel::read(&path).unwrap_err().to_string()
        };
        assert!(refused(text.replacen("\"ubm\"", "\"pbm\"", 1)).contains("its seal does not fit"));
        let open = |from: &str, to: &str| {
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            value.as_object_mut().unwrap().remove(crate::files::SEAL_KEY);
            refused(value.to_string().replacen(from, to, 1))
        };
        assert!(open("truerank/click-model", "truerank/propensities").contains("truerank/click-model"));
        assert!(open("\"version\":1", "\"version\":9").contains("has version 9"));
        assert!(open("\"ubm\"", "\"xyz\"").contains("'xyz' is not a click model; known are pbm, ubm"));
        assert!(open("\"ubm\"", "\"pbm\"").contains("pbm should have 4 parameters, but has 10"));
        assert!(
            open("\"unseen_attraction\":[", "\"unseen_attraction\":[7.0,").contains("between 0 and 1, but one is 7")
        );
        assert!(open("\"user\":2", "\"user\":1").contains("is there twice"));
        models()[4].write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let open = |from: &str, to: &str| {
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            value.as_object_mut().unwrap().remove(crate::files::SEAL_KEY);
            refused(value.to_string().replacen(from, to, 1))
        };
        assert!(open("\"context\":2", "\"context\":1").contains("context number 2 is there twice"));
        let longer = "\"context\":2,\"parameters\":[0.5,";
        assert!(open("\"context\":2,\"parameters\":[", longer).contains("another number of parameters"));
        let users = "\"users\":[{\"user\":1,\"parameters\":[0.1,0.1,0.1,0.1]}],\"contexts\":[";
        assert!(open("\"contexts\":[", users).contains("one kind of users, who are alike"));
    }
}
