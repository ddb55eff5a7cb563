//! Linear rankers as the JSON that the learning-to-rank plugins of Elasticsearch and OpenSearch take.

use std::path::Path;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::Export;
use crate::files::write_file;
use crate::ranker::{Model, Ranker};
use crate::{Error, Result};

impl Ranker {
    /// The body of a request that creates the model `name` from a feature set: `model/linear`, a weight per feature.
    ///
    /// `features` are the names of the features in the order of the data. The plugin knows no bias, so scores differ from
    /// ours by a constant and rank alike. Only rankers of plain weights can be written: layer norm divides by the spread
    /// of a document's own features, which no fixed weights can do.
    pub fn to_linear_model(&self, name: &str, features: &[String]) -> Result<Value> {
        let Model::Weights { weights, .. } = &self.model else {
            return Err(Error::parameter(
                "model/linear weighs raw features, but this ranker normalises each document's features first; \
                 train the model linear-raw or svm-rank, or export it to ONNX",
            ));
        };
        check_names(features, weights.len())?;
        let definition: Map<String, Value> =
            features.iter().cloned().zip(weights.iter().map(|&weight| shortest(weight))).collect();
        Ok(json!({ "model": { "name": name, "model": { "type": "model/linear", "definition": definition } } }))
    }
}

/// Writes [`Ranker::to_linear_model`]. Without a name it is that of the file; without names of features they are f1, f2, ….
pub(super) fn write(ranker: &Ranker, export: &Export, path: &Path) -> Result<String> {
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = export.name.clone().unwrap_or_else(stem);
    let numbered = || (1..=ranker.feature_count()).map(|number| format!("f{number}")).collect();
    let model = ranker.to_linear_model(&name, &export.feature_names.clone().unwrap_or_else(numbered))?;
    write_file(path, format!("{model:#}\n").as_bytes())?;
    Ok(format!("model/linear '{name}'"))
}

/// The number with the fewest digits that reads back as `value` in single precision.
fn shortest(value: f32) -> Value {
    value.to_string().parse::<f64>().unwrap_or(f64::from(value)).into()
}

fn check_names(names: &[String], count: usize) -> Result<()> {
    if names.len() != count {
        return Err(Error::parameter(format!("there are {} feature names for {count} features", names.len())));
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| name.trim().is_empty() || !seen.insert(*name)) {
        Some(name) => Err(Error::parameter(format!(
            "feature names should be distinct and not empty, but '{name}' is empty or stands twice"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Architecture, Network};
    use crate::ranker::TrainingRecord;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn weights_stand_by_their_features() {
        let model = Model::Weights { weights: vec![0.1, -2.0], bias: 3.0 };
        let ranker = Ranker { model, record: TrainingRecord::default() };
        let body = ranker.to_linear_model("clicks", &names(&["title", "age"])).unwrap();
        let expected =
            r#"{"model":{"name":"clicks","model":{"type":"model/linear","definition":{"title":0.1,"age":-2.0}}}}"#;
        assert_eq!(body.to_string(), expected);
        let refused = |list: &[&str]| ranker.to_linear_model("clicks", &names(list)).unwrap_err().to_string();
        assert_eq!(refused(&["title"]), "there are 1 feature names for 2 features");
        assert!(refused(&["title", "title"]).contains("'title' is empty or stands twice"));
        assert!(refused(&["title", " "]).contains("' ' is empty"));
    }

    #[test]
    fn a_normalising_ranker_is_refused_with_a_way_out() {
        let model = Model::Network(Network::new(Architecture::Linear, 2, 1).unwrap());
        let ranker = Ranker { model, record: TrainingRecord::default() };
        let message = ranker.to_linear_model("clicks", &names(&["a", "b"])).unwrap_err().to_string();
        assert!(message.contains("train the model linear-raw"), "{message}");
    }
}
