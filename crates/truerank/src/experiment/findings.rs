//! What came out of an experiment, for programs.

use serde_json::{Value, json};

use super::page::CLAIMS;
use super::{Claim, Results};

impl Results {
    /// Claims and tables, those of [`report`](Results::report) but for the table of claims: each verdict stands here once.
    pub fn to_json(&self) -> Value {
        let report = self.report();
        let mut tables = report.tables_json();
        tables.as_object_mut().map(|tables| tables.remove(CLAIMS));
        json!({
            "type": "truerank/report", "version": 2,
            "facts": report.facts.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>(),
            "missing_runs": self.missing().len(),
            "claims": self.claims().iter().map(claim_json).collect::<Vec<_>>(),
            "tables": tables,
        })
    }
}

fn claim_json(claim: &Claim) -> Value {
    let parts = claim.parts.iter().map(|part| {
        json!({
            "compared": part.what, "difference": part.difference, "half_width_95": part.half_width,
            "boundary": part.boundary, "p": part.p,
        })
    });
    json!({
        "question": claim.question.to_string(), "claim": claim.text, "of_the_paper": claim.of_the_paper,
        "verdict": claim.verdict().name().to_lowercase(), "p": claim.p(), "shown": claim.shown(),
        "unit": claim.unit, "comparisons": parts.collect::<Vec<_>>(),
    })
}
