//! Relevance as judgments of search tools: weights enter, a file that Quepid or OpenSearch's Search Relevance Workbench imports leaves.
//!
//! Judgments are what these tools measure rankings by. Ids of queries and documents are written as the log has them, so a log should
//! have the texts of queries and the tool's own ids of documents.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::{Export, LabelForm, LabelSummary, Labels, Trees};
use crate::files::AtomicFile;
use crate::log::push_field;
use crate::relevance::Relevance;
use crate::{Error, Result};

/// Quepid's CSV: `query,docid,rating`, where a rating is a whole number from 0 to the highest grade.
pub(super) fn write_quepid(relevance: &Relevance, options: &Export, path: &Path) -> Result<LabelSummary> {
    let labels = options.grades()?;
    let mut text = b"query,docid,rating\n".to_vec();
    for found in &relevance.weights {
        push_field(&mut text, &relevance.queries.name(found.query as usize), b',');
        text.push(b',');
        push_field(&mut text, &relevance.docs.name(found.doc as usize), b',');
        text.extend_from_slice(format!(",{}\n", labels.label(found.weight)).as_bytes());
    }
    write(path, &text)?;
    Ok(summary(relevance))
}

/// The body of a request to the Search Relevance Workbench (`PUT _plugins/_search_relevance/judgments`): for each query its documents,
/// rated by their relevance, from 0 to 1. One query is in memory at a time.
pub(super) fn write_workbench(relevance: &Relevance, options: &Export, path: &Path) -> Result<LabelSummary> {
    let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = options.name.clone().or_else(stem).unwrap_or_default();
    let description = format!("Relevance by {}, from clicks, by truerank", relevance.estimator);
    let mut text = format!(
        "{{\"name\":{},\"description\":{},\"type\":\"IMPORT_JUDGMENT\",\"judgmentRatings\":[",
        json!(name),
        json!(description)
    );
    for (number, list) in relevance.weights.chunk_by(|a, b| a.query == b.query).enumerate() {
        let rating = |weight: f64| format!("{:.4}", weight.clamp(0.0, 1.0));
        let of = |doc: u32| relevance.docs.name(doc as usize);
        let ratings = list.iter().map(|found| json!({ "docId": of(found.doc), "rating": rating(found.weight) }));
        let query = relevance.queries.name(list[0].query as usize);
        let judged = json!({ "query": query, "ratings": ratings.collect::<Vec<_>>() });
        text += if number == 0 { "\n" } else { ",\n" };
        text += &judged.to_string();
    }
    text += "\n]}\n";
    write(path, text.as_bytes())?;
    Ok(summary(relevance))
}

impl Export {
    /// Whole grades, as people give them.
    fn grades(&self) -> Result<Labels> {
        let labels = Labels::new(Trees::LightGbm).form(LabelForm::Steps(1));
        let labels = labels.max_grade(self.max_grade).click_noise(self.click_noise);
        labels.check()?;
        Ok(labels)
    }
}

fn summary(relevance: &Relevance) -> LabelSummary {
    let queries = relevance.weights.chunk_by(|a, b| a.query == b.query).count();
    let cut = relevance.weights.iter().filter(|found| found.weight > 1.0).count();
    LabelSummary { queries, documents: relevance.weights.len(), cut, ..LabelSummary::default() }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|error| Error::io(path, error))?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Ids;
    use crate::relevance::Weight;

    fn texts(texts: &[&str]) -> Ids {
        let mut ids = Ids::default();
        texts.iter().for_each(|text| ids.push_text(text));
        ids
    }

    fn relevance() -> Relevance {
        let weight = |query, doc, weight| {
            let (impressions, clicks, exposure, divisor, variance) = (10, 1, 5.0, 5.0, 0.1);
            Weight { query, doc, weight, impressions, clicks, exposure, divisor, variance }
        };
        Relevance {
            estimator: "user-aware".into(),
            queries: texts(&["red, dress", "shoes"]),
            docs: texts(&["a\"1", "b"]),
            weights: vec![weight(0, 0, 0.5), weight(0, 1, 1.2), weight(1, 1, 0.1)],
            ..Relevance::default()
        }
    }

    #[test]
    fn quepid_gets_whole_ratings() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ratings.csv");
        let summary = write_quepid(&relevance(), &Export::new().max_grade(3), &path).unwrap();
        // 3 · 0.5 is rounded up, what is above 1 has the highest grade, 3 · 0.1 is rounded down.
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "query,docid,rating\n\"red, dress\",\"a\"\"1\",2\n\"red, dress\",b,3\nshoes,b,0\n");
        assert_eq!((summary.queries, summary.documents, summary.cut), (2, 3, 1));
        // A grade that is found relevant half of the time by chance is no grade: 3 · (0.5 − 0.5) / (1 − 0.5) = 0.
        write_quepid(&relevance(), &Export::new().max_grade(3).click_noise(0.5), &path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"a\"\"1\",0\n"));
    }

    #[test]
    fn the_workbench_gets_a_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("june.json");
        write_workbench(&relevance(), &Export::new(), &path).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((&found["name"], &found["type"]), (&json!("june"), &json!("IMPORT_JUDGMENT")));
        let ratings = json!([{ "docId": "a\"1", "rating": "0.5000" }, { "docId": "b", "rating": "1.0000" }]);
        assert_eq!(found["judgmentRatings"][0], json!({ "query": "red, dress", "ratings": ratings }));
        assert_eq!(found["judgmentRatings"][1]["ratings"][0]["rating"], "0.1000");
        let named = Export { name: Some("mine".into()), ..Export::new() };
        write_workbench(&relevance(), &named, &path).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("{\"name\":\"mine\","));
    }
}
