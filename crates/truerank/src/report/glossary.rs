//! Words of the field to their explanations, for whoever meets them on a page for the first time.

use super::spans::Span;

/// Words with sentences of docs/glossary.md, which has them in their context.
static TERMS: [(&str, &str); 19] = [
    (
        "personalized bias",
        "users differ in how they examine and in what they search for. Then the correction for the average user is wrong for each \
         query, because those who ask it are not average users.",
    ),
    ("examination", "a user looks at a document. θ(u,k) is the probability that user u examines position k."),
    ("impressions", "one document on one page: it was shown at a position, and clicked or not."),
    (
        "exposure",
        "how many examinations a document is expected to have had: the sum of θ(u,k) over its impressions, E = Σ n·θ(u,k).",
    ),
    ("perplexity", "how well a model predicts clicks: 1 is perfect, 2 is a coin."),
    (
        "log-likelihood",
        "the mean logarithm of the probability that a model gave to what happened; closer to 0 is better.",
    ),
    (
        "permutation tests",
        "the difference is compared with those after shuffling labels (here: users over pages) at random.",
    ),
    ("p-value", "the probability of a difference at least this large if there were none."),
    ("effective sample sizes", "how many clicks of equal weight would be as uncertain: (Σw)²/Σw²."),
    (
        "held-out",
        "a part of the log (queries, pages, or its end in time) that is not learned from, so that it can judge what was learned.",
    ),
    ("estimator", "the formula that turns clicks into weights."),
    ("naive", "divides clicks by impressions"),
    ("ips-pbm", "corrects for the average user's examination (inverse propensity scoring)"),
    ("straightforward", "corrects each click for its own user"),
    ("user-aware", "divides clicks by exposure to the users of the query"),
    ("user-aware-smoothed", "is less certain about who these users are"),
    ("nDCG", "adds up gains of the first k documents, less for lower positions, and divides by the best possible sum."),
    ("ERR", "assumes a reader who goes down until satisfied."),
    ("ARP", "is the mean position of what is relevant: smaller is better."),
];

/// The explanation of a word, where a header or a label is nothing else: `nDCG@5`, `user-aware`.
pub fn tip(text: &str) -> Option<&'static str> {
    let word = text.split('@').next().unwrap_or(text).trim();
    TERMS.iter().find(|(term, _)| term.eq_ignore_ascii_case(word)).map(|(_, tip)| *tip)
}

/// A paragraph in which words that were not explained before carry their explanation.
pub fn explained(spans: Vec<Span>, seen: &mut Vec<&'static str>) -> Vec<Span> {
    spans.into_iter().flat_map(|span| if span.code { vec![span] } else { split(span, seen) }).collect()
}

fn split(span: Span, seen: &mut Vec<&'static str>) -> Vec<Span> {
    let found = TERMS.iter().filter(|(term, _)| !seen.contains(term));
    let first =
        found.filter_map(|(term, tip)| Some((position(&span.text, term)?, *term, *tip))).min_by_key(|found| found.0);
    let Some((start, term, tip)) = first else { return vec![span] };
    seen.push(term);
    let (before, rest) = span.text.split_at(start);
    let (word, after) = rest.split_at(term.len());
    let plain = |text: &str| Span { code: false, tip: None, text: text.to_string() };
    let mut out = vec![plain(before), Span { code: false, tip: Some(tip), text: word.to_string() }];
    out.extend(split(plain(after), seen));
    out.retain(|span| !span.text.is_empty());
    out
}

/// Where a word stands by itself.
fn position(text: &str, term: &str) -> Option<usize> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let starts = text.char_indices().map(|(at, _)| at);
    starts.into_iter().find(|&at| {
        let end = at + term.len();
        text.get(at..end).is_some_and(|word| word.eq_ignore_ascii_case(term))
            && !is_part(text[..at].chars().next_back())
            && !is_part(text[end..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::spans::spans;

    #[test]
    fn a_word_is_explained_once() {
        let mut seen = Vec::new();
        let found = explained(spans("`exposure`, Exposure, exposure and overexposure"), &mut seen);
        let tips: Vec<(bool, &str)> = found.iter().map(|span| (span.tip.is_some(), span.text.as_str())).collect();
        assert_eq!(
            tips,
            [(false, "exposure"), (false, ", "), (true, "Exposure"), (false, ", exposure and overexposure")]
        );
        assert!(explained(spans("exposure"), &mut seen).iter().all(|span| span.tip.is_none()));
        assert!(tip("nDCG@10").is_some() && tip("user-aware").is_some() && tip("users").is_none());
    }

    #[test]
    fn explanations_are_those_of_the_glossary() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/glossary.md");
        // Packages of the library come without the documents.
        let Ok(text) = std::fs::read_to_string(file) else { return };
        let plain = |text: &str| text.replace(['*', '`'], "").split_whitespace().collect::<Vec<_>>().join(" ");
        let glossary = plain(&text).to_lowercase();
        for (term, tip) in TERMS {
            let singular = term.trim_end_matches('s').to_lowercase();
            assert!(glossary.contains(&singular), "the glossary has no {term}");
            assert!(glossary.contains(&plain(tip).to_lowercase()), "the glossary does not say of {term}: {tip}");
        }
    }
}
