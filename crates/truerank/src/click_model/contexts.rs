//! Which contexts and positions documents compare: a log whose lists have contexts enters, a sentence on what they do not leaves.
//!
//! In slot models examination in one context says something about that in another only through a document that was shown in both, or
//! through others that link them. What nothing links, the prior alone settles.

use std::collections::BTreeMap;

use super::kind::Family;
use super::{ClickLog, ClickModelKind};
use crate::log::shown;

/// Names that are listed at most.
const FEW: usize = 5;

/// The contexts that no documents link to the largest part of all, in a sentence; nothing where all are linked, or where the model
/// needs no link.
pub(super) fn linked_contexts(kind: ClickModelKind, log: &ClickLog<'_>) -> Option<String> {
    if kind.family() == Family::Cascade {
        return None;
    }
    let groups = groups(log);
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    groups.iter().for_each(|group| *sizes.entry(*group).or_default() += 1);
    let largest =
        sizes.iter().max_by_key(|(group, size)| (**size, std::cmp::Reverse(**group))).map(|(group, _)| *group)?;
    let apart: Vec<usize> = (0..groups.len()).filter(|&context| groups[context] != largest).collect();
    if apart.is_empty() {
        return None;
    }
    let name = |&context: &usize| shown(&log.contexts.name(context)).to_string();
    let mut names: Vec<String> = apart.iter().take(FEW).map(name).collect();
    if apart.len() > FEW {
        names.push(format!("{} more", apart.len() - FEW));
    }
    Some(format!(
        "no documents link these contexts to the others: {}; how much people examine in them compares with the others only by what \
         the prior says",
        names.join(", ")
    ))
}

/// The group of each context: two are in one where a document of a query was shown in both, or others link them.
fn groups(log: &ClickLog<'_>) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..log.contexts.len()).collect();
    for lists in log.transitions.lists.chunk_by(|a, b| a.query == b.query) {
        let mut first: BTreeMap<u32, usize> = BTreeMap::new();
        for list in lists {
            for listed in log.transitions.of(list) {
                let context = list.context as usize;
                let other = *first.entry(listed.doc).or_insert(context);
                let (a, b) = (root(&parent, context), root(&parent, other));
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    (0..parent.len()).map(|context| root(&parent, context)).collect()
}

fn root(parent: &[usize], mut at: usize) -> usize {
    while parent[at] != at {
        at = parent[at];
    }
    at
}
