//! What came out of an experiment, for programs.

use serde_json::{Value, json};

use super::{Claim, Results};

impl Results {
    /// Claims and tables, those of [`report`](Results::report).
    pub fn to_json(&self) -> Value {
        let report = self.report();
        json!({
            "type": "truerank/report", "version": 1,
            "facts": report.facts.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>(),
            "missing_runs": self.missing().len(),
            "claims": self.claims().iter().map(claim_json).collect::<Vec<_>>(),
            "tables": report.tables_json(),
        })
    }
}

fn claim_json(claim: &Claim) -> Value {
    let parts = claim
        .parts
        .iter()
        .map(|part| json!({ "compared": part.what, "difference": part.difference, "p": part.p, "holds": part.holds }));
    json!({
        "question": claim.question.to_string(), "claim": claim.text, "of_the_paper": claim.of_the_paper,
        "holds": claim.holds(), "p": claim.p(), "unit": claim.unit, "comparisons": parts.collect::<Vec<_>>(),
    })
}
