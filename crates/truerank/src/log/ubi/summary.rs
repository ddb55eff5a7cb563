//! What joining queries and events came to, in numbers and in words.

use std::collections::BTreeMap;

/// How many pages came out of a join, and what was left out on the way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UbiSummary {
    /// Queries read.
    pub queries: u64,
    /// Events read.
    pub events: u64,
    /// Result pages that came out.
    pub pages: u64,
    /// Impressions that came out.
    pub impressions: u64,
    /// Clicked impressions that came out.
    pub clicks: u64,
    /// Pages whose list comes from events, since the query has no hits.
    pub pages_from_events: u64,
    /// Pages without a client or session, of one anonymous user.
    pub anonymous_pages: u64,
    /// Queries without what the user typed, left out.
    pub queries_without_text: u64,
    /// Queries with the id of an earlier one, left out.
    pub repeated_queries: u64,
    /// Queries with nothing shown, left out.
    pub empty_queries: u64,
    /// Hits that stand twice in a list, left out the second time.
    pub repeated_hits: u64,
    /// Clicks and views of queries that no file has, left out.
    pub events_of_unknown_queries: u64,
    /// Clicks and views without a query or a document, left out.
    pub events_without_subject: u64,
    /// Clicks on documents that were not shown, left out.
    pub clicks_off_list: u64,
    /// Views without a position, where lists come from views; left out.
    pub views_without_position: u64,
    /// Views that put two documents in one place or one document in two, left out.
    pub contradictory_views: u64,
    /// Where ordinals start, 0 or 1; none where no event says.
    pub first_ordinal: Option<u32>,
    /// How many events there are of each action, by name.
    pub actions: BTreeMap<String, u64>,
}

impl UbiSummary {
    /// Plain sentences about everything that someone should know.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for (count, what) in [
            (self.pages_from_events, "pages have their list from view events, since their queries have no hits"),
            (self.anonymous_pages, "pages have no client_id or session_id and belong to one anonymous user"),
            (self.queries_without_text, "queries have no user_query and were left out"),
            (self.repeated_queries, "queries have the query_id of an earlier one and were left out"),
            (self.empty_queries, "queries have neither hits nor views and were left out"),
            (self.repeated_hits, "hits stand twice in their list and were left out the second time"),
            (self.events_of_unknown_queries, "clicks and views are of queries that are not in the files"),
            (self.events_without_subject, "clicks and views have no query_id or no object_id"),
            (self.clicks_off_list, "clicks are on documents that are not in their query's list"),
            (self.views_without_position, "views have no position.ordinal and were left out"),
            (self.contradictory_views, "views contradict others about a position and were left out"),
        ] {
            if count > 0 {
                remarks.push(format!("{count} {what}"));
            }
        }
        if self.pages_from_events > 0
            && let Some(first) = self.first_ordinal
        {
            remarks.push(format!("ordinals of events start at {first}, by the events themselves"));
        }
        remarks
    }

    /// The actions by how often they occur, for a message.
    pub(super) fn common_actions(&self) -> String {
        let mut actions: Vec<(&String, &u64)> = self.actions.iter().collect();
        actions.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let shown: Vec<String> = actions.iter().take(8).map(|(name, count)| format!("{name} ({count})")).collect();
        if shown.is_empty() { "none".to_string() } else { shown.join(", ") }
    }
}
